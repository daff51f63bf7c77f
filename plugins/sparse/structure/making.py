"""Sparse tensors from their components, and the components of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.library import Tensor, errors, handle_of
from tt.plugins.sparse.parts import component, components, compressed_tensor, coo_tensor

__all__ = ["compressed", "compressed_indices", "coo", "indices", "plain_indices", "values"]


def coo(indices: Tensor, values: Tensor, size: Sequence[int], coalesced: bool) -> Tensor:
    return coo_tensor(indices, values, size, coalesced)


def compressed(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], layout: str) -> Tensor:
    return compressed_tensor(layout, compressed, plain, values, size)


def _known(self: Tensor, what: str) -> None:
    """Refuse to show components whose shapes depend on data that is not there."""
    if not handle_of(self).known:
        raise errors.DataDependentError(f"sparse::{what}", "meta")


def indices(self: Tensor) -> Tensor:
    _known(self, "indices")
    return components(self)[0]


def compressed_indices(self: Tensor) -> Tensor:
    return components(self)[0]


def plain_indices(self: Tensor) -> Tensor:
    _known(self, "plain_indices")
    return components(self)[1]


def values(self: Tensor) -> Tensor:
    _known(self, "values")
    return component(handle_of(self).values, self.device, self.dtype)
