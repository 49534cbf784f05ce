//! Checkpoints on disk: tensors, tokenizers, chat templates and static vectors, and where models
//! come from. No forward pass lives here.
//!
//! [`Checkpoint::open`] reads headers only, so that what a model is can be known before its
//! weights are loaded; everything that could go wrong later (a missing shard, a truncated file, a
//! tensor outside its file, a tokenizer with more ids than the embedding has rows) is found there
//! and refused with the name of the file and of the tensor.

pub mod architecture;
mod bounds;
pub mod catalogue;
mod checkpoint;
pub mod fault;
mod folder;
mod gguf;
pub mod hub;
mod locate;
mod mapped;
mod packed;
mod remembered;
pub mod series;
mod stored;
mod template;
mod tokenizer;
mod vectors;

pub use checkpoint::{Checkpoint, EmbeddedFiles};
pub use folder::read_tensors;
pub use gguf::{Additions, ControlVector, control_vector_file, read_control_vector};
pub use locate::{locate, locate_tokenizer};
pub use mapped::RawBytes;
pub use mary_kernels::TensorType;
pub use mary_kernels::dequant::{numbers, unpack_blocks};
pub use remembered::remember_hashes_in;
pub use stored::TensorInfo;
pub use template::ChatTemplate;
pub use tokenizer::{Encoding, Tokenizer, read_tokenizer};
pub use vectors::StaticVectors;
