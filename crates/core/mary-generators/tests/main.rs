//! What a seed draws, held as it is.

mod small_world;
