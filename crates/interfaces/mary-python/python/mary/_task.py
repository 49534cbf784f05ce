"""A task made of Python: items from an iterable, and a function that judges."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._errors import UsageError

Judge = Callable[[dict[str, Any], Any], Any]


class Scores(list[float]):
    """Log-probabilities of an item's continuations; `logprobs` and `tokens` hold those of their tokens."""

    def __init__(self, continuations: list[dict[str, Any]]) -> None:
        super().__init__(math.fsum(c["logprobs"]) for c in continuations)
        self.logprobs: list[list[float]] = [c["logprobs"] for c in continuations]
        self.tokens: list[list[str]] = [c["tokens"] for c in continuations]


class Task:
    """Items and a judge.

    An item is a mapping with `prompt` (answered in words), or `continuations` and perhaps `prefix` (scored),
    or `text` (hidden states); besides these `target`, `id`, `tags`, `cluster`, and whatever the judge wants
    to see. `judge(item, answer)` gets the item and a string, a list of log-probabilities (:class:`Scores`),
    or an array of vectors (layers, width), and returns a score from 0 to 1, true or false, None where there
    is nothing to judge, or a mapping with `score`, `parsed` and `measures`. Without a judge, an answer is
    right when it is the target (letters of either case), a score when the target's continuation is the most
    probable; ties share.

    The task is known by the hash of its items and of its judge's source: other items are another task.
    """

    def __init__(
        self,
        id: str,
        items: Iterable[Mapping[str, Any]],
        judge: Judge | None = None,
        *,
        title: str | None = None,
        about: str = "",
        chance: float | None = None,
        number: bool = False,
        max_tokens: int = 32,
        temperature: float = 0.0,
        stop: Iterable[str] = (),
        start: str = "model",
        chat: bool = False,
        layers: str = "last",
    ) -> None:
        self.id = id if "/" in id else f"mine/{id}"
        self._judge = judge or default_judge
        self._chat = chat
        sampling = {"temperature": temperature, "max_tokens": max_tokens, "stop": list(stop)}
        self._items: dict[str, dict[str, Any]] = {}
        asked = []
        for n, given in enumerate(items):
            item = dict(given)
            name = str(item.setdefault("id", str(n)))
            if name in self._items:
                raise UsageError(f"two items are called `{name}`", "ids of items are unique")
            self._items[name] = item
            asked.append(self._item(name, item, sampling, start, layers))
        if not asked:
            raise UsageError(f"{self.id} has no items")
        made_of = json.dumps([asked, source_of(self._judge)], sort_keys=True, default=str)
        self._card = {
            "id": self.id,
            "title": title or self.id.split("/", 1)[1],
            "about": about or inspect.getdoc(self._judge) or "",
            "content": hashlib.sha256(made_of.encode()).hexdigest(),
            "chance": chance,
            "number": number,
            "conventions": {"judge": f"Python function {getattr(self._judge, '__name__', 'judge')}"},
            "items": asked,
        }

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Task({self.id!r}, {len(self)} items)"

    def _item(self, name: str, item: dict[str, Any], sampling: Any, start: str, layers: str) -> dict[str, Any]:
        def prompt(text: str) -> dict[str, Any]:
            turn = {"speaker": "user", "parts": [{"text": text}]}
            return {"form": "chat" if self._chat else "plain", "turns": [turn]}

        target = item.get("target")
        if "prompt" in item:
            request: dict[str, Any] = {"generate": {"prompt": prompt(item["prompt"]), "sampling": sampling}}
            known: dict[str, Any] = {"text": target} if isinstance(target, str) else {"data": target}
        elif "continuations" in item:
            options = [str(c) for c in item["continuations"]]
            prefix = str(item.get("prefix", ""))
            request = {"score": {"prefix": prompt(prefix), "continuations": options, "start": _start(start)}}
            known = {"data": target}
            if isinstance(target, int) and 0 <= target < len(options):
                known = {"choice": {"question": prefix, "options": options, "correct": target}}
        elif "text" in item:
            request = {"observe": {"text": item["text"], "pools": ["mean"], "layers": layers}}
            known = {"data": target}
        else:
            raise UsageError(
                f"item `{name}` asks nothing", "an item has `prompt`, `continuations` or `text`"
            )
        out: dict[str, Any] = {"id": name, "target": known, "asks": [{"role": "subject", "request": request}]}
        if "tags" in item:
            out["tags"] = {str(k): str(v) for k, v in item["tags"].items()}
        for key in ("cluster", "stratum"):
            if key in item:
                out[key] = str(item[key])
        return out

    def _described(self) -> str:
        return json.dumps(self._card, default=str)

    def _judged(self, item_text: str, answers_text: str) -> str:
        """Judges for the laboratory; everything is JSON."""
        try:
            item = self._items[json.loads(item_text)["id"]]
            verdict = self._judge(item, _answer(json.loads(answers_text)[0]))
            return json.dumps(judgement(verdict))
        except Exception as error:
            return json.dumps(_failed("internal", f"the judge raised {type(error).__name__}: {error}"))


def task(id: str, items: Iterable[Mapping[str, Any]], **options: Any) -> Callable[[Judge], Task]:
    """Makes a task of a judge: `@mary.task("mine/capitals", items=[…])` above `def judge(item, answer)`."""

    def decorate(judge: Judge) -> Task:
        return Task(id, items, judge, **options)

    return decorate


def _answer(response: dict[str, Any]) -> Any:
    if "generated" in response:
        return response["generated"]["text"]
    if "scored" in response:
        return Scores(response["scored"]["continuations"])
    import base64

    import numpy

    layers = response["observed"]["pools"][0]["layers"]
    return numpy.stack([numpy.frombuffer(base64.b64decode(layer["vector"]), dtype="<f4") for layer in layers])


def _failed(kind: str, message: str) -> dict[str, Any]:
    return {"outcome": {"failed": {"kind": kind, "message": message}}}


def judgement(verdict: Any) -> dict[str, Any]:
    """What a judge returned, as the laboratory writes it."""
    if verdict is None:
        return {"outcome": {"unscored": "unparsed"}}
    if isinstance(verdict, Mapping):
        out = judgement(verdict.get("score"))
        if verdict.get("parsed") is not None:
            out["parsed"] = str(verdict["parsed"])
        measures = {str(k): float(v) for k, v in verdict.get("measures", {}).items()}
        if any(not math.isfinite(v) for v in measures.values()):
            return _failed("not_finite", "the judge gave a measure that is no number")
        if measures:
            out["measures"] = measures
        return out
    score = float(verdict)
    if not math.isfinite(score):
        return _failed("not_finite", f"the judge gave {score}")
    return {"outcome": {"scored": score}}


def default_judge(item: dict[str, Any], answer: Any) -> Any:
    """Right is the target: the same words, or the most probable continuation; ties share."""
    target = item.get("target")
    if isinstance(answer, str):
        read = answer.strip()
        return {"score": read.casefold() == str(target).strip().casefold(), "parsed": read}
    if isinstance(answer, Scores) and isinstance(target, int):
        best = [n for n, score in enumerate(answer) if score == max(answer)]
        return {"score": 1 / len(best) if target in best else 0.0, "parsed": str(best[0])}
    raise UsageError("there is no judge, and without one an item needs a target")


def source_of(function: Callable[..., Any]) -> str:
    """What a function is made of: its source, or its code where that is not kept."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        if code is None:
            return repr(type(function))
        return str(code.co_code.hex()) + repr([c for c in code.co_consts if not inspect.iscode(c)])


def _start(name: str) -> str | dict[str, str]:
    """A convention of `mary score --start` as a request writes it."""
    known = {"auto": "text", "harness": "always", "none": "never"}
    name = known.get(name, name)
    return name if name in ("text", "always", "model", "never") else {"token": name.removeprefix("token:")}
