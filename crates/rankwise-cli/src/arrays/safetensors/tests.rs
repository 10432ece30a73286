//! Files made by hand: a 64-bit header length, a JSON header, the data.

use std::io::Cursor;

use rankwise_model::Dtype;
use rstest::rstest;

use super::super::{Array, ArrayFault};

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn read(bytes: &[u8], tensor: Option<&str>) -> Result<Array, ArrayFault> {
    super::read(&mut Cursor::new(bytes), bytes.len() as u64, tensor)
}

fn texts(array: &Array) -> Vec<String> {
    array.values.iter().map(|value| value.to_string()).collect()
}

const TWO: &str = r#"{"__metadata__":{"format":"pt"},"w":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},"g":{"dtype":"BF16","shape":[1,3],"data_offsets":[8,14]}}"#;
// 7 and -1; then 1.0, -2.0 and 0.5 as bfloat16.
const TWO_DATA: [u8; 14] = [7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x80, 0x3f, 0x00, 0xc0, 0x00, 0x3f];

#[test]
fn a_tensor_is_found_by_its_name() {
    let bytes = file(TWO, &TWO_DATA);
    let w = read(&bytes, Some("w")).unwrap();
    assert_eq!((w.shape.as_slice(), texts(&w)), (&[2][..], vec!["7".into(), "-1".into()]));
    let g = read(&bytes, Some("g")).unwrap();
    assert_eq!(g.values.dtype(), Dtype::Bf16);
    assert_eq!(g.shape, [1, 3]);
    assert_eq!(texts(&g), ["1", "-2", "0.5"]);
}

#[test]
fn a_missing_tensor_lists_those_there_are() {
    let bytes = file(TWO, &TWO_DATA);
    assert_eq!(
        read(&bytes, Some("v")).unwrap_err().to_string(),
        "found no tensor \"v\", expected one of \"g\", \"w\""
    );
    assert_eq!(
        read(&bytes, None).unwrap_err().to_string(),
        "found no tensor's name and 2 tensors, expected one of \"g\", \"w\""
    );
}

#[test]
fn the_only_tensor_need_not_be_named() {
    let header = r#"{"x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}"#;
    let array = read(&file(header, &[0x38, 0x40]), None).unwrap();
    assert_eq!(array.values.dtype(), Dtype::F8E4M3);
    assert_eq!(texts(&array), ["1", "2"]);
}

#[rstest]
#[case("I8", 1, Dtype::I8)]
#[case("U8", 1, Dtype::U8)]
#[case("U32", 4, Dtype::U32)]
#[case("I64", 8, Dtype::I64)]
#[case("U64", 8, Dtype::U64)]
#[case("F16", 2, Dtype::F16)]
#[case("F32", 4, Dtype::F32)]
#[case("F64", 8, Dtype::F64)]
#[case("F8_E5M2", 1, Dtype::F8E5M2)]
fn every_type_that_nccl_has(#[case] name: &str, #[case] width: usize, #[case] dtype: Dtype) {
    let header = format!(r#"{{"x":{{"dtype":"{name}","shape":[],"data_offsets":[0,{width}]}}}}"#);
    let array = read(&file(&header, &vec![0; width]), None).unwrap();
    assert_eq!((array.values.dtype(), array.values.count()), (dtype, 1));
}

#[rstest]
#[case("BOOL", 1)]
#[case("I16", 2)]
#[case("U16", 2)]
#[case("C64", 8)]
#[case("F8_E4M3FNUZ", 1)]
#[case("F8_E8M0", 1)]
fn other_types_are_refused_by_name(#[case] name: &str, #[case] width: usize) {
    let header = format!(r#"{{"x":{{"dtype":"{name}","shape":[1],"data_offsets":[0,{width}]}}}}"#);
    let fault = read(&file(&header, &vec![0; width]), None).unwrap_err();
    assert!(fault.found().starts_with(&format!("element type {name} (")), "{fault}");
}

#[test]
fn a_file_that_is_cut_short_or_too_long_is_refused_with_both_numbers() {
    let header = r#"{"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}"#;
    let (start, full) = (8 + header.len() as u64, 16 + header.len() as u64);
    for data in [7, 9] {
        let fault = read(&file(header, &vec![0; data]), None).unwrap_err();
        assert_eq!(fault, ArrayFault::Length { found: start + data as u64, needed: full });
    }
    assert_eq!(read(b"1234", None), Err(ArrayFault::Length { found: 4, needed: 8 }));
    let mut claim = 1000_u64.to_le_bytes().to_vec();
    claim.extend(b"{}");
    assert_eq!(read(&claim, None), Err(ArrayFault::Length { found: 10, needed: 1008 }));
}

#[test]
fn a_header_that_claims_too_much_costs_nothing() {
    let bytes = u64::MAX.to_le_bytes();
    assert_eq!(read(&bytes, None).unwrap_err().found(), "a header of 18446744073709551615 bytes");
    let header = r#"{"x":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}}"#;
    let fault = read(&file(header, &[]), None).unwrap_err();
    assert!(fault.found().contains("overflow"), "{fault}");
    let header = r#"{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}}"#;
    assert!(matches!(read(&file(header, &[0; 12]), None), Err(ArrayFault::Header { .. })));
    assert!(matches!(read(&file("{\"x\":", &[]), None), Err(ArrayFault::Header { .. })));
    assert_eq!(read(&file("{}", &[]), None), Err(ArrayFault::WhichTensor { known: vec![] }));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(0_u8.., 0..40), header in "\\PC{0,40}") {
        let _ = read(&bytes, None);
        let _ = read(&file(&header, &bytes), Some("x"));
    }
}
