"""tt.backends.cudnn: the switches of cuDNN, which take effect where it is installed."""

from __future__ import annotations

from tt.backends.cuda.runtime.settings import cudnn as settings
from tt.backends.flags import switches

__all__ = ["flags", "is_acceptable", "is_available", "version"]

flags = settings.flags
CUDNN_TENSOR_DTYPES = ("float16", "bfloat16", "float32", "float64")


def is_available() -> bool:
    """Return whether cuDNN serves: whether there are a CUDA device and the library.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cudnn.is_available() <= tt.cuda.is_available()
    True
    """
    return version() is not None


def version() -> int | None:
    """Return the version of cuDNN as a number, for instance 91900 for 9.19.0, or None where it does not serve."""
    import tt

    if not tt.cuda.is_available():
        return None
    try:
        import cudnn
    except ImportError:
        return None
    return int(cudnn.backend_version())


def is_acceptable(tensor: object) -> bool:
    """Return whether cuDNN could take a tensor: by its device and dtype."""
    device, dtype = getattr(tensor, "device", None), getattr(tensor, "dtype", None)
    known = getattr(dtype, "name", "") in CUDNN_TENSOR_DTYPES
    return settings.enabled and is_available() and known and getattr(device, "type", "") == "cuda"


switches(__name__, settings)
