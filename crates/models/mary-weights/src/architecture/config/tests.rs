//! What a `config.json` is refused for.

use super::*;
use serde_json::{Value, json};

#[test]
fn an_unknown_architecture_is_refused_by_name_with_the_known_ones() {
    let config = json!({"model_type": "rwkv", "architectures": ["RwkvForCausalLM"]});
    let error = Architecture::resolve(&config).unwrap_err();
    assert!(
        error.message.contains("`rwkv` (RwkvForCausalLM)"),
        "{error}"
    );
    assert!(error.hint.unwrap().contains("gpt_neox"));
}

#[test]
fn a_size_that_is_no_number_is_refused_with_the_field() {
    let config = json!({"model_type": "llama", "hidden_size": "large"});
    let error = Architecture::resolve(&config).unwrap_err();
    assert!(error.message.contains("hidden_size"), "{error}");
    assert!(error.message.contains("large"), "{error}");
}

#[test]
fn absurd_sizes_are_refused() {
    let config = json!({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 3, "num_key_value_heads": 2, "head_dim": 8,
        "intermediate_size": 8, "vocab_size": 10, "max_position_embeddings": 10});
    let error = Architecture::resolve(&config).unwrap_err();
    assert!(
        error
            .message
            .contains("3 query heads cannot share 2 key heads"),
        "{error}"
    );
}

#[test]
fn numbers_that_are_none_are_refused() {
    let config = |name: &str, value: Value| {
        let mut config = json!({
            "model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
            "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 8,
        });
        config[name] = value;
        Architecture::resolve(&config)
    };
    config("rope_theta", json!(1e6)).unwrap();
    for (name, value, said) in [
        (
            "rope_theta",
            json!("1e6"),
            "`rope_theta` is \"1e6\"; expected a number",
        ),
        ("rope_theta", json!(-1.0), "expected a `rope_theta` above 0"),
        ("rms_norm_eps", json!(-1.0), "expected a number from 0"),
    ] {
        let message = config(name, value).unwrap_err().message;
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn the_table_of_names_is_whole() {
    let table = super::names::read(include_str!("names.json")).unwrap();
    assert!(table.len() > 10);
    assert!(
        table
            .values()
            .all(|n| (n.layer.contains("{}") || n.down.contains("{}")) && !n.embed.is_empty())
    );
}

#[test]
fn what_only_the_processor_computes_is_named() {
    let resolve = |kind: &str| Architecture::resolve(&json!({"model_type": kind})).unwrap();
    let cases = [
        ("mamba", None),
        ("bamba", None),
        (
            "qwen3_5",
            Some("states that are corrected, or convolutions alone"),
        ),
        (
            "lfm2",
            Some("states that are corrected, or convolutions alone"),
        ),
        ("gpt_oss", Some("heads that may attend to nothing")),
        ("deepseek_v3", Some("latent attention")),
        ("minimax_m2", None),
        ("nemotron", Some("squared ReLUs")),
        ("modernbert", Some("windows in both directions")),
        ("t5", None),
        ("llama", None),
        ("gemma2", None),
    ];
    for (kind, what) in cases {
        assert_eq!(resolve(kind).on_processor_only(), what, "{kind}");
    }
    assert!(resolve("t5").whole_only().is_some() && resolve("nemotron").whole_only().is_none());
    // Numbers that no state can have.
    for (field, value) in [
        ("state_size", 0),
        ("conv_kernel", 0),
        ("state_size", 1_i64 << 40),
    ] {
        let config = json!({"model_type": "mamba2", field: value});
        let error = Architecture::resolve(&config).unwrap_err();
        assert!(error.message.contains("cannot carry"), "{error}");
    }
    for config in [
        json!({"model_type": "mamba2", "num_heads": 3}),
        json!({"model_type": "qwen3_next", "linear_num_key_heads": 0}),
        json!({"model_type": "qwen3_5_text", "linear_num_value_heads": 24}),
        json!({"model_type": "lfm2", "conv_L_cache": 0}),
        json!({"model_type": "gpt_oss", "swiglu_limit": 5.0}),
        json!({"model_type": "deepseek_v2", "norm_topk_prob": true}),
        json!({"model_type": "deepseek_v3", "n_group": 7}),
        json!({"model_type": "deepseek_v3", "topk_group": 9}),
        json!({"model_type": "deepseek_v3", "num_experts_per_tok": 200}),
        json!({"model_type": "deepseek_v3", "v_head_dim": 193}),
        json!({"model_type": "deepseek_v3", "kv_lora_rank": 0}),
        json!({"model_type": "deepseek_v3", "qk_rope_head_dim": 63}),
    ] {
        assert!(Architecture::resolve(&config).is_err(), "{config}");
    }
}

#[test]
fn an_encoder_decoder_of_impossible_sizes_is_refused() {
    let resolve = |field: &str, value: Value| {
        Architecture::resolve(&json!({"model_type": "t5", field: value}))
    };
    let whole = resolve("num_decoder_layers", json!(4)).unwrap();
    let source = whole.source.unwrap();
    assert_eq!(
        (whole.layers, source.encoder.layers, source.start),
        (4, 6, 0)
    );
    assert!(!source.encoder.causal && !source.encoder.language_head);
    for (field, value, said) in [
        ("relative_attention_num_buckets", json!(0), "0 buckets"),
        ("relative_attention_num_buckets", json!(31), "31 buckets"),
        ("relative_attention_num_buckets", json!(2), "2 buckets"),
        (
            "relative_attention_num_buckets",
            json!(1_u64 << 40),
            "buckets",
        ),
        ("relative_attention_max_distance", json!(4), "do not fit 4"),
        ("relative_attention_max_distance", json!("far"), "far"),
        ("num_decoder_layers", json!(0), "number of layers"),
        ("num_layers", json!(0), "number of layers"),
        ("d_kv", json!(0), "head size"),
        ("d_ff", json!(-1), "d_ff"),
        (
            "decoder_start_token_id",
            json!(40_000),
            "`decoder_start_token_id` is 40000",
        ),
        ("feed_forward_proj", json!("gated-tanh"), "gated-tanh"),
    ] {
        let error = resolve(field, value).unwrap_err();
        assert!(error.message.contains(said), "{field}: {error}");
    }
}

#[test]
fn every_entry_has_its_names_and_its_functions() {
    assert!(registry::read(include_str!("families.json")).unwrap().len() > 60);
    assert!(names::read(include_str!("names.json")).unwrap().len() > 30);
    for family in registry::FAMILIES.iter() {
        let names = names::names(family.names).unwrap();
        assert!(!names.embed.is_empty() && !family.family.is_empty());
        assert!(family.own.is_empty() || own::own(family.own).is_ok());
        for form in &family.gguf {
            assert!(form.own.is_empty() || own::own_gguf(form.own).is_ok());
        }
    }
}
