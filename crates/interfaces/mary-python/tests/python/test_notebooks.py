"""The notebooks of docs/notebooks run from their first cell to their last."""

import ast
import json
import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[5] / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_cell_runs_and_shows_something(path):
    cells = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
    names: dict = {}
    for cell in cells:
        assert not cell["outputs"], "notebooks are kept without outputs"
        tree = ast.parse("".join(cell["source"]))
        # As a notebook does: the last expression of a cell is shown.
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            assert repr(shown)
            if hasattr(shown, "_repr_html_"):
                assert "<" in shown._repr_html_()
