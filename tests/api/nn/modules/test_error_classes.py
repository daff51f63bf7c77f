"""Modules with wrong arguments and inputs raise what PyTorch's raise, or a subclass of it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

from collections.abc import Iterator
from typing import Any, Final

import torch

import tt
from tests.api.nn.modules.module_db import CLASSES, MORE, ROWS, samples, to_tt
from tests.error_classes import not_caught, raised

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

APART: Final[dict[tuple[str, str], str]] = {
    ("LPPool2d", "argument 1"): "PyTorch unpacks a text",
    ("LPPool3d", "argument 1"): "PyTorch unpacks a text",
    ("LSTM", "input 1"): "PyTorch takes the first of no states",
    ("LSTMCell", "input 1"): "PyTorch takes the first of no states",
    (
        "MultiheadAttention",
        "input 0",
    ): "of a complex query, PyTorch names the mask, which became complex, too",
    ("TransformerEncoder", "an input too many"): "PyTorch hands the number to TorchScript's helper",
    ("TransformerEncoderLayer", "an input too many"): "as TransformerEncoder",
    ("Transformer", "d_model"): "PyTorch divides a number that is no integer, and names the remainder",
    ("Transformer", "input 0"): "PyTorch takes the second size of a vector",
    ("Transformer", "input 1"): "PyTorch takes the second size of a vector",
}
"""(class, changed argument) -> why the exception is another one."""


def wrong(value: Any) -> Iterator[Any]:
    """Yield values with one fault in the place of a right one; tensors and modules are torch's."""
    if isinstance(value, torch.Tensor):
        x = value.detach()
        yield from ("x", None, 3, [1.0])
        yield from (torch.ones((), dtype=x.dtype), x.unsqueeze(0).unsqueeze(0))
        yield from (
            x.to(dtype) for dtype in (torch.bool, torch.int64, torch.complex64) if dtype is not x.dtype
        )
        if x.ndim:
            yield from (x[..., :0], x[:0], x[0], torch.cat([x, x], -1), torch.cat([x, x], 0))
        if x.dtype is torch.int64:
            yield from (torch.full(x.shape, 100), torch.full(x.shape, -100))
    elif isinstance(value, bool):
        yield "x"
    elif isinstance(value, int | float):
        yield from (0, -1, 97, 2.5, "x", None, [1])
    elif isinstance(value, str):
        yield from ("nonsense", 5, None)
    elif isinstance(value, list | tuple):
        yield from ((), (-1,), (1, 2, 3, 4), "x", None)


def calls(name: str) -> Iterator[tuple[str, list[Any], dict[str, Any], list[Any], dict[str, Any]]]:
    """Yield arguments of a class and its input, as they are and with one changed."""
    if name not in ROWS:
        return
    for sample in samples(name, True)[:3]:
        made, forward = sample.constructor_input, sample.forward_input
        if forward is None:
            continue
        args, kwargs, given, named = (
            list(made.args),
            dict(made.kwargs),
            list(forward.args),
            dict(forward.kwargs),
        )
        kwargs.pop("device", None)
        yield "", args, kwargs, given, named
        for i, value in enumerate(args):
            for bad in wrong(value):
                yield f"argument {i} is {bad!r:.40}", [*args[:i], bad, *args[i + 1 :]], kwargs, given, named
        for key, value in kwargs.items():
            for bad in wrong(value):
                yield f"{key} is {bad!r:.40}", args, {**kwargs, key: bad}, given, named
        for i, value in enumerate(given):
            for bad in wrong(value):
                yield f"input {i} is {bad!r:.40}", args, kwargs, [*given[:i], bad, *given[i + 1 :]], named
        yield "an argument too few", args[:-1], kwargs, given, named
        yield "an unknown argument", args, {**kwargs, "no_such_argument": 1}, given, named
        yield "an input too few", args, kwargs, given[:-1], named
        yield "an input too many", args, kwargs, [*given, 1], named


def run(library: Any, name: str, args: list[Any], kwargs: Any, given: list[Any], named: Any) -> None:
    module = getattr(library.nn, name)(*args, **kwargs).to(library.float64)
    module(*given, **named)


def other_errors(name: str) -> Iterator[str]:
    """Yield wrong uses of a class whose errors a caller of PyTorch would not catch."""
    right = False
    for changed, *arguments in calls(name):
        theirs = raised(run, [torch, name, *arguments], {})
        if not changed:
            right = theirs is None
        if not right or theirs is None or (name, changed.partition(" is ")[0]) in APART:
            continue
        problem = not_caught(theirs, raised(run, [tt, name, *map(to_tt, arguments)], {}))
        if problem:
            yield f"{name}, {changed}: {problem}"


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [name for name in CLASSES if name in ROWS and name not in MORE])
def test_a_callers_except_catches_the_errors_of_modules(name: str) -> None:
    assert list(other_errors(name)) == []
