"""Programs that name gloo compute the same in PyTorch and in tt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PROGRAM = Path(__file__).with_name("gloo_branches.py")


def results(library, file):
    """Return what each of two ranks prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[4])}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), library, str(rank), "2", str(file)],
            stdout=subprocess.PIPE, text=True, env=environment,
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        texts = [rank.communicate(timeout=120)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0]
    return [json.loads(text) for text in texts]


def test_gradients_of_unused_branches_that_add_up_without_communication_are_averaged_alike(tmp_path):
    expected = results("torch", tmp_path / "torch")
    assert len(expected[0]) == 162
    assert results("tt", tmp_path / "tt") == expected
