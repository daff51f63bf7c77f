"""Transposed convolutions of one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import tt
import tt.nn.functional as F
from tt.nn.modules.convnd import Size, _ConvNd
from tt.nn.modules.sizes import tuple_of
from tt.types import Device

__all__ = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvTransposeNd(_ConvNd):
    padding: tuple[int, ...]
    _dims: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
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
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        dims = self._dims
        super().__init__(
            in_channels,
            out_channels,
            tuple_of(kernel_size, dims),
            tuple_of(stride, dims),
            tuple_of(padding, dims),
            tuple_of(dilation, dims),
            True,
            tuple_of(output_padding, dims),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: tt.Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """Return the padding at the end of each dimension that gives a result of the size that was requested."""
        if output_size is None:
            return self.output_padding
        dims, channels = self._dims, 2 if input.dim() == self._dims + 2 else 1
        sizes = list(output_size)
        if len(sizes) == dims + channels:
            sizes = sizes[channels:]
        if len(sizes) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{dims + channels} elements (got {len(sizes)})"
            )
        least = [
            (size - 1) * step - 2 * pad + spread * (width - 1) + 1
            for size, step, pad, spread, width in zip(
                input.shape[channels:],
                self.stride,
                self.padding,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
        ]
        # A strided convolution maps as many sizes as its stride to one; each of them is a valid result.
        most = [low + step - 1 for low, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for size, low, high in zip(sizes, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {tuple(output_size)}, but valid sizes range from {least} to {most} "
                f"(for an input of {tuple(input.shape[channels:])})"
            )
        return tuple(size - low for size, low in zip(sizes, least, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`: (N, C, L) or (C, L) to (..., out_channels, L_out).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        Of the convolution that this is the transpose of, with input and result exchanged.
    output_padding : int or tuple of int
        Elements at the end of each dimension of the result, less than the stride.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ConvTranspose1d(2, 4, kernel_size=3, stride=2)(tt.zeros(1, 2, 3)).shape
    tt.Size([1, 4, 7])
    """

    _dims = 1

    def forward(self, input: tt.Tensor, output_size: Sequence[int] | None = None) -> tt.Tensor:
        """Return the transposed convolution of the input, of `output_size` if that is given."""
        rest = self._output_padding(input, output_size)
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, rest, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`: (N, C, H, W) or (C, H, W) to (..., out_channels, H_out, W_out).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        Of the convolution that this is the transpose of, with input and result exchanged.
    output_padding : int or tuple of int
        Elements at the end of each dimension of the result, less than the stride.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ConvTranspose2d(2, 4, kernel_size=3, stride=2)(tt.zeros(1, 2, 3, 3)).shape
    tt.Size([1, 4, 7, 7])
    """

    _dims = 2

    def forward(self, input: tt.Tensor, output_size: Sequence[int] | None = None) -> tt.Tensor:
        """Return the transposed convolution of the input, of `output_size` if that is given."""
        rest = self._output_padding(input, output_size)
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, rest, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`: (N, C, D, H, W) or (C, D, H, W) to (..., out_channels, D_out, H_out, W_out).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        Of the convolution that this is the transpose of, with input and result exchanged.
    output_padding : int or tuple of int
        Elements at the end of each dimension of the result, less than the stride.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ConvTranspose3d(2, 4, kernel_size=3, stride=2)(tt.zeros(1, 2, 3, 3, 3)).shape
    tt.Size([1, 4, 7, 7, 7])
    """

    _dims = 3

    def forward(self, input: tt.Tensor, output_size: Sequence[int] | None = None) -> tt.Tensor:
        """Return the transposed convolution of the input, of `output_size` if that is given."""
        rest = self._output_padding(input, output_size)
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, rest, self.groups, self.dilation
        )
