"""Shape rules of the sparse operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tt.core.library import MetaHandle, errors

__all__ = [
    "as_like", "reduced_product", "reduced_product_backward", "same", "sized", "solved", "stored", "stored_in_mask",
    "summed",
]  # fmt: skip


def same(self: MetaHandle) -> tuple[int, ...]:
    """The shape of self, in any layout."""
    return tuple(self.shape)


def sized(size: tuple[int, ...]) -> tuple[int, ...]:
    """The requested shape."""
    return tuple(size)


def stored(self: MetaHandle, op: str) -> NoReturn:
    """Refuses, because the number of stored elements depends on the data."""
    raise errors.DataDependentError(op, "meta")


def stored_in_mask(self: MetaHandle, mask: MetaHandle, op: str) -> NoReturn:
    """Refuses, because the number of the mask's elements depends on the data."""
    raise errors.DataDependentError(op, "meta")


def as_like(like: MetaHandle) -> tuple[int, ...]:
    """The shape of another argument."""
    return tuple(like.shape)


def summed(self: MetaHandle, dim: int | Sequence[int] | None, keepdim: bool) -> tuple[int, ...]:
    """The shape without the dimensions along which elements are added."""
    from tt.plugins.sparse.compute.reduction import normal_dims

    dims = normal_dims(dim, self.ndim)
    return tuple(1 if d in dims else n for d, n in enumerate(self.shape) if keepdim or d not in dims)


def reduced_product(
    self: MetaHandle, mat2: MetaHandle, reduce: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the product, and of the element indices, if the reduction chooses some."""
    shape = (self.shape[0], mat2.shape[1])
    return shape, shape if reduce in ("amax", "amin") else (0,)


def reduced_product_backward(self: MetaHandle, mat2: MetaHandle, op: str) -> NoReturn:
    """Refuses, because the number of stored elements depends on the data."""
    raise errors.DataDependentError(op, "meta")


def solved(A: MetaHandle, B: MetaHandle) -> tuple[int, ...]:  # noqa: N803 - PyTorch's names
    """The shape of the right side."""
    return tuple(B.shape)
