"""Every test has places of its own: nothing is written where a user keeps runs."""

import pathlib

import pytest


@pytest.fixture(autouse=True)
def places(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("MARY_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("MARY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("MARY_DATA_DIR", raising=False)
    monkeypatch.delenv("MARY_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def nano():
    import mary

    return mary.Model("builtin/nano")
