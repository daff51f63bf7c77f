"""`x.storage()`: the memory of a tensor as elements of its dtype, which PyTorch has deprecated."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.by_name import module_named
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import ArgumentError, DataDependentError, UnsupportedError, ValueRangeError, describe
from tt.core.tensor.base import TensorBase
from tt.core.tensor.storage import Storage
from tt.core.types.device import to_device
from tt.core.types.dtype import from_numpy_dtype, to_dtype
from tt.core.types.promotion import get_default_dtype
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor
    from tt.core.types.device import Device
    from tt.core.types.dtype import dtype as Dtype

__all__ = ["CASTS", "NAMES", "TypedStorage", "storage", "storage_type"]

NAMES: Final = {
    "BFloat16Storage": "bfloat16",
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "QUInt8Storage": "quint8",
    "ShortStorage": "int16",
}
"""The classes `tt.FloatStorage` and its like, and their dtypes."""

CASTS: Final = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "char": "int8", "complex_double": "complex128",
    "complex_float": "complex64", "double": "float64", "float": "float32", "half": "float16", "int": "int32",
    "long": "int64", "short": "int16", "float8_e4m3fn": "float8_e4m3fn", "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2": "float8_e5m2", "float8_e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
"""The methods of storages that return their elements as another dtype."""

_NAMES_OF: Final = {dtype: name for name, dtype in NAMES.items()}


def _elements(args: tuple[Any, ...], dtype: Dtype, device: Any) -> Tensor:
    """Return a new tensor of a size, or with numbers."""
    from tt.core.methods.creation import tensor  # a program that makes no such storage does without

    if len(args) > 1:
        raise ValueRangeError(
            f"TypedStorage(): takes a size or numbers in a sequence, not {len(args)} arguments"
        )
    content: Any = args[0] if args else 0
    target = to_device("cpu" if device is None else device)
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        return tensor(list(content), dtype=dtype, device=target)
    if isinstance(content, TensorBase) or not hasattr(content, "__index__"):
        raise ArgumentError("TypedStorage", f"takes a size or a sequence of numbers, not {describe(content)}")
    size = operator.index(content)
    if size < 0:
        raise ValueRangeError(f"TypedStorage(): takes a size that is not negative, not {size}")
    return ops.empty((size,), dtype=dtype, device=target)


def _elements_in(storage: Any, dtype: Dtype) -> Tensor:
    """Return a tensor over the whole elements in a storage."""
    from tt.core.methods.memory.host_storage import storage_tensor  # which imports this module

    if not isinstance(storage, Storage):
        raise ArgumentError(
            "TypedStorage", f"argument 'wrap_storage' must be UntypedStorage, not {describe(storage)}"
        )
    return storage_tensor(storage, dtype, (storage.nbytes() // dtype.itemsize,), (1,), 0)


class TypedStorage:
    """All elements in the memory that a tensor shares with its views, in their order there.

    Examples
    --------
    >>> import warnings
    >>> import tt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     memory = tt.tensor([[1, 2], [3, 4]])[1].storage()
    >>> len(memory), memory[0], memory.tolist()
    (4, 1, [1, 2, 3, 4])
    """

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> None:
        """Make a storage of a size or with numbers, or of memory that exists; deprecated, as in PyTorch.

        Parameters
        ----------
        *args
            The number of elements, or a sequence of numbers.
        wrap_storage : UntypedStorage, optional
            The memory, of which the elements have the dtype; no other argument goes with it.
        dtype : dtype, optional
            By default the default dtype.
        device : device, optional
            By default the CPU.
        """
        warn_user("TypedStorage is deprecated: use tt.UntypedStorage, which has no dtype, or a tensor")
        element = get_default_dtype() if dtype is None else to_dtype(dtype)
        # Of quantized numbers, the integers lie in the memory.
        stored = from_numpy_dtype(element.numpy) if element.kind == "quantized" else element
        if wrap_storage is None:
            self._hold(_elements(args, stored, device), element)
        elif args or device is not None or dtype is None:
            raise ValueRangeError("TypedStorage(): takes dtype= and no other argument with wrap_storage=")
        else:
            self._hold(_elements_in(wrap_storage, stored), element)

    @classmethod
    def _of(cls, tensor: Tensor, dtype: Dtype | None = None) -> TypedStorage:
        """Return the elements in the memory of a tensor."""
        new = cls.__new__(cls)
        new._hold(tensor, dtype)
        return new

    def _hold(self, tensor: Tensor, dtype: Dtype | None) -> None:
        self._untyped: Storage = tensor.untyped_storage()
        self._dtype = tensor.dtype if dtype is None else dtype
        count = self._untyped.nbytes() // tensor.element_size()
        # Of a quantized tensor, the integers.
        tensor = next(iter(component_tensors(tensor).values()), tensor)
        # Over the whole memory, whatever part of it the tensor shows.
        self._elements = tensor.detach().as_strided((count,), (1,), 0)

    @property
    def dtype(self) -> Dtype:
        """The dtype of the elements."""
        return self._dtype

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return self._elements.device

    def untyped(self) -> Storage:
        """Return the memory as bytes: what `untyped_storage()` returns."""
        return self._untyped

    def size(self) -> int:
        """Return the number of elements."""
        return len(self)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self._elements.element_size()

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self._untyped.data_ptr()

    def is_shared(self) -> bool:
        """Return whether processes can share the memory."""
        return self._elements.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the memory, with all tensors in it, to where processes share it."""
        self._untyped.share_memory_()
        return self

    def tolist(self) -> list[Any]:
        """Return the elements as numbers."""
        values: list[Any] = self._elements.tolist()
        return values

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the class with this dtype, such as "tt.FloatStorage", or the elements as another one.

        Parameters
        ----------
        dtype : type or str, optional
            `tt.DoubleStorage`, its name, or a dtype.
        non_blocking : bool
            Has no effect on the CPU.
        """
        if dtype is None:
            name = _NAMES_OF.get(self._dtype.name)
            module = "tt" if self.device.type == "cpu" else f"tt.{self.device.type}"
            return f"{module}.{name}" if name else "tt.storage.TypedStorage"
        if isinstance(dtype, str):
            dtype_name = NAMES.get(dtype.rpartition(".")[2])
            if dtype_name is None:
                raise ArgumentError(
                    "type", f"{dtype!r} is not the name of a storage such as 'tt.FloatStorage'"
                )
            target = to_dtype(dtype_name)
        else:
            target = to_dtype(getattr(dtype, "dtype", dtype))
        return self if target is self._dtype else self._cast(target)

    def _cast(self, dtype: Dtype) -> TypedStorage:
        """Return a copy of the elements as another dtype."""
        return TypedStorage._of(self._elements.to(dtype, copy=True))

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return TypedStorage._of(self._elements.clone(), self._dtype)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Copy the elements of another storage of as many, of any dtype."""
        if not isinstance(source, TypedStorage):
            raise ArgumentError("copy_", f"copies a typed storage, not {source.__class__.__name__}")
        if len(source) != len(self):
            raise ArgumentError("copy_", f"the sizes differ: {len(self)} and {len(source)} elements")
        self._elements.copy_(source._elements, non_blocking=non_blocking)
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Write a number into every element."""
        self._elements.fill_(value)
        return self

    def to(self, device: Any, non_blocking: bool = False) -> TypedStorage:
        """Return the storage itself, or a copy on another device."""
        elements = self._elements.to(device=device, non_blocking=non_blocking)
        return self if elements is self._elements else TypedStorage._of(elements, self._dtype)

    def cpu(self) -> TypedStorage:
        """Return the storage itself, or a copy on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Return the storage itself, or a copy on a GPU."""
        target = "cuda" if device is None else device
        return self.to(f"cuda:{target}" if isinstance(target, int) else target, non_blocking)

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether the memory is pinned for transfers to a GPU."""
        return bool(self._elements.is_pinned())

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """Return the storage itself, or a copy in pinned memory."""
        elements = self._elements.pin_memory()
        return self if elements is self._elements else TypedStorage._of(elements, self._dtype)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is that of a GPU."""
        return self.device.type == "cuda"

    @property
    def is_sparse(self) -> bool:
        """Always False: a sparse tensor has several memories."""
        return False

    @property
    def filename(self) -> str | None:
        """Return the file that the memory is mapped from and written to, or None."""
        name: str | None = self._untyped.filename
        return name

    def get_device(self) -> int:
        """Return the index of the device; -1 for the CPU."""
        return int(self._elements.get_device())

    def pickle_storage_type(self) -> str:
        """Return the name by which files know the dtype: "FloatStorage"."""
        return _NAMES_OF[self._dtype.name]

    def resizable(self) -> bool:
        """Return False: tensors keep the memory that they have."""
        return False

    def resize_(self, size: int) -> None:
        """Change nothing if the size is the present one; a storage on meta gets another.

        Raises
        ------
        UnsupportedError
            If it is another.
        """
        if self.device.type == "meta":
            self._untyped.resize_(size * self.element_size())
            self._elements = _elements_in(self._untyped, self._elements.dtype)
        elif size != len(self):
            raise UnsupportedError(
                "resize_() of a storage: the tensors in it keep their memory\n"
                "  try: x.set_(...) or x.data = ..., which give a tensor other memory"
            )

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        if self.device.type == "meta":
            raise DataDependentError("storage[index]", "meta")
        selected = self._elements[index]
        return selected.tolist() if isinstance(index, slice) else selected.item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[index] = value

    def __repr__(self) -> str:
        rows = "\n".join(f" {value}" for value in self.tolist())
        return f"{rows}\n[tt.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _cast_to(name: str, dtype: str) -> Any:
    def cast(self: TypedStorage) -> TypedStorage:
        return self._cast(to_dtype(dtype))

    cast.__name__, cast.__qualname__ = name, f"TypedStorage.{name}"
    cast.__doc__ = f"Return a copy of the elements as {dtype}."
    return cast


for _name, _dtype in CASTS.items():
    setattr(TypedStorage, _name, _cast_to(_name, _dtype))


def storage(self: Tensor) -> TypedStorage:
    """Return the memory of the tensor as elements of its dtype.

    Deprecated, as in PyTorch: `untyped_storage()` is what stays.

    Raises
    ------
    LayoutError
        When the tensor has not one memory: it is not strided.
    """
    warn_user(
        "TypedStorage is deprecated: use tensor.untyped_storage(), which has no dtype, or the tensor itself"
    )
    return TypedStorage._of(self)


def storage_type(self: Tensor) -> Any:
    """Return the class of storages with this dtype, such as `tt.FloatStorage`."""
    name = _NAMES_OF.get(self.dtype.name)
    return getattr(module_named("tt"), name) if name and self.device.type == "cpu" else TypedStorage
