"""Programs in processes of their own, for what depends on the first call, import, fork or setting of a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

__all__ = ["printed_by"]


def printed_by(program: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the output of a Python program; one that fails fails the test, with its error output."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
    )
    if done.returncode:
        raise AssertionError(f"the program exited with {done.returncode}:\n{done.stderr}")
    return done.stdout
