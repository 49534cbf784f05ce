"""Ready wrappers: a loaded model of transformers, and a function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any


# Tokens that end a text in training; before a plain text stands one of them where the tokenizer adds nothing.
TEXT_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<｜end▁of▁sentence｜>")


class TransformersModel:
    """A causal language model of transformers with its tokenizer, asked as Mary's own engine is: prefix and
    continuation are tokenised together, and hidden states are those of `output_hidden_states`."""

    def __init__(self, model: Any, tokenizer: Any, name: str | None = None, batch_size: int = 1) -> None:
        self._model, self._tokenizer = model.eval(), tokenizer
        if batch_size > 1:
            self.batch_size = batch_size
            self.score_many = self._score_many
        config = model.config
        self.name = name or getattr(config, "_name_or_path", "") or type(model).__name__
        self.architecture = type(model).__name__
        self.parameters = int(sum(p.numel() for p in model.parameters()))
        self.layers = int(getattr(config, "num_hidden_layers", 0))
        self.context_length = int(getattr(config, "max_position_embeddings", 0) or 0)
        self.chat = getattr(tokenizer, "chat_template", None) is not None
        dtype = str(next(model.parameters()).dtype).replace("torch.", "")
        self.conventions = {"engine": "transformers", "dtype": dtype}
        self._fingerprint: str | None = None

    def fingerprint(self) -> str:
        """Of weights, configuration and tokenizer, so that answers are found again."""
        if self._fingerprint is None:
            digest = hashlib.sha256()
            digest.update(json.dumps(self._model.config.to_dict(), sort_keys=True, default=str).encode())
            for name, tensor in sorted(self._model.state_dict().items()):
                digest.update(name.encode())
                flat = tensor.detach().cpu().contiguous().view(-1)
                digest.update(str(flat.dtype).encode())
                digest.update(flat.view(_bytes_type()).numpy().tobytes())
            backend = getattr(self._tokenizer, "backend_tokenizer", None)
            digest.update((backend.to_str() if backend is not None else repr(self._tokenizer)).encode())
            self._fingerprint = "transformers:" + digest.hexdigest()
        return self._fingerprint

    def _encoded(self, text: str, start: str) -> tuple[list[int], list[tuple[int, int]]]:
        named = start not in ("auto", "always", "harness", "model", "never", "none")
        bare = named or start in ("never", "none")
        encoded = self._tokenizer(text, return_offsets_mapping=True, add_special_tokens=not bare)
        ids, offsets = list(encoded["input_ids"]), [tuple(o) for o in encoded["offset_mapping"]]
        begins = bool(ids) and ids[0] in self._tokenizer.all_special_ids and offsets[0][0] == offsets[0][1]
        if start in ("auto", "always", "harness") and not begins or named:
            first = self._first(start)
            if first is not None:
                ids.insert(0, first)
                offsets.insert(0, (0, 0))
        if self.context_length and len(ids) > self.context_length:
            raise TooLong(len(ids), self.context_length)
        return ids, offsets

    def _first(self, start: str) -> int | None:
        """The token before a plain text: by the harness' rule, by name, or the one that ends a text."""
        tokenizer = self._tokenizer
        if start in ("always", "harness"):
            begin: int | None = tokenizer.bos_token_id
            end: int | None = tokenizer.eos_token_id
            return end if begin is None else begin
        known = tokenizer.get_vocab()
        if start != "auto":
            if start not in known:
                raise ValueError(f"this model has no token {start!r} to put before a text")
            return int(known[start])
        template = getattr(tokenizer, "chat_template", None)
        template = template if isinstance(template, str) else ""
        ends = [tokenizer.eos_token, *TEXT_ENDS, tokenizer.bos_token]
        plain = [t for t in ends if t in known and (t in (*TEXT_ENDS, "<s>", "<bos>") or t not in template)]
        return int(known[plain[0]]) if plain else None

    def _text(self, prompt: Any) -> str:
        if isinstance(prompt, str):
            return prompt
        text: str = self._tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        return text

    def score(self, prefix: Any, continuations: list[str], start: str = "model") -> list[dict[str, Any]]:
        """Log-probabilities of the continuations' tokens."""
        before = self._text(prefix)
        return [self._scored([self._asked(before, continuation, start)])[0] for continuation in continuations]

    def _score_many(self, prefixes: list[Any], continuations: list[list[str]], start: str = "model") -> list[list[dict[str, Any]]]:
        """The same for several prefixes, `batch_size` texts in a forward pass."""
        asked = [
            self._asked(self._text(prefix), continuation, start)
            for prefix, own in zip(prefixes, continuations)
            for continuation in own
        ]
        found: list[dict[str, Any]] = []
        for at in range(0, len(asked), self.batch_size):
            found += self._scored(asked[at : at + self.batch_size])
        results = iter(found)
        return [[next(results) for _ in own] for own in continuations]

    def _asked(self, before: str, continuation: str, start: str) -> tuple[str, int, list[int], list[tuple[int, int]]]:
        return (before + continuation, len(before), *self._encoded(before + continuation, start))

    def _scored(self, asked: list[tuple[str, int, list[int], list[tuple[int, int]]]]) -> list[dict[str, Any]]:
        import torch

        # What stands behind a text is not seen by a causal model: the mask only says so.
        longest = max(len(ids) for _, _, ids, _ in asked)
        rows = torch.tensor([ids + [0] * (longest - len(ids)) for _, _, ids, _ in asked], device=self._model.device)
        mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for _, _, ids, _ in asked], device=self._model.device)
        with torch.inference_mode():
            seen = self._model(rows) if len(asked) == 1 else self._model(rows, attention_mask=mask)
        out = []
        for row, (text, length, ids, offsets) in enumerate(asked):
            own = [n for n, (a, b) in enumerate(offsets) if b > max(a, length)]
            scored = [n for n in own if n > 0]
            logprobs = torch.log_softmax(seen.logits[row, : len(ids)].float(), dim=-1)
            out.append(
                {
                    "tokens": [text[slice(*offsets[n])] for n in scored],
                    "logprobs": [float(logprobs[n - 1, ids[n]]) for n in scored],
                    "first_unscored": len(scored) < len(own),
                    "boundary_merged": bool(own) and offsets[own[0]][0] < length,
                }
            )
        return out

    def generate(
        self,
        prompt: Any,
        max_tokens: int,
        temperature: float = 0.0,
        top_p: float | None = None,
        top_k: int | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """An answer in words."""
        import torch

        encoded = self._tokenizer(self._text(prompt), return_tensors="pt", add_special_tokens=isinstance(prompt, str))
        encoded = {k: v.to(self._model.device) for k, v in encoded.items() if k in ("input_ids", "attention_mask")}
        drawn: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            drawn = {"do_sample": True, "temperature": temperature, "top_p": top_p or 1.0, "top_k": top_k or 0}
            torch.manual_seed(seed or 0)
        pad = self._tokenizer.pad_token_id
        with torch.inference_mode():
            ids = self._model.generate(
                **encoded, max_new_tokens=max_tokens, pad_token_id=pad if pad is not None else self._tokenizer.eos_token_id, **drawn
            )[0][encoded["input_ids"].shape[1] :]
        ended = bool(len(ids)) and int(ids[-1]) == self._tokenizer.eos_token_id
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        return {"text": text, "finish": "stop" if ended or len(ids) < max_tokens else "length"}

    def observe(self, text: str) -> dict[str, Any]:
        """Hidden states of all layers."""
        import torch

        ids, offsets = self._encoded(text, "model")
        with torch.inference_mode():
            seen = self._model(torch.tensor([ids], device=self._model.device), output_hidden_states=True)
        hidden = torch.stack([layer[0].float().cpu() for layer in seen.hidden_states]).numpy()
        return {"hidden": hidden, "offsets": offsets}


def _bytes_type() -> Any:
    import torch

    return torch.uint8


class TooLong(ValueError):
    """A text that does not fit the context window."""

    kind = "context_too_long"

    def __init__(self, found: int, most: int) -> None:
        super().__init__(f"the text has {found} tokens, the model reads {most}")


def transformers_model(model: Any, tokenizer: Any, *, name: str | None = None, batch_size: int = 1) -> TransformersModel:
    """A loaded model of transformers and its tokenizer as a model under study. With a `batch_size` so many texts
    are scored in one forward pass; the last digits may then depend on which texts stand together."""
    return TransformersModel(model, tokenizer, name, batch_size)


class FunctionModel:
    """A function from prompt to answer as a model under study."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None,
        fingerprint: str | None,
        chat: bool,
        images: bool,
        batch_size: int,
    ) -> None:
        self._function = function
        self.name = name or getattr(function, "__name__", "function")
        self.chat, self.images = chat, images
        if fingerprint is not None:
            self.fingerprint = fingerprint
        # What the function takes decides what it is told.
        if batch_size > 1:
            self.batch_size, self.generate_many = batch_size, function
        else:
            self.generate = function


def callable_model(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    fingerprint: str | None = None,
    chat: bool = False,
    images: bool = False,
    batch_size: int = 1,
) -> FunctionModel:
    """A function `f(prompt, …) -> str` as a model. It is told `max_tokens`, `temperature`, `stop` and `seed`
    where it has parameters of these names. With a `fingerprint` of your own its answers are found again by
    another process; raise it whenever the function would answer otherwise. With a `batch_size` the function is
    given a list of prompts (and `seeds`) and returns a list."""
    return FunctionModel(function, name, fingerprint, chat, images, batch_size)
