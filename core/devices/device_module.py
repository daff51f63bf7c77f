"""Device modules: the functions of one device type (`tt.cuda`, `tt.cpu`, ...), made from its device interface.

Every device type, also of third parties, has such a module under PyTorch's names; backends need not write one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tt.core.blocks import Block, together
from tt.core.by_name import module_named
from tt.core.devices.accelerator import memory_info
from tt.core.devices.memory_table import memory_table
from tt.core.devices.streams import Event, Stream
from tt.core.dispatch.registry.accelerators import current_accelerator
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import (
    ArgumentError,
    DeviceError,
    PluginError,
    PluginFailedError,
    PluginMissingError,
    ValueRangeError,
    describe,
)
from tt.core.tensor.device_interface import DeviceProperties
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import Device

if TYPE_CHECKING:
    from tt.core.tensor.backend import Backend

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
        about = {"device_type": device_type, "__module__": self.__name__}
        # Classes of this module, so that `isinstance(s, tt.cuda.Stream)` tells device types apart.
        self.Stream: type[Stream] = type("Stream", (Stream,), {"__doc__": Stream.__doc__, **about})
        self.Event: type[Event] = type("Event", (_LooseEvent,), {"__doc__": Event.__doc__, **about})

    def _backend(self) -> Backend:
        return REGISTRY.backend(self.device_type)

    def _usable(self) -> Backend:
        backend = self._backend()
        backend.require_available()
        return backend

    def _place(self, device: Place) -> Device:
        backend = self._usable()
        if device is None:
            return backend.default_device()
        if isinstance(device, int) and not isinstance(device, bool):
            requested = Device(self.device_type, device)
        else:
            requested = Device(device)
        if requested.type != self.device_type:
            raise DeviceError(f"Expected a {self.device_type} device, but got: {requested}")
        return backend.place(requested)

    # --- which devices there are -------------------------------------------------------------------------------

    def is_available(self) -> bool:
        """Return whether tensors can be created on a device of the type; if not, `tt plugins list` shows why."""
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
        resolved = self._place(device)
        self._usable().set_device(resolved.index or 0)

    def device(self, device: Place) -> contextlib.AbstractContextManager[None]:
        """Make a device the current one inside a `with` block; None or a negative index changes nothing."""
        # A negative index means "no device", as `torch.cuda.device(-1)`.
        if device is None or (isinstance(device, int) and device < 0):
            return contextlib.nullcontext()
        resolved = self._place(device)
        return self._usable().guard(resolved)

    def device_of(self, obj: Any) -> contextlib.AbstractContextManager[None]:
        """Make the device of a tensor the current one inside a `with` block; tensors elsewhere change nothing."""
        device = getattr(obj, "device", None)
        return self.device(device if getattr(device, "type", None) == self.device_type else None)

    def init(self) -> None:
        """Get the device type ready; the first use does it too."""
        self.current_stream()

    def is_initialized(self) -> bool:
        """Return whether the device type was used in this process; asking starts nothing."""
        return self.is_available() and self._backend().is_initialized()

    def can_device_access_peer(self, device: Place, peer_device: Place) -> bool:
        """Return whether a device can read the memory of another one directly."""
        return self._usable().can_access_peer(self._place(device), self._place(peer_device))

    def get_device_capability(self, device: Place = None) -> tuple[int, int]:
        """Return the major and the minor number of a device's capability; (0, 0) where the type has none."""
        details = self.get_device_properties(device).details
        return int(details.get("major", 0)), int(details.get("minor", 0))

    def get_device_name(self, device: Place = None) -> str:
        """Return the name of a device."""
        return self.get_device_properties(device).name

    def get_device_properties(self, device: Place = None) -> DeviceProperties:
        """Return a device's description."""
        return self._usable().properties(self._place(device))

    # --- the order of work -------------------------------------------------------------------------------------

    def synchronize(self, device: Place = None) -> None:
        """Wait until a device has done all that it was given."""
        self._usable().synchronize(self._place(device))

    def current_stream(self, device: Place = None) -> Stream:
        """Return this thread's current stream on a device."""
        resolved = self._place(device)
        return self.Stream(resolved, native=self._usable().current_stream(resolved))

    def default_stream(self, device: Place = None) -> Stream:
        """Return the stream that is the current one of a device where none was chosen."""
        resolved = self._place(device)
        return self.Stream(resolved, native=self._usable().default_stream(resolved))

    def ExternalStream(self, stream_ptr: int, device: Place = None) -> Stream:  # noqa: N802 - PyTorch's name
        """Return a stream that another library made, given its address; the library has to keep it."""
        resolved = self._place(device)
        return self.Stream(resolved, native=self._usable().external_stream(stream_ptr, resolved))

    def set_stream(self, stream: Stream | None) -> None:
        """Make a stream the current one of this thread on its device; None changes nothing."""
        if stream is not None:
            self._usable().set_stream(stream.native, self._place(stream.device))

    def stream(self, stream: Stream | None) -> contextlib.AbstractContextManager[None]:
        """Make a stream the current one, and its device too, inside a `with` block; None changes nothing."""
        if stream is None:
            return contextlib.nullcontext()
        # With one device there is no guard to enter, and the stream alone is enough.
        guard = self._usable().guard(self._place(stream.device))
        return together(guard, stream) if isinstance(guard, Block) else stream

    # --- memory ------------------------------------------------------------------------------------------------

    def memory_stats(self, device: Place = None) -> dict[str, int]:
        """Return statistics of memory under PyTorch's names; empty where the device keeps none, or was not used."""
        # Asking for statistics must not initialise the device.
        if not self.is_initialized():
            return {}
        return dict(sorted(self._usable().memory_stats(self._place(device)).items()))

    def memory_stats_as_nested_dict(self, device: Place = None) -> dict[str, Any]:
        """Return what `memory_stats` does, as dictionaries in dictionaries."""
        nested: dict[str, Any] = {}
        for name, value in self.memory_stats(device).items():
            *path, last = name.split(".")
            inner = nested
            for word in path:
                inner = inner.setdefault(word, {})
            inner[last] = value
        return nested

    def memory_summary(self, device: Place = None, abbreviated: bool = False) -> str:
        """Return the statistics of a device's memory as a table; `abbreviated`: without the counts."""
        return memory_table(str(self._place(device)), self.memory_stats(device), abbreviated)

    def memory_snapshot(self, device: Place = None) -> list[dict[str, Any]]:
        """Return what lies where in the memory of a device, by default of all: segments with their blocks."""
        if not self.is_initialized():
            return []
        backend = self._usable()
        indices = range(backend.device_count()) if device is None else [self._place(device).index or 0]
        return [segment for i in indices for segment in backend.memory_snapshot(Device(self.device_type, i))]

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
        """Reset the peak values."""
        self._usable().reset_peak_memory_stats(self._place(device))

    def reset_accumulated_memory_stats(self, device: Place = None) -> None:
        """Reset the sums of the statistics."""
        self._usable().reset_accumulated_memory_stats(self._place(device))

    def empty_cache(self) -> None:
        """Give memory back that the library holds and no tensor uses."""
        if self.is_available():
            self._backend().empty_cache()

    def set_cache_limit(self, nbytes: int) -> None:
        """Let the library hold at most so many bytes that no tensor uses; 0: give freed memory back at once.

        Raises
        ------
        DeviceError
            When the device type has no such limit.
        """
        if isinstance(nbytes, bool) or not isinstance(nbytes, int):
            raise ArgumentError("set_cache_limit", f"argument 'nbytes' must be int, not {describe(nbytes)}")
        if nbytes < 0:
            raise ValueRangeError(f"set_cache_limit(): expects a number of bytes, not {nbytes}")
        self._usable().set_cache_limit(nbytes)

    def get_cache_limit(self) -> int:
        """Return how many bytes the library may hold that no tensor uses."""
        return self._usable().cache_limit()

    def set_per_process_memory_fraction(self, fraction: float, device: Place = None) -> None:
        """Let this process hold no more than a fraction of a device's memory.

        Raises
        ------
        ValueRangeError
            When the fraction is not between 0 and 1.
        """
        if isinstance(fraction, bool) or not isinstance(fraction, int | float):
            raise ArgumentError(
                "set_per_process_memory_fraction",
                f"argument 'fraction' must be float, not {describe(fraction)}",
            )
        if not 0 <= fraction <= 1:
            raise ValueRangeError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        self._usable().set_memory_fraction(float(fraction), self._place(device))

    def get_per_process_memory_fraction(self, device: Place = None) -> float:
        """Return the fraction of a device's memory that this process may hold."""
        return self._usable().memory_fraction(self._place(device))

    def mem_get_info(self, device: Place = None) -> tuple[int, int]:
        """Return the free and the total memory of a device in bytes; a `DeviceError` if it does not report them."""
        return memory_info(self._usable(), self._place(device))

    # --- random numbers ----------------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> None:
        """Seed the random numbers of the device type."""
        self._backend().generator().manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Do what `manual_seed` does: the devices of a type share one generator."""
        self.manual_seed(seed)

    def seed(self) -> None:
        """Seed the random numbers of the device type from the operating system."""
        self._backend().generator().seed()

    def initial_seed(self) -> int:
        """Return the seed from which the random numbers of the device type started."""
        return self._backend().generator().initial_seed()

    def get_rng_state(self, device: Place = None) -> Tensor:
        """Return the state of the generator, a tensor of bytes on the CPU."""
        return self._backend().generator(self._place(device)).get_state()

    def get_rng_state_all(self) -> list[Tensor]:
        """Return the state of the generator, once for each device: the devices of a type share one."""
        # PyTorch has one state for each device; here they are equal.
        return [self.get_rng_state() for _ in range(self.device_count())]

    def set_rng_state_all(self, new_states: Iterable[Tensor]) -> None:
        """Let the generator continue from what `get_rng_state_all` returned."""
        for state in new_states:
            self.set_rng_state(state)

    def seed_all(self) -> None:
        """Do what `seed` does: the devices of a type share one generator."""
        self.seed()

    def set_rng_state(self, new_state: Tensor, device: Place = None) -> None:
        """Let the generator continue from what `get_rng_state` returned."""
        self._backend().generator(self._place(device)).set_state(new_state)


class _LooseEvent(Event):
    """An event of one device type, whose constructor has no device, as PyTorch's."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        device: Place = None,
    ) -> None:
        self._make(device, enable_timing, blocking, interprocess)


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
        By default the accelerator, or the CPU if there is none.

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
    resolved = (
        (current_accelerator(check_available=True) or Device("cpu")) if device is None else Device(device)
    )
    module = REGISTRY.backend(resolved.type).module
    if module is not None:
        return module_named(module)
    # `setdefault`: classes of a module are compared by identity, so that there must be one.
    return _MADE.setdefault(resolved.type, DeviceModule(resolved.type))
