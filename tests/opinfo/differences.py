"""Samples whose result differs from PyTorch's on purpose; `docs/differences.md` gives the reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Predicate = Callable[[str, Any, Any, Any], bool]

# Operator (with its variant) -> whether a sample differs on purpose: takes check, dtype, args and kwargs.
DIFFERENCES: dict[str, Predicate] = {
    # PyTorch cannot resize these outputs itself.
    "matmul": lambda check, dtype, args, kwargs: check == "out, transposed",
    "nn.functional.linear": lambda check, dtype, args, kwargs: check == "out, transposed",
    # PyTorch writes as if the output were contiguous, and leaves its elements in the wrong order.
    "nn.functional.avg_pool3d": lambda check, dtype, args, kwargs: check == "out, transposed",
    # One rule for the dtype of out=; PyTorch casts where it happens to compute with another function.
    "linalg.matrix_power": lambda check, dtype, args, kwargs: check == "out, floats",
    "linalg.cond": lambda check, dtype, args, kwargs: check == "out, floats",
    "inner": lambda check, dtype, args, kwargs: check == "out, floats",
    # The second derivative at zero is zero as the first, not NaN.
    "linalg.norm.subgradients_at_zero": lambda check, dtype, args, kwargs: (
        check == "gradient" and not args[0].any()
    ),
    # PyTorch resizes the out tensor of one overload and refuses to in the others.
    "normal": lambda check, dtype, args, kwargs: check in ("out, empty", "out, wrong shape", "out, integers"),
    # What is masked is -inf, beside which PyTorch's second derivative is NaN; that of something and nothing is zero.
    "masked.logaddexp": lambda check, dtype, args, kwargs: (
        check == "gradient" and kwargs.get("input_mask") is not None
    ),
    # Nothing comes from a meta tensor to the CPU, which the samples name.
    "to": lambda check, dtype, args, kwargs: check == "meta",
    # The distance is a module of PyTorch, which takes no tensors of tt.
    "nn.functional.triplet_margin_with_distance_loss": lambda check, dtype, args, kwargs: (
        kwargs.get("distance_function") is not None
    ),
    # PyTorch copies where n is 0, and casts nothing there.
    "diff": lambda check, dtype, args, kwargs: check == "out, floats",
    # Refused as every result that does not fit its out tensor; PyTorch says that the sum is not implemented.
    "nansum": lambda check, dtype, args, kwargs: check == "out, integers",
    "nanmean": lambda check, dtype, args, kwargs: check == "out, integers",
    # Differences of half precision numbers cancel; PyTorch rounds each of them, others than tt does.
    "gradient": lambda check, dtype, args, kwargs: dtype.itemsize == 2,
    # Of equal elements the last one; PyTorch's sort is not stable, and takes any of many.
    "mode": lambda check, dtype, args, kwargs: args[0].numel() > 16,
    # The weights are of float32, and their differences cancel.
    "cov": lambda check, dtype, args, kwargs: check == "gradient" and kwargs.get("aweights") is not None,
    # PyTorch's gradient is not zero where self was overwritten; finite differences are.
    "as_strided_scatter": lambda check, dtype, args, kwargs: check == "gradient",
    # One rule for the dtype of out=, again.
    "cholesky_inverse": lambda check, dtype, args, kwargs: check == "out, floats",
    "linalg.householder_product": lambda check, dtype, args, kwargs: check == "out, floats",
    # PyTorch writes to neither of these.
    "fft.ihfft2": lambda check, dtype, args, kwargs: check.startswith("out"),
    "fft.ihfftn": lambda check, dtype, args, kwargs: check.startswith("out"),
    # Steps in half precision overflow or are rounded; tt takes them in float32.
    "matrix_exp": lambda check, dtype, args, kwargs: dtype.itemsize == 2,
    "nn.functional.bilinear": lambda check, dtype, args, kwargs: dtype.itemsize == 2,
    # Of equal elements the first one; PyTorch takes any.
    "nanmedian": lambda check, dtype, args, kwargs: not dtype.is_floating_point,
    # Edges that do not increase have no bins.
    "histogramdd": lambda check, dtype, args, kwargs: any(
        (e.diff() < 0).any() for e in args[1] if hasattr(e, "diff")
    ),
    # A gradient of integers is none.
    "native_dropout_backward": lambda check, dtype, args, kwargs: (
        not (dtype.is_floating_point or dtype.is_complex)
    ),
    # PyTorch writes as if the output were contiguous, and has another error for a dimension that is not there.
    "narrow_copy": lambda check, dtype, args, kwargs: check in ("out, transposed", "errors"),
    # PyTorch's have only eight digits where they are small.
    "special.bessel_j0": lambda check, dtype, args, kwargs: dtype.itemsize == 8,
    "special.bessel_y1": lambda check, dtype, args, kwargs: dtype.itemsize == 8,
    # PyTorch's function makes linspace of tensors require no gradient, by a keyword that tt's has not.
    "signal.windows.kaiser": lambda check, dtype, args, kwargs: check == "values",
    # Of a matrix that has not so low a rank, the random projection takes another part.
    "svd_lowrank": lambda check, dtype, args, kwargs: kwargs.get("M") is not None,
    # Statistics that are not computed are resized as all others; PyTorch reads them, and refuses some shapes there.
    "native_batch_norm": lambda check, dtype, args, kwargs: check == "out, wrong shape" and not args[5],
    # linalg.lu_factor takes out=; here it is refused.
    "lu": lambda check, dtype, args, kwargs: check.startswith("out"),
}


def purposeful(key: str, check: str, dtype: Any, args: Any, kwargs: Any) -> bool:
    """Return whether a difference is listed."""
    predicate = DIFFERENCES.get(key) or DIFFERENCES.get(key.partition(".")[0])
    return predicate is not None and predicate(check, dtype, args, kwargs)
