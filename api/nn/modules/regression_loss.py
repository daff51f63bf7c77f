"""Losses of numbers: distances between predictions and targets, and likelihoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tt
import tt.nn.functional as F
from tt.nn.modules.loss_base import _Loss, _WeightedLoss

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss",
]  # fmt: skip


class L1Loss(_Loss):
    """abs(input - target), two tensors of one shape.

    Examples
    --------
    >>> import tt
    >>> tt.nn.L1Loss()(tt.tensor([1.0, 5.0]), tt.tensor([2.0, 2.0]))
    tensor(2.)
    """

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target) squared, two tensors of one shape.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MSELoss()(tt.tensor([1.0, 5.0]), tt.tensor([2.0, 2.0]))
    tensor(5.)
    """

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """d * d / (2 * beta) where the distance d is below beta, and d - beta / 2 beyond.

    Source: Girshick, Fast R-CNN, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.SmoothL1Loss()(tt.tensor([0.0, 3.0]), tt.tensor([1.0, 0.0]))
    tensor(1.5000)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d * d / 2 where the distance d is below delta, and delta * (d - delta / 2) beyond.

    Examples
    --------
    >>> import tt
    >>> tt.nn.HuberLoss()(tt.tensor([0.0, 3.0]), tt.tensor([1.0, 0.0]))
    tensor(1.5000)
    """

    def __init__(
        self,
        reduction: str = "mean",
        delta: float = 1.0,
    ) -> None:
        super().__init__(reduction=reduction)
        value: Any = delta
        if not isinstance(value, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(value)}")
        self.delta = delta

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), with targets of 1 and -1.

    Examples
    --------
    >>> import tt
    >>> tt.nn.SoftMarginLoss()(tt.tensor([0.0]), tt.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """The negative logarithm of a Poisson distribution's probability of the target, without its constant.

    The input is the mean, or with `log_input` its logarithm; `full` adds Stirling's approximation of the constant.

    Examples
    --------
    >>> import tt
    >>> tt.nn.PoissonNLLLoss()(tt.tensor([0.0]), tt.tensor([2.0]))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """The negative logarithm of a normal distribution's density at the target, without its constant.

    The input is the mean, `var` the variance, of one shape or with a last dimension of 1; `full` adds the constant.

    Examples
    --------
    >>> import tt
    >>> tt.nn.GaussianNLLLoss()(tt.tensor([0.0]), tt.tensor([2.0]), tt.tensor([1.0]))
    tensor(2.)
    """

    def __init__(
        self,
        *,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: tt.Tensor, target: tt.Tensor, var: tt.Tensor | float) -> tt.Tensor:
        """Return the loss."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """target * (log(target) - input), with an input of logarithms; "batchmean" divides the sum by the batch.

    With `log_target`, the targets are logarithms, too.

    Examples
    --------
    >>> import tt
    >>> tt.nn.KLDivLoss(reduction="sum")(tt.tensor([0.0, 0.0]), tt.tensor([1.0, 1.0]))
    tensor(0.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """-(target * log(input) + (1 - target) * log(1 - input)), with probabilities as input.

    Examples
    --------
    >>> import tt
    >>> tt.nn.BCELoss()(tt.tensor([0.5]), tt.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of the input; `pos_weight` multiplies the part of the positive targets.

    Examples
    --------
    >>> import tt
    >>> tt.nn.BCEWithLogitsLoss()(tt.tensor([0.0]), tt.tensor([1.0]))
    tensor(0.6931)
    """

    if TYPE_CHECKING:  # texts that only this module could resolve: `typing.get_type_hints` of libraries
        weight: tt.Tensor | None
        pos_weight: tt.Tensor | None

    def __init__(
        self,
        weight: tt.Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: tt.Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        # Buffers, so that they follow the module to a device and are saved with it.
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )
