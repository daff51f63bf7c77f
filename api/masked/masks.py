"""Helpers of the functions of tt.masked: elements that a mask leaves out get a number that does not count."""

from __future__ import annotations

from math import inf
from typing import Any

import tt

__all__ = ["converted", "expect_strided", "filled", "given_mask", "is_sparse", "largest", "smallest"]


def given_mask(op: str, input: tt.Tensor, mask: object) -> Any:
    """Return a mask in the shape of the input, True everywhere if there is none."""
    expect_strided(op, input)
    if mask is None:
        return tt.ones(tuple(input.shape), dtype=tt.bool, device=input.device)
    if not isinstance(mask, tt.Tensor) or mask.dtype is not tt.bool:
        raise tt.errors.ArgumentError(op, "the mask must be a tensor of bools")
    if mask.ndim > input.ndim:
        raise tt.errors.ShapeError(
            f"{op}(): the mask must not have more dimensions than the input, but it has {mask.ndim}, and the input "
            f"{input.ndim}"
        )
    return tt.broadcast_to(mask.to_dense() if is_sparse(mask) else mask, tuple(input.shape))


def is_sparse(tensor: tt.Tensor) -> bool:
    """Return whether a tensor is of a sparse layout."""
    return tensor.layout.name.startswith("sparse_")


def expect_strided(op: str, input: tt.Tensor) -> None:
    """Refuse sparse tensors."""
    if is_sparse(input):
        raise tt.errors.ValueRangeError(
            f"{op}() expects strided tensor (got {input.layout} tensor)\n  try: x.to_dense()"
        )


def converted(input: tt.Tensor, dtype: tt.dtype | None) -> Any:
    """Return the input in a dtype, if one is given."""
    return input if dtype is None else input.to(dtype)


def filled(op: str, input: tt.Tensor, mask: tt.Tensor | None, value: float) -> Any:
    """Return the input with a number where the mask is False."""
    expect_strided(op, input)
    if mask is None:
        return input
    # A tensor, so that a number such as infinity does not change the dtype.
    number = tt.tensor(value, dtype=input.dtype, device=input.device)
    return tt.where(given_mask(op, input, mask), input, number)


def smallest(dtype: tt.dtype) -> Any:
    """Return the smallest number of a dtype."""
    if dtype is tt.bool:
        return False
    return -inf if dtype.is_floating_point else tt.iinfo(dtype).min


def largest(dtype: tt.dtype) -> Any:
    """Return the largest number of a dtype."""
    if dtype is tt.bool:
        return True
    return inf if dtype.is_floating_point else tt.iinfo(dtype).max
