//! Tables, and members that make none.

use super::*;

fn uuid(device: u32) -> String {
    format!("GPU-{device:08x}-0000-0000-0000-000000000000")
}

fn member(host: &str, process: u32, device: BoundDevice) -> Member {
    Member::new(host, process).unwrap().on(device).unwrap().library("2.32.3").unwrap()
}

fn named(device: u32) -> BoundDevice {
    BoundDevice::ordinal(0).uuid(&uuid(device)).unwrap()
}

fn exclusive(members: Vec<Member>) -> Result<Table, Vec<Fault>> {
    Table::new(members, Sharing::Exclusive)
}

fn mapped() -> Table {
    exclusive(vec![
        member("node1", 4711, named(0xb).visible("6,3").bus("59:00.0").unwrap()),
        member("node1", 4712, named(0xa).visible("3")),
        Member::new("node2", 17).unwrap().on(named(0xc)).unwrap().library("2.32.3").unwrap(),
    ])
    .unwrap()
}

#[test]
fn a_table_is_read_by_people() {
    assert_eq!(
        mapped().to_string(),
        "\
rank  host   process  device                                    ordinal  CUDA_VISIBLE_DEVICES  bus id
   0  node1     4711  GPU-0000000b-0000-0000-0000-000000000000        0  6,3                   0000:59:00.0
   1  node1     4712  GPU-0000000a-0000-0000-0000-000000000000        0  3                     -
   2  node2       17  GPU-0000000c-0000-0000-0000-000000000000        0  not set               -
3 ranks, library 2.32.3, one on each device"
    );
}

#[test]
fn a_table_is_written_and_checked_when_read() {
    let table = mapped();
    let text = serde_json::to_string(&table).unwrap();
    assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table);
    let twice = text.replace("0000000a", "0000000b");
    let error = serde_json::from_str::<Table>(&twice).unwrap_err().to_string();
    assert!(error.contains("is bound to ranks 0 and 1"), "{error}");
    let later = text.replace("\"format\":1", "\"format\":2");
    assert!(serde_json::from_str::<Table>(&later).unwrap_err().to_string().contains("format 2"));
}

#[test]
fn local_ranks_are_counted_by_host_in_rank_order() {
    let table = mapped();
    let places: Vec<_> = table.world().ranks().map(|rank| table.on_host(rank).unwrap()).collect();
    assert_eq!(places, [(0, 2), (1, 2), (0, 1)]);
}

/// A container may call its host by another name; the UUID gives it away.
#[test]
fn one_uuid_under_two_host_names_is_one_device() {
    let faults = exclusive(vec![member("a", 1, named(1)), member("b", 2, named(1))]).unwrap_err();
    let device = format!("a/{}", uuid(1));
    assert_eq!(faults, [Fault::DeviceTwice { device, ranks: vec![0, 1] }]);
}

#[test]
fn every_device_that_is_bound_twice_is_named() {
    let on = |device: u32| member("n", device, named(device));
    let faults = exclusive(vec![on(1), on(2), on(2), on(1), on(1)]).unwrap_err();
    let ranks: Vec<_> = faults.iter().map(Fault::ranks).collect();
    assert_eq!(ranks, [vec![0, 3, 4], vec![1, 2]]);
}

#[test]
fn ordinals_of_different_lists_cannot_be_told_apart() {
    let ordinal = |visible| member("n", 1, BoundDevice::ordinal(0).visible(visible));
    // Ordinal 0 of each: two devices, or one; nobody can say.
    let faults = exclusive(vec![ordinal("0"), ordinal("1")]).unwrap_err();
    assert!(
        matches!(&faults[..], [Fault::Devices { ranks, .. }] if ranks == &[0, 1]),
        "{faults:?}"
    );
    // On different hosts they are different.
    let elsewhere = member("m", 1, BoundDevice::ordinal(0).visible("1"));
    assert!(exclusive(vec![ordinal("0"), elsewhere]).is_ok());
}

#[test]
fn all_name_a_device_or_none_does() {
    let without = || Member::new("n", 1).unwrap().library("2.32.3").unwrap();
    assert!(exclusive(vec![without(), without()]).unwrap().map().is_none());
    let faults = exclusive(vec![member("n", 2, named(1)), without()]).unwrap_err();
    assert_eq!(faults, [Fault::NoDevice { ranks: vec![1] }]);
    assert_eq!(exclusive(Vec::new()).unwrap_err(), [Fault::Empty]);
}

#[test]
fn everything_that_differs_is_named_at_once() {
    let other = member("n", 1, named(1)).library("2.28.3").unwrap();
    let faults = exclusive(vec![member("n", 2, named(1)), other]).unwrap_err();
    assert!(
        matches!(&faults[..], [Fault::Libraries { .. }, Fault::DeviceTwice { .. }]),
        "{faults:?}"
    );
}
