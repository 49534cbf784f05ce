//! Pictures on their way into a model: files become pixels, and pixels the numbers that a vision tower reads.
//!
//! [`Processor`] does what the image processor of Hugging Face transformers does that a checkpoint names
//! in `preprocessor_config.json`, in the same order. Nothing here knows a model or a device.

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
