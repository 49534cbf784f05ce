#!/usr/bin/env python3
"""Writes the tiny models that see (crates/models/mary-local/tests/golden_vision) as pairs of GGUF files, a language model and a
tower with its projector (mmproj), in the conventions of llama.cpp's converters.

    python tools/golden_mmproj.py              # -> crates/models/mary-local/tests/golden_vision/NAME_gguf/
    python tools/golden_mmproj.py gemma3       # these alone

Needs gguf, numpy and safetensors. Tensors are named by the package's own table. A test holds every pair to the scores and
states that transformers computed from the folder it was made of. All numbers stay float32. Where a tiny model differs from
what llama.cpp knows by heart (pixels, windows, every how many layers one is global), the package's optional key says so.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

from golden_gguf import converted, metadata

HERE = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests" / "golden_vision"
# Folder -> architecture of the language model, projector.
CASES = {
    "llava_next": ("llama", "mlp"),
    "idefics3": ("llama", "idefics3"),
    "qwen2_vl": ("qwen2vl", "qwen2vl_merger"),
    "qwen2_5_vl": ("qwen2vl", "qwen2.5vl_merger"),
    "gemma3": ("gemma3", "gemma3"),
}


def vocabulary(writer, source, rows):
    """The words as pieces, the tokens around pictures as control tokens, and the rest unused."""
    file = json.loads((source / "tokenizer.json").read_text())
    words = {i: ("▁" + w, 1) for w, i in file["model"]["vocab"].items()}
    words |= {t["id"]: (t["content"], 3) for t in file["added_tokens"]}
    words[0] = (words[0][0], 2)
    tokens = [words.get(i, (f"[PAD{i}]", 5)) for i in range(rows)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([t for t, _ in tokens])
    writer.add_token_scores([0.0] * rows)
    writer.add_token_types([k for _, k in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def language(writer, arch, source, config, tensors):
    text = config["text_config"]
    rope = text.get("rope_parameters") or {}
    local = rope.get("sliding_attention")
    metadata(writer, arch, {**text, "rope_parameters": rope.get("full_attention", rope)})
    if local:
        writer.add_rope_freq_base_swa(local["rope_theta"])
        writer.add_sliding_window_pattern(text["layer_types"].index("full_attention") + 1)
    if "mrope_section" in rope:
        writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
    vocabulary(writer, source, text["vocab_size"])
    known = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known[arch], text["num_hidden_layers"])
    for name, x in tensors.items():
        plain = name.replace("language_model.", "").replace("text_model.", "")
        found = names.get_name(plain, try_suffixes=(".weight", ".bias"))
        if found is None:
            sys.exit(f"{name} has no name in {arch}")
        writer.add_tensor(found, np.ascontiguousarray(converted(arch, text, plain, x)))


def tower_metadata(writer, kind, source, config, blocks):
    vision = config["vision_config"]
    shown = json.loads((source / "preprocessor_config.json").read_text())
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type(kind)
    qwen = kind.startswith("qwen")
    writer.add_vision_projection_dim(config["text_config"]["hidden_size"])
    writer.add_vision_image_size(vision.get("image_size", 560))
    writer.add_vision_patch_size(vision["patch_size"])
    writer.add_vision_embedding_length(vision.get("embed_dim", vision["hidden_size"]))
    # For Qwen2-VL the converter writes the language model's width here.
    writer.add_vision_feed_forward_length(vision["hidden_size"] if "embed_dim" in vision else vision["intermediate_size"])
    writer.add_vision_block_count(blocks)
    writer.add_vision_head_count(vision.get("num_heads", vision.get("num_attention_heads")))
    writer.add_vision_attention_layernorm_eps(1e-6 if qwen else vision.get("layer_norm_eps", 1e-6))
    writer.add_vision_image_mean(shown["image_mean"])
    writer.add_vision_image_std(shown["image_std"])
    if qwen:
        writer.add_uint32(gguf.Keys.ClipVision.IMAGE_MIN_PIXELS, shown["size"]["shortest_edge"])
        writer.add_uint32(gguf.Keys.ClipVision.IMAGE_MAX_PIXELS, shown["size"]["longest_edge"])
        if "fullatt_block_indexes" in vision:
            writer.add_vision_use_silu(True)
            writer.add_vision_n_wa_pattern(vision["fullatt_block_indexes"][0] + 1)
            writer.add_uint32(gguf.Keys.ClipVision.WINDOW_SIZE, vision["window_size"])
    elif kind == "idefics3":
        writer.add_vision_use_gelu(True)
        writer.add_vision_projector_scale_factor(config["scale_factor"])
        writer.add_vision_preproc_image_size(shown["size"]["longest_edge"])
    elif kind == "gemma3":
        writer.add_vision_use_gelu(True)
        patches = vision["image_size"] // vision["patch_size"]
        writer.add_vision_projector_scale_factor(patches // int(config["mm_tokens_per_image"] ** 0.5))
    else:
        writer.add_vision_use_gelu(False)
        writer.add_string("clip.vision.mm_patch_merge_type", "spatial_unpad")
        writer.add_array("clip.vision.image_grid_pinpoints", [n for pair in config["image_grid_pinpoints"] for n in pair])
        writer.add_array("clip.vision.feature_layer", [blocks])


def pieces(kind, name, x):
    """What the converter makes of a tensor: names in the terms of its table, and numbers."""
    name = name.removeprefix("model.") if name.startswith("model.visual.") else name
    if name.startswith("vision_tower.") and "vision_model" not in name:
        name = name.replace("vision_tower.", "vision_tower.vision_model.")
    if ".head." in name:
        return []
    if ".qkv." in name:
        return [(name.replace("qkv", part), x[i * len(x) // 3:(i + 1) * len(x) // 3]) for i, part in enumerate("qkv")]
    if name == "visual.patch_embed.proj.weight":
        return [("=v.patch_embd.weight", x[:, :, 0]), ("=v.patch_embd.weight.1", x[:, :, 1])]
    if kind == "gemma3":
        name = name.replace("_weight", ".weight")
        return [(name, x + 1 if "soft_emb_norm" in name else x)]
    if kind == "mlp":  # the older converter's own names
        if name == "image_newline":
            return [("=model.image_newline", x)]
        if "linear_" in name:
            return [("=" + name.replace("multi_modal_projector.linear_1", "mm.0").replace("multi_modal_projector.linear_2", "mm.2"), x)]
        if "post_layernorm" in name:
            return []
        if "mlp.fc" in name:
            layer = name.split("layers.")[1].split(".")[0]
            part, suffix = ("ffn_down" if "fc1" in name else "ffn_up"), name.rsplit(".", 1)[1]
            return [(f"=v.blk.{layer}.{part}.{suffix}", x)]
    return [(name, x)]


def write(name):
    arch, kind = CASES[name]
    source, folder = HERE / name, HERE / f"{name}_gguf"
    folder.mkdir(exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    vision = config["vision_config"]
    blocks = vision.get("depth", vision.get("num_hidden_layers"))
    if kind == "mlp":
        blocks -= 1  # LLaVA reads the states before the last block
    seen, said = {}, {}
    for tensor, x in load_file(source / "model.safetensors").items():
        eyes = any(p in tensor for p in ("vis", "connector", "projector", "image_newline"))
        (seen if eyes else said)[tensor] = x
    words = gguf.GGUFWriter(str(folder / "text.gguf"), arch)
    language(words, arch, source, config, said)
    tower = gguf.GGUFWriter(str(folder / "mmproj.gguf"), "clip")
    tower_metadata(tower, kind, source, config, blocks)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, blocks + 1)
    for tensor, x in seen.items():
        if kind == "mlp" and f"layers.{blocks}." in tensor:
            continue
        for plain, numbers in pieces(kind, tensor, x):
            found = plain[1:] if plain.startswith("=") else names.get_name(plain, try_suffixes=(".weight", ".bias"))
            if found is None:
                # CLIP's row for the whole picture has no suffix.
                found = names.get_name(plain)
            if found is None:
                sys.exit(f"{name}: {tensor} ({plain}) has no name in a tower")
            tower.add_tensor(found, np.ascontiguousarray(numbers, dtype=np.float32))
    for writer in (words, tower):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    print(name, [f.stat().st_size for f in sorted(folder.iterdir())], "bytes")


if __name__ == "__main__":
    for case in sys.argv[1:] or list(CASES):
        write(case)
