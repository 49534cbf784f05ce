//! Pictures of coloured dots, and PNG: what a prompt shows, what a sheet shows, and reading one back.
//!
//! Only what is needed here: eight bits of red, green and blue. The encoder's settings are part of
//! what a model is shown (a reply is cached under the bytes of its request), so they are named.

use thiserror::Error;

pub type Colour = [u8; 3];

/// Coloured dots in rows, from the upper left corner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    dots: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// For drawings with smooth edges: a filter for every row, packed fast.
    Filtered,
    /// For flat boxes: no filter, packed well; a tenth of the other's size.
    Flat,
}

/// A picture that could not be written or read as PNG.
#[derive(Debug, Error)]
pub enum PictureError {
    #[error("could not write the picture as PNG: {0}")]
    Write(#[from] png::EncodingError),
    /// The file is no PNG, or a damaged one.
    #[error("could not read the picture as PNG: {0}")]
    Read(#[from] png::DecodingError),
    #[error("expected a PNG of eight bits of red, green and blue, found {0}")]
    Kind(String),
}

impl Picture {
    pub fn new(width: u32, height: u32, paper: Colour) -> Self {
        Self::from_fn(width, height, |_, _| paper)
    }

    /// Each dot as the function says of its place.
    pub fn from_fn(width: u32, height: u32, colour: impl Fn(u32, u32) -> Colour) -> Self {
        let mut dots = Vec::with_capacity(width as usize * height as usize * 3);
        for y in 0..height {
            for x in 0..width {
                dots.extend(colour(x, y));
            }
        }
        Self {
            width,
            height,
            dots,
        }
    }

    pub fn width(&self) -> u32 {
        self.width
    }

    pub fn height(&self) -> u32 {
        self.height
    }

    fn place(&self, x: u32, y: u32) -> Option<usize> {
        let inside = x < self.width && y < self.height;
        inside.then(|| (y as usize * self.width as usize + x as usize) * 3)
    }

    /// The dot at a place; nothing outside the picture.
    pub fn get(&self, x: u32, y: u32) -> Option<Colour> {
        let at = self.place(x, y)?;
        self.dots.get(at..)?.first_chunk().copied()
    }

    /// Colours the dot at a place; a place outside the picture is left out.
    pub fn set(&mut self, x: u32, y: u32, colour: Colour) {
        let Some(at) = self.place(x, y) else {
            return;
        };
        if let Some(dot) = self.dots.get_mut(at..at + 3) {
            dot.copy_from_slice(&colour);
        }
    }

    pub fn dots(&self) -> impl Iterator<Item = Colour> + '_ {
        self.dots.as_chunks().0.iter().copied()
    }

    pub fn png(&self, packing: Packing) -> Result<Vec<u8>, PictureError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let (compression, filter) = match packing {
            Packing::Filtered => (png::Compression::Fast, png::Filter::Adaptive),
            Packing::Flat => (png::Compression::Balanced, png::Filter::NoFilter),
        };
        encoder.set_compression(compression);
        encoder.set_filter(filter);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.dots)?;
        writer.finish()?;
        Ok(bytes)
    }

    pub fn from_png(bytes: &[u8]) -> Result<Self, PictureError> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info()?;
        let kind = reader.output_color_type();
        let room = reader.output_buffer_size();
        let (Some(room), true) = (room, kind == (png::ColorType::Rgb, png::BitDepth::Eight)) else {
            return Err(PictureError::Kind(format!("{kind:?}")));
        };
        let mut dots = vec![0; room];
        let frame = reader.next_frame(&mut dots)?;
        dots.truncate(frame.buffer_size());
        Ok(Self {
            width: frame.width,
            height: frame.height,
            dots,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn png_can_be_read_back_and_is_the_same_every_time() {
        let mut picture = Picture::from_fn(60, 40, |x, y| [x as u8, y as u8, (x * y) as u8]);
        picture.set(3, 4, [9, 9, 9]);
        picture.set(60, 4, [1, 1, 1]);
        assert_eq!(picture.get(3, 4), Some([9, 9, 9]));
        assert_eq!(picture.get(60, 4), None);
        for packing in [Packing::Filtered, Packing::Flat] {
            let bytes = picture.png(packing).unwrap();
            assert_eq!(Picture::from_png(&bytes).unwrap(), picture);
            assert_eq!(bytes, picture.png(packing).unwrap());
        }
        assert!(Picture::from_png(b"no picture").is_err());
    }
}
