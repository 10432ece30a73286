//! Maps by hand: what is refused, and the inverse.

use alloc::string::ToString;

use rstest::rstest;

use super::*;

const GPU: &str = "GPU-5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f";

fn map(names: &[&str], sharing: Sharing) -> Result<RankMap, MapError> {
    RankMap::new(names.iter().map(|name| Device::parse(name).unwrap()).collect(), sharing)
}

fn ranks_on(map: &RankMap, name: &str) -> Vec<u32> {
    map.find(name).into_iter().flat_map(|on| map.ranks_on(on)).map(WorldRank::index).collect()
}

#[test]
fn every_rank_has_a_device_and_every_device_its_ranks() {
    let map = map(&["B", "A", "B", "C", "B"], Sharing::Shared).unwrap();
    assert_eq!(map.world().size().get(), 5);
    let names: Vec<_> = map.devices().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["B", "A", "C"]);
    assert_eq!((ranks_on(&map, "B"), ranks_on(&map, "A")), (alloc::vec![0, 2, 4], alloc::vec![1]));
    assert_eq!(ranks_on(&map, "D"), []);
    let owner = |rank| map.ownership(map.world().rank(rank).unwrap()).unwrap().to_string();
    assert_eq!((owner(2), owner(3)), ("device B, as rank 2".into(), "device C".into()));
}

#[test]
fn a_rank_of_a_larger_world_is_nowhere() {
    let small = map(&["A"], Sharing::Exclusive).unwrap();
    let large = map(&["A", "B"], Sharing::Exclusive).unwrap();
    let rank = large.world().rank(1).unwrap();
    assert_eq!(small.device(rank), None);
    assert_eq!(small.ownership(rank), None);
}

#[test]
fn one_device_spelt_twice_is_one_device() {
    let shared = map(&["n/59:00.0", "N/0000:59:00.0"], Sharing::Shared).unwrap();
    assert_eq!(shared.devices().len(), 1);
    let moved = [&*alloc::format!("a/{GPU}"), &alloc::format!("a.cluster/{GPU}")];
    let repeated = map(&moved, Sharing::Exclusive).unwrap_err();
    assert!(matches!(repeated, MapError::Repeated { .. }), "{repeated}");
}

#[rstest]
#[case(&[], "a rank map needs at least one device")]
#[case(
    &["A", "B", "C", "B", "A"],
    "device B is bound to rank 1 and to rank 3: sharing must be asked for"
)]
#[case(
    &["n/59:00.0/gi1/ci0", "n/58:00.0", "n/59:00.0"],
    "device n/0000:59:00.0/gi1/ci0 of rank 0 is a slice of device n/0000:59:00.0 of rank 2: \
     sharing must be asked for"
)]
#[case(
    &["n/cuda:0", "m/cuda:0", "n/59:00.0"],
    "n/cuda:0 of rank 0 and n/0000:59:00.0 of rank 2 may be one device or two: \
     name both by UUID, or both by host and PCI bus id"
)]
#[case(
    &["n/cuda:0[0]", "n/cuda:0[1]"],
    "n/cuda:0[0] of rank 0 and n/cuda:0[1] of rank 1 may be one device or two: \
     name both by UUID, or both by host and PCI bus id"
)]
#[case(
    &["n/cuda:0[?]", "m/cuda:0[?]", "n/cuda:0[?]"],
    "n/cuda:0[?] of rank 0 and n/cuda:0[?] of rank 2 may be one device or two: \
     name both by UUID, or both by host and PCI bus id"
)]
#[case(
    &["n/59:00.0", "58:00.0"],
    "n/0000:59:00.0 of rank 0 and 0000:58:00.0 of rank 1 may be one device or two: \
     name both by UUID, or both by host and PCI bus id"
)]
#[case(
    &["A", "n/59:00.0"],
    "A of rank 0 and n/0000:59:00.0 of rank 1 may be one device or two: \
     name both by UUID, or both by host and PCI bus id"
)]
fn bad_maps_name_devices_and_ranks(#[case] names: &[&str], #[case] text: &str) {
    assert_eq!(map(names, Sharing::Exclusive).unwrap_err().to_string(), text);
}

#[rstest]
#[case(&["n/cuda:0", "n/cuda:1", "m/cuda:0[1]"])]
#[case(&["n/cuda:0[?]", "m/cuda:0[?]"])]
#[case(&["n/cuda:0", "m/59:00.0"])]
#[case(&[GPU, "n/GPU-00000000-0000-0000-0000-000000000000"])]
#[case(&["n/59:00.0/gi1/ci0", "n/59:00.0/gi2/ci0"])]
fn maps_of_known_devices_stand(#[case] names: &[&str]) {
    let map = map(names, Sharing::Exclusive).unwrap();
    assert_eq!(map.devices().len(), names.len());
}

#[test]
fn a_gpu_and_its_slice_may_be_shared() {
    let map = map(&["n/59:00.0/gi1/ci0", "n/59:00.0"], Sharing::Shared).unwrap();
    assert_eq!(map.devices().len(), 2);
}

#[test]
fn every_spelling_of_a_device_counts() {
    let (other, mig) =
        (alloc::format!("b/{GPU}"), alloc::format!("a/{}", GPU.replace("GPU", "MIG")));
    let apart = [&*mig, &other];
    assert!(map(&apart, Sharing::Shared).is_ok());
    let on_one_host = [&*mig, &other, &alloc::format!("a/{GPU}")];
    let doubtful = map(&on_one_host, Sharing::Shared).unwrap_err();
    assert!(matches!(doubtful, MapError::CannotTell { .. }), "{doubtful}");
}

#[test]
fn sharing_settles_no_doubt() {
    let doubtful = map(&["n/cuda:0", "n/59:00.0"], Sharing::Shared).unwrap_err();
    assert!(matches!(doubtful, MapError::CannotTell { .. }), "{doubtful}");
}

#[test]
fn maps_show_their_bindings() {
    let map = map(&["A", "B"], Sharing::Exclusive).unwrap();
    assert_eq!(alloc::format!("{map:?}"), "{0: A, 1: B}");
}
