//! Ranks on the stand-ins, each in a thread, and a watchdog over them.

use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use rankwise_comm::{Communicator, DeviceOrdinal};
use rankwise_model::GroupSize;
use rankwise_nccl::{Comm, Nccl};

/// How long a test may take before its ranks are said to hang.
const PATIENCE: Duration = Duration::from_mins(1);

/// Both stand-ins. A missing one fails the test: nothing is skipped.
#[allow(unsafe_code)]
pub(crate) fn nccl() -> Nccl {
    static LOADED: OnceLock<Nccl> = OnceLock::new();
    *LOADED.get_or_init(|| {
        host_libcuda::load().unwrap_or_else(|missing| panic!("{missing}"));
        let file = host_libnccl::library_file().unwrap_or_else(|missing| panic!("{missing}"));
        // SAFETY: our own stand-in, whose initialisers are those of the standard library.
        unsafe { Nccl::load_at(&file) }.unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The first `ranks` devices.
pub(crate) fn devices(ranks: u32) -> Vec<DeviceOrdinal> {
    (0..ranks).map(DeviceOrdinal).collect()
}

/// A communicator of the first `ranks` devices, all of them in this thread.
pub(crate) fn comms(ranks: u32) -> Vec<Comm> {
    nccl().init_all(&devices(ranks)).unwrap()
}

/// Runs a program on each of `ranks` ranks, in a thread each that has joined by an id.
pub(crate) fn run<R: Send + 'static>(
    ranks: u32,
    program: impl Fn(Comm) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let (nccl, program) = (nccl(), Arc::new(program));
    let id = nccl.unique_id().unwrap();
    let size = GroupSize::new(ranks).unwrap();
    watched(size.ranks().map(|rank| {
        let program = Arc::clone(&program);
        move || {
            let device = DeviceOrdinal(rank.index());
            let comm = nccl.init_rank(&id, rank, size, device).unwrap();
            assert_eq!((comm.rank(), comm.ranks(), comm.device()), (rank, size, device));
            program(comm)
        }
    }))
}

/// Runs each in a thread of its own; panics if they do not all end in time.
pub(crate) fn watched<R: Send + 'static, F: FnOnce() -> R + Send + 'static>(
    programs: impl IntoIterator<Item = F>,
) -> Vec<R> {
    let (done, ended) = mpsc::channel();
    let threads: Vec<_> = programs
        .into_iter()
        .enumerate()
        .map(|(at, program)| {
            let done = done.clone();
            thread::spawn(move || {
                let result = program();
                let _ = done.send((at, result));
            })
        })
        .collect();
    drop(done);
    let mut results: Vec<Option<R>> = threads.iter().map(|_| None).collect();
    while let Some(missing) = results.iter().position(Option::is_none) {
        match ended.recv_timeout(PATIENCE) {
            Ok((at, result)) => results[at] = Some(result),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("rank {missing} is still waiting after {PATIENCE:?}")
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    for (rank, thread) in threads.into_iter().enumerate() {
        assert!(thread.join().is_ok(), "rank {rank} panicked");
    }
    results.into_iter().map(Option::unwrap).collect()
}
