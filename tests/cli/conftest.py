"""Helpers of the tests of the command: running it in this process, and a plugin that never changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from typer.testing import CliRunner

from tt.cli.main import build
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.host import host
from tt.core.library import CompositeTable, KernelTable, ops

ACME = """\
schema_version: 1
ops:
- func: acme::twice(Tensor self) -> Tensor
  kind: pointwise
  meta: like
  promote: [self]
  dtypes: floating
  variants: [function]
  doc: Doubles every element.
- func: acme::thrice(Tensor self, Tensor other, *, Scalar scale=1) -> Tensor
  kind: pointwise
  meta: broadcast
  promote: [self, other]
  dtypes: all
  variants: [function]
  grad: [self, other]
  doc: |-
    Adds other three times, scaled.

    The scale is a number.
"""


@dataclass(frozen=True)
class Ran:
    """The output of a command, and how it ended."""

    out: str
    err: str
    code: int


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says, the output goes to a pipe of 80 columns."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `tt` with arguments in this process."""

    def run_command(*words: str) -> Ran:
        app = build()
        early = capsys.readouterr().err  # faults in the commands of plugins
        result = CliRunner().invoke(app, list(words), prog_name="tt")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.stdout, early + result.stderr, result.exit_code)

    return run_command


@pytest.fixture
def normalised() -> Callable[[str], str]:
    """Return a function that replaces the versions, lines of code and spaces of an output, which vary."""
    return normalise


def normalise(text: str) -> str:
    """Replace versions by NUMBER, lines of code by LINE, and any number of spaces by two."""
    text = re.sub(r"\b\d+(\.\d+)+\b", "NUMBER", text)
    text = re.sub(r"\S*conftest\S*:\d+", "conftest:LINE", text)
    return re.sub(r" {2,}", "  ", text)


@pytest.fixture
def acme_file(tmp_path: Path) -> Path:
    """A schema file of a third party."""
    file = tmp_path / "acme.yaml"
    file.write_text(ACME, encoding="utf-8")
    return file


@pytest.fixture
def acme(acme_file: Path) -> Iterator[None]:
    """Register two operators as the plugin `acme` of the distribution tt-acme 1.2 would."""
    host.load()
    kernels = KernelTable(device="cpu")
    kernels.kernel("acme::twice", lambda self: self + self, takes=("self",), dtypes="floating")
    kernels.kernel("acme::thrice", takes=("self", "other"), dtypes="floating", function=three_times)
    composites = CompositeTable()
    composites.composite("acme::thrice", lambda self, other, scale: ops.add(self, other, alpha=3 * scale))
    plugin = REGISTRY.for_plugin(Provider("tt-acme", "1.2", "acme"))
    try:
        plugin.add_definitions(acme_file)
        plugin.add(kernels)
        plugin.add(composites)
        yield
    finally:
        plugin.remove()


def three_times(self: np.ndarray, other: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]  # any dtype
    """Add other three times."""
    return self + 3 * other


@pytest.fixture
def text() -> Callable[[str], str]:
    """Return a function that takes the indentation from an expected output."""
    return lambda block: dedent(block).lstrip("\n")
