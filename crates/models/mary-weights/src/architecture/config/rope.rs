//! Rotary position embeddings and the ways they are stretched: linear, dynamic NTK, LLaMA 3, YaRN
//! and LongRoPE.

use super::Fields;
use super::fields::refused;
use crate::fault::Result;

#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Dimensions of a head that RoPE rotates; the rest stay.
    pub dim: usize,
    /// Radians per position, `dim / 2` of them.
    pub frequencies: Vec<f32>,
    /// Multiplied onto sine and cosine (YaRN, LongRoPE).
    pub amplitude: f32,
}

impl Rope {
    pub fn plain(dim: usize, theta: f64) -> Self {
        Self::stretched(dim, theta, 1.0, |_, f| f)
    }

    /// Each frequency of a plain embedding changed by its place and what it was.
    fn stretched(
        dim: usize,
        theta: f64,
        amplitude: f64,
        change: impl Fn(usize, f64) -> f64,
    ) -> Self {
        let plain = (0..dim / 2).map(|i| theta.powf(-2.0 * i as f64 / dim as f64) as f32);
        let changed = |(i, f)| change(i, f64::from(f)) as f32;
        Self {
            dim,
            frequencies: plain.enumerate().map(changed).collect(),
            amplitude: amplitude as f32,
        }
    }

    /// The embedding of one kind of layer, which older files say by its base alone.
    pub(super) fn of_kind(
        f: &Fields<'_>,
        dim: usize,
        kind: &str,
        (older, usual): (&str, f64),
    ) -> Result<Self> {
        let parameters = f.object("rope_parameters");
        match parameters.and_then(|p| p.object(kind)) {
            Some(_) => Self::read(f, dim, Some(kind)),
            None => Ok(Self::plain(dim, f.number(older).unwrap_or(usual))),
        }
    }

    /// Reads `rope_scaling`, `rope_parameters` (newer files) or neither. `kind` picks the entry of
    /// files that keep one set of parameters for each kind of layer (Gemma 3).
    pub fn read(fields: &Fields<'_>, dim: usize, kind: Option<&str>) -> Result<Self> {
        let parameters = fields
            .object("rope_parameters")
            .map(|p| kind.and_then(|k| p.object(k)).unwrap_or(p));
        let scaling = parameters.or_else(|| fields.object("rope_scaling"));
        let theta = parameters
            .and_then(|p| p.number("rope_theta"))
            .or_else(|| fields.number("rope_theta"))
            .or_else(|| fields.number("rotary_emb_base"))
            .unwrap_or(10_000.0);
        let name = scaling.and_then(|s| s.text("rope_type").or_else(|| s.text("type")));
        let (Some(scaling), Some(name)) = (scaling, name) else {
            return Ok(Self::plain(dim, theta));
        };
        let factor = scaling.number("factor").unwrap_or(1.0);
        let factor = factor.max(f64::MIN_POSITIVE);
        match name {
            // Dynamic NTK changes nothing up to the trained length, which is where we stop.
            "default" | "mrope" | "dynamic" => Ok(Self::plain(dim, theta)),
            "linear" => Ok(Self::stretched(dim, theta, 1.0, |_, f| f / factor)),
            "llama3" => Ok(llama3(dim, theta, factor, &scaling)),
            "yarn" => Ok(yarn(dim, theta, factor, &scaling, fields)),
            "longrope" | "su" => longrope(dim, theta, &scaling, fields),
            other => Err(
                refused(format!("the rotary scaling `{other}` is not known"))
                    .hint("known: default, linear, dynamic, llama3, yarn, longrope, mrope"),
            ),
        }
    }
}

fn llama3(dim: usize, theta: f64, factor: f64, scaling: &Fields<'_>) -> Rope {
    let low = scaling.number("low_freq_factor").unwrap_or(1.0);
    let high = scaling.number("high_freq_factor").unwrap_or(4.0);
    let original = scaling
        .number("original_max_position_embeddings")
        .unwrap_or(8192.0);
    Rope::stretched(dim, theta, 1.0, |_, f| {
        let turns = original * f / std::f64::consts::TAU;
        if turns < low {
            f / factor
        } else if turns > high {
            f
        } else {
            let smooth = (turns - low) / (high - low);
            (1.0 - smooth) * f / factor + smooth * f
        }
    })
}

/// By how much scores grow in a stretched text.
pub(super) fn grown(factor: f64, by: f64) -> f64 {
    match factor <= 1.0 {
        true => 1.0,
        false => 0.1 * by * factor.ln() + 1.0,
    }
}

fn yarn(dim: usize, theta: f64, factor: f64, scaling: &Fields<'_>, fields: &Fields<'_>) -> Rope {
    let fast = scaling.number("beta_fast").unwrap_or(32.0);
    let slow = scaling.number("beta_slow").unwrap_or(1.0);
    let original = scaling
        .number("original_max_position_embeddings")
        .or_else(|| fields.number("max_position_embeddings"))
        .unwrap_or(2048.0);
    let grown = |by| grown(factor, by);
    let both = scaling
        .number("mscale")
        .zip(scaling.number("mscale_all_dim"));
    let amplitude = scaling.number("attention_factor").unwrap_or_else(|| {
        match both.filter(|(one, all)| *one != 0.0 && *all != 0.0) {
            Some((one, all)) => grown(one) / grown(all),
            None => grown(1.0),
        }
    });
    // The pair of dimensions that turns `turns` times over the trained length.
    let pair = |turns: f64| {
        dim as f64 * (original / (turns * std::f64::consts::TAU)).ln() / (2.0 * theta.ln())
    };
    let (mut first, mut last) = (pair(fast), pair(slow));
    if scaling.flag("truncate", true) {
        (first, last) = (first.floor(), last.ceil());
    }
    let (first, last) = (first.max(0.0), last.min(dim as f64 - 1.0));
    let span = if (last - first).abs() < f64::EPSILON {
        0.001
    } else {
        last - first
    };
    Rope::stretched(dim, theta, amplitude, |i, f| {
        let ramp = ((i as f64 - first) / span).clamp(0.0, 1.0);
        f / factor * ramp + f * (1.0 - ramp)
    })
}

/// LongRoPE with its short factors: they hold up to the original length, which is where the
/// context of such a model ends here.
fn longrope(dim: usize, theta: f64, scaling: &Fields<'_>, fields: &Fields<'_>) -> Result<Rope> {
    let short = scaling
        .numbers("short_factor")
        .filter(|f| f.len() == dim / 2)
        .ok_or_else(|| refused(format!("`short_factor` should hold {} numbers", dim / 2)))?;
    let longest = fields.number("max_position_embeddings").unwrap_or(1.0);
    let original = scaling
        .number("original_max_position_embeddings")
        .or_else(|| fields.number("original_max_position_embeddings"))
        .unwrap_or(longest);
    let factor = scaling.number("factor").unwrap_or(longest / original);
    let amplitude = scaling.number("attention_factor").unwrap_or_else(|| {
        if factor <= 1.0 {
            1.0
        } else {
            (1.0 + factor.ln() / original.ln()).sqrt()
        }
    });
    Ok(Rope::stretched(dim, theta, amplitude, |i, f| f / short[i]))
}
