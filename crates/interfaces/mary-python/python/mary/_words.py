"""From keyword arguments to the words of the command line, in which everything is said to the laboratory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import UsageError

_PLACES = ("output_path", "data_dir", "cache_dir")


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


def places(options: Mapping[str, Any]) -> list[str]:
    """Only what says where things are kept."""
    return words({k: v for k, v in options.items() if k in _PLACES})


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
