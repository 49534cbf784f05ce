//! The tensors that an architecture needs, by name and shape, and whether a checkpoint has them.

use mary_contract::ModelError;
use mary_weights::Checkpoint;

use crate::config::{
    Architecture, Block, Carrying, Distances, ExpertNames, Experts, HeadGate, Latent, Names,
    QkvNames, Recurrence, Relative, UpNames,
};
use crate::errors::{Result, bad_model};

/// A checkpoint under one architecture's names.
pub(crate) struct Tensors<'a> {
    pub(super) checkpoint: &'a Checkpoint,
    pub(crate) architecture: &'a Architecture,
    /// What stands before the names of all tensors but the head's.
    pub(crate) body: &'static str,
    head: &'static str,
}

impl<'a> Tensors<'a> {
    pub(crate) fn find(checkpoint: &'a Checkpoint, architecture: &'a Architecture) -> Result<Self> {
        let names = &architecture.names;
        let full = |body: &str| format!("{body}{}.weight", names.embed);
        let mut prefixes = names.prefixes.iter();
        match prefixes.find(|(body, _)| checkpoint.info(&full(body)).is_some()) {
            Some(&(body, head)) => Ok(Self {
                checkpoint,
                architecture,
                body,
                head,
            }),
            None => {
                let tried = names.prefixes.iter().map(|(body, _)| full(body));
                Err(bad_model(format!(
                    "the token embedding of this {} is not in the checkpoint; looked for {}",
                    architecture.family,
                    tried.collect::<Vec<_>>().join(", ")
                )))
            }
        }
    }

    pub(super) fn names(&self) -> &'a Names {
        &self.architecture.names
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.checkpoint.info(name).is_some()
    }

    pub(super) fn top(&self, name: &str, part: &str) -> String {
        format!("{}{name}.{part}", self.body)
    }

    pub(super) fn in_layer(&self, layer: usize, name: &str, part: &str) -> String {
        let name = format!("{}{name}", self.names().layer).replace("{}", &layer.to_string());
        format!("{}{name}.{part}", self.body)
    }

    /// The table of distances that a block's attention looks into.
    pub(super) fn distances(&self, layer: usize, relative: Relative) -> String {
        let each = matches!(relative.kind, Distances::Biases { each: true, .. });
        let layer = if each { layer } else { 0 };
        let name = self.names().relative.0.replace("{}", &layer.to_string());
        format!("{}{name}", self.body)
    }

    /// A product of the attention to a source.
    pub(super) fn across(&self, layer: usize, part: &str) -> String {
        self.in_layer(
            layer,
            &format!("{}.{part}", self.names().across.0),
            "weight",
        )
    }

    pub(super) fn average(&self, part: usize) -> String {
        let name = self.names().averages.replace("{}", &part.to_string());
        format!("{}{name}", self.body)
    }

    /// A tensor of what carries a state, its last part included.
    pub(super) fn in_mixer(&self, layer: usize, part: &str) -> String {
        let prefix = self.names().layer.replace("{}", &layer.to_string());
        format!("{}{prefix}{}.{part}", self.body, self.names().mixer)
    }

    /// The first projection of what carries a state: its tensors, one under the other.
    pub(super) fn in_projections(&self, layer: usize, r: &Recurrence) -> Vec<(String, usize)> {
        let own = |part: &str, rows| (self.in_mixer(layer, part), rows);
        let wide = r.inner + r.convolved();
        match r.how {
            Carrying::Adds | Carrying::Convolves => vec![own("in_proj.weight", r.projected())],
            Carrying::Corrects if self.has(&self.in_mixer(layer, JOINED)) => {
                vec![own(JOINED, wide), own("in_proj_ba.weight", 2 * r.heads)]
            }
            Carrying::Corrects => vec![
                own("in_proj_z.weight", r.inner),
                own("in_proj_qkv.weight", r.convolved()),
                own("in_proj_a.weight", r.heads),
                own("in_proj_b.weight", r.heads),
            ],
        }
    }

    pub(super) fn embedding(&self) -> String {
        self.top(self.names().embed, "weight")
    }

    /// The head's tensor; the embedding's when they are one.
    pub(super) fn head_name(&self) -> String {
        let own = format!("{}{}.weight", self.head, self.names().head);
        let bare = format!("{}.weight", self.names().head);
        match () {
            () if self.architecture.tied => self.embedding(),
            () if !self.has(&own) && self.has(&bare) => bare,
            // A T5 with a head of its own has it in the file, whatever its configuration says.
            () if !self.has(&own) && self.architecture.source.is_some() => self.embedding(),
            () => own,
        }
    }

    fn weights_of(&self, layer: usize, all: &[(&str, usize)]) -> Vec<(String, usize)> {
        let full =
            |&(name, outputs): &(&str, usize)| (self.in_layer(layer, name, "weight"), outputs);
        all.iter().map(full).collect()
    }

    pub(super) fn qkv_names(&self, layer: usize) -> Vec<(String, usize)> {
        let (q, kv) = (self.architecture.q_width(), self.architecture.kv_width());
        if let Some(l) = self.architecture.attention.latent {
            let queries = l
                .queries
                .map_or(("self_attn.q_proj", q), |n| ("self_attn.q_a_proj", n));
            return self.weights_of(
                layer,
                &[
                    queries,
                    ("self_attn.kv_a_proj_with_mqa", l.rank + l.turning),
                ],
            );
        }
        match self.names().qkv {
            QkvNames::Separate(a, b, c) => {
                let gates = usize::from(self.architecture.attention.gate == HeadGate::Queries);
                self.weights_of(layer, &[(a, q + gates * q), (b, kv), (c, kv)])
            }
            QkvNames::Paired(both, values) => {
                let gates = if self.architecture.attention.gate == HeadGate::Values {
                    kv
                } else {
                    0
                };
                self.weights_of(layer, &[(both, q + kv), (values, kv + gates)])
            }
            QkvNames::Fused(name, _) => self.weights_of(layer, &[(name, q + 2 * kv)]),
        }
    }

    /// What makes queries, and keys with values, of shorter vectors: the norm of these, and how many there are, before
    /// the product, and the numbers that this gives.
    pub(super) fn latent(&self, layer: usize) -> Vec<((String, usize), (String, usize))> {
        let a = self.architecture;
        let name = |part| self.in_layer(layer, part, "weight");
        let of = |l: Latent| {
            let queries = l.queries.map(|n| {
                (
                    ("self_attn.q_a_layernorm", n),
                    ("self_attn.q_b_proj", a.q_width()),
                )
            });
            let both = a.heads * (a.head_dim - l.turning + l.value);
            let keys = (
                ("self_attn.kv_a_layernorm", l.rank),
                ("self_attn.kv_b_proj", both),
            );
            queries.into_iter().chain([keys])
        };
        let all = a.attention.latent.into_iter().flat_map(of);
        all.map(|((norm, n), (product, rows))| ((name(norm), n), (name(product), rows)))
            .collect()
    }

    pub(super) fn up_names(&self, layer: usize) -> Vec<(String, usize)> {
        let width = self.architecture.intermediate;
        match self.names().up {
            UpNames::Plain(name) => self.weights_of(layer, &[(name, width)]),
            UpNames::Fused(name) => self.weights_of(layer, &[(name, 2 * width)]),
            UpNames::Separate(a, b) => self.weights_of(layer, &[(a, width), (b, width)]),
        }
    }

    pub(super) fn experts(&self, layer: usize) -> Option<(Experts, ExpertNames)> {
        let a = self.architecture;
        let sparse = a.kinds.get(layer).is_some_and(|k| k.sparse);
        a.experts.filter(|_| sparse).zip(self.names().experts)
    }

    pub(super) fn block_norms(&self) -> Vec<&'static str> {
        let n = self.names();
        match self.architecture.block {
            Block::Parallel { shared: true } => vec![n.attn_norm],
            Block::Sandwich => vec![n.attn_norm, n.mlp_norm, n.post_norms.0, n.post_norms.1],
            Block::OutputNorm => vec![n.post_norms.0, n.post_norms.1],
            _ => vec![n.attn_norm, n.mlp_norm],
        }
    }

    /// Whether a block does without this norm.
    pub(super) fn no_norm(&self, layer: usize, name: &str) -> bool {
        let first = layer == 0 && self.names().first_bare && name == self.names().attn_norm;
        name.is_empty() || first
    }

    /// Whether every tensor is there with the right shape; reads no weights.
    pub(crate) fn check(&self) -> Result<()> {
        let (a, n) = (self.architecture, self.names());
        let linear = |outputs: usize, inputs: usize| match n.transposed {
            true => [inputs, outputs],
            false => [outputs, inputs],
        };
        self.need(&self.embedding(), &[a.vocab, a.embedding.width])?;
        for layer in 0..a.layers {
            match a.carries(layer) {
                Some(recurrence) => self.check_mixer(layer, &recurrence)?,
                None => {
                    for (name, outputs) in self.qkv_names(layer) {
                        self.need(&name, &linear(outputs, a.hidden))?;
                    }
                    let out = self.in_layer(layer, n.attn_out, "weight");
                    self.need(&out, &linear(a.hidden, a.heads * a.value_dim()))?;
                    for ((norm, inputs), (product, outputs)) in self.latent(layer) {
                        self.need(&norm, &[inputs])?;
                        self.need(&product, &[outputs, inputs])?;
                    }
                }
            }
            match self.experts(layer) {
                None if n.down.is_empty() => {}
                Some((experts, names)) => {
                    let router = self.in_layer(layer, names.router, "weight");
                    self.need(&router, &[experts.count, a.hidden])?;
                    if let Some(bias) = self.router_bias(layer, &names) {
                        self.need(&bias, &[experts.count])?;
                    }
                    self.check_experts(layer, &experts, &names)?;
                }
                None => {
                    for (name, outputs) in self.up_names(layer) {
                        self.need(&name, &linear(outputs, a.hidden))?;
                    }
                    let down = self.in_layer(layer, n.down, "weight");
                    self.need(&down, &linear(a.hidden, a.intermediate))?;
                }
            }
            let norms = self.block_norms().into_iter();
            let norms = norms.filter(|name| !self.no_norm(layer, name));
            for norm in norms.filter(|_| !n.bare_norms) {
                self.need(&self.in_layer(layer, norm, "weight"), &[a.hidden])?;
            }
        }
        if let Some(name) = n.final_norm.filter(|_| !n.bare_norms) {
            self.need(&self.top(name, "weight"), &[a.hidden])?;
        }
        for layer in 0..a.layers {
            if let Some(relative) = a.attention.relative {
                let width = match relative.kind {
                    Distances::Vectors => a.hidden,
                    Distances::Biases { .. } => a.heads,
                };
                self.need(&self.distances(layer, relative), &[relative.rows, width])?;
            }
            if a.source.is_some() {
                for part in ["q", "k", "v"] {
                    self.need(&self.across(layer, part), &[a.q_width(), a.hidden])?;
                }
                self.need(&self.across(layer, "o"), &[a.hidden, a.q_width()])?;
                self.need(&self.in_layer(layer, n.across.1, "weight"), &[a.hidden])?;
            }
        }
        for part in 0..2 * a.layers * usize::from(!n.averages.is_empty()) {
            self.need(&self.average(part), &[part + 2])?;
        }
        match a.language_head && !n.head.is_empty() {
            true => self.need(&self.head_name(), &[a.vocab, a.embedding.width]),
            false => Ok(()),
        }
    }

    fn check_mixer(&self, layer: usize, r: &Recurrence) -> Result<()> {
        let hidden = self.architecture.hidden;
        let need = |part: &str, shape: &[usize]| self.need(&self.in_mixer(layer, part), shape);
        for (name, rows) in self.in_projections(layer, r) {
            self.need(&name, &[rows, hidden])?;
        }
        need("out_proj.weight", &[hidden, r.inner])?;
        need(r.convolution().0, &[r.convolved(), 1, r.kernel])?;
        match r.how {
            Carrying::Adds => need("D", &[r.heads])?,
            Carrying::Corrects => {}
            Carrying::Convolves => return Ok(()),
        }
        match r.rank {
            Some(rank) => {
                need("A_log", &[r.inner, r.state])?;
                need("x_proj.weight", &[rank + 2 * r.state, r.inner])?;
                need("dt_proj.weight", &[r.inner, rank])?;
                need("dt_proj.bias", &[r.inner])
            }
            None => {
                need("A_log", &[r.heads])?;
                need("norm.weight", &[r.normed()])?;
                need("dt_bias", &[r.heads])
            }
        }
    }

    /// The bias of the scores that experts are chosen by, where they have one.
    pub(super) fn router_bias(&self, layer: usize, names: &ExpertNames) -> Option<String> {
        let name = Some(names.bias).filter(|name| !name.is_empty());
        name.map(|name| self.in_layer(layer, name, "e_score_correction_bias"))
    }

    /// The two tensors that hold all experts of a layer, gates beside what they open and what goes back, and whether their
    /// matrices have the inputs first.
    pub(super) fn stacked(&self, layer: usize) -> Option<[(String, bool); 2]> {
        let (experts, names) = self.experts(layer)?;
        let (hidden, width) = (self.architecture.hidden, experts.intermediate);
        let own = |(name, part): (&str, &str), turned: [usize; 2]| {
            let name = self.in_layer(layer, name, part);
            let shape = &self.checkpoint.info(&name)?.shape;
            let turned =
                names.turned && self.checkpoint.as_stored(&name) && shape.get(1..) == Some(&turned);
            Some((name, turned))
        };
        Some([
            own(names.stacked[0], [hidden, 2 * width])?,
            own(names.stacked[1], [width, hidden])?,
        ])
    }

    fn check_experts(&self, layer: usize, experts: &Experts, names: &ExpertNames) -> Result<()> {
        let hidden = self.architecture.hidden;
        let own = |e: usize| {
            (
                names.expert.replace("{}", &e.to_string()),
                experts.intermediate,
            )
        };
        let mut all: Vec<(String, usize)> = match self.stacked(layer) {
            Some([up, down]) => {
                let width = experts.intermediate;
                for ((name, turned), [rows, columns]) in
                    [(up, [2 * width, hidden]), (down, [hidden, width])]
                {
                    let shape = if turned {
                        [columns, rows]
                    } else {
                        [rows, columns]
                    };
                    self.need(&name, &[experts.count, shape[0], shape[1]])?;
                    let bias = format!("{name}_bias");
                    if self.has(&bias) {
                        self.need(&bias, &[experts.count, rows])?;
                    }
                }
                vec![]
            }
            None => (0..experts.count).map(own).collect(),
        };
        if let Some(width) = experts.shared {
            let (prefix, gate) = names.shared;
            if !gate.is_empty() {
                self.need(&self.in_layer(layer, gate, "weight"), &[1, hidden])?;
            }
            all.push((prefix.to_owned(), width));
        }
        let (gate, up, down) = names.parts;
        for (prefix, width) in all {
            let name = |part: &str| self.in_layer(layer, &format!("{prefix}{part}"), "weight");
            self.need(&name(gate), &[width, hidden])?;
            self.need(&name(up), &[width, hidden])?;
            self.need(&name(down), &[hidden, width])?;
        }
        Ok(())
    }

    fn need(&self, name: &str, shape: &[usize]) -> Result<()> {
        match self.checkpoint.info(name) {
            Some(info) if info.shape == shape => Ok(()),
            Some(info) => Err(self.wrong_shape(name, &info.shape, shape)),
            None => {
                let family = self.architecture.family;
                let message =
                    format!("the tensor `{name}` of this {family} is not in the checkpoint");
                Err(bad_model(message).hint(INCOMPLETE))
            }
        }
    }

    pub(super) fn wrong_shape(&self, name: &str, found: &[usize], wanted: &[usize]) -> ModelError {
        let file = self.checkpoint.file_of(name);
        let file = file.map_or(String::new(), |f| format!("{}: ", f.display()));
        bad_model(format!(
            "{file}the tensor `{name}` has shape {found:?}; config.json asks for {wanted:?}"
        ))
    }
}

/// Gates, queries, keys and values of Qwen3-Next, group after group.
const JOINED: &str = "in_proj_qkvz.weight";

pub(super) const INCOMPLETE: &str =
    "the download may be incomplete, or config.json belongs to another model";
