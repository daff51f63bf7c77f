"""The names that `from tt import *` gives: those of `from torch import *` that tt has.

PyTorch's list follows from what its C++ happens to define: a few functions and constants are attributes of `torch`
alone, some in-place forms and some functions of `torch.nn.functional` are in the list.  tt's own names stay out of it:
a program that was written for PyTorch may have variables of these names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tt.core.schema.snapshot import public_names

__all__ = ["star_names"]

_CONSTANTS: Final = "e inf nan newaxis pi"

_IN_PLACE: Final = (
    "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ "
    "atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ "
    "exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ "
    "nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ "
    "sqrt_ square_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_"
)

_OF_NETWORKS: Final = (
    "adaptive_max_pool1d alpha_dropout batch_norm bilinear binary_cross_entropy_with_logits cosine_embedding_loss "
    "dropout embedding embedding_bag feature_alpha_dropout group_norm hinge_embedding_loss instance_norm kl_div "
    "layer_norm margin_ranking_loss max_pool1d_with_indices poisson_nll_loss triplet_margin_loss"
)
"""Operators of `tt.nn.functional` that PyTorch has as functions of `torch`, too."""

_ATTRIBUTES: Final = (
    "BFloat16Storage BFloat16Tensor ComplexDoubleStorage ComplexFloatStorage HalfStorage HalfTensor QInt32Storage "
    "QInt8Storage QUInt8Storage Storage StorageBase broadcast_shapes channels_last channels_last_3d "
    "compiled_with_cxx11_abi contiguous_format from_dlpack jagged legacy_contiguous_format lu ops pca_lowrank "
    "per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine "
    "per_tensor_symmetric preserve_format segment_reduce set_default_dtype set_grad_enabled sparse_bsc sparse_bsr "
    "sparse_coo sparse_csc sparse_csr strided svd_lowrank to_dlpack unique while_loop"
)
"""Names that are attributes of `torch` and not in its list."""

_OWN: Final = (
    "DisableTTFunctionSubclass FakeMode Parameter bool_ count default_dtype explain fake_mode fallback_policy "
    "from_arrow mask_kernels prefer printoptions quantized set_fallback_policy set_preference slice to_arrow "
    "trace_calls"
)
"""Names that PyTorch lacks."""


def star_names(members: Iterable[str]) -> list[str]:
    """Return the names that `from tt import *` gives.

    Parameters
    ----------
    members : iterable of str
        The members of tt that are neither operators nor modules.

    Examples
    --------
    >>> from tt._compat.star import star_names
    >>> {"tensor", "relu_", "explain"}.intersection(star_names(["tensor", "explain"])) == {"tensor", "relu_"}
    True
    """
    functions = (name for name in public_names() if "." not in name)
    names = {*members, *functions, *" ".join((_CONSTANTS, _IN_PLACE, _OF_NETWORKS)).split()}
    left = names - {*_ATTRIBUTES.split(), *_OWN.split()}
    return sorted(name for name in left if not name.startswith("_"))
