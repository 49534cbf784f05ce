"""From keyword arguments to what is said to the laboratory: its options as JSON, and for the manifest of a run
the command line that says the same."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import UsageError

_PLACES = ("output_path", "log_dir", "data_dir", "cache_dir")
# Options of the command that only say what it prints.
_PRINTED = ("quiet", "no_report", "log_samples", "json")
# Options that are text, whatever they look like.
_TEXTS = ("device", "dtype", "judge", "base_url", "model_base_url")


def options(given: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The options of a run; the laboratory refuses those that it does not know."""
    out = dict(more)
    for name, value in given.items():
        name = name.replace("-", "_")
        if value is None or name in _PLACES or name in _PRINTED:
            continue
        out[name] = _text(value) if name in _TEXTS else value
    return out


def told(value: Mapping[str, Any]) -> str:
    """As JSON; paths as text, numbers of numpy as numbers, whatever can be walked through as a list."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, Iterable):
        return list(value)
    return _text(value)


def words(options: Mapping[str, Any]) -> list[str]:
    """`limit=5` is `--limit 5`; true is the bare option; mappings are NAME=VALUE, once for each."""
    out: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, Mapping):
            for key, one in value.items():
                out += [flag, f"{key}={_text(one)}"]
        elif isinstance(value, (list, tuple)):
            for one in value:
                out += [flag, _text(one)]
        else:
            out += [flag, _text(value)]
    return out


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)


def places(options: Mapping[str, Any]) -> str:
    """Only what says where things are kept."""
    said = {"output_path" if k == "log_dir" else k: v for k, v in options.items() if k in _PLACES}
    return told({name: value for name, value in said.items() if value is not None})


def listed(value: Any) -> list[Any]:
    """One thing or several."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def name(text: Any, what: str) -> str:
    """A name that can stand in a list of names."""
    said = _text(text)
    if "," in said:
        raise UsageError(f"{what} `{said}` holds a comma", "commas separate names; rename the file or folder")
    return said
