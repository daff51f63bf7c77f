"""The first call of a new backend: one operator, in a process of its own that finds the package as an installed one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

__all__ = ["CALL", "FirstCall", "first_call"]

CALL: Final = "tt.add(x, x)"
SECONDS: Final = 120
"""The time limit of the call; some libraries compile."""

_PROGRAM = """\
import sys
import tt
x = tt.tensor([1.0, 2.0], device={device!r})
found = tt.add(x, x)
if found.device.type != {device!r} or found.cpu().tolist() != [2.0, 4.0]:
    sys.exit(f"[1, 2] + [1, 2] gave {{found!r}}")
"""


@dataclass(frozen=True, slots=True)
class FirstCall:
    """The outcome of a backend's first call.

    Attributes
    ----------
    made : bool
        Whether it was made: not where the library is not installed.
    reason : str
        Why it was not, or what failed; empty if all is well.
    """

    made: bool
    reason: str = ""


def first_call(folder: Path, device: str, module: str, library: str) -> FirstCall:
    """Call one operator through the backend in a folder that was just written.

    Parameters
    ----------
    folder : Path
        Of the package.
    device, module, library : str
        The device type, the package's module, the array library.
    """
    if find_spec(library.split(".")[0]) is None:
        return FirstCall(False, f"{library} is not installed here")
    with tempfile.TemporaryDirectory(prefix="tt-new-") as scratch:
        # What an installer would write: tt finds the plugin by its entry point, and nothing is installed.
        info = Path(scratch) / f"{module}-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module}\nVersion: 0.1.0\n", encoding="utf-8"
        )
        (info / "entry_points.txt").write_text(
            f"[tt.plugins.v1]\n{device} = {module}.plugin\n", encoding="utf-8"
        )
        paths = [str((folder / "src").resolve()), scratch, os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            # The new package must not begin with a __pycache__.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            ran = subprocess.run(
                [sys.executable, "-c", _PROGRAM.format(device=device)],
                env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FirstCall(True, f"no answer in {SECONDS} seconds")
    if ran.returncode == 0:
        return FirstCall(True)
    return FirstCall(True, _last_error(ran.stderr) or f"Python ended with {ran.returncode}")


def _last_error(text: str) -> str:
    """Return the exception at the end of a traceback, with the lines of its message."""
    lines = text.rstrip().splitlines()
    start = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].startswith("  File ")), -1)
    words = [line for line in lines[start + 1 :] if start < 0 or not line.startswith("    ")]
    return "\n".join(words)
