//! NumPy's `.npy` files, versions 1.0 to 3.0.
//!
//! The reader is our own. The crates that read this format (`npyz`, `ndarray-npy`) were
//! tried: both parse the header with a general reader of Python literals that needs a C
//! compiler to build, and `npyz` multiplies the shape unchecked (a header of
//! `(2**40, 2**40)` panics) and allocates whatever header length a file claims. The
//! header is one dictionary with three keys; its grammar fits on a page.
//!
//! Source: NumPy's `numpy/lib/_format_impl.py` and NEP 1.

use std::io::{Read, Seek};

use rankwise_model::Dtype;
use rankwise_plan::values::Values;

use super::error::ArrayFault;
use super::{Array, Note, read_exactly, row_major};

const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// Reads a file of `length` bytes.
pub(super) fn read(source: &mut (impl Read + Seek), length: u64) -> Result<Array, ArrayFault> {
    let header = Header::read(source, length)?;
    let (dtype, big_endian) = element_type(&header.descr)?;
    let overflow = || ArrayFault::ShapeOverflow { shape: header.shape.clone() };
    let needed = bytes_of(&header.shape, dtype).ok_or_else(overflow)?;
    let found = length.saturating_sub(header.length);
    if found != needed {
        return Err(ArrayFault::Length { found, needed });
    }

    let mut bytes = read_exactly(source, needed)?;
    let mut notes = Vec::new();
    let width = usize::try_from(dtype.bytes()).unwrap_or(1);
    if big_endian {
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        notes.push(Note::BigEndian);
    }
    if header.fortran_order {
        bytes = row_major::from_fortran(bytes, &header.shape, width);
        notes.push(Note::FortranOrder);
    }
    let values = Values::from_le_bytes(dtype, bytes).ok_or(ArrayFault::Length { found, needed })?;
    Ok(Array { shape: header.shape, values, notes })
}

/// The bytes of an array; `None` if they cannot be counted.
fn bytes_of(shape: &[u64], dtype: Dtype) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(dtype.bytes(), |product, axis| product.checked_mul(*axis))
}

/// What the type string stands for, and whether its bytes are in the other order.
fn element_type(descr: &str) -> Result<(Dtype, bool), ArrayFault> {
    let refuse = |why| Err(ArrayFault::Dtype { name: format!("\"{descr}\""), why });
    let Some((order @ ("<" | ">" | "|"), kind)) = descr.split_at_checked(1) else {
        return refuse("a NumPy type string starts with <, > or |");
    };
    let dtype = match kind {
        "i1" => Dtype::I8,
        "u1" => Dtype::U8,
        "i4" => Dtype::I32,
        "u4" => Dtype::U32,
        "i8" => Dtype::I64,
        "u8" => Dtype::U64,
        "f2" => Dtype::F16,
        "f4" => Dtype::F32,
        "f8" => Dtype::F64,
        "b1" => return refuse("bool is no element type of NCCL; save it as uint8"),
        "i2" | "u2" => return refuse("NCCL has no 16-bit integers"),
        "c8" | "c16" => return refuse("NCCL has no complex numbers; save them as pairs of floats"),
        "f16" | "f12" => return refuse("NCCL has no long double"),
        "V1" | "V2" => {
            return refuse(
                "NumPy has no name for bfloat16 and fp8 and saves them as raw bytes; use .safetensors",
            );
        }
        "O" => return refuse("pickled objects are no numbers"),
        _ => return refuse("not a number of NCCL's"),
    };
    if order == "|" && dtype.bytes() > 1 {
        return refuse("a type of several bytes needs < or >");
    }
    Ok((dtype, order == ">" && dtype.bytes() > 1))
}

/// What stands before the data.
struct Header {
    /// Bytes up to the data.
    length: u64,
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    fn read(source: &mut (impl Read + Seek), length: u64) -> Result<Self, ArrayFault> {
        let preamble = read_exactly(source, length.min(8))?;
        let version = match preamble.as_slice() {
            [magic @ .., major, minor] if *magic == MAGIC => (*major, *minor),
            _ => {
                return Err(wrong(
                    "no NumPy signature",
                    "the bytes 93 4E 55 4D 50 59 at its start",
                ));
            }
        };
        let width = match version {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            (major, minor) => {
                return Err(wrong(
                    format!("format version {major}.{minor}"),
                    "version 1.0, 2.0 or 3.0",
                ));
            }
        };
        let text_length = read_exactly(source, width)?
            .iter()
            .rev()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let data_start = text_length + 8 + width;
        if data_start > length {
            return Err(ArrayFault::Length { found: length, needed: data_start });
        }
        let text = String::from_utf8(read_exactly(source, text_length)?)
            .map_err(|_| wrong("a header that is not text", "a Python dictionary"))?;
        Cursor { rest: &text }.header(data_start)
    }
}

fn wrong(found: impl Into<String>, expected: &'static str) -> ArrayFault {
    ArrayFault::Header { found: found.into(), expected }
}

/// The rest of a header's text.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn header(mut self, length: u64) -> Result<Header, ArrayFault> {
        const KEYS: &str = "the keys 'descr', 'fortran_order' and 'shape', once each";
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.need("{")?;
        while !self.takes("}") {
            let key = self.string()?;
            self.need(":")?;
            let repeated = match key {
                "descr" => descr.replace(self.descr()?.to_owned()).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                other => return Err(wrong(format!("header key '{other}'"), KEYS)),
            };
            if repeated {
                return Err(wrong(format!("header key '{key}' twice"), KEYS));
            }
            if !self.takes(",") {
                self.need("}")?;
                break;
            }
        }
        self.skip_blanks();
        if !self.rest.is_empty() {
            return Err(self.unexpected("nothing after the header's closing brace"));
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => {
                Ok(Header { length, descr, fortran_order, shape })
            }
            _ => Err(wrong("a header without one of its keys", KEYS)),
        }
    }

    fn descr(&mut self) -> Result<&'a str, ArrayFault> {
        self.skip_blanks();
        if self.rest.starts_with('[') {
            let why = "records with fields are no numbers; save one field";
            return Err(ArrayFault::Dtype { name: self.start(), why });
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, ArrayFault> {
        if self.takes("True") {
            Ok(true)
        } else if self.takes("False") {
            Ok(false)
        } else {
            Err(self.unexpected("True or False"))
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, ArrayFault> {
        let mut shape = Vec::new();
        self.need("(")?;
        while !self.takes(")") {
            shape.push(self.integer()?);
            if !self.takes(",") {
                self.need(")")?;
                // `(3)` is a number in Python and no tuple, and NumPy refuses it too.
                if shape.len() == 1 {
                    return Err(wrong(format!("shape ({})", shape[0]), "a tuple such as (3,)"));
                }
                break;
            }
        }
        Ok(shape)
    }

    fn integer(&mut self) -> Result<u64, ArrayFault> {
        self.skip_blanks();
        let digits =
            self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = self.rest.split_at(digits);
        let value = number.parse().map_err(|_| self.unexpected("a number of at most 64 bits"))?;
        // Python 2 wrote long integers as `3L`.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(value)
    }

    fn string(&mut self) -> Result<&'a str, ArrayFault> {
        self.skip_blanks();
        let quoted = ['\'', '"'].into_iter().find_map(|quote| {
            let inside = self.rest.strip_prefix(quote)?;
            inside.split_once(quote)
        });
        let Some((inside, rest)) = quoted else {
            return Err(self.unexpected("a quoted string"));
        };
        self.rest = rest;
        Ok(inside)
    }

    fn takes(&mut self, token: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn need(&mut self, token: &'static str) -> Result<(), ArrayFault> {
        if self.takes(token) { Ok(()) } else { Err(self.unexpected(token)) }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn unexpected(&self, expected: &'static str) -> ArrayFault {
        wrong(format!("{} in its header", self.start()), expected)
    }

    /// The next few characters, for people.
    fn start(&self) -> String {
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let start: String = self.rest.trim_end().chars().take(24).map(visible).collect();
        if start.is_empty() { "the end".into() } else { format!("\"{start}\"") }
    }
}

#[cfg(test)]
mod tests;
