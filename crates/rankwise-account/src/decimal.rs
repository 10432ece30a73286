//! Decimal numbers with a fraction, read and scaled without rounding.

/// `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: u64,
    scale: u32,
}

/// Why a text is no number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecimalError {
    /// Not digits, at most one point between them, and `_` between digits.
    NotANumber,
    /// More digits than 64 bits hold.
    TooLarge,
}

/// Why a number times its unit is no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleError {
    /// A fraction is left.
    NotWhole,
    /// It does not fit in 64 bits.
    TooLarge,
}

impl Decimal {
    /// Reads `16`, `1.5`, `1_572_864`. A comma is refused: it is a decimal point to
    /// some and a separator to others. So are signs and exponents.
    pub(crate) fn parse(text: &str) -> Result<Self, DecimalError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let well_formed = |digits: &str| {
            digits.starts_with(|first: char| first.is_ascii_digit())
                && digits.ends_with(|last: char| last.is_ascii_digit())
                && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        };
        if !well_formed(whole) || !fraction.is_none_or(well_formed) {
            return Err(DecimalError::NotANumber);
        }
        let fraction = fraction.unwrap_or_default().trim_end_matches(['0', '_']);
        let digits = |part: &'_ str| {
            part.bytes().filter(u8::is_ascii_digit).try_fold(0_u64, |value, digit| {
                value.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))
            })
        };
        let scale = u32::try_from(fraction.bytes().filter(u8::is_ascii_digit).count());
        let scale = scale.map_err(|_| DecimalError::TooLarge)?;
        let shift = 10_u64.checked_pow(scale);
        let mantissa = match (digits(whole), digits(fraction), shift) {
            (Some(whole), Some(0), _) if scale == 0 => Some(whole),
            (Some(whole), Some(fraction), Some(shift)) => {
                whole.checked_mul(shift).and_then(|whole| whole.checked_add(fraction))
            }
            _ => None,
        };
        mantissa.map(|mantissa| Self { mantissa, scale }).ok_or(DecimalError::TooLarge)
    }

    /// The number times `unit`, exactly.
    pub(crate) fn times(self, unit: u64) -> Result<u64, ScaleError> {
        let product = u128::from(self.mantissa).saturating_mul(u128::from(unit)); // < 2^128
        let shift = 10_u128.checked_pow(self.scale).ok_or(ScaleError::NotWhole)?;
        if product.checked_rem(shift) != Some(0) {
            return Err(ScaleError::NotWhole);
        }
        let whole = product.checked_div(shift).ok_or(ScaleError::NotWhole)?;
        u64::try_from(whole).map_err(|_| ScaleError::TooLarge)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("16", 1, Ok(16))]
    #[case("1.5", 1 << 20, Ok(1_572_864))]
    #[case("1_572_864", 1, Ok(1_572_864))]
    #[case("0.25", 4, Ok(1))]
    #[case("2.50", 2, Ok(5))]
    #[case("16.000", 1, Ok(16))]
    #[case("1.5", 1, Err(ScaleError::NotWhole))]
    #[case("0.3", 1 << 40, Err(ScaleError::NotWhole))]
    #[case("18446744073709551615", 1, Ok(u64::MAX))]
    #[case("18446744073709551615", 2, Err(ScaleError::TooLarge))]
    fn scales_without_rounding(
        #[case] text: &str,
        #[case] unit: u64,
        #[case] expected: Result<u64, ScaleError>,
    ) {
        assert_eq!(Decimal::parse(text).unwrap().times(unit), expected);
    }

    #[rstest]
    #[case("", DecimalError::NotANumber)]
    #[case("1,5", DecimalError::NotANumber)]
    #[case("1.2.3", DecimalError::NotANumber)]
    #[case(".5", DecimalError::NotANumber)]
    #[case("5.", DecimalError::NotANumber)]
    #[case("_5", DecimalError::NotANumber)]
    #[case("-5", DecimalError::NotANumber)]
    #[case("1e3", DecimalError::NotANumber)]
    #[case("18446744073709551616", DecimalError::TooLarge)]
    #[case("0.00000000000000000001", DecimalError::TooLarge)]
    fn refuses(#[case] text: &str, #[case] expected: DecimalError) {
        assert_eq!(Decimal::parse(text), Err(expected));
    }
}
