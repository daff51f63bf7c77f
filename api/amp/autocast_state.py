"""The settings of a thread for autocast, and the older functions that name one device type each.

The dtypes, the cache and the nesting are kept although no layer reads them yet: programs set them, read them back and
restore them.
"""

from __future__ import annotations

from typing import Any, Final

import tt
from tt.errors import ArgumentError
from tt.library import Carried, warn_user

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
    "is_autocast_ipu_enabled",
    "is_autocast_xla_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_gpu_dtype",
    "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled",
    "set_autocast_xla_dtype",
    "set_autocast_xla_enabled",
]

_BFLOAT16: Final = frozenset({"cpu", "xla", "hpu"})


class _State(Carried):
    """The settings of a thread."""

    def __init__(self) -> None:
        self.dtypes: dict[str, Any] = {}
        self.cache = True
        self.nesting = 0


_STATE: Final = _State()

# --- of any device type ------------------------------------------------------------------------------------------


def get_autocast_dtype(device_type: str) -> Any:
    """Return the precision that autocast would use on devices of a type.

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
    dtype = _STATE.dtypes.get(_type(device_type, "get_autocast_dtype"))
    if dtype is not None:
        return dtype
    return tt.bfloat16 if device_type in _BFLOAT16 else tt.float16


def set_autocast_dtype(device_type: str, dtype: tt.dtype) -> None:
    """Set the precision that autocast would use on devices of a type, in this thread.

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
    _STATE.dtypes[_type(device_type, "set_autocast_dtype")] = dtype


def _type(device_type: str, name: str) -> str:
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
    return _STATE.cache


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
    _STATE.cache = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of parameters that are kept; there are none yet.

    Examples
    --------
    >>> import tt
    >>> tt.clear_autocast_cache()
    """


def autocast_increment_nesting() -> int:
    """Count one more block of autocast around this thread's calls, and return how many there are.

    Examples
    --------
    >>> import tt
    >>> tt.autocast_increment_nesting(), tt.autocast_decrement_nesting()
    (1, 0)
    """
    _STATE.nesting += 1
    return _STATE.nesting


def autocast_decrement_nesting() -> int:
    """Count one block of autocast less around this thread's calls, and return how many are left.

    Examples
    --------
    >>> import tt
    >>> tt.autocast_increment_nesting(), tt.autocast_decrement_nesting()
    (1, 0)
    """
    _STATE.nesting -= 1
    return _STATE.nesting


# --- of one device type, which PyTorch has deprecated --------------------------------------------------------------


def _older(name: str, newer: str) -> None:
    warn_user(f"{name}() is deprecated: use tt.{newer} instead", DeprecationWarning)


def get_autocast_cpu_dtype() -> Any:
    """Return `tt.get_autocast_dtype("cpu")`; deprecated."""
    _older("get_autocast_cpu_dtype", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """Return `tt.get_autocast_dtype("cuda")`; deprecated."""
    _older("get_autocast_gpu_dtype", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def get_autocast_ipu_dtype() -> Any:
    """Return `tt.get_autocast_dtype("ipu")`; deprecated."""
    _older("get_autocast_ipu_dtype", "get_autocast_dtype('ipu')")
    return get_autocast_dtype("ipu")


def get_autocast_xla_dtype() -> Any:
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
    return bool(tt.is_autocast_enabled("cpu"))


def is_autocast_ipu_enabled() -> bool:
    """Return `tt.is_autocast_enabled("ipu")`; deprecated."""
    _older("is_autocast_ipu_enabled", "is_autocast_enabled('ipu')")
    return bool(tt.is_autocast_enabled("ipu"))


def is_autocast_xla_enabled() -> bool:
    """Return `tt.is_autocast_enabled("xla")`; deprecated."""
    _older("is_autocast_xla_enabled", "is_autocast_enabled('xla')")
    return bool(tt.is_autocast_enabled("xla"))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Call `tt.set_autocast_enabled("cpu", enabled)`; deprecated."""
    _older("set_autocast_cpu_enabled", "set_autocast_enabled('cpu', enabled)")
    tt.set_autocast_enabled("cpu", enabled)


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Call `tt.set_autocast_enabled("ipu", enabled)`; deprecated."""
    _older("set_autocast_ipu_enabled", "set_autocast_enabled('ipu', enabled)")
    tt.set_autocast_enabled("ipu", enabled)


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Call `tt.set_autocast_enabled("xla", enabled)`; deprecated."""
    _older("set_autocast_xla_enabled", "set_autocast_enabled('xla', enabled)")
    tt.set_autocast_enabled("xla", enabled)
