"""Adaptive softmax: frequent classes have scores of their own, rare ones those of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tt
import tt.nn.functional as F
from tt.nn.modules.container import ModuleList, Sequential
from tt.nn.modules.linear import Linear
from tt.nn.modules.module import Module
from tt.types import Device

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: tt.Tensor
    loss: tt.Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The logarithm of the probability of each example's class, and its mean loss, over very many classes.

    Classes are numbered by frequency.  Those below the first cutoff are in the head; the others are in clusters, whose
    vectors are smaller by `div_value` from one cluster to the next.  Shapes: (N, in_features) and (N,), or
    (in_features,) and (), to `output` (N,) or () and `loss` ().  Source: Grave et al., Efficient Softmax Approximation
    for GPUs, 2016.

    Parameters
    ----------
    in_features, n_classes : int
        Features of an example, and the number of classes.
    cutoffs : sequence of int
        Where the clusters begin, rising.
    div_value : float
        How much smaller the vectors are from one cluster to the next.
    head_bias : bool
        Add a bias to the scores of the head.

    Examples
    --------
    >>> import tt
    >>> model = tt.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[4])
    >>> output, loss = model(tt.zeros(2, 8), tt.tensor([1, 7]))
    >>> output.shape, loss.shape
    (tt.Size([2]), tt.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or any(int(cutoff) != cutoff for cutoff in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, not {cutoffs} for {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            hidden = int(in_features // div_value ** (i + 1))
            projection = Linear(in_features, hidden, bias=False, **factory)
            self.tail.append(Sequential(projection, Linear(hidden, end - start, bias=False, **factory)))

    def reset_parameters(self) -> None:
        """Draw all weights."""
        self.head.reset_parameters()
        for layer in self.tail.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: tt.Tensor, target_: tt.Tensor) -> _ASMoutput:
        """Return the logarithms of the probabilities of the targets, and their mean with the sign changed."""
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() == 1
        if batched != (input_.dim() == 2) or (batched and input_.shape[0] != target_.shape[0]):
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension, not "
                f"{tuple(input_.shape)} and {tuple(target_.shape)}."
            )
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found."
            )
        output = self._of_head(input, target)
        for i, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            rows = ((target >= start) & (target < end)).nonzero().squeeze(1)
            if rows.numel():
                scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
                inside = scores.gather(1, (target[rows] - start).unsqueeze(1)).squeeze(1)
                # log p(class) = log p(cluster) + log p(class | cluster), and the first is there already.
                output = output.index_add(0, rows, inside)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _of_head(self, input: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        """Return the logarithms of the probabilities of classes of the head, or of the clusters of the others."""
        column = target
        for i, start in enumerate(self.cutoffs[:-1]):
            # Classes of a cluster share one column of the head; later clusters overwrite earlier ones.
            column = tt.where(target >= start, self.shortlist_size + i, column)
        return F.log_softmax(self.head(input), dim=1).gather(1, column.unsqueeze(1)).squeeze(1)

    def log_prob(self, input: tt.Tensor) -> tt.Tensor:
        """Return the logarithms of the probabilities of all classes: (N, in_features) to (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            scores = F.log_softmax(cluster(input), dim=1)
            parts.append(scores + head[:, self.shortlist_size + i].unsqueeze(1))
        return tt.cat(parts, dim=1)

    def predict(self, input: tt.Tensor) -> tt.Tensor:
        """Return the class of the highest probability: (N, in_features) to (N,)."""
        return self.log_prob(input).argmax(dim=1)
