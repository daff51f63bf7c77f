"""Distances and angles between vectors."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension: (N, D) and (N, D), or (D,) and (D,), to (N,) or ().

    Examples
    --------
    >>> import tt
    >>> tt.nn.PairwiseDistance(eps=0.0)(tt.tensor([3.0, 0.0]), tt.tensor([0.0, 4.0]))
    tensor(5.)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: tt.Tensor, x2: tt.Tensor) -> tt.Tensor:
        """Return the distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along `dim`: (..., D, ...) and the same to (..., ...).

    Examples
    --------
    >>> import tt
    >>> tt.nn.CosineSimilarity(dim=0)(tt.tensor([1.0, 0.0]), tt.tensor([1.0, 1.0]))
    tensor(0.7071)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: tt.Tensor, x2: tt.Tensor) -> tt.Tensor:
        """Return the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
