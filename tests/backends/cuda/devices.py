"""CUDA over the fake CuPy: what puts it in place of the real one inside a process, with several devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tests.backends.cuda.fake_cupy import Driver, FakeCupy
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.kernels import kernel_tables
from tt.core.library import REGISTRY

__all__ = ["FakeCuda", "fake_cuda"]


class FakeCuda(CudaBackend):
    """The backend of CUDA, of which every device is a fake."""

    def __init__(self, cupy: FakeCupy) -> None:
        super().__init__(library=lambda: cupy)
        self.cupy = cupy

    def available(self) -> str | None:
        return None

    def device_count(self) -> int:
        return self.cupy._driver.devices

    # Copies by the library, as the fake runs no kernels of programs.
    def cast(self, handle: StridedHandle, native_dtype: Any) -> StridedHandle:
        return self.normalise(handle.array.astype(native_dtype))

    def copy_into(self, target: StridedHandle, source: StridedHandle) -> None:
        target.array[...] = source.array

    def clone(self, handle: StridedHandle) -> StridedHandle:
        return self.normalise(handle.array.copy())


@contextmanager
def fake_cuda(devices: int = 2, memory: int = 1 << 26) -> Iterator[Any]:
    """Let `device="cuda"` mean fake devices inside a `with` block: all kernels over the array API, and none of CUDA."""
    before = REGISTRY.backend("cuda")
    driver = Driver(devices, memory)
    backend = FakeCuda(FakeCupy(driver))
    REGISTRY.backends["cuda", "strided"] = backend
    # The kernels of the backend that is there ask for a GPU.
    aside = {op: [r for r in found if _is_of_cuda(r)] for op, found in REGISTRY.kernels.items()}
    for op in aside:
        REGISTRY.kernels[op] = [r for r in REGISTRY.kernels[op] if not _is_of_cuda(r)]
    handles = []
    try:
        for table in kernel_tables(backend):
            table.kernels = [kernel for kernel in table.kernels if not kernel.priority]
            handles.append(REGISTRY.add(table))
        yield SimpleNamespace(backend=backend, driver=driver, cupy=backend.cupy)
    finally:
        for handle in handles:
            handle.remove()
        for op, found in aside.items():
            REGISTRY.kernels[op] = [*found, *REGISTRY.kernels[op]]
        REGISTRY.backends["cuda", "strided"] = before
        REGISTRY.invalidate_all()


def _is_of_cuda(registration: Any) -> bool:
    return registration.device == "cuda" and "strided" in registration.layouts
