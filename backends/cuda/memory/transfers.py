"""Copies between the host and CUDA devices, and between devices, in the order of the current stream.

Note [Copies that go on]
------------------------
A copy from or to page-locked host memory is asynchronous (`non_blocking=True`).  Until it is done, the memory at both
ends must not be written or freed, whatever happens to the tensors: `Transfers` keeps both until an event after the copy
is reached.  Values that the host reads before it waits for the stream are undefined, as in PyTorch.  A copy from
ordinary memory has read its source when the call returns, so it never waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.core.library import MetaHandle, contiguous_strides, dense_strides, errors, from_numpy_dtype

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Transfers"]

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


def _descending(strides: Sequence[int]) -> list[int]:
    """Return the dimensions in their order in memory."""
    return sorted(range(len(strides)), key=strides.__getitem__, reverse=True)


def _kept_strides(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the strides of a copy: the same if the elements are dense, else dense in the same order."""
    if 0 in shape:
        return contiguous_strides(shape)
    step = 1
    for dim in reversed(_descending(strides)):
        if shape[dim] != 1:
            if strides[dim] != step:
                return dense_strides(shape, [MetaHandle(shape, from_numpy_dtype(dtype), strides)])
            step *= shape[dim]
    return strides


class Transfers:
    """Moves elements for a backend.

    Parameters
    ----------
    backend : CudaBackend
        Whose handles are moved.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self._pending: deque[tuple[Any, Any]] = deque()
        self._peers: set[tuple[int, int]] = set()
        self.captured: list[Any] | None = None

    def _keep(self, *ends: Any) -> None:
        """Keep memory until the work that the current stream has by now is done; of a graph, as long as it is there."""
        if self.captured is not None:
            self.captured.append(ends)
            return
        pending = self._pending
        # Streams overtake each other, but an entry that waits behind another is only kept longer.
        while pending and pending[0][0].done:
            pending.popleft()
        cuda = self.backend.library().cuda
        event = cuda.Event(disable_timing=True)
        event.record(cuda.get_current_stream())
        pending.append((event, ends))

    def rows(self, handle: StridedHandle) -> StridedHandle:
        """Return a handle with the elements in row-major order; itself if they are."""
        if handle.is_contiguous:
            return handle
        # As unsigned numbers: there are dtypes that CuPy has no copies of.
        bits = StridedHandle(
            handle.memory,
            handle.owner,
            handle.shape,
            handle.strides,
            handle.offset,
            _BITS[handle.dtype.itemsize],
        )
        copied = self.backend.normalise(bits.array.copy())
        return StridedHandle(
            handle.memory,
            copied.owner,
            handle.shape,
            contiguous_strides(handle.shape),
            copied.offset,
            handle.dtype,
        )

    # --- the host ------------------------------------------------------------------------------------------------

    def pinned(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return an array of page-locked memory with any content."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        # CUDA allocates no empty memory.
        memory = self.backend.library().cuda.alloc_pinned_memory(max(size, 1))
        return np.ndarray(shape, dtype, memory)

    def is_pinned(self, address: int) -> bool:
        """Return whether an address of the host is in page-locked memory."""
        runtime = self.backend.library().cuda.runtime
        return bool(runtime.pointerGetAttributes(address).type == runtime.memoryTypeHost)

    def upload(self, array: np.ndarray[Any, Any], index: int, non_blocking: bool = False) -> StridedHandle:
        """Return a handle on a device with the elements of an array of the host, in row-major order."""
        with self.backend.on(index):
            handle = self.backend.empty(array.shape, array.dtype)
            self.write(handle, array, non_blocking)
        return handle

    def upload_as_laid_out(
        self, array: np.ndarray[Any, Any], index: int, non_blocking: bool = False
    ) -> StridedHandle:
        """Return a handle on a device with the elements of an array of the host, in its order in memory."""
        # A tensor's strides are whole and not negative, so such arrays are copied in row-major order.
        if any(stride % array.itemsize or stride < 0 for stride in array.strides):
            return self.upload(array, index, non_blocking)
        kept = _kept_strides(
            array.shape, tuple(stride // array.itemsize for stride in array.strides), array.dtype
        )
        handle = self.upload(array.transpose(_descending(kept)), index, non_blocking)
        return handle.view(array.shape, kept)

    def write(self, target: StridedHandle, array: np.ndarray[Any, Any], non_blocking: bool = False) -> None:
        """Copy an array of the host into contiguous memory of the current device."""
        if not array.size:
            return
        pinned = self.is_pinned(array.ctypes.data)
        # The copy is ordinary memory, which CUDA has read when the call returns, so it may die then.
        if not array.flags.c_contiguous:
            array, pinned = np.ascontiguousarray(array), False
        cuda = self.backend.library().cuda
        stream = cuda.get_current_stream()
        self._refuse_capture(stream, pinned)
        cuda.runtime.memcpyAsync(
            target.data_ptr, array.ctypes.data, array.nbytes, cuda.runtime.memcpyHostToDevice, stream.ptr
        )
        if pinned and non_blocking:
            self._keep(array, target.owner)
        elif pinned:
            self.backend.will_wait("a copy from the host")
            stream.synchronize()
            self.backend.failures.raise_first()

    def download(self, handle: StridedHandle, non_blocking: bool = False) -> np.ndarray[Any, Any]:
        """Return the elements in an array of the host, in their order in memory.

        With `non_blocking` it lies in page-locked memory.
        """
        kept = _kept_strides(handle.shape, handle.strides, handle.dtype)
        steps = [step * handle.dtype.itemsize for step in kept]
        if non_blocking and handle.nbytes:
            size = (handle.nbytes // handle.dtype.itemsize,)
            result = np.ndarray(handle.shape, handle.dtype, self.pinned(size, handle.dtype), 0, steps)
        else:
            result = np.ndarray(handle.shape, handle.dtype, strides=steps)
        order = _descending(kept)
        rows = handle.view([handle.shape[d] for d in order], [handle.strides[d] for d in order])
        self.read(rows, result.transpose(order), non_blocking)
        return result

    def read(self, handle: StridedHandle, out: np.ndarray[Any, Any], non_blocking: bool = False) -> None:
        """Copy the elements into a contiguous array of the host."""
        if not handle.nbytes:
            return
        if not non_blocking:
            self.backend.will_wait("a copy to the host")
        with self.backend.on(self.backend.index_of(handle)):
            source = self.rows(handle)
            cuda = self.backend.library().cuda
            stream = cuda.get_current_stream()
            self._refuse_capture(stream, non_blocking)
            cuda.runtime.memcpyAsync(
                out.ctypes.data, source.data_ptr, source.nbytes, cuda.runtime.memcpyDeviceToHost, stream.ptr
            )
            if non_blocking:
                self._keep(out, source.owner)
            else:
                stream.synchronize()
                self.backend.failures.raise_first()

    def _refuse_capture(self, stream: Any, may_go_on: bool) -> None:
        if self.captured is not None and not may_go_on and stream.ptr and stream.is_capturing():
            raise errors.DeviceError(
                "cannot copy between the host and a CUDA device during CUDA graph capture\n"
                "  try: a tensor of page-locked memory (pin_memory) and non_blocking=True"
            )

    # --- other devices -------------------------------------------------------------------------------------------

    def peer(self, handle: StridedHandle, index: int) -> StridedHandle:
        """Return a copy on another device: after the work of both current streams, and before their next work."""
        backend, cuda = self.backend, self.backend.library().cuda
        home = backend.index_of(handle)
        self._introduce(home, index)
        with backend.on(index):
            there = cuda.get_current_stream()
            kept = _kept_strides(handle.shape, handle.strides, handle.dtype)
            order = _descending(kept)
            new = backend.empty([handle.shape[d] for d in order], handle.dtype)
            ready = cuda.Event(disable_timing=True)
            ready.record(there)
        with backend.on(home):
            here = cuda.get_current_stream()
            source = self.rows(handle.view(new.shape, [handle.strides[d] for d in order]))
            # The new memory may have had another use, for which the other device's stream may not have finished.
            here.wait_event(ready)
            if source.nbytes:
                cuda.runtime.memcpyPeerAsync(
                    new.data_ptr, index, source.data_ptr, home, source.nbytes, here.ptr
                )
            done = cuda.Event(disable_timing=True)
            done.record(here)
        with backend.on(index):
            there.wait_event(done)
        return new.view(handle.shape, kept)

    def _introduce(self, home: int, index: int) -> None:
        """Let one device read the other's memory directly, where they can."""
        if (home, index) in self._peers:
            return
        # Noted before the attempt: what CUDA refuses once, it refuses always.
        self._peers.add((home, index))
        runtime = self.backend.library().cuda.runtime
        if runtime.deviceCanAccessPeer(home, index):
            with self.backend.on(home):
                try:
                    runtime.deviceEnablePeerAccess(index)
                except runtime.CUDARuntimeError as error:
                    if error.status != ALREADY_ENABLED:
                        raise


ALREADY_ENABLED = 704
"""`cudaErrorPeerAccessAlreadyEnabled`: another library did it."""
