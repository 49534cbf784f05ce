//! What a `config.json` is refused for.

use super::*;
use serde_json::json;

#[test]
fn an_unknown_architecture_is_refused_by_name_with_the_known_ones() {
    let config = json!({"model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"]});
    let error = Architecture::resolve(&config).unwrap_err();
    assert!(
        error.message.contains("`mamba2` (Mamba2ForCausalLM)"),
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
