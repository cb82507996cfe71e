//! The order in which work that may overlap is done: a sequence that a seed decides.

/// A generator of small numbers (`SplitMix64`): the same seed gives the same sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order(u64);

impl Order {
    /// The sequence of a seed, and of one of several users of that seed.
    pub(crate) fn new(seed: u64, user: u32) -> Self {
        Self(seed ^ u64::from(user).wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    /// A number below `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % bound as u64).unwrap_or(0)
    }
}
