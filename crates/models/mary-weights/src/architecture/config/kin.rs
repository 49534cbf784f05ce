//! LLaMA's kin: families that differ from it by switches, which `kin.json` holds, and by little else.

use std::collections::HashMap;
use std::sync::LazyLock;

use mary_contract::ModelError;
use serde::Deserialize;

use super::classic::{names, rotate_all};
use super::family::Family;
use super::fields::refused;
use super::{Activation, Architecture, Block, Fields, QkNorm, Rope, llama};

pub(super) static KIN: Family = Family::in_folders(
    &[
        "gemma",
        "smollm3",
        "ministral",
        "ministral3",
        "olmo3",
        "exaone4",
        "cohere",
        "cohere2",
        "starcoder2",
        "nemotron",
        "arcee",
        "jais2",
        "persimmon",
        "glm",
        "glm4",
        "helium",
        "ernie4_5",
        "seed_oss",
        "cwm",
        "internlm3",
        "iquestcoder",
    ],
    kin,
);

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Kin {
    family: &'static str,
    /// The entry of `names.json`.
    names: &'static str,
    block: Block,
    /// Norms subtract the mean.
    centred: bool,
    unit_offset: bool,
    /// What the file calls the epsilon of norms.
    eps: &'static str,
    /// Token vectors are multiplied by the root of their width.
    embedding_root: bool,
    qk_norm: QkNorm,
    /// The field that switches `qk_norm` on, where one does.
    qk_flag: &'static str,
    interleaved: bool,
    /// The feed-forward block has no gate.
    plain: bool,
    /// How much of a head turns where the file does not say.
    rotary_share: f64,
    /// All layers have a window but those whose number, divided by the first, leaves the second.
    windows: Option<(usize, usize)>,
    /// Where some layers have windows, those without do not turn.
    still: bool,
    /// Layers with a window turn by a plain embedding, however the others are stretched.
    local_rope: bool,
    tied: bool,
}

impl Default for Kin {
    fn default() -> Self {
        Self {
            family: "",
            names: "llama",
            block: Block::Sequential,
            centred: false,
            unit_offset: false,
            eps: "rms_norm_eps",
            embedding_root: false,
            qk_norm: QkNorm::None,
            qk_flag: "",
            interleaved: false,
            plain: false,
            rotary_share: 1.0,
            windows: None,
            still: false,
            local_rope: false,
            tied: false,
        }
    }
}

fn switches(model_type: &str) -> Option<&'static Kin> {
    // A test reads the file, so that no program can be shipped with a broken one.
    static TABLE: LazyLock<HashMap<&str, Kin>> =
        LazyLock::new(|| serde_json::from_str(include_str!("kin.json")).unwrap_or_default());
    TABLE.get(model_type)
}

fn kin(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let model_type = f.text("model_type").unwrap_or_default();
    let k = switches(model_type).ok_or_else(|| refused("its family has no switches"))?;
    let mut a = llama::named(k.family, f, names(k.names))?;
    a.block = k.block;
    a.norm.rms = !k.centred;
    a.norm.unit_offset = k.unit_offset;
    a.norm.eps = f.float(k.eps, 1e-5);
    a.mlp.gated = !k.plain;
    a.interleaved = k.interleaved;
    a.tied = f.flag("tie_word_embeddings", k.tied);
    a.logit_scale = f.float("logit_scale", 1.0);
    if k.qk_flag.is_empty() || f.flag(k.qk_flag, false) {
        a.attention.qk_norm = k.qk_norm;
    }
    if k.embedding_root {
        a.embedding.scale = (a.hidden as f32).sqrt();
    }
    turn(&mut a, f, k)?;
    match model_type {
        // "gelu" was written where the tanh form was meant.
        "gemma" if a.mlp.activation == Activation::Gelu => a.mlp.activation = Activation::GeluTanh,
        "smollm3" => some_still(&mut a, f),
        "ministral3" => end_of_training(&mut a, f),
        _ => {}
    }
    let both_ways = f.flag("use_bidirectional_attention", false);
    match both_ways || !a.logit_scale.is_finite() {
        true => Err(refused(format!(
            "this {} sees both ways, or its `logit_scale` is no number; neither is known",
            a.family
        ))),
        false => Ok(a),
    }
}

/// Windows and rotary embeddings.
fn turn(a: &mut Architecture, f: &Fields<'_>, k: &Kin) -> Result<(), ModelError> {
    let share = f.rotary_share(&["partial_rotary_factor", ""], k.rotary_share);
    let dim = (a.head_dim as f64 * share) as usize;
    rotate_all(a, Rope::read(f, dim, Some("full_attention"))?);
    let (Some((every, at)), Some(window)) = (k.windows, f.count("sliding_window")) else {
        return Ok(());
    };
    let every = match f.count("sliding_window_pattern") {
        Some(said) if every > 0 => said,
        _ => every,
    };
    // The last of each group, or the first.
    let at = if at > 0 { every.saturating_sub(1) } else { at };
    if k.local_rope {
        let parameters = f.object("rope_parameters");
        let theta = f.number("rope_theta").unwrap_or(10_000.0);
        a.ropes.push(
            match parameters.and_then(|p| p.object("sliding_attention")) {
                Some(_) => Rope::read(f, dim, Some("sliding_attention"))?,
                None => Rope::plain(dim, theta),
            },
        );
    }
    let slides = llama::sliding(a.layers, f, |i| every == 0 || i % every != at);
    for (layer, slides) in a.kinds.iter_mut().zip(slides) {
        layer.window = slides.then_some(window);
        layer.rope = match slides {
            true => Some(usize::from(k.local_rope)),
            false => (!k.still).then_some(0),
        };
    }
    Ok(())
}

/// SmolLM3: every fourth layer does not turn, or those that the file lists; only those may have windows.
fn some_still(a: &mut Architecture, f: &Fields<'_>) {
    let every = f.count("no_rope_layer_interval").unwrap_or(4).max(1);
    let turning = f.numbers("no_rope_layers").unwrap_or_default();
    let window = f
        .count("sliding_window")
        .filter(|_| f.flag("use_sliding_window", false));
    let turns = |i: usize| {
        turning
            .get(i)
            .map_or(!(i + 1).is_multiple_of(every), |x| *x != 0.0)
    };
    let slides: Vec<bool> = llama::sliding(a.layers, f, |i| !turns(i)).collect();
    for (i, (layer, slides)) in a.kinds.iter_mut().zip(slides).enumerate() {
        layer.rope = turns(i).then_some(0);
        layer.window = window.filter(|_| slides);
    }
}

/// Ministral 3 scales queries beyond the length it was first trained for, which is where we stop.
fn end_of_training(a: &mut Architecture, f: &Fields<'_>) {
    let parameters = f.object("rope_parameters");
    let first = parameters.and_then(|p| p.count("original_max_position_embeddings"));
    a.context = a.context.min(first.unwrap_or(a.context));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_switches_and_its_names() {
        for kind in KIN.types {
            let k = switches(kind).unwrap_or_else(|| panic!("{kind} is not in kin.json"));
            assert!(
                !k.family.is_empty() && !names(k.names).layer.is_empty(),
                "{kind}"
            );
        }
    }
}
