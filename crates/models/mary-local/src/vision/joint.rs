//! Two towers that meet: CLIP and SigLIP read a text and a picture into one space, where their cosine says
//! how well they fit. The text tower is the model's own transformer.

use crate::pictures::{Prepared, Processor, View, decode};
use mary_contract::{Image, LayerVector, ModelError, Observed, Pool, PooledVectors, Vector};
use mary_weights::Checkpoint;
use serde_json::Value;

use super::TowerConfig;
use super::config::{CLIP, Contrastive, SIGLIP, plain};
use super::encoder::refused;
use super::head::Head;
use super::tower::Tower;
use crate::config::Fields;
use crate::errors::{Result, bad_model, bad_request};
use crate::kernels::{Backend, Groups};
use crate::load::{LoadSettings, Loader, Tensors};
use crate::transformer::Watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Token(u32),
    /// The greatest token: what CLIP's files mean by an end token of 2, which is not theirs.
    Greatest,
    /// The last position of the context, the text being filled up with this token.
    Filled(u32),
}

/// What brings both towers into one space.
pub(crate) struct Joint {
    end: End,
    /// From the text's row to the joint space: rows of weights, and a bias.
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    width: usize,
    pictures: Option<Box<dyn PictureTower>>,
}

pub(crate) trait PictureTower: Send + Sync {
    fn prepare(&self, image: &Image) -> Result<View>;
    fn layers(&self) -> usize;
    fn observe(&self, views: &[View], pools: &[Pool], layers: &[usize]) -> Result<Vec<Observed>>;
}

fn family(config: &Value) -> Option<Contrastive> {
    match Fields::new(config).text("model_type")? {
        "clip" | "clip_text_model" => Some(Contrastive::Clip),
        "siglip" | "siglip_text_model" => Some(Contrastive::Siglip),
        _ => None,
    }
}

/// Whether a model of this kind can be shown pictures here: in a prompt, or beside texts (CLIP, SigLIP). A kind
/// that is known is not refused for what its configuration lacks.
pub fn takes_pictures(config: &Value) -> bool {
    let mut config = config.clone();
    if let Some(fields) = config.as_object_mut() {
        fields
            .entry("vision_config")
            .or_insert_with(|| Value::Object(Default::default()));
    }
    let known = crate::config::Architecture::resolve(&config).is_ok_and(|text| {
        !matches!(
            super::config::VisionConfig::resolve(&config, &text),
            Ok(None)
        )
    });
    known || family(&config).is_some()
}

/// The tower of pictures of a model of two towers, with its processor; nothing where it has none.
fn pictured(checkpoint: &Checkpoint) -> Result<Option<(TowerConfig, Processor)>> {
    let outer = Fields::new(checkpoint.config());
    let found = family(checkpoint.config()).zip(outer.object("vision_config"));
    let Some((family, inner)) = found else {
        return Ok(None);
    };
    // CLIP's last norm is that of the row for the whole picture alone.
    let config = match family {
        Contrastive::Clip => plain(&inner, CLIP, false)?,
        Contrastive::Siglip => plain(&inner, SIGLIP, true)?,
    };
    let held = Tensors::find(checkpoint, &config.architecture).is_ok();
    let Some(described) = checkpoint.picture_processor().filter(|_| held) else {
        return Ok(None);
    };
    let processor = Processor::read(described).map_err(refused)?;
    Ok(Some((config, processor)))
}

/// Whether pictures can be observed beside texts.
pub(crate) fn pairs(checkpoint: &Checkpoint) -> Result<bool> {
    Ok(head_of_text(checkpoint).is_some() && pictured(checkpoint)?.is_some())
}

fn head_of_text(checkpoint: &Checkpoint) -> Option<(&'static str, Contrastive)> {
    let family = family(checkpoint.config())?;
    let names: &[&str] = match family {
        Contrastive::Clip => &["text_projection"],
        Contrastive::Siglip => &["text_model.head", "head"],
    };
    let held = |name: &&&str| checkpoint.info(&format!("{name}.weight")).is_some();
    names.iter().find(held).map(|name| (*name, family))
}

/// Opens what stands behind both towers; nothing where a model has no joint space.
pub(crate) fn open<B: Backend + 'static>(
    backend: impl FnOnce() -> Result<B>,
    checkpoint: &Checkpoint,
    settings: LoadSettings,
    hidden: usize,
) -> Result<Option<Joint>>
where
    B::Tensor: Sync,
{
    let Some((name, family)) = head_of_text(checkpoint) else {
        return Ok(None);
    };
    let read = |part: &str| -> Result<Option<Vec<f32>>> {
        let full = format!("{name}.{part}");
        let data = checkpoint.info(&full).map(|_| checkpoint.read_f32(&full));
        let mut data = data.transpose()?;
        data.iter_mut().for_each(|d| settings.precision.round(d));
        Ok(data)
    };
    let (weight, bias) = (read("weight")?.unwrap_or_default(), read("bias")?);
    let (len, outputs) = (weight.len(), weight.len() / hidden.max(1));
    let whole = outputs * hidden == len && outputs > 0;
    if !whole || bias.as_ref().is_some_and(|b| b.len() != outputs) {
        return Err(bad_model(format!(
            "`{name}` has {len} numbers, which do not fit the text tower's width of {hidden}"
        )));
    }
    let pictures = match pictured(checkpoint)? {
        Some((config, processor)) => {
            let loader = Loader::new(backend()?, checkpoint, &config.architecture, settings)?;
            let tower = Tower::new(loader.tower(&config)?, config.clone());
            let head = Head::load(&loader, family, checkpoint)?;
            let opened = Opened {
                tower,
                head,
                processor,
            };
            Some(Box::new(opened) as Box<dyn PictureTower>)
        }
        None => None,
    };
    Ok(Some(Joint {
        end: end(checkpoint.config(), family),
        weight,
        bias,
        width: hidden,
        pictures,
    }))
}

fn end(config: &Value, family: Contrastive) -> End {
    let outer = Fields::new(config);
    let inner = outer.object("text_config");
    let named = |name: &str| {
        let own = inner.as_ref().and_then(|f| f.count(name));
        own.or_else(|| outer.count(name)).map(|n| n as u32)
    };
    match (family, named("eos_token_id")) {
        (Contrastive::Siglip, _) => End::Filled(named("pad_token_id").unwrap_or(1)),
        (Contrastive::Clip, None | Some(2)) => End::Greatest,
        (Contrastive::Clip, Some(token)) => End::Token(token),
    }
}

impl Joint {
    /// Fills a text up where its tower was trained so, and says which row stands for the whole.
    pub(crate) fn fill(&self, ids: &mut Vec<u32>, context: usize) -> Result<usize> {
        let found = match self.end {
            End::Filled(pad) => {
                ids.resize(context.max(ids.len()), pad);
                ids.len().checked_sub(1)
            }
            End::Token(end) => ids.iter().position(|id| *id == end),
            End::Greatest => {
                let most = ids.iter().max();
                ids.iter().position(|id| Some(id) == most)
            }
        };
        found.ok_or_else(|| {
            bad_model("the tokenizer ends a text without the token that stands for all of it")
                .hint("the tokenizer may belong to another model")
        })
    }

    pub(crate) fn text(&self, row: &[f32]) -> Vec<f32> {
        let product = |w: &[f32]| -> f64 {
            let both = w.iter().zip(row);
            both.map(|(w, x)| f64::from(*w) * f64::from(*x)).sum()
        };
        let rows = self.weight.chunks_exact(self.width.max(1)).enumerate();
        let bias = |n: usize| self.bias.as_ref().and_then(|b| b.get(n)).copied();
        rows.map(|(n, w)| (product(w) + f64::from(bias(n).unwrap_or(0.0))) as f32)
            .collect()
    }

    pub(crate) fn pictures(&self) -> Result<&dyn PictureTower> {
        self.pictures.as_deref().ok_or_else(no_tower)
    }
}

/// What a model of one tower says when it is asked for a vector of a joint space.
pub(crate) fn no_joint() -> ModelError {
    bad_request("this model has no space that texts and pictures share")
        .hint("CLIP and SigLIP have one; pool otherwise (mean, last, first)")
}

/// What a model without a tower of pictures says when it is to observe one.
pub(crate) fn no_tower() -> ModelError {
    bad_request("this model observes texts only; it has no tower that reads a picture by itself")
        .hint("CLIP and SigLIP have one; the folder must hold `preprocessor_config.json`")
}

struct Opened<B: Backend> {
    tower: Tower<B>,
    head: Head<B>,
    processor: Processor,
}

impl<B: Backend> PictureTower for Opened<B>
where
    B::Tensor: Sync,
{
    fn prepare(&self, image: &Image) -> Result<View> {
        let picture = decode(&image.data).map_err(refused)?;
        let Prepared { mut views, .. } = self.processor.prepare(&picture).map_err(refused)?;
        match (views.pop(), views.is_empty()) {
            (Some(view), true) => Ok(view),
            _ => Err(bad_model(
                "preprocessor_config.json makes several views of a picture; this tower reads one",
            )),
        }
    }

    fn layers(&self) -> usize {
        self.tower.config.architecture.layers
    }

    fn observe(&self, views: &[View], pools: &[Pool], layers: &[usize]) -> Result<Vec<Observed>> {
        let Some(first) = views.first() else {
            return Ok(vec![]);
        };
        let mut all = vec![];
        for some in views.chunks(self.tower.together(first)) {
            all.extend(self.pass(some, pools, layers)?);
        }
        Ok(all)
    }
}

impl<B: Backend> Opened<B>
where
    B::Tensor: Sync,
{
    fn rows(&self, pool: Pool, each: usize) -> Result<std::ops::Range<usize>> {
        let own = usize::from(self.tower.config.class);
        match pool {
            Pool::Mean => Ok(own..each),
            Pool::First => Ok(0..1),
            Pool::Last => Ok(each - 1..each),
            Pool::Joint => Ok(0..0),
            Pool::Span { .. } | Pool::Token(_) => {
                Err(bad_request("a picture has no spans of text to average"))
            }
        }
    }

    fn pass(&self, views: &[View], pools: &[Pool], layers: &[usize]) -> Result<Vec<Observed>> {
        let each = views
            .first()
            .map_or(1, |first| self.tower.rows_of(first).max(1));
        let mut groups = Groups::default();
        let mut counts = vec![];
        for pool in pools {
            counts.push(self.rows(*pool, each)?.len());
        }
        for view in 0..views.len() {
            for pool in pools.iter().filter(|p| **p != Pool::Joint) {
                let rows = self.rows(*pool, each)?;
                groups.push(rows.map(|row| view * each + row));
            }
        }
        let empty = |_: &View| -> Vec<PooledVectors> {
            let pooled = counts.iter().map(|&tokens| PooledVectors {
                tokens: tokens.max(1),
                layers: vec![],
            });
            pooled.collect()
        };
        let mut found: Vec<Vec<PooledVectors>> = views.iter().map(empty).collect();
        let mut visit = |layer: usize, means: &[f32]| {
            let width = means.len() / groups.len().max(1);
            let mut means = means.chunks_exact(width.max(1));
            for pooled in &mut found {
                let own = pooled.iter_mut().zip(pools);
                for (out, _) in own.filter(|(_, pool)| **pool != Pool::Joint) {
                    if let Some(mean) = means.next() {
                        let vector = Vector(mean.to_vec());
                        out.layers.push(LayerVector { layer, vector });
                    }
                }
            }
        };
        let watch = (!groups.is_empty()).then_some(Watch::Means {
            groups: &groups,
            layers,
            visit: &mut visit,
        });
        let last = self.tower.observe(views, watch)?;
        if pools.contains(&Pool::Joint) {
            let joint = self.head.apply(self.tower.backend(), &last, each)?;
            let layer = self.layers();
            for (pooled, vector) in found.iter_mut().zip(joint) {
                let own = pooled.iter_mut().zip(pools);
                for (out, _) in own.filter(|(_, pool)| **pool == Pool::Joint) {
                    let vector = Vector(vector.clone());
                    out.layers.push(LayerVector { layer, vector });
                }
            }
        }
        let all = found.into_iter().map(|pools| Observed {
            pools,
            scores: None,
        });
        Ok(all.collect())
    }
}
