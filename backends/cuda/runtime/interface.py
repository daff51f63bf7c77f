"""Parts of `tt.cuda` beyond the device interface: the allocator, hidden synchronisation, other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.backends.cuda.runtime.synchronisation import MODES
from tt.core.library import REGISTRY, Device, Generator, errors, warn_user

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = [
    "backend",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "default_generators",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "ipc_collect",
    "is_bf16_supported",
    "is_tf32_supported",
    "place",
    "set_sync_debug_mode",
]


def backend(usable: bool = True) -> CudaBackend:
    """Return the backend of CUDA.

    Parameters
    ----------
    usable : bool
        Raise if no device can be used.

    Raises
    ------
    DeviceError
        When CUDA cannot be used here, with the reason.
    """
    registered: Any = REGISTRY.backend("cuda")
    if usable:
        registered.require_available()
    backend: CudaBackend = registered
    return backend


def place(device: Device | str | int | None = None) -> Device:
    """Return the CUDA device that is meant, by default the current one.

    Raises
    ------
    DeviceError
        When it is one of another type, or does not exist.
    """
    cuda = backend()
    if device is None:
        return cuda.default_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return cuda.place(Device("cuda", device))
    requested = Device(device)
    if requested.type != "cuda":
        raise errors.DeviceError(f"Expected a cuda device, but got: {requested}")
    return cuda.place(requested)


# --- hidden synchronisation --------------------------------------------------------------------------------------


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set the effect of operations that make the host wait for the device.

    Parameters
    ----------
    debug_mode : int or str
        "default" or 0: nothing, "warn" or 1: a warning, "error" or 2: a `DeviceError`.

    Raises
    ------
    ValueRangeError
        For anything else.

    Examples
    --------
    >>> import tt
    >>> tt.cuda.set_sync_debug_mode("warn")
    >>> tt.cuda.get_sync_debug_mode()
    1
    >>> tt.cuda.set_sync_debug_mode(0)
    """
    if isinstance(debug_mode, str):
        if debug_mode not in MODES:
            raise errors.ValueRangeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, not {debug_mode!r}"
            )
        debug_mode = MODES.index(debug_mode)
    if isinstance(debug_mode, bool) or debug_mode not in (0, 1, 2):
        raise errors.ValueRangeError(f"invalid value of debug_mode, expected 0, 1 or 2, not {debug_mode!r}")
    backend(usable=False).sync_debug.mode = debug_mode


def get_sync_debug_mode() -> int:
    """Return what `set_sync_debug_mode` said, as a number."""
    return backend(usable=False).sync_debug.mode


# --- the allocator -----------------------------------------------------------------------------------------------


def caching_allocator_alloc(size: int, device: Device | str | int | None = None, stream: Any = None) -> int:
    """Return the address of new memory for another library; give it back with `caching_allocator_delete`.

    Parameters
    ----------
    size : int
        In bytes.
    device : Device, str or int, optional
        By default the current one.
    stream : Stream or int, optional
        In whose order it is used; by default the current one.

    Raises
    ------
    OutOfMemoryError
        When there is not as much.
    """
    cuda, home = backend(), place(device)
    # The pool is that of the current device.
    with cuda.on(home.index or 0):
        if stream is None:
            memory = cuda.memory.allocate(size)
        else:
            native = cuda.external_stream(stream, home) if isinstance(stream, int) else stream.native
            # The pool keeps a list of free blocks for each stream, and takes that of the current one.
            with native.native:
                memory = cuda.memory.allocate(size)
        # Only the address is given out, so the object that frees the memory at its end is kept here.
        cuda.lent[memory.ptr] = memory
    return int(memory.ptr)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give memory of `caching_allocator_alloc` back.

    Raises
    ------
    ValueRangeError
        When the address is none of it.
    """
    if backend().lent.pop(mem_ptr, None) is None:
        raise errors.ValueRangeError(
            f"caching_allocator_delete(): {mem_ptr:#x} is not an address that caching_allocator_alloc returned"
        )


def ipc_collect() -> None:
    """Give up memory that was sent to other processes and that none of them uses any more."""
    backend(usable=False).sent.collect()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether the current device computes in bfloat16: from compute capability 8.0 on, or by emulation."""
    if including_emulation:
        return backend(usable=False).available() is None
    return int(backend().properties().details.get("major", 0)) >= 8


def is_tf32_supported() -> bool:
    """Return whether the current device multiplies in TF32: from compute capability 8.0 on."""
    return is_bf16_supported(including_emulation=False)


def default_generators() -> tuple[Generator, ...]:
    """Return the generator of random numbers, once for each device: the devices share one."""
    cuda = backend(usable=False)
    return (cuda.generator(),) * cuda.device_count()


def get_stream_from_external(data_ptr: int, device: Device | str | int | None = None) -> Any:
    """Return a stream that another library made, given its address; the library has to keep it.

    Raises
    ------
    DeviceError
        When CUDA cannot be used, or the device does not exist.
    """
    import tt.cuda

    return tt.cuda.ExternalStream(data_ptr, device)


def warn_of_nothing_recorded() -> None:
    """Warn that a picture has no events."""
    warn_user("no events were recorded; call tt.cuda.memory._record_memory_history() first")
