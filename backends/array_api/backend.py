"""The backend of an array library that follows the array API standard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.placement import PlacedNamespace
from tt.core.library import (
    Backend,
    Device,
    Kernel,
    KernelTable,
    dtype,
    errors,
    family_modules,
    from_numpy_dtype,
    to_dtype,
    warn_user,
)

__all__ = ["ArrayApiBackend"]

_NEEDED: Final = ("bool", "int64", "float64")
"""Dtypes in which kernels compute, independent of the dtypes of their arguments."""

_OLDEST: Final = "2023.12"
"""The oldest version of the standard that is enough."""

_FUNCTIONS: Final = ("asarray", "astype", "isdtype", "matmul")
"""Functions that tell a library that follows the standard from one that does not."""


class ArrayApiBackend(Backend):
    """Tensors that are arrays of any library with the functions of the array API standard (2023.12 or later).

    Parameters
    ----------
    namespace : module
        The namespace, for instance `array_api_strict`.
    device_type : str
        The device type of the tensors.
    devices : object or sequence, optional
        The library's own object for the device, or one for each device: the first is `device_type:0`, and so on.
        Every array is made on one of them.  By default the library chooses, and there is one device without index.
    mutable : bool
        Whether arrays can be changed; if not, the core functionalises in-place operations.
    has_views : bool
        Whether arrays share memory and have strides; if not, the core tracks views.

    Examples
    --------
    A plugin registers the backend and its kernels:

    >>> from tt.core.library import hookimpl
    >>> @hookimpl
    ... def tt_register(registry):
    ...     import array_api_strict
    ...     backend = ArrayApiBackend(array_api_strict, "strict")
    ...     registry.add_backend(backend)
    ...     registry.add(backend.kernels())
    """

    devices: tuple[Any, ...] = ()
    library = ""
    """The library named for its kernels; by default the namespace's name."""
    capabilities: Mapping[str, bool] = MappingProxyType({})
    """Capabilities that overrule those that the library lists.  A lazy library whose `nonzero` returns arrays of an
    unknown shape has {"data-dependent shapes": False}; then only the number of elements is computed."""

    def __init__(
        self,
        namespace: Any,
        device_type: str,
        devices: Any = None,
        *,
        mutable: bool = False,
        has_views: bool = False,
    ) -> None:
        super().__init__()
        self.device_type = device_type
        self.mutable, self.has_views = mutable, has_views
        listed = [] if devices is None else list(devices) if isinstance(devices, list | tuple) else [devices]
        if devices is not None and not listed:
            raise errors.ValueRangeError(f"the backend {device_type!r} was given an empty list of devices")
        self.devices = tuple(listed)
        self.numbered = len(listed) > 1
        lacking = [name for name in _FUNCTIONS if not hasattr(namespace, name)]
        if lacking:
            named = getattr(namespace, "__name__", repr(namespace))
            raise errors.ArgumentError(
                "ArrayApiBackend",
                f"{named} has no {', '.join(lacking)}: the functions of the array API standard are needed",
            )
        version = getattr(namespace, "__array_api_version__", _OLDEST)
        # Versions are dates, which compare as strings.
        if version < _OLDEST:
            raise errors.ValueRangeError(
                f"the array namespace of device {device_type!r} follows version {version} of the standard, and the "
                f"kernels need {_OLDEST} or later\n  try: a newer version of the library"
            )
        self.xp = PlacedNamespace(namespace, self._native_device) if listed else namespace
        self.handle_type = type(self.xp.asarray(0))
        self._native: dict[str, Any] = {}
        lacks = [name for name in _NEEDED if not self.has_dtype(name)]
        if lacks:
            raise errors.DtypeError(
                f"the kernels over the array API compute with {', '.join(_NEEDED)}, and the arrays of device "
                f"{device_type!r} have no {', '.join(lacks)}\n  try: a setting of the library that adds them"
            )

    # --- devices -----------------------------------------------------------------------------------------------

    def device_count(self) -> int:
        """Return how many devices the backend was given, at least one."""
        return max(len(self.devices), 1)

    def _native_device(self, device: Device | None = None) -> Any:
        """Return the library's object for a device, by default the current one; None lets the library choose."""
        if not self.devices:
            return None
        return self.devices[self.current_device() if device is None or device.index is None else device.index]

    def copy_to(self, handle: Any, device: Device, *, non_blocking: bool = False) -> Any:
        """Return a copy of an array on a device of this backend."""
        target = self._native_device(device)
        if target is None or handle.device == target:
            return self.clone(handle)
        return handle.to_device(target)

    @cached_property
    def kernel_namespace(self) -> Namespace:
        """The namespace that kernels get as their first argument."""
        return Namespace(self.xp, self)

    def kernels(self, without: Sequence[str] = ()) -> KernelTable:
        """Return the kernels that the namespace can serve.

        Parameters
        ----------
        without : sequence of str
            Operators to leave out, because the caller has kernels of its own for them.
        """
        table = KernelTable(device=self.device_type)
        for module in family_modules("tt.backends.array_api"):
            kernels = self.kernels_of(module)
            table.kernels += [kernel for kernel in kernels if kernel.op not in without]
        return table

    def kernels_of(self, module: str) -> list[Kernel]:
        """Return the kernels of one family of `tt.backends.array_api` that the namespace can serve."""
        kernels: list[Kernel] = import_module(module).table.bind(self.kernel_namespace)
        if module.rpartition(".")[2] in ("decomposition", "fft") and self.has_views:
            # Libraries return matrices and transforms in the fastest memory order.
            return [_in_rows(kernel, self.kernel_namespace) for kernel in kernels]
        return kernels

    # --- dtypes ------------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the namespace's object for a dtype.

        Raises
        ------
        DtypeError
            When the library lacks the dtype.
        """
        native = self._native.get(dtype.name)
        if native is None:
            native = getattr(self.xp, dtype.name, None)
            # A library may have a dtype by name and hardly a function for it, so its own list counts.
            listed = (
                dtype.name in ("float16", "bfloat16") or self._listed is None or dtype.name in self._listed
            )
            if native is None or not listed:
                raise errors.DtypeError(
                    f"the arrays of device {self.device_type!r} have no dtype {dtype.name}"
                )
            self._native[dtype.name] = native
        return native

    @cached_property
    def _listed(self) -> Mapping[str, Any] | None:
        """The standard dtypes of the library on the device, if it lists them."""
        inspect = getattr(self.xp, "__array_namespace_info__", None)
        if inspect is None:
            return None
        try:
            dtypes: Mapping[str, Any] = inspect().dtypes(device=self._native_device())
        except TypeError:  # ndonnx lacks the default of the argument `kind`
            dtypes = inspect().dtypes(device=self._native_device(), kind=None)
        return dtypes

    def has_dtype(self, name: str) -> bool:
        """Return whether the library has a dtype."""
        try:
            self.native_dtype(to_dtype(name))
        except errors.DtypeError:
            return False
        return True

    def is_kind(self, native_dtype: Any, kind: str | tuple[str, ...]) -> bool:
        """Return whether a dtype is of a kind of the standard ("bool", "integral", "complex floating", ...)."""
        return bool(self.xp.isdtype(native_dtype, kind))

    # --- handles -----------------------------------------------------------------------------------------------

    def normalise(self, result: Any) -> Any:
        """Turn a number, or an array of another class of the library, into an array."""
        return self.xp.asarray(result)

    def number(self, value: Any, native_dtype: Any) -> Any:
        """Return a Python number in a dtype, as an operand with arrays: an array without dimensions, or a scalar."""
        return self.xp.asarray(value, dtype=native_dtype)

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        """Return the array in another dtype; of complex numbers the real part, if the dtype is real."""
        if self.is_kind(handle.dtype, "complex floating"):
            if self.is_kind(native_dtype, "bool"):  # a conversion that the standard does not have
                return handle != self.xp.zeros_like(handle)
            if not self.is_kind(native_dtype, "complex floating"):
                warn_user("complex numbers become real ones, and their imaginary parts are lost")
                handle = self.xp.real(handle)
        return self.xp.astype(handle, native_dtype)

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Return a new array with any content."""
        return self.xp.empty(tuple(shape), dtype=native_dtype)

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> Any:
        """Return an array with the content of one on the host."""
        native = self.native_dtype(from_numpy_dtype(array.dtype))
        with self.guard(device):
            # np.ascontiguousarray gives an array without dimensions one; reshape takes it back. A copy,
            # since the host's memory may change.
            return self.xp.asarray(np.ascontiguousarray(array).reshape(array.shape), dtype=native, copy=True)

    def to_numpy(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the content on the host."""
        with np.errstate(all="ignore"):  # a lazy library computes now
            return self._read(handle)

    def _read(self, handle: Any) -> np.ndarray[Any, Any]:
        try:
            # Without a copy where the library's memory is the host's.
            return np.from_dlpack(handle)
        except (AttributeError, BufferError, TypeError, ValueError, RuntimeError):
            pass  # memory that the host cannot reach, or a dtype that NumPy has only through ml_dtypes
        try:
            array = np.asarray(handle)
        except (TypeError, ValueError, RuntimeError):
            # Arrays of array_api_strict's other devices refuse NumPy; the default device is the host.
            home = self.xp.__array_namespace_info__().default_device()
            return np.from_dlpack(handle.to_device(home))
        if array.dtype == object:  # NumPy found no numbers
            raise errors.ExportError(
                f"NumPy cannot read the arrays of device {self.device_type!r}, of the class {type(handle).__name__}\n"
                "  try: override `to_numpy` of the backend"
            )
        return array

    def item(self, handle: Any) -> bool | int | float | complex:
        """Return the only element as a Python number, as the library reads it: no array comes to the host."""
        dtype = handle.dtype
        kinds = {"bool": bool, "integral": int, "complex floating": complex}
        read = next((kind for name, kind in kinds.items() if self.is_kind(dtype, name)), float)
        with np.errstate(all="ignore"):
            value: bool | int | float | complex = read(self.reshape(handle, ()))
        return value

    def copy_into(self, target: Any, source: Any) -> None:
        """Write the source, cast and broadcast, into the target."""
        if not self.mutable:
            raise errors.InplaceError(f"the arrays of device {self.device_type!r} cannot be changed")
        target[...] = source if source.dtype == target.dtype else self.cast(source, target.dtype)

    def clone(self, handle: Any) -> Any:
        """Return a copy that shares no memory."""
        return self.xp.asarray(handle, copy=True)

    def dlpack_device(self, handle: Any) -> tuple[int, int] | None:
        """Return the device of an array in DLPack's terms, as reported by the library."""
        if not hasattr(handle, "__dlpack_device__"):
            return None
        kind, index = handle.__dlpack_device__()
        return int(kind), int(index)

    def to_dlpack(self, handle: Any, **options: Any) -> Any:
        """Return a DLPack capsule over the memory of an array."""
        return handle.__dlpack__(**options)

    def ordered_as(self, handle: Any, like: Any) -> Any:
        """Return what `where` made of one array with the order in memory that pointwise functions give.

        Libraries whose `where` gives it, or whose arrays have no strides, have nothing to do.
        """
        return handle

    # --- what functionalisation needs --------------------------------------------------------------------------

    def take(self, flat: Any, index: np.ndarray[Any, Any]) -> Any:
        """Return the elements of a one-dimensional array at the positions of a host array."""
        # The index must be on the device of the array, which need not be the current one.
        options = {"device": flat.device} if self.devices else {}
        return self.xp.take(flat, self.xp.asarray(index, **options), axis=0)

    def concat(self, handles: Sequence[Any]) -> Any:
        """Return one-dimensional arrays laid end to end."""
        return self.xp.concat(list(handles), axis=0)

    def reshape(self, handle: Any, shape: Sequence[int]) -> Any:
        """Return the elements, in row-major order, in another shape."""
        return self.xp.reshape(handle, tuple(shape))

    # --- memory ------------------------------------------------------------------------------------------------

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of an array in bytes."""
        # The standard has no size of a dtype, but libraries print its name, some behind their own:
        # torch.float32.
        itemsize = np.dtype(str(owner.dtype).rpartition(".")[2]).itemsize
        return int(math.prod(owner.shape)) * itemsize


def _in_rows(kernel: Kernel, xp: Namespace) -> Kernel:
    """Return a kernel whose results are in row-major order."""
    function = kernel.function

    @wraps(function)
    def ordered(*args: Any) -> Any:
        result = function(*args)
        return tuple(map(xp.in_rows, result)) if isinstance(result, tuple | list) else xp.in_rows(result)

    return replace(kernel, function=ordered)
