"""Sums and products of two sparse tensors, and of a sparse and a dense one."""

from __future__ import annotations

from typing import Any

from tt.core.library import Scalar, errors
from tt.plugins.sparse.compute.elements import (
    add_into,
    canonical,
    elements,
    keys,
    rebuilt,
    same_pattern,
    same_structure,
    scaled,
)
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.layouts import Array, CooHandle, Handle, SparseHandle

__all__ = ["add", "add_dense", "add_dense_", "mul", "mul_or_scale", "sub", "sub_dense", "sub_dense_"]


# --- both sparse -----------------------------------------------------------------------------------------------


def add(lib: ArrayLibrary, self: Handle, other: Handle | Scalar, alpha: Scalar) -> Any:
    """Unite both patterns; the elements that both store are added."""
    first, second = _pair(lib, "add", self, other)
    xp = lib.xp
    # The same index arrays, as of a gradient and its parameter: nothing is searched.
    if same_pattern(first, second) and not (isinstance(first, CooHandle) and not first.coalesced):
        return first.with_values(first.values + scaled(second.values, alpha))
    if isinstance(first, CooHandle):
        values = xp.concatenate([first.values, scaled(second.values, alpha)])
        joined = CooHandle(xp.concatenate([first.indices, second.indices], axis=1), values, first.shape)
        # As in PyTorch: a sum of tensors that are not coalesced is left so, and the sort is done once at the
        # end.
        return lib.coalesce(joined) if first.coalesced and second.coalesced else joined
    merged = xp.concatenate([keys(lib, first), keys(lib, second)])
    values = xp.concatenate([elements(first), scaled(elements(second), alpha)])
    order = xp.argsort(merged, kind="stable")
    merged, values = merged[order], values[order]
    starts = xp.ones(len(merged), bool)
    starts[1:] = merged[1:] != merged[:-1]
    starts = xp.flatnonzero(starts)
    if len(starts) < len(merged):
        merged, values = merged[starts], lib.reduce_runs("add", values, starts)
    return rebuilt(lib, first, merged, values)


def sub(lib: ArrayLibrary, self: Handle, other: Any, alpha: Scalar) -> Any:
    """Unite both patterns; the elements that both store are subtracted."""
    if not isinstance(other, SparseHandle):
        _refuse_number("sub", other)
    return add(lib, self, other.with_values(-other.values), alpha)


def mul(lib: ArrayLibrary, self: Handle, other: Handle) -> Any:
    """Intersect both patterns and multiply."""
    first, second = (canonical(lib, handle) for handle in _pair(lib, "mul", self, other))
    xp = lib.xp
    if same_pattern(first, second):
        return first.with_values(first.values * second.values)
    left, right = keys(lib, first), keys(lib, second)
    if not len(left) or not len(right):
        at = other_at = xp.zeros(0, xp.int64)
    else:
        # Keys beyond the last one are found behind it; what is read instead is not equal.
        other_at = xp.minimum(xp.searchsorted(right, left), len(right) - 1)
        at = xp.flatnonzero(right[other_at] == left)
        other_at = other_at[at]
    return rebuilt(lib, first, left[at], elements(first)[at] * elements(second)[other_at])


def mul_or_scale(lib: ArrayLibrary, self: Handle, other: Handle | Scalar) -> Any:
    """Multiply by a sparse tensor or a number."""
    if isinstance(other, SparseHandle):
        return mul(lib, self, other)
    return self.with_values((self.values * other).astype(self.dtype, copy=False))


def _pair(lib: ArrayLibrary, op: str, first: Any, second: Any) -> tuple[Any, Any]:
    """Return two sparse operands in one layout: CSR, if they have different ones."""
    if not isinstance(second, SparseHandle):
        _refuse_number(op, second)
    _same_size(op, first, second)
    if first.layout != second.layout:
        first, second = (
            h if h.layout == "sparse_csr" else lib.convert(h, "sparse_csr") for h in (first, second)
        )
    if isinstance(first, CooHandle) and first.sparse_dim != second.sparse_dim:
        raise errors.ShapeError(
            f"{op}(): {first.sparse_dim} and {second.sparse_dim} sparse dimensions do not match"
        )
    if not same_structure(first, second):
        raise errors.ShapeError(
            f"{op}(): the blocks {list(first.blocksize)} and {list(second.blocksize)} do not match\n"
            f"  try: other.to_{first.layout}({tuple(first.blocksize)})"
        )
    return first, second


def _same_size(op: str, self: Array | Handle, other: Array | Handle) -> None:
    if tuple(self.shape) != tuple(other.shape):
        raise errors.ShapeError(
            f"{op}(): the sizes {list(self.shape)} and {list(other.shape)} of a sparse and another tensor must be the "
            f"same; they are not broadcast"
        )


def _refuse_number(op: str, other: object) -> None:
    what = {"add": "added to", "sub": "subtracted from"}.get(op, "combined with")
    raise errors.ValueRangeError(
        f"{op}(): a number {what} a sparse tensor would fill it\n  try: self.to_dense()"
    )


# --- a sparse and a dense tensor: the result is dense ----------------------------------------------------------


def add_dense(lib: ArrayLibrary, self: Any, other: Array | Handle, alpha: Scalar) -> Any:
    """Add the stored elements to a copy of the dense operand."""
    _same_size("add", self, other)
    if isinstance(other, SparseHandle):
        return add_into(lib, lib.xp.array(self), other, alpha)
    return add_into(lib, lib.xp.array(scaled(other, alpha)), self)


def sub_dense(lib: ArrayLibrary, self: Array | Handle, other: Array | Handle, alpha: Scalar) -> Any:
    """Subtract the stored elements from a copy of the dense operand, or the dense one from them."""
    _same_size("sub", self, other)
    return add_dense(lib, self, other, -alpha)


def add_dense_(lib: ArrayLibrary, self: Array | Handle, other: Any, alpha: Scalar) -> None:
    """Add the stored elements to the dense operand in place."""
    _same_size("add", self, other)
    if isinstance(self, SparseHandle):
        raise errors.InplaceError(
            "add_(): a result of the layout tt.strided cannot be stored in a tensor of the layout "
            f"tt.{self.layout}\n  try: self.to_dense()"
        )
    add_into(lib, self, other, alpha)


def sub_dense_(lib: ArrayLibrary, self: Array | Handle, other: Handle, alpha: Scalar) -> None:
    """Subtract the stored elements from the dense operand in place."""
    add_dense_(lib, self, other, -alpha)
