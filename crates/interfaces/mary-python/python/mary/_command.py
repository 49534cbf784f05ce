"""The command `mary` of the wheel: the extension module is the program."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Carries out what the command line says and returns the exit code."""
    from . import _mary

    # Python models of the command line run in this interpreter unless another is named.
    os.environ.setdefault("MARY_PYTHON", sys.executable)
    return _mary.command(["mary", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
