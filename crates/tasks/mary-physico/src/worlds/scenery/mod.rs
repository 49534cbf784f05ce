//! What several concepts draw alike.

pub(crate) mod air;
pub(crate) mod forces;
pub(crate) mod heat;
pub(crate) mod images;
pub(crate) mod liquids;
pub(crate) mod machines;
pub(crate) mod particles;
pub(crate) mod waves;
