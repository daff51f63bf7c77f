"""Convolutions of one to three dimensions, and the base that they share with the transposed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tt
import tt.nn.functional as F
from tt.nn import init
from tt.nn.modules.module import Module
from tt.nn.modules.sizes import reversed_twice, tuple_of
from tt.nn.parameter import Parameter
from tt.types import Device

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Size"]

Size = int | Sequence[int]
MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base of all convolutions: their arguments, a weight and a bias.

    `weight` is (out_channels, in_channels / groups, *kernel_size), for transposed convolutions (in_channels,
    out_channels / groups, *kernel_size); `bias` is (out_channels,).  Both are drawn uniformly within
    1 / sqrt(in_channels / groups * product of kernel_size).  Sizes are tuples, one number for each dimension.
    """

    weight: Parameter
    bias: Parameter | None
    padding: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError(f"in_channels ({in_channels}) must be divisible by groups ({groups})")
        if out_channels % groups:
            raise ValueError(f"out_channels ({out_channels}) must be divisible by groups ({groups})")
        if padding_mode not in MODES:
            raise ValueError(
                f"padding_mode must be one of {set(MODES)}, but got padding_mode={padding_mode!r}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # F.pad counts dimensions from the last one, and takes the padding of both sides.
        self._reversed_padding_repeated_twice = self._edges()
        # A transposed convolution has the weight of the convolution whose gradient it computes.
        first, second = in_channels, out_channels
        if not transposed:
            first, second = second, first
        shape = (first, second // groups, *kernel_size)
        self.weight = Parameter(tt.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tt.empty(out_channels, device=device, dtype=dtype))
        else:
            # Registered as None, so that the attribute exists and the state dict has no entry.
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _edges(self) -> list[int]:
        """Return how much `tt.nn.functional.pad` adds at both ends of each dimension, the last one first."""
        if not isinstance(self.padding, str):
            return list(reversed_twice(self.padding))
        if self.padding not in ("valid", "same"):
            raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'valid', 'same'}}")
        if self.padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding == "valid":
            return [0] * (2 * len(self.kernel_size))
        if not all(isinstance(size, int) for size in self.kernel_size):
            raise tt.errors.ArgumentError(type(self).__name__, "kernel_size must be int or a tuple of ints")
        if len(self.kernel_size) != len(self.dilation):
            raise tt.errors.ValueRangeError(
                f"kernel_size has {len(self.kernel_size)} numbers for {len(self.dilation)} dimensions"
            )
        sizes = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        # Of an odd number the larger part is at the end, as in PyTorch.
        return [part for size in reversed(sizes) for part in (size // 2, size - size // 2)]

    def reset_parameters(self) -> None:
        """Draw the weight and the bias."""
        # With a = sqrt(5) the bound is 1 / sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = self.weight.shape[1] * math.prod(self.kernel_size)
            if inputs:
                bound = 1 / math.sqrt(inputs)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the arguments that are not the default."""
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    # As in PyTorch, whose older pickles lack the mode.
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    _dims: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
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
        dims = self._dims
        super().__init__(
            in_channels,
            out_channels,
            tuple_of(kernel_size, dims),
            tuple_of(stride, dims),
            padding if isinstance(padding, str) else tuple_of(padding, dims),
            tuple_of(dilation, dims),
            False,
            (0,) * dims,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _padded(self, input: tt.Tensor) -> tuple[tt.Tensor, Any]:
        """Return the input with the edges that are not zeros, and the padding that is left to the operator."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0


class Conv1d(_Conv):
    """A convolution over a sequence: (N, C, L) or (C, L) to (..., out_channels, L_out).

    Parameters
    ----------
    in_channels, out_channels : int
        C, and the channels of the result.
    kernel_size, stride, dilation : int or tuple of int
        The size of the window, the steps between windows and between their elements.
    padding : int, tuple of int, "valid" or "same"
        Elements at both ends of each dimension.
    groups : int
        In how many groups the channels are divided, each of which is convolved alone.
    bias : bool
        Add a learned number to each channel.
    padding_mode : str
        "zeros", "reflect", "replicate" or "circular".

    Examples
    --------
    >>> import tt
    >>> tt.nn.Conv1d(2, 4, kernel_size=3)(tt.zeros(1, 2, 5)).shape
    tt.Size([1, 4, 3])
    """

    _dims = 1

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the convolution of the input with the weight."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: tt.Tensor, weight: tt.Tensor, bias: tt.Tensor | None) -> tt.Tensor:
        input, padding = self._padded(input)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """A convolution over an image: (N, C, H, W) or (C, H, W) to (..., out_channels, H_out, W_out).

    Parameters
    ----------
    in_channels, out_channels : int
        C, and the channels of the result.
    kernel_size, stride, dilation : int or tuple of int
        The size of the window, the steps between windows and between their elements.
    padding : int, tuple of int, "valid" or "same"
        Elements at both ends of each dimension.
    groups : int
        In how many groups the channels are divided, each of which is convolved alone.
    bias : bool
        Add a learned number to each channel.
    padding_mode : str
        "zeros", "reflect", "replicate" or "circular".

    Examples
    --------
    >>> import tt
    >>> tt.nn.Conv2d(2, 4, kernel_size=3)(tt.zeros(1, 2, 5, 5)).shape
    tt.Size([1, 4, 3, 3])
    """

    _dims = 2

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the convolution of the input with the weight."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: tt.Tensor, weight: tt.Tensor, bias: tt.Tensor | None) -> tt.Tensor:
        input, padding = self._padded(input)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """A convolution over a volume: (N, C, D, H, W) or (C, D, H, W) to (..., out_channels, D_out, H_out, W_out).

    Parameters
    ----------
    in_channels, out_channels : int
        C, and the channels of the result.
    kernel_size, stride, dilation : int or tuple of int
        The size of the window, the steps between windows and between their elements.
    padding : int, tuple of int, "valid" or "same"
        Elements at both ends of each dimension.
    groups : int
        In how many groups the channels are divided, each of which is convolved alone.
    bias : bool
        Add a learned number to each channel.
    padding_mode : str
        "zeros", "reflect", "replicate" or "circular".

    Examples
    --------
    >>> import tt
    >>> tt.nn.Conv3d(2, 4, kernel_size=3)(tt.zeros(1, 2, 5, 5, 5)).shape
    tt.Size([1, 4, 3, 3, 3])
    """

    _dims = 3

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the convolution of the input with the weight."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: tt.Tensor, weight: tt.Tensor, bias: tt.Tensor | None) -> tt.Tensor:
        input, padding = self._padded(input)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)
