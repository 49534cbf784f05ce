//! Models that read and do not speak: BERT (MiniLM, VisualBERT's text path), RoBERTa and the text towers of
//! CLIP and SigLIP. They observe; with the head of a masked language model they score too. None generates.

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::classic::{decoder, names};
use super::family::{Family, GgufForm, Rotation};
use super::{Architecture, Block, Fields};
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
