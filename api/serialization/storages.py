"""Memory that is being loaded: bytes, their dtype, and where they go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tt
from tt.library import tensor_in_storage
from tt.types import Device

__all__ = ["LoadedStorage", "StorageType", "array_of_bytes", "bytes_of", "swap_bytes"]


class StorageType:
    """The type of a storage, as files name it: `torch.FloatStorage`, or `torch.UntypedStorage` without a dtype."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: tt.dtype | None) -> None:
        self.dtype = dtype

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return 1 if self.dtype is None else self.dtype.itemsize


class LoadedStorage:
    """The memory of tensors while a file is loaded: the argument and result of a function given as `map_location`.

    Attributes
    ----------
    bytes : Tensor
        The memory: one-dimensional, uint8.
    dtype : dtype
        The dtype that the file notes; uint8 if it notes none.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> file = io.BytesIO()
    >>> tt.save(tt.ones(3), file)
    >>> _ = file.seek(0)
    >>> def place(storage, location):
    ...     print(type(storage).__name__, storage.nbytes(), storage.device, location)
    ...     return storage.to("meta")
    >>> tt.load(file, map_location=place).device
    LoadedStorage 12 cpu cpu
    device(type='meta')
    """

    def __init__(self, bytes: tt.Tensor, dtype: tt.dtype) -> None:
        self.bytes, self.dtype = bytes, dtype
        self._host: LoadedStorage | None = (
            None  # where it came from, for devices that cannot read bytes as numbers
        )
        self.swap = False  # whether the order of bytes is still that of another machine

    @property
    def device(self) -> Any:
        """The device of the memory."""
        return self.bytes.device

    def nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self.bytes.numel()

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self.bytes.data_ptr()

    def untyped(self) -> Any:
        """Return the memory as `Tensor.untyped_storage()` does."""
        return self.bytes.untyped_storage()

    def tensor(self) -> tt.Tensor:
        """Return all elements as a tensor that shares the memory."""
        return self.placed(self.dtype, (self.size(),), (1,), 0)

    def tolist(self) -> list[Any]:
        """Return all elements as numbers."""
        return list(self.tensor().tolist())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def to(self, device: str | int | tt.device) -> LoadedStorage:
        """Return the memory on a device: itself if it is there already."""
        target = tt.device(device)
        if target == self.device:
            return self
        new = LoadedStorage(self.bytes.to(target), self.dtype)
        new.swap = self.swap
        # Devices may be unable to view bytes as another dtype; then tensors are made here and copied.
        new._host = self if target.type != "meta" else None
        return new

    def cpu(self) -> LoadedStorage:
        """Return the memory in the host's."""
        return self.to("cpu")

    def cuda(self, device: Device = None) -> LoadedStorage:
        """Return the memory on a CUDA device: a number, a device, or None for the current one."""
        if device is None or isinstance(device, int):
            device = tt.device("cuda", device)
        return self.to(device)

    def placed(self, dtype: tt.dtype, size: Sequence[int], stride: Sequence[int], offset: int) -> tt.Tensor:
        """Return a tensor at a place of the memory, in elements of a dtype."""
        if self.swap:
            # Once, in the dtype of the first tensor; the bytes of the host are the old ones.
            self.swap, self._host = False, None
            if self.device.type != "meta":
                host = bytes_of(self.bytes.cpu())
                swap_bytes(host, dtype)
                self.bytes = array_of_bytes(host).to(self.device)
        try:
            result: tt.Tensor = tensor_in_storage(self.bytes, dtype, size, stride, offset)
        except NotImplementedError:
            if self._host is None:
                raise
            return self._host.placed(dtype, size, stride, offset).to(self.device)
        # The device can do it, so the host's memory is free.
        self._host = None
        return result

    def __repr__(self) -> str:
        return f"<LoadedStorage of {self.size()} elements of {self.dtype} on {self.device}>"


def array_of_bytes(memory: np.ndarray[Any, Any]) -> tt.Tensor:
    """Return bytes as a tensor that shares the memory."""
    return tt.from_numpy(memory)


def bytes_of(tensor: tt.Tensor) -> np.ndarray[Any, Any]:
    """Return the memory of a tensor on the host."""
    result: np.ndarray[Any, Any] = tensor.numpy()
    return result


def swap_bytes(memory: np.ndarray[Any, Any], dtype: tt.dtype) -> None:
    """Reverse the bytes of every element, in place; those of a complex number part by part."""
    width = dtype.to_real().itemsize
    if width > 1:
        memory.view(f"u{width}").byteswap(inplace=True)
