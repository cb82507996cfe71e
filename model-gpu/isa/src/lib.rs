//! Decoder and interpreter for AMD GPU machine code (gfx942).
