//! A model that is open in this process: its weights, its threads and its memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mary_contract::{
    ErrorKind, ModelCard, ModelError, ModelRef, ModelSettings, Prompt, Reply, ReplyMeta, Usage,
};
use mary_weights::{Checkpoint, ControlVector};

use crate::card::{describe, fingerprint, masking};
use crate::config::Architecture;
use crate::engine::{Engine, Placed, Session};
use crate::errors::{bad_request, internal, not_finite};
use crate::kernels::Backend;
use crate::kernels::cpu::Cpu;
use crate::load::{LoadSettings, load};
use crate::memory::{Estimate, Layout};
use crate::options::{Device, Masking, Options};
use crate::vision::{self, Album, Joint, PictureRows, VisionConfig, VisionEncoder};
use crate::{memory, text};

/// Rows below which a batch is not made smaller.
const FEWEST_ROWS: usize = 32;

pub struct LocalModel {
    pub(crate) card: ModelCard,
    checkpoint: Arc<Checkpoint>,
    placed: Placement,
    options: Options,
    pool: rayon::ThreadPool,
    /// Rows of a batch at most, once the device has run out of memory.
    narrowed: AtomicUsize,
    /// Which tokens begin a word, once somebody asked.
    word_starts: OnceLock<Option<Vec<bool>>>,
    pub(crate) masking: Option<Masking>,
}

struct Placement {
    engine: Box<dyn Engine>,
    encoder: Option<VisionEncoder>,
    /// What its two towers meet in, where it has two.
    joint: Option<Joint>,
    /// How it is laid out where its weights have no room.
    layout: Option<Layout>,
}

impl LocalModel {
    pub(crate) fn load(
        model: ModelRef,
        checkpoint: Checkpoint,
        settings: &ModelSettings,
    ) -> Result<Self, ModelError> {
        let checkpoint = Arc::new(checkpoint);
        let options = Options::read_for(settings, &checkpoint)?;
        let architecture = Architecture::resolve(checkpoint.config())?;
        let mut card = describe(model, &checkpoint, &architecture, &options);
        let masking = masking(&checkpoint, &architecture, &options);
        card.fingerprint = fingerprint(&checkpoint, &options)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .thread_name(|i| format!("mary-local-{i}"))
            .build()
            .map_err(|e| internal(format!("no threads: {e}")))?;
        let steering = steering(&options, &architecture)?;
        let place = || place(&mut card, &checkpoint, &architecture, &options, steering);
        let placed = pool.install(place)?;
        Ok(Self {
            card,
            checkpoint,
            placed,
            options,
            pool,
            narrowed: AtomicUsize::new(usize::MAX),
            word_starts: OnceLock::new(),
            masking,
        })
    }

    pub fn architecture(&self) -> &Architecture {
        self.placed.engine.architecture()
    }

    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Which tokens begin a word; `None` where tokens do not tell.
    pub(crate) fn word_starts(&self) -> Option<&[bool]> {
        let read = || self.checkpoint.tokenizer().word_starts();
        self.word_starts.get_or_init(read).as_deref()
    }

    pub(crate) fn joint(&self) -> Option<&Joint> {
        self.placed.joint.as_ref()
    }

    pub(crate) fn album<'p>(&self, prompts: impl Iterator<Item = &'p Prompt>) -> Album<'_> {
        let prompts: Vec<&Prompt> = prompts.filter(|p| p.has_images()).collect();
        if prompts.is_empty() {
            return Album::default();
        }
        self.install(|| Album::read(self.placed.encoder.as_ref(), prompts.into_iter()))
    }

    /// Rows of its pictures are numbered from [`FIRST_SHOWN`](crate::vision::FIRST_SHOWN) on.
    pub fn read(&self, prompt: &Prompt) -> Result<(Vec<u32>, Arc<PictureRows>), ModelError> {
        let album = self.album(std::iter::once(prompt));
        let tokens = text::Reader::showing(&self.checkpoint, &album).prompt(prompt)?;
        Ok((tokens, Arc::clone(album.shown())))
    }

    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Rows of a batch: as many as multiply well, fewer when the model is large and memory is not.
    pub fn chunk_rows(&self) -> usize {
        let most = self.narrowed.load(Ordering::Relaxed);
        if let Some(rows) = self.options.rows {
            return rows.min(most);
        }
        let mut room = self.placed.engine.free_memory().unwrap_or(8 << 30) / 4;
        if let Some(layout) = self.placed.layout {
            room = layout.texts - layout.streams();
        }
        let fitting = room / self.bytes_per_row().max(1) as u64;
        let best = self.placed.engine.best_rows() as u64;
        (best.min(fitting).max(FEWEST_ROWS as u64) as usize).min(most)
    }

    /// Halves batches of this many rows after the device ran out of memory; false where they cannot get smaller.
    pub(crate) fn narrow(&self, rows: usize, error: &ModelError) -> bool {
        if error.kind != ErrorKind::OutOfMemory || rows <= FEWEST_ROWS {
            return false;
        }
        let half = (rows / 2).max(FEWEST_ROWS);
        if self.narrowed.fetch_min(half, Ordering::Relaxed) == usize::MAX {
            mary_platform::notice(&format!(
                "{}: {}; going on with batches of {half} rows",
                self.card.model, error.message
            ));
        }
        true
    }

    /// Whether weights have no room, so that many texts should go through each block together.
    pub(crate) fn fetches(&self) -> bool {
        self.placed.engine.fetches()
    }

    /// Tokens whose residual streams have room together, where the model goes block by block.
    pub(crate) fn window_tokens(&self) -> Option<u64> {
        let row = self.architecture().hidden as u64 * 4;
        self.placed.layout.map(|l| l.streams() / row.max(1))
    }

    /// Batches whose answers may be on their way while another is computed.
    pub(crate) fn ahead(&self) -> usize {
        self.placed.engine.ahead()
    }

    /// Bytes a row of a batch takes while it is computed.
    fn bytes_per_row(&self) -> usize {
        let a = self.architecture();
        let up = if a.mlp.gated { 3 } else { 2 };
        let numbers = 6 * a.hidden + 3 * a.q_width() + 2 * a.kv_width() + up * a.intermediate;
        let numbers = numbers + a.recurrence.map_or(0, |r| 3 * r.projected());
        let split = 6 * a.hidden.max(a.intermediate);
        // Block by block, one block's keys and values are there at a time.
        let layers = if self.fetches() { a.layers.max(1) } else { 1 };
        numbers * 4 + split + self.placed.engine.cache_bytes_per_row() / layers
    }

    pub fn session(&self, rows: usize) -> Result<Session<'_>, ModelError> {
        let bytes = rows.saturating_mul(self.placed.engine.cache_bytes_per_row());
        let what = format!("a cache for {rows} tokens");
        memory::compare(&what, bytes as u64, self.placed.engine.free_memory())?;
        self.placed.engine.session(rows)
    }

    /// How many of these sequences have room in memory together; at least one, at most `most`.
    pub(crate) fn fitting(&self, lengths: impl Iterator<Item = usize>, most: usize) -> usize {
        let room = self.placed.engine.free_memory().unwrap_or(8 << 30) / 2;
        let row = self.placed.engine.cache_bytes_per_row().max(1) as u64;
        let carried = self.architecture().carried_bytes();
        let mut used = 0;
        let fits = |len: &usize| {
            used += *len as u64 * row + carried;
            used <= room
        };
        lengths.take(most).take_while(fits).count().max(1)
    }

    pub(crate) fn not_finite(&self) -> ModelError {
        not_finite(&self.card.model.to_string())
    }
}

pub(crate) fn replied<A>(answer: A, usage: Usage) -> Reply<A> {
    let meta = ReplyMeta {
        usage,
        ..ReplyMeta::default()
    };
    Reply { answer, meta }
}

/// Bytes that the unpacked copies of quantised weights may take beside them.
const KEPT_UNPACKED: u64 = 1 << 30;

/// What is added after the blocks, by the block; nothing where nothing was asked for.
fn steering(options: &Options, a: &Architecture) -> Result<ControlVector, ModelError> {
    let Some((path, factor)) = &options.steer else {
        return Ok(ControlVector::new());
    };
    let mut directions = mary_weights::read_control_vector(path)?;
    for (&layer, vector) in &mut directions {
        if layer >= a.layers || vector.len() != a.hidden {
            let message = format!(
                "{}: direction {layer} of {} numbers does not fit {} blocks of {}",
                path.display(),
                vector.len(),
                a.layers,
                a.hidden
            );
            return Err(bad_request(message).hint("the directions belong to another model"));
        }
        vector.iter_mut().for_each(|x| *x *= factor);
    }
    Ok(directions)
}

/// Loads the weights to where they are wanted, and writes on the card where that is.
fn place(
    card: &mut ModelCard,
    checkpoint: &Arc<Checkpoint>,
    architecture: &Architecture,
    options: &Options,
    steering: ControlVector,
) -> Result<Placement, ModelError> {
    let mut how = LoadSettings {
        precision: options.precision,
        untrained: options.untrained,
        ..LoadSettings::default()
    };
    if let (Device::Cuda(_), Some(what)) = (options.device, architecture.on_processor_only()) {
        let message = format!("{} has {what}, which no GPU computes here yet", card.model);
        return Err(bad_request(message).hint("run it on the processor: --device cpu"));
    }
    #[cfg(feature = "cuda")]
    if let Device::Cuda(number) = options.device {
        use crate::kernels::cuda::{Choices, Cuda};
        let choices = Choices {
            number,
            precision: match options.exact_rows {
                true => crate::Precision::Single,
                false => options.precision,
            },
            blas: !options.own_kernels,
            memory: options.memory,
        };
        let cuda = Cuda::new(choices)?;
        let name = format!("cuda:{number}, {}", cuda.describe());
        card.conventions.insert("device".to_owned(), name);
        let again = || Cuda::new(choices);
        let estimate = memory::estimate_gpu(checkpoint, choices.precision);
        // A tenth is left to the texts.
        let room = cuda.free_memory().map(|free| free - free / 10);
        let layout = fit((card, options.held), &estimate, architecture, room)?;
        how.held = layout.map(|l| l.held);
        let mut placed = bring((cuda, again), checkpoint, architecture, how, steering)?;
        placed.layout = layout;
        return Ok(placed);
    }
    let estimate = memory::estimate(checkpoint, options.precision, options.multiplier);
    let available = mary_platform::available_memory();
    let room = match (available, options.memory) {
        (Some(free), Some(limit)) => Some(free.min(limit)),
        (free, limit) => free.or(limit),
    };
    let layout = fit((card, options.held), &estimate, architecture, room)?;
    (how.held, how.let_go) = (layout.map(|l| l.held), true);
    // Prompts are read faster from unpacked weights, which take several times the file: for small
    // models only.
    how.keep_unpacked = estimate.unpacked < KEPT_UNPACKED
        && room.is_none_or(|free| estimate.weights + estimate.unpacked < free / 3);
    let cpu = Cpu::new(options.multiplier);
    let name = format!("cpu, {}", cpu.describe());
    card.conventions.insert("device".to_owned(), name);
    let another = || Ok(Cpu::new(options.multiplier));
    let mut placed = bring((cpu, another), checkpoint, architecture, how, steering)?;
    placed.layout = layout;
    Ok(placed)
}

/// Blocks that are fetched must need nothing of one another.
fn fetchable(architecture: &Architecture, name: &ModelRef) -> Result<(), ModelError> {
    match architecture.whole_only() {
        None => Ok(()),
        Some(what) => Err(bad_request(format!(
            "{name} has {what}, and its blocks are not fetched one by one yet"
        ))
        .hint("all its weights must fit: a smaller model, a higher `memory`, or no `held`")),
    }
}

/// How a model is laid out where its weights do not all fit; `None` where they do.
fn fit(
    (card, held): (&ModelCard, Option<usize>),
    estimate: &Estimate,
    architecture: &Architecture,
    room: Option<u64>,
) -> Result<Option<Layout>, ModelError> {
    if let Some(held) = held.filter(|&held| held < architecture.layers) {
        fetchable(architecture, &card.model)?;
        let texts = room.unwrap_or(8 << 30) / 4;
        return Ok(Some(Layout { held, texts }));
    }
    let Some(room) = room.filter(|&room| estimate.weights > room) else {
        return Ok(None);
    };
    let name = &card.model;
    fetchable(architecture, name)?;
    let Some(layout) = memory::layout(estimate, (architecture.layers, architecture.hidden), room)
    else {
        return memory::compare(&format!("loading {name}"), estimate.weights, Some(room))
            .map(|()| None);
    };
    let (needed, room) = (memory::readable(estimate.weights), memory::readable(room));
    mary_platform::notice(&format!(
        "{name}: {needed} of weights, room for {room}; {} of {} blocks are held, the others fetched for every window of texts",
        layout.held, architecture.layers
    ));
    Ok(Some(layout))
}

/// Brings a model onto a device; what reads pictures gets the same device `again` for itself.
fn bring<B: Backend + 'static>(
    (backend, again): (B, impl Fn() -> Result<B, ModelError>),
    checkpoint: &Arc<Checkpoint>,
    architecture: &Architecture,
    how: LoadSettings,
    steering: ControlVector,
) -> Result<Placement, ModelError>
where
    B::Tensor: Sync,
{
    // A vision encoder of a kind that is not known leaves the text path as it is; the card says why.
    let seeing = vision::sees(checkpoint, architecture).unwrap_or_default();
    let axes = seeing.as_ref().and_then(|(c, _)| c.text_axes.clone());
    let both_ways = |(c, _): &(VisionConfig, _)| c.connector.both_ways();
    let both_ways = seeing.as_ref().is_some_and(both_ways);
    let open = |seeing| vision::open(again()?, checkpoint, architecture, seeing, how);
    let encoder = seeing.map(open).transpose()?;
    let joint = vision::open_joint(again, checkpoint, how, architecture.hidden)?;
    let mut transformer = load(backend, checkpoint, architecture, how)?;
    (transformer.axes, transformer.both_ways) = (axes, both_ways);
    transformer.steering = steering;
    Ok(Placement {
        engine: Box::new(Placed::new(transformer)),
        encoder,
        joint,
        layout: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_runs_out_halves_the_batch_until_it_cannot_get_smaller() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gpt_neox");
        let checkpoint = Checkpoint::open(&folder).unwrap();
        let settings = ModelSettings::default();
        let reference = "hf/gpt_neox".parse().unwrap();
        let model = LocalModel::load(reference, checkpoint, &settings).unwrap();
        let full = ModelError::new(ErrorKind::OutOfMemory, "taking 10 MB: out of memory");
        assert!(model.narrow(1024, &full));
        assert_eq!(model.chunk_rows(), 512);
        assert!(model.narrow(512, &full) && model.narrow(40, &full));
        assert_eq!(model.chunk_rows(), FEWEST_ROWS);
        assert!(!model.narrow(FEWEST_ROWS, &full));
        let other = ModelError::new(ErrorKind::Internal, "a kernel failed");
        assert!(!model.narrow(1024, &other));
    }
}
