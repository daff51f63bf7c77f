"""Reads the frozen cases of the CUDA benchmark and compiles them into functions."""

from __future__ import annotations

import ast
import operator
import re
import textwrap
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Case", "arrays_of", "evaluated", "function_of", "read_cases"]

FILE = Path(__file__).parent / "cases.toml"
AIMS = ("bandwidth", "parity", "submit")
RUNNERS = ("compile", "graph", "replay")
_INPUT = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[^\]]*)\](<(?P<limit>.+))?")


@dataclass(frozen=True)
class Case:
    """A statement to be timed; see cases.toml."""

    name: str
    statement: str
    sizes: dict[str, int]
    dry: dict[str, int]
    aim: str
    inputs: dict[str, str] = field(default_factory=dict)
    gradient: list[str] = field(default_factory=list)
    setup: str = ""
    bytes: str = ""
    flops: str = ""
    ceiling: str = ""
    calls: int = 0
    runners: list[str] = field(default_factory=list)
    check: str = "values"
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        if self.aim not in AIMS or set(self.runners) - set(RUNNERS) or set(self.sizes) != set(self.dry):
            raise ValueError(f"{self.name}: an aim, a runner or a size that there is not")
        if bool(self.flops) != bool(self.ceiling):
            raise ValueError(f"{self.name}: flops need the dtype of their ceiling")

    def numbers(self, *, dry: bool) -> dict[str, int]:
        """Return the sizes, by name."""
        return self.dry if dry else self.sizes


def read_cases(file: Path = FILE) -> list[Case]:
    """Read the cases."""
    return [Case(**case) for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]]


_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def evaluated(text: str, numbers: dict[str, int]) -> int:
    """Return the value of a formula over named numbers.

    Examples
    --------
    >>> from benchmarks.cuda.cases import evaluated
    >>> evaluated("2 * n ** 3", {"n": 10})
    2000
    """

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name):
                return numbers[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
        raise ValueError(f"{text!r} is not a formula of sizes")

    return value(ast.parse(text, mode="eval").body)


def arrays_of(case: Case, numbers: dict[str, int]) -> dict[str, tuple[np.ndarray[Any, Any], str]]:
    """Return random numbers for each input, and its dtype; bfloat16 and float16 are rounded by the libraries."""
    random = np.random.default_rng(0)
    arrays = {}
    for name, text in case.inputs.items():
        match = _INPUT.fullmatch(text)
        if match is None:
            raise ValueError(f"{case.name}: {text!r} describes no input")
        shape = tuple(evaluated(size, numbers) for size in match["shape"].split(","))
        dtype = match["dtype"]
        array: np.ndarray[Any, Any]
        if match["limit"]:
            array = random.integers(0, evaluated(match["limit"], numbers), shape)
        else:
            array = random.standard_normal(shape, np.float32)
            if dtype.startswith("complex"):
                array = array + 1j * random.standard_normal(shape, np.float32)
        arrays[name] = array, dtype
    return arrays


def function_of(case: Case, names: dict[str, Any]) -> Callable[[], Any]:
    """Return the statement as a function without arguments that returns `result`; `names` are its globals.

    These names are arguments with defaults, which function compilers trace best.
    """
    space = dict(names)
    exec(compile(case.setup, f"<setup of {case.name}>", "exec"), space)
    seen = [name for name in space if name.isidentifier() and not name.startswith("__")]
    text = f"def statement({', '.join(f'{name}={name}' for name in seen)}):\n"
    text += textwrap.indent(f"{case.statement.strip()}\nreturn result\n", "    ")
    exec(compile(text, f"<{case.name}>", "exec"), space)
    function: Callable[[], Any] = space["statement"]
    return function
