"""How far a run is: the command's own bar in a terminal, a bar of HTML in a notebook."""

from __future__ import annotations

import html
import sys
from typing import Any


def in_notebook() -> bool:
    """Whether a notebook's kernel runs us."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"


def chosen(progress: bool | None) -> Any:
    """Who shows it: nobody, the terminal, or a notebook."""
    if progress is False:
        return None
    if in_notebook():
        return NotebookBar()
    return True if progress or sys.stderr.isatty() else None


class NotebookBar:
    """A bar that is drawn anew in its cell."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._done: list[str] = []

    def __call__(self, what: str, title: str, done: int, planned: int, failed: int, text: str) -> None:
        from IPython.display import HTML, display

        if what in ("note", "warning"):
            self._done.append(html.escape(f"{what}: {text}"))
        line = f"{html.escape(title)}: {done}/{planned}" + (f", {failed} failed" if failed else "")
        if what == "finished":
            self._done.append(line)
        bar = f'<progress value="{done}" max="{max(planned, 1)}"></progress> {line}' if what in ("started", "going") else ""
        page = HTML("<br>".join([*self._done, *([bar] if bar else [])]))
        if self._shown is None:
            self._shown = display(page, display_id=True)
        else:
            self._shown.update(page)
