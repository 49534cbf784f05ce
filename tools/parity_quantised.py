#!/usr/bin/env python3
"""How far our scores of quantised models lie from their dequantised selves, token by token.

    PYTHON tools/parity_quantised.py MARY TEXTS.txt MODEL.gguf … [-- OPTIONS OF MARY]

Needs torch, tokenizers and gguf; LLaMA, Qwen2 and Gemma 3 shapes. The reference dequantises every tensor with the gguf package and
computes in 64 bits, so that its own rounding is not counted as ours; beside it stands the same in 32 bits, which is
what another implementation may give. Texts are one a line; nothing stands before them, so that first tokens are not
scored. Printed: tokens, largest and mean distance in nats of a token, largest distance of a sentence.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import torch
from torch.nn.functional import linear, silu, gelu


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.tensors = {t.name: t for t in reader.tensors}
        arch = reader.fields["general.architecture"].contents()
        self.arch = arch
        get = lambda name, default=None: (
            reader.fields[f"{arch}.{name}"].contents() if f"{arch}.{name}" in reader.fields else default)
        self.layers, self.heads = get("block_count"), get("attention.head_count")
        self.kv, self.eps = get("attention.head_count_kv"), get("attention.layer_norm_rms_epsilon")
        self.base = get("rope.freq_base", 10000.0)
        self.width = get("embedding_length")
        self.size = get("attention.key_length", self.width // self.heads)
        self.window = get("attention.sliding_window")

    def get(self, name, dtype):
        tensor = self.tensors.get(name)
        if tensor is None:
            return None
        return torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy()).to(dtype)

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * weight

    def rotate(self, x, base):
        """LLaMA's files have pairs side by side, the others one half after the other."""
        n, d = x.shape[0], x.shape[-1]
        angle = torch.outer(torch.arange(n).double(), base ** (-torch.arange(0, d, 2).double() / d))
        cos, sin = (f(angle).to(x.dtype)[:, None] for f in (torch.cos, torch.sin))
        if self.arch == "llama":
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
        a, b = x[..., : d // 2], x[..., d // 2:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    @torch.no_grad()
    def scores(self, texts, dtype):
        embedding = self.get("token_embd.weight", torch.float32)
        gemma = self.arch.startswith("gemma")
        scale = self.width ** 0.5 if gemma else 1.0
        rows = [embedding[ids].to(dtype) * scale for ids in texts]
        for i in range(self.layers):
            part = lambda name: self.get(f"blk.{i}.{name}", dtype)
            norms = {n: part(f"{n}.weight") for n in (
                "attn_norm", "ffn_norm", "attn_q_norm", "attn_k_norm", "post_attention_norm", "post_ffw_norm")}
            q, k, v, o = ((part(f"attn_{n}.weight"), part(f"attn_{n}.bias")) for n in ("q", "k", "v", "output"))
            gate, up, down = (part(f"ffn_{n}.weight") for n in ("gate", "up", "down"))
            local = gemma and (i + 1) % 6 != 0
            base = 10000.0 if local else self.base
            for at, x in enumerate(rows):
                h = self.norm(x, norms["attn_norm"])
                q_, k_, v_ = (linear(h, *w).view(len(x), -1, self.size) for w in (q, k, v))
                if norms["attn_q_norm"] is not None:
                    q_, k_ = self.norm(q_, norms["attn_q_norm"]), self.norm(k_, norms["attn_k_norm"])
                q_, k_ = self.rotate(q_, base), self.rotate(k_, base)
                k_, v_ = (t.repeat_interleave(self.heads // self.kv, 1) for t in (k_, v_))
                weights = torch.einsum("qhd,khd->hqk", q_, k_) * self.size ** -0.5
                weights = weights.masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf).softmax(-1)
                h = linear(torch.einsum("hqk,khd->qhd", weights, v_).flatten(1), *o)
                if norms["post_attention_norm"] is not None:
                    h = self.norm(h, norms["post_attention_norm"])
                x = x + h
                h = self.norm(x, norms["ffn_norm"])
                act = (lambda t: gelu(t, approximate="tanh")) if gemma else silu
                h = linear(act(linear(h, gate)) * linear(h, up), down)
                if norms["post_ffw_norm"] is not None:
                    h = self.norm(h, norms["post_ffw_norm"])
                rows[at] = x + h
        head = self.get("output.weight", torch.float32)
        head = (embedding if head is None else head)
        last, out = self.get("output_norm.weight", dtype), []
        for ids, x in zip(texts, rows):
            h = self.norm(x[:-1], last)
            logits = torch.cat([linear(h, part.to(dtype)) for part in head.split(16384)], 1)
            out.append(torch.log_softmax(logits, -1).gather(1, ids[1:, None])[:, 0].double().tolist())
        return out


def ours(mary, path, file, options):
    """Scores, and the ids that a run of ours keeps for every token."""
    with tempfile.TemporaryDirectory() as place:
        command = [mary, "score", file, "-m", f"gguf/{path.resolve()}", "--by", "token", "--format", "jsonl", "--start",
                   "none", "--no-cache", "-q", "--output-path", place, *options]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = {}
    for row in map(json.loads, lines):
        if row["logprob"] is not None:
            rows.setdefault(int(row["id"]), []).append((row["position"], row["logprob"]))
    return [[value for _, value in sorted(rows[i])] for i in sorted(rows)]


def ids_of_pieces(mary, path, file, texts):
    """The ids of a SentencePiece vocabulary, which transformers does not read from a GGUF file of Gemma: the pieces are
    those that we cut the text into, looked up in the file. So this holds the scores to account, not the tokenizer."""
    vocabulary = {piece: i for i, piece in enumerate(
        gguf.GGUFReader(path).fields["tokenizer.ggml.tokens"].contents())}
    command = [mary, "score", file, "-m", f"gguf/{path.resolve()}", "--by", "token", "--format", "jsonl", "--start",
               "none", "--no-cache", "-q"]
    with tempfile.TemporaryDirectory() as place:
        command += ["--output-path", place]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    ends = {}
    for row in map(json.loads, lines):
        ends.setdefault(int(row["id"]), []).append((row["start"], row["end"]))
    out = []
    for number, text in enumerate(texts, 1):
        spans = sorted(ends[number])
        pieces = [text[: spans[0][0]]] * (spans[0][0] > 0) + [text[a:b] for a, b in spans]
        out.append(torch.tensor([vocabulary[piece.replace(" ", "\u2581")] for piece in pieces]))
    return out


def distance(a, b):
    assert [len(x) for x in a] == [len(x) for x in b], "not the same tokens"
    by_text = [[x - y for x, y in zip(p, q)] for p, q in zip(a, b)]
    tokens = [abs(d) for text in by_text for d in text]
    return len(tokens), max(tokens), sum(tokens) / len(tokens), max(abs(sum(t)) for t in by_text)


def main():
    from transformers import AutoTokenizer
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    (mary, file, *models), options = words[:cut], words[cut + 1:]
    texts = Path(file).read_text().splitlines()
    print(f"{'model':34} {'':12} tokens   largest      mean  sentence")
    read = {}
    for path in map(Path, models):
        # Kinds of one model share its tokenizer: `smollm2-135m.Q4_K_M.gguf`, `smollm2-135m.Q8_0.gguf`.
        name = path.name.split(".Q")[0]
        if name not in read and "gemma" in name:
            read[name] = ids_of_pieces(mary, path, file, texts)
        elif name not in read:
            tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
            read[name] = [torch.tensor(tokenizer.encode(text, add_special_tokens=False)) for text in texts]
        ids = read[name]
        model = Model(path)
        exact = model.scores(ids, torch.float64)
        found = {"ours": ours(mary, path, file, options), "torch, f32": model.scores(ids, torch.float32)}
        for who, of in found.items():
            n, most, mean, sentence = distance(of, exact)
            print(f"{path.name:34} {who:12} {n:6} {most:9.1e} {mean:9.1e} {sentence:9.1e}", flush=True)


main()
