"""Python objects of this process as models: the adapter that a child process uses too, and how a call that
does not end is interrupted."""

from __future__ import annotations

import ctypes
import json
import threading
import types
import uuid
import weakref
from typing import Any

from . import _mary
from ._errors import ModelError

_calls: dict[int, int] = {}
_sessions: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()
_module: types.ModuleType | None = None


def serving() -> Any:
    """The module that answers requests with an object (`crates/models/mary-pymodel/src/serving.py`)."""
    global _module
    if _module is None:
        module = types.ModuleType("mary._serving")
        exec(compile(_mary.serving(), "serving.py", "exec"), module.__dict__)
        _module = module
    return _module


class Adapted:
    """An object that answers Mary's requests, and knows which thread it is asked on."""

    def __init__(self, thing: Any) -> None:
        try:
            self._adapter = serving().Adapter(thing)
        except serving().Trouble as error:
            raise ModelError(str(error), error.hint) from None
        self._thing = thing

    def card(self) -> str:
        """What the object can do, as JSON. One that does not say who it is, is itself for this session only:
        answers of another process's object are never taken for its own."""
        card = self._adapter.card()
        if "fingerprint" not in card:
            try:
                card["fingerprint"] = _sessions.setdefault(self._thing, uuid.uuid4().hex)
            except TypeError:
                card["fingerprint"] = uuid.uuid4().hex
        return json.dumps(card)

    def ask_text(self, text: str) -> str:
        """Answers a request; both are JSON."""
        thread = threading.get_ident()
        _calls[thread] = _calls.get(thread, 0) + 1
        try:
            answer: str = self._adapter.ask_text(text)
        finally:
            _calls[thread] -= 1
        return answer


def interrupt() -> None:
    """Raises KeyboardInterrupt in the objects that are being asked; the second Ctrl-C calls it."""
    for thread, calls in list(_calls.items()):
        if calls > 0:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
            )
