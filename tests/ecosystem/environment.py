"""Where jobs run: an environment with a wheel of this checkout and the stand-in for `torch`, or this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from tests.tiers import ROOT
from tt._compat.torch.torch_version import __version__

__all__ = ["Environment", "create", "here"]

CONSTRAINTS: Final = "constraints.txt"
"""The file of an environment that holds the stand-in at its version."""


class Environment(NamedTuple):
    """How a job is started, and where what it requires is installed."""

    command: tuple[str, ...]
    installs: bool

    def install(self, requirements: Sequence[str]) -> str:
        """Install what a job requires; return nothing, or why it cannot be installed."""
        if not self.installs:
            return ""
        # Or a library that asks for a newer torch has the stand-in replaced by PyTorch.
        constraints = Path(self.command[0]).parents[1] / CONSTRAINTS
        command = [self.command[0], "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--constraint", str(constraints), *requirements]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [
            line for line in done.stderr.splitlines() if line.startswith("ERROR")
        ] or done.stderr.splitlines()
        return "" if not done.returncode else (lines[0] if lines else f"pip ended with {done.returncode}")

    def variables(self) -> dict[str, str]:
        """Return the variables of the process of a job: no network, and one thread, whose sums have one order."""
        offline = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "NO_ALBUMENTATIONS_UPDATE": "1"}
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        return {**os.environ, **offline, **single}


def here(reference: bool = False) -> Environment:
    """Return this environment, under the facade or with PyTorch itself."""
    if reference:
        return Environment((sys.executable,), installs=False)
    return Environment((sys.executable, "-m", "tt.as_torch"), installs=False)


def create(folder: Path, tell: bool = True) -> Environment:
    """Make an environment in a folder, unless it is there: this checkout's wheel, and the package `torch`.

    Raises
    ------
    RuntimeError
        A command fails; the text is what it printed.
    """
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = Environment((str(python),), installs=True)
    if not python.exists():
        _call(sys.executable, "-m", "venv", str(folder))
    wheels = folder / "wheels"
    if tell:
        sys.stderr.write(f"building wheels of this checkout into {wheels}\n")
    for stale in wheels.glob("*.whl"):
        stale.unlink()
    # What is compiled in this checkout from the same sources is not compiled again.
    isolation = ["--no-build-isolation"] if find_spec("hatchling") and find_spec("Cython") else []
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        *isolation,
    ]
    for project in (ROOT, ROOT / "packages" / "tt-torchvision"):
        _call(*wheel, "--wheel-dir", str(wheels), str(project), TT_LIBRARIES=str(ROOT / ".editable" / "tt"))
    built = [str(path) for path in wheels.glob("*.whl")]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call(*pip, *built)
    # The version does not tell whether the wheels of an earlier run are those of today.
    _call(*pip, "--force-reinstall", "--no-deps", *built)
    _call(str(python), "-m", "tt.cli.main", "as-torch", "install")
    (folder / CONSTRAINTS).write_text(f"torch=={__version__}\n")
    return environment


def _call(*command: str, **variables: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **variables}
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
