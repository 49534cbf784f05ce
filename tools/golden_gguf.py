#!/usr/bin/env python3
"""Writes the tiny models of crates/models/mary-local/tests/golden as GGUF files, in llama.cpp's conventions.

    python tools/golden_gguf.py          # -> crates/models/mary-local/tests/golden_gguf/
    python tools/golden_gguf.py olmo2    # these alone

Needs gguf, numpy and safetensors. Tensors are named by the package's own table; rows are put into the
order in which llama.cpp's converter leaves them. A test holds every file to the scores and states that
transformers computed from the folder it was made of. All numbers stay float32.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

TESTS = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests"
# Folder -> architecture.
CASES = {
    "llama": "llama", "llama_linear": "llama", "llama_yarn": "llama", "mixtral": "llama",
    "qwen": "qwen", "qwen2": "qwen2", "qwen2_vl": "qwen2vl", "qwen2_moe": "qwen2moe",
    "qwen3": "qwen3", "qwen3_moe": "qwen3moe", "gemma2": "gemma2", "gpt2": "gpt2",
    "gpt_neox": "gptneox", "gpt_neox_sequential": "gptneox", "bloom": "bloom", "bloom_six": "bloom",
    "falcon_7b": "falcon", "falcon_new": "falcon", "phi": "phi2", "phi3": "phi3",
    "phi3_longrope": "phi3", "stablelm": "stablelm", "stablelm_parallel": "stablelm",
    "stablelm_heads": "stablelm", "olmo": "olmo", "olmo_clip": "olmo", "olmo2": "olmo2",
    "olmoe": "olmoe", "granite": "granite", "bert": "bert",
}
PARTS = ("experts", "norms")


def first(config, *names, default=None):
    for name in names:
        if config.get(name) is not None:
            return config[name]
    return default


def merged(tensors):
    """Tensors of experts and of heads, numbered in Hugging Face's files, as one with a dimension more."""
    whole, parts = {}, {}
    for name, tensor in tensors.items():
        words = name.split(".")
        at = next((i + 1 for i, w in enumerate(words) if w in PARTS and words[i + 1].isdigit()), None)
        if at is None:
            whole[name] = tensor
        else:
            number = int(words.pop(at))
            if words[at - 1] == "norms":
                words.pop(at - 1)
            parts.setdefault(".".join(words), {})[number] = tensor
    for name, of in parts.items():
        whole[name] = np.stack([of[i] for i in range(len(of))])
    return whole


def converted(arch, config, name, x):
    heads = first(config, "num_attention_heads", "n_head")
    groups = first(config, "num_key_value_heads", default=heads)
    if arch in ("llama", "olmo", "granite") and any(p in name for p in ("q_proj", "k_proj")):
        n = heads if "q_proj" in name else groups
        return x.reshape(n, 2, x.shape[0] // n // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)
    if arch in ("gptneox", "bloom") and "query_key_value" in name:
        return x.reshape(heads, 3, x.shape[0] // heads // 3, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
    if arch == "falcon" and "query_key_value" in name:
        groups = config["num_kv_heads"] if config["new_decoder_architecture"] else 1
        split = x.reshape(groups, heads // groups + 2, config["hidden_size"] // heads, -1)
        return np.concatenate([p.reshape(-1, x.shape[1]) for p in (split[:, :-2], split[:, -2:-1], split[:, -1:])])
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return x + 1
    if arch == "gpt2" and x.ndim == 2 and ".h." in name:
        return x.T
    return x


def metadata(writer, arch, config):
    hidden = first(config, "hidden_size", "n_embd")
    heads = first(config, "num_attention_heads", "n_head")
    rope = config.get("rope_parameters") or {}
    writer.add_context_length(first(config, "max_position_embeddings", "n_positions", "seq_length", default=64))
    writer.add_embedding_length(hidden)
    writer.add_block_count(first(config, "num_hidden_layers", "n_layer"))
    writer.add_head_count(heads)
    groups = first(config, "num_key_value_heads", default=None)
    if arch == "falcon":
        groups = config["num_kv_heads"] if config["new_decoder_architecture"] else 1
    if groups:
        writer.add_head_count_kv(groups)
    inner = first(config, "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", default=4 * hidden)
    writer.add_feed_forward_length(inner)
    if "rms_norm_eps" in config:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    elif arch == "qwen":
        writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    else:
        writer.add_layer_norm_eps(first(config, "layer_norm_eps", "layer_norm_epsilon", default=1e-5))
    theta = first(rope, "rope_theta", default=first(config, "rope_theta", "rotary_emb_base"))
    if theta:
        writer.add_rope_freq_base(float(theta))
    head = first(config, "head_dim", default=hidden // heads)
    if config.get("head_dim"):
        writer.add_key_length(head)
        writer.add_value_length(head)
    share = first(rope, "partial_rotary_factor", default=first(config, "partial_rotary_factor", "rotary_pct", default=1.0))
    if arch not in ("gpt2", "bloom", "bert"):
        writer.add_rope_dimension_count(int(head * share))
    kind = first(rope, "rope_type", default="default")
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(rope["factor"])
        if kind == "yarn":
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if kind == "longrope":
        writer.add_rope_scaling_orig_ctx_len(first(rope, "original_max_position_embeddings", default=config.get("original_max_position_embeddings")))
        for name in ("long", "short"):
            writer.add_tensor(f"rope_factors_{name}.weight", np.array(rope[f"{name}_factor"], dtype=np.float32))
    if config.get("sliding_window") and arch != "qwen2moe":
        writer.add_sliding_window(config["sliding_window"])
    experts = first(config, "num_local_experts", "num_experts")
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if config.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if config.get("shared_expert_intermediate_size"):
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    if arch in ("gptneox", "stablelm"):
        writer.add_parallel_residual(config["use_parallel_residual"])
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if arch == "granite":
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    if arch == "olmo" and config.get("clip_qkv"):
        writer.add_clamp_kqv(config["clip_qkv"])
    if arch == "bert":
        writer.add_causal_attention(False)


def vocabulary(writer, arch, folder):
    """The words of the tiny tokenizer; BERT's keep their ids under its own special tokens."""
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    words = [w for w, _ in sorted(words.items(), key=lambda x: x[1])]
    pieces = ["▁" + w for w in words[3:]]
    if arch == "bert":
        writer.add_tokenizer_model("bert")
        writer.add_token_list(["[UNK]", "[CLS]", "[SEP]", *pieces])
        writer.add_token_types([2, 3, 3] + [1] * len(pieces))
    else:
        writer.add_tokenizer_model("llama")
        writer.add_token_list([*words[:3], *pieces])
        writer.add_token_scores([0.0] * len(words))
        writer.add_token_types([2, 3, 3] + [1] * len(pieces))
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def write(name, arch):
    folder = TESTS / "golden" / name
    config = json.loads((folder / "config.json").read_text())
    config.update(config.get("text_config", {}))
    layers = first(config, "num_hidden_layers", "n_layer")
    known = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known[arch], layers)
    path = TESTS / "golden_gguf" / f"{name}.gguf"
    path.parent.mkdir(exist_ok=True)
    writer = gguf.GGUFWriter(str(path), arch)
    metadata(writer, arch, config)
    vocabulary(writer, arch, folder)
    for tensor, numbers in merged(load_file(folder / "model.safetensors")).items():
        if tensor.endswith((".attn.bias", ".masked_bias", "rotary_emb.inv_freq")):
            continue
        plain = tensor.replace("model.language_model.", "model.")
        if arch == "bloom":
            plain = plain.removeprefix("transformer.")
        found = names.get_name(plain, try_suffixes=(".weight", ".bias"))
        if found is None and arch == "qwen3moe":
            # Layers without experts are in no published model and not in the table of this one.
            found = gguf.get_tensor_name_map(known["qwen3"], layers).get_name(plain, try_suffixes=(".weight",))
        if found is None:
            sys.exit(f"{name}: {tensor} has no name in {arch}")
        writer.add_tensor(found, np.ascontiguousarray(converted(arch, config, tensor, numbers), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(name, path.stat().st_size)


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(CASES)
    for case in wanted:
        write(case, CASES[case])
