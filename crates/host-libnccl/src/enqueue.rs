//! Handing the calls of a group to the mock, in stream order.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex};

use nccl_sys::{cudaEvent_t, cudaStream_t};
use rankwise_comm::{Error, Fence, Stream as _};
use rankwise_mock::Stream;
use rankwise_mock::seam::{self, RawCall};

use crate::comm::HostComm;
use crate::cuda;
use crate::error::{Answer, refuse_with};
use crate::gate::Gate;
use crate::lock::{lock, wait_until};

/// A call that has been checked.
pub(crate) struct Call {
    pub(crate) comm: Arc<HostComm>,
    pub(crate) stream: cudaStream_t,
    pub(crate) raw: RawCall,
    /// Recorded once the group has been enqueued, or null.
    pub(crate) event: cudaEvent_t,
}

/// The calls of one communicator on one stream: what the mock is told, and what the
/// stream's host function does.
struct Unit {
    comm: Arc<HostComm>,
    cuda: cudaStream_t,
    mock: Arc<Stream>,
    flight: Arc<Flight>,
}

/// What a unit's host function shares with whoever enqueued it.
struct Flight {
    comm: Arc<HostComm>,
    gate: Arc<Gate>,
    end: Mutex<End>,
    known: Condvar,
}

/// The end of a unit on the mock's stream.
#[derive(Default)]
enum End {
    /// The mock has not been asked yet.
    #[default]
    Unknown,
    /// The mock has refused: there is nothing to wait for.
    Nothing,
    At(Fence),
}

impl Flight {
    fn tell(&self, end: End) {
        *lock(&self.end) = end;
        self.known.notify_all();
    }

    /// On the stream's thread: the stream has come here.
    fn fly(&self) {
        self.gate.open();
        let known = |end: &mut End| !matches!(end, End::Unknown);
        let end = std::mem::take(&mut *wait_until(&self.known, lock(&self.end), known));
        if let End::At(end) = end
            && let Err(error) = end.wait()
        {
            self.comm.fail(&error);
        }
        self.comm.land();
    }
}

/// # Safety
///
/// `data` is an `Arc<Flight>` that was given away for this one call.
unsafe extern "C" fn fly(data: *mut c_void) {
    // SAFETY: by this function's contract.
    let flight = unsafe { Arc::from_raw(data.cast::<Flight>().cast_const()) };
    // Nothing may unwind into the driver.
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| flight.fly())));
}

/// Enqueues calls as a unit.
///
/// Every stream gets its host function first, which waits to hear what the mock says: so
/// nothing has been handed to the mock when the driver refuses a stream.
///
/// # Safety
///
/// The spans stay valid until the streams have come past this, and whoever else uses the
/// bytes is ordered with them by the streams.
pub(crate) unsafe fn enqueue(calls: &[Call]) -> Answer {
    let mut units: Vec<Unit> = Vec::new();
    for call in calls {
        let is_known = |unit: &Unit| {
            Arc::ptr_eq(&unit.comm, &call.comm) && unit.cuda.addr() == call.stream.addr()
        };
        if !units.iter().any(is_known) {
            match start(call) {
                Ok(unit) => units.push(unit),
                Err(code) => {
                    for unit in &units {
                        unit.flight.tell(End::Nothing);
                    }
                    return Err(code);
                }
            }
        }
    }
    // SAFETY: by this function's contract; the mock's streams come after the gates, which
    // open when CUDA's streams come here, and CUDA's go on when the mock's have.
    let submitted = unsafe { submit(calls, &units) };
    for unit in &units {
        // The fence of a stream that has failed says so.
        let end = unit.mock.fence().ok().filter(|_| submitted.is_ok());
        unit.flight.tell(end.map_or(End::Nothing, End::At));
    }
    submitted.or_else(|error| refuse_with(&error))
}

/// Puts the host function on the stream, and the gate on the mock's.
fn start(call: &Call) -> Answer<Unit> {
    let comm = Arc::clone(&call.comm);
    let mock = comm.stream(call.stream).or_else(|error| refuse_with(&error))?;
    let gate = Arc::new(Gate::default());
    mock.wait_for(&Fence::new(gate.clone(), 0)).or_else(|error| refuse_with(&error))?;
    let flight = Arc::new(Flight {
        comm: Arc::clone(&comm),
        gate: Arc::clone(&gate),
        end: Mutex::default(),
        known: Condvar::new(),
    });
    comm.take_off();
    let data = Arc::into_raw(Arc::clone(&flight)).cast_mut().cast();
    // SAFETY: the function takes what is given away here, once.
    let launched = unsafe { cuda::launch(call.stream, fly, data) };
    if let Err(code) = launched {
        // SAFETY: the driver has refused, so nobody else has it.
        drop(unsafe { Arc::from_raw(data.cast::<Flight>().cast_const()) });
        comm.land();
        gate.open();
        return Err(code);
    }
    Ok(Unit { comm, cuda: call.stream, mock, flight })
}

/// Hands the calls over, those of one world at once.
///
/// # Safety
///
/// As [`enqueue`].
unsafe fn submit(calls: &[Call], units: &[Unit]) -> Result<(), Error> {
    let mut worlds: Vec<u64> = calls.iter().map(|call| call.comm.world).collect();
    worlds.sort_unstable();
    worlds.dedup();
    for world in worlds {
        let mut own = Vec::new();
        for call in calls.iter().filter(|call| call.comm.world == world) {
            let unit = units.iter().find(|unit| {
                Arc::ptr_eq(&unit.comm, &call.comm) && unit.cuda.addr() == call.stream.addr()
            });
            if let Some(unit) = unit {
                own.push((&call.comm.mock, &*unit.mock, call.raw.clone()));
            }
        }
        // SAFETY: by this function's contract.
        unsafe { seam::submit(&own) }?;
    }
    Ok(())
}
