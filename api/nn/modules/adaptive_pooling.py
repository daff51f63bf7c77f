"""Adaptive pooling: windows that divide the input into a given number of parts."""

from __future__ import annotations

from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
]  # fmt: skip

Size = Any  # an int, or a sequence of int and None


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        """Return the size of the result."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Return the size of the result."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` parts: (N, C, L) or (C, L) to (..., output_size).

    Examples
    --------
    >>> import tt
    >>> tt.nn.AdaptiveMaxPool1d(2)(tt.arange(4.0)[None])
    tensor([[1., 3.]])
    """

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each part, and with `return_indices` its place."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` parts: (N, C, H, W) or (C, H, W) to (..., *output_size).

    An entry of None in `output_size` keeps that size.

    Examples
    --------
    >>> import tt
    >>> tt.nn.AdaptiveMaxPool2d((1, 2))(tt.arange(4.0)[None, None])
    tensor([[[1., 3.]]])
    """

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each part, and with `return_indices` its place."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` parts: (N, C, D, H, W) or (C, D, H, W) to (..., *output_size).

    An entry of None in `output_size` keeps that size.

    Examples
    --------
    >>> import tt
    >>> tt.nn.AdaptiveMaxPool3d((1, 1, 2))(tt.arange(4.0)[None, None, None])
    tensor([[[[1., 3.]]]])
    """

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each part, and with `return_indices` its place."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` parts: (N, C, L) or (C, L) to (..., output_size).

    Examples
    --------
    >>> import tt
    >>> tt.nn.AdaptiveAvgPool1d(2)(tt.arange(4.0)[None])
    tensor([[0.5000, 2.5000]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the mean of each part."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` parts: (N, C, H, W) or (C, H, W) to (..., *output_size).

    An entry of None in `output_size` keeps that size.

    Examples
    --------
    >>> import tt
    >>> tt.nn.AdaptiveAvgPool2d((1, 2))(tt.arange(4.0)[None, None])
    tensor([[[0.5000, 2.5000]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the mean of each part."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` parts: (N, C, D, H, W) or (C, D, H, W) to (..., *output_size).

    An entry of None in `output_size` keeps that size.

    Examples
    --------
    >>> import tt
    >>> tt.nn.AdaptiveAvgPool3d((1, 1, 2))(tt.arange(4.0)[None, None, None])
    tensor([[[[0.5000, 2.5000]]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the mean of each part."""
        return F.adaptive_avg_pool3d(input, self.output_size)
