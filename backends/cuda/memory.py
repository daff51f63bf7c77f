"""CuPy's memory as the handle needs it.  Importing this module imports nothing of CuPy; using it does."""

from __future__ import annotations

from types import ModuleType
from typing import Any

__all__ = ["CupyMemory", "cupy"]


def cupy() -> ModuleType:
    """Return CuPy.

    Raises
    ------
    DeviceError
        When CUDA cannot be used here, with the reason.
    """
    from tt.backends.cuda.availability import reason
    from tt.core.library import errors

    problem = reason()
    if problem:
        raise errors.DeviceError(f"device 'cuda' is not available: {problem}\n  see: tt plugins list")
    import cupy

    return cupy  # type: ignore[no-any-return]


class CupyMemory:
    """Memory from CuPy's pool."""

    def allocate(self, nbytes: int) -> Any:
        """Return a memory pointer that owns new memory of the current device."""
        return cupy().cuda.alloc(nbytes).mem

    def nbytes(self, owner: Any) -> int:
        """Return the size of the memory."""
        return int(owner.size)

    def address(self, owner: Any) -> int:
        """Return the device address."""
        return int(owner.ptr)

    def array(
        self, owner: Any, shape: tuple[int, ...], dtype: Any, byte_strides: tuple[int, ...], byte_offset: int
    ) -> Any:
        """Return a CuPy array over the memory."""
        module = cupy()
        pointer = module.cuda.MemoryPointer(owner, byte_offset)
        return module.ndarray(shape, dtype=dtype, memptr=pointer, strides=byte_strides)

    def describe(self, array: Any) -> tuple[Any, int]:
        """Return the owner and the byte offset of a CuPy array."""
        return array.data.mem, int(array.data.ptr - array.data.mem.ptr)
