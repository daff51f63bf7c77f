"""Kernels of sparse_coo tensors on the CPU: of their own, beside strided operands, and between the layouts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.core.library import KernelTable, errors
from tt.plugins.sparse.cpu.convert import Array, coalesce, compressed_to_dense, coo_to_dense, positions
from tt.plugins.sparse.layouts import COMPRESSED, CooHandle

__all__ = ["tables"]

coo: Final = KernelTable(device="cpu", layout="sparse_coo")
mixed: Final = KernelTable(device="cpu", layout=("sparse_coo", "strided"))
mixed_to_dense: Final = KernelTable(device="cpu", layout=("sparse_coo", "strided"), result="strided")
to_dense: Final = KernelTable(device="cpu", layout="sparse_coo", result="strided")
compressed_to_strided: Final = [
    KernelTable(device="cpu", layout=name, result="strided") for name in COMPRESSED
]

tables: Final = (coo, mixed, mixed_to_dense, to_dense, *compressed_to_strided)


def _same_size(op: str, self: Any, other: Any) -> None:
    if tuple(self.shape) != tuple(other.shape):
        raise errors.ShapeError(
            f"{op}(): the sizes {list(self.shape)} and {list(other.shape)} of a sparse and another tensor must be the "
            f"same; they are not broadcast"
        )


# --- arithmetic ------------------------------------------------------------------------------------------------

coo.kernel("neg", lambda self: self.with_values(-self.values))


@coo.kernel("add")
def add(self: CooHandle | Any, other: CooHandle | Any, alpha: Any) -> CooHandle:
    """Lay coordinates and values of both end to end."""
    if not isinstance(other, CooHandle):
        raise errors.ValueRangeError(
            "add(): a number added to a sparse tensor would fill it\n  try: self.to_dense()"
        )
    _same_size("add", self, other)
    if self.sparse_dim != other.sparse_dim:
        raise errors.ShapeError(
            f"add(): {self.sparse_dim} and {other.sparse_dim} sparse dimensions do not match"
        )
    values = other.values if alpha == 1 else (other.values * alpha).astype(other.dtype)
    joined = CooHandle(
        np.concatenate([self.indices, other.indices], axis=1),
        np.concatenate([self.values, values]),
        self.shape,
    )
    return coalesce(joined) if self.coalesced and other.coalesced else joined


@mixed_to_dense.kernel("add")
def add_dense(self: CooHandle | Array, other: CooHandle | Array, alpha: Any) -> Array:
    """Add the values at their coordinates to a copy of the dense operand."""
    _same_size("add", self, other)
    if isinstance(other, CooHandle):
        values = other.values if alpha == 1 else (other.values * alpha).astype(other.dtype)
        return coo_to_dense(other.with_values(values), np.array(self))
    assert isinstance(self, CooHandle)  # the table is for calls with one of each
    return coo_to_dense(self, np.array(other if alpha == 1 else other * alpha, dtype=other.dtype))


@coo.kernel("mul")
def mul(self: CooHandle | Any, other: CooHandle | Any) -> CooHandle:
    """Multiply by a number, or the values at the coordinates that both store."""
    if not isinstance(other, CooHandle):
        return self.with_values((self.values * other).astype(self.dtype))
    _same_size("mul", self, other)
    if self.sparse_dim != other.sparse_dim:
        raise errors.ShapeError(
            f"mul(): {self.sparse_dim} and {other.sparse_dim} sparse dimensions do not match"
        )
    left, right = coalesce(self), coalesce(other)
    _, at, other_at = np.intersect1d(
        positions(left), positions(right), assume_unique=True, return_indices=True
    )
    return CooHandle(
        left.indices[:, at], left.values[at] * right.values[other_at], self.shape, coalesced=True
    )


@mixed.kernel("mul")
def mul_dense(self: CooHandle | Array, other: CooHandle | Array) -> CooHandle:
    """Multiply the values by the elements of the dense operand at their coordinates."""
    sparse, dense = (other, self) if isinstance(other, CooHandle) else (self, other)
    assert isinstance(sparse, CooHandle) and isinstance(dense, np.ndarray)  # the table is for one of each
    if dense.ndim == 0:
        return sparse.with_values((sparse.values * dense).astype(sparse.dtype))
    _same_size("mul", self, other)
    return sparse.with_values(sparse.values * dense[tuple(sparse.indices)])


@coo.kernel("div")
def div(self: CooHandle, other: Any) -> CooHandle:
    """Divide by a number."""
    if isinstance(other, CooHandle):
        raise errors.ValueRangeError(
            "div(): a sparse tensor cannot be divided by a sparse one: the elements that it does not store are zeros\n"
            "  try: self.to_dense() / other.to_dense()"
        )
    return self.with_values((self.values / other).astype(self.dtype))


# --- the other layouts -------------------------------------------------------------------------------------------

coo.kernel("sparse::coalesce", coalesce, takes=("self",), half="native")
to_dense.kernel("sparse::to_dense", lambda self: coo_to_dense(self), half="native")
for _table in compressed_to_strided:
    _table.kernel("sparse::to_dense", compressed_to_dense, takes=("self",), half="native")
