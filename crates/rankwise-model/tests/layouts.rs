//! Lengths, pieces and in-place ranges of every row, written down by hand.
//!
//! Three ranks, count 4 throughout, so that a length of 4, 3 or 12 says what it is.

use std::ops::Range;

use rankwise_model::{
    CountMeaning, GroupSize, Layout, LayoutError, NotInGroup, Operation, OperationKind, Piece,
    Rank, RankLayout, Reduction, Source,
};

const SUM: Reduction = Reduction::Sum;

fn three() -> GroupSize {
    GroupSize::new(3).unwrap()
}

fn rank(index: u32) -> Rank {
    GroupSize::new(8).unwrap().rank(index).unwrap()
}

fn each(operation: Operation) -> Vec<RankLayout> {
    Layout::new(operation, three(), 4).unwrap().each().collect()
}

/// The operations of this file: rooted ones at root 2, a message from 2 to 1.
fn every_row() -> [Operation; 9] {
    let root = rank(2);
    [
        Operation::AllReduce { reduction: SUM },
        Operation::Reduce { reduction: SUM, root },
        Operation::Broadcast { root },
        Operation::AllGather,
        Operation::ReduceScatter { reduction: SUM },
        Operation::AllToAll,
        Operation::Gather { root },
        Operation::Scatter { root },
        Operation::Message { from: root, to: rank(1) },
    ]
}

// pins: CNT-1, CNT-2, CNT-3, CNT-4, CNT-5
#[test]
fn the_count_argument_names_one_length() {
    let (input, output) = (RankLayout::input_len, RankLayout::output_len);
    let expected: [(CountMeaning, [u64; 3], [u64; 3]); 9] = [
        (CountMeaning::Whole, [4, 4, 4], [4, 4, 4]),
        (CountMeaning::Whole, [4, 4, 4], [0, 0, 4]),
        (CountMeaning::Whole, [0, 0, 4], [4, 4, 4]),
        (CountMeaning::Contribution, [4, 4, 4], [12, 12, 12]),
        (CountMeaning::Shard, [12, 12, 12], [4, 4, 4]),
        (CountMeaning::Block, [12, 12, 12], [12, 12, 12]),
        (CountMeaning::Contribution, [4, 4, 4], [0, 0, 12]),
        (CountMeaning::Shard, [0, 0, 12], [4, 4, 4]),
        (CountMeaning::Message, [0, 0, 4], [0, 4, 0]),
    ];
    for (operation, (meaning, inputs, outputs)) in every_row().into_iter().zip(expected) {
        let each = each(operation);
        assert_eq!(operation.kind().row().count, meaning, "{operation}");
        assert_eq!(each.iter().map(input).collect::<Vec<_>>(), inputs, "{operation}");
        assert_eq!(each.iter().map(output).collect::<Vec<_>>(), outputs, "{operation}");
    }
}

// pins: RED-2, BC-2, GA-2, SC-2, MSG-1
#[test]
fn a_side_that_is_not_there_is_not_merely_empty() {
    // Root 2, count 0: every length is 0, and yet rank 2 alone has the root's side.
    let root = rank(2);
    let sides = |operation: Operation| -> Vec<(bool, bool)> {
        let layout = Layout::new(operation, three(), 0).unwrap();
        layout.each().map(|at| (at.has_input(), at.has_output())).collect()
    };
    let (both, input, output) = ((true, true), (true, false), (false, true));
    assert_eq!(sides(Operation::Reduce { reduction: SUM, root }), [input, input, both]);
    assert_eq!(sides(Operation::Gather { root }), [input, input, both]);
    assert_eq!(sides(Operation::Broadcast { root }), [output, output, both]);
    assert_eq!(sides(Operation::Scatter { root }), [output, output, both]);
    let message = Operation::Message { from: root, to: rank(0) };
    assert_eq!(sides(message), [output, (false, false), input]);
}

fn from(output: Range<u64>, source: u32, start: u64) -> Piece {
    Piece { output, source: Source::Rank(rank(source)), start }
}

fn folded(output: Range<u64>, start: u64) -> Piece {
    Piece { output, source: Source::EveryRank, start }
}

#[track_caller]
fn pieces_are(operation: Operation, expected: &[Vec<Piece>; 3]) {
    let found: Vec<Vec<Piece>> = each(operation).iter().map(|at| at.pieces().collect()).collect();
    assert_eq!(found, *expected, "{operation}");
}

// pins: ALLRED-1, RED-1, RED-2
#[test]
fn a_fold_is_one_piece_where_it_is_wanted() {
    let whole = || vec![folded(0..4, 0)];
    pieces_are(Operation::AllReduce { reduction: SUM }, &[whole(), whole(), whole()]);
    let reduce = Operation::Reduce { reduction: SUM, root: rank(2) };
    pieces_are(reduce, &[vec![], vec![], whole()]);
    let reduce = Operation::Reduce { reduction: Reduction::Max, root: rank(1) };
    pieces_are(reduce, &[vec![], whole(), vec![]]);
}

// pins: RS-1
#[test]
fn a_shard_is_one_piece_that_starts_at_its_block() {
    pieces_are(
        Operation::ReduceScatter { reduction: SUM },
        &[vec![folded(0..4, 0)], vec![folded(0..4, 4)], vec![folded(0..4, 8)]],
    );
}

// pins: BC-1, SC-1, MSG-1
#[test]
fn what_one_rank_gives_is_one_piece() {
    let whole = |source| vec![from(0..4, source, 0)];
    pieces_are(Operation::Broadcast { root: rank(1) }, &[whole(1), whole(1), whole(1)]);
    pieces_are(
        Operation::Scatter { root: rank(2) },
        &[vec![from(0..4, 2, 0)], vec![from(0..4, 2, 4)], vec![from(0..4, 2, 8)]],
    );
    let message = Operation::Message { from: rank(2), to: rank(0) };
    pieces_are(message, &[whole(2), vec![], vec![]]);
}

// pins: AG-1, ATA-1, GA-1
#[test]
fn what_every_rank_gives_is_a_piece_each_in_rank_order() {
    let blocks = |start| vec![from(0..4, 0, start), from(4..8, 1, start), from(8..12, 2, start)];
    pieces_are(Operation::AllGather, &[blocks(0), blocks(0), blocks(0)]);
    pieces_are(Operation::AllToAll, &[blocks(0), blocks(4), blocks(8)]);
    pieces_are(Operation::Gather { root: rank(1) }, &[vec![], blocks(0), vec![]]);
}

// pins: CNT-6, CNT-8
#[test]
fn count_0_has_no_pieces_and_one_rank_has_one() {
    let root = GroupSize::ONE.first();
    for operation in every_row() {
        let empty = Layout::new(operation, three(), 0).unwrap();
        assert!(empty.each().all(|at| at.pieces().next().is_none()), "{operation}");
    }
    let alone = |operation| {
        let layout = Layout::new(operation, GroupSize::ONE, 4).unwrap();
        layout.each().flat_map(|at| at.pieces().collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(alone(Operation::AllToAll), [from(0..4, 0, 0)]);
    assert_eq!(alone(Operation::Gather { root }), [from(0..4, 0, 0)]);
    assert_eq!(alone(Operation::ReduceScatter { reduction: SUM }), [folded(0..4, 0)]);
}

/// The length of the buffer, the input in it, the output in it.
type Relation = Option<(u64, Range<u64>, Range<u64>)>;

#[track_caller]
fn in_place_is(operation: Operation, expected: &[Relation; 3]) {
    let relation = |at: &RankLayout| {
        at.in_place().map(|relation| (relation.buffer_len, relation.input, relation.output))
    };
    let found: Vec<Relation> = each(operation).iter().map(relation).collect();
    assert_eq!(found, *expected, "{operation}");
}

// pins: IP-1, IP-2, IP-3, IP-4, IP-5
#[test]
fn in_place_each_rank_has_one_relation_or_none() {
    let same = || Some((4, 0..4, 0..4));
    in_place_is(Operation::AllReduce { reduction: SUM }, &[same(), same(), same()]);
    in_place_is(Operation::Reduce { reduction: SUM, root: rank(1) }, &[None, same(), None]);
    in_place_is(Operation::Broadcast { root: rank(2) }, &[None, None, same()]);
    in_place_is(
        Operation::AllGather,
        &[Some((12, 0..4, 0..12)), Some((12, 4..8, 0..12)), Some((12, 8..12, 0..12))],
    );
    in_place_is(
        Operation::ReduceScatter { reduction: SUM },
        &[Some((12, 0..12, 0..4)), Some((12, 0..12, 4..8)), Some((12, 0..12, 8..12))],
    );
    in_place_is(Operation::Gather { root: rank(1) }, &[None, Some((12, 4..8, 0..12)), None]);
    in_place_is(Operation::Scatter { root: rank(2) }, &[None, None, Some((12, 0..12, 8..12))]);
    in_place_is(Operation::AllToAll, &[None, None, None]);
    in_place_is(Operation::Message { from: rank(1), to: rank(1) }, &[None, None, None]);
    in_place_is(Operation::Message { from: rank(2), to: rank(1) }, &[None, None, None]);
}

// pins: CNT-7
#[test]
fn a_length_that_does_not_fit_is_refused() {
    let count = u64::MAX / 3 + 1; // three of them are 2^64 + 1 or more
    for operation in every_row() {
        let found = Layout::new(operation, three(), count);
        let whole =
            matches!(operation.kind().row().count, CountMeaning::Whole | CountMeaning::Message);
        assert_eq!(found.is_ok(), whole, "{operation}");
        if let Err(error) = found {
            assert_eq!(error, LayoutError::Overflow { operation, count, ranks: three() });
        }
        // 3 · (2^64 − 1)/3 is 2^64 − 1: the longest that fits.
        assert!(Layout::new(operation, three(), u64::MAX / 3).is_ok(), "{operation}");
    }
    let error = Layout::new(Operation::AllGather, three(), u64::MAX).unwrap_err();
    assert_eq!(
        error.to_string(),
        "all_gather: count 18446744073709551615 × 3 ranks does not fit in 64 bits"
    );
}

// pins: N-2
#[test]
fn a_rank_that_the_group_lacks_is_refused() {
    let absent = rank(3);
    let found = NotInGroup { rank: absent, ranks: three() };
    for operation in [
        Operation::Reduce { reduction: SUM, root: absent },
        Operation::Broadcast { root: absent },
        Operation::Gather { root: absent },
        Operation::Scatter { root: absent },
        Operation::Message { from: absent, to: rank(0) },
        Operation::Message { from: rank(0), to: absent },
    ] {
        let error = Layout::new(operation, three(), 1).unwrap_err();
        assert_eq!(error, LayoutError::NotInGroup { operation, found });
    }
    let error = Layout::new(Operation::Broadcast { root: absent }, three(), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "broadcast(root 3): rank 3 is not in a group of 3 (ranks 0 to 2)"
    );
    let layout = Layout::new(Operation::AllGather, three(), 1).unwrap();
    assert_eq!(layout.at(absent), Err(found));
    assert_eq!((three().rank(2), three().rank(3)), (Some(rank(2)), None));
    assert_eq!(GroupSize::new(0), None);
}

#[test]
fn every_row_is_here() {
    let kinds: Vec<OperationKind> = every_row().iter().map(|operation| operation.kind()).collect();
    assert_eq!(kinds, OperationKind::ALL);
}
