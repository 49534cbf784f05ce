"""Golden gradients of `mary-train`: PyTorch's, in 64 bits, on a tiny model of every family that is learned.

    python tools/golden_gradients.py crates/models/mary-train/tests/golden/gradients

Needs torch, transformers, peft and safetensors. Weights are not stored: both sides make them from the
name of the tensor and the place in it (`numbers`). A file holds the tokens, the gradient of every
tensor, the gradients of adapters on every matrix of the blocks (PEFT), and as metadata the
configuration and both losses. `llava` is a model that sees: a SigLIP tower, a projector and a LLaMA, two
texts with a picture each; it has no adapters.

    python tools/golden_gradients.py --bfloat16 [NAME …]

writes nothing: it prints how far PyTorch's own bfloat16 (base in bfloat16, adapters in float32, as PEFT has it)
lies from 64 bits in the loss and in the adapters' gradients, on the same rounded base. That is what
`tests/gpu16.rs` allows a GPU to be measured against.
"""
import json
import pathlib
import sys
import zlib

import numpy
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file

RANK, ALPHA = 2, 2
SMALL = dict(vocab_size=29, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
             max_position_embeddings=32)
LLAMA = dict(SMALL, num_key_value_heads=2, head_dim=6, rms_norm_eps=1e-5, tie_word_embeddings=False)
SEPARATE = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

NEOX = [False]

# name: (configuration class, fields, target modules)
MODELS = {
    "gpt_neox": ("GPTNeoXConfig", dict(SMALL, rotary_pct=0.5, tie_word_embeddings=False),
                 ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]),
    "gpt_neox_sequential": ("GPTNeoXConfig", dict(SMALL, rotary_pct=1.0, use_parallel_residual=False, hidden_act="gelu_new"),
                            ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]),
    "gpt2": ("GPT2Config", dict(vocab_size=29, n_embd=16, n_layer=2, n_head=4, n_positions=32, n_inner=24),
             ["c_attn", "c_proj", "c_fc"]),
    "llama": ("LlamaConfig", LLAMA, SEPARATE),
    "llama_llama3": ("LlamaConfig", dict(LLAMA, rope_theta=500.0, attention_bias=True, rope_scaling=dict(
        rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=16)), SEPARATE),
    "mistral": ("MistralConfig", dict(LLAMA, sliding_window=5), SEPARATE),
    "qwen2": ("Qwen2Config", {**{k: v for k, v in LLAMA.items() if k != "head_dim"}, "tie_word_embeddings": True}, SEPARATE),
    "qwen3": ("Qwen3Config", LLAMA, SEPARATE),
    "gemma2": ("Gemma2Config", dict(LLAMA, tie_word_embeddings=True, sliding_window=5, query_pre_attn_scalar=9,
                                    attn_logit_softcapping=2.0, final_logit_softcapping=3.0), SEPARATE),
    "gemma3": ("Gemma3TextConfig", dict(LLAMA, tie_word_embeddings=True, sliding_window=5,
                                        query_pre_attn_scalar=9, layer_types=["sliding_attention", "full_attention"]),
               SEPARATE),
    "phi": ("PhiConfig", dict(SMALL, partial_rotary_factor=0.5, num_key_value_heads=4),
            ["q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"]),
    "phi3": ("Phi3Config", dict({k: v for k, v in LLAMA.items() if k != "head_dim"}, sliding_window=None, pad_token_id=0,
                                bos_token_id=1, eos_token_id=2),
             ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
    "opt": ("OPTConfig", dict(vocab_size=29, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, ffn_dim=24,
                              max_position_embeddings=32, word_embed_proj_dim=16, dropout=0.0, pad_token_id=1),
            ["q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"]),
    "falcon_7b": ("FalconConfig", dict(vocab_size=29, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
                                       new_decoder_architecture=False, multi_query=True, parallel_attn=True, bias=False, alibi=False,
                                       ffn_hidden_size=24, max_position_embeddings=32),
                  ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]),
    "falcon_new": ("FalconConfig", dict(vocab_size=29, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
                                        new_decoder_architecture=True, bias=False, alibi=False, ffn_hidden_size=24,
                                        max_position_embeddings=32),
                   ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]),
}

SEEING = dict(
    text_config=dict(LLAMA, model_type="llama"),
    vision_config=dict(model_type="siglip_vision_model", hidden_size=12, intermediate_size=20, num_hidden_layers=2,
                       num_attention_heads=3, image_size=8, patch_size=4, vision_use_head=False),
    image_token_index=2, vision_feature_layer=-1, vision_feature_select_strategy="full", projector_hidden_act="gelu",
    tie_word_embeddings=False)


def numbers(name, shape):
    """Numbers of a tensor: exact in 32 bits, the same in Rust."""
    count = int(numpy.prod(shape))
    place = numpy.arange(count, dtype=numpy.uint64)
    mixed = (place * 2654435761 + zlib.crc32(name.encode())) % (1 << 32)
    mixed = ((mixed ^ (mixed >> 15)) * 2246822519) % (1 << 32)
    mixed = ((mixed ^ (mixed >> 13)) * 3266489917) % (1 << 32)
    part = (mixed >> 8).astype(numpy.float64) / (1 << 24) - 0.5
    if len(shape) == 2:
        return torch.tensor(part.reshape(shape))
    return torch.tensor((part * 0.5 + (1.0 if "norm" in name.lower() or ".ln_" in name else 0.0)).reshape(shape))


def fill(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(numbers(bare(name), p.shape))


def loss_of(model, tokens):
    out = model(input_ids=tokens[:, :-1], use_cache=False).logits
    return torch.nn.functional.cross_entropy(out.flatten(0, 1).double(), tokens[:, 1:].flatten())


def bare(name):
    """The name in a checkpoint: without PEFT's wrappers, and GPT-NeoX's head as its files call it."""
    name = name.removeprefix("base_model.model.").replace(".base_layer", "").replace(".default", "")
    return name.replace("lm_head.", "embed_out.") if NEOX[0] else name


def model_of(name):
    kind, fields, targets = MODELS[name]
    NEOX[0] = kind == "GPTNeoXConfig"
    config = getattr(transformers, kind)(**fields)
    config._attn_implementation = "eager"
    for key in ("attn_pdrop", "embd_pdrop", "resid_pdrop", "attention_dropout", "hidden_dropout"):
        if hasattr(config, key):
            setattr(config, key, 0.0)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").double().eval()
    fill(model)
    torch.manual_seed(5)
    tokens = torch.randint(3, 29, (2, 15))  # below lie padding tokens, whose rows PyTorch does not train
    lora = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=targets, lora_dropout=0.0, bias="none", task_type="CAUSAL_LM")
    return config, model, tokens, lora


def bfloat16(name):
    """Errors of PyTorch's bfloat16: of the loss, and of all adapters' gradients together."""
    results = []
    for short in (False, True):
        _, model, tokens, lora = model_of(name)
        model = model.bfloat16() if short else model.bfloat16().double()
        tuned = get_peft_model(model, lora).eval()
        with torch.no_grad():
            for n, p in tuned.named_parameters():
                if "lora_" in n:
                    p.data = numbers(bare(n), p.shape).to(torch.float32 if short else torch.float64)
        loss = loss_of(tuned, tokens)
        loss.backward()
        parts = [p.grad.double().flatten() for n, p in tuned.named_parameters() if "lora_" in n]
        results.append((loss.item(), torch.cat(parts)))
    (want_loss, want), (loss, got) = results
    return abs(loss / want_loss - 1), ((got - want).norm() / want.norm()).item()


def run(name):
    targets = MODELS[name][2]
    config, model, tokens, lora = model_of(name)
    loss = loss_of(model, tokens)
    loss.backward()
    out = {bare(n): p.grad.float().contiguous() for n, p in model.named_parameters()}
    out["tokens"] = tokens.to(torch.int32)
    model.zero_grad()
    tuned = get_peft_model(model, lora).double().eval()
    fill(tuned)
    adapted = loss_of(tuned, tokens)
    adapted.backward()
    for n, p in tuned.named_parameters():
        if "lora_" in n:
            out[bare(n)] = p.grad.float().contiguous()
    written = json.loads(config.to_json_string(use_diff=True))
    written["model_type"] = config.model_type
    golden = dict(config=written, loss=loss.item(), adapted=adapted.item(), rank=RANK, alpha=ALPHA, targets=targets)
    return out, {"golden": json.dumps(golden)}


def llava_name(name):
    """The name in a LLaVA checkpoint."""
    name = name.removeprefix("model.")
    name = name.replace("language_model.", "language_model.model.", 1) if name.startswith("language_model.") else name
    name = name if ".vision_model." in name else name.replace("vision_tower.", "vision_tower.vision_model.", 1)
    return "language_model." + name if name.startswith("lm_head.") else name


def see():
    config = transformers.LlavaConfig(**SEEING)
    model = transformers.LlavaForConditionalGeneration(config).double().eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        for name, p in model.named_parameters():
            flat = (p.shape[0], p[0].numel()) if p.dim() > 2 else p.shape
            p.copy_(numbers(llava_name(name), flat).view(p.shape))
    torch.manual_seed(5)
    tokens = torch.randint(3, 29, (2, 15))
    tokens[0, 2:6] = tokens[1, 0:4] = SEEING["image_token_index"]
    pictures = numbers("pictures", (2, 3, 8, 8)) * 4
    out = model(input_ids=tokens[:, :-1], pixel_values=pictures, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(out.flatten(0, 1).double(), tokens[:, 1:].flatten())
    loss.backward()
    # Behind the layer that is read nothing is learned, and PyTorch has no gradient.
    out = {llava_name(n): p.grad.float().contiguous() for n, p in model.named_parameters() if p.grad is not None}
    out["tokens"] = tokens.to(torch.int32)
    return out, {"golden": json.dumps(dict(config=config.to_dict(), loss=loss.item()))}


if __name__ == "__main__":
    if sys.argv[1] == "--bfloat16":
        for name in sys.argv[2:] or MODELS:
            print("%s: loss %.1e, adapters %.1e" % (name, *bfloat16(name)))
        sys.exit()
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or [*MODELS, "llava"]:
        tensors, metadata = see() if name == "llava" else run(name)
        save_file(tensors, folder / f"{name}.safetensors", metadata=metadata)
        golden = json.loads(metadata["golden"])
        print(name, golden["loss"], golden.get("adapted", ""))
