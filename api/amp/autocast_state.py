"""The settings of a thread for autocast, and the older functions that name one device type each."""

from __future__ import annotations

from typing import Any

import tt
from tt.errors import ArgumentError, UnknownNameError
from tt.library import warn_user
from tt.plugins.amp.state import AUTOCAST, autocast_dtypes

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_autocast_ipu_dtype",
    "get_autocast_xla_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_autocast_ipu_enabled",
    "is_autocast_xla_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
    "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled",
    "set_autocast_xla_dtype",
    "set_autocast_xla_enabled",
]

# --- of any device type ------------------------------------------------------------------------------------------


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return whether calls of this thread on devices of a type choose their precision.

    Parameters
    ----------
    device_type : str, optional
        For instance "cpu"; CUDA's by default, as in PyTorch.

    Examples
    --------
    >>> import tt
    >>> with tt.autocast("cpu"):
    ...     tt.is_autocast_enabled("cpu"), tt.is_autocast_enabled("cuda")
    (True, False)
    """
    kind = "cuda" if device_type is None else _type(device_type, "is_autocast_enabled")
    return AUTOCAST.is_on(kind)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch autocast on or off in this thread for devices of a type; `tt.autocast` does it for a block.

    Parameters
    ----------
    device_type : str
        For instance "cpu"; a bool in its place is for CUDA, as in PyTorch.
    enabled : bool
        Whether it is on.

    Raises
    ------
    RuntimeError
        If there is no such device, or if it has no autocast.

    Examples
    --------
    >>> import tt
    >>> tt.set_autocast_enabled("cpu", True)
    >>> (tt.ones(2, 2) @ tt.ones(2, 2)).dtype
    tt.bfloat16
    >>> tt.set_autocast_enabled("cpu", False)
    """
    # PyTorch's older form has one argument, and means CUDA.
    kind, switch = ("cuda", device_type) if enabled is None else (device_type, enabled)
    if not isinstance(switch, bool):
        raise ArgumentError("set_autocast_enabled", f"enabled must be a bool (got a {type(switch).__name__})")
    kind = _type(kind, "set_autocast_enabled")
    if switch:
        require_autocast(kind)
    AUTOCAST.switch(kind, switch)


def require_autocast(device_type: str) -> None:
    """Raise if devices of a type have no autocast."""
    if not is_available(device_type):
        kinds = [kind for kind in tt.library.REGISTRY.device_types() if is_available(kind)]
        raise UnknownNameError("device type with autocast", device_type, kinds)


def is_available(device_type: str) -> bool:
    """Return whether a backend for devices of a type is installed, and lowers precisions."""
    try:
        return bool(tt.library.REGISTRY.backend(device_type).autocast_dtypes)
    except UnknownNameError:
        return False


def get_autocast_dtype(device_type: str) -> tt.dtype:
    """Return the precision of autocast on devices of a type.

    Parameters
    ----------
    device_type : str
        For instance "cpu", where it is bfloat16 unless another is set, or "cuda", where it is float16.

    Examples
    --------
    >>> import tt
    >>> tt.get_autocast_dtype("cpu"), tt.get_autocast_dtype("cuda")
    (tt.bfloat16, tt.float16)
    """
    return AUTOCAST.dtype_of(_type(device_type, "get_autocast_dtype"))


def set_autocast_dtype(device_type: str, dtype: tt.dtype) -> None:
    """Set the precision of autocast on devices of a type, in this thread.

    Parameters
    ----------
    device_type : str
        For instance "cpu".
    dtype : dtype
        For instance `tt.float16`.

    Raises
    ------
    ArgumentError
        If it is not a dtype.

    Examples
    --------
    >>> import tt
    >>> tt.set_autocast_dtype("cpu", tt.float16)
    >>> tt.get_autocast_dtype("cpu")
    tt.float16
    >>> tt.set_autocast_dtype("cpu", tt.bfloat16)
    """
    if not isinstance(dtype, tt.dtype):
        raise ArgumentError(
            "set_autocast_dtype", f"argument 'dtype' must be dtype, not {type(dtype).__name__}"
        )
    AUTOCAST.set_dtype(_type(device_type, "set_autocast_dtype"), dtype)


def _type(device_type: object, name: str) -> str:
    if not isinstance(device_type, str):
        raise ArgumentError(name, f"argument 'device_type' must be str, not {type(device_type).__name__}")
    return device_type


# --- the cache and the nesting -----------------------------------------------------------------------------------


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of parameters are kept until the outermost autocast ends.

    Examples
    --------
    >>> import tt
    >>> tt.is_autocast_cache_enabled()
    True
    """
    return AUTOCAST.here.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of parameters are kept, in this thread.

    Examples
    --------
    >>> import tt
    >>> tt.set_autocast_cache_enabled(True)
    """
    if not isinstance(enabled, bool):
        raise ArgumentError(
            "set_autocast_cache_enabled", f"enabled must be a bool (got a {type(enabled).__name__})"
        )
    AUTOCAST.here.caches = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of parameters that this thread keeps.

    Examples
    --------
    >>> import tt
    >>> tt.clear_autocast_cache()
    """
    AUTOCAST.here.casts = {}


def autocast_increment_nesting() -> int:
    """Count one more block of autocast around this thread's calls, and return how many there are.

    Examples
    --------
    >>> import tt
    >>> tt.autocast_increment_nesting(), tt.autocast_decrement_nesting()
    (1, 0)
    """
    AUTOCAST.here.nesting += 1
    return AUTOCAST.here.nesting


def autocast_decrement_nesting() -> int:
    """Count one block of autocast less around this thread's calls, and return how many are left.

    Examples
    --------
    >>> import tt
    >>> tt.autocast_increment_nesting(), tt.autocast_decrement_nesting()
    (1, 0)
    """
    AUTOCAST.here.nesting -= 1
    return AUTOCAST.here.nesting


# --- of one device type, which PyTorch has deprecated --------------------------------------------------------------


def _older(name: str, newer: str) -> None:
    warn_user(f"{name}() is deprecated: use tt.{newer} instead", DeprecationWarning)


def get_autocast_cpu_dtype() -> tt.dtype:
    """Return `tt.get_autocast_dtype("cpu")`; deprecated."""
    _older("get_autocast_cpu_dtype", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> tt.dtype:
    """Return `tt.get_autocast_dtype("cuda")`; deprecated."""
    _older("get_autocast_gpu_dtype", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def get_autocast_ipu_dtype() -> tt.dtype:
    """Return `tt.get_autocast_dtype("ipu")`; deprecated."""
    _older("get_autocast_ipu_dtype", "get_autocast_dtype('ipu')")
    return get_autocast_dtype("ipu")


def get_autocast_xla_dtype() -> tt.dtype:
    """Return `tt.get_autocast_dtype("xla")`; deprecated."""
    _older("get_autocast_xla_dtype", "get_autocast_dtype('xla')")
    return get_autocast_dtype("xla")


def set_autocast_cpu_dtype(dtype: tt.dtype) -> None:
    """Call `tt.set_autocast_dtype("cpu", dtype)`; deprecated."""
    _older("set_autocast_cpu_dtype", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: tt.dtype) -> None:
    """Call `tt.set_autocast_dtype("cuda", dtype)`; deprecated."""
    _older("set_autocast_gpu_dtype", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def set_autocast_ipu_dtype(dtype: tt.dtype) -> None:
    """Call `tt.set_autocast_dtype("ipu", dtype)`; deprecated."""
    _older("set_autocast_ipu_dtype", "set_autocast_dtype('ipu', dtype)")
    set_autocast_dtype("ipu", dtype)


def set_autocast_xla_dtype(dtype: tt.dtype) -> None:
    """Call `tt.set_autocast_dtype("xla", dtype)`; deprecated."""
    _older("set_autocast_xla_dtype", "set_autocast_dtype('xla', dtype)")
    set_autocast_dtype("xla", dtype)


def is_autocast_cpu_enabled() -> bool:
    """Return `tt.is_autocast_enabled("cpu")`; deprecated."""
    _older("is_autocast_cpu_enabled", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def is_autocast_ipu_enabled() -> bool:
    """Return `tt.is_autocast_enabled("ipu")`; deprecated."""
    _older("is_autocast_ipu_enabled", "is_autocast_enabled('ipu')")
    return is_autocast_enabled("ipu")


def is_autocast_xla_enabled() -> bool:
    """Return `tt.is_autocast_enabled("xla")`; deprecated."""
    _older("is_autocast_xla_enabled", "is_autocast_enabled('xla')")
    return is_autocast_enabled("xla")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Call `tt.set_autocast_enabled("cpu", enabled)`; deprecated."""
    _older("set_autocast_cpu_enabled", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Call `tt.set_autocast_enabled("ipu", enabled)`; deprecated."""
    _older("set_autocast_ipu_enabled", "set_autocast_enabled('ipu', enabled)")
    set_autocast_enabled("ipu", enabled)


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Call `tt.set_autocast_enabled("xla", enabled)`; deprecated."""
    _older("set_autocast_xla_enabled", "set_autocast_enabled('xla', enabled)")
    set_autocast_enabled("xla", enabled)
