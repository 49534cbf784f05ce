"""Exceptions: what was expected, what was found, and in `hint` what to do."""

from __future__ import annotations


class MaryError(Exception):
    """Something went wrong. `hint` says what to do, `folder` names the run that was stopped by it."""

    def __init__(self, message: str, hint: str | None = None, folder: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.folder = folder

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class UsageError(MaryError, ValueError):
    """What was asked for makes no sense: an unknown name, a wrong value."""


class RefusedError(MaryError):
    """Models and tasks do not fit; nothing was loaded or asked."""


class MissingError(MaryError, FileNotFoundError):
    """A dataset, file or run is missing or damaged."""


class ModelError(MaryError):
    """A model cannot be opened, or could not answer."""


class StoppedError(MaryError):
    """A run stopped in a state from which the same call goes on."""


class Interrupted(MaryError, KeyboardInterrupt):
    """Ctrl-C: what was answered is kept, and the same call goes on."""


_CLASSES: dict[str, type[MaryError]] = {
    "usage": UsageError,
    "refused": RefusedError,
    "missing": MissingError,
    "model": ModelError,
    "stopped": StoppedError,
    "interrupted": Interrupted,
}


def make(kind: str, message: str, hint: str | None, folder: str | None) -> MaryError:
    """The exception for a kind of trouble; called by the extension module."""
    return _CLASSES.get(kind, MaryError)(message, hint, folder)
