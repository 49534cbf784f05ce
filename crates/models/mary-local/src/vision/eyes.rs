//! The eyes of an open model: its processor, its tower and its projector on whichever device it lies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::pictures::{Layout, Prepared, Processor, VisionError, decode};
use mary_contract::{ErrorKind, Image, ModelError};
use mary_weights::Checkpoint;
use serde_json::Value;

use super::config::Kind;
use super::packing::pack;
use super::projector::Projector;
use super::tower::Tower;
use super::words::Words;
use super::{TowerConfig, VisionConfig};
use crate::config::{Activation, Architecture};
use crate::kernels::Backend;
use crate::load::LoadSettings;
use crate::load::tower::{self, Beside};

/// Bytes of pictures that stay in memory once they are read.
const KEPT: usize = 256 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// Rows of the language model's stream.
    pub rows: Vec<f32>,
    /// Rows and columns, where the model turns by them.
    pub grid: Option<(usize, usize)>,
    /// What stands for it in the prompt.
    pub words: String,
}

/// Reads prepared pictures, wherever the weights lie.
trait Look: Send + Sync {
    fn look(&self, prepared: &Prepared) -> Result<Vec<f32>, ModelError>;
}

/// What a model sees with.
pub(crate) struct Eyes {
    pub words: Words,
    pub image_token: u32,
    width: usize,
    kind: Kind,
    processor: Processor,
    look: Box<dyn Look>,
    kept: Mutex<VecDeque<([u8; 32], Arc<Seen>)>>,
}

/// Whether a model has eyes that can be opened: a known tower with its weights and a known processor.
/// Otherwise why it has none, where it looks as if it should.
pub(crate) fn sees(
    checkpoint: &Checkpoint,
    text: &Architecture,
) -> Result<Option<(VisionConfig, Processor)>, ModelError> {
    let Some(config) = VisionConfig::resolve(checkpoint.config(), text)? else {
        return Ok(None);
    };
    if !tower::holds(checkpoint, &config.tower) {
        return Ok(None);
    }
    let Some(described) = checkpoint.picture_processor() else {
        return Ok(None);
    };
    let processor = Processor::read(described).map_err(refused)?;
    Ok(Some((config, processor)))
}

pub(super) fn refused(error: VisionError) -> ModelError {
    let kind = match error {
        VisionError::Config(_) => ErrorKind::BadModel,
        _ => ErrorKind::BadRequest,
    };
    ModelError::new(kind, error.to_string()).hint(error.hint())
}

/// Opens a model's eyes on a device.
pub(crate) fn open<B: Backend + 'static>(
    backend: B,
    checkpoint: &Checkpoint,
    text: &Architecture,
    (config, processor): (VisionConfig, Processor),
    settings: LoadSettings,
) -> Result<Eyes, ModelError>
where
    B::Tensor: Sync,
{
    let beside = Beside::new(checkpoint, &config.tower, settings)?;
    let parts = tower::tower(backend, checkpoint, &config.tower, settings)?;
    let tower = Tower::new(parts, config.tower.clone());
    let activation = projector_activation(checkpoint.config())?;
    let projector = Projector::load(&tower, &config.kind, &beside, activation, text.hidden)?;
    let newline = match config.kind {
        Kind::LlavaNext { .. } => {
            let name = beside.under(&["", "model."], "image_newline")?;
            Some(beside.vector(&name, text.hidden)?)
        }
        _ => None,
    };
    let token = checkpoint.tokenizer().piece(config.image_token);
    Ok(Eyes {
        words: Words::new(&config.kind, token),
        image_token: config.image_token,
        width: text.hidden,
        kind: config.kind.clone(),
        processor,
        look: Box::new(Opened {
            tower,
            projector,
            newline,
            kind: config.kind,
            hidden: text.hidden,
        }),
        kept: Mutex::default(),
    })
}

fn projector_activation(config: &Value) -> Result<Activation, ModelError> {
    match config.get("projector_hidden_act").and_then(Value::as_str) {
        None | Some("gelu") => Ok(Activation::Gelu),
        Some("gelu_pytorch_tanh") => Ok(Activation::GeluTanh),
        Some("silu") => Ok(Activation::Silu),
        Some("relu") => Ok(Activation::Relu),
        Some(other) => Err(ModelError::new(
            ErrorKind::BadModel,
            format!("config.json: the projector's activation `{other}` is not known"),
        )),
    }
}

impl Eyes {
    /// Width of the rows that pictures become.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether the rows of a picture see one another in both directions.
    pub(crate) fn both_ways(&self) -> bool {
        matches!(self.kind, Kind::Gemma3 { .. })
    }

    /// Reads a picture, unless it was read before.
    pub(crate) fn see(&self, image: &Image, hash: [u8; 32]) -> Result<Arc<Seen>, ModelError> {
        if let Some(seen) = self.known(&hash) {
            return Ok(seen);
        }
        let picture = decode(&image.data).map_err(refused)?;
        let prepared = self.processor.prepare(&picture).map_err(refused)?;
        let rows = self.look.look(&prepared)?;
        if rows.iter().any(|x| !x.is_finite()) {
            return Err(ModelError::new(
                ErrorKind::NotFinite,
                "the tower gave a number that is not finite",
            )
            .hint(
                "the weights may be damaged, or overflow in a narrow number type; try --dtype f32",
            ));
        }
        let count = rows.len() / self.width.max(1);
        let grid = match prepared.layout {
            Layout::Native(g) => Some((g.rows / g.merge, g.columns / g.merge)),
            _ => None,
        };
        let words = self.words.of(&self.kind, &prepared.layout, count);
        let seen = Arc::new(Seen { rows, grid, words });
        self.keep(hash, &seen);
        Ok(seen)
    }

    fn known(&self, hash: &[u8; 32]) -> Option<Arc<Seen>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(h, _)| h == hash)?;
        let found = kept.remove(at)?;
        let seen = Arc::clone(&found.1);
        kept.push_back(found);
        Some(seen)
    }

    fn keep(&self, hash: [u8; 32], seen: &Arc<Seen>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((hash, Arc::clone(seen)));
        let bytes = |kept: &VecDeque<([u8; 32], Arc<Seen>)>| -> usize {
            kept.iter().map(|(_, s)| s.rows.len() * 4).sum()
        };
        while kept.len() > 1 && bytes(&kept) > KEPT {
            kept.pop_front();
        }
    }
}

/// A tower and a projector on one device.
struct Opened<B: Backend> {
    tower: Tower<B>,
    projector: Projector<B>,
    newline: Option<Vec<f32>>,
    kind: Kind,
    hidden: usize,
}

impl<B: Backend> Look for Opened<B>
where
    B::Tensor: Sync,
{
    fn look(&self, prepared: &Prepared) -> Result<Vec<f32>, ModelError> {
        let config: &TowerConfig = self.tower.config();
        let inner = config.architecture.hidden;
        let b = self.tower.backend();
        let Some(first) = prepared.views.first() else {
            return Ok(vec![]);
        };
        if let Layout::Native(grid) = &prepared.layout {
            let rows = self.tower.read_native(first, grid)?;
            let out = self
                .projector
                .project(b, rows, (inner, grid.rows, self.hidden));
            b.check()?;
            return Ok(out);
        }
        let mut each = self.tower.rows_of(first);
        let mut rows = self.tower.read(&prepared.views)?;
        let dropped = matches!(
            self.kind,
            Kind::Llava { class: false } | Kind::LlavaNext { class: false }
        );
        if config.class && dropped {
            let views = rows.chunks_exact(each * inner);
            rows = views.flat_map(|view| view[inner..].to_vec()).collect();
            each -= 1;
        }
        let projected = self.projector.project(b, rows, (inner, each, self.hidden));
        b.check()?;
        match (&prepared.layout, &self.newline, config.side) {
            (Layout::Tiles { original, area }, Some(newline), Some(side)) => {
                let pixels = (side * config.patch).max(1);
                let tiles = (area.0 / pixels, area.1 / pixels);
                Ok(pack(
                    &projected,
                    self.hidden,
                    side,
                    (*original, tiles),
                    newline,
                ))
            }
            _ => Ok(projected),
        }
    }
}
