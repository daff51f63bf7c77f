"""Pinning: page-locked memory of the host, and memory that several streams use; see `device_interface`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.dispatch.registry.accelerators import current_accelerator
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import DeviceError
from tt.core.methods.memory.host_access import values_are_hidden
from tt.core.tensor.tensor import wrap
from tt.core.types.device import to_device

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["is_pinned", "pin_memory", "record_stream"]


def _pinning_backend(device: Any) -> Any:
    """Return the backend whose device copies page-locked memory: by default the accelerator's."""
    accelerator = current_accelerator(check_available=True) if device is None else to_device(device)
    return None if accelerator is None else REGISTRY.backend(accelerator.type)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Return the tensor in page-locked memory of the host, from which the accelerator copies while the host continues.

    Parameters
    ----------
    device : Device or str, optional
        The accelerator; by default this machine's.

    Raises
    ------
    DeviceError
        If the tensor is not on the CPU, or no accelerator with such memory is installed.
    """
    if self.device.type != "cpu" or self.layout.name != "strided":
        raise DeviceError(
            f"pin_memory(): only dense CPU tensors can be pinned, not one on {self.device} ({self.layout})"
        )
    backend = _pinning_backend(device)
    if backend is None:
        raise DeviceError("pin_memory(): no accelerator is available on this machine\n  see: tt plugins list")
    backend.require_available()
    if is_pinned(self, device):
        return self
    cpu_backend = REGISTRY.backend("cpu")
    array = backend.pinned_memory(tuple(self.shape), self.dtype.numpy)
    new = wrap(cpu_backend.from_numpy(array, self.device), cpu_backend.spec(self.dtype))
    return ops.copy_(new, self)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Return whether the tensor is in page-locked memory of the host; asking starts no device.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).is_pinned()
    False
    """
    if (
        self.device.type != "cpu"
        or self.layout.name != "strided"
        or not self.numel()
        or values_are_hidden(self)
    ):
        return False
    backend = _pinning_backend(device)
    return backend is not None and backend.is_pinned(self.data_ptr())


def record_stream(self: Tensor, stream: Any) -> None:
    """Keep the memory of a deleted tensor until a stream has finished its work up to then.

    Needed for a tensor that was made on one stream and is used on another: its memory belongs to the first, which
    might use it again too early.

    Parameters
    ----------
    stream : Stream
        A stream of the tensor's device.

    Raises
    ------
    DeviceError
        When the stream is one of another device type.
    TypeError
        If it is not a stream.
    """
    if not hasattr(stream, "native"):  # streams are a layer above
        raise TypeError(f"record_stream(): argument 'stream' must be a Stream, not {type(stream).__name__}")
    if stream.device.type != self.device.type:
        raise DeviceError(
            f"record_stream(): a stream of {stream.device} does not work on a tensor on {self.device}"
        )
    self._spec.backend.record_stream(self._handle, stream.native)
