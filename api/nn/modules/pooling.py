"""Pooling: the largest, the mean or a norm of the elements in windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from tt.nn.modules.adaptive_pooling import (
    _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd,
)
from tt.nn.modules.adaptive_pooling import (
    _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd,
)
from tt.nn.modules.fractional_pooling import FractionalMaxPool2d, FractionalMaxPool3d
from tt.nn.modules.module import Module
from tt.nn.modules.sizes import tuple_of

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip

Size = int | Sequence[int]

# --- the largest -----------------------------------------------------------------------------------------------


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    # As in PyTorch, whose older pickles lack these attributes.
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name, value in (("padding", 0), ("dilation", 1)):
            self.__dict__.setdefault(name, value)

    def _arguments(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window: (N, C, L) or (C, L) to (..., L_out).

    With `return_indices`, its place in the input comes second, as `MaxUnpool1d` takes it.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MaxPool1d(2)(tt.arange(4.0)[None])
    tensor([[1., 3.]])
    """

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each window, and with `return_indices` its place."""
        return F.max_pool1d(input, *self._arguments())


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window: (N, C, H, W) or (C, H, W) to (..., H_out, W_out).

    With `return_indices`, its place in the image comes second, as `MaxUnpool2d` takes it.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MaxPool2d(2)(tt.arange(8.0).reshape(1, 2, 4))
    tensor([[[5., 7.]]])
    """

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each window, and with `return_indices` its place."""
        return F.max_pool2d(input, *self._arguments())


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window: (N, C, D, H, W) or (C, D, H, W) to (..., D_out, H_out, W_out).

    With `return_indices`, its place in the volume comes second, as `MaxUnpool3d` takes it.

    Examples
    --------
    >>> import tt
    >>> tt.nn.MaxPool3d(2)(tt.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each window, and with `return_indices` its place."""
        return F.max_pool3d(input, *self._arguments())


# --- back to the places ----------------------------------------------------------------------------------------


class _MaxUnpoolNd(Module):
    _dims: int

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, self._dims)
        self.stride = tuple_of(stride if stride is not None else kernel_size, self._dims)
        self.padding = tuple_of(padding, self._dims)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Zeros with the elements at the places that `MaxPool1d` returned: (N, C, L) or (C, L) to (..., L_out).

    Examples
    --------
    >>> import tt
    >>> largest, places = tt.nn.MaxPool1d(2, return_indices=True)(tt.arange(4.0)[None])
    >>> tt.nn.MaxUnpool1d(2)(largest, places)
    tensor([[0., 1., 0., 3.]])
    """

    _dims = 1

    def forward(
        self, input: tt.Tensor, indices: tt.Tensor, output_size: Sequence[int] | None = None
    ) -> tt.Tensor:
        """Return zeros with the input's elements at the indices."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Zeros with the elements at the places that `MaxPool2d` returned: (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> import tt
    >>> largest, places = tt.nn.MaxPool2d(2, return_indices=True)(tt.arange(4.0).reshape(1, 2, 2))
    >>> tt.nn.MaxUnpool2d(2)(largest, places)
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    _dims = 2

    def forward(
        self, input: tt.Tensor, indices: tt.Tensor, output_size: Sequence[int] | None = None
    ) -> tt.Tensor:
        """Return zeros with the input's elements at the indices."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Zeros with the elements at the places that `MaxPool3d` returned: (N, C, D, H, W) or (C, D, H, W).

    Examples
    --------
    >>> import tt
    >>> largest, places = tt.nn.MaxPool3d(2, return_indices=True)(tt.arange(8.0).reshape(1, 2, 2, 2))
    >>> tt.nn.MaxUnpool3d(2)(largest, places).sum()
    tensor(7.)
    """

    _dims = 3

    def forward(
        self, input: tt.Tensor, indices: tt.Tensor, output_size: Sequence[int] | None = None
    ) -> tt.Tensor:
        """Return zeros with the input's elements at the indices."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


# --- the mean --------------------------------------------------------------------------------------------------


class _AvgPoolNd(Module):
    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    # As in PyTorch, whose older pickles lack these attributes.
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name, value in (
            ("padding", 0), ("ceil_mode", False), ("count_include_pad", True), ("divisor_override", None),
        ):  # fmt: skip
            self.__dict__.setdefault(name, value)

    def _arguments(self) -> tuple[Any, ...]:
        return (
            self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window: (N, C, L) or (C, L) to (..., L_out).

    Examples
    --------
    >>> import tt
    >>> tt.nn.AvgPool1d(2)(tt.arange(4.0)[None])
    tensor([[0.5000, 2.5000]])
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(
            tuple_of(kernel_size, 1),
            tuple_of(stride if stride is not None else kernel_size, 1),
            tuple_of(padding, 1),
            ceil_mode,
            count_include_pad,
        )

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the mean of each window."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(_AvgPoolNd):
    """The mean of each window: (N, C, H, W) or (C, H, W) to (..., H_out, W_out).

    Examples
    --------
    >>> import tt
    >>> tt.nn.AvgPool2d(2)(tt.arange(8.0).reshape(1, 2, 4))
    tensor([[[2.5000, 4.5000]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the mean of each window."""
        return F.avg_pool2d(input, *self._arguments())


class AvgPool3d(_AvgPoolNd):
    """The mean of each window: (N, C, D, H, W) or (C, D, H, W) to (..., D_out, H_out, W_out).

    Examples
    --------
    >>> import tt
    >>> tt.nn.AvgPool3d(2)(tt.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[3.5000]]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the mean of each window."""
        return F.avg_pool3d(input, *self._arguments())


# --- a norm ----------------------------------------------------------------------------------------------------


class _LPPoolNd(Module):
    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _arguments(self) -> tuple[Any, ...]:
        return float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window: (N, C, L) or (C, L) to (..., L_out).

    Examples
    --------
    >>> import tt
    >>> tt.nn.LPPool1d(2, 2)(tt.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the norm of each window."""
        return F.lp_pool1d(input, *self._arguments())


class LPPool2d(_LPPoolNd):
    """The p-norm of each window: (N, C, H, W) or (C, H, W) to (..., H_out, W_out).

    Examples
    --------
    >>> import tt
    >>> tt.nn.LPPool2d(1, 2)(tt.ones(1, 2, 2))
    tensor([[[4.]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the norm of each window."""
        return F.lp_pool2d(input, *self._arguments())


class LPPool3d(_LPPoolNd):
    """The p-norm of each window: (N, C, D, H, W) or (C, D, H, W) to (..., D_out, H_out, W_out).

    Examples
    --------
    >>> import tt
    >>> tt.nn.LPPool3d(1, 2)(tt.ones(1, 2, 2, 2))
    tensor([[[[8.]]]])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the norm of each window."""
        return F.lp_pool3d(input, *self._arguments())
