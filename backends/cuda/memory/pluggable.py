"""Custom allocators that replace CuPy's pool."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tt.backends.cuda.memory.memory import CupyMemory
from tt.backends.cuda.runtime.interface import backend
from tt.core.library import errors

__all__ = ["CUDAPluggableAllocator", "change_current_allocator", "get_allocator_backend"]


class CUDAPluggableAllocator:
    """Functions that allocate and free the memory of CUDA devices, from a shared library.

    They are called for every allocation, because no pool is above them; statistics are kept as usual.

    Parameters
    ----------
    path_to_so_file : str
        The shared library.
    alloc_fn_name : str
        `void* alloc(ssize_t size, int device, cudaStream_t stream)`
    free_fn_name : str
        `void free(void* ptr, ssize_t size, int device, cudaStream_t stream)`

    Raises
    ------
    DeviceError
        When the library or a function cannot be found.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        try:
            library = ctypes.CDLL(path_to_so_file)
            alloc, free = getattr(library, alloc_fn_name), getattr(library, free_fn_name)
        except (OSError, AttributeError) as error:
            raise errors.DeviceError(f"CUDAPluggableAllocator(): {error}") from error
        # Without these ctypes passes and returns 32-bit integers, which would cut addresses.
        alloc.argtypes, alloc.restype = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
        free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        free.restype = None
        self._alloc, self._free = alloc, free

    @classmethod
    def from_functions(
        cls, alloc: Callable[[int, int, int], int], free: Callable[[int, int, int, int], None]
    ) -> CUDAPluggableAllocator:
        """Return an allocator of Python functions: `alloc(size, device, stream)`, `free(ptr, size, device, stream)`."""
        new = cls.__new__(cls)
        new._alloc, new._free = alloc, free
        return new

    def alloc(self, size: int, device: int, stream: int) -> int:
        """Return the address of new memory, or 0 if there is none."""
        # ctypes gives None for a null pointer, which means that there is no memory.
        return int(self._alloc(size, device, stream) or 0)

    def free(self, ptr: int, size: int, device: int, stream: int) -> None:
        """Free memory."""
        self._free(ptr, size, device, stream)


def change_current_allocator(allocator: CUDAPluggableAllocator) -> None:
    """Let all CUDA memory come from an allocator; to be called before CUDA is used.

    Raises
    ------
    ArgumentError
        When it is none.
    DeviceError
        When CUDA memory was used already.
    """
    if not (hasattr(allocator, "alloc") and hasattr(allocator, "free")):
        raise errors.ArgumentError(
            "change_current_allocator",
            f"argument 'allocator' must be CUDAPluggableAllocator, not {type(allocator).__name__}",
        )
    _memory().plug(allocator)


def get_allocator_backend() -> str:
    """Return "native", or "pluggable" where `change_current_allocator` chose another."""
    return "native" if _memory().source is None else "pluggable"


def _memory() -> Any:
    memory = backend(usable=False).memory
    if not isinstance(memory, CupyMemory):
        raise errors.DeviceError("the memory of this backend of CUDA has no allocator that could be changed")
    return memory
