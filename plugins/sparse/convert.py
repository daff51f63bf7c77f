"""Conversions between the layouts: arguments, checked once for all devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tt.core.library import Tensor, errors, handle_of
from tt.plugins.sparse.layouts import COMPRESSED, HANDLES, LAYOUTS
from tt.plugins.sparse.parts import as_tensor_of, layout_of

__all__ = ["Conversion", "check_conversion", "conversion_kernel"]


class Conversion(NamedTuple):
    """A conversion that can be carried out.

    Attributes
    ----------
    layout : str
        The layout to convert to.
    sparse_dim : int
        The number of sparse dimensions of the result.
    blocksize : tuple of int or None
        Of the blocks, for the layouts that have blocks.
    dense_dim : int
        The number of dense dimensions of the result.
    """

    layout: str
    sparse_dim: int
    blocksize: tuple[int, int] | None
    dense_dim: int


def check_conversion(
    self: Tensor, layout: str, sparse_dim: int | None, blocksize: Sequence[int] | None, dense_dim: int | None
) -> Conversion:
    """Return the request with defaults filled in.

    Raises
    ------
    LayoutError
        When the layouts cannot be converted, or an argument means nothing for them.
    ShapeError
        When dimensions or blocks do not fit the tensor.
    """
    source = layout_of(self)
    if layout not in HANDLES:
        raise errors.UnknownNameError("sparse layout", layout, LAYOUTS)
    what = f"to_{layout}()"
    if blocksize is not None and not (layout in COMPRESSED and HANDLES[layout].blocked):
        raise errors.LayoutError(
            f"{what}: conversion from tt.{source} to tt.{layout} with blocksize argument given is not supported"
        )
    if layout == "sparse_coo":
        return _to_coo(self, source, sparse_dim, dense_dim)
    if sparse_dim is not None and sparse_dim != 2:
        raise errors.ShapeError(
            f"{what}: a compressed layout has 2 sparse dimensions, but {sparse_dim} are requested"
        )
    dense_dim = _dense_dim_of_compressed(self, what, source, dense_dim)
    blocks = _blocksize(self, what, source, layout, blocksize, dense_dim) if HANDLES[layout].blocked else None
    return Conversion(layout, 2, blocks, dense_dim)


def _to_coo(self: Tensor, source: str, sparse_dim: int | None, dense_dim: int | None) -> Conversion:
    if dense_dim is not None and sparse_dim is None:
        sparse_dim = self.ndim - dense_dim
    if source == "strided":
        dims = self.ndim if sparse_dim is None else sparse_dim
        if dims == 0 and self.ndim:
            raise errors.ShapeError("to_sparse(): sparse_dim argument must be in >0 when self.dim()>0")
        if not 0 <= dims <= self.ndim:
            raise errors.ShapeError(
                f"to_sparse(): sparse_dim argument must be in [0,{self.ndim}] range, but {dims} is given"
            )
        return Conversion("sparse_coo", dims, None, self.ndim - dims)
    handle = handle_of(self)
    own = handle.sparse_dim + getattr(handle, "batch_ndim", 0)
    allowed = (own, 2) if source != "sparse_coo" and own == 2 else (own,)
    if sparse_dim is not None and sparse_dim not in allowed:
        raise errors.LayoutError(
            f"to_sparse(): conversion from tt.{source} to tt.sparse_coo with sparse_dim argument {sparse_dim} is not "
            f"supported: the tensor has {own} sparse dimensions\n  try: x.to_dense().to_sparse({sparse_dim})"
        )
    return Conversion("sparse_coo", own, None, self.ndim - own)


def _dense_dim_of_compressed(self: Tensor, what: str, source: str, dense_dim: int | None) -> int:
    if source == "strided":
        if self.ndim < 2:
            raise errors.ShapeError(
                f"{what}: a compressed layout holds matrices, and a tensor of size {list(self.shape)} has fewer "
                "than two "
                "dimensions\n  try: x.to_sparse()"
            )
        dims = dense_dim or 0
        if not 0 <= dims <= self.ndim - 2:
            raise errors.ShapeError(
                f"{what}: dense_dim argument must be in [0,{self.ndim - 2}] range, but {dims} is given"
            )
        return dims
    handle = handle_of(self)
    if source == "sparse_coo" and handle.sparse_dim != 2:
        raise errors.LayoutError(
            f"{what}: conversion from tt.sparse_coo for input tensors with sparse_dim()!=2 is not supported: this "
            "one has "
            f"{handle.sparse_dim}\n  try: x.to_dense().{what}"
        )
    own: int = handle.dense_dim
    if dense_dim is not None and dense_dim != own:
        raise errors.LayoutError(
            f"{what}: conversion from tt.{source} with dense_dim argument {dense_dim} is not supported: the tensor "
            "has "
            f"{own} dense dimensions"
        )
    return own


def _blocksize(
    self: Tensor, what: str, source: str, layout: str, blocksize: Sequence[int] | None, dense_dim: int
) -> tuple[int, int]:
    own = handle_of(self).blocksize if source in ("sparse_bsr", "sparse_bsc") else None
    if blocksize is None:
        if own is None:
            raise errors.LayoutError(
                f"{what}: conversion from tt.{source} to tt.{layout} without blocksize argument given is not "
                "supported\n"
                f"  try: x.to_{layout}((2, 2))"
            )
        return (int(own[0]), int(own[1]))
    sizes = tuple(int(n) for n in blocksize)
    if len(sizes) != 2:
        raise errors.ShapeError(f"{what}: blocksize needs two sizes, but got {list(sizes)}")
    if min(sizes) <= 0:
        raise errors.ShapeError(f"{what}: blocksize needs to be positive, but got {list(sizes)}")
    end = self.ndim - dense_dim
    rows, columns = self.shape[end - 2 : end]
    if rows % sizes[0] or columns % sizes[1]:
        raise errors.ShapeError(
            f"{what}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({sizes[0]},{sizes[1]})"
        )
    return (sizes[0], sizes[1])


def conversion_kernel(convert: Callable[[Any, Conversion], Any]) -> Callable[..., Tensor]:
    """Return the kernel of `sparse::to_layout` of a device.

    Parameters
    ----------
    convert : callable
        Takes the handle of a strided or sparse tensor and a `Conversion`; returns the handle in the new layout.
    """

    def to_layout(
        self: Tensor,
        layout: str,
        sparse_dim: int | None,
        blocksize: Sequence[int] | None,
        dense_dim: int | None,
    ) -> Tensor:
        return as_tensor_of(
            convert(handle_of(self), check_conversion(self, layout, sparse_dim, blocksize, dense_dim)),
            self.device,
        )

    return to_layout
