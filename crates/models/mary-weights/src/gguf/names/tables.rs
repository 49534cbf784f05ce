//! What each architecture's tensors are called in GGUF files and in Hugging Face's.

use serde_json::Value;

/// Names outside and inside the blocks: GGUF's, Hugging Face's.
pub(super) struct Table {
    pub outer: &'static [(&'static str, &'static str)],
    pub block: &'static str,
    pub inner: &'static [(&'static str, &'static str)],
    /// Tensors that hold one part of every expert (or of every head), `{}` standing for its number.
    pub merged: &'static [(&'static str, &'static str)],
}

pub(super) const LLAMA: Table = Table {
    outer: &[
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.norm"),
        ("output", "lm_head"),
    ],
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
    merged: &[],
};

const GEMMA: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_norm", "pre_feedforward_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
    merged: &[],
};

pub(super) const GPT2: Table = Table {
    outer: &[
        ("token_embd", "transformer.wte"),
        ("position_embd", "transformer.wpe"),
        ("output_norm", "transformer.ln_f"),
        ("output", "lm_head"),
    ],
    block: "transformer.h",
    inner: &[
        ("attn_norm", "ln_1"),
        ("attn_qkv", "attn.c_attn"),
        ("attn_output", "attn.c_proj"),
        ("ffn_norm", "ln_2"),
        ("ffn_up", "mlp.c_fc"),
        ("ffn_down", "mlp.c_proj"),
    ],
    merged: &[],
};

const NEOX: Table = Table {
    outer: &[
        ("token_embd", "gpt_neox.embed_in"),
        ("output_norm", "gpt_neox.final_layer_norm"),
        ("output", "embed_out"),
    ],
    block: "gpt_neox.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "attention.query_key_value"),
        ("attn_output", "attention.dense"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
    merged: &[],
};

const FALCON_7B: Table = Table {
    outer: &[
        ("token_embd", "transformer.word_embeddings"),
        ("output_norm", "transformer.ln_f"),
        ("output", "lm_head"),
    ],
    block: "transformer.h",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "self_attention.query_key_value"),
        ("attn_output", "self_attention.dense"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
    merged: &[],
};

const FALCON_NEW: Table = Table {
    outer: FALCON_7B.outer,
    block: "transformer.h",
    inner: &[
        ("attn_norm", "ln_mlp"),
        ("attn_norm_2", "ln_attn"),
        ("attn_qkv", "self_attention.query_key_value"),
        ("attn_output", "self_attention.dense"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
    merged: &[],
};

pub(super) const PHI2: Table = Table {
    outer: &[
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.final_layernorm"),
        ("output", "lm_head"),
    ],
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.dense"),
        ("ffn_up", "mlp.fc1"),
        ("ffn_down", "mlp.fc2"),
    ],
    merged: &[],
};

const PHI3: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "self_attn.qkv_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_up", "mlp.gate_up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
    merged: &[],
};

const MIXTRAL: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate_inp", "block_sparse_moe.gate"),
    ],
    merged: &[
        ("ffn_gate_exps", "block_sparse_moe.experts.{}.w1"),
        ("ffn_up_exps", "block_sparse_moe.experts.{}.w3"),
        ("ffn_down_exps", "block_sparse_moe.experts.{}.w2"),
    ],
};

/// Qwen2-MoE, Qwen3-MoE and OLMoE.
const EXPERTS: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
        ("ffn_gate_inp", "mlp.gate"),
        ("ffn_gate_inp_shexp", "mlp.shared_expert_gate"),
        ("ffn_gate_shexp", "mlp.shared_expert.gate_proj"),
        ("ffn_up_shexp", "mlp.shared_expert.up_proj"),
        ("ffn_down_shexp", "mlp.shared_expert.down_proj"),
    ],
    merged: &[
        ("ffn_gate_exps", "mlp.experts.{}.gate_proj"),
        ("ffn_up_exps", "mlp.experts.{}.up_proj"),
        ("ffn_down_exps", "mlp.experts.{}.down_proj"),
    ],
};

const OLMO2: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("post_attention_norm", "post_attention_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
    merged: &[],
};

const STABLELM: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
    merged: &[
        ("attn_q_norm", "self_attn.q_layernorm.norms.{}"),
        ("attn_k_norm", "self_attn.k_layernorm.norms.{}"),
    ],
};

const BLOOM: Table = Table {
    outer: &[
        ("token_embd", "transformer.word_embeddings"),
        ("token_embd_norm", "transformer.word_embeddings_layernorm"),
        ("output_norm", "transformer.ln_f"),
        ("output", "lm_head"),
    ],
    block: "transformer.h",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "self_attention.query_key_value"),
        ("attn_output", "self_attention.dense"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
    merged: &[],
};

const QWEN: Table = Table {
    outer: &[
        ("token_embd", "transformer.wte"),
        ("output_norm", "transformer.ln_f"),
        ("output", "lm_head"),
    ],
    block: "transformer.h",
    inner: &[
        ("attn_norm", "ln_1"),
        ("attn_qkv", "attn.c_attn"),
        ("attn_output", "attn.c_proj"),
        ("ffn_norm", "ln_2"),
        ("ffn_gate", "mlp.w2"),
        ("ffn_up", "mlp.w1"),
        ("ffn_down", "mlp.c_proj"),
    ],
    merged: &[],
};

const BERT: Table = Table {
    outer: &[
        ("token_embd", "embeddings.word_embeddings"),
        ("position_embd", "embeddings.position_embeddings"),
        ("token_types", "embeddings.token_type_embeddings"),
        ("token_embd_norm", "embeddings.LayerNorm"),
    ],
    block: "encoder.layer",
    inner: &[
        ("attn_q", "attention.self.query"),
        ("attn_k", "attention.self.key"),
        ("attn_v", "attention.self.value"),
        ("attn_output", "attention.output.dense"),
        ("attn_output_norm", "attention.output.LayerNorm"),
        ("ffn_up", "intermediate.dense"),
        ("ffn_down", "output.dense"),
        ("layer_output_norm", "output.LayerNorm"),
    ],
    merged: &[],
};

pub(super) fn table(architecture: &str, config: &Value) -> Option<&'static Table> {
    Some(match architecture {
        "llama" if config["model_type"] == "mixtral" => &MIXTRAL,
        "llama" | "qwen2" | "qwen2vl" | "qwen3" | "olmo" | "granite" => &LLAMA,
        "qwen2moe" | "qwen3moe" | "olmoe" => &EXPERTS,
        "olmo2" => &OLMO2,
        "stablelm" => &STABLELM,
        "bloom" => &BLOOM,
        "qwen" => &QWEN,
        "bert" => &BERT,
        "gemma2" | "gemma3" => &GEMMA,
        "gpt2" => &GPT2,
        "gptneox" => &NEOX,
        "falcon" if config["new_decoder_architecture"] == true => &FALCON_NEW,
        "falcon" => &FALCON_7B,
        "phi2" => &PHI2,
        "phi3" => &PHI3,
        _ => return None,
    })
}

/// Architectures that can be translated.
pub(in crate::gguf) const KNOWN: &str = "llama (also Mistral, Mixtral, SmolLM2, TinyLlama), qwen, qwen2, qwen2moe, qwen2vl, qwen3, \
     qwen3moe, gemma2, gemma3, gpt2, gptneox, bloom, falcon, phi2, phi3, stablelm, olmo, olmo2, \
     olmoe, granite, bert";
