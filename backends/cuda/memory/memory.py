"""CuPy's memory as the handle needs it.  Importing this module imports nothing of CuPy; using it does."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from tt.backends.cuda.memory.allocator import Allocation, Allocator
from tt.core.library import errors, fork_safe_lock

__all__ = ["CupyMemory", "cupy"]


@lru_cache(maxsize=1)
def cupy() -> ModuleType:
    """Return CuPy; only the first call checks whether CUDA can be used.

    Raises
    ------
    DeviceError
        When CUDA cannot be used here, with the reason.
    """
    from tt.backends.cuda.runtime.availability import import_cupy

    return import_cupy()


class CupyMemory:
    """Memory of tt's allocator, which becomes CuPy's own when CuPy is first used.

    Parameters
    ----------
    load : callable
        Imports and returns CuPy.
    """

    def __init__(self, load: Callable[[], Any] = cupy) -> None:
        self._load, self._opening = load, fork_safe_lock()
        self._module: Any = None
        self._allocator: Allocator | None = None
        self.source: Any = None

    # --- CuPy and the allocator ----------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether CuPy was used."""
        return self._allocator is not None

    def library(self) -> Any:
        """Return CuPy, with tt's allocator in it."""
        module = self._module
        return self._open()[0] if module is None else module

    @property
    def allocator(self) -> Allocator:
        """The allocator."""
        allocator = self._allocator
        return self._open()[1] if allocator is None else allocator

    def _open(self) -> tuple[Any, Allocator]:
        module = self._load()
        with self._opening:
            allocator = self._allocator
            if allocator is None:
                allocator = self._allocator = Allocator(module, self.source)
                self._module = module
        return module, allocator

    def plug(self, source: Any) -> None:
        """Choose an allocator for all memory; see `tt.cuda.memory.change_current_allocator`.

        Raises
        ------
        DeviceError
            When memory was allocated already.
        """
        if self.is_open:
            raise errors.DeviceError(
                "change_current_allocator(): CUDA memory was used already, and cannot change its allocator\n"
                "  try: choose the allocator before the first CUDA tensor"
            )
        self.source = source

    # --- memory --------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Any:
        """Return an object that owns new memory of the current device."""
        # `or` spares the call of the property, at every allocation.
        return (self._allocator or self.allocator).allocate(nbytes)

    def nbytes(self, owner: Any) -> int:
        """Return the size of the memory."""
        size: int = owner.size
        return size

    def address(self, owner: Any) -> int:
        """Return the device address."""
        ptr: int = owner.ptr
        return ptr

    def array(
        self,
        owner: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        byte_strides: tuple[int, ...],
        byte_offset: int,
    ) -> Any:
        """Return a CuPy array over the memory."""
        module = self._module or self.library()
        cuda = module.cuda
        if type(owner) is Allocation:
            # Created each time, because a stored one and the allocation would keep each other alive.
            owner = cuda.UnownedMemory(owner.ptr, owner.size, owner, owner.device)
        pointer = cuda.MemoryPointer(owner, byte_offset)
        return module.ndarray(shape, dtype=dtype, memptr=pointer, strides=byte_strides)

    def describe(self, array: Any) -> tuple[Any, int]:
        """Return the owner and the byte offset of a CuPy array."""
        pointer = array.data
        memory = pointer.mem
        owner = getattr(memory, "_owner", None)
        allocation = owner if type(owner) is Allocation else memory
        return allocation, pointer.ptr - allocation.ptr
