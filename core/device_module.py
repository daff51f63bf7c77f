"""Device modules: the functions of one device type (`tt.cuda`, `tt.cpu`, ...), made from its device interface.

Every device type has such a module under PyTorch's names, those of third parties too; no backend writes one.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tt.core.accelerator import current_accelerator, memory_info
from tt.core.device import Device
from tt.core.errors import DeviceError, PluginError, PluginFailedError, PluginMissingError
from tt.core.streams import Event, Stream

if TYPE_CHECKING:
    from tt.core.backend import Backend
    from tt.core.device_interface import DeviceProperties
    from tt.core.tensor import Tensor

__all__ = ["FUNCTIONS", "DeviceModule", "get_device_module"]

Place = Device | str | int | None


class DeviceModule(ModuleType):
    """The functions of one device type.

    `device` is a device of the type, its index, or None for the current one.  All but `is_available` and
    `device_count` raise a `DeviceError` when the device cannot be used or does not exist.

    Parameters
    ----------
    device_type : str
        For instance "cuda".
    """

    def __init__(self, device_type: str) -> None:
        super().__init__(f"tt.{device_type}", f"The functions of the device type {device_type!r}.")
        self.device_type = device_type
        self.Stream, self.Event = Stream, Event

    def _backend(self) -> Backend:
        from tt.core.dispatch.registry import REGISTRY

        return REGISTRY.backend(self.device_type)

    def _usable(self) -> Backend:
        backend = self._backend()
        backend.require_available()
        return backend

    def _place(self, device: Place) -> Device:
        backend = self._usable()
        if device is None:
            return backend.default_device()
        is_index = isinstance(device, int) and not isinstance(device, bool)
        wanted = Device(self.device_type, device) if is_index else Device(device)  # type: ignore[arg-type]
        if wanted.type != self.device_type:
            raise DeviceError(f"Expected a {self.device_type} device, but got: {wanted}")
        return backend.place(wanted)

    # --- which devices there are -------------------------------------------------------------------------------

    def is_available(self) -> bool:
        """Return whether tensors can be put on a device of the type; `tt plugins list` says why not."""
        try:
            return self._backend().available() is None
        except (PluginError, PluginFailedError, PluginMissingError):
            return False

    def device_count(self) -> int:
        """Return the number of devices; 0 where none can be used."""
        return self._backend().device_count() if self.is_available() else 0

    def current_device(self) -> int:
        """Return the index of this thread's current device."""
        return self._usable().current_device()

    def set_device(self, device: Place) -> None:
        """Make a device the current one of this thread."""
        place = self._place(device)
        self._usable().set_device(place.index or 0)

    @contextlib.contextmanager
    def device(self, device: Place) -> Iterator[None]:
        """Make a device the current one inside a `with` block."""
        place = self._place(device)
        with self._usable().guard(place):
            yield

    def get_device_name(self, device: Place = None) -> str:
        """Return the name of a device."""
        return self.get_device_properties(device).name

    def get_device_properties(self, device: Place = None) -> DeviceProperties:
        """Return what a device says of itself."""
        return self._usable().properties(self._place(device))

    # --- the order of work -------------------------------------------------------------------------------------

    def synchronize(self, device: Place = None) -> None:
        """Wait until a device has done all that it was given."""
        self._usable().synchronize(self._place(device))

    def current_stream(self, device: Place = None) -> Stream:
        """Return this thread's current stream on a device."""
        place = self._place(device)
        return Stream(place, native=self._usable().current_stream(place))

    def set_stream(self, stream: Stream) -> None:
        """Make a stream the current one of this thread on its device."""
        self._usable().set_stream(stream.native, self._place(stream.device))

    def stream(self, stream: Stream | None) -> contextlib.AbstractContextManager[Any]:
        """Return a context manager in which a stream is the current one; None changes nothing."""
        return contextlib.nullcontext() if stream is None else stream

    # --- memory ------------------------------------------------------------------------------------------------

    def memory_stats(self, device: Place = None) -> dict[str, int]:
        """Return statistics of memory under PyTorch's names; empty where the device keeps none."""
        return dict(sorted(self._usable().memory_stats(self._place(device)).items()))

    def memory_allocated(self, device: Place = None) -> int:
        """Return how many bytes tensors use; 0 where the device keeps no statistics."""
        return self.memory_stats(device).get("allocated_bytes.all.current", 0)

    def max_memory_allocated(self, device: Place = None) -> int:
        """Return the largest number of bytes that tensors used so far; 0 where the device keeps none."""
        return self.memory_stats(device).get("allocated_bytes.all.peak", 0)

    def memory_reserved(self, device: Place = None) -> int:
        """Return how many bytes the library holds; 0 where the device keeps no statistics."""
        return self.memory_stats(device).get("reserved_bytes.all.current", 0)

    def max_memory_reserved(self, device: Place = None) -> int:
        """Return the largest number of bytes that the library held so far; 0 where the device keeps none."""
        return self.memory_stats(device).get("reserved_bytes.all.peak", 0)

    def reset_peak_memory_stats(self, device: Place = None) -> None:
        """Let the largest numbers begin anew."""
        self._usable().reset_peak_memory_stats(self._place(device))

    def reset_accumulated_memory_stats(self, device: Place = None) -> None:
        """Let the sums of the statistics begin anew."""
        self._usable().reset_accumulated_memory_stats(self._place(device))

    def empty_cache(self) -> None:
        """Give memory back that the library holds and no tensor uses."""
        self._usable().empty_cache()

    def mem_get_info(self, device: Place = None) -> tuple[int, int]:
        """Return the free and the total memory of a device in bytes; a `DeviceError` where it does not tell."""
        return memory_info(self._usable(), self._place(device))

    # --- random numbers ----------------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> None:
        """Start the random numbers of the device type anew from a seed."""
        self._backend().generator().manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Do what `manual_seed` does: the devices of a type share one generator."""
        self.manual_seed(seed)

    def seed(self) -> None:
        """Start the random numbers of the device type anew from a seed of the operating system."""
        self._backend().generator().seed()

    def initial_seed(self) -> int:
        """Return the seed from which the random numbers of the device type started."""
        return self._backend().generator().initial_seed()

    def get_rng_state(self, device: Place = None) -> Tensor:
        """Return the state of the generator, a tensor of bytes on the CPU."""
        return self._backend().generator(self._place(device)).get_state()

    def set_rng_state(self, new_state: Tensor, device: Place = None) -> None:
        """Let the generator continue from what `get_rng_state` returned."""
        self._backend().generator(self._place(device)).set_state(new_state)


FUNCTIONS: Final = tuple(
    sorted(["Event", "Stream", *(name for name in vars(DeviceModule) if not name.startswith("_"))])
)
"""The names of a device module."""

_MADE: dict[str, DeviceModule] = {}


def get_device_module(device: Device | str | None = None) -> Any:
    """Return the module with the functions of a device type.

    Parameters
    ----------
    device : Device or str, optional
        By default the accelerator, or the CPU where there is none.

    Raises
    ------
    UnknownNameError
        When no plugin brings the device type.

    Examples
    --------
    >>> import tt
    >>> tt.get_device_module("cpu").device_count()
    1
    """
    from tt.core.dispatch.registry import REGISTRY

    found = (current_accelerator(check_available=True) or Device("cpu")) if device is None else Device(device)
    module = REGISTRY.backend(found.type).module
    if module is not None:
        return importlib.import_module(module)
    return _MADE.setdefault(found.type, DeviceModule(found.type))
