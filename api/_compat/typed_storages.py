"""`tt.FloatStorage` and its like: storages whose elements have a dtype, which PyTorch has deprecated."""

from __future__ import annotations

import sys
from typing import Any

import tt
from tt.core.methods.typed_storage import NAMES
from tt.errors import ArgumentError, ValueRangeError
from tt.library import from_numpy_dtype

__all__ = [
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "QInt8Storage",
    "QInt32Storage",
    "QUInt8Storage",
    "ShortStorage",
    "Storage",
    "StorageBase",
    "StorageType",
]


class StorageType(type):
    """The class of `tt.FloatStorage` and its like: calls make storages, `isinstance` looks at dtype and device."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        same = isinstance(instance, tt.TypedStorage)
        return same and instance.dtype == cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *args: Any, wrap_storage: Any = None) -> Any:
        if wrap_storage is not None and args:
            raise ArgumentError(cls.__name__, "takes no further arguments with wrap_storage")
        return tt.TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def from_buffer(cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0) -> Any:
        """Return a storage with a copy of the elements in an object with bytes.

        Parameters
        ----------
        buffer : bytes or another object with a buffer
            The bytes.
        byte_order : str
            "native", "little" or "big"; of elements of one byte it may be left out.
        count : int
            How many elements; all that follow the offset by default.
        offset : int
            How many bytes are skipped.
        """
        return tt.TypedStorage._of(
            elements_of(cls.__name__, cls.dtype, buffer, byte_order, count, offset), cls.dtype
        )

    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> Any:
        """Return a storage over a file that is mapped into memory, of `size` elements; see `tt.from_file`."""
        return tt.TypedStorage._of(tt.from_file(filename, shared, size, dtype=_held(cls.dtype)), cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'tt.{cls.__name__}'>"


def elements_of(name: str, dtype: Any, buffer: Any, byte_order: str | None, count: int, offset: int) -> Any:
    """Return a tensor with a copy of the elements in a buffer."""
    held, data = _held(dtype), memoryview(buffer).cast("B")
    size = held.itemsize
    if byte_order is None and size == 1:
        byte_order = "native"
    if byte_order not in ("native", "little", "big"):
        raise ArgumentError(
            f"{name}.from_buffer", f"argument 'byte_order' is 'native', 'little' or 'big', not {byte_order!r}"
        )
    if not 0 <= offset <= len(data):
        raise ValueRangeError(
            f"{name}.from_buffer(): offset={offset} is outside of the buffer of {len(data)} bytes"
        )
    if count < 0:
        count, rest = divmod(len(data) - offset, size)
        if rest:
            raise ValueRangeError(
                f"{name}.from_buffer(): {len(data) - offset} bytes are no whole number of elements of {size} bytes"
            )
    if offset + count * size > len(data):
        raise ValueRangeError(
            f"{name}.from_buffer(): {count} elements of {size} bytes from offset {offset} are more than the buffer's "
            f"{len(data)} bytes"
        )
    content = bytearray(data[offset : offset + count * size])
    if byte_order not in ("native", sys.byteorder):
        number = (
            size // 2 if held.is_complex else size
        )  # of complex numbers, each part has an order of its own
        content = bytearray(b"".join(content[i : i + number][::-1] for i in range(0, len(content), number)))
    return tt.frombuffer(content, dtype=held) if content else tt.empty(0, dtype=held)


def _held(dtype: Any) -> Any:
    """Return the dtype of what lies in the memory: of quantized numbers, integers."""
    return from_numpy_dtype(dtype.numpy) if dtype.kind == "quantized" else dtype


def _make(name: str) -> StorageType:
    dtype = getattr(tt, NAMES[name])
    doc = (
        f"Memory on the CPU as elements of {dtype}: of a size, `{name}(2)`, or with numbers, `{name}([1])`.\n\n"
        f"    `wrap_storage=` takes the memory of an `UntypedStorage`. The result is a `tt.TypedStorage`; deprecated.\n"
        f"    "
    )
    return StorageType(name, (), {"__module__": "tt", "__doc__": doc, "dtype": dtype})


BFloat16Storage = _make("BFloat16Storage")
BoolStorage = _make("BoolStorage")
ByteStorage = _make("ByteStorage")
CharStorage = _make("CharStorage")
ComplexDoubleStorage = _make("ComplexDoubleStorage")
ComplexFloatStorage = _make("ComplexFloatStorage")
DoubleStorage = _make("DoubleStorage")
FloatStorage = _make("FloatStorage")
HalfStorage = _make("HalfStorage")
IntStorage = _make("IntStorage")
LongStorage = _make("LongStorage")
QInt8Storage = _make("QInt8Storage")
QInt32Storage = _make("QInt32Storage")
QUInt8Storage = _make("QUInt8Storage")
ShortStorage = _make("ShortStorage")


class _DefaultStorage(StorageType):
    """The class of `tt.Storage`: it is the one for the default dtype, whichever that is."""

    @property
    def dtype(cls) -> Any:
        return tt.get_default_dtype()


class Storage(metaclass=_DefaultStorage):
    """Memory on the CPU as elements of the default dtype: of a size, `Storage(2)`, or with numbers, `Storage([1])`.

    Examples
    --------
    >>> import warnings, tt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tt.Storage([1, 2]).dtype
    tt.float32
    """


class _Base(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, tt.UntypedStorage)


class StorageBase(metaclass=_Base):
    """What every memory of a tensor is an instance of; it makes none.

    Raises
    ------
    ArgumentError
        When it is called: `tt.UntypedStorage` makes storages.

    Examples
    --------
    >>> import tt
    >>> isinstance(tt.ones(2).untyped_storage(), tt.StorageBase)
    True
    """

    def __init__(self) -> None:
        raise ArgumentError("StorageBase", "makes no storages\n  try: tt.UntypedStorage")
