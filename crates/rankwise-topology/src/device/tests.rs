//! Names read and written, and every pair of kinds compared.

use alloc::string::ToString;

use rstest::rstest;

use super::*;

const GPU: &str = "5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f";

fn device(text: &str) -> Device {
    let text = text.replace("{GPU}", GPU);
    Device::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[rstest]
#[case("A", "A")]
#[case("gpu-0", "gpu-0")]
#[case("lower left", "lower left")]
#[case("node1/cuda:0", "node1/cuda:0")]
#[case("node1/cuda:07", "node1/cuda:7")]
#[case("cuda:3[?]", "cuda:3[?]")]
#[case("node1/cuda:0[GPU-8f,MIG-GPU-1/1/0]", "node1/cuda:0[GPU-8f,MIG-GPU-1/1/0]")]
#[case("NODE1/59:0.0", "node1/0000:59:00.0")]
#[case("node1/0000:E1:1F.7", "node1/0000:e1:1f.7")]
#[case("node1/00010000:3:2.0", "node1/10000:03:02.0")]
#[case("gpu-{GPU}", "GPU-{GPU}")]
#[case("n/mig-{GPU}", "n/MIG-{GPU}")]
#[case("n/MIG-GPU-{GPU}/13/2", "n/GPU-{GPU}/gi13/ci2")]
#[case("n/GPU-{GPU}/gi13/ci2", "n/GPU-{GPU}/gi13/ci2")]
#[case("0000:59:00.0/gi1/ci0", "0000:59:00.0/gi1/ci0")]
fn names_are_read_and_normalised(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(device(text).to_string(), shown.replace("{GPU}", GPU));
}

#[test]
fn uuids_compare_in_either_case() {
    let upper = GPU.to_ascii_uppercase();
    assert_eq!(Device::parse(&alloc::format!("node1/GPU-{upper}")), Ok(device("node1/GPU-{GPU}")));
    let mut bytes = [0; 16];
    (bytes[0], bytes[15]) = (0x5a, 0x6f);
    let written = Uuid::from_bytes(bytes).to_string();
    assert_eq!(written, "5a000000-0000-0000-0000-00000000006f");
}

#[rstest]
#[case("", "a device needs a name")]
#[case(
    " A",
    "` A` is no plain label: no `/`, `:`, control characters or surrounding blanks, and not the \
     form of another name"
)]
#[case(
    "gpu:0\n",
    "`gpu:0\\n` is no plain label: no `/`, `:`, control characters or surrounding blanks, and not \
     the form of another name"
)]
#[case("/cuda:0", "`` is no host name: no blanks, no control characters, not the form of a device")]
#[case(
    "0000:59:00.0/cuda:0",
    "`0000:59:00.0/cuda:0` is no MIG slice: a GPU, then /gi and /ci with the instance numbers"
)]
#[case(
    "rack1/A",
    "`A` is no device of a host, which is written GPU-uuid, MIG-uuid, 0000:59:00.0 or cuda:0"
)]
#[case(
    "node1/GPU-af7b61d8",
    "`GPU-af7b61d8` has no whole UUID: GPU- or MIG- and 32 hexadecimal digits as 8-4-4-4-12"
)]
#[case(
    "0000:59:20.0",
    "`0000:59:20.0` is no PCI bus id: domain:bus:device.function in hexadecimal, device up to 1f, \
     function up to 7"
)]
#[case(
    "node1/cuda:-1",
    "`cuda:-1` is no ordinal: cuda: and a number, then, where it counts other than all devices, \
     [CUDA_VISIBLE_DEVICES] or [?]"
)]
fn bad_names_say_what_is_expected(#[case] text: &str, #[case] error: &str) {
    assert_eq!(Device::parse(text).unwrap_err().to_string(), error);
}

#[rstest]
#[case("cuda:")]
#[case("cuda:+1")]
#[case("cuda:4294967296")]
#[case("cuda:0[]")]
#[case("cuda:0[1]2")]
#[case("node1/cuda:0[1")]
fn malformed_ordinals_are_errors(#[case] text: &str) {
    assert!(matches!(Device::parse(text), Err(DeviceError::Ordinal { .. })), "{text}");
}

#[rstest]
#[case("n/59:00.8")]
#[case("n/1:2:3:4.0")]
#[case("n/100:00.0")]
#[case("n/59:.0")]
fn malformed_bus_ids_are_errors(#[case] text: &str) {
    assert!(matches!(Device::parse(text), Err(DeviceError::BusId { .. })), "{text}");
}

#[rstest]
#[case("A", "A", Sameness::Same)]
#[case("A", "a", Sameness::Different)]
#[case("A", "node1/cuda:0", Sameness::CannotTell)]
#[case("A", "cuda:0", Sameness::CannotTell)]
#[case("n/59:00.0", "n/59:00.0", Sameness::Same)]
#[case("n/59:00.0", "n/0001:59:00.0", Sameness::Different)]
#[case("n/59:00.0", "m/59:00.0", Sameness::Different)]
#[case("n/59:00.0", "59:00.0", Sameness::CannotTell)]
#[case("n/59:00.0", "n/GPU-{GPU}", Sameness::CannotTell)]
#[case("n/59:00.0", "m/GPU-{GPU}", Sameness::Different)]
#[case("n/GPU-{GPU}", "n.cluster/GPU-{GPU}", Sameness::Same)]
#[case("GPU-{GPU}", "n/GPU-{GPU}", Sameness::Same)]
#[case("GPU-{GPU}", "n/GPU-00000000-0000-0000-0000-000000000000", Sameness::Different)]
#[case("n/GPU-{GPU}", "n/MIG-{GPU}", Sameness::CannotTell)]
#[case("n/MIG-{GPU}", "m/MIG-{GPU}", Sameness::Same)]
#[case("n/GPU-{GPU}", "n/GPU-{GPU}/gi1/ci0", Sameness::Overlapping)]
#[case("n/GPU-{GPU}/gi1/ci0", "n/GPU-{GPU}/gi2/ci0", Sameness::Different)]
#[case("n/59:00.0/gi1/ci0", "m/59:00.0", Sameness::Different)]
#[case("n/59:00.0/gi1/ci0", "n/MIG-{GPU}", Sameness::CannotTell)]
#[case("n/cuda:0", "n/cuda:0", Sameness::Same)]
#[case("n/cuda:0", "n/cuda:1", Sameness::Different)]
#[case("n/cuda:0", "m/cuda:0", Sameness::Different)]
#[case("n/cuda:0[3,6]", "n/cuda:0[3,6]", Sameness::Same)]
#[case("n/cuda:0[0,1]", "n/cuda:1[1,0]", Sameness::CannotTell)]
#[case("n/cuda:0[0]", "n/cuda:0[1]", Sameness::CannotTell)]
#[case("n/cuda:0", "n/cuda:0[?]", Sameness::CannotTell)]
#[case("n/cuda:0[?]", "n/cuda:0[?]", Sameness::CannotTell)]
#[case("n/cuda:0[?]", "m/cuda:0[?]", Sameness::Different)]
#[case("n/cuda:0", "n/GPU-{GPU}", Sameness::CannotTell)]
fn what_two_records_say(#[case] one: &str, #[case] other: &str, #[case] sameness: Sameness) {
    assert_eq!(device(one).sameness(&device(other)), sameness);
    assert_eq!(device(other).sameness(&device(one)), sameness);
}

#[test]
fn a_label_is_not_another_kind_of_name() {
    for name in ["cuda:0", "node1/cuda:0", "59:00.0"] {
        assert_eq!(Device::named(name), Err(DeviceError::Label { text: name.into() }));
    }
}

#[test]
fn a_host_is_not_a_device() {
    for name in ["cuda:0", "GPU-0", "59:00.0", "", "a b", "a/b"] {
        assert!(Host::new(name).is_err(), "{name}");
    }
    assert_eq!(Host::new("fe80::1").unwrap().as_str(), "fe80::1");
}
