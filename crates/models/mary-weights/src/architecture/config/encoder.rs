//! Models that read and do not speak: BERT (MiniLM, VisualBERT's text path), RoBERTa and the text towers of
//! CLIP and SigLIP. They observe; with the head of a masked language model they score too. None generates.

use mary_contract::ModelError;

use super::classic::{Sizes, no_names, plain_decoder};
use super::{Architecture, Block, Fields, Names, QkvNames, UpNames, activation};

fn bert_like(family: &'static str, f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[
            ("", ""),
            ("bert.", ""),
            ("roberta.", ""),
            ("visual_bert.", ""),
        ],
        embed: "embeddings.word_embeddings",
        positions: "embeddings.position_embeddings",
        token_types: "embeddings.token_type_embeddings",
        embed_norm: "embeddings.LayerNorm",
        layer: "encoder.layer.{}.",
        qkv: QkvNames::Separate(
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
        ),
        attn_out: "attention.output.dense",
        attn_norm: "attention.output.LayerNorm",
        mlp_norm: "output.LayerNorm",
        up: UpNames::Plain("intermediate.dense"),
        down: "output.dense",
        ..no_names()
    };
    let mut a = plain_decoder(family, Sizes::read(f)?, names);
    a.intermediate = f.need("intermediate_size")?;
    a.causal = false;
    a.language_head = false;
    a.block = Block::PostNorm;
    a.norm.eps = f.number("layer_norm_eps").unwrap_or(1e-12) as f32;
    a.mlp.activation = activation(f.text("hidden_act").unwrap_or("gelu"))?;
    a.embedding.position_offset = Some(0);
    a.embedding.token_types = true;
    a.embedding.norm = true;
    Ok(a)
}

pub(super) fn bert(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let visual = f.text("model_type") == Some("visual_bert");
    bert_like(
        if visual {
            "VisualBERT (text path)"
        } else {
            "BERT"
        },
        f,
    )
}

pub(super) fn roberta(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = bert_like("RoBERTa", f)?;
    let offset = f.count("pad_token_id").unwrap_or(1) + 1;
    a.embedding.position_offset = Some(offset);
    a.context = a.context.saturating_sub(offset);
    Ok(a)
}

pub(super) fn clip_text(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("text_model.", ""), ("", "")],
        embed: "embeddings.token_embedding",
        positions: "embeddings.position_embedding",
        layer: "encoder.layers.{}.",
        attn_out: "self_attn.out_proj",
        attn_norm: "layer_norm1",
        mlp_norm: "layer_norm2",
        up: UpNames::Plain("mlp.fc1"),
        down: "mlp.fc2",
        final_norm: Some("final_layer_norm"),
        ..no_names()
    };
    let mut a = plain_decoder("CLIP (text tower)", Sizes::read(f)?, names);
    a.intermediate = f.need("intermediate_size")?;
    a.language_head = false;
    a.norm.eps = f.number("layer_norm_eps").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("hidden_act").unwrap_or("quick_gelu"))?;
    a.embedding.position_offset = Some(0);
    Ok(a)
}

/// SigLIP's text tower: CLIP's blocks, which see in both directions.
pub(super) fn siglip_text(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = clip_text(f)?;
    a.family = "SigLIP (text tower)";
    a.causal = false;
    a.norm.eps = f.number("layer_norm_eps").unwrap_or(1e-6) as f32;
    a.mlp.activation = activation(f.text("hidden_act").unwrap_or("gelu_pytorch_tanh"))?;
    Ok(a)
}
