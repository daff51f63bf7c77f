"""Normalisation without running statistics: over the last dimensions, over groups and over near channels."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import tt
import tt.nn.functional as F
from tt.nn import init
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.types import Device

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (index(normalized_shape),)


class _Affine(Module):
    """A normalisation with a weight and a bias, or without."""

    weight: Parameter | None
    bias: Parameter | None

    def _set_affine(
        self, shape: tuple[int, ...], weight: bool, bias: bool, device: Device, dtype: tt.dtype | None
    ) -> None:
        for name, enabled in (("weight", weight), ("bias", bias)):
            parameter = Parameter(tt.empty(shape, device=device, dtype=dtype)) if enabled else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions, then a weight and a bias: (..., *normalized_shape), which stays.

    `weight` and `bias` are of `normalized_shape`.  Source: Ba et al., Layer Normalization, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.LayerNorm(2, eps=0.0)(tt.tensor([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._set_affine(
            self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype
        )

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the normalised input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x over its root mean square over the last dimensions, times a weight: (..., *normalized_shape), which stays.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Examples
    --------
    >>> import tt
    >>> tt.nn.RMSNorm(2)(tt.tensor([3.0, 3.0]))
    tensor([1., 1.], grad_fn=<RmsNormBackward0>)
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        enabled = elementwise_affine
        parameter = (
            Parameter(tt.empty(self.normalized_shape, device=device, dtype=dtype)) if enabled else None
        )
        self.register_parameter("weight", parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        """Return the normalised input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over groups of channels of each example: (N, C, ...); the shape stays.

    `weight` and `bias` are (C,).  Source: Wu and He, Group Normalization, 2018.

    Examples
    --------
    >>> import tt
    >>> tt.nn.GroupNorm(1, 2, eps=0.0)(tt.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._set_affine((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the normalised input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Each element over a power of the mean square of near channels: (N, C, ...); the shape stays.

    Source: Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012.

    Examples
    --------
    >>> import tt
    >>> tt.nn.LocalResponseNorm(2)(tt.ones(1, 2, 3)).shape
    tt.Size([1, 2, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Each element over a power of the mean square of `size` near channels: (N, C, H, W); the shape stays.

    As in PyTorch, the first channel counts in the mean of every channel above.

    Examples
    --------
    >>> import tt
    >>> tt.nn.CrossMapLRN2d(2)(tt.ones(1, 2, 1, 1)).shape
    tt.Size([1, 2, 1, 1])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the normalised input."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        # As in PyTorch, an even size takes a window of one channel less.
        channels, reach = input.shape[1], (self.size - 1) // 2
        squares = input * input
        wide = F.pad(squares, (0, 0, 0, 0, reach, reach))
        total = sum((wide[:, i : i + channels] for i in range(1, 2 * reach + 1)), start=wide[:, :channels])
        if channels > reach + 1:  # PyTorch never takes the first channel out of its running sum
            total = total + F.pad(
                squares[:, :1].expand(-1, channels - reach - 1, -1, -1), (0, 0, 0, 0, reach + 1, 0)
            )
        return input * (self.k + total * (self.alpha / self.size)) ** -self.beta

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
