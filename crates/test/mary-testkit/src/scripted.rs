//! A model whose every answer is known: a function from request to answer, with a count of the
//! requests.

use std::sync::atomic::{AtomicU64, Ordering};

use mary_contract::{
    Capabilities, ContinuationScore, Generate, Generated, Generator, Job, LayerVector, Model,
    ModelCard, ModelError, ModelRef, Observe, Observed, Observer, PooledVectors, Reply, ReplyMeta,
    Score, Scored, Scorer, Usage, Vector, WorkQueue,
};

type Script = Box<dyn Fn(&str) -> Result<String, ModelError> + Send + Sync>;

/// A model that answers by a script, and by arithmetic on the text where log-probabilities or
/// vectors are asked.
pub struct Scripted {
    card: ModelCard,
    script: Script,
    /// Requests taken before any is answered, as a batching backend would.
    window: usize,
    asked: AtomicU64,
}

impl Scripted {
    /// A model of this name that can do everything and answers by `script`.
    pub fn new(
        name: &str,
        script: impl Fn(&str) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Self {
        let model = ModelRef {
            provider: "scripted".into(),
            name: name.to_owned(),
            revision: None,
        };
        let capabilities = Capabilities {
            generate: true,
            score: true,
            observe: true,
            images: true,
            chat: true,
            plain: true,
            ..Capabilities::default()
        };
        let mut card = ModelCard::new(model, capabilities);
        card.fingerprint = format!("scripted:{name}");
        Self {
            card,
            script: Box::new(script),
            window: 64,
            asked: AtomicU64::new(0),
        }
    }

    pub fn saying(answer: &'static str) -> Self {
        Self::new(answer, move |_| Ok(answer.to_owned()))
    }

    #[must_use]
    pub fn window(mut self, window: usize) -> Self {
        self.window = window.max(1);
        self
    }

    #[must_use]
    pub fn able(mut self, capabilities: Capabilities) -> Self {
        self.card.capabilities = capabilities;
        self
    }

    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn serve<Q, A>(
        &self,
        queue: &mut dyn WorkQueue<Q, A>,
        answer: impl Fn(&Q) -> Result<Reply<A>, ModelError>,
    ) {
        let mut window: Vec<Job<Q>> = Vec::with_capacity(self.window);
        loop {
            window.clear();
            while window.len() < self.window
                && let Some(job) = queue.next()
            {
                window.push(job);
            }
            if window.is_empty() {
                return;
            }
            for job in &window {
                if queue.answer(job.ticket, answer(&job.request)).is_break() {
                    return;
                }
            }
        }
    }
}

/// FNV-1a: the same on every machine, so that scripted scores can stand in snapshots.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A number in (0, 1] that depends on the text alone.
fn share(text: &str) -> f64 {
    ((digest(text) >> 11) as f64 + 1.0) / (1u64 << 53) as f64
}

impl Model for Scripted {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        self.card
            .capabilities
            .generate
            .then_some(self as &dyn Generator)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        self.card.capabilities.score.then_some(self as &dyn Scorer)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        self.card
            .capabilities
            .observe
            .then_some(self as &dyn Observer)
    }
}

impl Generator for Scripted {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        self.serve(queue, |request| {
            let prompt = request.prompt.text();
            self.asked.fetch_add(1, Ordering::Relaxed);
            let text = (self.script)(&prompt)?;
            let usage = Usage {
                prompt_tokens: prompt.split_whitespace().count() as u64,
                completion_tokens: text.split_whitespace().count() as u64,
                ..Usage::default()
            };
            let answer = Generated::whole(text);
            Ok(Reply {
                answer,
                meta: ReplyMeta {
                    usage,
                    ..ReplyMeta::default()
                },
            })
        });
    }
}

impl Scorer for Scripted {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        self.serve(queue, |request| {
            let prefix = request.prefix.text();
            self.asked.fetch_add(1, Ordering::Relaxed);
            let one = |text: &String| {
                let logprob = share(&format!("{prefix}{text}")).ln() as f32;
                ContinuationScore {
                    tokens: vec![text.clone()],
                    logprobs: vec![logprob],
                    ..ContinuationScore::default()
                }
            };
            let continuations = request.continuations.iter().map(one).collect();
            Ok(Reply::bare(Scored { continuations }))
        });
    }
}

impl Observer for Scripted {
    fn observe(&self, queue: &mut dyn WorkQueue<Observe, Observed>) {
        self.serve(queue, |request| {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let vector = |layer: usize| {
                let values = (0..4).map(|i| share(&format!("{}{layer}{i}", request.text)) as f32);
                LayerVector {
                    layer,
                    vector: Vector(values.collect()),
                }
            };
            let pool = |_| PooledVectors {
                tokens: 1,
                layers: vec![vector(0), vector(1)],
            };
            let pools = request.pools.iter().map(pool).collect();
            Ok(Reply::bare(Observed {
                pools,
                scores: None,
            }))
        });
    }
}
