"""The backend of an array library that follows the array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from tt.backends.array_api.kit import Kit
from tt.core.library import Backend, Device, KernelTable, dtype, errors

__all__ = ["ArrayApiBackend"]

FAMILIES: Final = (
    "pointwise",
    "binary",
    "reduction",
    "shaping",
    "indexing",
    "sorting",
    "linalg",
    "decomposition",
    "creation",
    "random",
    "fft",
    "copies",
    "unary",
    "activation",
)


class ArrayApiBackend(Backend):
    """Tensors that are arrays of any library with the functions of the array API standard (2024.12).

    Parameters
    ----------
    namespace : module
        The namespace, for instance `array_api_strict`.
    device_type : str
        The device type of the tensors.
    mutable : bool
        Whether arrays can be changed; if not, the core functionalises in-place operations.
    has_views : bool
        Whether arrays share memory and tell their strides; if not, the core keeps track of views.

    Examples
    --------
    A plugin hands over the backend and its kernels:

    >>> from tt.core.library import hookimpl
    >>> @hookimpl
    ... def tt_register(registry):
    ...     import array_api_strict
    ...     backend = ArrayApiBackend(array_api_strict, "strict")
    ...     registry.add_backend(backend)
    ...     registry.add(backend.kernels())
    """

    def __init__(
        self, namespace: Any, device_type: str, *, mutable: bool = False, has_views: bool = False
    ) -> None:
        super().__init__()
        self.xp, self.device_type = namespace, device_type
        self.mutable, self.has_views = mutable, has_views
        self.handle_type = type(namespace.asarray(0))
        self._native: dict[str, Any] = {}

    def kernels(self, without: Sequence[str] = ()) -> KernelTable:
        """Return the kernels that the namespace can serve.

        Parameters
        ----------
        without : sequence of str
            Operators to leave out, because the caller has kernels of its own for them.
        """
        table = KernelTable(device=self.device_type)
        kit = Kit(self.xp, self, table)
        for family in FAMILIES:
            import_module(f"tt.backends.array_api.{family}").add_kernels(kit)
        table.kernels = [kernel for kernel in table.kernels if kernel.op not in without]
        return table

    # --- dtypes ------------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the namespace's object for a dtype.

        Raises
        ------
        DtypeError
            When the library lacks the dtype.
        """
        found = self._native.get(dtype.name)
        if found is None:
            found = getattr(self.xp, dtype.name, None)
            if found is None:
                raise errors.DtypeError(
                    f"the arrays of device {self.device_type!r} have no dtype {dtype.name}"
                )
            self._native[dtype.name] = found
        return found

    def is_kind(self, native_dtype: Any, kind: str | tuple[str, ...]) -> bool:
        """Tell whether a dtype is of a kind of the standard ("bool", "integral", "complex floating", ...)."""
        return bool(self.xp.isdtype(native_dtype, kind))

    # --- handles -----------------------------------------------------------------------------------------------

    def normalise(self, result: Any) -> Any:
        """Turn a number, or an array of another class of the library, into an array."""
        return self.xp.asarray(result)

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        """Return the array in another dtype; of complex numbers the real part, if the dtype is real."""
        complex_from = self.is_kind(handle.dtype, "complex floating")
        if complex_from and not self.is_kind(native_dtype, ("complex floating", "bool")):
            handle = self.xp.real(handle)
        return self.xp.astype(handle, native_dtype)

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Return a new array with any content."""
        return self.xp.empty(tuple(shape), dtype=native_dtype)

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> Any:
        """Return an array with the content of one on the host."""
        from tt.core.library import from_numpy_dtype

        native = self.native_dtype(from_numpy_dtype(array.dtype))
        return self.xp.asarray(array, dtype=native, copy=True)

    def to_numpy(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the content on the host."""
        try:
            return np.from_dlpack(handle)
        except (AttributeError, BufferError, TypeError, RuntimeError):
            return np.asarray(handle)

    def copy_into(self, target: Any, source: Any) -> None:
        """Write the source, cast and broadcast, into the target."""
        if not self.mutable:
            raise errors.InplaceError(f"the arrays of device {self.device_type!r} cannot be changed")
        target[...] = source if source.dtype == target.dtype else self.cast(source, target.dtype)

    def clone(self, handle: Any) -> Any:
        """Return a copy that shares no memory."""
        return self.xp.asarray(handle, copy=True)

    # --- what functionalisation needs --------------------------------------------------------------------------

    def take(self, flat: Any, index: np.ndarray[Any, Any]) -> Any:
        """Return the elements of a one-dimensional array at the positions of a host array."""
        return self.xp.take(flat, self.xp.asarray(index), axis=0)

    def concat(self, handles: Sequence[Any]) -> Any:
        """Return one-dimensional arrays laid end to end."""
        return self.xp.concat(list(handles), axis=0)

    def reshape(self, handle: Any, shape: Sequence[int]) -> Any:
        """Return the elements, in row-major order, in another shape."""
        return self.xp.reshape(handle, tuple(shape))

    # --- memory ------------------------------------------------------------------------------------------------

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of an array in bytes."""
        itemsize = np.dtype(str(owner.dtype).rpartition(".")[2]).itemsize
        return int(math.prod(owner.shape)) * itemsize
