"""`device="cuda"` without a GPU: the plugin as it is, over a CuPy made of NumPy, for a whole process.

`install()` puts the fake in place of `cupy` and a driver in that of NVIDIA's, so that everything between a tensor
program and CuPy runs as on a GPU: the plugin, its backend, handles, namespace, kernels, and those of sparse tensors.
Beneath lie the devices, streams and memory of `fake_cupy` and the functions of `strict_functions`; kernels of programs
run behind the shim, if there is a C++ compiler.

As a program it runs the command `tt` on such a device:

    python -m tests.backends.cuda.emulation ops check --backend cuda --run --ops add
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.backends.cuda import strict_functions, strict_sparse
from tests.backends.cuda.fake_cupy import Driver as FakeDriver
from tests.backends.cuda.fake_cupy import FakeCupy
from tests.backends.cuda.sanitizing import SANITIZE

__all__ = ["DEVICES", "KERNELS", "PRODUCTS", "fake_modules", "install"]

DEVICES: Final = "TT_TEST_EMULATED_CUDA"
"""The variable that says how many devices tests get; without it, `emulated/` is not collected."""

KERNELS: Final = "TT_TEST_CUDA_KERNELS"
"""Where it is 0, the kernels over the array API serve alone."""

PRODUCTS: Final = "TT_TEST_CUDA_PRODUCTS"
"""Where it is 1, there is a cuBLASLt."""


def fake_modules(devices: int = 1, memory: int = 1 << 30) -> dict[str, Any]:
    """Return modules that stand in place of CuPy's."""
    cupy = ModuleType("cupy")
    fake = FakeCupy(FakeDriver(devices, memory))
    cupy.__version__ = strict_functions.FACTS["version"]  # type: ignore[attr-defined]
    strict_functions.fill_module(fake, cupy)
    cupyx, scipy = ModuleType("cupyx"), ModuleType("cupyx.scipy")
    cupyx.errstate = strict_functions.errstate  # type: ignore[attr-defined]
    sparse, linalg = strict_sparse.modules()
    cupyx.scipy, scipy.sparse, sparse.linalg = scipy, sparse, linalg  # type: ignore[attr-defined]
    return {
        "cupy": cupy, "cupyx": cupyx, "cupyx.scipy": scipy, "cupyx.scipy.sparse": sparse,
        "cupyx.scipy.sparse.linalg": linalg,
    }  # fmt: skip


def install(
    devices: int = 1, memory: int = 1 << 30, *, own_kernels: bool = True, products: bool = False
) -> Any:
    """Let `device="cuda"` work from now on; returns the fake CuPy.

    Parameters
    ----------
    devices, memory : int
        How many devices there are, and the bytes of each.
    own_kernels : bool
        Whether kernels of programs serve, for which there must be a C++ compiler; those over the array API do anyway.
    products : bool
        Whether cuBLASLt is there, whose products a graph can capture, unlike CuPy's.
    """
    from tests.backends.cuda.shim.engine import HostEngine, host_compiler
    from tt.backends.cuda import backend, copies, kernels
    from tt.backends.cuda.runtime import availability

    driver = availability.Driver(12040, devices)
    modules = fake_modules(devices, memory)
    sys.modules.update(modules)
    availability.find_driver = lambda: driver  # type: ignore[assignment]
    availability.installed_cupy = lambda: ("cupy-cuda12x",)  # type: ignore[assignment]
    backend.find_driver = lambda: driver  # type: ignore[assignment]
    if own_kernels and host_compiler() is not None:
        folder = Path(os.environ.get("TT_TEST_CUDA_SHIM") or tempfile.mkdtemp(prefix="tt-cuda-shim"))
        backend.CupyEngine = lambda library: _engine(HostEngine, folder, modules["cupy"])  # type: ignore[assignment,misc]
    else:
        copies.cast, copies.copy_into, copies.in_rows = _cast, _copy_into, _in_rows
        every = kernels.kernel_tables
        kernels.kernel_tables = lambda found: [_general(table) for table in every(found)]
        _copy_by_library(backend.CudaBackend)
    if products:
        _install_products(modules["cupy"])
    return modules["cupy"]


def _engine(base: Any, folder: Path, cupy: Any) -> Any:
    """Return an engine of the host whose launches belong to streams, so that graphs capture them."""

    class Engine(base):  # type: ignore[misc]
        def launch(self, *args: Any) -> None:
            super().launch(*args)
            driver, again = cupy._driver, super().launch
            driver.submit(cupy.cuda.get_current_stream().ptr, None, lambda: again(*args))

    return Engine(folder, sanitize=bool(os.environ.get(SANITIZE)))


def _install_products(cupy: Any) -> None:
    """Let cuBLASLt be there, as a fake whose products graphs capture."""
    from tests.backends.cuda.fake_cublaslt import FakeCublasLt
    from tt.backends.cuda.libraries import cublaslt

    class Bindings(FakeCublasLt):
        def _submit(self, work: Any) -> None:
            work()
            cupy._driver.submit(cupy.cuda.get_current_stream().ptr, None, work)

    real, bindings = cublaslt.CublasLt, Bindings()
    cublaslt.CublasLt = lambda found: real(found, lambda: bindings, lambda: None)  # type: ignore[assignment,misc]


def _cast(backend: Any, handle: Any, dtype: Any) -> Any:
    """Cast by CuPy, as without compiled kernels."""
    array = handle.array.real if handle.dtype.kind == "c" and dtype.kind not in "cb" else handle.array
    return backend.normalise(array.astype(dtype))


def _copy_into(backend: Any, target: Any, source: Any) -> None:
    real = source.dtype.kind == "c" and target.dtype.kind not in "cb"
    target.array[...] = source.array.real if real else source.array


def _in_rows(backend: Any, handle: Any) -> Any:
    return backend.normalise(handle.array.copy())


def _general(table: Any) -> Any:
    """Return a table without the kernels that go before those over the array API, but what resizes in memory."""
    table.kernels = [kernel for kernel in table.kernels if not kernel.priority or kernel.op == "resize"]
    return table


def _copy_by_library(backend: Any) -> None:
    """Let a class of backends copy and cast by the library's functions, where no kernels of programs run."""

    def cast(self: Any, handle: Any, native_dtype: Any) -> Any:
        return self.normalise(handle.array.astype(native_dtype))

    def copy_into(self: Any, target: Any, source: Any) -> None:
        target.array[...] = source.array

    def clone(self: Any, handle: Any) -> Any:
        return self.normalise(handle.array.copy())

    backend.cast, backend.copy_into, backend.clone = cast, copy_into, clone


if __name__ == "__main__":
    from tt.cli.main import main

    install(own_kernels=os.environ.get(KERNELS) != "0")
    main()
