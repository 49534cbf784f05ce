//! A family of architectures: an entry of `families.json` says what its models are called and how they differ from
//! LLaMA's recipe (`usual.json`), which is what an entry without switches is; a function of [`own`](super::own) computes what
//! switches cannot say.

use serde::Deserialize;

use super::form::GgufForm;
use super::names::names;
use super::own::own;
use super::{
    Activation, Architecture, Attention, Block, Embedding, Fields, HeadGate, LayerKind, Mlp, Names,
    Norm, QkNorm, Rope,
};
use crate::fault::Result;

/// Fields of a `config.json` stand as their name; one that ends in `|` may be absent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// The `model_type`s it answers to.
    pub types: Vec<&'static str>,
    pub family: &'static str,
    /// The entry of `names.json`.
    pub names: &'static str,
    /// The field with the width of the feed-forward block, four times the model's where it is absent.
    width: &'static str,
    kv_heads: &'static str,
    /// The field with the width of a head.
    head: &'static str,
    block: Block,
    /// The flag that switches `block` on, and what it is where it is absent.
    block_flag: Option<(&'static str, bool)>,
    /// Norms subtract the mean.
    centred: bool,
    unit_offset: bool,
    /// The field with the epsilon of norms, and its default.
    eps: (&'static str, f64),
    /// The feed-forward block has no gate.
    plain: bool,
    activation: (&'static str, &'static str),
    /// "gelu" was written where the tanh form was meant.
    gelu_is_tanh: bool,
    /// Rows to skip at the front of the table of learned positions.
    positions: Option<usize>,
    token_types: bool,
    embedding_norm: bool,
    /// The flag by which token vectors are multiplied by the root of their width.
    embedding_root: Option<(&'static str, bool)>,
    qk_norm: QkNorm,
    /// The field that switches `qk_norm` on, where one does.
    qk_flag: &'static str,
    interleaved: bool,
    /// How much of a head turns where the file does not say; nothing turns without it.
    turns: Option<f64>,
    /// See [`Fields::rotary_share`].
    turn_names: Vec<&'static str>,
    /// All layers have a window but those whose number, divided by the first, leaves the second.
    windows: Option<(usize, usize)>,
    /// Where some layers have windows, those without do not turn.
    still: bool,
    /// Layers with a window turn by a plain embedding, however the others are stretched.
    local_rope: bool,
    /// Each place sees those behind it too.
    both_ways: bool,
    /// It reads and predicts nothing.
    headless: bool,
    /// What the flag is where the file has none; without it the head is never tied.
    tied: Option<bool>,
    /// The function that computes the rest.
    pub own: &'static str,
    /// Its forms in GGUF files; none where llama.cpp does not convert it.
    pub gguf: Vec<GgufForm>,
}

impl Architecture {
    /// Gives every block this rotary embedding.
    pub(super) fn rotate_all(&mut self, rope: Rope) {
        self.ropes = vec![rope];
        self.kinds.iter_mut().for_each(|k| k.rope = Some(0));
    }

    pub(super) fn turn_nothing(&mut self) {
        self.ropes.clear();
        self.kinds.iter_mut().for_each(|k| k.rope = None);
    }
}

impl Family {
    pub(super) fn read(&self, f: &Fields<'_>) -> Result<Architecture> {
        let mut a = self.base(f, names(self.names)?)?;
        self.turn(&mut a, f)?;
        if !self.own.is_empty() {
            own(self.own)?(&mut a, f)?;
        }
        Ok(a)
    }

    fn base(&self, f: &Fields<'_>, names: Names) -> Result<Architecture> {
        let [hidden, layers, heads, vocab, context] = names.sizes.map(|size| f.need_one(size));
        let (hidden, layers, heads) = (hidden?, layers?, heads?);
        let size = |name: &str, usual| match name.strip_suffix('|') {
            Some(name) => Ok(f.count(name).unwrap_or(usual)),
            None => f.need(name),
        };
        let said = |flag: Option<(&str, bool)>| flag.map(|(name, usual)| f.flag(name, usual));
        let head_dim = size(self.head, hidden / heads.max(1))?;
        let rooted = said(self.embedding_root).unwrap_or(false);
        let qk_norms = self.qk_flag.is_empty() || f.flag(self.qk_flag, false);
        Ok(Architecture {
            family: self.family,
            hidden,
            layers,
            heads,
            kv_heads: size(self.kv_heads, heads)?,
            head_dim,
            intermediate: size(self.width, 4 * hidden)?,
            vocab: vocab?,
            context: context?,
            causal: !self.both_ways,
            language_head: !self.headless,
            predicts_next: false,
            embedding: Embedding {
                width: hidden,
                scale: if rooted { (hidden as f32).sqrt() } else { 1.0 },
                position_offset: self.positions,
                token_types: self.token_types,
                norm: self.embedding_norm,
            },
            norm: Norm {
                rms: !self.centred,
                eps: f.float(self.eps.0, self.eps.1),
                unit_offset: self.unit_offset,
            },
            block: match said(self.block_flag) {
                Some(false) => Block::Sequential,
                _ => self.block,
            },
            attention: Attention {
                scale: (head_dim as f32).sqrt().recip(),
                soft_cap: None,
                qk_norm: if qk_norms { self.qk_norm } else { QkNorm::None },
                clip: None,
                alibi: None,
                relative: None,
                gate: HeadGate::None,
                sinks: false,
                latent: None,
                by_layer: false,
            },
            kinds: vec![LayerKind::default(); layers],
            ropes: vec![],
            mlp: Mlp {
                gated: !self.plain,
                activation: match f.activation(self.activation)? {
                    Activation::Gelu if self.gelu_is_tanh => Activation::GeluTanh,
                    said => said,
                },
            },
            experts: None,
            recurrence: None,
            source: None,
            logit_cap: None,
            logit_scale: 1.0,
            residual_scale: 1.0,
            interleaved: self.interleaved,
            tied: (self.tied).is_some_and(|usual| f.flag("tie_word_embeddings", usual)),
            names,
        })
    }

    /// Windows and rotary embeddings.
    fn turn(&self, a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
        let Some(usual) = self.turns else {
            return Ok(());
        };
        let dim = (a.head_dim as f64 * f.rotary_share(&self.turn_names, usual)) as usize;
        a.rotate_all(Rope::read(f, dim, Some("full_attention"))?);
        let (Some((every, at)), Some(window)) = (self.windows, f.count("sliding_window")) else {
            return Ok(());
        };
        let every = match f.count("sliding_window_pattern") {
            Some(said) if every > 0 => said,
            _ => every,
        };
        // The last of each group, or the first.
        let at = if at > 0 { every.saturating_sub(1) } else { at };
        if self.local_rope {
            let base = ("rope_theta", 10_000.0);
            a.ropes
                .push(Rope::of_kind(f, dim, "sliding_attention", base)?);
        }
        let slides = f.sliding(a.layers, |i| every == 0 || i % every != at);
        for (layer, slides) in a.kinds.iter_mut().zip(slides) {
            layer.window = slides.then_some(window);
            layer.rope = match slides {
                true => Some(usize::from(self.local_rope)),
                false => (!self.still).then_some(0),
            };
        }
        Ok(())
    }
}
