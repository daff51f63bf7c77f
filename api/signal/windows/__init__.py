"""Windows, by which the samples of a signal are multiplied before it is transformed.

A window is symmetric (``sym=True``, for filters) or periodic, which is the symmetric one with a sample more, without
its last (for spectra).
"""

from tt.signal.windows.windows import (
    bartlett,
    blackman,
    cosine,
    exponential,
    gaussian,
    general_cosine,
    general_hamming,
    hamming,
    hann,
    kaiser,
    nuttall,
)

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
    "hann", "kaiser", "nuttall",
]  # fmt: skip
