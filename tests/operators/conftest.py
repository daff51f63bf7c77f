"""Comparing a shape rule with PyTorch: the same arguments, the same sizes, strides and offset, the same error."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tt.core.types.dtype as dtypes
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.meta import MetaHandle
from tt.core.shapes import Result, find_rule, rules
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import wrap

# Without PyTorch the tests that compare with it skip.
torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def described(value: Any) -> Any:
    """Return PyTorch's tensors and dtypes as a shape rule sees them."""
    if isinstance(value, torch.Tensor):
        dtype = dtypes.to_dtype(str(value.dtype))
        extent = value.untyped_storage().nbytes() // value.itemsize
        return MetaHandle(tuple(value.shape), dtype, value.stride(), value.storage_offset(), extent)
    if isinstance(value, torch.dtype):
        return dtypes.to_dtype(str(value))
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    return value


def is_tensor_like(value: Any) -> bool:
    return isinstance(value, MetaHandle) or (isinstance(value, list) and any(map(is_tensor_like, value)))


def run_rule(name: str, op: str = "op", /, **arguments: Any) -> Any:
    """Return the result of a rule for named arguments, or the composite of an operator that has no rule."""
    if name not in rules():
        return run_composite(name, arguments)
    values = [described(value) for value in arguments.values()]
    tensors = [i for i, value in enumerate(values) if is_tensor_like(value)]
    return find_rule(name).bind(op, list(arguments), tensors)(values)


def run_composite(name: str, arguments: dict[str, Any]) -> Any:
    """Run an operator without data, and return what its results look like."""
    spec = REGISTRY.backend("meta").spec
    values: list[Any] = [
        [wrap(v, spec(v.dtype)) for v in value]
        if isinstance(value, list) and is_tensor_like(value)
        else wrap(value, spec(value.dtype)) if is_tensor_like(value) else value
        for value in map(described, arguments.values())
    ]  # fmt: skip
    names = ["input" if key == "self" else key for key in arguments]
    result = getattr(ops, name)(**dict(zip(names, values, strict=True)))
    found = [
        Result(t._handle.shape, t._handle.strides, t._handle.offset)
        for t in ([result] if isinstance(result, TensorBase) else result)
    ]
    return found[0] if isinstance(result, TensorBase) else found


def seen(result: Result) -> tuple[Any, ...]:
    return result.shape, result.full_strides, result.offset or 0


def expected(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset()


@pytest.fixture(scope="session")
def agree() -> Callable[..., None]:
    """Return a function that runs a rule and a PyTorch function and compares them.

    `agree(name, call, **arguments)`: the arguments go to the rule by name, to the call by position; `strides=False`
    compares sizes only.
    """
    pytest.importorskip("torch")

    def compare(
        name: str, call: Callable[..., Any], /, *, strides: bool = True, op: str = "op", **arguments: Any
    ) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch's about its deprecated functions
                theirs = call(*arguments.values())
        except Exception as error:
            kind = next(k for k in (IndexError, RuntimeError, ValueError, TypeError) if isinstance(error, k))
            with pytest.raises(kind):
                run_rule(name, op, **arguments)
            return
        ours = run_rule(name, op, **arguments)
        if isinstance(theirs, torch.Tensor):
            ours, theirs = [ours], [theirs]
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            if strides:
                assert seen(one) == expected(other)
            else:
                assert one.shape == tuple(other.shape)
            if one.dtype is not None:
                assert one.dtype is described(other.dtype)

    return compare


@pytest.fixture(scope="session")
def rule() -> Callable[..., Any]:
    """Return a function that runs a rule: `rule(name, op, **arguments)`."""
    return run_rule
