//! Bit patterns to move and fold: seeded, with the awkward ones among them.

use rankwise_model::{Combine, DtypeClass, Element};

/// `SplitMix64`: every seed gives another sequence, and every run the same.
pub(crate) struct Values(u64);

impl Values {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Any bit pattern a quarter of the time (NaNs with payloads, infinities and
    /// subnormals among them), an extreme every eighth time, a small number otherwise.
    pub(crate) fn next<T: Element>(&mut self) -> T {
        let bits = self.bits();
        match bits % 8 {
            0 | 1 => T::from_bits(bits >> 3),
            2 => match (bits >> 3) % 6 {
                0 => T::identity(Combine::Max),
                1 => T::identity(Combine::Min),
                2 => T::from_f64(f64::NAN),
                3 => T::from_f64(-0.0),
                4 => T::from_f64(f64::MAX),
                _ => T::from_f64(f64::MIN_POSITIVE),
            },
            _ => {
                let small = f64::from(u32::try_from((bits >> 3) % 401).unwrap()) - 200.0;
                let scale = match T::DTYPE.class() {
                    DtypeClass::Integer { .. } => 1.0,
                    DtypeClass::Float { .. } => 1.0 / 3.0,
                };
                T::from_f64(small * scale)
            }
        }
    }

    pub(crate) fn many<T: Element>(&mut self, elements: u64) -> Vec<T> {
        (0..elements).map(|_| self.next()).collect()
    }
}
