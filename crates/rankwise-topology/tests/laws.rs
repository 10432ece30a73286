//! Laws over random worlds, lists, splits, meshes and device names.
//!
//! The oracles are written another way than the crate: they compare every pair
//! and count, where the crate sorts and searches.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rankwise_model::{GroupSize, Rank};
use rankwise_topology::{
    Device, Group, Mesh, MeshError, Partition, RankMap, Relabelling, Sameness, Sharing, World,
    WorldRank,
};

fn world(ranks: u32) -> World {
    World::new(GroupSize::new(ranks).unwrap())
}

fn indices(members: &[WorldRank]) -> Vec<u32> {
    members.iter().map(|rank| rank.index()).collect()
}

/// Old ranks listed by new rank, or the reverse: any permutation.
fn permutation() -> impl Strategy<Value = Vec<u32>> {
    (1_u32..40).prop_flat_map(|ranks| Just((0..ranks).collect::<Vec<_>>()).prop_shuffle())
}

/// Few colours and few keys, so that ties are common; now and then an extreme.
fn split_entries() -> impl Strategy<Value = Vec<(Option<i32>, i32)>> {
    let colour =
        prop_oneof![4 => (0..3).prop_map(Some), 1 => Just(None), 1 => Just(Some(i32::MAX))];
    let key = prop_oneof![6 => -2..3, 1 => Just(i32::MIN), 1 => Just(i32::MAX)];
    prop::collection::vec((colour, key), 1..24)
}

/// Up to four axes of up to four ranks.
fn sizes() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(1_u32..5, 1..5)
}

fn mesh_of(sizes: &[u32]) -> (Mesh, Vec<String>) {
    let names: Vec<String> = (0..sizes.len()).map(|axis| format!("axis{axis}")).collect();
    let mesh = Mesh::new(names.iter().zip(sizes.iter().copied())).unwrap();
    (mesh, names)
}

/// Names of every kind over few hosts and numbers, so that they collide.
fn device_name() -> impl Strategy<Value = String> {
    let host = prop_oneof![2 => Just("n/"), 1 => Just("m/"), 1 => Just("")];
    let uuid = (0..2_u8).prop_map(|last| format!("5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e{last:02x}"));
    let bus = prop_oneof![Just("59:00.0"), Just("0000:59:00.0"), Just("0000:58:00.0")];
    let on_host = (host, 0..7, uuid, bus, 0..2).prop_map(|(host, kind, uuid, bus, number)| {
        let name = match kind {
            0 => format!("GPU-{uuid}"),
            1 => format!("MIG-{uuid}"),
            2 => bus.to_owned(),
            3 => format!("{bus}/gi{number}/ci0"),
            4 => format!("GPU-{uuid}/gi1/ci{number}"),
            5 => format!("cuda:{number}"),
            _ => format!("cuda:{number}[{}]", ["?", "0,1"][usize::from(bus.len() == 7)]),
        };
        format!("{host}{name}")
    });
    prop_oneof![8 => on_host, 1 => prop_oneof![Just("A".to_owned()), Just("B".to_owned())]]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ranks_of_a_group_go_there_and_back(list in permutation(), keep in 1_usize..40) {
        let world = world(u32::try_from(list.len()).unwrap());
        let listed = &list[..keep.min(list.len())];
        let group = Group::new(world, listed.iter().copied()).unwrap();
        prop_assert_eq!(indices(group.members()), listed);
        for member in world.ranks() {
            let position = listed.iter().position(|rank| *rank == member.index());
            let rank = group.rank_of(member);
            prop_assert_eq!(rank.map(|rank| rank.index() as usize), position);
            prop_assert_eq!(rank.and_then(|rank| group.world_rank(rank)), rank.map(|_| member));
        }
        let sorted = Group::sorted(world, listed.iter().copied()).unwrap();
        let ascending: BTreeSet<_> = listed.iter().copied().collect();
        prop_assert!(indices(sorted.members()).into_iter().eq(ascending));
    }

    #[test]
    fn a_list_is_a_group_exactly_if_it_is_a_set_of_ranks(
        list in prop::collection::vec(0_u32..8, 0..6),
    ) {
        let set: BTreeSet<_> = list.iter().collect();
        let good = !list.is_empty() && set.len() == list.len() && list.iter().all(|rank| *rank < 6);
        prop_assert_eq!(Group::new(world(6), list.clone()).is_ok(), good);
        prop_assert_eq!(Group::sorted(world(6), list).is_ok(), good);
    }

    #[test]
    fn split_counts_the_ranks_that_go_before(entries in split_entries()) {
        let world = world(u32::try_from(entries.len()).unwrap());
        let split = Partition::split(world, &entries).unwrap();
        for (at, (rank, (colour, key))) in world.ranks().zip(&entries).enumerate() {
            let mates = |other: &(usize, &(Option<i32>, i32))| other.1.0 == *colour;
            let before = entries.iter().enumerate().filter(mates).filter(|(other, (_, their_key))| {
                their_key < key || (their_key == key && *other < at)
            });
            let size = entries.iter().enumerate().filter(mates).count();
            let found = split.locate(rank);
            let expected = colour.map(|_| (before.count(), size));
            let shown = found.map(|(group, rank)| {
                (rank.index() as usize, group.size().get() as usize)
            });
            prop_assert_eq!(shown, expected);
        }
    }

    #[test]
    fn the_groups_along_axes_cover_the_mesh_once(
        sizes in sizes(),
        order in Just([0_usize, 1, 2, 3]).prop_shuffle(),
        how_many in 0_usize..5,
    ) {
        let (mesh, names) = mesh_of(&sizes);
        let varying: Vec<usize> =
            order.into_iter().take(how_many).filter(|axis| *axis < sizes.len()).collect();
        let axes: Vec<&str> = varying.iter().map(|axis| names[*axis].as_str()).collect();
        let partition = Partition::along(&mesh, &axes).unwrap();
        prop_assert!(partition.covers_world());

        let members: Vec<_> = partition.groups().iter().flat_map(Group::members).collect();
        prop_assert_eq!(members.len(), sizes.iter().product::<u32>() as usize);
        prop_assert_eq!(members.iter().collect::<BTreeSet<_>>().len(), members.len());

        let mut keys = Vec::new();
        for group in partition.groups() {
            let at: Vec<_> =
                group.members().iter().map(|rank| mesh.coordinates(*rank).unwrap()).collect();
            let fixed = |point: &Vec<u32>| -> Vec<u32> {
                (0..sizes.len()).filter(|axis| !varying.contains(axis)).map(|axis| point[axis]).collect()
            };
            let along = |point: &Vec<u32>| -> Vec<u32> {
                varying.iter().map(|axis| point[*axis]).collect()
            };
            prop_assert!(at.iter().all(|point| fixed(point) == fixed(&at[0])));
            // Row-major in the order in which the axes were named.
            prop_assert!(at.is_sorted_by(|one, next| along(one) < along(next)));
            keys.push(fixed(&at[0]));
        }
        prop_assert!(keys.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn coordinates_go_there_and_back(sizes in sizes()) {
        let (mesh, _) = mesh_of(&sizes);
        let mut previous = None;
        for rank in mesh.world().ranks() {
            let at = mesh.coordinates(rank).unwrap();
            prop_assert!(at.iter().zip(&sizes).all(|(coordinate, size)| coordinate < size));
            prop_assert_eq!(mesh.rank_at(&at), Ok(rank));
            prop_assert!(previous < Some(at.clone()));
            previous = Some(at);
        }
    }

    #[test]
    fn a_relabelling_and_its_inverse_are_nothing(new_ranks in permutation()) {
        let world = world(u32::try_from(new_ranks.len()).unwrap());
        let there = Relabelling::from_list(world, new_ranks.iter().copied()).unwrap();
        let back = there.inverse();
        prop_assert!(there.compose(&back).unwrap().is_identity());
        prop_assert!(back.compose(&there).unwrap().is_identity());
        prop_assert_eq!(&back.inverse(), &there);
        for (old, new) in world.ranks().zip(&new_ranks) {
            prop_assert_eq!(there.new_rank(old).map(WorldRank::index), Some(*new));
            prop_assert_eq!(there.old_rank(there.new_rank(old).unwrap()), Some(old));
        }

        let named = |rank: WorldRank| Device::named(&format!("d{rank}")).unwrap();
        let before = RankMap::new(world.ranks().map(named).collect(), Sharing::Exclusive).unwrap();
        let after = there.apply_map(&before).unwrap();
        for old in world.ranks() {
            prop_assert_eq!(after.device(there.new_rank(old).unwrap()), before.device(old));
        }
        prop_assert_eq!(&Relabelling::between(&before, &after).unwrap(), &there);
        prop_assert_eq!(&back.apply_map(&after).unwrap(), &before);
    }

    #[test]
    fn cycles_say_the_whole_permutation(new_ranks in permutation()) {
        let world = world(u32::try_from(new_ranks.len()).unwrap());
        let shown = Relabelling::from_list(world, new_ranks.iter().copied()).unwrap().to_string();
        let mut read: Vec<u32> = (0..world.size().get()).collect();
        for cycle in shown.split(')').filter_map(|cycle| cycle.strip_prefix('(')) {
            let ranks: Vec<u32> = cycle.split_whitespace().map(|rank| rank.parse().unwrap()).collect();
            for (at, rank) in ranks.iter().enumerate() {
                read[*rank as usize] = ranks[(at + 1) % ranks.len()];
            }
        }
        prop_assert_eq!(read, new_ranks);
    }

    #[test]
    fn a_map_stands_exactly_if_every_pair_of_its_devices_does(
        names in prop::collection::vec(device_name(), 1..5),
    ) {
        let devices: Vec<_> = names.iter().map(|name| Device::parse(name).unwrap()).collect();
        let mut pairs = BTreeMap::new();
        for (at, one) in devices.iter().enumerate() {
            for other in &devices[..at] {
                let sameness = one.sameness(other);
                prop_assert_eq!(sameness, other.sameness(one));
                *pairs.entry(format!("{sameness:?}")).or_insert(0) += 1;
            }
        }
        let none = |sameness: Sameness| !pairs.contains_key(&format!("{sameness:?}"));
        let known = none(Sameness::CannotTell);
        let apart = known && none(Sameness::Same) && none(Sameness::Overlapping);
        prop_assert_eq!(RankMap::new(devices.clone(), Sharing::Exclusive).is_ok(), apart);
        let shared = RankMap::new(devices.clone(), Sharing::Shared);
        prop_assert_eq!(shared.is_ok(), known);

        let Ok(map) = shared else { return Ok(()) };
        for (rank, device) in map.world().ranks().zip(&devices) {
            let same: Vec<_> = map
                .world()
                .ranks()
                .zip(&devices)
                .filter(|(other, theirs)| *other == rank || device.sameness(theirs) == Sameness::Same)
                .map(|(other, _)| other)
                .collect();
            prop_assert_eq!(map.ranks_on(device).collect::<Vec<_>>(), same);
            prop_assert_eq!(map.find(&device.to_string()), map.device(rank));
        }
    }

    #[test]
    fn a_shown_device_reads_back(name in device_name()) {
        let device = Device::parse(&name).unwrap();
        prop_assert_eq!(Device::parse(&device.to_string()), Ok(device));
    }

    #[test]
    fn any_text_is_a_device_that_reads_back_or_an_error(
        text in prop_oneof![
            any::<String>(),
            "[A-Ca-c0-9:./,?\\[\\] -]{0,24}",
            "(n/)?(cuda:|GPU-|MIG-|MIG-GPU-|gpu-)?[0-9a-f:./\\[\\]-]{0,40}",
        ],
    ) {
        if let Ok(device) = Device::parse(&text) {
            prop_assert_eq!(Device::parse(&device.to_string()), Ok(device));
        }
        if let Ok(label) = Device::named(&text) {
            prop_assert_eq!(label.to_string(), text);
        }
    }

    #[test]
    fn no_arguments_panic(
        ranks in 1_u32..9,
        lists in prop::collection::vec(prop::collection::vec(any::<u32>().prop_map(|rank| rank >> 28), 0..5), 0..4),
        entries in prop::collection::vec((any::<Option<i32>>(), any::<i32>()), 0..9),
        axes in prop::collection::vec(("[ab]?", any::<u32>().prop_map(|size| size >> (size & 31))), 0..4),
        coordinates in prop::collection::vec(any::<u32>(), 0..4),
        far in any::<u32>(),
    ) {
        let world = world(ranks);
        let far_world = World::new(GroupSize::new(far.max(1)).unwrap());
        let far_rank = far_world.rank(far_world.size().get() - 1).unwrap();
        for list in &lists {
            if let Ok(group) = Group::new(world, list.iter().copied()) {
                prop_assert_eq!(group.contains(far_rank), list.contains(&far_rank.index()));
            }
            if let Ok(relabelling) = Relabelling::from_list(world, list.iter().copied()) {
                prop_assert_eq!(relabelling.new_rank(far_rank).is_some(), world.contains(far_rank));
                prop_assert_eq!(relabelling.old_rank(far_rank).is_some(), world.contains(far_rank));
            }
        }
        if let Ok(partition) = Partition::from_lists(world, lists.clone()) {
            let listed: usize = lists.iter().map(Vec::len).sum();
            prop_assert_eq!(partition.covers_world(), listed == ranks as usize);
            let rank: Option<Rank> = partition.locate(far_rank).map(|(_, rank)| rank);
            prop_assert_eq!(rank.is_some(), lists.iter().flatten().any(|rank| *rank == far_rank.index()));
        }
        let _ = Partition::split(world, &entries);

        match Mesh::new(axes.iter().map(|(name, size)| (name.as_str(), *size))) {
            Ok(mesh) => {
                let product: u64 = axes.iter().map(|(_, size)| u64::from(*size)).product();
                prop_assert_eq!(u64::from(mesh.world().size().get()), product);
                prop_assert_eq!(mesh.coordinates(far_rank).is_some(), mesh.world().contains(far_rank));
                if let Ok(rank) = mesh.rank_at(&coordinates) {
                    prop_assert_eq!(mesh.coordinates(rank), Some(coordinates));
                }
            }
            Err(MeshError::Overflow { .. }) => {
                let product = axes.iter().map(|(_, size)| u128::from(*size)).product::<u128>();
                prop_assert!(product > u128::from(u32::MAX));
            }
            Err(_) => {}
        }
    }
}
