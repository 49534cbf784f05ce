#!/usr/bin/env python3
"""Golden files of architectures that transformers does not have, or has in a version of its own, from the code that
their makers published:

    python3 tools/golden_published.py QWEN_7B_FOLDER QWEN_VL_FOLDER CLIP_MODEL_PY

The first two folders hold `modeling_qwen.py` and what it imports, as they lie in the repositories Qwen/Qwen-7B-Chat
(revision 04df5dd) and Qwen/Qwen-VL-Chat-Int4 of the hub; the file is `clip/model.py` of OpenAI's CLIP, as in the
package clip-anytorch 2.6.0. Needs torch, transformers, safetensors, einops. Each makes a tiny random model and computes hidden states of
every layer (and logits); weights are written under the names of the published checkpoints (CLIP: those of its
conversion for transformers, which is what people load).
"""
import hashlib
import importlib.machinery
import importlib.util
import json
import shutil
import sys
import types
import unittest.mock
from pathlib import Path

import torch
from safetensors.torch import save_file

from golden_local import HERE, TEXT, b64, tokenizer

torch.set_num_threads(1)
SIZES = dict(vocab=64, hidden=32, layers=2, heads=4, inner=96, length=64)


def package(folder, name):
    """The folder as a package, so that its files can import one another."""
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module = importlib.util.module_from_spec(spec)
    module.__path__ = [str(folder)]
    sys.modules[name] = module
    return importlib.import_module(f"{name}.modeling_qwen")


def write(name, config, tensors, ids, hidden, logits, source):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    save_file({k: v.detach().clone().contiguous() for k, v in tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer().save(str(folder / "tokenizer.json"))
    golden = {
        "made_with": f"{source}, torch {torch.__version__}, f32",
        "ids": ids,
        "hidden": [b64(h[0].detach().numpy()) for h in hidden],
        "logits": None if logits is None else b64(logits[0].detach().numpy()),
    }
    (folder / "golden.json").write_text(json.dumps(golden))
    print(name, sum(f.stat().st_size for f in folder.iterdir()))


def digest(path):
    return f"{Path(path).name} {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]}"


def watch(blocks):
    """What each block puts out, in order."""
    seen = []
    for block in blocks:
        block.register_forward_hook(lambda _m, _i, out: seen.append(out[0] if isinstance(out, tuple) else out))
    return seen


def first_of(model):
    """Random weights that no two tensors share, norms among them."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() > 1 else 0.1) + (1.0 if p.dim() == 1 and p.mean() > 0.5 else 0.0))


def qwen(name, folder, visual):
    torch.manual_seed(7)
    module = package(folder, name)
    s = SIZES
    shared = dict(vocab_size=s["vocab"], kv_channels=s["hidden"] // s["heads"], layer_norm_epsilon=1e-6, rotary_emb_base=10000,
                  rotary_pct=1.0, no_bias=True, seq_length=s["length"], use_flash_attn=False, fp32=True, padded_vocab_size=s["vocab"])
    if visual:
        config = module.QWenConfig(hidden_size=s["hidden"], num_hidden_layers=s["layers"], num_attention_heads=s["heads"],
                                   intermediate_size=s["inner"], max_position_embeddings=s["length"], visual=dict(
                                       heads=2, image_size=28, image_start_id=60, layers=1, mlp_ratio=2.0, output_dim=128,
                                       patch_size=14, width=16), **shared)
    else:
        config = module.QWenConfig(n_embd=s["hidden"], n_layer=s["layers"], n_head=s["heads"], ffn_hidden_size=s["inner"],
                                   n_positions=s["length"], params_dtype="torch.float32", pos_emb="rotary", use_dynamic_ntk=True, use_logn_attn=True, **shared)
    model = module.QWenLMHeadModel(config).float().eval()
    first_of(model)
    ids = tokenizer().encode(TEXT).ids
    blocks = model.transformer.h
    seen = watch(blocks)
    with torch.no_grad():
        start = model.transformer.wte(torch.tensor([ids]))
        out = model(torch.tensor([ids]), use_cache=False)
        final = model.transformer.ln_f(seen[-1])
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    written = {"model_type": "qwen", "architectures": ["QWenLMHeadModel"], "intermediate_size": s["inner"],
               **{n: getattr(config, n) for n in names}, **{k: v for k, v in shared.items() if k not in ("use_flash_attn", "fp32", "padded_vocab_size")}}
    tensors = {k: v for k, v in model.state_dict().items() if "rotary_emb" not in k and "masked_bias" not in k and not k.endswith(".attn.bias") and "attn_pool" not in k and not k.endswith("visual.proj")}
    write(name, written, tensors, ids, [start, *seen[:-1], final], out.logits, digest(Path(folder) / "modeling_qwen.py"))


def clip(path):
    torch.manual_seed(8)
    spec = importlib.util.spec_from_file_location("clip_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    s = SIZES
    model = module.CLIP(embed_dim=16, image_resolution=28, vision_layers=1, vision_width=64, vision_patch_size=14,
                        context_length=s["length"], vocab_size=s["vocab"], transformer_width=s["hidden"],
                        transformer_heads=s["heads"], transformer_layers=s["layers"]).float().eval()
    first_of(model)
    # Highest in the sequence, as their tokenizer has it.
    ids = [*tokenizer().encode(TEXT).ids, s["vocab"] - 1]
    seen = watch(model.transformer.resblocks)
    with torch.no_grad():
        joint = model.encode_text(torch.tensor([ids]))
        start = model.token_embedding(torch.tensor([ids])) + model.positional_embedding[: len(ids)]
        seen = [x.permute(1, 0, 2) for x in seen]
        final = model.ln_final(seen[-1])
    own, out = model.state_dict(), {}
    out["text_model.embeddings.token_embedding.weight"] = own["token_embedding.weight"]
    out["text_model.embeddings.position_embedding.weight"] = own["positional_embedding"]
    out["text_projection.weight"] = own["text_projection"].T
    for part in ("weight", "bias"):
        out[f"text_model.final_layer_norm.{part}"] = own[f"ln_final.{part}"]
        for i in range(s["layers"]):
            at, to = f"transformer.resblocks.{i}.", f"text_model.encoder.layers.{i}."
            for a, b in (("ln_1", "layer_norm1"), ("ln_2", "layer_norm2"), ("mlp.c_fc", "mlp.fc1"), ("mlp.c_proj", "mlp.fc2"), ("attn.out_proj", "self_attn.out_proj")):
                out[f"{to}{b}.{part}"] = own[f"{at}{a}.{part}"]
            for x, rows in zip("qkv", own[f"{at}attn.in_proj_{part}"].chunk(3)):
                out[f"{to}self_attn.{x}_proj.{part}"] = rows
    config = {"model_type": "clip_text_model", "architectures": ["CLIPTextModelWithProjection"], "hidden_act": "quick_gelu",
              "hidden_size": s["hidden"], "intermediate_size": 4 * s["hidden"], "num_hidden_layers": s["layers"],
              "num_attention_heads": s["heads"], "max_position_embeddings": s["length"], "vocab_size": s["vocab"],
              "layer_norm_eps": 1e-5, "projection_dim": 16, "bos_token_id": 1, "eos_token_id": s["vocab"] - 1, "pad_token_id": 1}
    write("clip_published", config, out, ids, [start, *seen[:-1], final], None, digest(path))
    return joint


def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def main():
    # `chat` alone needs this; it is not called.
    sys.modules.setdefault("transformers_stream_generator", types.ModuleType("transformers_stream_generator"))
    for name in ("torchvision", "torchvision.transforms", "PIL", "PIL.Image"):
        if name not in sys.modules and not there(name):
            # Pictures are prepared with these; none is shown here.
            sys.modules[name] = unittest.mock.MagicMock(__spec__=importlib.machinery.ModuleSpec(name, None))
    qwen_7b, qwen_vl, clip_file = sys.argv[1:4]
    qwen("qwen_published", qwen_7b, visual=False)
    qwen("qwen_vl_published", qwen_vl, visual=True)
    clip(clip_file)


if __name__ == "__main__":
    main()
