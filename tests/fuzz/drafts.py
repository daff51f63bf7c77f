"""A call that is still being put together: its tensors as expressions, its other arguments as values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any

from tt.testing.snippets import code_of

__all__ = ["FLOATING", "Draft", "Leaf", "Names", "Program", "number_code"]

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"})


@dataclass(frozen=True)
class Program:
    """The program of a worker.

    Attributes
    ----------
    text : str
        A program of Python, complete as it is.
    parts : tuple of str
        What was changed in it; a program can be made again without some of them.
    subject : str
        The subject, for example the name of an operator.
    patient : bool
        Whether it may rightly take long, as a sum over 2**62 elements does.
    comparison : str
        A call of `tests.fuzz.comparison.check` for after the text; empty where nothing is compared.
    """

    text: str
    parts: tuple[str, ...]
    subject: str
    patient: bool = False
    comparison: str = ""


@dataclass
class Leaf:
    """A tensor among the arguments: the expression that makes it, and the facts of the result."""

    name: str
    code: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def numel(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True)
class Names:
    """An expression as an argument."""

    code: str


@dataclass
class Draft:
    """A call, as mutations change it.

    Attributes
    ----------
    path, op, form : str
        Path below `tt.ops`, name of the operator; "functional", "inplace" or "out".
    args, kwargs : list, dict
        Leaves, lists of leaves, `Names`, and plain values.
    """

    path: str
    op: str
    form: str
    args: list[Any]
    kwargs: dict[str, Any]
    prelude: list[str] = field(default_factory=list)
    out: str = "{0}"
    backward: str = ""
    patient: bool = False

    def leaves(self) -> list[Leaf]:
        """The tensors among the arguments, each once."""
        found: list[Leaf] = []
        for leaf in leaves_of([self.args, list(self.kwargs.values())]):
            if not any(leaf is other for other in found):
                found.append(leaf)
        return found

    def places(self) -> list[tuple[Any, Any]]:
        """Where arguments are: containers, and the index or the key in them."""
        found: list[tuple[Any, Any]] = []
        for container in (self.args, self.kwargs):
            for key, value in _items(container):
                found.append((container, key))
                if isinstance(value, list):
                    found += [(value, index) for index in range(len(value))]
        return found

    def draw(self, chance: random.Random, kind: type | tuple[type, ...]) -> tuple[Any, Any] | None:
        """Return the place of an argument of a kind, or None if there is none."""
        found = [
            (container, key) for container, key in self.places()
            if isinstance(container[key], kind) and not (kind is int and isinstance(container[key], bool))
        ]  # fmt: skip
        return chance.choice(found) if found else None

    def text(self) -> str:
        """Return the program."""
        lines = ["import tt", *self.prelude]
        if any("np." in leaf.code for leaf in self.leaves()) or any("np." in line for line in self.prelude):
            lines.insert(0, "import numpy as np")
        if any("mmap." in leaf.code for leaf in self.leaves()):
            lines.insert(0, "import mmap")
        lines += [f"{leaf.name} = {leaf.code}" for leaf in self.leaves()]
        given = [_code(value) for value in self.args]
        named = [f"{name}={_code(value)}" for name, value in self.kwargs.items()]
        # The name of an overload may be a keyword of Python: random.from
        path = f"tt.ops.{self.path}"
        packet, _, last = path.rpartition(".")
        called = f"getattr({packet}, {last!r})" if iskeyword(last) else path
        call = f"{called}({', '.join([*given, *named])}"
        end = "" if call.endswith("(") else ", "
        lines.append(f"result = {call})")
        if self.form == "out":
            out = self.out.format("result")
            each = self.out.format("r")
            several = f"tuple({each} for r in result) if isinstance(result, tuple) else {out}"
            lines += [f"out = {several}", f"result = {call}{end}out=out)"]
        if self.backward:
            lines += [
                "results = [r for r in (result if isinstance(result, tuple | list) else [result]) "
                "if isinstance(r, tt.Tensor) and r.requires_grad]",
                f"inputs = [x for x in ({', '.join(leaf.name for leaf in self.leaves())},) if x.requires_grad]",
                f"grads = tt.autograd.grad(results, inputs, [{self.backward} for r in results], allow_unused=True) "
                "if results and inputs else []",
            ]
        return "\n".join([*lines, ""])

    def comparison(self) -> str:
        """Return what compares the result of the functional form with PyTorch's, and the gradients."""
        given = [_code(value) for value in self.args]
        named = [f"{name}={_code(value)}" for name, value in self.kwargs.items()]
        if self.backward:
            named += ["grads=grads", f"cotangent={self.backward!r}"]
        return f"check({', '.join([repr(self.op), 'result', *given, *named])})"


def _items(container: Any) -> list[tuple[Any, Any]]:
    return list(container.items()) if isinstance(container, dict) else list(enumerate(container))


def leaves_of(value: Any) -> Iterator[Leaf]:
    """Yield the tensors in nested lists."""
    if isinstance(value, Leaf):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves_of(item)


def _code(value: Any) -> str:
    if isinstance(value, Leaf):
        return value.name
    if isinstance(value, Names):
        return value.code
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    if isinstance(value, tuple) and next(leaves_of(value), None) is not None:
        return f"({', '.join(map(_code, value))},)"
    return number_code(value)


def number_code(value: Any) -> str:
    """Return an expression for a plain value."""
    if isinstance(value, complex) and not isinstance(value, float | int):
        return f"complex({number_code(value.real)}, {number_code(value.imag)})"
    return code_of(value)
