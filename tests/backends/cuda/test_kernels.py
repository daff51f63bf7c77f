"""The kernels of CUDA over strided handles, with NumPy in place of CuPy: the translation between the two is shown,
CuPy's own arithmetic is not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tt
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.kernels import kernel_tables
from tt.backends.cuda.libraries.namespace import LazyNamespace


@pytest.fixture
def backend():
    return CudaBackend(HostMemory(), lambda: np)


def kernels(backend, op):
    return [kernel for table in kernel_tables(backend) for kernel in table.kernels if kernel.op == op]


def test_building_the_tables_imports_no_library():
    def refuse():
        raise AssertionError("the library was asked for")

    tables = kernel_tables(CudaBackend(HostMemory(), refuse))
    served = {kernel.op for table in tables for kernel in table.kernels}
    assert {"add", "exp", "sum", "matmul", "as_strided", "view"} <= served
    assert all(table.device == "cuda" for table in tables)


def test_a_kernel_takes_and_returns_handles(backend):
    left = backend.normalise(np.arange(6.0).reshape(2, 3))
    right = backend.normalise(np.ones((2, 3)))
    kernel = next(k for k in kernels(backend, "add") if set(k.takes) >= {"self", "other", "alpha"})
    result = kernel.function(*({"self": left, "other": right, "alpha": 2}[name] for name in kernel.takes))
    assert type(result) is StridedHandle
    np.testing.assert_array_equal(result.array, np.arange(6.0).reshape(2, 3) + 2)


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "bool"])
def test_numbers_are_passed_by_value(dtype):
    # An array made of a number would be one more launch.
    class Library:
        def __getattr__(self, name):
            if name in ("full", "asarray", "array"):
                raise AssertionError(f"{name} was called")
            return getattr(np, name)

    backend = CudaBackend(HostMemory(), Library)
    x = backend.normalise(np.ones((2, 3), dtype))
    served = {kernel.op: kernel.function for kernel in kernel_tables(backend)[0].kernels}
    for op in ("mul", "eq", *(() if dtype == "complex64" else ("le", "ge"))):
        np.testing.assert_array_equal(served[op](x, 1).array, np.ones((2, 3)))


def test_numbers_of_bfloat16_are_arrays(backend):
    # CuPy takes no scalars of bfloat16.
    general = kernel_tables(backend)[0].kernels
    multiply = next(kernel.function for kernel in general if kernel.op == "mul")
    found = multiply(backend.normalise(np.ones(3, ml_dtypes.bfloat16)), 1.5)
    assert found.dtype.name == "bfloat16"
    assert found.array.tolist() == [1.5] * 3


def test_views_share_the_memory_of_their_base(backend):
    base = backend.normalise(np.arange(6.0).reshape(2, 3).copy())
    (kernel,) = kernels(backend, "as_strided")
    view = kernel.function(base, (3, 2), (1, 3), 0)
    assert view.owner is base.owner
    np.testing.assert_array_equal(view.array, np.arange(6.0).reshape(2, 3).T)
    view.array[...] = 0
    assert not base.array.any()
    (kernel,) = kernels(backend, "permute")
    assert kernel.function(base, (1, 0)).shares_memory(base)


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_keeps_equal_elements_in_order(descending):
    namespace = LazyNamespace(lambda: np)
    values = np.random.default_rng(0).integers(0, 4, (5, 9))
    order = namespace.argsort(values, axis=1, descending=descending)
    keys = -values if descending else values
    np.testing.assert_array_equal(order, np.argsort(keys, axis=1, kind="stable"))
    expected = np.sort(values, axis=1)[:, :: -1 if descending else 1]
    np.testing.assert_array_equal(namespace.sort(values, axis=1, descending=descending), expected)


def test_the_backend_s_methods_work_on_handles(host_backend):
    handle = host_backend.empty((2, 3), np.float32)
    host_backend.copy_into(handle, host_backend.normalise(np.arange(3)))
    np.testing.assert_array_equal(handle.array, np.broadcast_to(np.arange(3), (2, 3)))
    copy = host_backend.clone(handle)
    assert not copy.shares_memory(handle)
    assert host_backend.cast(handle, np.dtype(np.int64)).dtype == np.int64
    assert (host_backend.strides(handle), host_backend.offset(handle)) == ((3, 1), 0)
    assert host_backend.storage_nbytes(host_backend.storage_owner(handle)) == 24
    assert host_backend.storage_data_ptr(host_backend.storage_owner(handle)) == host_backend.data_ptr(handle)


def test_tensors_show_the_index_of_their_device(backend, monkeypatch):
    monkeypatch.setattr(backend, "device_count", lambda: 2)
    assert (
        backend.spec(tt.float32).device
        == backend.spec(tt.float32, tt.device("cuda")).device
        == tt.device("cuda:0")
    )
    assert backend.spec(tt.float32, tt.device("cuda")) is backend.spec(tt.float32, tt.device("cuda:0"))
    assert backend.spec(tt.float32, tt.device("cuda:1")).device.index == 1
    with pytest.raises(
        tt.errors.DeviceError,
        match="invalid device ordinal: there is no device 'cuda:2'; there are 2 devices",
    ):
        backend.spec(tt.float32, tt.device("cuda:2"))
