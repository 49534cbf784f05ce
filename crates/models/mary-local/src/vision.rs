//! The vision encoder: the tower that reads a picture, the projector that brings it into the language model's stream,
//! and the places in a prompt where it stands.
//!
//! A picture becomes rows that stand in the place of tokens' vectors. Each row has a number from
//! [`FIRST_SHOWN`] on, the same for the same picture, so that the token tree shares pictures as it shares
//! words: twenty questions about one picture read it once. `config` reads what a checkpoint says of its
//! tower, `tower` and `projector` compute, `joint` and `head` are of models whose two towers meet (CLIP),
//! `words` writes the text that stands for a picture, `album` holds what a window of requests shows.

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
pub(crate) use joint::{Joint, PictureTower, no_joint, no_tower, open as open_joint, pairs};
pub use shown::{FIRST_SHOWN, PictureRows, Place};
