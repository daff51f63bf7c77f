"""Tensors as arrays and back, for checks that compute with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import tt
from tt.core.dispatch.resolve.fallback import strided_tensor
from tt.core.methods.creation import from_array as tensor_from_array
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor
from tt.core.types.keys import PYTHON

__all__ = [
    "Array",
    "close",
    "components",
    "differentiable",
    "floating",
    "from_array",
    "is_wrapper",
    "plain",
    "random_array",
    "tensors",
    "to_array",
]

Array = np.ndarray[Any, Any]


def to_array(tensor: Any) -> Array:
    """Return the values of a tensor as an array of its own."""
    dense = tensor.detach()
    if is_wrapper(dense):
        # Its class says what a copy of it is; its members say nothing of memory.
        dense = tt.zeros(dense.shape, dtype=dense.dtype).copy_(dense)
    dense = dense.cpu()
    if dense.layout.name != "strided":
        dense = strided_tensor(dense)
    return np.array(dense.numpy())


def from_array(array: Array, like: Any) -> Any:
    """Return a dense tensor on the device of another, and of its class if that one wraps others."""
    if is_wrapper(like):
        plain = tensor_from_array(array, tt.device("cpu"))
        return like.detach().new_empty(plain.shape, dtype=plain.dtype).copy_(plain)
    return tensor_from_array(array, like.device)


def is_wrapper(tensor: Tensor) -> bool:
    """Return whether a tensor has no memory, but a class that computes with tensors that it holds."""
    return bool(tensor._spec.keys & PYTHON)


def components(array: Array) -> Array:
    """Return the real numbers that an array holds, as one row."""
    # Real and imaginary parts side by side, in the order of the rows of a Jacobian.
    flat = np.ascontiguousarray(array).reshape(-1)
    if np.iscomplexobj(flat):
        return np.stack([flat.real, flat.imag], -1).reshape(-1)
    return flat.astype(np.float64, copy=False)


def random_array(random: np.random.Generator, shape: tuple[int, ...], is_complex: bool) -> Array:
    """Return random real or complex numbers."""
    real = random.standard_normal(shape)
    return np.asarray(real + 1j * random.standard_normal(shape) if is_complex else real)


def tensors(values: Any) -> list[Any]:
    """Return a function's result as a list."""
    return [values] if isinstance(values, TensorBase) else list(values)


def differentiable(tensor: Any) -> bool:
    """Return whether a value is a tensor that requires a gradient."""
    return isinstance(tensor, Tensor) and tensor.requires_grad


def plain(value: Any) -> Any:
    """Return a tensor without its history, and other values as they are."""
    return value.detach() if isinstance(value, Tensor) else value


def floating(value: Any) -> bool:
    """Return whether a value is a tensor of a dtype that can have a gradient."""
    return isinstance(value, TensorBase) and (value.dtype.is_floating_point or value.dtype.is_complex)


def close(a: Array, b: Array, rtol: float, atol: float) -> bool:
    """Return whether two arrays have one shape and nearly the same elements."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol, atol, equal_nan=True))
