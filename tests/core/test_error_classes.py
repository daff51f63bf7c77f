"""Wrong calls raise what PyTorch raises for them, or a subclass of it, so that a caller's `except` still catches."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

import tt
from tests.error_classes import not_caught, raised
from tt.core.library import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.testing.samples import samples

pytestmark = pytest.mark.torch

ENDING: Final = (
    "native_batch_norm", "_native_batch_norm", "_batch_norm", "lstm", "gru", "rnn_", "_fused_", "_scaled_mm",
    "lu_unpack",
)  # fmt: skip
"""How operators begin whose wrong calls end PyTorch's process."""

DEFINITIONS = [
    d for d in REGISTRY.definitions() if "::" not in d.name and d.samples and not d.name.startswith(ENDING)
]

APART: Final[dict[tuple[str, str], str]] = {
    ("bernoulli", "*"): "takes a tensor of probabilities, whose shape is wrong",
    ("view", "*"): "PyTorch's view takes no name of a dtype, and None is no dtype for it",
    ("split_copy", "argument 1"): "takes a list of sizes, whose sum is wrong",
    ("item", "argument 0"): "a method that is called without a tensor",
    ("lobpcg", "argument 0"): "PyTorch asserts that matrices are square",
    ("group_norm", "argument 1"): "PyTorch divides by the number of groups before it looks at it",
    ("interpolate", "mode"): "PyTorch names a wrong number of dimensions instead",
    ("ctc_loss", "reduction"): "no overload takes it",
    ("istft", "argument 0"): "PyTorch looks for dimensions of a tensor without elements",
    ("linalg_lu_solve", "argument 1"): "PyTorch looks for the last size of pivots without dimensions",
    ("lu_solve", "argument 2"): "as linalg_lu_solve",
    (
        "affine_grid_generator",
        "argument 0",
    ): "PyTorch looks for sizes that a tensor of too few dimensions lacks",
}
"""(operator, changed argument) -> why the exception is another one."""

WRONG_TYPES: Final = (" is 'x'", " is [")
"""Changes of a number or tensor for which a TypeError is right, wherever PyTorch's Python code fails for them."""

KEPT: Final = ("device", "layout", "memory_format", "generator", "sparse_grad", "non_blocking")
"""Arguments that are left out."""


@cache
def reference() -> Any:
    path = Path(__file__).parents[1] / "testing" / "torch_reference.py"
    spec = importlib.util.spec_from_file_location("torch_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function_of(definition: Any) -> tuple[Any, Any] | None:
    """Return an operator's function in both libraries, by the same path."""
    name = definition.name.partition(".")[0]
    short = name.removeprefix("fft_").removeprefix("linalg_").removeprefix("special_")
    for path in (
        f"{definition.module}.{short}",
        name,
        f"nn.functional.{name}",
        f"Tensor.{name}",
        f"Tensor.{name}_",
    ):
        found = []
        for owner in (tt, reference().torch):
            for part in path.split("."):
                owner = getattr(owner, part, None)
            found.append(owner)
        if all(map(callable, found)):
            return found[0], found[1]
    return None


def wrong(value: Any) -> Iterator[Any]:
    """Yield values with one fault in the place of a right one."""
    if isinstance(value, tt.Tensor):
        yield from ("x", None)
        yield from (
            (value.real if value.is_complex() else value).to(dtype)
            for dtype in (tt.int64, tt.bool, tt.complex64)
            if dtype is not value.dtype
        )
        yield from (tt.ones(shape, dtype=value.dtype) for shape in ((7, 5, 3), (), (0,)))
        if value.dtype in (tt.int64, tt.int32):
            yield from (tt.full(value.shape, number, dtype=value.dtype) for number in (100, -100))
    elif isinstance(value, bool):
        yield "x"
    elif isinstance(value, str):
        yield from ("nonsense", 5)
    elif isinstance(value, list | tuple):
        yield from ([], [9], [-9], [1, 1], "x")
    elif isinstance(value, tt.dtype):
        yield from (tt.int64, tt.bool, tt.complex64)
    elif isinstance(value, int | float):
        yield from (9, -9, 0, "x", [9])


def calls(definition: Any) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield right calls with one argument changed, left out or added, and which."""
    served = dtype_names(definition.dtypes)
    dtype = getattr(tt, next((n for n in ("float32", "int64", "bool") if n in served), served[0]))
    found = [s for s in samples(definition, "cpu", dtype) if s.error is None]
    large = [s for s in found if any(isinstance(a, tt.Tensor) and a.ndim > 1 and a.numel() for a in s.args)]
    for sample in found[:1] + large[:1]:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for place, argument in enumerate(definition.signature.arguments):
            if argument.name in KEPT or (place >= len(sample.args) and argument.name not in sample.kwargs):
                continue
            value = sample.args[place] if place < len(sample.args) else sample.kwargs[argument.name]
            if argument.keyword_only or argument.name == "dtype" or named or place > len(positional):
                named[argument.name] = value
            else:
                positional.append(value)
        yield "", positional, named
        for place, value in enumerate(positional):
            for other in wrong(value):
                yield (
                    f"argument {place} is {other!r}",
                    [*positional[:place], other, *positional[place + 1 :]],
                    named,
                )
        for name, value in named.items():
            for other in wrong(value):
                yield f"{name} is {other!r}", positional, {**named, name: other}
        yield "an argument too few", positional[:-1], named
        yield "an unknown argument", positional, {**named, "no_such_argument": 1}


def converted(value: Any, convert: Any) -> Any:
    if isinstance(value, list | tuple):
        return [converted(item, convert) for item in value]
    return convert(value)


def copy(value: Any) -> Any:
    return value.clone() if isinstance(value, tt.Tensor) and value.layout is tt.strided else value


def other_errors(definition: Any) -> Iterator[str]:
    """Yield wrong calls of an operator whose errors a caller of PyTorch would not catch."""
    functions = function_of(definition)
    if functions is None:
        return
    name = definition.name.partition(".")[0]
    right = False
    for changed, args, kwargs in calls(definition):
        if (name, "*") in APART or (name, changed.partition(" is ")[0]) in APART:
            continue
        try:
            theirs = [converted(value, reference().to_torch) for value in args]
            named = {key: converted(value, reference().to_torch) for key, value in kwargs.items()}
        except (TypeError, AttributeError, ValueError):  # a dtype or layout that NumPy lacks
            continue
        expected = raised(functions[1], theirs, named)
        if not changed:
            right = expected is None
        if not right or expected is None:
            continue
        error = raised(
            functions[0], converted(args, copy), {k: converted(v, copy) for k, v in kwargs.items()}
        )
        problem = not_caught(expected, error)
        if not problem:
            continue
        if isinstance(error, tt.errors.ArgumentError) and any(words in changed for words in WRONG_TYPES):
            continue
        yield f"{definition.name}, {changed}: {problem}"


@pytest.mark.sampled(25)
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_a_callers_except_catches_the_errors_of_operators(definition: Any) -> None:
    assert list(other_errors(definition)) == []
