"""Which device is the accelerator of this machine.

Which device types count as accelerators is declared by the plugins that bring them (`Manifest.accelerators`), so that
an installed backend which does not declare itself one is never chosen by a program that does not name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core import plugins
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import PluginError, PluginFailedError, PluginMissingError
from tt.core.types.device import Device, get_default_device

if TYPE_CHECKING:
    from tt.core.tensor.device_interface import DeviceInterface

__all__ = ["current_accelerator", "usable_backend"]


def _declared() -> list[str]:
    """Return the accelerators that plugins declare: the default device first, then tt's own, then by plugin."""
    names: list[str] = []
    for plugin in plugins().plugins():
        if plugin.manifest is not None and plugin.state not in ("failed", "blocked"):
            names += plugin.manifest.accelerators
    default = get_default_device().type
    # Python's sort is stable: behind the default device the order of the plugins stays.
    return sorted(names, key=lambda name: name != default)


def usable_backend(name: str) -> DeviceInterface | None:
    """Return the backend of a device type, or None when it cannot be used."""
    try:
        backend = REGISTRY.backend(name)
    except (PluginError, PluginFailedError, PluginMissingError):
        return None
    return None if backend.available() else backend


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the accelerator, without an index, or None where no plugin brings one.

    Of several, it is the default device if that is one of them, else the first that can be used.

    Parameters
    ----------
    check_available : bool
        Return None also where none can be used on this machine.

    Examples
    --------
    >>> import tt
    >>> accelerator = tt.accelerator.current_accelerator(check_available=True)
    >>> (accelerator is not None) == tt.accelerator.is_available()
    True
    """
    names = _declared()
    usable = [name for name in names if usable_backend(name) is not None]
    name = next(iter(usable or ([] if check_available else names)), None)
    return None if name is None else Device(name)
