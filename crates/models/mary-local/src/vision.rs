//! The vision encoder: the tower that reads a picture, the projector that brings it into the language model's
//! stream, and the places in a prompt where it stands.
//!
//! Each row of a picture has a number from [`FIRST_SHOWN`] on, the same for the same picture, so that the token
//! tree shares pictures as it shares words: twenty questions about one picture read it once.

mod album;
mod config;
mod encoder;
mod head;
mod joint;
mod packing;
mod projector;
mod shown;
mod tower;
mod words;

pub(crate) use album::Album;
pub(crate) use config::{TowerConfig, VisionConfig};
pub(crate) use encoder::{VisionEncoder, open, sees};
pub use joint::takes_pictures;
pub(crate) use joint::{Joint, PictureTower, no_joint, no_tower, open as open_joint, pairs};
pub use shown::{FIRST_SHOWN, PictureRows, Place};
