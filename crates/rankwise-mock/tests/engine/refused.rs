//! What `Job::new` refuses, one by one, and what it must not refuse.

use core::ptr::NonNull;

use proptest::prelude::*;
use rankwise_mock::engine::{Job, JobError, Seat, Span};
use rankwise_model::reference::Side;
use rankwise_model::{
    Dtype, Element, GroupSize, Layout, Operation, OperationKind, Rank, Reduction, Scalar,
};

use crate::matrix::forms;
use crate::memory::{finish, job};

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

fn two() -> GroupSize {
    GroupSize::new(2).unwrap()
}

fn rank(index: u32) -> Rank {
    GroupSize::new(8).unwrap().rank(index).unwrap()
}

fn layout(operation: Operation, count: u64) -> Layout {
    Layout::new(operation, two(), count).unwrap()
}

/// Consecutive bytes of one allocation, at addresses known to each other.
struct Arena(Vec<u64>);

impl Arena {
    fn new() -> Self {
        Self(vec![0; 64])
    }

    fn span(&mut self, bytes: core::ops::Range<usize>) -> Span {
        let whole = Span::of(&mut self.0);
        assert!(bytes.end <= whole.bytes());
        let at = whole.start().addr().checked_add(bytes.start).unwrap();
        Span::new(whole.start().with_addr(at), bytes.len())
    }
}

fn seat(input: Span, output: Span) -> Seat {
    Seat { input: Some(input), output: Some(output), scalar: None }
}

fn refused<T: Element>(layout: Layout, seats: &[Seat]) -> JobError {
    job::<T>(layout, seats).err().expect("refused")
}

#[test]
fn one_seat_per_rank() {
    let error = refused::<i32>(layout(SUM, 4), &[Seat::default()]);
    assert_eq!(error, JobError::Seats { operation: SUM, found: 1, ranks: two() });
    assert_eq!(error.to_string(), "all_reduce(sum): 1 seats were given for 2 ranks");
}

#[test]
fn a_needed_side_is_there() {
    let mut arena = Arena::new();
    let whole = seat(arena.span(0..16), arena.span(16..32));
    let half = Seat { output: None, ..whole };
    let error = refused::<i32>(layout(SUM, 4), &[whole, half]);
    let side = Side::Output;
    assert_eq!(error, JobError::Missing { operation: SUM, rank: rank(1), side, needed: 16 });
    assert_eq!(error.to_string(), "all_reduce(sum): rank 1 has no output, needs 16 bytes");
}

#[test]
fn a_side_is_long_enough() {
    let mut arena = Arena::new();
    let short = seat(arena.span(0..15), arena.span(16..32));
    let error = refused::<i32>(layout(SUM, 4), &[short, short]);
    let (operation, rank, side) = (SUM, rank(0), Side::Input);
    assert_eq!(error, JobError::Short { operation, rank, side, needed: 16, found: 15 });
    assert_eq!(error.to_string(), "all_reduce(sum): rank 0: the input has 15 bytes, needs 16");

    // More than there are addresses, and more than 64 bits.
    for count in [u64::MAX / 4, u64::MAX / 2] {
        let needed = count.saturating_mul(4);
        let error = refused::<i32>(layout(SUM, count), &[short, short]);
        assert_eq!(error, JobError::Short { operation, rank, side, needed, found: 15 });
    }
}

#[test]
fn elements_are_aligned() {
    let mut arena = Arena::new();
    let seats =
        [seat(arena.span(0..16), arena.span(16..32)), seat(arena.span(32..48), arena.span(50..66))];
    let address = arena.span(50..66).start().addr().get();
    let (operation, rank, side, dtype) = (SUM, rank(1), Side::Output, Dtype::I32);
    let error = refused::<i32>(layout(SUM, 4), &seats);
    assert_eq!(error, JobError::Misaligned { operation, rank, side, dtype, address });
    assert!(error.to_string().ends_with("which is no multiple of the 4 bytes of i32"), "{error}");
    assert!(job::<f32>(layout(SUM, 4), &seats).is_err());
    assert!(job::<u8>(layout(SUM, 16), &seats).is_ok(), "bytes may lie anywhere");
}

#[test]
fn scalars_are_for_premultiplied_sums() {
    let mut arena = Arena::new();
    let premul = Operation::AllReduce { reduction: Reduction::PreMulSum };
    let plain =
        [seat(arena.span(0..16), arena.span(16..32)), seat(arena.span(32..48), arena.span(48..64))];
    let given = |scalar| plain.map(|seat| Seat { scalar: Some(scalar), ..seat });
    let scalar =
        |operation, needed, found| JobError::Scalar { operation, rank: rank(0), needed, found };

    let error = refused::<i32>(layout(premul, 4), &plain);
    assert_eq!(error, scalar(premul, Some(Dtype::I32), None));
    assert_eq!(
        error.to_string(),
        "all_reduce(premul): rank 0 has no scalar, needs one of type i32"
    );
    let error = refused::<i32>(layout(premul, 4), &given(Scalar::of(1.5_f32)));
    assert_eq!(error, scalar(premul, Some(Dtype::I32), Some(Dtype::F32)));
    let error = refused::<i32>(layout(SUM, 4), &given(Scalar::of(2_i32)));
    assert_eq!(error, scalar(SUM, None, Some(Dtype::I32)));
    assert!(job::<i32>(layout(premul, 4), &given(Scalar::of(2_i32))).is_ok());
}

#[test]
fn nobody_writes_what_another_uses() {
    use Side::{InPlace, Input, Output};
    let mut arena = Arena::new();
    let mut at = |start: usize| arena.span(start..start + 16);
    let overlap = |first: (u32, Side), second: (u32, Side), bytes| JobError::Overlap {
        operation: SUM,
        first: (rank(first.0), first.1),
        second: (rank(second.0), second.1),
        bytes,
    };
    let cases = [
        // Two outputs, half of each.
        ([seat(at(0), at(32)), seat(at(64), at(40))], overlap((0, Output), (1, Output), 8)),
        // An output on the last element of a peer's input.
        ([seat(at(0), at(32)), seat(at(64), at(76))], overlap((1, Input), (1, Output), 4)),
        ([seat(at(0), at(32)), seat(at(64), at(12))], overlap((0, Input), (1, Output), 4)),
        // Input and output of one rank, shifted by an element.
        ([seat(at(0), at(4)), seat(at(64), at(96))], overlap((0, Input), (0, Output), 12)),
        // In place, and another's input there.
        ([seat(at(0), at(0)), seat(at(8), at(96))], overlap((0, InPlace), (1, Input), 8)),
    ];
    for (seats, expected) in cases {
        assert_eq!(refused::<i32>(layout(SUM, 4), &seats), expected);
    }
    let seats = [seat(at(0), at(32)), seat(at(64), at(40))];
    assert_eq!(
        refused::<i32>(layout(SUM, 4), &seats).to_string(),
        "all_reduce(sum): the output of rank 0 and the output of rank 1 share 8 bytes other \
         than in place"
    );
}

/// A long run that starts early still counts after shorter ones that start later.
#[test]
fn an_overlap_is_seen_past_shorter_runs_between() {
    let three = GroupSize::new(3).unwrap();
    let operation = Operation::Gather { root: rank(0) };
    let layout = Layout::new(operation, three, 4).unwrap();
    let mut arena = Arena::new();
    let input = |span| Seat { input: Some(span), ..Seat::default() };
    let root = seat(arena.span(200..216), arena.span(0..48));
    let seats = [root, input(arena.span(100..116)), input(arena.span(32..48))];
    let error = refused::<i32>(layout, &seats);
    let (first, second) = ((rank(0), Side::Output), (rank(2), Side::Input));
    assert_eq!(error, JobError::Overlap { operation, first, second, bytes: 16 });

    // Two inputs inside each other, and an output in the longer only.
    let seats =
        [seat(arena.span(0..16), arena.span(64..80)), seat(arena.span(4..20), arena.span(16..32))];
    let two = Layout::new(SUM, two(), 4).unwrap();
    assert!(matches!(refused::<i32>(two, &seats), JobError::Overlap { bytes: 4, .. }));
}

/// Rank 0's contribution is the first block of its output, which is longer than that.
#[test]
fn in_place_is_as_long_as_the_longer_side() {
    let operation = Operation::AllGather;
    let mut arena = Arena::new();
    let in_place = seat(arena.span(0..16), arena.span(0..32));
    let inside = seat(arena.span(16..32), arena.span(64..96));
    let error = refused::<i32>(layout(operation, 4), &[in_place, inside]);
    let (first, second) = ((rank(0), Side::InPlace), (rank(1), Side::Input));
    assert_eq!(error, JobError::Overlap { operation, first, second, bytes: 16 });
    let beside = seat(arena.span(32..48), arena.span(64..96));
    finish(&job::<i32>(layout(operation, 4), &[in_place, beside]).unwrap());
}

#[test]
fn what_is_harmless_is_allowed() {
    let mut arena = Arena::new();
    let ranks = two();
    // Two ranks contribute the same bytes.
    let (shared, a, b) = (arena.span(0..16), arena.span(16..32), arena.span(32..48));
    finish(&job::<i32>(layout(SUM, 4), &[seat(shared, a), seat(shared, b)]).unwrap());
    // Sides that are not used may be missing, dangling or anywhere.
    let broadcast = layout(Operation::Broadcast { root: rank(0) }, 4);
    let nowhere = Span::new(NonNull::dangling(), 0);
    finish(&job::<i32>(broadcast, &[seat(shared, a), seat(nowhere, b)]).unwrap());
    finish(&job::<i32>(broadcast, &[seat(shared, a), seat(a, b)]).unwrap());
    // Spans may be longer than their sides, and what is beyond does not overlap.
    let long = seat(arena.span(0..128), arena.span(16..128));
    let beside = seat(arena.span(32..128), arena.span(48..64));
    finish(&job::<i32>(layout(SUM, 4), &[long, beside]).unwrap());
    // A message to oneself.
    let message = Operation::Message { from: rank(1), to: rank(1) };
    let message = Layout::new(message, ranks, 4).unwrap();
    finish(&job::<i32>(message, &[Seat::default(), seat(shared, a)]).unwrap());
    let error = refused::<i32>(message, &[Seat::default(), seat(shared, shared)]);
    assert!(matches!(error, JobError::Overlap { bytes: 16, .. }), "{error}");
}

/// The argument why shares do not race, checked on every row of the table: whoever
/// writes an input's byte is the only one that reads it, at the same place.
#[test]
fn in_place_positions_are_read_only_where_they_are_written() {
    for kind in OperationKind::ALL {
        for ranks in [1, 2, 3, 5].map(|ranks| GroupSize::new(ranks).unwrap()) {
            for operation in forms(kind, ranks) {
                let layout = Layout::new(operation, ranks, 3).unwrap();
                for at in layout.each() {
                    let Some(relation) = at.in_place() else { continue };
                    for address in relation.input.clone() {
                        if relation.output.contains(&address) {
                            let read = address - relation.input.start;
                            let written = address - relation.output.start;
                            check_readers(&layout, at.rank(), read, written);
                        }
                    }
                }
            }
        }
    }
}

/// Every output position that reads input position `read` of `owner` is in the stroke
/// that writes output position `written` of `owner`, and as far into it.
fn check_readers(layout: &Layout, owner: Rank, read: u64, written: u64) {
    let place = |rank: Rank, position: u64| {
        let mut pieces = layout.at(rank).unwrap().pieces();
        let piece = pieces.find(|piece| piece.output.contains(&position)).unwrap();
        let length = piece.output.end - piece.output.start;
        ((piece.source, piece.start, length), position - piece.output.start)
    };
    let own = place(owner, written);
    for at in layout.each() {
        for position in 0..at.output_len() {
            let (stroke, offset) = place(at.rank(), position);
            let reads = match stroke.0 {
                rankwise_model::Source::Rank(rank) => rank == owner,
                rankwise_model::Source::EveryRank => true,
            };
            if reads && stroke.1 + offset == read {
                assert_eq!((stroke, offset), own, "{layout:?} reads {read} of {owner}");
            }
        }
    }
}

fn spans() -> impl Strategy<Value = Option<(usize, usize)>> {
    prop::option::weighted(0.9, (0_usize..256, 0_usize..200))
}

proptest! {
    /// Whatever the seats: an answer, no panic; and if it is yes, the job finishes.
    #[test]
    fn any_seats_are_answered(
        kind in 0..OperationKind::ALL.len(),
        form in any::<prop::sample::Index>(),
        ranks in 1_u32..5,
        count in prop_oneof![0_u64..20, any::<u64>()],
        dtype in 0..Dtype::ALL.len(),
        places in prop::collection::vec((spans(), spans(), any::<Option<bool>>()), 0..5),
    ) {
        let ranks = GroupSize::new(ranks).unwrap();
        let operation = *form.get(&forms(OperationKind::ALL[kind], ranks));
        let Ok(layout) = Layout::new(operation, ranks, count) else { return Ok(()) };
        let dtype = Dtype::ALL[dtype];
        let mut arena = Arena::new();
        let mut span = |place: Option<(usize, usize)>| {
            place.map(|(start, bytes)| arena.span(start..start + bytes))
        };
        let seats: Vec<Seat> = places
            .into_iter()
            .map(|(input, output, right)| Seat {
                input: span(input),
                output: span(output),
                scalar: right.map(|right| {
                    Scalar::from_bits(if right { dtype } else { Dtype::F64 }, 3)
                }),
            })
            .collect();
        // SAFETY: all spans lie in the arena, which outlives the job and is not looked at.
        match unsafe { Job::new(layout, dtype, &seats) } {
            Ok(job) => finish(&job),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
