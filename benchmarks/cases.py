"""Reads the frozen cases and makes the functions that are timed."""

from __future__ import annotations

import importlib
import re
import textwrap
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "LIBRARIES",
    "Case",
    "Suite",
    "find_case",
    "make_loop",
    "make_once",
    "read_suite",
    "statement_of",
    "suite_names",
]

LIBRARIES = ("tt", "numpy", "torch")
FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One statement to be timed, as written for tensors and for NumPy (see cases/small_calls.toml).

    The statement `built_in` is timed beside it, where there is one (see cases/custom_ops.toml).
    """

    name: str
    tensor: str
    numpy: str = ""
    built_in: str = ""
    setup: str = ""
    numpy_setup: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    gradient: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Suite:
    """The cases of one file."""

    title: str
    cases: list[Case]


def suite_names() -> list[str]:
    """Return the names of the case files."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_suite(name: str) -> Suite:
    """Read one case file."""
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return Suite(content["title"], [Case(**case) for case in content["case"]])


def find_case(name: str) -> Case:
    """Return the case of a name, whichever file it stands in."""
    for suite in suite_names():
        for case in read_suite(suite).cases:
            if case.name == name:
                return case
    raise KeyError(f"no case is named {name!r}")


# --- inputs ----------------------------------------------------------------------------------------------------


def make_array(description: str, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return an array of random numbers from "dtype[shape]"."""
    match = re.fullmatch(r"(\w+)\[([\d,]*)\]", description)
    if match is None:
        raise ValueError(f"an input is written dtype[shape], not {description!r}")
    dtype, shape = np.dtype(match[1]), tuple(int(size) for size in match[2].split(",") if size)
    if dtype.kind == "f":
        return np.asarray(random.standard_normal(shape), dtype)
    return np.asarray(random.integers(0, 2 if dtype.kind == "b" else 10, shape), dtype)


def namespace(case: Case, library: str) -> dict[str, Any]:
    """Return the names that a case's statements see: the library, and the inputs as its arrays."""
    random = np.random.default_rng(0)
    arrays = {name: make_array(description, random) for name, description in case.inputs.items()}
    if library == "numpy":
        return {"np": np, **arrays}
    lib = importlib.import_module(library)
    tensors = {name: lib.from_numpy(array) for name, array in arrays.items()}
    for name in case.gradient:
        tensors[name].requires_grad_()
    names = {"np": np, "lib": lib, "F": importlib.import_module(f"{library}.nn.functional"), **tensors}
    if "own." in case.tensor or "ops.bench." in case.tensor:
        from benchmarks.custom_ops import operators

        names["own"] = operators(library)
    return names


# --- code ------------------------------------------------------------------------------------------------------

LOOP = """
def function(count):
    start = perf_counter()
    for _ in range(count):
        STATEMENT
    return perf_counter() - start
"""
ONCE = """
def function():
    STATEMENT
"""


def statement_of(case: Case, library: str, *, built_in: bool = False) -> str:
    """Return what is timed for a library; empty if the case is not written for it."""
    if built_in:
        return "" if library == "numpy" else case.built_in.strip()
    return (case.numpy if library == "numpy" else case.tensor).strip()


def make_function(case: Case, library: str, template: str, statement: str) -> Callable[..., Any]:
    """Compile a function that sees the inputs as variables of an enclosing function, as a program would."""
    names = namespace(case, library)
    exec(
        compile(case.numpy_setup if library == "numpy" else case.setup, f"<setup of {case.name}>", "exec"),
        names,
    )
    names = {name: value for name, value in names.items() if not name.startswith("__")}
    names["perf_counter"] = time.perf_counter
    before, _, after = template.strip().partition("STATEMENT")
    depth = len(before) - len(before.rstrip(" "))
    inner = before + textwrap.indent(statement, " " * depth).lstrip() + after
    source = f"def factory({', '.join(names)}):\n{textwrap.indent(inner, '    ')}\n    return function\n"
    scope: dict[str, Any] = {}
    exec(compile(source, f"<{case.name}, {library}>", "exec"), scope)
    function: Callable[..., Any] = scope["factory"](**names)
    return function


def make_loop(case: Case, library: str, *, built_in: bool = False) -> Callable[[int], float]:
    """Return a function that runs the statement so many times and returns the seconds that it took."""
    return make_function(case, library, LOOP, statement_of(case, library, built_in=built_in))


def make_once(case: Case, library: str, *, built_in: bool = False) -> Callable[[], Any]:
    """Return a function that runs the statement once and returns its value, or what it calls `result`."""
    statement = statement_of(case, library, built_in=built_in)
    returned = f"{statement}\nreturn result" if "\n" in statement else f"return {statement}"
    return make_function(case, library, ONCE, returned)
