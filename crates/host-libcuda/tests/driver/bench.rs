//! What every test stands on: the stand-in, a turn of its own, and a deadline.

use std::ffi::c_void;
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{CUresult, CUstream};
use cudarc::driver::{CudaContext, CudaStream};

const DEADLINE: Duration = Duration::from_mins(1);

/// Faults stay with a context, so the tests of a process take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a test on the stand-in, and fails rather than hangs.
#[track_caller]
pub(crate) fn on_stand_in(test: impl FnOnce() + Send + 'static) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    host_libcuda::load().unwrap_or_else(|error| panic!("{error}"));
    let (ended, watch) = mpsc::channel();
    let running = thread::spawn(move || {
        test();
        ended.send(())
    });
    match watch.recv_timeout(DEADLINE) {
        Err(RecvTimeoutError::Timeout) => panic!("not done after {DEADLINE:?}"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if let Err(cause) = running.join() {
                panic::resume_unwind(cause);
            }
        }
    }
}

/// Device 0 and a stream of its own, past which the null stream does not hold it up.
pub(crate) fn device_0() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    (context, stream)
}

/// The code that a call was refused with.
#[track_caller]
pub(crate) fn code<T: std::fmt::Debug>(refused: Result<T, DriverError>) -> CUresult {
    refused.unwrap_err().0
}

type Function = Box<dyn FnOnce() + Send>;

unsafe extern "C" fn call_once(function: *mut c_void) {
    // SAFETY: made by `call` below, and called once.
    let function = unsafe { Box::from_raw(function.cast::<Function>()) };
    function();
}

/// Has a stream call a function.
pub(crate) fn call(stream: CUstream, function: impl FnOnce() + Send + 'static) {
    let function: Box<Function> = Box::new(Box::new(function));
    let function = Box::into_raw(function).cast();
    // SAFETY: the function owns its data and is called once.
    unsafe { result::stream::launch_host_function(stream, call_once, function) }.unwrap();
}

/// Holds a stream up until it is opened or dropped.
pub(crate) struct Gate(Option<Sender<()>>);

impl Gate {
    pub(crate) fn before(stream: &CudaStream) -> Self {
        let (open, wait): (_, Receiver<()>) = mpsc::channel();
        call(stream.cu_stream(), move || {
            let _ = wait.recv();
        });
        Self(Some(open))
    }

    pub(crate) fn open(mut self) {
        self.0.take();
    }
}
