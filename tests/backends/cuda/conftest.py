"""Kernels of programs without a GPU: run on the host behind a shim, and compiled by NVRTC."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from tests.backends.cuda.cases import kernels_of, launched
from tests.backends.cuda.devices import fake_cuda
from tests.backends.cuda.sanitizing import SANITIZE
from tests.backends.cuda.shim.engine import HostEngine, host_compiler
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.core.errors import DeviceError


@pytest.fixture(scope="session")
def shim_folder(request):
    """Where kernels that were compiled for the host are kept, by the digest of their text."""
    return request.config.cache.mkdir("cuda-shim")


@pytest.fixture(scope="session")
def host_engine(shim_folder):
    """The engine that runs kernels on the host."""
    if host_compiler() is None:
        pytest.skip("needs a C++ compiler")
    return HostEngine(shim_folder, sanitize=bool(os.environ.get(SANITIZE)))


@pytest.fixture(scope="module")
def kernels(request, host_engine):
    """The kernels of the module's `tables`, compiled for its `CASES`."""
    module = request.module
    host_engine.prepare(launched(module.tables, module.CASES))
    return kernels_of(module.tables, host_engine)


@pytest.fixture
def host_backend(host_engine):
    """A backend of CUDA over NumPy's memory whose kernels run on the host."""
    return CudaBackend(HostMemory(), lambda: np, host_engine)


@pytest.fixture
def cuda():
    """Two devices of the fake CuPy instead of the real one's."""
    with fake_cuda() as found:
        yield found
        gc.collect()


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items):
    """Mark what needs NVRTC, which CuPy's packages bring."""
    for item in items:
        if "nvrtc" in getattr(item, "fixturenames", ()):
            item.add_marker("cupy")


@pytest.fixture(scope="session")
def nvrtc():
    """The compiler of CUDA; it needs no GPU."""
    from tt.backends.cuda.compile import compiler

    if os.environ.get(SANITIZE):
        pytest.skip("AddressSanitizer's dlopen does not look for NVRTC's parts in its folder")
    try:
        compiler.nvrtc()
    except DeviceError as error:
        pytest.skip(str(error).splitlines()[0])
    return compiler


@pytest.fixture(autouse=True)
def _gpu(request):
    """Skip what needs a GPU if there is none, with the reason."""
    if request.node.get_closest_marker("gpu") is not None:
        from tt.backends.cuda.runtime.availability import reason

        problem = reason()
        if problem is not None:
            pytest.skip(f"needs a GPU: {problem}")
