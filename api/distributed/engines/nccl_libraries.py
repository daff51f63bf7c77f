"""NCCL as the engine nccl calls it: through nccl4py where that is installed, else through CuPy's binding.

Note [Two bindings]
-------------------
nccl4py takes objects that export their memory and can make factors for sums; CuPy's takes addresses, counts and numbers
of dtypes, and has no factors.  The engine passes tensors and names, and a `Communicator` translates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from tt import Tensor
from tt.distributed.errors import DistBackendError

__all__ = ["DTYPES", "Communicator", "CupyLibrary", "Library", "Nccl4pyLibrary", "library"]

DTYPES: Final = {
    "int8": "INT8",
    "uint8": "UINT8",
    "int32": "INT32",
    "uint32": "UINT32",
    "int64": "INT64",
    "uint64": "UINT64",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
}
"""The dtypes that NCCL combines, and what both bindings call them."""
_OPERATIONS: Final = {"SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX", "AVG": "AVG"}
_NO_COLOUR: Final = -1
"""NCCL_SPLIT_NOCOLOR: this rank belongs to none of the new communicators."""
_IN_PROGRESS: Final = 7
"""ncclInProgress, which is not an error."""


class Communicator(Protocol):
    """The ranks of one group; tensors are contiguous, and calls go into the stream whose address is given."""

    def all_reduce(self, tensor: Tensor, op: str, factor: float | None, stream: int) -> None:
        """Combine all ranks' tensors into each of them."""

    def reduce(self, tensor: Tensor, op: str, factor: float | None, root: int, stream: int) -> None:
        """Combine all ranks' tensors into root's."""

    def reduce_scatter(
        self, output: Tensor, input: Tensor, op: str, factor: float | None, stream: int
    ) -> None:
        """Combine all ranks' inputs, and give each rank its part."""

    def broadcast(self, tensor: Tensor, root: int, stream: int) -> None:
        """Send root's tensor to all ranks."""

    def all_gather(self, output: Tensor, input: Tensor, stream: int) -> None:
        """Gather all ranks' inputs into every rank's output."""

    def send(self, tensor: Tensor, peer: int, stream: int) -> None:
        """Send a tensor to a rank."""

    def recv(self, tensor: Tensor, peer: int, stream: int) -> None:
        """Receive a tensor from a rank."""

    def split(self, place: int | None) -> Communicator | None:
        """Connect the ranks that have a place, in that order; None on the others.  All ranks call it."""

    def error(self) -> str | None:
        """Return what has gone wrong since the last call, if anything."""

    def abort(self) -> None:
        """End at once, with all operations that run."""

    def destroy(self) -> None:
        """End in good order."""


class Library(Protocol):
    """A binding of NCCL."""

    factors: bool
    """Whether it multiplies by a factor while it adds."""
    errors: tuple[type[Exception], ...]
    """The exceptions that the library raises."""

    def unique_id(self) -> bytes:
        """Return what names a new communicator."""

    def connect(self, size: int, name: bytes, rank: int) -> Communicator:
        """Connect the ranks that call this with one name; it returns when all of them have."""

    def together(self) -> Any:
        """Return a context whose calls start as one, so that they cannot wait for each other."""


def library() -> Library:
    """Return the binding that is installed.

    Raises
    ------
    DistBackendError
        There is none, or it does not find NCCL.
    """
    try:
        from nccl import core
        from nccl.bindings.nccl import NCCLError

        return Nccl4pyLibrary(core, (core.NcclInvalid, NCCLError))
    except ImportError:
        pass
    try:
        from cupy_backends.cuda.libs import nccl

        return CupyLibrary(nccl)
    except ImportError as error:
        raise DistBackendError(
            f"the nccl engine needs NCCL and a binding of it ({error}): "
            "pip install nccl4py 'cuda-bindings~=12.0' nvidia-nccl-cu12"
        ) from error


# --- nccl4py -------------------------------------------------------------------------------------------------------


class Nccl4pyLibrary:
    """NCCL through nccl4py."""

    factors = True

    def __init__(self, core: Any, errors: tuple[type[Exception], ...]) -> None:
        self.core, self.errors = core, errors

    def unique_id(self) -> bytes:
        """Return what names a new communicator."""
        return bytes(self.core.get_unique_id())

    def connect(self, size: int, name: bytes, rank: int) -> Communicator:
        """Connect the ranks that call this with one name."""
        communicator = self.core.Communicator.init(size, rank, self.core.UniqueId.from_bytes(name))
        return _Nccl4pyCommunicator(self.core, communicator)

    def together(self) -> Any:
        """Return a context whose calls start as one."""
        return self.core.group()


class _Nccl4pyCommunicator:
    def __init__(self, core: Any, native: Any) -> None:
        self._core, self._native = core, native

    @contextmanager
    def _operation(self, op: str, factor: float | None, tensor: Tensor) -> Iterator[Any]:
        if factor is None:
            yield getattr(self._core, _OPERATIONS[op])
            return
        operation = self._native.create_pre_mul_sum(factor, getattr(self._core, DTYPES[_name(tensor)]))
        try:
            yield operation
        finally:
            operation.close()  # NCCL keeps what running operations need

    def all_reduce(self, tensor: Tensor, op: str, factor: float | None, stream: int) -> None:
        with self._operation(op, factor, tensor) as operation:
            self._native.allreduce(tensor, tensor, operation, stream=stream)

    def reduce(self, tensor: Tensor, op: str, factor: float | None, root: int, stream: int) -> None:
        with self._operation(op, factor, tensor) as operation:
            self._native.reduce(tensor, tensor, operation, root=root, stream=stream)

    def reduce_scatter(
        self, output: Tensor, input: Tensor, op: str, factor: float | None, stream: int
    ) -> None:
        with self._operation(op, factor, input) as operation:
            self._native.reduce_scatter(input, output, operation, stream=stream)

    def broadcast(self, tensor: Tensor, root: int, stream: int) -> None:
        self._native.broadcast(tensor, tensor, root, stream=stream)

    def all_gather(self, output: Tensor, input: Tensor, stream: int) -> None:
        self._native.allgather(input, output, stream=stream)

    def send(self, tensor: Tensor, peer: int, stream: int) -> None:
        self._native.send(tensor, peer, stream=stream)

    def recv(self, tensor: Tensor, peer: int, stream: int) -> None:
        self._native.recv(tensor, peer, stream=stream)

    def split(self, place: int | None) -> Communicator | None:
        colour, key = (_NO_COLOUR, 0) if place is None else (0, place)
        communicator = self._native.split(colour, key)
        return None if place is None else _Nccl4pyCommunicator(self._core, communicator)

    def error(self) -> str | None:
        result = int(self._native.get_async_error())
        # Reported until all ranks are connected, by communicators that do not block.
        return None if result in (0, _IN_PROGRESS) else str(self._core.get_error_string(result))

    def abort(self) -> None:
        self._native.abort()

    def destroy(self) -> None:
        self._native.destroy()


# --- CuPy ----------------------------------------------------------------------------------------------------------


class CupyLibrary:
    """NCCL through CuPy."""

    factors = False

    def __init__(self, module: Any) -> None:
        self.module = module
        self.errors: tuple[type[Exception], ...] = (module.NcclError,)

    def unique_id(self) -> bytes:
        """Return what names a new communicator."""
        return bytes(self.module.get_unique_id())

    def connect(self, size: int, name: bytes, rank: int) -> Communicator:
        """Connect the ranks that call this with one name."""
        return _CupyCommunicator(self.module, self.module.NcclCommunicator(size, name, rank))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Return a context whose calls start as one."""
        self.module.groupStart()
        try:
            yield
        finally:
            self.module.groupEnd()


class _CupyCommunicator:
    def __init__(self, module: Any, native: Any) -> None:
        self._module, self._native = module, native

    def _what(self, tensor: Tensor) -> tuple[int, int]:
        """Return the number of elements and of their dtype."""
        return tensor.numel(), getattr(self._module, f"NCCL_{DTYPES[_name(tensor)]}")

    def _operation(self, op: str) -> int:
        number: int = getattr(self._module, f"NCCL_{_OPERATIONS[op]}")
        return number

    def all_reduce(self, tensor: Tensor, op: str, factor: float | None, stream: int) -> None:
        address = tensor.data_ptr()
        self._native.allReduce(address, address, *self._what(tensor), self._operation(op), stream)

    def reduce(self, tensor: Tensor, op: str, factor: float | None, root: int, stream: int) -> None:
        address = tensor.data_ptr()
        self._native.reduce(address, address, *self._what(tensor), self._operation(op), root, stream)

    def reduce_scatter(
        self, output: Tensor, input: Tensor, op: str, factor: float | None, stream: int
    ) -> None:
        # NCCL counts the elements that one rank gets; for a gathering, those that it gives.
        self._native.reduceScatter(
            input.data_ptr(), output.data_ptr(), *self._what(output), self._operation(op), stream
        )

    def broadcast(self, tensor: Tensor, root: int, stream: int) -> None:
        self._native.broadcast(tensor.data_ptr(), tensor.data_ptr(), *self._what(tensor), root, stream)

    def all_gather(self, output: Tensor, input: Tensor, stream: int) -> None:
        self._native.allGather(input.data_ptr(), output.data_ptr(), *self._what(input), stream)

    def send(self, tensor: Tensor, peer: int, stream: int) -> None:
        self._native.send(tensor.data_ptr(), *self._what(tensor), peer, stream)

    def recv(self, tensor: Tensor, peer: int, stream: int) -> None:
        self._native.recv(tensor.data_ptr(), *self._what(tensor), peer, stream)

    def split(self, place: int | None) -> Communicator | None:
        # Ranks of one colour form a communicator, in the order of their keys.
        colour, key = (_NO_COLOUR, 0) if place is None else (0, place)
        communicator = self._native.commSplit(colour, key)
        return None if place is None else _CupyCommunicator(self._module, communicator)

    def error(self) -> str | None:
        try:
            self._native.check_async_error()
        # CuPy raises what nccl4py returns.
        except self._module.NcclError as error:
            return str(error)
        return None

    def abort(self) -> None:
        self._native.abort()

    def destroy(self) -> None:
        self._native.destroy()


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).rpartition(".")[2]
