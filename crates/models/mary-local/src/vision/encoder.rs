//! The vision encoder of an open model: its processor, its tower and its projector on whichever device it lies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::pictures::{Layout, Prepared, Processor, VisionError, decode};
use mary_contract::{ErrorKind, Image, ModelError};
use mary_weights::Checkpoint;
use serde_json::Value;

use super::VisionConfig;
use super::config::Connector;
use super::packing::pack;
use super::projector::Projector;
use super::tower::Tower;
use super::words::Words;
use crate::config::{Activation, Architecture};
use crate::errors::{Result, bad_model, lock, not_finite};
use crate::kernels::Backend;
use crate::load::{LoadSettings, Loader, Tensors};

/// Bytes of pictures that stay in memory once they are read.
const KEPT: usize = 256 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedPicture {
    pub rows: Vec<f32>,
    /// Rows and columns, where the model turns by them.
    pub grid: Option<(usize, usize)>,
    /// What stands for it in the prompt.
    pub words: String,
}

trait Encode: Send + Sync {
    fn encode(&self, prepared: &Prepared) -> Result<Vec<f32>>;
}

type Kept = VecDeque<([u8; 32], Arc<EncodedPicture>)>;

pub(crate) struct VisionEncoder {
    pub words: Words,
    pub image_token: u32,
    pub width: usize,
    connector: Connector,
    processor: Processor,
    opened: Box<dyn Encode>,
    kept: Mutex<Kept>,
}

/// A known tower with its weights and a known processor; otherwise why not, where it looks as if it should.
pub(crate) fn sees(
    checkpoint: &Checkpoint,
    text: &Architecture,
) -> Result<Option<(VisionConfig, Processor)>> {
    let Some(config) = VisionConfig::resolve(checkpoint.config(), text)? else {
        return Ok(None);
    };
    let held = Tensors::find(checkpoint, &config.tower.architecture).is_ok();
    let Some(described) = checkpoint.picture_processor().filter(|_| held) else {
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

pub(crate) fn open<B: Backend + 'static>(
    backend: B,
    checkpoint: &Checkpoint,
    text: &Architecture,
    (config, processor): (VisionConfig, Processor),
    settings: LoadSettings,
) -> Result<VisionEncoder>
where
    B::Tensor: Sync,
{
    let hidden = text.hidden;
    let connector = config.connector;
    let loader = Loader::new(backend, checkpoint, &config.tower.architecture, settings)?;
    let tower = Tower::new(loader.tower(&config.tower)?, config.tower.clone());
    let activation = projector_activation(checkpoint.config())?;
    let projector = Projector::load(&loader, &connector, activation, hidden)?;
    let newline = match connector {
        Connector::LlavaNext { .. } => {
            let name = loader.under(&["", "model."], "image_newline")?;
            Some(loader.vector(&name, hidden)?)
        }
        _ => None,
    };
    let token = checkpoint.tokenizer().piece(config.image_token);
    Ok(VisionEncoder {
        words: Words::new(&connector, token),
        image_token: config.image_token,
        width: hidden,
        connector: connector.clone(),
        processor,
        opened: Box::new(Opened {
            tower,
            projector,
            newline,
            connector,
            hidden,
        }),
        kept: Mutex::default(),
    })
}

fn projector_activation(config: &Value) -> Result<Activation> {
    match config.get("projector_hidden_act").and_then(Value::as_str) {
        None | Some("gelu") => Ok(Activation::Gelu),
        Some("gelu_pytorch_tanh") => Ok(Activation::GeluTanh),
        Some("silu") => Ok(Activation::Silu),
        Some("relu") => Ok(Activation::Relu),
        Some(other) => Err(bad_model(format!(
            "config.json: the projector's activation `{other}` is not known"
        ))),
    }
}

impl VisionEncoder {
    /// Whether the rows of a picture see one another in both directions.
    pub(crate) fn both_ways(&self) -> bool {
        self.connector.both_ways()
    }

    /// Reads a picture, unless it was read before.
    pub(crate) fn read(&self, image: &Image, hash: [u8; 32]) -> Result<Arc<EncodedPicture>> {
        if let Some(known) = self.known(&hash) {
            return Ok(known);
        }
        let picture = decode(&image.data).map_err(refused)?;
        let prepared = self.processor.prepare(&picture).map_err(refused)?;
        let rows = self.opened.encode(&prepared)?;
        if rows.iter().any(|x| !x.is_finite()) {
            return Err(not_finite("the tower"));
        }
        let count = rows.len() / self.width.max(1);
        let grid = match prepared.layout {
            Layout::Native(g) => Some((g.rows / g.merge, g.columns / g.merge)),
            _ => None,
        };
        let words = self.words.written(&self.connector, &prepared.layout, count);
        let encoded = Arc::new(EncodedPicture { rows, grid, words });
        let mut kept = lock(&self.kept);
        kept.push_back((hash, Arc::clone(&encoded)));
        let bytes = |kept: &Kept| -> usize { kept.iter().map(|(_, p)| p.rows.len() * 4).sum() };
        while kept.len() > 1 && bytes(&kept) > KEPT {
            kept.pop_front();
        }
        drop(kept);
        Ok(encoded)
    }

    fn known(&self, hash: &[u8; 32]) -> Option<Arc<EncodedPicture>> {
        let mut kept = lock(&self.kept);
        let at = kept.iter().position(|(h, _)| h == hash)?;
        let found = kept.remove(at)?;
        let encoded = Arc::clone(&found.1);
        kept.push_back(found);
        Some(encoded)
    }
}

/// A tower and a projector on one device.
struct Opened<B: Backend> {
    tower: Tower<B>,
    projector: Projector<B>,
    newline: Option<Vec<f32>>,
    connector: Connector,
    hidden: usize,
}

impl<B: Backend> Encode for Opened<B>
where
    B::Tensor: Sync,
{
    fn encode(&self, prepared: &Prepared) -> Result<Vec<f32>> {
        let config = &self.tower.config;
        let inner = config.architecture.hidden;
        let b = self.tower.backend();
        let Some(first) = prepared.views.first() else {
            return Ok(vec![]);
        };
        if let Layout::Native(grid) = &prepared.layout {
            let rows = self.tower.read_native(first, grid)?;
            let shape = (inner, grid.rows, self.hidden);
            let out = self.projector.project(b, rows, shape);
            return b.check().map(|()| out);
        }
        let mut each = self.tower.rows_of(first);
        let mut rows = self.tower.read(&prepared.views)?;
        let dropped = matches!(
            self.connector,
            Connector::Llava { class: false } | Connector::LlavaNext { class: false }
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
                let sizes = (*original, (area.0 / pixels, area.1 / pixels));
                Ok(pack(&projected, self.hidden, side, sizes, newline))
            }
            _ => Ok(projected),
        }
    }
}
