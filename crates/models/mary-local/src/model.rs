//! A model that is open in this process: its weights, its threads and its memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mary_contract::{
    ErrorKind, ModelCard, ModelError, ModelRef, ModelSettings, Prompt, Reply, ReplyMeta, Usage,
};
use mary_weights::{Checkpoint, ControlVector};

use crate::card::{describe, fingerprint, masking};
use crate::config::{Architecture, Recurrence};
use crate::divide::{self, Share};
use crate::engine::{Engine, Placed, Session};
use crate::errors::{Result, bad_request, internal, not_finite};
use crate::kernels::Backend;
use crate::kernels::cpu::Cpu;
use crate::load::{LoadSettings, load};
use crate::memory::{Estimate, Layout};
use crate::options::{Device, Masking, Options};
use crate::vision::{self, Album, Joint, PictureRows, VisionConfig, VisionEncoder};
use crate::{memory, sources, text};

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
    /// What reads the sources that the engine answers.
    reader: Option<Box<dyn Engine>>,
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
    ) -> Result<Self> {
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

    /// What must be read before these prompts are, with whether they are spelled as token ids: their pictures, or, of
    /// a model that answers sources, the prompts themselves.
    pub(crate) fn album<'p>(&self, prompts: impl Iterator<Item = (&'p Prompt, bool)>) -> Album<'_> {
        if self.answers() {
            return Album::of_sources(sources::read(self, prompts));
        }
        let prompts = prompts.map(|(prompt, _)| prompt);
        let prompts: Vec<&Prompt> = prompts.filter(|p| p.has_images()).collect();
        if prompts.is_empty() {
            return Album::default();
        }
        self.install(|| Album::read(self.placed.encoder.as_ref(), prompts.into_iter()))
    }

    /// Rows of its pictures are numbered from [`FIRST_SHOWN`](crate::vision::FIRST_SHOWN) on.
    pub fn read(&self, prompt: &Prompt) -> Result<(Vec<u32>, Arc<PictureRows>)> {
        let album = self.album(std::iter::once((prompt, false)));
        let tokens = text::Reader::showing(&self.checkpoint, &album).prompt(prompt)?;
        Ok((tokens, Arc::clone(album.shown())))
    }

    /// Whether an encoder reads what this model answers.
    pub(crate) fn answers(&self) -> bool {
        self.placed.reader.is_some()
    }

    /// What reads a text whole: the encoder, where there is one beside the decoder.
    pub(crate) fn observed(&self) -> &dyn Engine {
        let reader = self.placed.reader.as_deref();
        reader.unwrap_or(&*self.placed.engine)
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

    /// Tokens whose residual streams have room together, where the model goes block by block or keeps what an encoder
    /// read.
    pub(crate) fn window_tokens(&self) -> Option<u64> {
        let row = self.architecture().hidden as u64 * 4;
        let streams = self.placed.layout.map(|l| l.streams());
        let streams = streams.or(self.answers().then_some(SOURCES));
        streams.map(|bytes| bytes / row.max(1))
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
        // Every eighth row or so is one that several others follow, and its state is kept for them.
        let carrying = |r: Recurrence| 3 * r.projected() + r.inner * r.state / 8;
        let numbers = numbers + a.recurrence.map_or(0, carrying);
        let split = 6 * a.hidden.max(a.intermediate);
        // Block by block, one block's keys and values are there at a time.
        let layers = if self.fetches() { a.layers.max(1) } else { 1 };
        numbers * 4 + split + self.placed.engine.cache_bytes_per_row() / layers
    }

    pub fn session(&self, rows: usize) -> Result<Session<'_>> {
        self.session_on(&*self.placed.engine, rows)
    }

    pub(crate) fn session_on<'e>(
        &self,
        engine: &'e dyn Engine,
        rows: usize,
    ) -> Result<Session<'e>> {
        let bytes = rows.saturating_mul(engine.cache_bytes_per_row());
        let what = format!("a cache for {rows} tokens");
        memory::compare(&what, bytes as u64, engine.free_memory())?;
        engine.session(rows)
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

/// Bytes of what an encoder read that are kept for one window of requests.
const SOURCES: u64 = 64 << 20;

/// Bytes that the unpacked copies of quantised weights may take beside them.
const KEPT_UNPACKED: u64 = 1 << 30;

/// What is added after the blocks, by the block; nothing where nothing was asked for.
fn steering(options: &Options, a: &Architecture) -> Result<ControlVector> {
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
) -> Result<Placement> {
    let mut how = LoadSettings {
        precision: options.precision,
        untrained: options.untrained,
        ..LoadSettings::default()
    };
    if let (Device::Cuda(_), Some(what)) = (options.device(), architecture.on_processor_only()) {
        let message = format!("{} has {what}, which no GPU computes here yet", card.model);
        return Err(bad_request(message).hint("run it on the processor: --device cpu"));
    }
    let of = (&card.model, architecture, options);
    #[cfg(feature = "cuda")]
    if let Device::Cuda(_) = options.device() {
        use crate::kernels::cuda::{Choices, Cuda};
        let precision = on_gpu(options);
        let open = |device: &Device| {
            Cuda::new(Choices {
                number: device.number(),
                precision,
                blas: !options.own_kernels,
                memory: options.memory,
            })
        };
        let parts = options.devices.iter().map(open);
        let parts = parts.collect::<Result<Vec<Cuda>, _>>()?;
        let estimate = memory::estimate_gpu(checkpoint, precision);
        let free = |device: Device| {
            let same = options.devices.iter().position(|d| *d == device);
            // A tenth is left to the texts.
            parts[same?].free_memory().map(|free| free - free / 10)
        };
        let (layout, shares) = arrange(of, &estimate, free, &mut mary_platform::notice)?;
        let names = parts.iter().zip(&options.devices);
        let names = names.map(|(part, device)| format!("{device}, {}", part.describe()));
        let device = ("device".to_owned(), places(names, &shares));
        card.conventions.extend([device]);
        how.held = layout.map(|l| l.held);
        let again = || open(&options.device());
        let parts = (parts, again, &*shares);
        let mut placed = bring(parts, checkpoint, architecture, how, steering)?;
        placed.layout = layout;
        return Ok(placed);
    }
    let estimate = memory::estimate(checkpoint, options.precision, options.multiplier);
    let room = room_in(mary_platform::available_memory(), options);
    let (layout, shares) = arrange(of, &estimate, |_| room, &mut mary_platform::notice)?;
    (how.held, how.let_go) = (layout.map(|l| l.held), true);
    // Prompts are read faster from unpacked weights, which take several times the file: for small
    // models only.
    how.keep_unpacked = estimate.unpacked < KEPT_UNPACKED
        && room.is_none_or(|free| estimate.weights + estimate.unpacked < free / 3);
    let new = || Cpu::new(options.multiplier);
    let parts: Vec<Cpu> = shares.iter().map(|_| new()).collect();
    let names = parts.iter().map(|cpu| format!("cpu, {}", cpu.describe()));
    let device = ("device".to_owned(), places(names, &shares));
    card.conventions.extend([device]);
    let parts = (parts, || Ok(new()), &*shares);
    let mut placed = bring(parts, checkpoint, architecture, how, steering)?;
    placed.layout = layout;
    Ok(placed)
}

#[cfg(feature = "cuda")]
fn on_gpu(options: &Options) -> crate::Precision {
    match options.exact_rows {
        true => crate::Precision::Single,
        false => options.precision,
    }
}

/// Devices in words, with the layers of each where there are several.
fn places(names: impl Iterator<Item = String>, shares: &[Share]) -> String {
    let each = names.zip(shares).map(|(name, share)| match shares.len() {
        1 => name,
        _ => format!("{}: {name}", share.which()),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Which layers go where, and how they are laid out where the weights do not all fit on one device.
fn arrange(
    (name, architecture, options): (&ModelRef, &Architecture, &Options),
    estimate: &Estimate,
    free: impl Fn(Device) -> Option<u64>,
    tell: &mut dyn FnMut(&str),
) -> Result<(Option<Layout>, Vec<Share>)> {
    let shares = divide::divide(name, architecture, options, estimate)?;
    if shares.len() > 1 {
        divide::fit(name, &shares, free)?;
        return Ok((None, shares));
    }
    let (of, room) = ((name, options.held), free(options.device()));
    Ok((fit(of, estimate, architecture, room, tell)?, shares))
}

/// What is free, or what the user allows of it.
fn room_in(free: Option<u64>, options: &Options) -> Option<u64> {
    match (free, options.memory) {
        (Some(free), Some(limit)) => Some(free.min(limit)),
        (free, limit) => free.or(limit),
    }
}

/// What opening it would say of how layers are divided, or of weights that do not fit into what is free; nothing where
/// all fit on one device.
pub(crate) fn outlook(
    name: &ModelRef,
    checkpoint: &Checkpoint,
    options: &Options,
    free: impl Fn(Device) -> Option<u64>,
) -> Option<String> {
    let architecture = Architecture::resolve(checkpoint.config()).ok()?;
    let (estimate, texts) = match options.device() {
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => (memory::estimate_gpu(checkpoint, on_gpu(options)), 10),
        _ => (
            memory::estimate(checkpoint, options.precision, options.multiplier),
            u64::MAX,
        ),
    };
    let free = |device| room_in(free(device), options).map(|room| room - room / texts);
    let mut said = None;
    let mut tell = |line: &str| said = Some(line.to_owned());
    match arrange((name, &architecture, options), &estimate, free, &mut tell) {
        Err(error) => Some(error.to_string()),
        Ok((_, shares)) if shares.len() > 1 => Some(format!("{name}: {}", divide::told(&shares))),
        Ok(_) => said,
    }
}

/// Blocks that are fetched must need nothing of one another.
fn fetchable(architecture: &Architecture, name: &ModelRef) -> Result<()> {
    match architecture.whole_only() {
        None => Ok(()),
        Some(what) => Err(bad_request(format!(
            "{name} has {what}, and its blocks are not fetched one by one yet"
        ))
        .hint("all its weights must fit: a smaller model, a higher `memory`, or no `held`")),
    }
}

const FETCHED: &str = "the others fetched for every window of texts";

/// How a model is laid out where its weights do not all fit; `None` where they do.
fn fit(
    (name, held): (&ModelRef, Option<usize>),
    estimate: &Estimate,
    architecture: &Architecture,
    room: Option<u64>,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<Layout>> {
    let layers = architecture.layers;
    if let Some(held) = held.filter(|&held| held < layers) {
        fetchable(architecture, name)?;
        let texts = room.unwrap_or(8 << 30) / 4;
        tell(&format!(
            "{name}: {held} of {layers} blocks are held, {FETCHED}"
        ));
        return Ok(Some(Layout { held, texts }));
    }
    let Some(room) = room.filter(|&room| estimate.weights > room) else {
        return Ok(None);
    };
    fetchable(architecture, name)?;
    let layout = match memory::layout(estimate, (layers, architecture.hidden), room) {
        Ok(layout) => layout,
        Err(least) => {
            let (how, needed) = match least < estimate.weights {
                true => (" block by block", least),
                false => ("", estimate.weights),
            };
            let what = format!("loading {name}{how}");
            return memory::compare(&what, needed, Some(room)).map(|()| None);
        }
    };
    let (needed, room) = (memory::readable(estimate.weights), memory::readable(room));
    tell(&format!(
        "{name}: {needed} of weights, room for {room}; {} of {layers} blocks are held, {FETCHED}",
        layout.held
    ));
    Ok(Some(layout))
}

/// Brings a model onto its devices, each with its share; what reads pictures gets the first one `again` for itself.
fn bring<B: Backend + 'static>(
    (parts, again, shares): (Vec<B>, impl Fn() -> Result<B>, &[Share]),
    checkpoint: &Arc<Checkpoint>,
    architecture: &Architecture,
    how: LoadSettings,
    steering: ControlVector,
) -> Result<Placement>
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
    let reader = match &architecture.source {
        Some(source) => {
            let encoder = load(again()?, checkpoint, &source.encoder, how)?;
            Some(Box::new(Placed::new(encoder, vec![])) as Box<dyn Engine>)
        }
        None => None,
    };
    let joint = vision::open_joint(again, checkpoint, how, architecture.hidden)?;
    let part = |(backend, share): (B, &Share)| {
        let how = LoadSettings {
            layers: Some((share.layers.start, share.layers.end)),
            ..how
        };
        let mut part = load(backend, checkpoint, architecture, how)?;
        (part.axes, part.both_ways) = (axes.clone(), both_ways);
        part.steering = steering.clone();
        Ok(part)
    };
    let mut parts = parts.into_iter().zip(shares).map(part);
    let first = parts.next().ok_or_else(|| internal("no device"))??;
    let rest = parts.collect::<Result<_>>()?;
    Ok(Placement {
        engine: Box::new(Placed::new(first, rest)),
        reader,
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
