"""Lets a Python object answer Mary's questions.

The one file behind both ways of doing so: a child process that speaks JSON lines over two pipes (`main`), and
an object inside the process that runs the laboratory (`Adapter`). It needs nothing but Python itself, since
the interpreter of a child may not have Mary installed.
"""

import array
import base64
import inspect
import json
import math
import os
import sys

KINDS = frozenset(
    "not_found bad_model bad_request context_too_long auth budget overloaded timeout transport not_finite "
    "out_of_memory interrupted internal".split()
)

# Requests in one call of an object that takes lists and does not say how long.
BATCH = 16


class Trouble(Exception):
    """An answer that cannot be used, and what to do about it."""

    def __init__(self, kind, message, hint=None):
        super().__init__(message)
        self.kind, self.hint = kind, hint


class Adapter:
    """An object with `generate`, `score` or `observe` (or a function from prompt to answer) that answers
    requests in the form they have in Mary's logs."""

    def __init__(self, thing):
        refuse_bare(thing)
        self.thing = thing
        self.methods = {}
        self.together = {}
        for name in ("generate", "score", "observe"):
            for methods, method in ((self.methods, getattr(thing, name, None)), (self.together, getattr(thing, name + "_many", None))):
                if callable(method):
                    methods[name] = (method, accepted(method))
        # One that only takes lists is asked with a list of one.
        for name in set(self.together) - set(self.methods):
            self.methods[name] = None
        if not self.methods and callable(thing):
            self.methods["generate"] = (thing, accepted(thing))
        if not self.methods:
            raise Trouble(
                "bad_model",
                f"{type(thing).__name__} has none of the methods generate, score and observe, and cannot be called",
                "give the object at least one of them, or pass a function from prompt to answer",
            )

    def card(self):
        """What the object can do and says about itself."""
        own = lambda name, default=None: getattr(self.thing, name, default)
        card = {
            "capabilities": {
                "generate": "generate" in self.methods,
                "score": "score" in self.methods,
                "observe": "observe" in self.methods,
                "images": bool(own("images", False)),
                "chat": bool(own("chat", False)),
                "plain": bool(own("plain", True)),
            }
        }
        if self.together:
            most = own("batch_size")
            most = most if type(most) is int and most > 0 else BATCH
            card["together"] = {name: most for name in self.together}
        for name, kind in (("architecture", str), ("parameters", int), ("layers", int), ("context_length", int)):
            value = own(name)
            # An object may have attributes of these names for purposes of its own.
            if type(value) is kind:
                card[name] = value
        conventions = own("conventions")
        if isinstance(conventions, dict):
            card["conventions"] = {str(k): str(v) for k, v in conventions.items()}
        fingerprint = own("fingerprint")
        fingerprint = fingerprint() if callable(fingerprint) else fingerprint
        if fingerprint is not None:
            card["fingerprint"] = str(fingerprint)
        return card

    def ask(self, request):
        """Answers one request; both are dictionaries."""
        (kind, asked), = request.items()
        if kind not in self.methods:
            raise Trouble("bad_request", f"the object has no method {kind}")
        if self.methods[kind] is None:
            return self._read(kind, asked, self._said_together(kind, [asked])[0])
        return self._read(kind, asked, self._said(kind, asked))

    def ask_together(self, requests):
        """Answers several requests of one kind, each with an answer or an error of its own. Those that agree in
        their settings are asked in one call; where that call fails they are asked one by one, so that the one
        that cannot be answered costs no other."""
        answers, groups = [None] * len(requests), {}
        for at, request in enumerate(requests):
            (kind, asked), = request.items()
            groups.setdefault((kind, settings_of(kind, asked)), []).append(at)
        for (kind, _), places in groups.items():
            asked = [requests[at][kind] for at in places]
            try:
                said = self._said_together(kind, asked) if kind in self.together else None
            except Exception:
                said = None
            for n, at in enumerate(places):
                if said is None:
                    answers[at] = guarded(lambda: self.ask(requests[at]))
                else:
                    answers[at] = guarded(lambda: self._read(kind, asked[n], said[n]))
        return answers

    def ask_text(self, text):
        """The same from text to text, with whatever goes wrong as part of the answer. A list of requests is
        answered by a list."""
        try:
            request = json.loads(text)
            if isinstance(request, list):
                return "[" + ",".join(self.ask_together(request)) + "]"
        except BaseException as error:
            return json.dumps({"error": describe(error)})
        return guarded(lambda: self.ask(request))

    def _call(self, method, *given, **known):
        method, names = method
        if names is not None:
            known = {k: v for k, v in known.items() if k in names}
        return method(*given, **known)

    def _said(self, kind, asked):
        """What the object says to one request."""
        method = self.methods[kind]
        if kind == "generate":
            seed = asked["sampling"].get("seed")
            return self._call(method, shown(asked["prompt"]), seed=seed, **drawn(asked["sampling"]))
        if kind == "score":
            return self._call(method, shown(asked["prefix"]), asked["continuations"], start=start_of(asked))
        return self._call(method, asked["text"])

    def _said_together(self, kind, asked):
        """What it says to several that agree in their settings, one for each."""
        method = self.together[kind]
        if kind == "generate":
            prompts, seeds = [shown(a["prompt"]) for a in asked], [a["sampling"].get("seed") for a in asked]
            said = self._call(method, prompts, seeds=seeds, **drawn(asked[0]["sampling"]))
        elif kind == "score":
            prefixes, continuations = [shown(a["prefix"]) for a in asked], [a["continuations"] for a in asked]
            said = self._call(method, prefixes, continuations, start=start_of(asked[0]))
        else:
            said = self._call(method, [a["text"] for a in asked])
        found = listed(said)
        if found is None or len(found) != len(asked):
            results = brief(said) if found is None else f"{len(found)} results"
            raise Trouble("transport", f"{kind}_many returned {results} for {len(asked)} requests; expected a list with one for each")
        return found

    def _read(self, kind, asked, said):
        """An answer from what the object says; in a list, an exception stands for an item that failed."""
        if isinstance(said, BaseException):
            raise said
        return getattr(self, "_" + kind)(asked, said)

    def _generate(self, asked, said):
        stops = asked["sampling"].get("stop", [])
        answer = dict(said) if isinstance(said, dict) else {"text": said}
        if not isinstance(answer.get("text"), str):
            raise Trouble(
                "transport",
                f"generate returned {brief(said)}; expected a string, or a dictionary with `text`",
            )
        for stop in stops:
            if stop and stop in answer["text"]:
                answer["text"], answer["finish"] = answer["text"].split(stop)[0], "stop"
        answer.setdefault("finish", "stop")
        return {"generated": {k: v for k, v in answer.items() if k in ("text", "finish", "reasoning") and v is not None}}

    def _score(self, asked, said):
        continuations = asked["continuations"]
        scored = listed(said)
        if scored is None or len(scored) != len(continuations):
            found = "no list" if scored is None else f"{len(scored)} results"
            raise Trouble("transport", f"score returned {found} for {len(continuations)} continuations")
        return {"scored": {"continuations": [continuation(s, t) for s, t in zip(scored, continuations)]}}

    def _observe(self, asked, seen):
        text = asked["text"]
        if not isinstance(seen, dict) or "hidden" not in seen:
            raise Trouble(
                "transport",
                f"observe returned {brief(seen)}; expected a dictionary with `hidden` (layers, tokens, width) and `offsets`",
            )
        hidden = plain(seen["hidden"])
        count = len(hidden[0]) if len(hidden) else 0
        offsets = [tuple(int(x) for x in pair) for pair in plain(seen.get("offsets", []))]
        if len(offsets) != count or any(len(layer) != count for layer in hidden):
            raise Trouble("transport", f"observe returned {count} vectors a layer and {len(offsets)} offsets")
        layers = chosen(asked["layers"], len(hidden))
        pools = []
        for pool in asked["pools"]:
            places = pooled(pool, text, offsets)
            vectors = [{"layer": n, "vector": packed(mean([hidden[n][p] for p in places]))} for n in layers]
            pools.append({"tokens": len(places), "layers": vectors if places else []})
        answer = {"pools": pools}
        if asked.get("with_scores") and seen.get("scores") is not None:
            answer["scores"] = continuation(seen["scores"], text)
        return {"observed": answer}


def guarded(answer):
    """An answer as text, or what went wrong as text."""
    try:
        return json.dumps({"answer": answer()}, allow_nan=False)
    except BaseException as error:
        return json.dumps({"error": describe(error)})


def drawn(sampling):
    """How words are drawn, as an object's method is told."""
    return {
        "max_tokens": sampling["max_tokens"],
        "temperature": sampling["temperature"],
        "top_p": sampling.get("top_p"),
        "top_k": sampling.get("top_k"),
        "stop": sampling.get("stop", []),
    }


def settings_of(kind, asked):
    """What requests that are asked in one call must agree in."""
    if kind == "generate":
        return json.dumps(drawn(asked["sampling"]))
    return start_of(asked) if kind == "score" else ""


def start_of(asked):
    """What stands before the first token: always, model, never, auto, or the token itself."""
    start = asked["start"]
    return start["token"] if isinstance(start, dict) else "auto" if start == "text" else start


def accepted(method):
    """The names of a function's parameters; None where it takes any keyword or does not tell."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY)


def refuse_bare(thing):
    """A model of transformers has a method `generate` too, which takes tensors."""
    modules = {c.__module__.split(".")[0] for c in type(thing).__mro__}
    if "transformers" in modules and hasattr(thing, "forward"):
        raise Trouble(
            "bad_model",
            f"{type(thing).__name__} is a bare model of transformers, which knows no tokenizer",
            "wrap both: mary.transformers(model, tokenizer)",
        )


def shown(prompt):
    """A plain prompt as text; a chat as messages."""
    if prompt["form"] == "plain" and not any("image" in part for turn in prompt["turns"] for part in turn["parts"]):
        text = "".join(part["text"] for turn in prompt["turns"] for part in turn["parts"])
        system = prompt.get("system")
        return f"{system}\n{text}" if system else text
    messages = []
    if prompt.get("system"):
        messages.append({"role": "system", "content": prompt["system"]})
    for turn in prompt["turns"]:
        content = []
        for part in turn["parts"]:
            if "text" in part:
                content.append({"type": "text", "text": part["text"]})
            else:
                image = part["image"]
                content.append({"type": "image", "media_type": image["media_type"], "data": base64.b64decode(image["data"])})
        if len(content) == 1 and content[0]["type"] == "text":
            content = content[0]["text"]
        messages.append({"role": turn["speaker"], "content": content})
    return messages


def listed(value):
    value = plain(value)
    return list(value) if isinstance(value, (list, tuple)) or hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) else None


def plain(value):
    """Tensors and arrays as something that can be walked."""
    if hasattr(value, "detach"):
        value = value.detach().float().cpu().numpy()
    if isinstance(value, (list, tuple)) and value and hasattr(value[0], "detach"):
        return [plain(v) for v in value]
    return value


def number(value, what):
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise Trouble("transport", f"{what} is {brief(value)}, not a number") from None
    if not math.isfinite(value):
        raise Trouble("not_finite", f"{what} is {value}", "look at the model's own numbers: its answer to this item is no number")
    return value


def continuation(result, text):
    """What the object says of one continuation: a number, numbers, pairs of token and number, or a dictionary."""
    flags = {}
    if isinstance(result, dict):
        tokens, values = result.get("tokens"), listed(result.get("logprobs"))
        flags = {k: True for k in ("boundary_merged", "first_unscored", "windowed") if result.get(k)}
    else:
        values = listed(result)
        tokens = None
        if values is None or getattr(result, "ndim", 1) == 0:
            values, tokens = [result], [text]
        elif values and listed(values[0]) is not None:
            tokens, values = [t for t, _ in values], [v for _, v in values]
    if values is None:
        raise Trouble("transport", f"score gives {brief(result)} for a continuation; expected log-probabilities")
    values = [number(v, "a log-probability") for v in values]
    if any(v > 1e-4 for v in values):
        raise Trouble("transport", f"a log-probability is {max(values)}: none is above 0", "score gives natural logarithms of probabilities")
    tokens = [""] * len(values) if tokens is None else [str(t) for t in tokens]
    if len(tokens) != len(values):
        raise Trouble("transport", f"score gives {len(tokens)} tokens and {len(values)} log-probabilities")
    return {"tokens": tokens, "logprobs": values, **flags}


def chosen(layers, count):
    if layers == "all":
        return list(range(count))
    if layers == "last":
        return [count - 1]
    places = sorted({n + count if n < 0 else n for n in layers["these"]})
    if any(n < 0 or n >= count for n in places):
        raise Trouble("bad_request", f"layers {layers['these']} were asked for; there are {count}")
    return places


def pooled(pool, text, offsets):
    """Which tokens a pool means. Special tokens have no letters of the text."""
    own = [n for n, (start, end) in enumerate(offsets) if end > start]
    if pool == "mean":
        return own
    if pool == "last":
        return own[-1:]
    if pool == "first":
        return [0] if offsets else []
    data = text.encode()
    start, end = (len(data[: pool["span"][side]].decode(errors="ignore")) for side in ("start", "end"))
    return [n for n in own if offsets[n][0] < end and offsets[n][1] > start]


def mean(rows):
    if len(rows) == 1:
        return [float(x) for x in rows[0]]
    return [math.fsum(float(x) for x in column) / len(rows) for column in zip(*rows)]


def packed(vector):
    if not all(math.isfinite(x) for x in vector):
        raise Trouble("not_finite", "a hidden state holds a number that is none")
    numbers = array.array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()


def brief(value):
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."


def describe(error):
    """An exception as an error of a model."""
    kind = getattr(error, "kind", None)
    hint = getattr(error, "hint", None)
    if kind not in KINDS:
        for one, named in ((MemoryError, "out_of_memory"), (KeyboardInterrupt, "interrupted"), (TimeoutError, "timeout")):
            if isinstance(error, one):
                kind = named
                break
        else:
            kind = "transport"
    message = str(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}"
    if not isinstance(error, Trouble):
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        if frame is not None:
            code = frame.tb_frame.f_code
            message += f" (line {frame.tb_lineno} of {os.path.basename(code.co_filename)}, in {code.co_name})"
    return {"kind": kind, "message": message, **({"hint": str(hint)} if hint else {})}


def build(thing, settings):
    """An object from what a file names: a class or a function without required parameters makes it."""
    makes = inspect.isclass(thing)
    if not makes and inspect.isroutine(thing):
        required = [
            p for p in inspect.signature(thing).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        makes = not required
    own = {k: v for k, v in settings.items() if k not in ("device", "dtype")}
    if not makes:
        if own:
            raise Trouble("bad_request", f"settings {sorted(own)} were given, but the file names an object, not what makes one")
        return thing
    names = accepted(thing)
    if names is not None:
        unknown = sorted(set(own) - names)
        if unknown:
            raise Trouble("bad_request", f"{thing.__name__} takes no setting {', '.join(unknown)}")
        settings = {k: v for k, v in settings.items() if k in names}
    return thing(**settings)


def load(path, name, settings):
    """The object of this name in a file."""
    import importlib.util

    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    stem = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(stem, path)
    if spec is None or spec.loader is None:
        raise Trouble("not_found", f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        there = ", ".join(sorted(k for k in vars(module) if not k.startswith("_"))[:12])
        raise Trouble("not_found", f"{path} has no `{name}`", f"it has {there}")
    return build(getattr(module, name), settings)


def main(path, name, settings, token):
    """Serves an object over standard input and output, which nothing else can reach any more."""
    import signal
    import threading
    import time

    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    # What the model prints, in Python or below it, goes where people read.
    os.dup2(2, 1)
    # The laboratory decides what Ctrl-C means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def orphaned():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=orphaned, daemon=True).start()

    def say(text):
        sink.write((token + text + "\n").encode())
        sink.flush()

    try:
        adapter = Adapter(load(path, name, json.loads(settings)))
        ready = json.dumps({"ready": adapter.card()})
    except BaseException as error:
        say(json.dumps({"error": describe(error)}))
        return 1
    say(ready)
    for line in source:
        say(adapter.ask_text(line.decode()))
    return 0


if __name__ == "__main__":
    code = main(*sys.argv[1:5])
    sys.stdout.flush()
    os._exit(code)
