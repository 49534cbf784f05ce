//! PNG and JPEG files as pixels. Sizes are looked at before memory is taken, so that a small file which
//! claims to be a huge picture costs nothing.
//!
//! What a file holds becomes red, green and blue as in transformers: transparency lies on white, grey
//! counts three times, palettes are looked up, of 16-bit colours the upper byte counts, and 16-bit grey
//! is cut off at 255 (Pillow's conversion).

use std::io::Cursor;

use png::{BitDepth, ColorType, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::pictures::{Picture, VisionError};

/// Pixels of a picture at most, read or resized.
pub const MOST_PIXELS: usize = 64 << 20;
pub const MOST_BYTES: usize = 256 << 20;
/// Longest side of a picture that is read.
const LONGEST: usize = 1 << 16;

pub fn decode(file: &[u8]) -> Result<Picture, VisionError> {
    if file.len() > MOST_BYTES {
        return Err(too_large("file has bytes:", file.len(), MOST_BYTES));
    }
    if file.starts_with(&[0x89, b'P', b'N', b'G']) {
        return png(file);
    }
    if file.starts_with(&[0xff, 0xd8]) {
        return jpeg(file);
    }
    let first: Vec<String> = file.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let found = match first.is_empty() {
        true => "nothing".to_owned(),
        false => first.join(" "),
    };
    Err(VisionError::Unknown { found })
}

/// Whether so many pixels may be held in memory.
pub(crate) fn bounded(width: usize, height: usize) -> Result<(), VisionError> {
    let pixels = width.saturating_mul(height);
    match pixels > MOST_PIXELS {
        true => Err(too_large("would have pixels:", pixels, MOST_PIXELS)),
        false => Ok(()),
    }
}

fn sized(width: usize, height: usize) -> Result<(), VisionError> {
    if width.max(height) > LONGEST {
        let longest = width.max(height);
        return Err(too_large("has a side of pixels:", longest, LONGEST));
    }
    bounded(width, height)?;
    match width * height {
        0 | 1 => Err(VisionError::TooSmall { width, height }),
        _ => Ok(()),
    }
}

fn broken(format: &'static str, why: impl std::fmt::Display) -> VisionError {
    let why = why.to_string();
    VisionError::Broken { format, why }
}

fn whole(
    format: &'static str,
    (width, height): (usize, usize),
    rgb: Vec<u8>,
) -> Result<Picture, VisionError> {
    let why = || format!("it does not hold {width} × {height} pixels");
    Picture::new(width, height, rgb).ok_or_else(|| broken(format, why()))
}

fn too_large(what: &'static str, found: usize, most: usize) -> VisionError {
    VisionError::TooLarge {
        what,
        found: found as u64,
        most: most as u64,
    }
}

fn png(file: &[u8]) -> Result<Picture, VisionError> {
    let broken = |e: png::DecodingError| broken("PNG", e);
    let limits = png::Limits {
        bytes: MOST_PIXELS * 8,
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), limits);
    decoder.set_transformations(Transformations::EXPAND);
    let header = decoder.read_header_info().map_err(broken)?;
    let (width, height) = (header.width as usize, header.height as usize);
    sized(width, height)?;
    let mut reader = decoder.read_info().map_err(broken)?;
    let (colour, depth) = reader.output_color_type();
    let bytes = if depth == BitDepth::Sixteen { 2 } else { 1 };
    let too_large = || self::broken("PNG", "its rows do not fit into memory");
    let size = reader.output_buffer_size().ok_or_else(too_large)?;
    let mut data = vec![0; size];
    let frame = reader.next_frame(&mut data).map_err(broken)?;
    data.truncate(frame.buffer_size());
    // Sixteen bits: the upper byte, but for grey without alpha, which Pillow cuts off.
    let parts: Vec<u8> = match (bytes, colour) {
        (1, _) => data,
        (_, ColorType::Grayscale) => data
            .chunks_exact(2)
            .map(|b| if b[0] > 0 { 255 } else { b[1] })
            .collect(),
        _ => data.chunks_exact(2).map(|b| b[0]).collect(),
    };
    let mut rgb = Vec::with_capacity(width * height * 3);
    match colour {
        ColorType::Grayscale => parts.iter().for_each(|&g| rgb.extend([g; 3])),
        ColorType::GrayscaleAlpha => parts
            .chunks_exact(2)
            .for_each(|p| rgb.extend(on_white([p[0]; 3], p[1]))),
        ColorType::Rgba => parts
            .chunks_exact(4)
            .for_each(|p| rgb.extend(on_white([p[0], p[1], p[2]], p[3]))),
        ColorType::Rgb | ColorType::Indexed => rgb = parts,
    }
    whole("PNG", (width, height), rgb)
}

/// A colour of this opacity on white, with Pillow's rounding.
fn on_white(colour: [u8; 3], alpha: u8) -> [u8; 3] {
    if alpha == 0 {
        return [255; 3];
    }
    let own = u32::from(alpha) * 128;
    let white = 255 * 128 - own;
    colour.map(|part| {
        let sum = u32::from(part) * own + 255 * white + (0x80 << 7);
        ((((sum >> 8) + sum) >> 8) >> 7) as u8
    })
}

fn jpeg(file: &[u8]) -> Result<Picture, VisionError> {
    let broken = |e: zune_jpeg::errors::DecodeErrors| broken("JPEG", e);
    let options = DecoderOptions::default()
        .set_max_width(LONGEST)
        .set_max_height(LONGEST)
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(broken)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    sized(width, height)?;
    let rgb = decoder.decode().map_err(broken)?;
    whole("JPEG", (width, height), rgb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(width: u32, height: u32, colour: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        let mut encoder = png::Encoder::new(&mut out, width, height);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(data).unwrap();
        writer.finish().unwrap();
        out
    }

    #[test]
    fn a_single_pixel_a_cut_file_and_another_format_are_told_apart() {
        let one = file(1, 1, ColorType::Rgb, BitDepth::Eight, &[1, 2, 3]);
        let error = decode(&one).unwrap_err();
        assert!(error.to_string().contains("1 × 1 pixels"), "{error}");
        let two = file(2, 1, ColorType::Rgb, BitDepth::Eight, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(decode(&two).unwrap().rgb(), [1, 2, 3, 4, 5, 6]);
        let error = decode(&two[..two.len() - 20]).unwrap_err();
        assert!(error.to_string().contains("not a sound PNG"), "{error}");
        let error = decode(b"GIF89a").unwrap_err();
        assert!(error.to_string().contains("47 49 46"), "{error}");
        assert!(decode(b"").unwrap_err().to_string().contains("nothing"));
        let error = decode(&[0xff, 0xd8, 0xff, 0xe0, 0, 0]).unwrap_err();
        assert!(error.to_string().contains("not a sound JPEG"), "{error}");
    }

    /// The header alone says how large a picture is; nothing is unpacked.
    #[test]
    fn a_picture_bomb_is_refused_by_its_header() {
        let small = file(2, 1, ColorType::Grayscale, BitDepth::Eight, &[1, 2]);
        for (width, height) in [(60_000u32, 60_000u32), (1 << 30, 2), (3, 70_000)] {
            let mut bomb = small.clone();
            bomb[16..20].copy_from_slice(&width.to_be_bytes());
            bomb[20..24].copy_from_slice(&height.to_be_bytes());
            let crc = crc(&bomb[12..29]);
            bomb[29..33].copy_from_slice(&crc.to_be_bytes());
            let error = decode(&bomb).unwrap_err();
            assert!(
                matches!(error, VisionError::TooLarge { .. }),
                "{width} × {height}: {error}"
            );
        }
    }

    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 {
                    crc >> 1 ^ 0xedb8_8320
                } else {
                    crc >> 1
                };
            }
        }
        !crc
    }

    #[test]
    fn transparency_lies_on_white() {
        assert_eq!(on_white([10, 20, 30], 0), [255; 3]);
        assert_eq!(on_white([10, 20, 30], 255), [10, 20, 30]);
        assert_eq!(on_white([0, 255, 100], 128), [127, 255, 177]);
    }
}
