"""Helpers shared by several formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, TensorBase, errors, ops

__all__ = [
    "any_true",
    "broadcast_shape",
    "cast",
    "conj",
    "is_complex",
    "normal_dims",
    "polynomial",
    "restore_dims",
    "size_of",
    "unsqueeze_dims",
]


def is_complex(value: Any) -> bool:
    """Return whether a tensor or a number is complex."""
    return bool(value.dtype.is_complex) if isinstance(value, TensorBase) else isinstance(value, complex)


def cast(x: Tensor, dtype: Any) -> Tensor:
    """Return a tensor in the dtype in which `dtype=` had an operator compute; of complex ones the real part."""
    if x.dtype is dtype:
        return x
    return (ops.real(x) if x.dtype.is_complex and not dtype.is_complex else x).to(dtype)


def conj(value: Any) -> Any:
    """Return the conjugate; real values as they are, without a call."""
    if isinstance(value, TensorBase):
        return ops.conj(value) if value.dtype.is_complex else value
    return value.conjugate() if isinstance(value, complex) else value


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Return the value of a polynomial, whose coefficients begin with the constant one (Horner's rule)."""
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def any_true(condition: Tensor) -> bool | None:
    """Return whether an element is true, of any example where levels wrap the tensor; None for tensors without data.

    A formula may choose between two ways by it, if the more general one is right for all examples.
    """
    from tt.plugins.autograd.transforms.levels import BIT

    while condition._keys & BIT:
        condition = condition._handle.value
    try:
        return bool(ops.any(condition).item())
    except errors.DataDependentError:
        return None


def normal_dims(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the dims of a reduction, counted from the front; None and an empty list mean all."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    # A number may be reduced over dim 0 or -1, which it does not have.
    return tuple(sorted(d % ndim for d in dims)) if ndim else ()


def unsqueeze_dims(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """Return a tensor with dims of size one put in at the given (ascending) places."""
    for dim in dims:
        tensor = ops.unsqueeze(tensor, dim)
    return tensor


def restore_dims(reduced: Tensor, dim: int | Sequence[int] | None, keepdim: bool, ndim: int) -> Tensor:
    """Return the result of a reduction with the reduced dims back, with size one."""
    return reduced if keepdim or not ndim else unsqueeze_dims(reduced, normal_dims(dim, ndim))


def size_of(shape: Sequence[int], dim: int | Sequence[int] | None) -> int:
    """Return how many elements a reduction combines into one."""
    count = 1
    for d in normal_dims(dim, len(shape)):
        count *= shape[d]
    return count


def broadcast_shape(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which two compatible shapes broadcast."""
    ndim = max(len(first), len(second))
    left = (1,) * (ndim - len(first)) + tuple(first)
    right = (1,) * (ndim - len(second)) + tuple(second)
    return tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
