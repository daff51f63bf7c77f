"""Reads the frozen cases and makes the functions that are timed."""

from __future__ import annotations

import re
import textwrap
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.libraries import names_for

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Case",
    "Group",
    "Suite",
    "find_case",
    "make_loop",
    "make_once",
    "read_suite",
    "statement_of",
    "suite_names",
]

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One statement to be timed, as written for each library (see cases/small_calls.toml).

    The statement `built_in`, if any, is timed with it (see cases/custom_ops.toml).
    """

    name: str
    tensor: str
    numpy: str = ""
    jax: str = ""
    autograd: str = ""
    tinygrad: str = ""
    built_in: str = ""
    setup: str = ""
    numpy_setup: str = ""
    jax_setup: str = ""
    autograd_setup: str = ""
    tinygrad_setup: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    gradient: list[str] = field(default_factory=list)
    check: str = "values"
    tolerance: float = 1e-5
    group: str = ""


@dataclass(frozen=True)
class Group:
    """Cases with targets for their ratios to the first peer, mean and worst: by form of tt, or for `any`."""

    name: str
    aim: dict[str, float] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)

    def aim_of(self, form: str) -> float | None:
        """Return the target of the mean for a form of tt."""
        return self.aim.get(form, self.aim.get("any"))

    def worst_of(self, form: str) -> float | None:
        """Return what no case may exceed in a form of tt."""
        return self.worst.get(form, self.worst.get("any"))


@dataclass(frozen=True)
class Suite:
    """The cases of one file."""

    name: str
    title: str
    groups: list[Group]
    cases: list[Case]


def suite_names() -> list[str]:
    """Return the names of the case files."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_suite(name: str) -> Suite:
    """Read one case file; a case that names no group is of the first."""
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    groups = [Group(**group) for group in content.get("group", [{"name": content["title"]}])]
    cases = [Case(**{"group": groups[0].name, **case}) for case in content["case"]]
    return Suite(name, content["title"], groups, cases)


def find_case(name: str) -> Case:
    """Return the case of a name, whichever file it stands in."""
    for suite in suite_names():
        for case in read_suite(suite).cases:
            if case.name == name:
                return case
    raise KeyError(f"no case is named {name!r}")


# --- inputs ---


def make_array(description: str, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return an array of random numbers from "dtype[shape]", "dtype[shape]*scale" or "dtype[shape]<limit"."""
    match = re.fullmatch(r"(\w+)\[([\d,]*)\](?:\*([\d.]+)|<(\d+))?", description)
    if match is None:
        raise ValueError(f"an input is written dtype[shape], not {description!r}")
    import numpy as np

    dtype, shape = np.dtype(match[1]), tuple(int(size) for size in match[2].split(",") if size)
    if dtype.kind == "f":
        return np.asarray(random.standard_normal(shape) * float(match[3] or 1), dtype)
    limit = 2 if dtype.kind == "b" else int(match[4] or 10)
    return np.asarray(random.integers(0, limit, shape), dtype)


def namespace(case: Case, library: str) -> dict[str, Any]:
    """Return the names that a case's statements see: the library, and the inputs as its arrays."""
    import numpy as np

    random = np.random.default_rng(0)
    arrays = {name: make_array(description, random) for name, description in case.inputs.items()}
    names = names_for(library, arrays, case.gradient)
    if "own." in case.tensor or "ops.bench." in case.tensor:
        from benchmarks.custom_ops import operators

        if library in ("tt", "torch"):
            names["own"] = operators(library)
    return names


# --- code ---

LOOP = """
def function(count):
    start = clock()
    for _ in range(count):
        STATEMENT
    return clock() - start
"""
ONCE = """
def function():
    STATEMENT
"""


def statement_of(case: Case, library: str, *, built_in: bool = False) -> str:
    """Return the timed statement for a library; empty if the case has none for it."""
    if built_in:
        return case.built_in.strip() if library in ("tt", "torch") else ""
    written: str = getattr(case, "tensor" if library in ("tt", "torch") else library)
    return written.strip()


def setup_of(case: Case, library: str) -> str:
    """Return what runs before the clock starts."""
    setup: str = getattr(case, "setup" if library in ("tt", "torch") else f"{library}_setup")
    return setup


def make_function(case: Case, library: str, template: str, statement: str, **more: Any) -> Callable[..., Any]:
    """Compile a function that sees the inputs as variables of an enclosing function, as a program would."""
    names = namespace(case, library)
    exec(compile(setup_of(case, library), f"<setup of {case.name}>", "exec"), names)
    names = {name: value for name, value in names.items() if not name.startswith("__")} | more
    before, _, after = template.strip().partition("STATEMENT")
    depth = len(before) - len(before.rstrip(" "))
    inner = before + textwrap.indent(statement, " " * depth).lstrip() + after
    source = f"def factory({', '.join(names)}):\n{textwrap.indent(inner, '    ')}\n    return function\n"
    scope: dict[str, Any] = {}
    exec(compile(source, f"<{case.name}, {library}>", "exec"), scope)
    function: Callable[..., Any] = scope["factory"](**names)
    return function


def make_loop(
    case: Case, library: str, *, built_in: bool = False, clock: Callable[[], float] = time.perf_counter
) -> Callable[[int], float]:
    """Return a function that runs the statement so many times and returns the seconds that it took."""
    return make_function(case, library, LOOP, statement_of(case, library, built_in=built_in), clock=clock)


def make_once(case: Case, library: str, *, built_in: bool = False) -> Callable[[], Any]:
    """Return a function that runs the statement once and returns its value, or the variable `result`."""
    statement = statement_of(case, library, built_in=built_in)
    returned = f"{statement}\nreturn result" if "\n" in statement else f"return {statement}"
    return make_function(case, library, ONCE, returned)
