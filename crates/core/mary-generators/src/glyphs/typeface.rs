//! A font other than the one that is compiled in: its symbols as ink, at the size at which its capitals are
//! as high as ours. For asking whether what holds of a symbol in our font holds in others.

use ab_glyph::FontVec;

use super::ink::Ink;
use super::{SIZE, draw_at, picture};

#[derive(Debug)]
pub struct Typeface {
    font: FontVec,
    /// Dots per line at which its capitals are as high as ours.
    size: f32,
    pen: usize,
}

impl Typeface {
    /// Reads a TrueType or OpenType font; nothing when it cannot be read or has no capital letters.
    pub fn read(bytes: Vec<u8>) -> Option<Self> {
        let font = FontVec::try_from_vec(bytes).ok()?;
        let (ours, theirs) = (picture('H')?, draw_at(&font, 'H', SIZE)?);
        let size = SIZE * ours.height() as f32 / theirs.height() as f32;
        let pen = draw_at(&font, 'I', size)?.width();
        Some(Self { font, size, pen })
    }

    /// The picture of a symbol, if the font has it.
    pub fn ink(&self, symbol: char) -> Option<Ink> {
        draw_at(&self.font, symbol, self.size)
    }

    pub fn pen(&self) -> usize {
        self.pen
    }
}
