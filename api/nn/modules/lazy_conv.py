"""Convolutions that take the number of channels from their first input."""

from __future__ import annotations

from typing import Any

import tt
from tt.nn import parameter
from tt.nn.modules.convnd import Conv1d, Conv2d, Conv3d, Size, _ConvNd
from tt.nn.modules.lazy import LazyModuleMixin
from tt.nn.modules.transposed_conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from tt.types import Device

__all__ = [
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip


class _LazyConv(LazyModuleMixin, _ConvNd):
    """A convolution that takes the number of channels from its first input."""

    weight: parameter.UninitializedParameter
    bias: parameter.UninitializedParameter | None

    def _make_lazy(self, out_channels: int, bias: bool, device: Device, dtype: tt.dtype | None) -> None:
        self.out_channels = out_channels
        self.weight = parameter.UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = parameter.UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: tt.Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of channels from an input, and draw the parameters."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups:
            raise ValueError(f"in_channels ({self.in_channels}) must be divisible by groups ({self.groups})")
        first, second = self.in_channels, self.out_channels
        if not self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input: tt.Tensor) -> int:
        dims = len(self.kernel_size)
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {tuple(input.shape)}"
            )
        return int(input.shape[-dims - 1])


class _LazyForward(_LazyConv):
    """The constructor of convolutions."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: str | Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        # Without channels and bias, whose number the first input gives.
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    """The constructor of transposed convolutions."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )  # fmt: skip
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyConv1d(4, kernel_size=3)
    >>> layer(tt.zeros(1, 2, 5)).shape, layer.in_channels
    (tt.Size([1, 4, 3]), 2)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyConv2d(4, kernel_size=3)
    >>> layer(tt.zeros(1, 2, 5, 5)).shape, layer.in_channels
    (tt.Size([1, 4, 3, 3]), 2)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyConv3d(4, kernel_size=3)
    >>> layer(tt.zeros(1, 2, 5, 5, 5)).shape, layer.in_channels
    (tt.Size([1, 4, 3, 3, 3]), 2)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyConvTranspose1d(4, kernel_size=3)
    >>> layer(tt.zeros(1, 2, 3)).shape, layer.in_channels
    (tt.Size([1, 4, 5]), 2)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyConvTranspose2d(4, kernel_size=3)
    >>> layer(tt.zeros(1, 2, 3, 3)).shape, layer.in_channels
    (tt.Size([1, 4, 5, 5]), 2)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyConvTranspose3d(4, kernel_size=3)
    >>> layer(tt.zeros(1, 2, 3, 3, 3)).shape, layer.in_channels
    (tt.Size([1, 4, 5, 5, 5]), 2)
    """

    cls_to_become = ConvTranspose3d
