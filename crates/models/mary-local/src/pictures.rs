//! Pictures on their way into a model: files become pixels, and pixels the numbers that a vision tower reads.
//!
//! [`Processor`] does what the image processor of Hugging Face transformers does that a checkpoint names
//! in `preprocessor_config.json`, in the same order. Nothing here knows a model or a device.

mod decode;
mod picture;
mod processor;
mod resample;

use thiserror::Error;

pub use decode::{MOST_BYTES, MOST_PIXELS, decode};
pub use picture::Picture;
pub use processor::{Layout, Native, Prepared, Processor, View};
pub use resample::{Filter, resize};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VisionError {
    #[error("the picture is neither a PNG nor a JPEG file: it begins with {found}")]
    Unknown { found: String },
    #[error("the picture is not a sound {format} file: {why}")]
    Broken { format: &'static str, why: String },
    #[error("the picture has {width} × {height} pixels; a picture of a single pixel shows nothing")]
    TooSmall { width: usize, height: usize },
    /// More pixels, or more bytes, than this program reads.
    #[error("the picture {what} {found}; at most {most} are read")]
    TooLarge {
        what: &'static str,
        found: u64,
        most: u64,
    },
    #[error("the picture is {width} × {height} pixels: {why}")]
    Shape {
        width: usize,
        height: usize,
        why: String,
    },
    /// A processor that is described in a way this program does not know.
    #[error("preprocessor_config.json: {0}")]
    Config(String),
}

impl VisionError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "convert it to PNG or JPEG",
            Self::Broken { .. } => "the file may be cut off or damaged; make it again",
            Self::TooSmall { .. } => "give the picture at least two pixels",
            Self::TooLarge { .. } => "make the picture smaller before it is asked about",
            Self::Shape { .. } => "cut the picture so that its sides are closer to one another",
            Self::Config(_) => {
                "known: CLIP, SigLIP, LLaVA, LLaVA-NeXT, Idefics3, SmolVLM, Qwen2-VL and Gemma 3 processors"
            }
        }
    }
}
