//! Files made by hand, byte by byte, as the format's description says.

use std::io::Cursor;

use rankwise_model::Dtype;
use rstest::rstest;

use super::super::{Array, ArrayFault, Note};

/// A version 1.0 file: signature, version, 16-bit header length, header, data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', 1, 0];
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn read(bytes: &[u8]) -> Result<Array, ArrayFault> {
    super::read(&mut Cursor::new(bytes), bytes.len() as u64)
}

fn header(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
}

fn texts(array: &Array) -> Vec<String> {
    array.values.iter().map(|value| value.to_string()).collect()
}

#[test]
fn a_little_endian_matrix_is_taken_as_it_is() {
    let data = [1, 0, 0, 0, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0];
    let array = read(&file(&header("<i4", "False", "(2, 2)"), &data)).unwrap();
    assert_eq!(array.shape, [2, 2]);
    assert_eq!(array.values.dtype(), Dtype::I32);
    assert_eq!(texts(&array), ["1", "2", "-1", "4"]);
    assert_eq!(array.notes, []);
}

#[test]
fn fortran_order_becomes_row_major_and_is_noted() {
    // [[1, 2, 3], [4, 5, 6]] with the first axis fastest: 1 4 2 5 3 6.
    let array = read(&file(&header("|u1", "True", "(2, 3)"), &[1, 4, 2, 5, 3, 6])).unwrap();
    assert_eq!(texts(&array), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(array.notes, [Note::FortranOrder]);
    assert_eq!(array.notes[0].to_string(), "converted from Fortran order to row-major order");
}

#[test]
fn big_endian_becomes_little_endian_and_is_noted() {
    // 1.5 and -2.0 as binary32, most significant byte first.
    let data = [0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0];
    let array = read(&file(&header(">f4", "False", "(2,)"), &data)).unwrap();
    assert_eq!(texts(&array), ["1.5", "-2"]);
    assert_eq!(array.values.as_le_bytes(), [0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0]);
    assert_eq!(array.notes, [Note::BigEndian]);
}

#[test]
fn both_conversions_work_together() {
    // [[1, 2], [3, 4]] as 16-bit floats (3c00, 4000, 4200, 4400), big-endian, Fortran.
    let data = [0x3c, 0, 0x42, 0, 0x40, 0, 0x44, 0];
    let array = read(&file(&header(">f2", "True", "(2, 2)"), &data)).unwrap();
    assert_eq!(texts(&array), ["1", "2", "3", "4"]);
    assert_eq!(array.notes, [Note::BigEndian, Note::FortranOrder]);
}

#[rstest]
#[case("|i1", Dtype::I8, 1)]
#[case("<u4", Dtype::U32, 4)]
#[case("<i8", Dtype::I64, 8)]
#[case("<u8", Dtype::U64, 8)]
#[case("<f8", Dtype::F64, 8)]
fn every_numpy_type_that_nccl_has(#[case] descr: &str, #[case] dtype: Dtype, #[case] width: usize) {
    let array = read(&file(&header(descr, "False", "()"), &vec![0; width])).unwrap();
    assert_eq!((array.values.dtype(), array.values.count()), (dtype, 1));
    assert_eq!(array.shape, [0_u64; 0]);
}

#[test]
fn versions_2_and_3_have_a_32_bit_header_length() {
    for version in [2, 3] {
        let header = header("|u1", "False", "(1,)");
        let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.push(7);
        assert_eq!(texts(&read(&bytes).unwrap()), ["7"]);
    }
}

#[test]
fn keys_may_come_in_any_order_and_python_2_wrote_long_integers() {
    let header = "{\"shape\": (1L, 2L), \"fortran_order\": False, \"descr\": \"|i1\"}\n";
    assert_eq!(read(&file(header, &[5, 6])).unwrap().shape, [1, 2]);
}

#[rstest]
#[case("<c8", "complex")]
#[case("|b1", "bool")]
#[case("|V2", "bfloat16")]
#[case("<V2", "bfloat16")]
#[case("<i2", "16-bit integers")]
#[case("|O", "pickled")]
#[case("<M8[ns]", "not a number")]
#[case("=f4", "starts with")]
#[case("|f4", "needs < or >")]
#[case("", "starts with")]
fn other_types_are_refused_by_name(#[case] descr: &str, #[case] why: &str) {
    let fault = read(&file(&header(descr, "False", "(1,)"), &[0; 8])).unwrap_err();
    let text = fault.to_string();
    assert!(text.starts_with(&format!("found element type \"{descr}\" (")), "{text}");
    assert!(text.contains(why), "{text}");
    assert!(text.ends_with(
        "expected one of i8, u8, i32, u32, i64, u64, f8e4m3, f8e5m2, f16, bf16, f32, f64"
    ));
}

#[test]
fn records_are_refused_by_name() {
    let header = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
    let fault = read(&file(header, &[0; 4])).unwrap_err();
    assert!(matches!(fault, ArrayFault::Dtype { .. }), "{fault}");
}

#[test]
fn a_file_that_is_cut_short_or_too_long_is_refused_with_both_numbers() {
    let header = header("<i4", "False", "(3,)");
    assert_eq!(read(&file(&header, &[0; 11])), Err(ArrayFault::Length { found: 11, needed: 12 }));
    assert_eq!(
        read(&file(&header, &[0; 13])).unwrap_err().to_string(),
        "found 13 bytes, expected the 12 bytes that its header calls for"
    );
}

#[test]
fn a_header_that_is_cut_short_is_refused_with_both_numbers() {
    let mut bytes = file("", &[]);
    bytes[8..10].copy_from_slice(&100_u16.to_le_bytes());
    assert_eq!(read(&bytes), Err(ArrayFault::Length { found: 10, needed: 110 }));
    // A claim of 4 GiB costs nothing.
    let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', 2, 0];
    bytes.extend(u32::MAX.to_le_bytes());
    assert_eq!(read(&bytes), Err(ArrayFault::Length { found: 12, needed: 4_294_967_307 }));
    assert_eq!(read(&bytes[..9]), Err(ArrayFault::Length { found: 1, needed: 4 }));
}

#[test]
fn a_shape_that_multiplies_past_64_bits_is_refused() {
    let header = header("<f4", "False", "(1099511627776, 1099511627776)");
    let fault = read(&file(&header, &[])).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "found shape (1099511627776, 1099511627776), expected at most 2^64 - 1 bytes in all"
    );
}

#[test]
fn an_empty_array_has_no_bytes_whatever_its_other_axes() {
    let header = header("<f4", "True", "(0, 18446744073709551615)");
    assert_eq!(read(&file(&header, &[])).unwrap().values.count(), 0);
}

#[rstest]
#[case("{'descr': '<i4', 'fortran_order': False}", "a header without one of its keys")]
#[case("{'descr': '<i4', 'descr': '<i4'}", "header key 'descr' twice")]
#[case("{'dtype': '<i4'}", "header key 'dtype'")]
#[case("{'shape': (3)}", "shape (3)")]
#[case("{'shape': (-1,)}", "\"-1,)}\" in its header")]
#[case("{'shape': (18446744073709551616,)}", "\"18446744073709551616,)}\" in its header")]
#[case("{'fortran_order': 0}", "\"0}\" in its header")]
#[case("{'descr: '<i4'}", "\"<i4'}\" in its header")]
#[case("[]", "\"[]\" in its header")]
#[case("", "the end in its header")]
#[case("{} {}", "\"{}\" in its header")]
fn a_malformed_header_is_named(#[case] header: &str, #[case] found: &str) {
    let fault = read(&file(header, &[])).unwrap_err();
    assert_eq!(fault.found(), found);
}

#[test]
fn other_files_are_recognised_as_such() {
    assert_eq!(read(b"PK\x03\x04....").unwrap_err().found(), "no NumPy signature");
    assert_eq!(read(b"").unwrap_err().found(), "no NumPy signature");
    let mut bytes = file("{}", &[]);
    bytes[6] = 9;
    assert_eq!(read(&bytes).unwrap_err().found(), "format version 9.0");
}

proptest::proptest! {
    #[test]
    fn no_header_panics(header in "[{}()\\[\\]',: 0-9a-zL<>|]{0,60}", data in 0_usize..40) {
        let _ = read(&file(&header, &vec![0; data]));
    }

    #[test]
    fn no_bytes_panic(tail in proptest::collection::vec(0_u8.., 0..60)) {
        let _ = read(&tail);
        let _ = read(&[&[0x93, b'N', b'U', b'M', b'P', b'Y'][..], &tail].concat());
    }

    #[test]
    fn any_shape_in_fortran_order_keeps_its_elements(shape in proptest::collection::vec(0_u64..5, 0..5)) {
        let count: u64 = shape.iter().product();
        // Element with indices (i, j, …) holds its row-major position.
        let mut data = vec![0_u8; usize::try_from(count).unwrap() * 4];
        for position in 0..count {
            let (mut rest, mut indices) = (position, vec![0; shape.len()]);
            for (index, axis) in indices.iter_mut().zip(&shape).rev() {
                *index = rest % axis;
                rest /= axis;
            }
            let (mut at, mut stride) = (0, 1);
            for (index, axis) in indices.iter().zip(&shape) {
                at += index * stride;
                stride *= axis;
            }
            let at = usize::try_from(at).unwrap() * 4;
            data[at..at + 4].copy_from_slice(&u32::try_from(position).unwrap().to_le_bytes());
        }
        let listed: Vec<String> = shape.iter().map(|axis| format!("{axis},")).collect();
        let array = read(&file(&header("<u4", "True", &format!("({})", listed.concat())), &data));
        let expected: Vec<String> = (0..count).map(|position| position.to_string()).collect();
        proptest::prop_assert_eq!(texts(&array.unwrap()), expected);
    }
}
