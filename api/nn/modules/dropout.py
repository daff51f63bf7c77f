"""Dropout: zeros at random in training, nothing in evaluation."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """A probability, and whether the input's memory is used."""

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero each element with probability p in training, and divide the others by 1 - p; the shape stays.

    Source: Hinton et al., Improving Neural Networks by Preventing Co-Adaptation of Feature Detectors, 2012.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Dropout(0.5).eval()(tt.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with zeros."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels with probability p in training: (N, C, L) or (C, L); the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Dropout1d(0.5).eval()(tt.ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with channels of zeros."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels with probability p in training: (N, C, H, W); the shape stays.

    With three dimensions it warns and takes them for (N, C, L), as `Dropout1d` does.

    Source: Tompson et al., Efficient Object Localization Using Convolutional Networks, 2014.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Dropout2d(0.5).eval()(tt.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with channels of zeros."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels with probability p in training: (N, C, D, H, W) or (C, D, H, W); the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Dropout3d(0.5).eval()(tt.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with channels of zeros."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Replace elements by SELU's limit with probability p in training, keeping mean and variance; the shape stays.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Examples
    --------
    >>> import tt
    >>> tt.nn.AlphaDropout(0.5).eval()(tt.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with elements replaced."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Replace whole channels by SELU's limit with probability p in training: (N, C, ...); the shape stays.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Examples
    --------
    >>> import tt
    >>> tt.nn.FeatureAlphaDropout(0.5).eval()(tt.ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with channels replaced."""
        return F.feature_alpha_dropout(input, self.p, self.training)
