"""Backend: the core's interface to a device (and layout) and its native arrays.

Note [Tensors made of parts]
----------------------------
The tensors of a layout that is not strided consist of strided arrays: coordinates and values, say.  A backend that
takes its handles apart and puts them together again needs nothing else for its tensors to be printed, pickled, moved
to another device, described to fake tensors and measured: the core does that part by part.  `ComposedBackend` leaves
what concerns the device and the arrays of mixed calls to the backend of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tt.core.errors import DeviceError, DtypeError, ExportError, LayoutError
from tt.core.forks import fork_safe_properties
from tt.core.tensor.base import TensorSpec
from tt.core.tensor.device_interface import DeviceInterface
from tt.core.types.device import Device
from tt.core.types.dtype import ALL_DTYPES, bfloat16, float16, to_dtype
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.keys import KEYS
from tt.core.types.layout import register_layout
from tt.core.types.memory_format import order_of_strides

__all__ = ["Backend", "contiguous_strides", "dtype_of", "is_non_overlapping_and_dense"]


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the row-major strides of a shape, in elements.

    Examples
    --------
    >>> from tt.core.tensor.backend import contiguous_strides
    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        # A size of zero counts as one, as in PyTorch: the strides of empty tensors show in `stride()`.
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_non_overlapping_and_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether the elements fill their memory exactly once, in some order of the dimensions."""
    if 0 in shape:
        return True
    step = 1
    # The stride of a dimension of size 1 is never used, whatever it is.
    for stride, size in sorted(
        (stride, size) for size, stride in zip(shape, strides, strict=True) if size != 1
    ):
        if stride != step:
            return False
        step *= size
    return True


@fork_safe_properties
class Backend(DeviceInterface):
    """The description of a device and its native arrays ("handles") for the core.

    A backend author subclasses this and overrides what differs; methods that raise here must be overridden.  Every
    handle has `.shape` and `.ndim`.  The methods that concern the device rather than its arrays are those of
    `DeviceInterface`.

    Attributes
    ----------
    device_type : str
        For instance "cpu".
    layout : str
        For instance "strided".
    handle_type : type
        The class of handles; other results of kernels pass through `normalise`.
    mutable : bool
        Whether handles can be changed.  If not, the core functionalises in-place operations.
    has_views : bool
        Whether a handle can share the memory of another.  If not, the core keeps track of views.
    silence_numpy : bool
        Whether kernels run with NumPy's floating-point warnings off.
    fallback : str or None
        The fallback device type for calls that the backend does not serve, if the user's policy allows it.
    prefer_fallback : bool
        Whether the fallback goes before composites.
    strided_memory : bool
        Whether the tensors of another layout have one memory with strides, as strided ones do.
    strided_fallback : bool
        Whether calls that the backend of a layout does not serve may run on strided tensors, if the user's policy for
        the layout allows it.
    hints : mapping
        Operator name -> an alternative, for error messages; "*" for any.
    layer_bits : int
        Bits of further layers that hold every tensor of the backend.
    autocast_dtypes : tuple of dtype
        The precisions to which autocast lowers, the usual one first; none: autocast cannot be enabled.
    module : str or None
        The module that `tt.get_device_module` returns; None: one made from the device interface.

    Examples
    --------
    >>> from tt.library import REGISTRY, Backend
    >>> cpu = REGISTRY.backend("cpu")
    >>> isinstance(cpu, Backend), cpu.device_type, cpu.layout
    (True, 'cpu', 'strided')
    """

    device_type: str = ""
    layout: str = "strided"
    handle_type: type = object
    mutable: bool = True
    has_views: bool = True
    silence_numpy: bool = True
    fallback: str | None = None
    prefer_fallback: bool = False
    strided_memory: bool = False
    strided_fallback: bool = False
    hints: Mapping[str, str] = {}
    layer_bits: int = 0
    autocast_dtypes: tuple[Dtype, ...] = (float16, bfloat16)
    module: str | None = None

    def __init__(self) -> None:
        self._specs: dict[tuple[Dtype, Device], TensorSpec] = {}

    # --- identity ----------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> int:
        """The level-1 bits of this backend's tensors."""
        bits = KEYS.bit("device", self.device_type) | KEYS.bit("layout", self.layout) | self.layer_bits
        if self.functionalised:
            bits |= KEYS.bit("layer", "functionalise")
        # With one device of the type, nothing has to be placed.
        if self.device_count() > 1:
            bits |= KEYS.bit("layer", "placement")
        return bits

    @property
    def functionalised(self) -> bool:
        """Whether the core keeps track of changes and views, because the arrays cannot change or share memory."""
        return self.layout == "strided" and not (self.mutable and self.has_views)

    def spec(self, dtype: Dtype, device: Device | None = None) -> TensorSpec:
        """Return the (one) spec of tensors of a dtype on a device of this backend."""
        device = self.default_device() if device is None else device
        spec = self._specs.get((dtype, device))
        if spec is None:
            if dtype.kind == "quantized" and self.native_dtype(dtype) is not dtype:
                raise DtypeError(
                    f"a tensor of the layout {self.layout} has no numbers of {dtype.name}, which mean nothing without "
                    "their scale\n  try: tt.quantize_per_tensor(x, scale, zero_point, dtype)"
                )
            resolved = self.place(device)
            spec = self._specs.get((dtype, resolved))
            if spec is None:
                spec = TensorSpec(dtype, resolved, register_layout(self.layout), self, self.keys)
            self._specs[dtype, resolved] = spec
            # The bare type means the current device, which may change before the next call.
            if device.index is not None or not self._shows_index():
                self._specs[dtype, device] = spec
        return spec

    def takes_composite(self, op: str) -> bool:
        """Return whether the composite of an operator, by its qualified name, is right for these tensors.

        It is for any layout with sizes that are plain numbers; one with ragged sizes names those that it allows.
        """
        return True

    def generic_kernel(self, operator: Any) -> Callable[..., Any] | None:
        """Return a kernel that serves the operator without having been registered, if there is one.

        By default, where arrays cannot change or share memory: copies, views and plain factories, made of the methods
        below.
        """
        if not self.functionalised:
            return None
        # Made of operators, which are above backends.
        from tt.core.layers.derived_kernels import derived_kernel

        return derived_kernel(self, operator)

    # --- handles -----------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: Dtype) -> Any:
        """Return the backend's own object for a dtype."""
        return dtype.numpy

    def dtype_of(self, handle: Any) -> Any:
        """Return the backend's own dtype of a handle, comparable to `native_dtype`."""
        return handle.dtype

    def normalise(self, result: Any) -> Any:
        """Turn a kernel's result that is not a handle (a NumPy scalar) into one."""
        raise TypeError(f"the {self.device_type} backend cannot make a handle of {type(result).__name__}")

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        """Return the handle converted to one of the backend's own dtypes."""
        raise NotImplementedError(f"{type(self).__name__}.cast")

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Return a new handle with any content."""
        raise NotImplementedError(f"{type(self).__name__}.empty")

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> Any:
        """Return a handle with the content of a NumPy array; it may share the array's memory."""
        raise NotImplementedError(f"{type(self).__name__}.from_numpy")

    def to_numpy(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the content as a NumPy array; it may share the handle's memory."""
        raise NotImplementedError(f"{type(self).__name__}.to_numpy")

    def lost_by_export(self, handle: Any) -> str:
        """Return what an array of another library would lose of a tensor, for an error; "" if nothing is lost."""
        return ""

    def tensor_with_storage(self, handle: Any) -> Any:
        """Return the tensor inside whose storage a tensor shows as its own, or None: there is none inside."""
        return None

    def item(self, handle: Any) -> bool | int | float | complex:
        """Return the only element as a Python number."""
        value: bool | int | float | complex = self.to_numpy(handle).item()
        return value

    def copy_into(self, target: Any, source: Any) -> None:
        """Write `source`, cast and broadcast, into `target`."""
        raise NotImplementedError(f"{type(self).__name__}.copy_into")

    def clone(self, handle: Any) -> Any:
        """Return a copy that shares no memory."""
        raise NotImplementedError(f"{type(self).__name__}.clone")

    def copy_to(self, handle: Any, device: Device, *, non_blocking: bool = False) -> Any:
        """Return a copy on a device of this backend; through the host unless overridden.

        With `non_blocking` the copy may still run when the call returns, where the device can do that.
        """
        return self.from_numpy(self.to_numpy(handle), device)

    def from_host(self, array: np.ndarray[Any, Any], device: Device, non_blocking: bool = False) -> Any:
        """Return a handle on a device with the content of a NumPy array, whose memory it does not share.

        With `non_blocking` the array may be read while the call returns, where the device can do that.
        """
        return self.from_numpy(array.copy(), device)

    def to_host(self, handle: Any, non_blocking: bool = False) -> np.ndarray[Any, Any]:
        """Return the content as a NumPy array that shares no memory with the handle.

        With `non_blocking` it may be written while the call returns, where the device can do that.
        """
        return self.to_numpy(handle).copy()

    def copy_from_host(self, target: Any, array: np.ndarray[Any, Any], non_blocking: bool = False) -> bool:
        """Write a NumPy array straight into a handle; False where that cannot be done, and nothing was done."""
        return False

    def copy_to_host(self, source: Any, array: np.ndarray[Any, Any], non_blocking: bool = False) -> bool:
        """Write a handle straight into a NumPy array; False where that cannot be done, and nothing was done."""
        return False

    def device_of(self, handle: Any) -> Device | None:
        """Return the device of a handle, or None where handles do not record it."""
        return None

    def record_stream(self, handle: Any, stream: Any) -> None:
        """Keep the memory of a handle, when it is freed, until a stream has finished the work queued by then."""
        return None

    def dlpack_device(self, handle: Any) -> tuple[int, int] | None:
        """Return the device of a handle in DLPack's form, or None if its memory cannot be shared through DLPack."""
        return None

    def to_dlpack(self, handle: Any, **options: Any) -> Any:
        """Return a DLPack capsule over the memory of a handle; the options are those of `__dlpack__` that were given.

        Raises
        ------
        ExportError
            Unless overridden.
        """
        raise ExportError(f"the backend of device {self.device_type!r} does not export DLPack")

    def from_dlpack(self, source: Any, device: Device) -> tuple[Any, Dtype]:
        """Return a handle over the memory of an object with `__dlpack__`, and its dtype.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(f"from_dlpack(): the backend of device {self.device_type!r} does not import DLPack")

    # --- other processes -------------------------------------------------------------------------------------------

    def share(self, handle: Any) -> Any:
        """Return a description by which another process uses a handle's memory; None sends a copy through the host.

        It can be pickled, and keeps the memory in this process until the other has opened it.
        """
        return None

    def rebuild_shared(self, handed_over: Any, device: Device) -> Any:
        """Return a handle over memory of another process, from what `share` returned there."""
        raise NotImplementedError(f"{type(self).__name__}.rebuild_shared")

    # --- for functionalisation, if the backend is not mutable or has no views ---------------------------------------

    def take(self, flat: Any, index: np.ndarray[Any, Any]) -> Any:
        """Return the elements of a one-dimensional handle at the positions of a host array."""
        raise NotImplementedError(f"{type(self).__name__}.take")

    def concat(self, handles: Sequence[Any]) -> Any:
        """Return one-dimensional handles laid end to end."""
        raise NotImplementedError(f"{type(self).__name__}.concat")

    def reshape(self, handle: Any, shape: Sequence[int]) -> Any:
        """Return the elements of a handle, in row-major order, in another shape."""
        raise NotImplementedError(f"{type(self).__name__}.reshape")

    # --- layouts whose tensors are made of strided ones: see Note [Tensors made of parts] ---------------------------

    def parts(self, handle: Any) -> Mapping[str, Any]:
        """Return the strided arrays that a handle is made of, by name, in the order in which they are printed.

        They are handles of the strided backend of the same device; a backend that returns none has no parts.
        """
        return {}

    def facts(self, handle: Any) -> Mapping[str, Any]:
        """Return the values that `assemble` needs besides the components and the shape; they can be pickled."""
        return {}

    def assemble(self, parts: Mapping[str, Any], shape: Sequence[int], facts: Mapping[str, Any]) -> Any:
        """Return the handle that is made of these parts."""
        raise NotImplementedError(f"{type(self).__name__}.assemble")

    def to_strided(self, handle: Any) -> Any:
        """Return the content as a handle of the strided backend of the same device."""
        raise NotImplementedError(f"{type(self).__name__}.to_strided")

    def values(self, tensor: Any) -> Any:
        """Return the values that a tensor of a layout stores, as a strided tensor with a gradient.

        Raises
        ------
        LayoutError
            Unless overridden.
        """
        raise LayoutError(
            f"values() expected a tensor of a layout that stores values, but got tt.{self.layout}\n"
            "  try: x.to_sparse_csr().values()"
        )

    def view_step(self, target: Any, root: Any) -> tuple[Any, ...] | None:
        """Return how a tensor views one of another layout, of which this backend is for one of the two.

        The operator's name and its arguments after the root; None if no single view leads from the root to the target.
        """
        return None

    def numel(self, handle: Any) -> int:
        """Return the number of elements of a handle."""
        return prod(handle.shape)

    def filled(self, handle: Any) -> Any:
        """Return the same tensor with every element stored, zeros too; for layouts with a part "values"."""
        raise NotImplementedError(f"{type(self).__name__}.filled")

    def summary(self, handle: Any) -> Sequence[str]:
        """Return the text after the size in the `repr` of a tensor, for instance "nnz=3"."""
        return ()

    def shown(self, handle: Any) -> np.ndarray[Any, Any] | None:
        """Return the numbers that the `repr` of a tensor shows in place of its parts, or None: the parts are shown."""
        return None

    # --- memory ------------------------------------------------------------------------------------------------

    def strides(self, handle: Any) -> tuple[int, ...]:
        """Return the strides in elements; contiguous ones where the library has none."""
        return contiguous_strides(handle.shape)

    def is_contiguous(self, handle: Any) -> bool:
        """Return whether the elements of a tensor of another layout follow each other; strided ones have strides."""
        return False

    def is_row_major(self, handle: Any) -> bool:
        """Return whether the elements lie in row-major order, with nothing between them."""
        # The stride of a dimension of size 1 is never used, and an empty tensor has no order.
        expected = contiguous_strides(handle.shape)
        return all(
            a == b or n <= 1 for a, b, n in zip(self.strides(handle), expected, handle.shape, strict=True)
        )

    def is_laid_out_as(self, handle: Any, other: Any) -> bool:
        """Return whether a handle is dense, and has the strides of another, which has its shape.

        If the other one is not dense, its elements have to be in row-major order.
        """
        strides = self.strides(other)
        if not is_non_overlapping_and_dense(other.shape, strides):
            return self.is_row_major(handle)
        return all(
            a == b or n == 1 for a, b, n in zip(self.strides(handle), strides, handle.shape, strict=True)
        )

    def memory_format(self, handle: Any) -> str | None:
        """Return "channels_last" or "channels_last_3d" if the strides of a handle are in that order, else None."""
        return None if handle.ndim < 4 else order_of_strides(handle.shape, self.strides(handle))

    def offset(self, handle: Any) -> int:
        """Return the position of the first element in the storage, in elements."""
        return 0

    def data_ptr(self, handle: Any) -> int:
        """Return the address of the first element, or 0 if there is none."""
        return 0

    def is_writable(self, handle: Any) -> bool:
        """Return whether the memory of a handle may be written; called where foreign memory comes in."""
        return True

    def storage_owner(self, handle: Any) -> Any:
        """Return the owner of a handle's memory."""
        return handle

    def moved(self, handle: Any, origin: Any, owner: Any) -> Any:
        """Return a handle at the same distance from the start of an owner as from that of another, its origin.

        None where other tensors cannot follow one whose memory grows.
        """
        return None

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of an owner's memory in bytes."""
        return int(owner.nbytes)

    def storage_data_ptr(self, owner: Any) -> int:
        """Return the address of an owner's memory."""
        return self.data_ptr(owner)


def dtype_of(handle: Any, backend: Backend | None) -> Dtype:
    """Return the dtype of a native array."""
    native = handle.dtype if backend is None else backend.dtype_of(handle)
    if isinstance(native, Dtype):
        return native
    if backend is not None:
        # The inverse of `native_dtype`: a backend need not map its own dtypes back.
        for candidate in ALL_DTYPES:
            try:
                if backend.native_dtype(candidate) == native:
                    return candidate
            except (DtypeError, KeyError, TypeError, ValueError, NotImplementedError):
                continue  # a backend need not have every dtype
    return to_dtype(native if isinstance(native, np.dtype) else str(native).rpartition(".")[2])
