//! Growing a GPT-NeoX-shaped model from scratch: seeded, resumable, with its whole history.
//!
//! On the processor the number of threads changes the speed and nothing else ([`crate::learner`]): a
//! run is the same bit for bit on one thread and on sixteen, and after any number of interruptions.
//! On a GPU it is the same each time on the same kind of GPU. The state a run resumes from does
//! not say where it was computed: a run may go on elsewhere.

mod settings;

pub use settings::{GrowSettings, Size};

use crate::growth::{
    self, Course, GrowEvent, GrowReport, Growing, Numbers, OnEvent, Resumed, Stepped, begin,
    groups, note_device, resume,
};
use crate::hf::{Folder, write_whole};
use crate::learner::{Device, Learner, Lesson, Means, Work};
use crate::memory::Estimate;
use crate::net::{Layout, Net, Packed, Shape};
use crate::optimizer::Moments;
use crate::probe::{ProbeReport, Prober};
use crate::stream::{Documents, Position, TokenStream};
use crate::{TrainError, tokenizer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::path::Path;
use std::sync::mpsc;
use tokenizers::Tokenizer;

/// Generated documents the tokenizer is trained on, for every 64 tokens of its vocabulary.
const TOKENIZER_DOCUMENTS: u64 = 3_000;

struct Batch {
    packed: Vec<Packed>,
    after: Position,
}

struct Grower<'a> {
    settings: &'a GrowSettings,
    shape: Shape,
    learner: Learner,
    step: u64,
    position: Position,
    tokenizer: Tokenizer,
    tokenizer_json: String,
    end: u32,
    recipe: String,
    prober: Option<Prober>,
    /// Encoded ahead of the steps that need them, while a run is under way.
    batches: Option<mpsc::Receiver<Result<Batch, TrainError>>>,
}

/// Grows a model, or goes on growing it where the folder holds an unfinished run of the same
/// recipe. The callback sees every event and can stop the run; its state is then saved.
pub fn grow(settings: &GrowSettings, on_event: OnEvent<'_>) -> Result<GrowReport, TrainError> {
    let course = &settings.course;
    settings.check()?;
    settings.device.ready()?;
    let shape = settings.size.shape(settings.size.vocabulary);
    let memory = match settings.device {
        Device::Cpu => Estimate::growing(&shape, settings)?,
        Device::Cuda(_) => {
            let total = Layout::new(&shape)?.total;
            Estimate::beside_card(total, total)
        }
    }
    .check(settings.memory_limit)?;
    std::fs::create_dir_all(&course.out).map_err(TrainError::file(&course.out))?;
    let documents = Documents::open(&settings.source, course.seed)?;
    let mut grower = Grower::new(settings, &documents)?;
    let device = grower.learner.describe();
    note_device(course, grower.step, &device)?;
    let started = GrowEvent::Started {
        parameters: grower.learner.net().layout.total,
        tokens_per_step: course.batch * settings.size.context,
        memory,
        from_step: grower.step,
        device,
    };
    let stopped = on_event(started).is_break();
    grower.run(documents, stopped, on_event)
}

impl<'a> Grower<'a> {
    fn new(settings: &'a GrowSettings, documents: &Documents) -> Result<Self, TrainError> {
        let course = &settings.course;
        let tokenizer = prepare_tokenizer(settings, documents)?;
        let tokenizer_json = tokenizer::to_json(&tokenizer)?;
        let end = tokenizer
            .token_to_id(tokenizer::END)
            .ok_or_else(|| TrainError::Tokenizer(format!("no token {}", tokenizer::END)))?;
        let shape = settings.size.shape(tokenizer.get_vocab_size(true));
        let net = Net::new(shape.clone())?;
        let recipe = recipe(settings, &shape, net.layout.total, documents);
        let total = net.layout.total;
        let resumed = match resume(course, &recipe, total)? {
            Some(resumed) => resumed,
            None => Resumed {
                step: 0,
                position: Position::default(),
                parameters: initial(&shape, &net.layout, course.seed),
                moments: Moments::new(total),
            },
        };
        begin(course, &recipe, resumed.step)?;
        let groups = groups(&net.layout.entries, course.optimizer.decay);
        let generated = matches!(documents, Documents::Generated(_));
        let prober = if course.probe && generated {
            Some(Prober::new(&tokenizer, end, course.seed)?)
        } else {
            None
        };
        let lesson = Lesson {
            net,
            base: resumed.parameters,
            stored: None,
            adapter: None,
            moments: resumed.moments,
            optimizer: course.optimizer.clone(),
            groups,
        };
        let means = Means {
            device: settings.device,
            threads: course.threads,
            slots: course.slots(),
            split: false,
        };
        Ok(Self {
            settings,
            shape,
            learner: Learner::new(lesson, &means)?,
            step: resumed.step,
            position: resumed.position,
            tokenizer,
            tokenizer_json,
            end,
            recipe,
            prober,
            batches: None,
        })
    }

    /// Takes the steps, while another thread encodes what they need.
    fn run(
        &mut self,
        documents: Documents,
        stopped: bool,
        on_event: OnEvent<'_>,
    ) -> Result<GrowReport, TrainError> {
        let stream = TokenStream::new(
            documents,
            self.tokenizer.clone(),
            self.end,
            self.position.clone(),
        );
        let course = &self.settings.course;
        let left = course.steps.saturating_sub(self.step);
        let (batch, context) = (course.batch, self.settings.size.context);
        std::thread::scope(|scope| {
            let (send, batches) = mpsc::sync_channel(3);
            scope.spawn(move || read_ahead(stream, left, (batch, context), &send));
            self.batches = Some(batches);
            let report = growth::run(self, stopped, on_event);
            // The other thread ends when nobody takes what it has encoded.
            self.batches = None;
            report
        })
    }
}

impl Growing for Grower<'_> {
    type Position = Position;
    type Report = ProbeReport;

    fn course(&self) -> &Course {
        &self.settings.course
    }

    fn recipe(&self) -> &str {
        &self.recipe
    }

    fn done(&self) -> u64 {
        self.step
    }

    fn position(&self) -> Position {
        self.position.clone()
    }

    /// One step: every slot its sequences, one sum, one update.
    fn step(&mut self) -> Result<Option<Stepped>, TrainError> {
        let Some(Ok(batch)) = self.batches.as_ref().map(mpsc::Receiver::recv) else {
            return Ok(None);
        };
        let batch = batch?;
        let weight: f64 = batch.packed.iter().map(Packed::weight).sum();
        let course = &self.settings.course;
        let slots = course.slots();
        let share = batch.packed.len().div_ceil(slots).max(1);
        let work = |packed| Work {
            packed,
            noise: None,
        };
        let mut dealt: Vec<Vec<Work>> = Vec::with_capacity(slots);
        for (i, packed) in batch.packed.into_iter().enumerate() {
            match dealt.last_mut() {
                Some(slot) if i % share != 0 => slot.push(work(packed)),
                _ => dealt.push(vec![work(packed)]),
            }
        }
        let step = self.step + 1;
        let rate = course.optimizer.rate * course.schedule().share(step);
        let (loss, gradient_norm) = self.learner.step(&dealt, weight.max(1.0), (step, rate))?;
        self.step = step;
        self.position = batch.after;
        Ok(Some(Stepped {
            loss,
            rate,
            gradient_norm,
            tokens: course.batch * self.settings.size.context,
        }))
    }

    fn note(&mut self) -> Option<String> {
        self.learner.note()
    }

    fn numbers(&mut self) -> Result<Numbers<'_>, TrainError> {
        self.learner.fetch()?;
        let lesson = self.learner.lesson();
        Ok(Numbers {
            parameters: &lesson.base,
            moments: &lesson.moments,
        })
    }

    fn write(&mut self, folder: &Path) -> Result<(), TrainError> {
        self.learner.fetch()?;
        Folder {
            shape: &self.shape,
            layout: &self.learner.net().layout,
            parameters: &self.learner.lesson().base,
            storage: self.settings.course.storage,
            tokenizer_json: &self.tokenizer_json,
            end_token: self.end,
        }
        .write(folder)
    }

    fn probe(&mut self) -> Result<Option<ProbeReport>, TrainError> {
        let (step, learner) = (self.step, &mut self.learner);
        let asked = self.prober.as_ref();
        asked
            .map(|prober| learner.with(|net, p| prober.run(step, net, p)))
            .transpose()
    }

    fn probed(report: ProbeReport) -> GrowEvent {
        GrowEvent::Probed(report)
    }
}

/// Encodes the batches ahead of the steps that need them.
fn read_ahead(
    mut stream: TokenStream,
    steps: u64,
    (batch, context): (usize, usize),
    send: &mpsc::SyncSender<Result<Batch, TrainError>>,
) {
    for _ in 0..steps {
        let packed: Result<Vec<Packed>, TrainError> = (0..batch)
            .map(|_| stream.window(context).map(|w| Packed::from_window(&w)))
            .collect();
        let next = packed.map(|packed| Batch {
            packed,
            after: stream.position(),
        });
        let failed = next.is_err();
        if send.send(next).is_err() || failed {
            return;
        }
    }
}

/// The tokenizer of the folder, or a new one trained on the source.
fn prepare_tokenizer(
    settings: &GrowSettings,
    documents: &Documents,
) -> Result<Tokenizer, TrainError> {
    let path = settings.course.out.join("tokenizer.json");
    if path.exists() {
        return tokenizer::load(&path);
    }
    let tokenizer = match documents {
        Documents::Generated(corpus) => {
            let corpus = *corpus;
            let count = TOKENIZER_DOCUMENTS * settings.size.vocabulary as u64 / 64;
            let texts = (0..count).map(move |i| corpus.document(i));
            tokenizer::train(texts, settings.size.vocabulary)
        }
        Documents::Texts { texts, .. } => {
            tokenizer::train(texts.iter().cloned(), settings.size.vocabulary)
        }
    }?;
    write_whole(&path, tokenizer::to_json(&tokenizer)?.as_bytes())?;
    Ok(tokenizer)
}

/// Everything that decides the weights, as text: resuming asks for the same.
fn recipe(
    settings: &GrowSettings,
    shape: &Shape,
    parameters: usize,
    documents: &Documents,
) -> String {
    let own = [
        (
            "what",
            json!("a model for trying the laboratory, about which no claim is made"),
        ),
        (
            "maker",
            json!(concat!("mary-train ", env!("CARGO_PKG_VERSION"))),
        ),
        ("size", json!(settings.size)),
        ("shape", json!(shape)),
        ("parameters", json!(parameters)),
        ("source", json!(settings.source)),
        ("documents", json!(documents.count())),
        ("text_mark", json!(format!("{:016x}", documents.mark()))),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let tokens = settings.course.batch * settings.size.context;
    settings
        .course
        .recipe(own.into_iter().collect(), Some(tokens))
}

/// New weights: small normal matrices, the two that write to the residual stream smaller still.
pub(crate) fn initial(shape: &Shape, layout: &Layout, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    let mut values = vec![0.0; layout.total];
    let small = (2.0 / (5.0 * shape.width as f64)).sqrt();
    let residual = 2.0 / (shape.layers as f64 * (shape.width as f64).sqrt()) * 0.5;
    for entry in &layout.entries {
        let out = &mut values[entry.place.clone()];
        if entry.dims.len() == 2 {
            let deviation = if entry.name.contains("embed") {
                0.02
            } else if entry.name.ends_with("dense.weight")
                || entry.name.ends_with("dense_4h_to_h.weight")
            {
                residual.min(small)
            } else {
                small
            };
            for pair in out.chunks_mut(2) {
                let (a, b) = normal_pair(&mut rng);
                for (x, value) in pair.iter_mut().zip([a, b]) {
                    *x = (value * deviation) as f32;
                }
            }
        } else if entry.name.ends_with("norm.weight") {
            out.fill(1.0);
        }
    }
    values
}

/// Two standard normal numbers (Box and Muller).
pub(crate) fn normal_pair(rng: &mut ChaCha8Rng) -> (f64, f64) {
    let u: f64 = 1.0 - rng.random::<f64>();
    let angle = std::f64::consts::TAU * rng.random::<f64>();
    let radius = (-2.0 * u.ln()).sqrt();
    (radius * angle.cos(), radius * angle.sin())
}
