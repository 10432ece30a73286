//! What the table refuses, and what it finds out later.

use super::*;

fn context() -> Arc<Context> {
    Arc::new(Context::new(0))
}

/// A table, and an allocation in it that may be used.
fn with_bytes(bytes: usize) -> (Memory, Arc<Allocation>) {
    let memory = Memory::default();
    let allocation = memory.allocate(&context(), Home::Device, bytes).unwrap();
    allocation.begin();
    (memory, allocation)
}

fn span(memory: &Memory, allocation: &Allocation, range: Range<usize>) -> Span {
    memory.span(allocation.start() + range.start, range.len()).unwrap().unwrap()
}

fn refusal(span: &Span, access: Access) -> Option<Fault> {
    span.begin(access).err()
}

#[test]
fn readers_share_bytes_and_a_writer_does_not() {
    let (memory, allocation) = with_bytes(16);
    let (low, middle, high) = (
        span(&memory, &allocation, 0..8),
        span(&memory, &allocation, 4..12),
        span(&memory, &allocation, 8..16),
    );
    let reading = low.begin(Access::Read).unwrap();
    assert_eq!(refusal(&middle, Access::Read), None);
    assert_eq!(refusal(&middle, Access::Write), Some(Fault::Race));
    assert_eq!(refusal(&high, Access::Write), None);
    drop(reading);
    let writing = middle.begin(Access::Write).unwrap();
    assert_eq!(refusal(&low, Access::Read), Some(Fault::Race));
    assert_eq!(refusal(&high, Access::Write), Some(Fault::Race));
    drop(writing);
    assert_eq!(refusal(&low, Access::Write), None);
}

#[test]
fn an_allocation_is_there_from_its_begin_to_its_end() {
    let memory = Memory::default();
    let allocation = memory.allocate(&context(), Home::Device, 8).unwrap();
    let all = span(&memory, &allocation, 0..8);
    assert_eq!(refusal(&all, Access::Read), Some(Fault::NotYetAllocated));
    allocation.begin();
    assert_eq!(refusal(&all, Access::Read), None);
    let start = allocation.start();
    assert_eq!(memory.condemn(start, Home::Pinned).err(), Some(CUresult::INVALID_VALUE));
    let condemned = memory.condemn(start, Home::Device).unwrap();
    // What was queued before the call may still come, what is called for now may not.
    assert_eq!(refusal(&all, Access::Read), None);
    assert_eq!(memory.span(start, 8).err(), Some(CUresult::INVALID_VALUE));
    assert_eq!(memory.condemn(start, Home::Device).err(), Some(CUresult::INVALID_VALUE));
    memory.end(&condemned);
    assert_eq!(refusal(&all, Access::Read), Some(Fault::AlreadyFreed));
    assert_eq!(allocation.context.check(), Ok(()));
    assert_eq!(allocation.context.used_bytes(), 0);
}

#[test]
fn to_free_what_is_in_use_is_a_fault() {
    let (memory, allocation) = with_bytes(8);
    let all = span(&memory, &allocation, 0..8);
    let reading = all.begin(Access::Read).unwrap();
    let condemned = memory.condemn(allocation.start(), Home::Device).unwrap();
    memory.end(&condemned);
    assert_eq!(allocation.context.check(), Err(CUresult::ILLEGAL_ADDRESS));
    drop(reading);
}

#[test]
fn a_write_after_the_end_is_found_when_the_block_is_forgotten() {
    for writes in [false, true] {
        let (memory, allocation) = with_bytes(8);
        let stale = span(&memory, &allocation, 3..4);
        let place = {
            let writing = stale.begin(Access::Write).unwrap();
            writing.pointer()
        };
        memory.end(&memory.condemn(allocation.start(), Home::Device).unwrap());
        if writes {
            // SAFETY: freed blocks are kept for a while, which is what is tested.
            unsafe { place.write(1) };
        }
        // Enough of the others to have the first forgotten.
        for _ in 0..2 {
            let other = context();
            let other = memory.allocate(&other, Home::Device, MOST_QUARANTINED_BYTES / 2).unwrap();
            memory.end(&memory.condemn(other.start(), Home::Device).unwrap());
        }
        assert_eq!(memory.span(allocation.start(), 8).unwrap().map(drop), None, "forgotten");
        let expected = if writes { Err(CUresult::ILLEGAL_ADDRESS) } else { Ok(()) };
        assert_eq!(allocation.context.check(), expected);
    }
}

#[test]
fn addresses_are_not_issued_again_soon() {
    let memory = Memory::default();
    let context = context();
    let mut seen = Vec::new();
    for _ in 0..100 {
        let allocation = memory.allocate(&context, Home::Pinned, 4096).unwrap();
        assert!(!seen.contains(&allocation.start()));
        seen.push(allocation.start());
        memory.end(&memory.condemn(allocation.start(), Home::Pinned).unwrap());
    }
}
