"""Losses of embeddings: how near vectors are to each other."""

from __future__ import annotations

from collections.abc import Callable

import tt
import tt.nn.functional as F
from tt.nn.modules.distance import PairwiseDistance
from tt.nn.modules.loss_base import _Loss

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, and max(0, margin - input) where it is -1.

    Examples
    --------
    >>> import tt
    >>> tt.nn.HingeEmbeddingLoss()(tt.tensor([0.5, 0.5]), tt.tensor([1.0, -1.0]))
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class _MarginLoss(_Loss):
    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos where the target is 1, and max(0, cos - margin) where it is -1: (N, D) or (D,), and (N,) or ().

    Examples
    --------
    >>> import tt
    >>> tt.nn.CosineEmbeddingLoss()(tt.tensor([1.0, 0.0]), tt.tensor([0.0, 1.0]), tt.tensor(1.0))
    tensor(1.)
    """

    def forward(self, input1: tt.Tensor, input2: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """max(0, -target * (input1 - input2) + margin): whether the right one of two is larger; (N,) each.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MarginRankingLoss()(tt.tensor([2.0]), tt.tensor([3.0]), tt.tensor([1.0]))
    tensor(1.)
    """

    def forward(self, input1: tt.Tensor, input2: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, distance to the positive - distance to the negative + margin): (N, D) or (D,) each.

    With `swap`, the negative's distance is that to the positive, if that is less.  Source: Balntas et al., Learning
    Shallow Convolutional Feature Descriptors with Triplet Losses, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.TripletMarginLoss()(tt.tensor([0.0]), tt.tensor([1.0]), tt.tensor([3.0])).item()
    0.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: tt.Tensor, positive: tt.Tensor, negative: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own, a function of two tensors or a module.

    Examples
    --------
    >>> import tt
    >>> loss = tt.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs())
    >>> loss(tt.tensor([0.0]), tt.tensor([1.0]), tt.tensor([1.5]))
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[tt.Tensor, tt.Tensor], tt.Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: tt.Tensor, positive: tt.Tensor, negative: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
