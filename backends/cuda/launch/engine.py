"""Engines that compile and launch kernels: on a GPU through CuPy's modules."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tt.core.library import Carried, errors, fork_safe_lock

if TYPE_CHECKING:
    from tt.backends.cuda.launch.programs import ProgramKernel

__all__ = ["CupyEngine", "Engine"]

_BUFFER: Final = 4096
"""The most bytes of arguments that a kernel takes on every GPU."""

_STATIC_SHARED: Final = 48 * 1024
"""The most bytes of shared memory that a kernel gets without asking."""

_MAX_DYNAMIC_SHARED_SIZE: Final = 8
"""The driver's number of the attribute with which a kernel requests more."""


class Engine(Protocol):
    """The interface for launching kernels: CuPy's on a GPU, a host compiler's in tests.

    Attributes
    ----------
    synchronous : bool
        Whether a kernel is done when `launch` returns.
    """

    synchronous: bool

    def launch(
        self,
        kernel: ProgramKernel,
        grid: Sequence[int],
        block: Sequence[int],
        packer: struct.Struct,
        values: Sequence[Any],
        shared: int,
    ) -> None:
        """Launch a kernel on the current device and stream.

        Parameters
        ----------
        kernel : ProgramKernel
            Which one; compiled if it has not been.
        grid, block : sequence of int
            How many blocks, and how many threads in each.
        packer : struct.Struct
            Packs the arguments as a struct of C.
        values : sequence
            The arguments; pointers as addresses.
        shared : int
            Bytes of dynamic shared memory for each block.
        """


class _Arguments(Carried):
    """A thread's buffer of packed arguments, and the list by which the driver finds it."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(_BUFFER)
        self.size = ctypes.c_size_t()
        # CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END
        self.extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self.buffer), 2, ctypes.addressof(self.size), 0
        )
        self.address = ctypes.addressof(self.extra)


class CupyEngine:
    """Loads what NVRTC compiled by CuPy and launches it.

    Parameters
    ----------
    library : callable
        Returns CuPy.
    """

    synchronous = False

    def __init__(self, library: Callable[[], Any]) -> None:
        self._library = library
        self._functions: dict[tuple[int, ProgramKernel], tuple[Any, Any]] = {}
        self._asked: dict[int, int] = {}
        self._arguments = _Arguments()
        self._lock = fork_safe_lock()

    def launch(
        self,
        kernel: ProgramKernel,
        grid: Sequence[int],
        block: Sequence[int],
        packer: struct.Struct,
        values: Sequence[Any],
        shared: int,
    ) -> None:
        """Launch a kernel on CuPy's current device and stream."""
        cuda = self._library().cuda
        # A module is loaded for one device.
        loaded = self._functions.get((cuda.runtime.getDevice(), kernel))
        if loaded is None:
            loaded = self._load(cuda, kernel)
        function = loaded[0].ptr
        # CUDA gives a function more than the static limit only on request, which is made once.
        if shared > _STATIC_SHARED and self._asked.get(function, 0) < shared:
            cuda.driver.funcSetAttribute(function, _MAX_DYNAMIC_SHARED_SIZE, shared)
            self._asked[function] = shared
        arguments = self._arguments
        if packer.size > _BUFFER:
            raise errors.ArgumentError(
                kernel.name, f"its arguments have {packer.size} bytes, and at most {_BUFFER} can be passed"
            )
        # The driver copies the arguments during the call, so one buffer serves all launches of a thread.
        packer.pack_into(arguments.buffer, 0, *values)
        arguments.size.value = packer.size
        x, y, z = (*grid, 1, 1)[:3]
        u, v, w = (*block, 1, 1)[:3]
        stream = cuda.get_current_stream().ptr
        try:
            cuda.driver.launchKernel(function, x, y, z, u, v, w, shared, stream, 0, arguments.address)
        except cuda.driver.CUDADriverError as error:
            raise errors.DeviceError(
                f"{kernel} was not launched: {error}\n  grid {tuple(grid)}, block {tuple(block)}, "
                f"{shared} bytes of shared memory"
            ) from error

    def _load(self, cuda: Any, kernel: ProgramKernel) -> tuple[Any, Any]:
        """Return a kernel's function on the current device, and the module that it lives in."""
        from tt.backends.cuda.compile.cache import cached_kernel

        # Outside of the lock, because compiling takes seconds and another kernel may be waiting.
        device = cuda.runtime.getDevice()
        compiled = cached_kernel(kernel, f"sm_{cuda.Device(device).compute_capability}")
        with self._lock:
            # Another thread may have loaded it while this one compiled.
            loaded = self._functions.get((device, kernel))
            if loaded is None:
                module = cuda.function.Module()
                module.load(compiled.code)
                loaded = (module.get_function(compiled.names[kernel.name]), module)
                self._functions[device, kernel] = loaded
        return loaded
