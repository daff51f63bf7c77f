"""The jobs as their modules describe them, read without importing the libraries."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tests.tiers import ROOT

__all__ = ["EXPECTED", "Job", "jobs"]

FOLDER: Final = ROOT / "tests" / "ecosystem"
EXPECTED: Final = FOLDER / "expected"
"""The folder of PyTorch's results."""


class Job(NamedTuple):
    """What a module of `jobs/` says: what is run, what pip installs (the library first), and the names of the parts."""

    name: str
    purpose: str
    requires: tuple[str, ...]
    parts: tuple[str, ...]

    @property
    def expected(self) -> Path:
        """Return the file of PyTorch's results."""
        return EXPECTED / f"{self.name}.json"


@cache
def jobs() -> dict[str, Job]:
    """Return the jobs by the names of their modules.

    Raises
    ------
    ValueError
        A module lacks its docstring of one line ("name: what is run"), or REQUIRES.
    """
    return {path.stem: _read(path) for path in sorted((FOLDER / "jobs").glob("*.py"))}


def _read(path: Path) -> Job:
    module = ast.parse(path.read_text())
    purpose = (ast.get_docstring(module) or "").partition(": ")[2].partition("\n")[0].rstrip(".")
    requires: tuple[str, ...] = ()
    parts = []
    for statement in module.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "REQUIRES":
            requires = tuple(ast.literal_eval(statement.value))
        elif isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
            has_arguments = bool(ast.unparse(statement.args))
            if not has_arguments:
                parts.append(statement.name)
    if not (purpose and requires and parts):
        raise ValueError(
            f"{path.name}: a job has a docstring (name: what is run), REQUIRES, and functions without arguments"
        )
    return Job(path.stem, purpose, requires, tuple(parts))
