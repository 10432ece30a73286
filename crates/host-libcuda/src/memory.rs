//! The table of every allocation: each address is looked up before it is used.
//!
//! An address is checked twice. When a call is made, it must lie in one living
//! allocation with all its bytes ([`Memory::span`]). When the work comes up in its
//! stream, the allocation must exist *at that place in the stream order*, and no
//! other stream may be at the same bytes ([`Span::begin`]): whoever lacks a wait
//! fails there, sooner or later, instead of computing with half a result.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::abi::{Answer, CUresult};
use crate::block::Block;
use crate::context::Context;
use crate::device::TOTAL_BYTES;
use crate::lock::lock;

/// Freed blocks are kept, poisoned, up to this many bytes, so that their addresses
/// are not issued again soon.
const MOST_QUARANTINED_BYTES: usize = 64 << 20;

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// A device's.
    Device,
    /// The host's, known to the driver, so that copies need not wait for it.
    Pinned,
}

/// One allocation, living or freed.
pub(crate) struct Allocation {
    pub(crate) home: Home,
    pub(crate) context: Arc<Context>,
    /// A number that no other allocation ever has.
    pub(crate) id: u64,
    block: Block,
    life: Mutex<Life>,
}

struct Life {
    /// Its allocation has come up in its stream.
    begun: bool,
    /// Somebody has called for its end, which may still be queued.
    condemned: bool,
    /// Its end has come up in its stream.
    ended: bool,
    /// The ranges that streams are at right now.
    in_use: Vec<(Range<usize>, Access)>,
}

/// What a stream does with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Bytes of one allocation.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) allocation: Arc<Allocation>,
    range: Range<usize>,
}

/// Bytes that a stream is at; until this is dropped, nobody else gets at them.
pub(crate) struct Hold<'a> {
    span: &'a Span,
    access: Access,
}

/// What can be wrong with memory when work comes up in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another stream has not come to the allocation yet.
    NotYetAllocated,
    /// It was freed before this work came up.
    AlreadyFreed,
    /// Two streams are at the same bytes, one of them writing.
    Race,
    /// It is freed while a stream is at it.
    FreedInUse,
    /// Somebody wrote before its start or past its end.
    WrittenOutside,
    /// Somebody wrote into it after it was freed.
    WrittenAfterFree,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotYetAllocated => {
                "memory is used on a stream that does not wait for its allocation on another"
            }
            Self::AlreadyFreed => "memory is used on a stream after it was freed on another",
            Self::Race => {
                "two streams are at the same bytes, one of them writing: a wait is missing"
            }
            Self::FreedInUse => "memory is freed while a stream is using it: a wait is missing",
            Self::WrittenOutside => "somebody wrote outside an allocation",
            Self::WrittenAfterFree => "somebody wrote into memory after it was freed",
        })
    }
}

impl Allocation {
    /// Its first address.
    pub(crate) fn start(&self) -> usize {
        self.block.start().expose_provenance()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.block.bytes
    }

    /// Its allocation comes up in its stream.
    pub(crate) fn begin(&self) {
        lock(&self.life).begun = true;
    }

    /// Its end comes up in its stream.
    fn end(&self) {
        let mut life = lock(&self.life);
        life.ended = true;
        if life.in_use.is_empty() {
            // SAFETY: no work is at it, and with `ended` none will be.
            unsafe { self.block.poison() };
        } else {
            self.context.fail(CUresult::ILLEGAL_ADDRESS, Fault::FreedInUse);
        }
        if !self.block.guards_are_intact() {
            self.context.fail(CUresult::ILLEGAL_ADDRESS, Fault::WrittenOutside);
        }
    }

    /// Looks at it for the last time.
    fn forget(&self) {
        let life = lock(&self.life);
        // SAFETY: `end` has poisoned it unless a stream was at it, and that is a fault
        // already; who writes it now is just whom we look for.
        let untouched = unsafe { self.block.is_still_poisoned() };
        if life.in_use.is_empty() && !untouched {
            self.context.fail(CUresult::ILLEGAL_ADDRESS, Fault::WrittenAfterFree);
        }
    }

    fn may_be_called_for(&self) -> bool {
        !lock(&self.life).condemned
    }
}

impl Span {
    pub(crate) fn bytes(&self) -> usize {
        self.range.len()
    }

    /// Whether it has bytes in common with the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.allocation, &other.allocation)
            && self.range.start < other.range.end
            && other.range.start < self.range.end
    }

    /// Gets at the bytes, in stream order.
    pub(crate) fn begin(&self, access: Access) -> Result<Hold<'_>, Fault> {
        let mut life = lock(&self.allocation.life);
        if !life.begun {
            return Err(Fault::NotYetAllocated);
        }
        if life.ended {
            return Err(Fault::AlreadyFreed);
        }
        let conflicts = |(range, other): &(Range<usize>, Access)| {
            range.start < self.range.end
                && self.range.start < range.end
                && (access == Access::Write || *other == Access::Write)
        };
        if life.in_use.iter().any(conflicts) {
            return Err(Fault::Race);
        }
        life.in_use.push((self.range.clone(), access));
        Ok(Hold { span: self, access })
    }
}

impl Hold<'_> {
    /// The first byte. As long as `self` lives the whole range is there, and no other
    /// work writes it, nor reads it if this one may write.
    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: `Memory::span` has checked that the range lies in the block.
        unsafe { self.span.allocation.block.start().add(self.span.range.start) }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut life = lock(&self.span.allocation.life);
        let own = (self.span.range.clone(), self.access);
        if let Some(place) = life.in_use.iter().position(|held| *held == own) {
            life.in_use.swap_remove(place);
        }
    }
}

/// Every allocation of the process.
#[derive(Default)]
pub(crate) struct Memory {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// By first address, freed ones in quarantine included.
    known: BTreeMap<usize, Arc<Allocation>>,
    quarantine: VecDeque<Arc<Allocation>>,
    quarantined_bytes: usize,
    issued: u64,
}

impl Memory {
    /// Allocates. The memory is there at once, but work may use it only after
    /// [`Allocation::begin`].
    pub(crate) fn allocate(
        &self,
        context: &Arc<Context>,
        home: Home,
        bytes: usize,
    ) -> Answer<Arc<Allocation>> {
        if home == Home::Device {
            let room = |used: usize| used.checked_add(bytes).filter(|used| *used <= TOTAL_BYTES);
            let taken = context.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
            taken.map_err(|_| CUresult::OUT_OF_MEMORY)?;
        }
        let block = Block::new(bytes).inspect_err(|_| give_back(context, home, bytes))?;
        let life = Life { begun: false, condemned: false, ended: false, in_use: Vec::new() };
        let mut table = lock(&self.table);
        table.issued += 1;
        let allocation = Arc::new(Allocation {
            home,
            context: Arc::clone(context),
            id: table.issued,
            block,
            life: Mutex::new(life),
        });
        table.known.insert(allocation.start(), Arc::clone(&allocation));
        Ok(allocation)
    }

    /// The allocation that an address lies in, freed or not.
    fn around(&self, address: usize) -> Option<Arc<Allocation>> {
        let table = lock(&self.table);
        let (start, allocation) = table.known.range(..=address).next_back()?;
        (address - start < allocation.bytes()).then(|| Arc::clone(allocation))
    }

    /// The living allocation that an address lies in; an error if that one is freed.
    pub(crate) fn find(&self, address: usize) -> Answer<Option<Arc<Allocation>>> {
        match self.around(address) {
            Some(freed) if !freed.may_be_called_for() => Err(CUresult::INVALID_VALUE),
            found => Ok(found),
        }
    }

    /// These bytes, if they lie in one living allocation; none if in no known one.
    pub(crate) fn span(&self, address: usize, bytes: usize) -> Answer<Option<Span>> {
        let Some(allocation) = self.find(address)? else { return Ok(None) };
        let start = address - allocation.start();
        let end = start.checked_add(bytes).filter(|end| *end <= allocation.bytes());
        let end = end.ok_or(CUresult::INVALID_VALUE)?;
        Ok(Some(Span { allocation, range: start..end }))
    }

    /// From now on no call may name the allocation that starts here. Work that is
    /// queued already may still use it, until [`Memory::end`].
    pub(crate) fn condemn(&self, start: usize, home: Home) -> Answer<Arc<Allocation>> {
        let allocation = lock(&self.table).known.get(&start).cloned();
        let allocation = allocation.filter(|found| found.home == home);
        let allocation = allocation.ok_or(CUresult::INVALID_VALUE)?;
        let mut life = lock(&allocation.life);
        if life.condemned {
            return Err(CUresult::INVALID_VALUE);
        }
        life.condemned = true;
        drop(life);
        Ok(allocation)
    }

    /// Frees what was condemned.
    pub(crate) fn end(&self, allocation: &Arc<Allocation>) {
        allocation.end();
        give_back(&allocation.context, allocation.home, allocation.bytes());
        let mut table = lock(&self.table);
        table.quarantined_bytes += allocation.bytes();
        table.quarantine.push_back(Arc::clone(allocation));
        while table.quarantined_bytes > MOST_QUARANTINED_BYTES {
            let Some(oldest) = table.quarantine.pop_front() else { break };
            table.quarantined_bytes -= oldest.bytes();
            table.known.remove(&oldest.start());
            oldest.forget();
        }
    }

    /// Frees what a context leaves behind.
    pub(crate) fn end_context(&self, context: &Arc<Context>) {
        let known: Vec<_> = lock(&self.table).known.values().cloned().collect();
        for allocation in known.iter().filter(|one| Arc::ptr_eq(&one.context, context)) {
            if self.condemn(allocation.start(), allocation.home).is_ok() {
                self.end(allocation);
            }
        }
    }
}

fn give_back(context: &Context, home: Home, bytes: usize) {
    if home == Home::Device {
        context.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
