"""Builds the packages of this folder as wheels, installs them into a folder of their own, and runs programs there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

HERE = Path(__file__).parent

# Their modules belong to the packages that are installed, not to this process.
collect_ignore_glob = ["tt-*", "*_program.py"]  # programs for other processes


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | Path], Path]:
    """Return a function that builds a package's wheel, installs it, and returns the folder; once for each package.

    A package is the name of a folder here, or the path of one elsewhere.
    """
    folders: dict[str | Path, Path] = {}

    def install(package: str | Path) -> Path:
        if package not in folders:
            base = tmp_path_factory.mktemp(Path(package).name)
            # Building happens in a copy, so that it leaves nothing in the source tree.
            source = shutil.copytree(
                HERE / package, base / "source", ignore=shutil.ignore_patterns("__pycache__")
            )
            _pip(
                "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(base / "wheels"), str(source)
            )
            (wheel,) = (base / "wheels").glob("*.whl")
            _pip("install", "--no-deps", "--no-index", "--target", str(base / "site"), str(wheel))
            folders[package] = base / "site"
        return folders[package]

    return install


Run = Callable[..., str]


@pytest.fixture(scope="session")
def run(installed: Callable[[str | Path], Path]) -> Run:
    """Return a function that runs a program, or `tt` with arguments, with packages installed; it returns the output."""

    def run_program(
        program: str | list[str],
        *packages: str | Path,
        arguments: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        fails: bool = False,
    ) -> str:
        path = [str(installed(package)) for package in packages]
        inherited = os.environ.get("PYTHONPATH")
        command = ["-c", dedent(program)] if isinstance(program, str) else ["-m", "tt.cli.main", *program]
        command += arguments
        done = subprocess.run(
            [sys.executable, "-W", "error", *command],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "TT_CONFIG": "",  # whatever the user of this machine prefers
                "PYTHONPATH": os.pathsep.join([*path, *([inherited] if inherited else [])]),
                **(environ or {}),
            },
        )
        output = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, output
        return output

    return run_program
