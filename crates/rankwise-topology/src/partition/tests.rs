//! Partitions by hand.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rstest::rstest;

use super::*;

fn world(ranks: u32) -> World {
    World::new(GroupSize::new(ranks).unwrap())
}

fn shown(partition: &Partition) -> Vec<String> {
    partition.groups().iter().map(ToString::to_string).collect()
}

#[test]
fn the_whole_world_is_one_group() {
    let whole = Partition::whole(world(3));
    assert_eq!(shown(&whole), ["[0, 1, 2]"]);
    assert!(whole.covers_world());
}

#[test]
fn a_partition_may_leave_ranks_out() {
    let world = world(4);
    let partition = Partition::from_lists(world, [vec![3, 0], vec![2]]).unwrap();
    assert!(!partition.covers_world());
    assert!(partition.locate(world.rank(1).unwrap()).is_none());
    let (group, rank) = partition.locate(world.rank(0).unwrap()).unwrap();
    assert_eq!((group.to_string().as_str(), rank.index()), ("[3, 0]", 1));
}

#[rstest]
#[case(vec![], "a partition by lists needs at least one list")]
#[case(vec![vec![0], vec![]], "group 1: a group needs at least one rank")]
#[case(vec![vec![0], vec![1, 4]], "group 1: rank 4 is not in a world of 4 (ranks 0 to 3)")]
#[case(
    vec![vec![1, 0, 1]],
    "group 0: rank 1 stands twice in the group, at positions 0 and 2: a member has one rank"
)]
#[case(
    vec![vec![0, 1], vec![2], vec![3, 1]],
    "rank 1 is in group 0 and in group 2: groups of one partition are disjoint"
)]
fn bad_lists_are_named(#[case] lists: Vec<Vec<u32>>, #[case] text: &str) {
    assert_eq!(Partition::from_lists(world(4), lists).unwrap_err().to_string(), text);
}

#[test]
fn endless_lists_are_refused_in_finite_time() {
    let endless = Partition::from_lists(world(2), core::iter::repeat([0]));
    let rank = world(2).rank(0).unwrap();
    assert_eq!(endless, Err(PartitionError::Overlap { rank, first: 0, second: 1 }));
}

#[test]
fn the_middle_axis_strides_and_the_order_of_axes_counts() {
    let mesh = Mesh::new([("pp", 2), ("dp", 3), ("tp", 2)]).unwrap();
    let along = |axes: &[&str]| shown(&Partition::along(&mesh, axes).unwrap());
    assert_eq!(along(&["dp"]), ["[0, 2, 4]", "[1, 3, 5]", "[6, 8, 10]", "[7, 9, 11]"]);
    assert_eq!(along(&["dp", "tp"]), ["[0, 1, 2, 3, 4, 5]", "[6, 7, 8, 9, 10, 11]"]);
    assert_eq!(along(&["tp", "dp"]), ["[0, 2, 4, 1, 3, 5]", "[6, 8, 10, 7, 9, 11]"]);
    assert_eq!(along(&[]).len(), 12);
}

#[test]
fn axes_that_are_not_there_or_twice_are_errors() {
    let mesh = Mesh::new([("dp", 2), ("tp", 2)]).unwrap();
    let text = |axes: &[&str]| Partition::along(&mesh, axes).unwrap_err().to_string();
    assert_eq!(text(&["ep"]), "no mesh axis `ep`: there are `dp`, `tp`");
    assert_eq!(text(&["tp", "tp"]), "mesh axis `tp` is named twice");
}

#[test]
fn split_orders_by_key_then_parent_rank() {
    let by = [(Some(0), 9), (Some(1), 0), (Some(0), -4), (Some(1), 0), (Some(0), 9)];
    let split = Partition::split(world(5), &by).unwrap();
    assert_eq!(shown(&split), ["[2, 0, 4]", "[1, 3]"]);
    assert!(split.covers_world());
}

#[test]
fn a_split_without_colours_has_no_groups() {
    let split = Partition::split(world(2), &[(None, 0), (None, 1)]).unwrap();
    assert!(split.groups().is_empty());
    assert!(!split.covers_world());
}

#[test]
fn extreme_keys_and_colours_are_ordinary() {
    let by = [(Some(i32::MAX), i32::MAX), (Some(i32::MAX), i32::MIN), (Some(0), 0)];
    assert_eq!(shown(&Partition::split(world(3), &by).unwrap()), ["[2]", "[1, 0]"]);
}

#[rstest]
#[case(
    &[(Some(0), 0)],
    "split: 1 colours and keys for a world of 2: every rank takes part, with or without a colour"
)]
#[case(
    &[(Some(0), 0), (Some(-1), 0)],
    "split: rank 1 has colour -1, which is NCCL_SPLIT_NOCOLOR: say no colour"
)]
#[case(
    &[(Some(-7), 0), (Some(0), 0)],
    "split: rank 0 has colour -7, needs 0 or more, or no colour"
)]
fn bad_splits_are_named(#[case] by: &[(Option<i32>, i32)], #[case] text: &str) {
    assert_eq!(Partition::split(world(2), by).unwrap_err().to_string(), text);
}

#[test]
fn a_world_of_a_million_ranks_is_quick() {
    let mesh = Mesh::new([("pp", 16), ("dp", 1024), ("tp", 64)]).unwrap();
    let last = mesh.world().rank((1 << 20) - 1).unwrap();
    let dp = Partition::along(&mesh, &["dp"]).unwrap();
    assert!(dp.covers_world());
    assert_eq!(dp.locate(last).unwrap().1.index(), 1023);

    let group = Group::new(mesh.world(), (0..1 << 20).rev()).unwrap();
    assert_eq!(group.rank_of(last).unwrap().index(), 0);

    let keys: Vec<_> = (0..1 << 20).rev().map(|key: i32| (Some(key % 2), key)).collect();
    let split = Partition::split(mesh.world(), &keys).unwrap();
    assert_eq!(split.locate(last).unwrap().1.index(), 0);
}
