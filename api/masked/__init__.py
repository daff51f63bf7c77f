"""tt.masked: tensors with a mask; reductions, scans and normalizations of the elements that a mask selects."""

from tt.masked.masked_tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from tt.masked.normalizations import log_softmax, logaddexp, normalize, softmax, softmin
from tt.masked.reductions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
    "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax",
    "softmin", "std", "sum", "var",
]  # fmt: skip
