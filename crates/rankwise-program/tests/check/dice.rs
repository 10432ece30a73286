//! Choices, the same for the same seed.

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `ways`.
    pub(crate) fn below(&mut self, ways: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % ways
    }

    pub(crate) fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}
