//! Models that read and do not speak: BERT (MiniLM, VisualBERT's text path), RoBERTa and the text towers of
//! CLIP and SigLIP. They observe; with the head of a masked language model they score too. None generates.

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::classic::{decoder, names};
use super::family::{Family, GgufForm, Rotation};
use super::{Architecture, Block, Fields, Rope, llama};
use crate::gguf::source::GgufSource;

pub(super) static BERT: Family = Family {
    types: &["bert", "visual_bert"],
    read: bert,
    gguf: &[GgufForm {
        rotation: Rotation::None,
        ..GgufForm::new("bert", ("bert", "BertModel"), bert_gguf)
    }],
};

fn bert(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let family = match f.text("model_type") {
        Some("visual_bert") => "VisualBERT (text path)",
        _ => "BERT",
    };
    let mut a = decoder(family, f, names("bert"))?;
    a.intermediate = f.need("intermediate_size")?;
    a.causal = false;
    a.language_head = false;
    a.block = Block::PostNorm;
    a.norm.eps = f.float("layer_norm_eps", 1e-12);
    a.mlp.activation = f.activation("hidden_act", "gelu")?;
    a.embedding.position_offset = Some(0);
    a.embedding.token_types = true;
    a.embedding.norm = true;
    Ok(a)
}

/// BERT, and RoBERTa as converters write it: the rows before its first position are left out.
fn bert_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    if source.flag("attention.causal") == Some(true) {
        return Err("is a BERT whose attention is causal, which is not known".into());
    }
    let rows = source.dimension("position_embd.weight", 0);
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "max_position_embeddings": rows.map_or_else(|| source.size("context_length"), Ok)?,
        "type_vocab_size": source.dimension("token_types.weight", 0),
        "layer_norm_eps": source.norm_eps(1e-12),
        "hidden_act": "gelu",
    }))
}

pub(super) static DISTILBERT: Family = Family::in_folders(&["distilbert"], distilbert);

/// DistilBERT: BERT without segments.
fn distilbert(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("DistilBERT", f, names("distilbert"))?;
    a.intermediate = f.need("hidden_dim")?;
    a.causal = false;
    a.language_head = false;
    a.block = Block::PostNorm;
    a.norm.eps = 1e-12;
    a.mlp.activation = f.activation("activation", "gelu")?;
    a.embedding.position_offset = Some(0);
    a.embedding.norm = true;
    Ok(a)
}

pub(super) static MODERNBERT: Family = Family::in_folders(&["modernbert"], modernbert);

/// ModernBERT: rotations and gates; most layers see a window, in both directions.
fn modernbert(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("ModernBERT", f, names("modernbert"))?;
    a.intermediate = f.need("intermediate_size")?;
    a.causal = false;
    a.language_head = false;
    a.norm.eps = f.float("norm_eps", 1e-5);
    a.mlp.gated = true;
    a.mlp.activation = f.activation("hidden_activation", "gelu")?;
    a.embedding.norm = true;
    let dim = a.head_dim;
    let rope = |kind: &str, older: &str, usual: f64| match f.object("rope_parameters") {
        Some(all) if all.object(kind).is_some() => Rope::read(f, dim, Some(kind)),
        _ => Ok(Rope::plain(dim, f.number(older).unwrap_or(usual))),
    };
    a.ropes = vec![
        rope("full_attention", "global_rope_theta", 160_000.0)?,
        rope("sliding_attention", "local_rope_theta", 10_000.0)?,
    ];
    let every = f.count("global_attn_every_n_layers").unwrap_or(3).max(1);
    let half = f.count("local_attention").unwrap_or(128) / 2;
    let slides = llama::sliding(a.layers, f, |i| i % every != 0);
    for (layer, slides) in a.kinds.iter_mut().zip(slides) {
        layer.window = slides.then_some(half.saturating_add(1));
        layer.rope = Some(usize::from(slides));
    }
    Ok(a)
}

pub(super) static ROBERTA: Family =
    Family::in_folders(&["roberta", "xlm-roberta", "camembert"], roberta);

fn roberta(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = bert(f)?;
    a.family = "RoBERTa";
    let offset = f.count("pad_token_id").unwrap_or(1) + 1;
    a.embedding.position_offset = Some(offset);
    a.context = a.context.saturating_sub(offset);
    Ok(a)
}

pub(super) static CLIP_TEXT: Family = Family::in_folders(&["clip_text_model"], clip_text);

fn clip_text(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("CLIP (text tower)", f, names("clip_text"))?;
    a.intermediate = f.need("intermediate_size")?;
    a.language_head = false;
    a.norm.eps = f.float("layer_norm_eps", 1e-5);
    a.mlp.activation = f.activation("hidden_act", "quick_gelu")?;
    a.embedding.position_offset = Some(0);
    Ok(a)
}

pub(super) static SIGLIP_TEXT: Family = Family::in_folders(&["siglip_text_model"], siglip_text);

/// SigLIP's text tower: CLIP's blocks, which see in both directions.
fn siglip_text(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = clip_text(f)?;
    a.family = "SigLIP (text tower)";
    a.causal = false;
    a.norm.eps = f.float("layer_norm_eps", 1e-6);
    a.mlp.activation = f.activation("hidden_act", "gelu_pytorch_tanh")?;
    Ok(a)
}
