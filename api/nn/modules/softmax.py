"""Softmax and its relatives: activations over a dimension."""

from __future__ import annotations

from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _OverDim(Module):
    """An activation over a dimension, which is chosen with a warning where it is left out."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Softmax(_OverDim):
    """exp(x) over the sum of exp(x) along `dim`; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Softmax(dim=0)(tt.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the softmax of the input."""
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_OverDim):
    """The softmax of -x along `dim`; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Softmin(dim=0)(tt.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the softmin of the input."""
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_OverDim):
    """The logarithm of the softmax along `dim`; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.LogSoftmax(dim=0)(tt.tensor([1.0, 1.0]))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of the softmax of the input."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """The softmax over the channels, at each place of an image: (N, C, H, W) or (C, H, W); the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Softmax2d()(tt.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the softmax of the input over its channels."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
