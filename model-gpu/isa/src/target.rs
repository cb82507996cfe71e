//! The instruction sets that the crate knows.

use std::fmt;

/// An instruction set. Both run waves of 64 lanes and have accumulation registers behind a unified file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Target {
    /// CDNA2: MI200. Scratch is addressed through registers that the kernel sets up: FLAT_SCRATCH, or a swizzled buffer.
    Gfx90a,
    /// CDNA3: MI300. FLAT_SCRATCH is architected: it holds the wave's scratch from the start.
    #[default]
    Gfx942,
}

impl Target {
    /// Every target.
    pub const ALL: [Target; 2] = [Target::Gfx90a, Target::Gfx942];

    /// The target's name as compilers take it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
        }
    }

    /// The target of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Whether FLAT_SCRATCH holds the address of the wave's scratch from the start, and memory instructions can do without
    /// an address register (LLVM: "architected flat scratch").
    #[must_use]
    pub const fn architected_flat_scratch(self) -> bool {
        matches!(self, Target::Gfx942)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
