"""Programs that print the same under the facade and under PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

__all__ = ["same_output", "under_facade"]


def under_facade(program: str, folder: Path) -> str:
    """Run a program with `import torch` giving tt, and return what it printed."""
    path = folder / "program.py"
    path.write_text(program)
    return _output([sys.executable, "-m", "tt.as_torch", str(path)], folder)


def same_output(program: str, folder: Path) -> str:
    """Run a program under both, compare what they print, and return it."""
    pytest.importorskip("torch")
    printed = under_facade(program, folder)
    assert printed == _output([sys.executable, str(folder / "program.py")], folder)
    return printed


def _output(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
