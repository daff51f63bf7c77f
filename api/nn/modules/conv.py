"""Convolutions, transposed convolutions and their lazy forms, at PyTorch's path."""

from __future__ import annotations

from tt.nn.modules.convnd import Conv1d, Conv2d, Conv3d
from tt.nn.modules.convnd import _ConvNd as _ConvNd
from tt.nn.modules.lazy_conv import (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)
from tt.nn.modules.transposed_conv import (
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from tt.nn.modules.transposed_conv import (
    _ConvTransposeNd as _ConvTransposeNd,
)

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
    "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip
