"""References, with which an operator's values are compared.

`ref:` in ops.yaml names a function of NumPy or SciPy.  It is called on NumPy arrays with the operator's arguments;
floating point arrays are widened first, so that the reference is more exact than the checked result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.by_name import object_named
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.schema.model import MISSING
from tt.core.tensor.base import TensorBase
from tt.core.types.complex32 import encode_complex32, is_complex32
from tt.core.types.float8 import encode_float8, is_float8
from tt.core.types.promotion import get_default_dtype, result_type
from tt.operators._samples.base import as_array
from tt.testing.checks.call import on_cpu, tensors_in

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition

__all__ = ["Reference", "as_array", "cpu_reference", "in_dtype", "numpy_reference"]

Reference = Callable[["OpDefinition", Mapping[str, Any]], Any]
"""Called with the operator and all its arguments by name; returns arrays (a tuple or list for several results), or
`NotImplemented` where it does not apply."""

# What PyTorch calls otherwise than NumPy.
_RENAMED: Final = {
    "dim": "axis", "keepdim": "keepdims", "correction": "ddof", "steps": "num", "dims": "axis",
    "diagonal": "k", "decimals": "decimals",
    "rtol": "rtol", "atol": "atol", "equal_nan": "equal_nan",
}  # fmt: skip
# Arguments that do not change the values, or that the widened reference needs not.
_IGNORED: Final = frozenset({"dtype", "layout", "device", "memory_format", "stable", "non_blocking", "out"})


@cache
def _load(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = object_named(name)
    return function


def widened(value: Any) -> Any:
    """Return floating point and complex arrays in double precision."""
    if isinstance(value, list):
        return [widened(item) for item in value]
    if isinstance(value, np.ndarray):
        if np.issubdtype(value.dtype, np.complexfloating) or is_complex32(value.dtype):
            return value.astype(np.complex128)
        if value.dtype.kind in "fV":  # ml_dtypes have kind V
            return value.astype(np.float64)
    return value


def numpy_reference(definition: OpDefinition, arguments: Mapping[str, Any]) -> Any:
    """Return the result of the operator's `ref`, or `NotImplemented` where it cannot be called.

    Tensors and required arguments go by position, and of the rest only what differs from its default, renamed to
    NumPy's words; any other argument that is given (`alpha`) makes the reference not applicable.
    """
    if definition.ref is None:
        return NotImplemented
    function = _load(definition.ref)
    compute = _compute_dtypes(definition, arguments)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in definition.signature.arguments:
        value = arguments[argument.name]
        # Without the dtype the reference would return that of the widened argument.
        if argument.name == "dtype" and value is not None and definition.name.endswith("_like"):
            named["dtype"] = value.numpy
        if argument.name in _IGNORED:
            continue
        if argument.name in _RENAMED:
            if _same(value, argument.default):
                continue
            named[_RENAMED[argument.name]] = tuple(value) if isinstance(value, list) else value
        elif argument.keyword_only or (not argument.type.is_tensor and argument.default is not MISSING):
            if not _same(value, argument.default):
                return NotImplemented
        else:
            array = as_array(value)
            if argument.name in definition.promote:
                array = _cast(array, compute)
            positional.append(widened(array))
    return _call(definition, function, positional, named)


def _compute_dtypes(definition: OpDefinition, arguments: Mapping[str, Any]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes through which arguments go: conversion rounds integers before they are widened."""
    group: list[Any] = []
    for name in definition.promote:
        value = arguments[name]
        group += value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    if not group:
        return ()
    dtype = result_type(*group)
    rules = definition.result if isinstance(definition.result, tuple) else (definition.result,)
    if "int_to_float" in rules and dtype.kind in ("bool", "signed", "unsigned"):
        return get_default_dtype().numpy, np.dtype(np.float64)
    wide = np.dtype(np.complex128 if is_complex32(dtype.numpy) else np.float64)
    if not dtype.is_floating_point and not is_complex32(dtype.numpy):
        return (dtype.numpy,)
    if "bool" in rules:
        # A comparison is of the arguments in their common dtype, in which two numbers may become one.
        return dtype.numpy, wide
    return (wide,)


def in_dtype(array: np.ndarray[Any, Any], native: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an array in a dtype of NumPy's, rounded to eight bits as tt does it: ml_dtypes has its own ways."""
    if is_complex32(native):
        return encode_complex32(array)
    return encode_float8(array, native) if is_float8(native) else array.astype(native)


def _cast(value: Any, dtypes: tuple[np.dtype[Any], ...]) -> Any:
    if isinstance(value, list):
        return [_cast(item, dtypes) for item in value]
    if isinstance(value, np.ndarray):
        for dtype in dtypes:
            value = in_dtype(value, dtype)
    return value


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, TensorBase) or isinstance(default, TensorBase):
        return value is default
    # The types are compared as well, since True equals 1.
    return bool(type(value) is type(default) and value == default)


def _call(
    definition: OpDefinition, function: Callable[..., Any], positional: Sequence[Any], named: dict[str, Any]
) -> Any:
    axis = named.get("axis")
    # An empty list of dims means all of them, but none for all and any, in PyTorch as in NumPy.
    if axis == () and definition.kind == "reduction" and definition.name not in ("all.dim", "any.dim"):
        del named["axis"]
    array = positional[0] if positional and isinstance(positional[0], np.ndarray) else None
    if array is not None and not array.ndim and ("axis" in named or definition.kind == "reduction"):
        return NotImplemented  # NumPy has no dimension 0 there, and SciPy gives an array of one element
    # NumPy divides by n, PyTorch by n - 1.
    if definition.name.split(".")[0] in ("var", "std"):
        named.setdefault("ddof", 1)
    if definition.name == "index_select" and not positional[1].ndim:
        return NotImplemented  # PyTorch's result keeps a dimension for the one index
    if definition.name == "cat":
        positional = [[a for a in positional[0] if a.shape != (0,)] or positional[0]]  # as PyTorch skips them
        if not positional[0][0].ndim or (positional[0][0].shape == (0,) and named.get("axis")):
            return NotImplemented
    if function is np.angle and array is not None and array.dtype.kind in "iu":
        positional = [array.astype(np.float64)]  # NumPy computes 8-bit integers in half precision
    if function is np.transpose and "axis" in named:
        named["axes"] = named.pop("axis")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing, which are NaN here as there
        try:
            return function(*positional, **named)
        except TypeError:
            return NotImplemented  # the reference lacks the dtype (NumPy's sign of bools)


def cpu_reference(definition: OpDefinition, arguments: Mapping[str, Any]) -> Any:
    """Return the CPU's result of the same call, or the arguments that it changed."""
    operator = REGISTRY.operator(definition.name)
    args = tuple(on_cpu(arguments[a.name]) for a in definition.signature.arguments)
    result = operator.overload().execute(args)
    if operator.mutates:
        result = list(tensors_in([args[position] for position in operator.mutates]))
    return as_array(result)
