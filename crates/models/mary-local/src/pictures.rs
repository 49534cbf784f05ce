//! Pictures on their way into a model: files become pixels, and pixels become the numbers that a vision
//! tower reads.
//!
//! [`decode`] reads PNG and JPEG files within bounds that are checked before memory is taken.
//! [`Processor`] does what the image processor of Hugging Face transformers does that a checkpoint names
//! in `preprocessor_config.json`: the same resize filters on 8-bit numbers, crops, padding, tiles and
//! normalisation, in the same order. Nothing here knows a model or a device.

mod decode;
mod error;
mod picture;
mod processor;
mod resample;

pub use decode::{MOST_BYTES, MOST_PIXELS, decode};
pub use error::VisionError;
pub use picture::Picture;
pub use processor::{Layout, Native, Prepared, Processor, View};
pub use resample::{Filter, resize};
