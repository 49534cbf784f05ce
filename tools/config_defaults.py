#!/usr/bin/env python3
"""Writes what transformers assumes where a `config.json` says nothing, and test cases for it.

    python tools/config_defaults.py

Needs transformers (no torch): `pip install transformers`. Two files are written and committed:

- crates/models/mary-weights/src/architecture/config/defaults.json: for every supported `model_type` the class's own default
  of every field that the readers in crates/models/mary-weights/src/architecture/config/ ask for, and the other names that
  a field goes by. Defaults that are computed from other fields are left out: the readers compute them.
- crates/models/mary-weights/tests/architecture/golden_configs.json: pairs of a sparse configuration and the full one that
  transformers makes of it; both must describe the same model.
"""

import json
import re
from pathlib import Path

import transformers as tf
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

CRATES = Path(__file__).resolve().parent.parent / "crates"
GOLDEN = CRATES / "models" / "mary-weights" / "tests" / "architecture"
READERS = CRATES / "models" / "mary-weights" / "src" / "architecture" / "config"

# Everything the readers know; a type that this version of transformers does not have is left out.
TYPES = (
    "gpt_neox gpt2 opt phi phi3 llama mistral qwen2 qwen3 qwen2_vl_text qwen2_5_vl_text gemma2 "
    "gemma3_text falcon bert visual_bert roberta xlm-roberta clip_text_model siglip_text_model "
    "olmo olmo2 mixtral qwen2_moe qwen3_moe olmoe gptj gpt_neo bloom stablelm granite "
    "gemma vaultgemma smollm3 ministral ministral3 olmo3 exaone4 cohere cohere2 starcoder2 nemotron arcee jais2 "
    "persimmon glm glm4 helium ernie4_5 seed_oss cwm internlm3 iquestcoder hyperclovax gpt_bigcode openai-gpt "
    "gpt-sw3 biogpt mpt camembert distilbert mamba falcon_mamba mamba2 bamba granitemoehybrid deberta-v2 modernbert "
    "granitemoe minimax_m2 glm4_moe dots1 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa solar_open youtu "
    "t5 mt5 umt5 qwen3_next qwen3_5_text qwen3_5_moe_text gpt_oss lfm2 qwen3_vl_text qwen3_vl_moe_text"
).split()
WRAPPERS = "llava llava_next gemma3 qwen2_vl qwen2_5_vl clip siglip qwen3_5 qwen3_5_moe qwen3_vl qwen3_vl_moe".split()
# Names that files used before transformers settled on one, beside those it maps itself.
OLD_NAMES = {
    "falcon": {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_head_kv": "num_kv_heads"},
    "gpt_neox": {"rotary_emb_base": "rope_theta"},
    "gemma2": {"_sliding_window_pattern": "sliding_window_pattern"},
    "gemma3_text": {"_sliding_window_pattern": "sliding_window_pattern"},
}


def known():
    """Types that the readers name: a family that is not read yet gets no defaults."""
    files = [READERS.with_suffix(".rs"), *READERS.glob("*.rs"), READERS / "families.json"]
    return set(re.findall(r'"([A-Za-z0-9_-]+)"', "".join(p.read_text() for p in files)))


def defaults(kind, fields):
    cls = CONFIG_MAPPING[kind]
    out = {}
    for name in sorted(fields):
        value = getattr(cls, name, None)
        if isinstance(value, (bool, int, float, str)):
            out[name] = value
    parameters = getattr(cls(), "rope_parameters", None) or {}
    if "full_attention" in parameters:
        out["rope_theta"] = parameters["full_attention"]["rope_theta"]
        out["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"]
    elif "rope_theta" in parameters:
        out["rope_theta"] = parameters["rope_theta"]
    if kind == "qwen3_vl_moe_text":
        out["tie_word_embeddings"] = False  # the configuration around it says so
    stretched = parameters.get("rope_type", "default") != "default"
    # How much of a head turns is asked for under several names; the readers know their family's share.
    for name in ("rope_parameters", "partial_rotary_factor", "rotary_pct", "model_type"):
        out.pop(name, None)
    if stretched:
        out["rope_parameters"] = parameters
    return out


def names(kind, fields):
    cls = CONFIG_MAPPING[kind]
    mapped = {a: b for a, b in getattr(cls, "attribute_map", {}).items() if b in fields}
    return {**mapped, **OLD_NAMES.get(kind, {})}


SMALL = dict(vocab_size=320, hidden_size=64, num_hidden_layers=3, num_attention_heads=4)


def variants(kind):
    """Sparse configurations as somebody might have saved them."""
    yield "alone", {}
    own = {CONFIG_MAPPING[kind].attribute_map.get(k, k) if hasattr(CONFIG_MAPPING[kind], "attribute_map") else k: v for k, v in SMALL.items()}
    yield "small", own
    yield "layers", {k: v for k, v in own.items() if "layer" in k}
    yield "heads", {k: v for k, v in own.items() if "head" in k or "hidden_size" in k or k == "n_embd"}
    if kind in ("llama", "mistral", "qwen2", "qwen3", "phi3", "granite", "stablelm", "olmo", "olmo2", "mixtral", "qwen2_moe", "qwen3_moe", "olmoe"):
        yield "grouped", dict(own, num_key_value_heads=2)
        yield "theta", dict(own, num_key_value_heads=2, rope_theta=500000.0)
        yield "tied", dict(own, tie_word_embeddings=True)
        if kind != "phi3":
            yield "scaled", dict(own, num_key_value_heads=2, rope_scaling={"type": "linear", "factor": 2.0})
    if kind in ("gemma", "smollm3", "ministral", "olmo3", "exaone4", "cohere", "cohere2", "starcoder2", "nemotron", "glm", "glm4", "helium", "ernie4_5", "seed_oss", "cwm"):
        yield "grouped", dict(own, num_key_value_heads=2)
        yield "theta", dict(own, num_key_value_heads=2, rope_theta=500000.0)
    if kind in ("ministral", "olmo3", "exaone4", "cohere2", "cwm", "starcoder2"):
        yield "window", dict(own, num_key_value_heads=2, sliding_window=16)
    if kind == "olmo3":
        yield "scaled", dict(own, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512})
    if kind == "smollm3":
        yield "still", dict(own, no_rope_layers=[1, 0, 1])
    if kind == "gpt_bigcode":
        yield "many keys", dict(own, multi_query=False)
    if kind == "llama":
        yield "llama3", dict(own, rope_theta=500000.0, rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024})
        yield "wide heads", dict(own, head_dim=32)
        yield "yarn", dict(own, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512})
    if kind == "mistral":
        yield "no window", dict(own, num_key_value_heads=2, sliding_window=None)
        yield "window", dict(own, num_key_value_heads=2, sliding_window=16)
    if kind in ("qwen2", "qwen3"):
        yield "windowed", dict(own, num_key_value_heads=2, use_sliding_window=True, sliding_window=32, max_window_layers=2)
    if kind in ("gemma2", "gemma3_text"):
        yield "window", dict(own, num_key_value_heads=2, head_dim=16, sliding_window=32)
        yield "plain", dict(own, num_key_value_heads=2, attn_logit_softcapping=None, final_logit_softcapping=None)
    if kind == "gemma3_text":
        yield "scaled", dict(own, num_key_value_heads=2, rope_scaling={"rope_type": "linear", "factor": 8.0})
        yield "bases", dict(own, num_key_value_heads=2, rope_theta=500000.0, rope_local_base_freq=20000.0)
    if kind == "falcon":
        yield "new", dict(own, new_decoder_architecture=True, num_kv_heads=2)
        yield "rw", dict(own, multi_query=False, parallel_attn=False, alibi=True, bias=True)
    if kind == "gpt_neox":
        yield "share", dict(own, rotary_pct=0.5, rotary_emb_base=20000)
        yield "sequential", dict(own, use_parallel_residual=False)
    if kind == "opt":
        yield "projected", dict(own, ffn_dim=128, word_embed_proj_dim=32, do_layer_norm_before=False)
    if kind in ("phi", "stablelm"):
        yield "share", dict(own, partial_rotary_factor=0.4 if kind == "phi" else 0.5)
    if kind in ("bert", "roberta", "xlm-roberta", "visual_bert"):
        yield "epsilon", dict(own, layer_norm_eps=1e-6, hidden_act="gelu_new")
    if kind == "olmo":
        yield "clipped", dict(own, clip_qkv=8.0)
    if kind in ("phi", "stablelm"):
        yield "norms of heads", dict(own, qk_layernorm=True)
    if kind == "phi3":
        yield "longrope", dict(own, original_max_position_embeddings=2048, rope_scaling={"type": "longrope", "short_factor": [1.5] * 8, "long_factor": [3.0] * 8})
    if kind == "mixtral":
        yield "experts", dict(own, num_local_experts=4, num_experts_per_tok=1)
        yield "window", dict(own, sliding_window=16)
    if kind in ("qwen2_moe", "qwen3_moe", "olmoe"):
        yield "experts", dict(own, num_experts=4, num_experts_per_tok=1)
    if kind in ("qwen2_moe", "qwen3_moe"):
        yield "some layers", dict(own, num_experts=4, moe_intermediate_size=96, decoder_sparse_step=2)
        yield "dense layers", dict(own, num_experts=4, mlp_only_layers=[0, 2], norm_topk_prob=True)
    if kind.startswith(("qwen3_next", "qwen3_5")):
        yield "some attend", dict(own, num_key_value_heads=2, layer_types=["linear_attention", "full_attention", "linear_attention"])
        yield "states", dict(own, num_key_value_heads=2, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=16)
    if kind == "lfm2":
        yield "some attend", dict(own, num_key_value_heads=2, intermediate_size=96, full_attn_idxs=[1], block_ffn_dim_multiplier=1.5)
        yield "old names", dict(own, num_key_value_heads=2, block_ff_dim=96, tie_embedding=False, block_auto_adjust_ff_dim=False)
    if kind == "gpt_oss":
        yield "stretched", dict(own, num_key_value_heads=2, head_dim=16, sliding_window=16, rope_theta=1000.0, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, "truncate": False})
    if kind in ("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa", "glm4_moe", "dots1", "solar_open"):
        experts = dict(own, num_key_value_heads=2, n_routed_experts=8, num_experts_per_tok=2, n_group=4, topk_group=2, moe_intermediate_size=24)
        yield "groups", dict(experts, topk_method="group_limited_greedy", routed_scaling_factor=2.0)
        yield "stretched", dict(experts, rope_theta=5000.0, rope_scaling={"type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.7, "original_max_position_embeddings": 512})
    if kind in ("deepseek_v2", "deepseek_v3", "youtu"):
        yield "queries at once", dict(own, q_lora_rank=None, qk_nope_head_dim=24, qk_rope_head_dim=8, v_head_dim=16, rope_interleave=False)
    if kind == "minimax_m2":
        yield "some turn", dict(own, num_key_value_heads=2, head_dim=16, rotary_dim=8, num_local_experts=4)
    if kind == "gpt2":
        yield "inner", dict(own, n_inner=100)
    if kind == "gpt_neo":
        yield "global", dict(own, num_layers=2, attention_types=[[["global", "local"], 1]], window_size=16)


def wrapped(kind):
    text = {"clip": dict(SMALL, intermediate_size=96)}.get(kind, dict(SMALL, num_key_value_heads=2))
    yield "alone", {}
    yield "small text", {"text_config": text}
    if kind in ("llava", "llava_next"):
        # As the hub's files of 7B models have it: what equals LLaMA's defaults is left out.
        yield "published", {"text_config": {"max_position_embeddings": 4096, "model_type": "llama", "rms_norm_eps": 1e-5, "vocab_size": 32064}}
        yield "mistral", {"text_config": {"model_type": "mistral", "intermediate_size": 14336, "max_position_embeddings": 32768, "num_key_value_heads": 8, "rope_theta": 1000000.0, "sliding_window": None, "vocab_size": 32064}}
    if kind == "gemma3":
        yield "published", {"text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}}


def plain(value):
    """As a file would hold it."""
    return json.loads(json.dumps(value).replace("Infinity", "null"))


def main():
    reader_text = "".join(p.read_text() for p in READERS.glob("*.rs"))
    fields = set(re.findall(r'\.(?:need|count|number|float|activation|text|texts|flag|numbers|object|get)\(\s*"([A-Za-z0-9_]+)"', reader_text))
    usual = json.loads((READERS / "usual.json").read_text())
    families = [usual["family"], *json.loads((READERS / "families.json").read_text())]
    told = [value for family in families for name, value in family.items() if name not in ("types", "family", "names", "gguf", "own")]
    fields |= set(re.findall(r"[a-z][a-z_0-9]+", json.dumps(told)))
    families = [usual["names"], *json.loads((READERS / "names.json").read_text()).values()]
    fields |= {name for names in families for size in names.get("sizes", []) for name in size.split("|")}
    for named in ("recurrent.rs", "family.rs", "llama.rs", "classic.rs"):
        fields |= set(re.findall(r'"([a-z_0-9]+)[|"]', (READERS / named).read_text()))
    readable = known()
    kinds = [k for k in TYPES if k in readable and k in CONFIG_MAPPING]
    table = {}
    for kind in kinds:
        table[kind] = {"fields": defaults(kind, fields), "names": names(kind, fields)}
    path = READERS / "defaults.json"
    body = json.dumps({"made_with": f"transformers {tf.__version__}", "types": table}, indent=1, sort_keys=True)
    path.write_text(body + "\n")
    cases = []

    def case(kind, name, short):
        # A file's own words are kept; the class gets a copy, since it rewrites what it is given.
        try:
            full = plain(CONFIG_MAPPING[kind](**plain(short)).to_dict())
        except Exception as error:  # transformers itself refuses it
            print(f"{kind}, {name}: {error}")
            return
        cases.append({"name": f"{kind}, {name}", "short": {"model_type": kind, **short}, "full": full})

    for kind in kinds:
        if kind == "qwen3_vl_moe_text":
            continue  # only ever inside a configuration that says whether its head is the embedding
        for name, short in variants(kind):
            case(kind, name, short)
    for kind in WRAPPERS:
        for name, short in wrapped(kind):
            case(kind, name, short)
    drop = {"id2label", "label2id", "vision_config", "transformers_version", "_name_or_path", "architectures"}
    for one in cases:
        one["full"] = {k: v for k, v in one["full"].items() if k not in drop}
        if isinstance(one["full"].get("text_config"), dict):
            one["full"]["text_config"] = {k: v for k, v in one["full"]["text_config"].items() if k not in drop}
    path = GOLDEN / "golden_configs.json"
    lines = ",\n".join(json.dumps(c, sort_keys=True) for c in cases)
    path.write_text(f'{{"made_with": "transformers {tf.__version__}", "cases": [\n{lines}\n]}}\n')
    print(len(table), "types,", len(cases), "cases")


if __name__ == "__main__":
    main()
