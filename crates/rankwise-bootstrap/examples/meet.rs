//! Meets the other ranks, shows the table, and goes: a trial of a launcher before any
//! library is involved. It names no device, unless `--device` says one.
//!
//! Start it as the real program will be, `srun -n 8 meet` or `mpirun -n 8 meet`, or by
//! hand with `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT`. With `--pause-at` a
//! process stays where it is, to be killed: then see what the others say.

// What it prints is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use rankwise_bootstrap::environment::{Explicit, Identity};
use rankwise_bootstrap::{BoundDevice, Member, Rendezvous, Secret};
use rankwise_topology::Sharing;

const USAGE: &str = "meet [--within SECONDS] [--secret TEXT] [--library VERSION] \
                     [--device UUID] [--shared] [--pause-at start|met|barrier]";

#[derive(Default)]
struct Options {
    within: Option<u64>,
    secret: Option<String>,
    library: Option<String>,
    device: Option<String>,
    shared: bool,
    pause_at: Option<String>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default();
    while let Some(option) = arguments.next() {
        match option.as_str() {
            "--within" => options.within = Some(arguments.next()?.parse().ok()?),
            "--secret" => options.secret = Some(arguments.next()?),
            "--library" => options.library = Some(arguments.next()?),
            "--device" => options.device = Some(arguments.next()?),
            "--shared" => options.shared = true,
            "--pause-at" => options.pause_at = Some(arguments.next()?),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match meet(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn meet(options: &Options) -> Result<(), Box<dyn Error>> {
    let me = Identity::of_this_process(&Explicit::default())?;
    println!("{me}");
    pause(options, "start");

    let within = Duration::from_secs(options.within.unwrap_or(60));
    let mut rendezvous = Rendezvous::of(&me)?.within(within);
    if let Some(secret) = &options.secret {
        rendezvous = rendezvous.secret(Secret::new(secret.as_bytes())?);
    }
    if options.shared {
        rendezvous = rendezvous.sharing(Sharing::Shared);
    }
    let mut member = Member::here()?;
    if let Some(uuid) = &options.device {
        let mut device = BoundDevice::unnumbered().uuid(uuid)?;
        if let Some(visible) = &me.visible_devices {
            device = device.visible(visible);
        }
        member = member.on(device)?;
    }
    if let Some(version) = &options.library {
        member = member.library(version)?;
    }

    let mut session = if rendezvous.is_host() {
        rankwise_bootstrap::blocking::host(&rendezvous, member, b"from the host")?
    } else {
        rankwise_bootstrap::blocking::connect(&rendezvous, member)?
    };
    assert_eq!(session.payload(), b"from the host");
    println!("{}", session.table());
    pause(options, "met");
    session.barrier("before the work", within)?;
    println!("passed");
    pause(options, "barrier");
    session.finish(within)?;
    println!("finished");
    Ok(())
}

fn pause(options: &Options, at: &str) {
    if options.pause_at.as_deref() == Some(at) {
        println!("paused");
        loop {
            std::thread::park();
        }
    }
}
