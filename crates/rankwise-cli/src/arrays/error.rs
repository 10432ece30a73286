//! Why an array could not be used.

use std::fmt;
use std::io;

/// Why an array could not be used; the file's name is the caller's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ArrayFault {
    /// The operating system refused.
    Io(io::ErrorKind),
    /// It is a folder, a pipe or a device.
    NotAFile,
    /// The name ends neither in `.npy` nor in `.safetensors`.
    UnknownKind,
    /// A tensor was named, but `.npy` files hold one array without a name.
    TensorOfNpy,
    /// The header is not what the format prescribes.
    Header {
        /// What is wrong with it.
        found: String,
        /// What the format prescribes there.
        expected: &'static str,
    },
    /// The element type is none of NCCL's.
    Dtype {
        /// As the file names it.
        name: String,
        /// Why not, or what to do.
        why: &'static str,
    },
    /// The shape multiplies to more bytes than can be counted.
    ShapeOverflow {
        /// The shape.
        shape: Vec<u64>,
    },
    /// The file is shorter or longer than its header says.
    Length {
        /// Bytes there are.
        found: u64,
        /// Bytes the header calls for.
        needed: u64,
    },
    /// More than this machine can hold.
    TooLarge {
        /// Bytes needed.
        bytes: u64,
    },
    /// The file has no such tensor.
    NoTensor {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// No tensor was named, and the file does not hold exactly one.
    WhichTensor {
        /// The names there are.
        known: Vec<String>,
    },
}

impl ArrayFault {
    /// What was found, in words.
    pub(crate) fn found(&self) -> String {
        match self {
            Self::Io(io::ErrorKind::NotFound) => "no such file".into(),
            Self::Io(kind) => kind.to_string(),
            Self::NotAFile => "something that is not a regular file".into(),
            Self::UnknownKind => "a name that ends otherwise".into(),
            Self::TensorOfNpy => "a tensor's name after an .npy file".into(),
            Self::Header { found, .. } => found.clone(),
            Self::Dtype { name, why } => format!("element type {name} ({why})"),
            Self::ShapeOverflow { shape } => format!("shape {}", Shape(shape)),
            Self::Length { found, .. } => format!("{found} bytes"),
            Self::TooLarge { bytes } => format!("{bytes} bytes"),
            Self::NoTensor { name, .. } => format!("no tensor \"{name}\""),
            Self::WhichTensor { known } => format!("no tensor's name and {} tensors", known.len()),
        }
    }

    /// What was expected, in words.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Io(_) | Self::NotAFile => "a readable array file".into(),
            Self::UnknownKind => "a name that ends in .npy or .safetensors".into(),
            Self::TensorOfNpy => "no name (an .npy file holds one array)".into(),
            Self::Header { expected, .. } => (*expected).into(),
            Self::Dtype { .. } => {
                let known: Vec<_> = rankwise_model::Dtype::ALL
                    .into_iter()
                    .map(rankwise_model::Dtype::name)
                    .collect();
                format!("one of {}", known.join(", "))
            }
            Self::ShapeOverflow { .. } => "at most 2^64 - 1 bytes in all".into(),
            Self::Length { needed, .. } => format!("the {needed} bytes that its header calls for"),
            Self::TooLarge { .. } => "no more than this machine can hold".into(),
            Self::NoTensor { known, .. } | Self::WhichTensor { known } => Names(known).to_string(),
        }
    }
}

impl fmt::Display for ArrayFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}, expected {}", self.found(), self.expected())
    }
}

impl std::error::Error for ArrayFault {}

/// A shape as NumPy prints it.
struct Shape<'a>(&'a [u64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, axis) in self.0.iter().enumerate() {
            write!(f, "{}{axis}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

/// The tensors of a file: all of a few, the first of many.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        if self.0.is_empty() {
            return f.write_str("a file that holds tensors");
        }
        f.write_str("one of ")?;
        for (index, name) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}\"{name}\"", if index == 0 { "" } else { ", " })?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}
