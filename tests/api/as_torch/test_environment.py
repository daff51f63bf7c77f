"""The package `torch` in an environment: written, found by pip and by programs, removed without a trace."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import os
import subprocess
import sys
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from tt.as_torch.environment import add, remove, standing
from tt.errors import UnsupportedError


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_what_is_written_is_imported_and_removed_without_a_trace(tmp_path):
    (tmp_path / "other.py").write_text("")
    assert standing(tmp_path).gives == "nothing"
    now = add(tmp_path)
    assert now == standing(tmp_path) == ("tt", "2.13.0+tt", str(tmp_path))
    assert add(tmp_path) == now
    done = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.ones(2).sum(), torch.__version__)"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "tensor(2.) 2.13.0+tt\n"
    assert remove(tmp_path)
    assert files(tmp_path) == ["other.py"]
    assert not remove(tmp_path)


def test_the_record_lists_all_files_with_their_digests(tmp_path):
    add(tmp_path)
    distribution = next(iter(importlib.metadata.distributions(name="torch", path=[str(tmp_path)])))
    assert distribution.version == "2.13.0+tt"
    rows = list(csv.reader((distribution.read_text("RECORD") or "").splitlines()))
    assert sorted(row[0] for row in rows) == [f for f in files(tmp_path) if (tmp_path / f).is_file()]
    for name, digest, size in rows:
        if digest:
            content = (tmp_path / name).read_bytes()
            assert len(content) == int(size)
            kind, _, text = digest.partition("=")
            assert kind == "sha256"
            assert urlsafe_b64decode(text + "=") == hashlib.sha256(content).digest()


def pytorch(folder: Path) -> None:
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("")
    metadata = folder / "torch-2.9.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n")


def test_pytorch_is_neither_replaced_nor_removed(tmp_path):
    pytorch(tmp_path)
    before = files(tmp_path)
    assert standing(tmp_path) == ("PyTorch", "2.9.1", str(tmp_path))
    with pytest.raises(UnsupportedError, match=r"PyTorch 2\.9\.1 is installed(.|\n)*pip uninstall torch"):
        add(tmp_path)
    with pytest.raises(UnsupportedError, match="not tt's to remove"):
        remove(tmp_path)
    assert files(tmp_path) == before


def test_a_folder_named_torch_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "torch").mkdir()
    with pytest.raises(UnsupportedError):
        add(tmp_path)
    assert files(tmp_path) == ["torch"]


def test_nothing_is_half_written(tmp_path, monkeypatch):
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UnsupportedError, match="No space left on device"):
        add(tmp_path)
    assert files(tmp_path) == []
