#!/usr/bin/env python3
"""Lists which text model types of the installed transformers run here, and why others do not, in docs/history/local-models.md.

    python tools/model_types.py            # renews the section
    python tools/model_types.py --check    # fails where the page says something else

What runs is read from the sources of mary-weights. Why something does not is told by a word in its modelling code, or below.
"""
import json
import re
import sys
from pathlib import Path

import transformers as tf
from transformers.models.auto import modeling_auto as auto

ROOT = Path(__file__).resolve().parent.parent
READERS = ROOT / "crates" / "models" / "mary-weights" / "src" / "architecture" / "config"
PAGE = ROOT / "docs" / "history" / "local-models.md"
BEGIN, END = "<!-- model types: made by tools/model_types.py -->", "<!-- end of model types -->"
TASKS = {
    "next word": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "masked word": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "text to text": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
}
TOLD = {
    "apertus": "xIELU activation", "hunyuan_v1_dense": "norms after rotation", "nanochat": "norms after rotation", "bitnet": "norms inside parts",
    "codegen": "queries in quarters", "gpt_neox_japanese": "bias in attention", "xglm": "sinusoidal positions", "ctrl": "sinusoidal positions",
    "diffllama": "differential attention", "doge": "learned attention masks", "minicpm3": "latent attention",
    "granite_swa": "thetas per layer", "modernbert-decoder": "no first norm", "rwkv": "another recurrence", "xlstm": "another recurrence",
    "recurrent_gemma": "another recurrence", "cpmant": "segment distances", "xlnet": "permuted attention", "reformer": "hashed attention", "big_bird": "block attention",
    "roformer": "rotations in encoders", "albert": "shared projected layers", "electra": "projected embedding", "mpnet": "biases of distance",
    "xlm": "other layout", "flaubert": "other layout", "squeezebert": "convolutions for products", "convbert": "convolutions in attention",
    "mobilebert": "bottlenecks", "fnet": "Fourier mixing", "funnel": "pooled length", "deberta": "older distances", "nystromformer": "approximated attention",
    "ernie": "task vectors", "megatron-bert": "norms before", "roberta-prelayernorm": "norms before", "xlm-roberta-xl": "norms before",
    "rembert": "projected embedding", "roc_bert": "shapes and sounds", "xmod": "language adapters", "esm": "rotations in encoders", "esmc": "rotations in encoders",
    "tapas": "tables", "layoutlm": "page layout", "bert-generation": "other layout", "data2vec-text": "other tensor names", "granitemoe_swa": "another routing",
    "granitemoeshared": "another routing",
    "yoso": "hashed attention", "mra": "approximated attention", "longformer": "windows both ways", "perceiver": "latent array",
}
WORDS = [
    ("pictures or sound", r"pixel_values|input_features|audio_values"),
    ("another encoder and decoder", r"encoder_attn|EncDecAttention|encoder_hidden_states: torch\.(Float)?Tensor"),
    ("latent attention", r"kv_lora_rank|kv_a_proj"),
    ("another recurrence", r"conv1d|recurrent_state|gated_delta"),
    ("attention sinks", r"self\.sinks"),
    ("another routing", r"[Ee]xperts"),
]


def known():
    text = "".join(path.read_text() for path in [READERS.with_suffix(".rs"), *READERS.glob("*.rs")])
    found = {kind for family in json.loads((READERS / "families.json").read_text()) for kind in family["types"]}
    wrappers = text[text.index("const WRAPPERS"):]
    return found | set(re.findall(r'\("([a-z0-9_]+)", "', wrappers[:wrappers.index("];")]))


def why(kind):
    if kind in TOLD:
        return TOLD[kind]
    folder = Path(tf.__file__).parent / "models" / kind.replace("-", "_").removesuffix("_text")
    code = "".join(p.read_text() for p in folder.glob("modeling_*.py"))
    return next((reason for reason, word in WORDS if re.search(word, code)), "other layout")


def section():
    runs = known()
    lines = [BEGIN, f"Text models of transformers {tf.__version__}, by `model_type` (`tools/model_types.py`). The reason is a word, not an",
             "analysis.", ""]
    for task, types in TASKS.items():
        good = sorted(t for t in types if t in runs)
        reasons = {}
        for kind in sorted(set(types) - runs):
            reasons.setdefault(why(kind), []).append(kind)
        lines += [f"*{task.capitalize()}*: {len(good)} of {len(types)} run.", "", "| why not | types |", "|---|---|"]
        lines += [f"| {reason} | {', '.join(kinds)} |" for reason, kinds in sorted(reasons.items(), key=lambda r: -len(r[1]))]
        lines += ["", f"Those that run: {', '.join(good) or 'none'}.", ""]
    return "\n".join([*lines, END])


def main():
    text, new = PAGE.read_text(), section()
    if BEGIN in text:
        old = text[text.index(BEGIN):text.index(END) + len(END)]
        made = text.replace(old, new)
    else:
        made = text.rstrip() + "\n\n## Which model types run\n\n" + new + "\n"
    if "--check" in sys.argv:
        sys.exit(0 if made == text else "docs/history/local-models.md: run tools/model_types.py")
    PAGE.write_text(made)
    print(new)


if __name__ == "__main__":
    main()
