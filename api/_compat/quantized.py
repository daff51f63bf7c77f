"""Quantized tensors: the names of the package tt that the plugin `quantized` provides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy import attach
from tt.core.types.layout import to_layout as _to_layout
from tt.plugins.quantized.construct import (
    empty_quantized,
    over_integers,
    quantize_per_channel,
    quantize_per_tensor,
)
from tt.plugins.quantized.members import (
    int_repr,
    q_per_channel_axis,
    q_per_channel_scales,
    q_per_channel_zero_points,
    q_scale,
    q_zero_point,
)
from tt.plugins.quantized.pooling import (
    quantized_batch_norm,
    quantized_max_pool1d,
    quantized_max_pool2d,
    quantized_max_pool3d,
)
from tt.plugins.quantized.quantizer import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qscheme,
)

if TYPE_CHECKING:
    from tt.core.types.layout import layout

    quantized: layout

__all__ = [
    "empty_quantized",
    "int_repr",
    "over_integers",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "q_per_channel_axis",
    "q_per_channel_scales",
    "q_per_channel_zero_points",
    "q_scale",
    "q_zero_point",
    "qscheme",
    "quantize_per_channel",
    "quantize_per_tensor",
    "quantized_batch_norm",
    "quantized_max_pool1d",
    "quantized_max_pool2d",
    "quantized_max_pool3d",
    # Looked up by name, so that a blocked or broken plugin raises with its reason.
    *attach(__name__, {_to_layout: "quantized"}),
]
