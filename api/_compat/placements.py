"""How the dimensions of a mesh hold a tensor, as PyTorch names it; there are no sharded tensors yet to be described."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a dimension of a mesh holds a tensor."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether each rank has a part, of a certain dim if one is named."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Return whether each rank has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether each rank has a term of the whole, reduced by a certain operation if one is named."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along a dim.

    Examples
    --------
    >>> from tt._compat.placements import Replicate, Shard
    >>> Shard(0), Shard(0) == Shard(1), Shard(1).is_shard(1), Replicate().is_shard()
    (Shard(dim=0), False, True, False)
    """

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole tensor."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each rank has a term of the whole: a sum, unless another reduction is named."""

    reduce_op: str = "sum"
