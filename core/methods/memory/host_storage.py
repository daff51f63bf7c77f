"""Tensors at places in storages of host memory: how pickles and copies keep that tensors share memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from tt.core.dispatch.intercept.modes import note_data
from tt.core.dispatch.intercept.tt_function import DisableTTFunctionSubclass
from tt.core.dispatch.mutate.overlap import note_overlap
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import DtypeError, LayoutError, ValueRangeError
from tt.core.meta import MetaHandle
from tt.core.methods.as_subclass import as_kind
from tt.core.methods.interop import check_array
from tt.core.methods.typed_storage import TypedStorage
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import to_device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import to_dtype

__all__ = [
    "byte_offset",
    "bytes_of",
    "new_storage",
    "place_in",
    "shares_host_memory",
    "storage_tensor",
    "tensor_in_storage",
    "whole_tensor",
]

Kind = TypeVar("Kind", bound=Tensor)


def shares_host_memory(tensor: Tensor) -> bool:
    """Return whether the tensor can be written as a place in its storage."""
    storage = tensor._storage
    if (
        not isinstance(storage, Storage)
        or tensor.device.type != "cpu"
        or not isinstance(tensor._handle, np.ndarray)
    ):
        return False
    owner = storage.owner
    # An owner with gaps has no single run of bytes.
    if not isinstance(owner, np.ndarray) or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
        return False
    offset = byte_offset(tensor._handle, owner)
    # An array may look at foreign memory that its owner does not contain.
    return tensor._handle.size == 0 or 0 <= offset < max(owner.nbytes, 1)


def byte_offset(handle: np.ndarray[Any, Any], owner: np.ndarray[Any, Any]) -> int:
    """Return how far the first element of an array is behind the first byte of its owner."""
    begin: int = owner.__array_interface__["data"][0]
    address: int = handle.__array_interface__["data"][0]
    return address - begin


def bytes_of(owner: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy of an array's memory as bytes."""
    # "A" keeps the order in memory, so that offsets stay what they are.
    return np.frombuffer(owner.tobytes(order="A"), dtype=np.uint8).copy()


def new_storage(memory: np.ndarray[Any, Any]) -> Storage:
    """Return a storage of the CPU over bytes."""
    return Storage(memory, REGISTRY.backend("cpu"))


def place_in(
    storage: Storage,
    dtype: Dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    kind: type[Kind],
) -> Kind:
    """Return a tensor at a place (strides and offset in bytes) of a storage made by `new_storage`."""
    memory = storage.owner
    try:
        if 0 in shape:
            # It may begin behind the memory, where NumPy begins no array, but has rows that do.
            handle = np.ndarray((2, *shape), dtype.numpy, memory, 0, (offset, *strides))[1]
        elif not memory.nbytes:
            raise ValueError("it has no elements")  # NumPy takes a buffer of no bytes for one of any length
        else:
            handle = np.ndarray(shape, dtype.numpy, memory, offset, strides)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueRangeError(
            f"a tensor of shape {list(shape)}, with strides of {list(strides)} bytes from byte {offset} on, is not "
            f"part of memory of {memory.nbytes} bytes: {error}"
        ) from error
    # A file may be damaged or forged: strides and alignment are checked like those of any array.
    check_array(handle, "pickled tensor")
    new = as_kind(wrap(handle, storage.backend.spec(dtype, to_device("cpu"))), kind)
    new._storage = storage
    note_overlap(new)
    note_data(new)
    return new


def tensor_in_storage(
    memory: Tensor,
    dtype: Dtype,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int = 0,
    kind: type[Kind] | None = None,
) -> Kind:
    """Return a tensor at a place in the storage of another; it is a tensor of its own right, not a view of that one.

    Parameters
    ----------
    memory : Tensor
        The bytes: one-dimensional, uint8, from the first byte of its storage on.
    dtype : dtype
        How the bytes are read; the dtype of the result.
    size, stride : sequence of int
        The shape of the result, and its strides in elements.
    storage_offset : int
        Position of the first element, in elements.
    kind : type, optional
        The class of the result, `Tensor` if not given.

    Raises
    ------
    ValueRangeError
        When an element would be outside of the memory.

    Examples
    --------
    >>> import tt
    >>> from tt.library import tensor_in_storage
    >>> memory = tt.zeros(16, dtype=tt.uint8)
    >>> x = tensor_in_storage(memory, tt.float32, (2,), (2,), 1)
    >>> y = tensor_in_storage(memory, tt.float32, (4,), (1,))
    >>> x[0] = 7
    >>> y
    tensor([0., 7., 0., 0.])
    >>> from tt.library import Storage
    >>> isinstance(x._storage, Storage) and x._storage is y._storage
    True
    """
    chosen: Any = kind or Tensor
    if len(size) != len(stride) or storage_offset < 0 or any(n < 0 for n in (*size, *stride)):
        raise ValueRangeError(
            f"a tensor has a size and a stride for each dimension, none of them and no offset negative, but got "
            f"size {list(size)}, stride {list(stride)} and offset {storage_offset}"
        )
    if memory.device.type == "cpu" and isinstance(memory._handle, np.ndarray):
        width = dtype.itemsize
        steps = tuple(step * width for step in stride)
        placed: Kind = place_in(
            memory._ensure_storage(), dtype, tuple(size), steps, storage_offset * width, chosen
        )
        return placed
    with DisableTTFunctionSubclass():
        view = ops.as_strided(memory.view(dtype), list(size), list(stride), storage_offset)
    new: Kind = as_kind(view, chosen)
    return new


def storage_tensor(
    storage: Storage, dtype: Dtype, size: Sequence[int], stride: Sequence[int], storage_offset: int
) -> Tensor:
    """Return a tensor at a place of a storage: strides and offset in elements.

    Raises
    ------
    LayoutError
        If the backend keeps memory as something other than NumPy arrays.
    ValueRangeError
        When an element would be outside of the memory.
    """
    if isinstance(storage.owner, MetaHandle):
        return _without_data(storage, dtype, tuple(size), tuple(stride), storage_offset)
    if not isinstance(storage.owner, np.ndarray):
        raise LayoutError(
            f"a tensor cannot be made from a storage on {storage.backend.device_type}\n"
            "  try: a tensor that uses the storage, and as_strided"
        )
    width = dtype.itemsize
    steps = tuple(step * width for step in stride)
    return place_in(storage, dtype, tuple(size), steps, storage_offset * width, Tensor)


def _without_data(
    storage: Storage, dtype: Dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> Tensor:
    """Return a tensor at a place of a storage on the device "meta"."""
    room = storage.nbytes() // dtype.itemsize
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    # An empty tensor may begin anywhere.
    if 0 not in size and not 0 <= last < room:
        raise ValueRangeError(f"element {last} is not part of memory of {room} elements")
    new = wrap(MetaHandle(size, dtype, stride, offset, room), storage.backend.spec(dtype, to_device("meta")))
    new._storage = storage
    return new


def whole_tensor(op: str, storage: Storage | TypedStorage, dtype: Dtype | None) -> Tensor:
    """Return a tensor over all elements of a storage, whose memory it shares.

    Parameters
    ----------
    op : str
        Who asks, for errors.
    storage : Storage or TypedStorage
        Its bytes are read as the dtype; a typed one has its own.
    dtype : dtype, optional
        By default int64 for bytes, as in PyTorch.

    Raises
    ------
    DtypeError
        For a typed storage of another dtype.
    """
    if isinstance(storage, TypedStorage):
        if dtype is not None and dtype != storage.dtype:
            raise DtypeError(
                f"{op}(): a storage of {storage.dtype} is not one of {dtype}\n"
                "  try: storage.untyped(), whose bytes have any dtype"
            )
        return storage._elements.detach()
    read_as = to_dtype("int64") if dtype is None else dtype
    return storage_tensor(storage, read_as, (storage.nbytes() // read_as.itemsize,), (1,), 0)
