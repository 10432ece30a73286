//! Field cases of groups, splits and device numbers: e03, e05, e06 and e08.

use std::collections::BTreeMap;

use rankwise_model::{GroupSize, Layout, Operation, Rank, reference};
use rankwise_topology::{
    Device, DeviceOrder, Group, GroupError, Partition, Sameness, Unresolved, VisibleDevices, World,
    WorldRank,
};
use serde_json::Value;

fn case(id: &str, file: &str) -> Value {
    let path = format!("{}/cases/{id}/{file}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn world(ranks: u32) -> World {
    World::new(GroupSize::new(ranks).unwrap())
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn signed(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap()).unwrap()
}

fn indices(group: &Group) -> Vec<u32> {
    group.members().iter().map(|rank| rank.index()).collect()
}

/// What every member of a group has after one of `operation`, given each member's
/// contribution of one element.
fn results<T: rankwise_model::Element>(
    operation: Operation,
    group: &Group,
    contribution: impl Fn(WorldRank) -> T,
) -> Vec<Vec<T>> {
    let layout = Layout::new(operation, group.size(), 1).unwrap();
    let inputs: Vec<[T; 1]> = group.members().iter().map(|rank| [contribution(*rank)]).collect();
    let read: Vec<&[T]> = layout
        .each()
        .zip(&inputs)
        .map(|(at, input)| if at.has_input() { input.as_slice() } else { &[] })
        .collect();
    let mut outputs: Vec<Vec<T>> = layout
        .each()
        .map(|at| vec![inputs[0][0]; usize::try_from(at.output_len()).unwrap()])
        .collect();
    let mut written: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    reference::evaluate(&layout, &[], &read, &mut written).unwrap();
    outputs
}

#[test]
fn e03_list_order_is_rank_order_unless_sorted() {
    let expected = case("e03-new-group-sorts-its-ranks", "expected");
    let world = world(4);
    let global_3 = world.rank(3).unwrap();
    let list = numbers(&expected["list"]);
    let groups = [
        ("sorted", Group::sorted(world, list.clone()).unwrap()),
        ("unsorted", Group::new(world, list).unwrap()),
    ];
    for (name, group) in &groups {
        let expected = &expected[*name];
        assert_eq!(indices(group), numbers(&expected["group_to_global"]), "{name}");
        let rank = group.rank_of(global_3).unwrap();
        assert_eq!(rank.index(), number(&expected["group_rank_of_global_3"]), "{name}");
        let gathered = numbers(&expected["all_gather_of_global_rank"]);
        for result in results(Operation::AllGather, group, WorldRank::index) {
            assert_eq!(result, gathered, "{name}");
        }
    }

    // The trap: the next in the ring after global rank 1 turns round as well.
    let next_after_1 = groups.map(|(_, group)| {
        let own = group.rank_of(world.rank(1).unwrap()).unwrap();
        let next = group.size().rank((own.index() + 1) % group.size().get()).unwrap();
        group.world_rank(next).unwrap().index()
    });
    assert_eq!(next_after_1, [2, 0]);
}

#[test]
fn e03_a_list_is_not_a_set() {
    let world = world(4);
    let repeated = GroupError::Repeated { rank: world.rank(0).unwrap(), first: 0, second: 1 };
    assert_eq!(Group::new(world, [0, 0, 1]), Err(repeated));
    assert_eq!(Group::sorted(world, [0, 0, 1]), Err(repeated));
}

/// The split of that name, and its colours in ascending order.
fn split(name: &str) -> (Partition, Vec<i32>) {
    let input = &case("e05-split-ties-and-no-color", "splits")[name];
    let colours: Vec<Option<i32>> = input["colors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|colour| (!colour.is_null()).then(|| signed(colour)))
        .collect();
    let keys = input["keys"].as_array().unwrap().iter().map(signed);
    let entries: Vec<_> = colours.iter().copied().zip(keys).collect();
    let mut distinct: Vec<i32> = colours.into_iter().flatten().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let world = world(u32::try_from(entries.len()).unwrap());
    (Partition::split(world, &entries).unwrap(), distinct)
}

fn children(expected: &Value) -> BTreeMap<i32, Vec<u32>> {
    let by_colour = expected["children_parent_ranks_in_order"].as_object().unwrap();
    by_colour.iter().map(|(colour, ranks)| (colour.parse().unwrap(), numbers(ranks))).collect()
}

#[test]
fn e05_equal_keys_keep_the_order_of_the_parent() {
    let expected = &case("e05-split-ties-and-no-color", "expected")["first"];
    let (split, colours) = split("first");
    let found: BTreeMap<_, _> =
        colours.into_iter().zip(split.groups().iter().map(indices)).collect();
    assert_eq!(found, children(expected));
    assert!(split.covers_world());

    let new_ranks = expected["new_rank"].as_object().unwrap();
    assert_eq!(new_ranks.len(), 6);
    for (parent, new_rank) in new_ranks {
        let parent = split.world().rank(parent.parse().unwrap()).unwrap();
        let (_, found) = split.locate(parent).unwrap();
        assert_eq!(found.index(), number(new_rank), "parent rank {parent}");
    }
    for (parent, wrong) in expected["wrong_unstable"].as_object().unwrap() {
        let parent = split.world().rank(parent.parse().unwrap()).unwrap();
        assert_ne!(split.locate(parent).unwrap().1.index(), number(wrong), "parent rank {parent}");
    }
}

#[test]
fn e05_keys_are_signed_and_a_rank_may_have_no_colour() {
    let expected = &case("e05-split-ties-and-no-color", "expected")["second"];
    let (split, colours) = split("second");
    let found: BTreeMap<_, _> =
        colours.into_iter().zip(split.groups().iter().map(indices)).collect();
    assert_eq!(found, children(expected));

    let alone: Vec<u32> = split
        .world()
        .ranks()
        .filter(|rank| split.locate(*rank).is_none())
        .map(WorldRank::index)
        .collect();
    assert_eq!(alone, numbers(&expected["no_communicator"]));
}

#[test]
fn e06_a_root_is_a_rank_of_the_group() {
    let expected = case("e06-src-is-global-or-group", "expected");
    let world = world(number(&expected["world"]));
    let group = Group::new(world, numbers(&expected["group"])).unwrap();
    let held = |rank: WorldRank| expected["values"][rank.to_string()].as_f64().unwrap();
    let broadcast = |root: Rank| -> BTreeMap<String, f64> {
        let outputs = results(Operation::Broadcast { root }, &group, held);
        group
            .members()
            .iter()
            .map(ToString::to_string)
            .zip(outputs.into_iter().map(|y| y[0]))
            .collect()
    };
    let arrives = |key: &str| -> BTreeMap<String, f64> {
        let by_rank = expected[key].as_object().unwrap();
        by_rank.iter().map(|(rank, value)| (rank.clone(), value.as_f64().unwrap())).collect()
    };
    let global = |index: u32| group.rank_of(world.rank(index).unwrap());

    // Read as global ranks: 0 is no member, 2 is.
    assert_eq!(expected["global_src_0"], "error: rank 0 not in group");
    assert_eq!(global(0), None);
    assert_eq!(broadcast(global(2).unwrap()), arrives("global_src_2"));
    assert_eq!(global(3).unwrap().index(), number(&expected["global_src_3_as_nccl_root"]));

    // Read as ranks of the group: 0 is the first member, 2 is none.
    assert_eq!(broadcast(group.size().rank(0).unwrap()), arrives("group_src_0"));
    assert_eq!(expected["group_src_2"], "error: group has 2 ranks");
    assert_eq!(group.size().rank(2), None);
}

#[test]
fn e06_the_strided_case_fails_in_one_group_and_is_silent_in_the_other() {
    let expected = &case("e06-src-is-global-or-group", "expected")["strided"];
    let lists: Vec<Vec<u32>> = expected["groups"].as_array().unwrap().iter().map(numbers).collect();
    let world = world(4);
    let partition = Partition::from_lists(world, lists).unwrap();
    let [even, odd] = partition.groups() else { panic!("{partition:?}") };
    let passed = world.rank(number(&expected["src_passed"])).unwrap();

    assert_eq!(expected["group_[0,2]"], "error: global rank 1 not in group");
    assert_eq!(even.rank_of(passed), None);

    let silent = &expected["group_[1,3]"];
    let taken = odd.rank_of(passed).unwrap(); // a member, but the first: nothing fails
    let from = |rank: Rank| odd.world_rank(rank).unwrap().index();
    assert_eq!(from(taken), number(&silent["data_from_global"]));
    let last = odd.size().rank(odd.size().get() - 1).unwrap();
    assert_eq!(from(last), number(&silent["should_be_from_global"]));
}

#[test]
fn e08_an_ordinal_is_neither_an_index_nor_a_device() {
    let expected = case("e08-ordinal-minor-nvml-index", "expected");
    let seen = |value: Option<&str>| VisibleDevices::of(value, 8, DeviceOrder::Physical).unwrap();
    let listed = seen(Some("3,6,5,4,0,7,1,2"));
    let indices: Vec<u32> = (0..8).map(|ordinal| listed.index(ordinal).unwrap()).collect();
    let ordinals: Vec<u32> = (0..8).map(|index| listed.ordinal(index).unwrap()).collect();
    assert_eq!(indices, numbers(&expected["ordinal_to_index"]));
    assert_eq!(ordinals, numbers(&expected["index_to_ordinal"]));
    // "ordinal 0 read as NVML 0 reads the GPU that is ordinal 4"
    assert_eq!(listed.ordinal(0), Some(4));

    // "unset: all", "'': none", "'-1': none", "only 0 (list ends at first invalid entry)"
    assert_eq!((seen(None).len(), seen(Some("")).len(), seen(Some("-1")).len()), (8, 0, 0));
    let cut = seen(Some("0,9,1"));
    assert_eq!((cut.len(), cut.index(0)), (1, Some(0)));
    let unresolved = |value| VisibleDevices::of(Some(value), 8, DeviceOrder::Physical);
    assert!(matches!(unresolved("GPU-af7b61d8"), Err(Unresolved::Uuid { .. })));
    assert!(matches!(unresolved("MIG-GPU-af7b61d8/1/0"), Err(Unresolved::Slice { .. })));
    assert!(matches!(unresolved("1,1"), Err(Unresolved::Repeated { index: 1 })));
    // Otherwise unknown: the numbers are CUDA's own.
    let unordered = VisibleDevices::of(Some("3,6"), 8, DeviceOrder::Unknown);
    assert!(matches!(unordered, Err(Unresolved::Order { .. })));

    // One process per GPU, each with ordinal 0: no duplicates, and no two devices either.
    let [own, next, both] =
        ["n/cuda:0[0]", "n/cuda:0[1]", "n/cuda:1[1,0]"].map(|name| name.parse::<Device>().unwrap());
    assert!(!matches!(own.sameness(&next), Sameness::Same));
    assert!(!matches!(own.sameness(&both), Sameness::Different));
}
