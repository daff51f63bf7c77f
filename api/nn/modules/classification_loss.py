"""Losses of classes: predictions for each class, and the number of the right one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tt
import tt.nn.functional as F
from tt.library import warn_user
from tt.nn.modules.linear import Linear
from tt.nn.modules.loss_base import _Loss, _WeightedLoss
from tt.nn.modules.module import Module
from tt.types import Device

__all__ = [
    "CTCLoss", "CrossEntropyLoss", "LinearCrossEntropyLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss",
    "MultiMarginLoss", "NLLLoss", "NLLLoss2d",
]  # fmt: skip


class NLLLoss(_WeightedLoss):
    """-input[target]: of logarithms (N, C, ...) or (C,) those at the right classes (N, ...) or ().

    Targets of `ignore_index` do not count; `weight` (C,) multiplies the loss of each class.

    Examples
    --------
    >>> import tt
    >>> tt.nn.NLLLoss()(tt.tensor([[-1.0, -2.0]]), tt.tensor([1]))
    tensor(2.)
    """

    def __init__(
        self,
        weight: tt.Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.nll_loss(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """`NLLLoss` by its former name for images; deprecated.

    Examples
    --------
    >>> import tt
    >>> issubclass(tt.nn.NLLLoss2d, tt.nn.NLLLoss)
    True
    """

    def __init__(
        self,
        weight: tt.Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn_user("`NLLLoss2d` is deprecated: `NLLLoss` does the same", FutureWarning)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """`NLLLoss` of the logarithm of the softmax: logits (N, C, ...) or (C,), and classes or probabilities.

    `label_smoothing` mixes the target with the same probability for all classes.

    Examples
    --------
    >>> import tt
    >>> tt.nn.CrossEntropyLoss()(tt.tensor([[0.0, 0.0]]), tt.tensor([1]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: tt.Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MultiMarginLoss(_WeightedLoss):
    """max(0, margin - input[target] + input[i]) ** p, summed over the other classes i and divided by C.

    Shapes: (N, C) or (C,), and (N,) or (); `p` is 1 or 2.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MultiMarginLoss()(tt.tensor([0.5, 0.0]), tt.tensor(0))
    tensor(0.2500)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: tt.Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, not {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"weight must be None or 1D tensor, got {weight.dim()}D")
        self.p = p
        self.margin = margin

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """max(0, 1 - input[t] + input[i]), summed over targets t and other classes i and divided by C.

    Shapes: (N, C) or (C,), both; a target's classes end with the first -1.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MultiLabelMarginLoss()(tt.tensor([0.5, 0.0]), tt.tensor([0, -1]))
    tensor(0.2500)
    """

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The binary cross-entropy of the sigmoid of each class, averaged over the classes: (N, C), both.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MultiLabelSoftMarginLoss()(tt.tensor([[0.0, 0.0]]), tt.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """The negative logarithm of the probability of a sequence over all alignments to a longer one.

    Shapes: `log_probs` (T, N, C) or (T, C), `targets` (N, S) or all in a row, lengths (N,) or ().  Source: Graves et
    al., Connectionist Temporal Classification, 2006.

    Examples
    --------
    >>> import tt
    >>> two = tt.full((2, 1, 2), 0.5).log()
    >>> tt.nn.CTCLoss()(two, tt.tensor([[1]]), tt.tensor([2]), tt.tensor([1])).exp()
    tensor(1.3333)
    """

    def __init__(
        self,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: tt.Tensor,
        targets: tt.Tensor,
        input_lengths: Any,
        target_lengths: Any,
    ) -> tt.Tensor:
        """Return the loss."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


class LinearCrossEntropyLoss(Module):
    """`CrossEntropyLoss` of a linear layer: inputs (..., in_features), and classes or probabilities as targets.

    Parameters
    ----------
    in_features, num_classes : int
        Sizes of the layer; with `out_features`, it has a score of each class for each place of them.
    out_features : tuple of int
        The dimensions over which the loss is taken besides the batch.
    bias : bool
        Whether the layer has a bias.
    reduction, weight, ignore_index, label_smoothing
        As for `CrossEntropyLoss`.
    options : optional
        How the logits are computed in parts, passed on to `tt.nn.functional.linear_cross_entropy`.

    Examples
    --------
    >>> import tt
    >>> loss = tt.nn.LinearCrossEntropyLoss(2, 4)
    >>> loss(tt.zeros(3, 2), tt.tensor([0, 1, 3])).exp()
    tensor(4., grad_fn=<ExpBackward0>)
    """

    if TYPE_CHECKING:  # texts that only this module could resolve: `typing.get_type_hints` of libraries
        weight: tt.Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
        reduction: str = "mean",
        weight: tt.Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be ({num_classes},), got {tuple(weight.shape)}")
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        size = num_classes * math.prod(self.out_features)
        # One layer even for several outputs, so that the keys of the state dict are those of PyTorch.
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)
        self.reduction = reduction
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options

    def forward(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the loss."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
