//! A model that is open in this process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mary_contract::{
    ErrorKind, Generate, Generated, Generator, Model, ModelCard, ModelError, ModelRef,
    ModelSettings, NamedToken, Observe, Observed, Observer, Prompt, Score, Scored, Scorer,
    StartTokens, WorkQueue,
};
use mary_weights::{Checkpoint, Tokenizer};

use crate::config::Architecture;
use crate::engine::{Engine, Placed, Session};
use crate::kernels::cpu::Cpu;
use crate::load::{LoadSettings, load};
use crate::masked::{self, Masking};
use crate::options::Options;
use crate::precision::Precision;
use crate::vision::{self, Album, Eyes, Joint, Shown};
use crate::{generate, memory, observe, score, text};

/// Rows below which a batch is not made smaller.
const FEWEST_ROWS: usize = 32;

/// A model that is open in this process.
pub struct LocalModel {
    card: ModelCard,
    checkpoint: Checkpoint,
    engine: Box<dyn Engine>,
    /// What it sees with, where it does.
    eyes: Option<Eyes>,
    /// What its two towers meet in, where it has two.
    joint: Option<Joint>,
    options: Options,
    pool: rayon::ThreadPool,
    /// Rows of a batch at most, once the device has run out of memory.
    narrowed: AtomicUsize,
    /// Which tokens begin a word, once somebody asked.
    word_starts: OnceLock<Option<Vec<bool>>>,
    /// How it scores, where it is a masked language model.
    masking: Option<Masking>,
}

impl LocalModel {
    /// Opens a checkpoint: checks names, shapes and memory, then loads.
    pub fn from_checkpoint(
        model: ModelRef,
        checkpoint: Checkpoint,
        settings: &ModelSettings,
    ) -> Result<Self, ModelError> {
        let options = Options::read_for(settings, checkpoint.config())?;
        let architecture = Architecture::resolve(checkpoint.config())?;
        let mut card = describe(model, &checkpoint, &architecture, &options);
        let masking = masking(&checkpoint, &architecture, &options);
        card.fingerprint = fingerprint(&checkpoint, &options)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .thread_name(|i| format!("mary-local-{i}"))
            .build()
            .map_err(|e| ModelError::new(ErrorKind::Internal, format!("no threads: {e}")))?;
        let Placement {
            device,
            engine,
            eyes,
            joint,
        } = pool.install(|| place(&card, &checkpoint, &architecture, &options))?;
        card.conventions.insert("device".to_owned(), device);
        let model = Self {
            card,
            checkpoint,
            engine,
            eyes,
            joint,
            options,
            pool,
            narrowed: AtomicUsize::new(usize::MAX),
            word_starts: OnceLock::new(),
            masking,
        };
        if model.options.self_check && model.architecture().language_head {
            score::self_check(&model, SELF_CHECK)?;
        }
        Ok(model)
    }

    /// What it is made of.
    pub fn architecture(&self) -> &Architecture {
        self.engine.architecture()
    }

    /// Where its weights and tokenizer came from.
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

    /// What its two towers meet in.
    pub(crate) fn joint(&self) -> Option<&Joint> {
        self.joint.as_ref()
    }

    /// Reads the pictures of these prompts, each once.
    pub(crate) fn album<'p>(&self, prompts: impl Iterator<Item = &'p Prompt>) -> Album<'_> {
        let prompts: Vec<&Prompt> = prompts.filter(|p| p.has_images()).collect();
        if prompts.is_empty() {
            return Album::default();
        }
        self.install(|| Album::of(self.eyes.as_ref(), prompts.into_iter()))
    }

    /// A prompt as the model reads it: its tokens, and the rows of its pictures, which are numbered from
    /// [`FIRST_SHOWN`](crate::vision::FIRST_SHOWN) on.
    pub fn read(&self, prompt: &Prompt) -> Result<(Vec<u32>, Arc<Shown>), ModelError> {
        let album = self.album(std::iter::once(prompt));
        let tokens = text::Reader::showing(&self.checkpoint, &album).prompt(prompt)?;
        Ok((tokens, Arc::clone(album.shown())))
    }

    /// Runs on the model's own threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Rows of a batch: as many as multiply well, fewer when the model is large and memory is not.
    pub fn chunk_rows(&self) -> usize {
        let most = self.narrowed.load(Ordering::Relaxed);
        if let Some(rows) = self.options.rows {
            return rows.min(most);
        }
        let room = self.engine.free_memory().unwrap_or(8 << 30) / 4;
        let fitting = room / self.bytes_per_row().max(1) as u64;
        let best = self.engine.best_rows() as u64;
        (best.min(fitting).max(FEWEST_ROWS as u64) as usize).min(most)
    }

    /// After the device ran out of memory with batches of this many rows: halves them and says so the
    /// first time. False where they cannot get smaller.
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

    /// Batches whose answers may be on their way while another is computed.
    pub(crate) fn ahead(&self) -> usize {
        self.engine.ahead()
    }

    /// Bytes a row of a batch takes while it is computed.
    fn bytes_per_row(&self) -> usize {
        let a = self.architecture();
        let up = if a.mlp.gated { 3 } else { 2 };
        let numbers = 6 * a.hidden + 3 * a.q_width() + 2 * a.kv_width() + up * a.intermediate;
        let split = 6 * a.hidden.max(a.intermediate);
        numbers * 4 + split + self.engine.cache_bytes_per_row()
    }

    /// Memory for a computation, with room for this many cached positions.
    pub fn session(&self, rows: usize) -> Result<Session<'_>, ModelError> {
        let bytes = rows.saturating_mul(self.engine.cache_bytes_per_row());
        let what = format!("a cache for {rows} tokens");
        memory::compare(&what, bytes as u64, self.engine.free_memory())?;
        self.engine.session(rows)
    }

    /// How many of these sequences have room in memory together; at least one, at most `most`.
    pub(crate) fn fitting(&self, lengths: impl Iterator<Item = usize>, most: usize) -> usize {
        let room = self.engine.free_memory().unwrap_or(8 << 30) / 2;
        let row = self.engine.cache_bytes_per_row().max(1) as u64;
        let mut used = 0;
        let fits = |len: &usize| {
            used += *len as u64 * row;
            used <= room
        };
        lengths.take(most).take_while(fits).count().max(1)
    }

    /// The error for NaN and infinities.
    pub(crate) fn not_finite(&self) -> ModelError {
        ModelError::new(
            ErrorKind::NotFinite,
            format!("{} gave a number that is not finite", self.card.model),
        )
        .hint("the weights may be damaged, or overflow in a narrow number type; try --dtype f32")
    }
}

/// Bytes that the unpacked copies of quantised weights may take beside them.
const KEPT_UNPACKED: u64 = 1 << 30;

/// Weights where they are wanted.
struct Placement {
    /// Where that is, in words.
    device: String,
    engine: Box<dyn Engine>,
    eyes: Option<Eyes>,
    joint: Option<Joint>,
}

/// Loads the weights to where they are wanted, and says where that is.
fn place(
    card: &ModelCard,
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    options: &Options,
) -> Result<Placement, ModelError> {
    // Eyes of a kind that is not known leave the text path as it is; the card says why.
    let seeing = vision::sees(checkpoint, architecture).unwrap_or_default();
    let axes = seeing.as_ref().and_then(|(c, _)| c.text_axes.clone());
    let both_ways = seeing.as_ref().is_some_and(|(c, _)| c.both_ways());
    let mut how = LoadSettings {
        precision: options.precision,
        ..LoadSettings::default()
    };
    match options.device {
        #[cfg(feature = "cuda")]
        crate::options::Device::Cuda(number) => {
            use crate::kernels::cuda::{Choices, Cuda};
            let choices = Choices {
                number,
                precision: match options.exact_rows {
                    true => Precision::Single,
                    false => options.precision,
                },
                blas: !options.own_kernels,
                memory: options.memory,
            };
            let cuda = Cuda::new(choices)?;
            let name = format!("cuda:{number}, {}", cuda.describe());
            let eyes = match seeing {
                Some(seeing) => {
                    let cuda = Cuda::new(choices)?;
                    Some(vision::open(cuda, checkpoint, architecture, seeing, how)?)
                }
                None => None,
            };
            let joint = match vision::joins(checkpoint) {
                true => {
                    let cuda = Cuda::new(choices)?;
                    vision::open_joint(cuda, checkpoint, how, architecture.hidden)?
                }
                false => None,
            };
            let mut transformer = load(cuda, checkpoint, architecture, how)?;
            transformer.axes = axes;
            transformer.both_ways = both_ways;
            Ok(Placement {
                device: name,
                engine: Box::new(Placed::new(transformer)),
                eyes,
                joint,
            })
        }
        _ => {
            let estimate = memory::estimate(checkpoint, options.precision, options.multiplier);
            memory::check(&format!("loading {}", card.model), estimate.weights)?;
            // Prompts are read faster from unpacked weights, which take several times the file: for small
            // models only.
            how.keep_unpacked = estimate.unpacked < KEPT_UNPACKED
                && mary_platform::available_memory()
                    .is_none_or(|free| estimate.weights + estimate.unpacked < free / 3);
            let cpu = Cpu::new(options.multiplier);
            let name = format!("cpu, {}", cpu.describe());
            let eyes = match seeing {
                Some(seeing) => {
                    let cpu = Cpu::new(options.multiplier);
                    Some(vision::open(cpu, checkpoint, architecture, seeing, how)?)
                }
                None => None,
            };
            let joint = match vision::joins(checkpoint) {
                true => {
                    let cpu = Cpu::new(options.multiplier);
                    vision::open_joint(cpu, checkpoint, how, architecture.hidden)?
                }
                false => None,
            };
            let mut transformer = load(cpu, checkpoint, architecture, how)?;
            transformer.axes = axes;
            transformer.both_ways = both_ways;
            Ok(Placement {
                device: name,
                engine: Box::new(Placed::new(transformer)),
                eyes,
                joint,
            })
        }
    }
}

/// What is known of a checkpoint without loading it.
pub(crate) fn describe(
    model: ModelRef,
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    options: &Options,
) -> ModelCard {
    let template = checkpoint.template().is_some();
    let seeing = vision::sees(checkpoint, architecture).map(|found| found.is_some());
    let seeing = match architecture.language_head {
        true => seeing,
        false => vision::pairs(checkpoint),
    };
    let sees = matches!(seeing, Ok(true));
    let mut can = text::capabilities(architecture.language_head, template, sees);
    let masking = masking(checkpoint, architecture, options);
    can.score |= masking.is_some();
    let mut card = ModelCard::new(model, can);
    card.architecture = Some(architecture.family.to_owned());
    card.layers = Some(architecture.layers);
    card.context_length = Some(architecture.context);
    if let Err(error) = seeing {
        card.remarks
            .push(format!("it cannot be shown pictures: {}", error.message));
    }
    let mut parameters = 0;
    let mut stored: BTreeMap<&'static str, usize> = BTreeMap::new();
    for name in checkpoint.tensor_names() {
        let Some(info) = checkpoint.info(name) else {
            continue;
        };
        parameters += info.numbers().unwrap_or(0) as u64;
        if info.shape.len() > 1 {
            *stored.entry(info.dtype.name()).or_default() += info.numbers().unwrap_or(0);
        }
    }
    card.parameters = Some(parameters);
    let mut stored: Vec<(usize, &str)> = stored.into_iter().map(|(name, n)| (n, name)).collect();
    stored.sort_unstable_by(|a, b| b.cmp(a));
    let stored: Vec<&str> = stored.into_iter().map(|(_, name)| name).collect();
    let starts = match architecture.causal {
        true => checkpoint.start_tokens(),
        // Encoders read a text between their own two tokens, whatever is asked.
        false => around(checkpoint.tokenizer()),
    };
    let start = starts.words();
    card.starts = Some(starts);
    let dtype = match (options.precision, options.rounds_rows()) {
        (Precision::Single, _) => "f32",
        (Precision::Bf16, false) => "weights rounded to bf16, arithmetic f32",
        (Precision::F16, false) => "weights rounded to f16, arithmetic f32",
        (Precision::Bf16, true) => "bf16 into products, sums and residual stream f32",
        (Precision::F16, true) => "f16 into products, sums and residual stream f32",
    };
    let conventions = [
        ("weights", stored.join(", ")),
        ("dtype", dtype.to_owned()),
        ("start", start),
        (
            "template",
            if template {
                "the checkpoint's own"
            } else {
                "none"
            }
            .to_owned(),
        ),
        (
            "log-probabilities",
            "natural logarithm, f32 log-softmax".to_owned(),
        ),
        (
            "beyond the context",
            "windows overlapping by at least half a context".to_owned(),
        ),
    ];
    card.conventions = conventions.map(|(k, v)| (k.to_owned(), v)).into();
    if let Some(masking) = masking {
        let about = masking.about().to_owned();
        card.conventions.insert("scoring".to_owned(), about);
    }
    let chosen = options.chosen_16().map(str::to_owned);
    card.remarks.extend(chosen);
    let dated = checkpoint
        .template()
        .is_some_and(|t| t.source().contains("strftime_now"));
    if dated && std::env::var_os("SOURCE_DATE_EPOCH").is_none() {
        card.remarks.push(
            "its chat template writes today's date into every prompt, so that answers of another \
             day are answers to another prompt; set SOURCE_DATE_EPOCH to fix the day"
                .to_owned(),
        );
    }
    card
}

/// What an encoder's tokenizer puts before a text.
fn around(tokenizer: &Tokenizer) -> StartTokens {
    let read = tokenizer.encode("a", true).unwrap_or_default();
    let special = read.special.first() == Some(&true);
    let first = read.ids.first().filter(|_| special);
    let first = first.map(|&id| NamedToken::new(tokenizer.piece(id), id, None));
    StartTokens {
        model: first.clone(),
        harness: first.clone(),
        auto: first,
    }
}

/// How a checkpoint scores, where it is a masked language model.
fn masking(
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    options: &Options,
) -> Option<Masking> {
    let encoder = !architecture.causal && !architecture.language_head;
    let head = encoder.then(|| masked::head_of(checkpoint))?;
    head.map(|_| options.masking)
}

/// Content hash; a number type other than the default is part of who the model is, and on a GPU it
/// rounds more than the weights.
pub(crate) fn fingerprint(
    checkpoint: &Checkpoint,
    options: &Options,
) -> Result<String, ModelError> {
    let hash = checkpoint.fingerprint()?;
    // Another way of masking gives other answers; of a model without a masked head it says nothing.
    let hash = match options.masking {
        Masking::Alone if masked::head_of(checkpoint).is_some() => format!("{hash}-original"),
        _ => hash,
    };
    let place = if options.rounds_rows() { "-cuda" } else { "" };
    Ok(match options.precision {
        Precision::Single => hash,
        Precision::Bf16 => format!("{hash}-bf16{place}"),
        Precision::F16 => format!("{hash}-f16{place}"),
    })
}

/// Texts of the self-check: some share beginnings, some share nothing.
const SELF_CHECK: &[&str] = &[
    "The cat that the dogs chase is asleep.",
    "The cat that the dogs chase are asleep.",
    "The cat that the dog chases is asleep on the old red sofa.",
    "Nobody had seen the lighthouse since the storm.",
    "Seven plus five is twelve, and twelve plus one is",
];

impl Model for LocalModel {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        self.architecture()
            .language_head
            .then_some(self as &dyn Generator)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        let scores = self.architecture().language_head || self.masking.is_some();
        scores.then_some(self as &dyn Scorer)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

impl Scorer for LocalModel {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        match self.masking {
            Some(masking) => masked::serve(self, masking, queue),
            None => score::serve(self, queue),
        }
    }
}

impl Observer for LocalModel {
    fn observe(&self, queue: &mut dyn WorkQueue<Observe, Observed>) {
        observe::serve(self, queue);
    }
}

impl Generator for LocalModel {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        generate::serve(self, queue);
    }
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
        let model = LocalModel::from_checkpoint(reference, checkpoint, &settings).unwrap();
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
