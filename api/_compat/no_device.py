"""Modules of devices that no backend serves: they say that there is none, and raise where one is used.

Note [No such device]
---------------------
Programs clean up and seed every kind of device without a question, so what has nothing to do returns: to empty the
cache of no device, to seed none.  What would need one, its name, its memory, its streams, raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tt._compat.absent.rows import absent

__all__ = ["names_of"]

_NOTHING: Final = (
    "empty_cache init ipc_collect manual_seed manual_seed_all reset_accumulated_memory_stats "
    "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats seed seed_all synchronize"
)
_ABSENT: Final = (
    "Event Stream StreamContext current_allocated_memory current_device current_stream device "
    "driver_allocated_memory get_device_capability get_device_name get_device_properties get_rng_state "
    "get_rng_state_all initial_seed max_memory_allocated max_memory_reserved mem_get_info memory_allocated "
    "memory_reserved memory_stats memory_summary recommended_max_memory set_device set_per_process_memory_fraction "
    "set_rng_state set_rng_state_all set_stream stream"
)


def _constant(name: str, value: Any, doc: str) -> Callable[..., Any]:
    def function(*args: object, **kwargs: object) -> Any:
        return value

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def names_of(module: str, device: str) -> dict[str, Any]:
    """Return the names of the module of a device that is not there.

    Parameters
    ----------
    module : str
        Its name, such as ``"torch.xpu"``.
    device : str
        What it is, for the error.

    Examples
    --------
    >>> from tt._compat.no_device import names_of
    >>> xpu = names_of("torch.xpu", "an Intel GPU")
    >>> xpu["is_available"](), xpu["device_count"](), xpu["empty_cache"]()
    (False, 0, None)
    >>> xpu["get_device_name"](0)
    Traceback (most recent call last):
        ...
    tt.core.errors.UnsupportedError: torch.xpu.get_device_name(): no backend of tt serves an Intel GPU
    """
    return {
        **{name: _constant(name, None, "Do nothing: there is no device.") for name in _NOTHING.split()},
        **{name: absent(module, name, f"no backend of tt serves {device}") for name in _ABSENT.split()},
        "is_available": _constant("is_available", False, "Return False: there is no device."),
        "is_bf16_supported": _constant("is_bf16_supported", False, "Return False: there is no device."),
        "is_initialized": _constant("is_initialized", False, "Return False: there is no device."),
        "device_count": _constant("device_count", 0, "Return 0: there is no device."),
    }
