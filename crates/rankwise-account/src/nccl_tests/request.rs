//! The sizes that nccl-tests is asked for on its command line.
//!
//! Source: `parsesize` of `src/common.cu`.

use core::fmt;

use crate::amount::ByteCount;
use crate::decimal::{Decimal, DecimalError, ScaleError};

/// Why a `-b` or `-e` argument states no number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// No number at the start.
    NotANumber,
    /// Something other than one of K, M, G behind the number. The tool reads the first
    /// letter only, so that `MB` is 2^20 bytes to it: write `M`.
    UnknownSuffix {
        /// The byte where it starts.
        at: usize,
    },
    /// A fraction of a byte.
    NotWhole,
    /// It does not fit in 64 bits.
    TooLarge,
}

/// Reads a size as the options `-b` and `-e` do: the suffixes K, M and G are
/// 2^10, 2^20 and 2^30, although the tool's GB/s are 10^9.
///
/// ```
/// use rankwise_account::{ByteCount, nccl_tests::parse_request};
///
/// assert_eq!(parse_request("1250M"), Ok(ByteCount::new(1_310_720_000)));
/// assert_eq!(parse_request("8G"), Ok(ByteCount::new(8_589_934_592)));
/// assert_eq!(parse_request("1000"), Ok(ByteCount::new(1000)));
/// assert!(parse_request("1250MB").is_err());
/// ```
pub fn parse_request(text: &str) -> Result<ByteCount, RequestError> {
    let at = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, suffix) = text.split_at_checked(at).unwrap_or((text, ""));
    let unit = match suffix {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ if number.is_empty() => return Err(RequestError::NotANumber),
        _ => return Err(RequestError::UnknownSuffix { at }),
    };
    let number = Decimal::parse(number).map_err(|why| match why {
        DecimalError::NotANumber => RequestError::NotANumber,
        DecimalError::TooLarge => RequestError::TooLarge,
    })?;
    number.times(unit).map(ByteCount::new).map_err(|why| match why {
        ScaleError::NotWhole => RequestError::NotWhole,
        ScaleError::TooLarge => RequestError::TooLarge,
    })
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => f.write_str("expected a number of bytes, such as 8 or 128M"),
            Self::UnknownSuffix { at } => {
                write!(f, "byte {at}: expected K, M or G (1024-based) or nothing after the number")
            }
            Self::NotWhole => f.write_str("not a whole number of bytes"),
            Self::TooLarge => f.write_str("does not fit in 64 bits"),
        }
    }
}

impl core::error::Error for RequestError {}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("8", Ok(8))]
    #[case("1k", Ok(1024))]
    #[case("1.5M", Ok(1_572_864))]
    #[case("", Err(RequestError::NotANumber))]
    #[case("M", Err(RequestError::NotANumber))]
    #[case("-8", Err(RequestError::NotANumber))]
    #[case("8T", Err(RequestError::UnknownSuffix { at: 1 }))]
    #[case("1250MB", Err(RequestError::UnknownSuffix { at: 4 }))]
    #[case("0.3K", Err(RequestError::NotWhole))]
    #[case("17179869184G", Err(RequestError::TooLarge))]
    fn requests(#[case] text: &str, #[case] expected: Result<u64, RequestError>) {
        assert_eq!(parse_request(text), expected.map(ByteCount::new));
    }
}
