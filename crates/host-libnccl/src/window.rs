//! Memory of NCCL's own, registered buffers, and windows that all ranks share.

use std::collections::{HashMap, HashSet};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nccl_sys::{
    NCCL_WIN_CFT_COUNTED, NCCL_WIN_COLL_SYMMETRIC, NCCL_WIN_GIN_ONLY, NCCL_WIN_REQUIRED_ALIGNMENT,
    NCCL_WIN_STRICT_ORDERING, ncclComm_t, ncclResult_t, ncclWindow_t,
};

use crate::abi::{Place, answer, answer_of, put};
use crate::comm::{HostComm, called, ready, settled};
use crate::cuda;
use crate::error::{Answer, refuse};
use crate::family::Seat;
use crate::group::{self, Job};
use crate::init::lost;
use crate::lock::lock;

/// What `ncclMemAlloc` has handed out: where the driver's memory starts, by the address.
static ALLOCATED: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// What is registered, by handle.
static REGISTERED: Mutex<Option<HashSet<(usize, usize)>>> = Mutex::new(None);
static WINDOWS: Mutex<Option<HashMap<usize, Window>>> = Mutex::new(None);

const FIRST: usize = 0x9_0000_0000;
const STRIDE: usize = 0x100;
static ISSUED: AtomicUsize = AtomicUsize::new(0);

const REGISTER: &str = "ncclCommWindowRegister";
const ALIGNMENT: usize = NCCL_WIN_REQUIRED_ALIGNMENT as usize;

/// A window: the memory of every rank of a communicator.
#[derive(Clone)]
pub(crate) struct Window {
    comm: usize,
    own: usize,
    pub(crate) is_symmetric: bool,
    /// Where each rank's part is, and how many bytes it has.
    pub(crate) parts: Arc<[(usize, usize)]>,
}

impl Window {
    /// Whether the rank's own part has all of this.
    fn has(&self, start: usize, bytes: usize) -> bool {
        let Some((first, len)) = self.parts.get(self.own) else { return false };
        let offset = start.checked_sub(*first);
        offset.and_then(|offset| len.checked_sub(offset)).is_some_and(|left| left >= bytes)
    }
}

/// The window of a communicator that a handle names.
pub(crate) fn find(comm: ncclComm_t, window: ncclWindow_t) -> Option<Window> {
    let windows = lock(&WINDOWS);
    windows.as_ref()?.get(&window.addr()).filter(|window| window.comm == comm.addr()).cloned()
}

/// Whether the bytes lie in a symmetric window of the communicator.
pub(crate) fn is_symmetric(comm: ncclComm_t, start: usize, bytes: usize) -> bool {
    let windows = lock(&WINDOWS);
    let mut own = windows.iter().flat_map(HashMap::values).filter(|w| w.comm == comm.addr());
    own.any(|window| window.is_symmetric && window.has(start, bytes))
}

/// Whether a communicator has a symmetric window.
pub(crate) fn has_symmetric(comm: ncclComm_t) -> bool {
    let windows = lock(&WINDOWS);
    windows.iter().flat_map(HashMap::values).any(|w| w.comm == comm.addr() && w.is_symmetric)
}

fn fresh_handle() -> usize {
    FIRST + STRIDE * ISSUED.fetch_add(1, Ordering::Relaxed)
}

/// Memory that can be a window: it starts where one has to.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclMemAlloc(
    place: *mut *mut c_void,
    bytes: usize,
) -> ncclResult_t {
    answer("ncclMemAlloc", || {
        if place.is_null() {
            let why = "Cuda failure 1 in cuMemAlloc: no place for the pointer";
            return refuse(ncclResult_t::ncclUnhandledCudaError, why);
        }
        if bytes == 0 {
            // SAFETY: not null, and then the caller's, by the contract of this call.
            return unsafe { put("ncclMemAlloc", place, ptr::null_mut()) };
        }
        let start = cuda::allocate(bytes.saturating_add(ALIGNMENT))?;
        let aligned = start.next_multiple_of(ALIGNMENT);
        lock(&ALLOCATED).get_or_insert_default().insert(aligned, start);
        // SAFETY: as above.
        unsafe { put("ncclMemAlloc", place, ptr::with_exposed_provenance_mut(aligned)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclMemFree(pointer: *mut c_void) -> ncclResult_t {
    answer("ncclMemFree", || {
        if pointer.is_null() {
            return Ok(());
        }
        let ours = lock(&ALLOCATED).as_mut().and_then(|known| known.remove(&pointer.addr()));
        // Memory of the driver's own is freed as that.
        cuda::free(ours.unwrap_or(pointer.addr()))
    })
}

/// Whether there are bytes that can be registered.
fn check_buffer(what: &str, comm: &HostComm, start: usize, bytes: usize) -> Answer {
    if start == 0 || bytes == 0 {
        let why = format!("{what} : buff of {bytes} bytes at {start:#x}");
        return refuse(ncclResult_t::ncclInvalidArgument, why);
    }
    cuda::check_span(&format!("{what} : buff"), start, bytes, comm.device)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommRegister(
    raw: ncclComm_t,
    buffer: *mut c_void,
    bytes: usize,
    place: *mut *mut c_void,
) -> ncclResult_t {
    answer_of("ncclCommRegister", raw, || {
        const WHAT: &str = "ncclCommRegister";
        let comm = settled(WHAT, raw)?;
        check_buffer(WHAT, &comm, buffer.addr(), bytes)?;
        let handle = fresh_handle();
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe { put("ncclCommRegister : handle", place, ptr::without_provenance_mut(handle)) }?;
        lock(&REGISTERED).get_or_insert_default().insert((raw.addr(), handle));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDeregister(raw: ncclComm_t, handle: *mut c_void) -> ncclResult_t {
    answer_of("ncclCommDeregister", raw, || {
        // The name in its message is NCCL's.
        called("ncclCommRegister", raw)?;
        if handle.is_null() {
            return Ok(());
        }
        let known = (raw.addr(), handle.addr());
        if lock(&REGISTERED).as_mut().is_some_and(|registered| registered.remove(&known)) {
            return Ok(());
        }
        refuse(ncclResult_t::ncclInvalidUsage, "Deregister: Could not find handle")
    })
}

/// Every rank has to call it; the window is there when all have.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommWindowRegister(
    raw: ncclComm_t,
    buffer: *mut c_void,
    bytes: usize,
    place: *mut ncclWindow_t,
    flags: c_int,
) -> ncclResult_t {
    answer_of("ncclCommWindowRegister", raw, || {
        const KNOWN: u32 = NCCL_WIN_COLL_SYMMETRIC
            | NCCL_WIN_STRICT_ORDERING
            | NCCL_WIN_GIN_ONLY
            | NCCL_WIN_CFT_COUNTED;
        group::add(|group| {
            let comm = ready(REGISTER, raw)?;
            let invalid = ncclResult_t::ncclInvalidArgument;
            // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`: it is
            // valid until the thread's group has ended, or the communicator is no longer
            // in progress.
            let place =
                unsafe { Place::new("ncclCommWindowRegister : win", place, ptr::null_mut()) }?;
            let flags = flags.cast_unsigned();
            if flags & !KNOWN != 0 {
                return refuse(invalid, format_args!("{REGISTER}: flags {flags:#x} are none"));
            }
            let is_symmetric = flags & NCCL_WIN_COLL_SYMMETRIC != 0;
            if is_symmetric && flags & (NCCL_WIN_GIN_ONLY | NCCL_WIN_CFT_COUNTED) != 0 {
                let why = "NCCL_WIN_COLL_SYMMETRIC cannot be combined with window \
                           capability-restriction flags";
                return refuse(invalid, why);
            }
            let start = buffer.addr();
            check_buffer(REGISTER, &comm, start, bytes)?;
            if !start.is_multiple_of(ALIGNMENT) {
                return refuse(invalid, "Window address must be suitably aligned.");
            }
            let turn = comm.turns.windows.fetch_add(1, Ordering::Relaxed);
            let (table, own) = (format!("window {turn}"), comm.rank());
            let all: Vec<usize> = (0..comm.size()).collect();
            let key = flags.cast_signed();
            comm.family.sit(&table, own, Seat { key, start, bytes, ..Seat::default() });
            let not_blocking = (!comm.settings.is_blocking).then(|| Arc::clone(&comm));
            let handle = raw.addr();
            let run = move |patience| {
                let seats = match comm.family.meet(&table, own, &all, patience)? {
                    Ok(seats) => seats,
                    Err(gone) => return Some(Err(lost(REGISTER, &gone))),
                };
                if let Some(rank) = seats.iter().position(|seat| seat.key != key) {
                    let why = format!(
                        "Window registration capabilities disagree between rank {own} and rank \
                         {rank}"
                    );
                    return Some(Err((ncclResult_t::ncclInvalidArgument, why)));
                }
                let parts = seats.iter().map(|seat| (seat.start, seat.bytes)).collect();
                let window = Window { comm: handle, own, is_symmetric, parts };
                let named = fresh_handle();
                lock(&WINDOWS).get_or_insert_default().insert(named, window);
                place.put(ptr::without_provenance_mut(named));
                Some(Ok(()))
            };
            group.jobs.push(Job { not_blocking, run: Box::new(run) });
            Ok(())
        })
    })
}

/// Whether it is local or for all ranks together makes no difference here.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommWindowDeregister(
    raw: ncclComm_t,
    window: ncclWindow_t,
) -> ncclResult_t {
    answer_of("ncclCommWindowDeregister", raw, || {
        const WHAT: &str = "ncclCommWindowDeregister";
        called(WHAT, raw)?.drain();
        if window.is_null() {
            return Ok(());
        }
        known(WHAT, raw, window)?;
        lock(&WINDOWS).as_mut().and_then(|windows| windows.remove(&window.addr()));
        Ok(())
    })
}

/// The window, or a refusal.
pub(crate) fn known(what: &str, comm: ncclComm_t, window: ncclWindow_t) -> Answer<Window> {
    let unknown = || {
        let why = format!("{what}: {:#x} is no window of this communicator", window.addr());
        refuse(ncclResult_t::ncclInvalidArgument, why)
    };
    find(comm, window).map_or_else(unknown, Ok)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclWinGetUserPtr(
    raw: ncclComm_t,
    window: ncclWindow_t,
    place: *mut *mut c_void,
) -> ncclResult_t {
    answer_of("ncclWinGetUserPtr", raw, || {
        const WHAT: &str = "ncclWinGetUserPtr";
        settled(WHAT, raw)?;
        let window = known(WHAT, raw, window)?;
        let start = window.parts.get(window.own).map_or(0, |part| part.0);
        // SAFETY: the caller's pointer, by the contract of this call in `nccl.h`.
        unsafe {
            put("ncclWinGetUserPtr : outUserPtr", place, ptr::with_exposed_provenance_mut(start))
        }
    })
}
