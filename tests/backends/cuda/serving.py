"""What tests of CUDA kernels share: handles over NumPy's memory, and the kernels of a table by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

import tt
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.core.library import KernelTable, ops

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class AlignedMemory(HostMemory):
    """Memory of the host whose addresses are multiples of 256, as a GPU's are: plans of libraries depend on that."""

    def allocate(self, nbytes: int) -> Any:
        space = np.zeros(nbytes + 256, np.uint8)
        offset = -space.ctypes.data % 256
        return space[offset : offset + nbytes]


class HostLibrary:
    """NumPy in place of CuPy, with one device and a stream."""

    def __init__(self, stream: int = 7) -> None:
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(getDevice=lambda: 0),
            get_current_stream=lambda: SimpleNamespace(ptr=stream),
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def backend_on(engine: Any = None) -> CudaBackend:
    """Return a backend over NumPy's memory, of which libraries learn device 0 and stream 7."""
    library = HostLibrary()
    return CudaBackend(AlignedMemory(), lambda: library, engine)


def served(tables: Iterable[KernelTable]) -> list[dict[str, Callable[..., Any]]]:
    """Return the kernels of each table by operator."""
    return [{kernel.op: kernel.function for kernel in table.kernels} for table in tables]


def dtype_of(name: str) -> np.dtype[Any]:
    """Return a dtype by its name, bfloat16 among them."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def values(seed: int, shape: Any, name: str = "float32") -> np.ndarray[Any, Any]:
    """Return random numbers of a dtype."""
    random = np.random.default_rng(seed)
    dtype = dtype_of(name)
    if dtype.kind in "iu":
        return random.integers(0 if dtype.kind == "u" else -5, 6, shape).astype(dtype)
    found = random.standard_normal(shape)
    if dtype.kind == "c":
        found = found + 1j * random.standard_normal(shape)
    return np.asarray(found).astype(dtype)


def contents(handle: Any) -> np.ndarray[Any, Any]:
    """Return the elements of a handle in a dtype that NumPy's tests compare."""
    found = np.asarray(handle.array)
    return found.astype(np.float64) if found.dtype == BFLOAT16 or found.dtype.kind == "f" else found


def on_cpu(op: str, args: Iterable[Any]) -> Any:
    """Return the result of the CPU's operator for arrays."""

    def tensor(x: Any) -> Any:
        if isinstance(x, list):
            return [tensor(one) for one in x]
        if not isinstance(x, np.ndarray):
            return x
        return tt.from_numpy(x.astype(np.float32)).bfloat16() if x.dtype == BFLOAT16 else tt.from_numpy(x)

    found = ops
    for name in op.split("."):
        found = getattr(found, name)
    return found(*map(tensor, args))


def compare(found: Any, expected: Any, tolerance: float) -> None:
    """Fail unless handles have the dtypes and, nearly, the elements of tensors."""
    if not isinstance(found, tuple | list):
        found, expected = [found], [expected]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype_of(str(other.dtype).removeprefix("tt."))
        assert one.shape == tuple(other.shape)
        array = other.float().numpy() if other.dtype is tt.bfloat16 else other.numpy()
        np.testing.assert_allclose(contents(one), array, rtol=tolerance, atol=tolerance)


def check_against_cpu(own: Any, op: str, args: Iterable[Any], tolerance: float) -> Any:
    """Run a kernel and the CPU's operator on the same arrays, and compare; returns the kernel's results."""
    backend, kernels = own
    given = list(args)

    def handle(x: Any) -> Any:
        if isinstance(x, list):
            return [handle(one) for one in x]
        return backend.normalise(x) if isinstance(x, np.ndarray) else x

    found = kernels[op](*map(handle, given))
    compare(found, on_cpu(op, given), tolerance)
    return found
