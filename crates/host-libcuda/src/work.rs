//! What a stream can be told to do.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use crate::abi::CUresult;
use crate::context::Context;
use crate::driver::Driver;
use crate::event::Recording;
use crate::memory::{Access, Allocation, Fault, Hold, Span};
use crate::settings::Pause;
use crate::stream::Stream;

/// One piece of work.
pub(crate) enum Work {
    /// Copies bytes.
    Copy(Copy),
    /// Sets every byte of a span.
    Fill(Span, u8),
    /// Calls the host.
    Call(HostFunction),
    /// Says that the stream has come here.
    Record(Arc<Recording>),
    /// Waits until another stream has come there.
    Wait(Arc<Recording>),
    /// Waits until the other stream has done that many pieces of work.
    Behind(Arc<Stream>, u64),
    /// From here on the memory may be used.
    Begin(Arc<Allocation>),
    /// From here on it may not.
    End(Arc<Allocation>),
    /// Nothing; its end says that the work before it has ended.
    Nothing,
}

/// Where bytes come from or go to.
pub(crate) enum Place {
    /// Memory that the driver knows.
    Known(Span),
    /// The caller's, who waits, so that it stays valid.
    Callers(usize),
    /// Ours, copied from the caller when the call was made.
    Staged(Vec<u8>),
}

/// A copy.
pub(crate) struct Copy {
    from: Place,
    into: Place,
    bytes: usize,
}

/// A function and what it is called with.
pub(crate) struct HostFunction {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: by the contract of `cuLaunchHostFunc`, the function is called with this
// data on whichever thread the driver likes.
unsafe impl Send for HostFunction {}

impl HostFunction {
    /// # Safety
    ///
    /// The function may be called with this data, once, on another thread, at any time.
    pub(crate) unsafe fn new(
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Self {
        Self { function, data }
    }

    fn call(&self) {
        // SAFETY: by the contract of `new`; it is called from `Work::perform`, once.
        unsafe { (self.function)(self.data) };
    }
}

impl Copy {
    /// # Safety
    ///
    /// Every place is `bytes` long and the two have none in common. `into` is not
    /// [`Staged`](Place::Staged). [`Callers`](Place::Callers) places are valid (for
    /// writing, if `into`), and stay so, untouched by others, until the work is done.
    pub(crate) unsafe fn new(from: Place, into: Place, bytes: usize) -> Self {
        Self { from, into, bytes }
    }

    fn perform(&self, pause: Pause) -> Result<(), Fault> {
        // Named, as both must outlive the copy.
        let (from, _reading) = self.from.begin(Access::Read)?;
        let (into, _writing) = self.into.begin(Access::Write)?;
        pause.take();
        // SAFETY: known places are held for just this access, and were made `bytes`
        // long, as staged ones were; the caller's are valid by the contract of `new`.
        // They do not overlap, by that contract too; nor could two held spans.
        unsafe { ptr::copy_nonoverlapping(from, into, self.bytes) };
        Ok(())
    }
}

impl Place {
    /// Where it is, and what keeps others out while that is used.
    fn begin(&self, access: Access) -> Result<(*mut u8, Option<Hold<'_>>), Fault> {
        Ok(match self {
            Self::Known(span) => {
                let hold = span.begin(access)?;
                (hold.pointer(), Some(hold))
            }
            Self::Callers(address) => (ptr::with_exposed_provenance_mut(*address), None),
            // Only ever read: nothing is copied into what nobody would see.
            Self::Staged(bytes) => (bytes.as_ptr().cast_mut(), None),
        })
    }
}

impl Work {
    /// Does it. What goes wrong becomes the fault of the context, and after that
    /// nothing is copied, filled or called any more; but nobody is left waiting.
    ///
    /// The pause is taken where it hurts most: while others must keep off the bytes.
    pub(crate) fn perform(self, context: &Context, pause: Pause) {
        let done = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Copy(_) | Self::Fill(..) | Self::Call(_) if context.check().is_err() => Ok(()),
            Self::Copy(copy) => copy.perform(pause),
            Self::Fill(span, value) => {
                let hold = span.begin(Access::Write)?;
                pause.take();
                // SAFETY: the span is held for writing.
                unsafe { hold.pointer().write_bytes(value, span.bytes()) };
                Ok(())
            }
            Self::Call(function) => {
                function.call();
                Ok(())
            }
            Self::Record(recording) => {
                recording.reach();
                Ok(())
            }
            Self::Wait(recording) => {
                recording.wait();
                Ok(())
            }
            Self::Behind(stream, ticket) => {
                stream.wait_for(ticket);
                Ok(())
            }
            Self::Begin(allocation) => {
                allocation.begin();
                Ok(())
            }
            Self::End(allocation) => {
                if let Ok(driver) = Driver::get() {
                    driver.memory.end(&allocation);
                }
                Ok(())
            }
            Self::Nothing => Ok(()),
        }));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => context.fail(CUresult::ILLEGAL_ADDRESS, fault),
            Err(_) => context.fail(CUresult::UNKNOWN, "work on a stream panicked"),
        }
    }
}
