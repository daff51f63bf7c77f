"""tt.nn.utils: what programs do with modules and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy import attach
from tt.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tt.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from tt.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from tt.nn.utils.init import skip_init
from tt.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from tt.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from tt.nn.utils.weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from tt.nn.utils import parametrizations as parametrizations
    from tt.nn.utils import parametrize as parametrize
    from tt.nn.utils import prune as prune
    from tt.nn.utils import rnn as rnn
    from tt.nn.utils import stateless as stateless

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

attach(__name__, {})
