//! Ranks as real processes on loopback, by way of the example `meet`; some are killed.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Within this the processes have ended, on any machine; they are killed then.
const BOUND: Duration = Duration::from_mins(2);

/// The example, which `cargo test` builds before it runs this.
fn program() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(format!("meet{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: run all tests of the crate", program.display());
    program
}

/// A port that is free, below those that Linux gives to outgoing connections.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id().wrapping_mul(64) + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(20_000 + next % 10_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

struct Rank {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// What became of a process.
struct Ended {
    success: bool,
    said: String,
    complained: String,
}

impl Rank {
    fn start(port: u16, rank: u32, ranks: u32, options: &str) -> Self {
        let mut child = Command::new(program())
            .args(options.split_whitespace())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("RANK", rank.to_string())
            .env("WORLD_SIZE", ranks.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until the process has paused where it was told to, and kills it there.
    fn kill_when_paused(&mut self) {
        let mut line = String::new();
        while line != "paused\n" {
            line.clear();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended before it paused");
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn end(mut self, started: Instant) -> Ended {
        while self.child.try_wait().unwrap().is_none() {
            if started.elapsed() > BOUND {
                self.child.kill().unwrap();
                panic!("a process did not end within {BOUND:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut said).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let complained = String::from_utf8(output.stderr).unwrap();
        Ended { success: output.status.success(), said, complained }
    }
}

fn uuid(device: u32) -> String {
    format!("GPU-{device:08x}-0000-0000-0000-000000000000")
}

fn end(ranks: Vec<Rank>) -> Vec<Ended> {
    let started = Instant::now();
    ranks.into_iter().map(|rank| rank.end(started)).collect()
}

/// That all have met and finished, and print one table with every rank.
fn meet(ranks: u32) {
    let port = free_port();
    let start = |rank| Rank::start(port, rank, ranks, &format!("--device {}", uuid(rank)));
    let ended = end((0..ranks).map(start).collect());
    let table = |ended: &Ended| {
        let (table, rest) =
            ended.said.split_once("rank  host").unwrap().1.split_once("passed").unwrap();
        assert_eq!(rest, "\nfinished\n");
        table.to_owned()
    };
    for (rank, one) in (0..ranks).zip(&ended) {
        assert!(one.success, "rank {rank}: {}", one.complained);
        assert_eq!(table(one), table(&ended[0]), "rank {rank}");
        assert!(one.said.starts_with(&format!("rank {rank} of {ranks}")), "{}", one.said);
    }
    let table = table(&ended[0]);
    assert!((0..ranks).all(|rank| table.contains(&uuid(rank))), "{table}");
    assert!(table.contains(&format!("{ranks} ranks, one on each device")), "{table}");
}

/// That all have failed with one and the same text, which names that rank.
fn one_report(ended: &[Ended], rank: u32) -> &str {
    for one in ended {
        assert!(!one.success, "{}", one.said);
        assert_eq!(one.complained, ended[0].complained);
    }
    let text = &ended[0].complained;
    assert!(text.contains(&format!("rank {rank} ")), "{text}");
    text
}

#[test]
fn two_processes_meet() {
    meet(2);
}

#[test]
fn eight_processes_meet() {
    meet(8);
}

#[test]
fn sixty_four_processes_meet() {
    meet(64);
}

#[test]
fn a_process_killed_before_it_connects_is_named_by_all() {
    let port = free_port();
    let options = |rank| if rank == 2 { "--pause-at start" } else { "--within 2" };
    let mut ranks: Vec<_> = (0..4).map(|rank| Rank::start(port, rank, 4, options(rank))).collect();
    ranks.remove(2).kill_when_paused();
    let ended = end(ranks);
    assert!(one_report(&ended, 2).contains("rank 2 did not come within 2 s"));
}

#[test]
fn a_process_killed_while_it_waits_for_the_others_is_named_by_all() {
    let port = free_port();
    // Rank 3 comes late, so that rank 2 waits: for long enough to be killed meanwhile.
    let mut ranks: Vec<_> = (0..3).map(|rank| Rank::start(port, rank, 4, "--within 60")).collect();
    let mut waits = ranks.remove(2);
    std::thread::sleep(Duration::from_secs(1));
    waits.child.kill().unwrap();
    waits.child.wait().unwrap();
    ranks.push(Rank::start(port, 3, 4, "--within 5"));
    let ended = end(ranks);
    // On a machine so slow that it had not connected, it is missing instead: named too.
    let text = one_report(&ended, 2);
    assert!(text.starts_with("4 ranks, while gathering"), "{text}");
}

#[test]
fn a_process_killed_after_the_table_is_named_by_all() {
    let port = free_port();
    let options = |rank| if rank == 1 { "--pause-at met" } else { "" };
    let mut ranks: Vec<_> = (0..4).map(|rank| Rank::start(port, rank, 4, options(rank))).collect();
    ranks.remove(1).kill_when_paused();
    assert!(one_report(&end(ranks), 1).contains("rank 1 is gone: process "));
}

#[test]
fn a_process_killed_before_the_last_barrier_is_named_by_all() {
    let port = free_port();
    let options = |rank| if rank == 3 { "--pause-at barrier" } else { "" };
    let mut ranks: Vec<_> = (0..4).map(|rank| Rank::start(port, rank, 4, options(rank))).collect();
    ranks.remove(3).kill_when_paused();
    assert!(one_report(&end(ranks), 3).contains("rank 3 is gone: process "));
}

#[test]
fn a_host_that_is_killed_is_named_by_all() {
    let port = free_port();
    let options = |rank| if rank == 0 { "--pause-at met" } else { "" };
    let mut ranks: Vec<_> = (0..4).map(|rank| Rank::start(port, rank, 4, options(rank))).collect();
    ranks.remove(0).kill_when_paused();
    assert!(one_report(&end(ranks), 0).contains("it hosted the rendezvous"));
}

#[test]
fn processes_that_disagree_are_named_by_all() {
    for (odd, text) in [
        ("--library 2.28.3", "library versions differ: 2.32.3 on ranks 0 and 2; 2.28.3 on rank 1"),
        ("--library 2.32.3 --device GPU-00000002-0000-0000-0000-000000000000", "ranks 1 and 2"),
    ] {
        let port = free_port();
        let options = |rank| match (rank, odd.contains("--device")) {
            (1, true) => odd.to_owned(),
            (1, false) => format!("{odd} --device {}", uuid(1)),
            _ => format!("--library 2.32.3 --device {}", uuid(rank)),
        };
        let ranks = (0..3).map(|rank| Rank::start(port, rank, 3, &options(rank))).collect();
        let ended = end(ranks);
        let report = one_report_any(&ended);
        assert!(report.contains(text), "{report}");
    }
}

#[test]
fn a_process_with_another_secret_is_told_and_named() {
    let port = free_port();
    let options = |rank| match rank {
        1 => "--within 2 --secret another-shared-secret",
        _ => "--within 2 --secret one-shared-secret-for-all",
    };
    let mut ended = end((0..3).map(|rank| Rank::start(port, rank, 3, options(rank))).collect());
    let odd = ended.remove(1);
    assert!(odd.complained.contains("turned rank 1 away: it has another secret"));
    let report = one_report(&ended, 1);
    assert!(report.contains("which said it was rank 1, has another secret"), "{report}");
}

/// One text of all, whoever it names.
fn one_report_any(ended: &[Ended]) -> &str {
    for one in ended {
        assert!(!one.success, "{}", one.said);
        assert_eq!(one.complained, ended[0].complained);
    }
    &ended[0].complained
}
