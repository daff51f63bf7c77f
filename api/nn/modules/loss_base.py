"""Base classes of losses: a reduction, and for some a weight for each class or element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tt
from tt.library import warn_user
from tt.nn.modules.module import Module

__all__: list[str] = []


class _Loss(Module):
    """A loss that is averaged, summed or returned for each element.

    Parameters
    ----------
    reduction : str
        "mean", "sum" or "none".
    size_average, reduce : bool, optional
        The deprecated form of `reduction`.
    """

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = (
            reduction if size_average is None and reduce is None else _legacy(size_average, reduce)
        )


class _WeightedLoss(_Loss):
    """A loss with a weight, which is a buffer."""

    if TYPE_CHECKING:  # texts that only this module could resolve: `typing.get_type_hints` of libraries
        weight: tt.Tensor | None

    def __init__(
        self,
        weight: tt.Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _legacy(size_average: bool | None, reduce: bool | None, warn: bool = True) -> str:
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if warn:
        warn_user(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead."
        )
    return reduction
