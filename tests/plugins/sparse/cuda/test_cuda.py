"""The kernels of sparse tensors on CUDA: with NumPy and SciPy in CuPy's place, and on a device if there is one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.sparse.making import COMPRESSED, LAYOUTS, matrix, numpy_of, sparse_of
from tt.core.library import REGISTRY
from tt.plugins.sparse.compute import arithmetic, elements, products, reduction, sampled, solve
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.cpu.convert import convert as cpu_convert
from tt.plugins.sparse.cpu.library import LIBRARY as CPU
from tt.plugins.sparse.cuda.convert import conversion, to_dense
from tt.plugins.sparse.cuda.library import CudaLibrary
from tt.plugins.sparse.layouts import CooHandle, SparseHandle
from tt.plugins.sparse.parts import as_tensor_of

STANDIN = CudaLibrary("numpy", "scipy.sparse")
"""What CUDA runs, but for the arrays."""


def dense(value: Any) -> Any:
    """Return the result of a kernel of the CPU or of the stand-in as arrays."""
    if isinstance(value, tuple):
        return tuple(map(dense, value))
    if isinstance(value, SparseHandle):
        return numpy_of(as_tensor_of(value, tt.device("cpu")))
    return np.asarray(value)


def agree(function: Any, *args: Any) -> None:
    """Check that a kernel computes the same over both libraries, with the same layout and pattern."""
    found, expected = function(STANDIN, *args), function(CPU, *args)
    assert type(found) is type(expected)
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        single = np.asarray(dense(one)).dtype.char in "fF"
        np.testing.assert_allclose(
            dense(one), dense(other), rtol=1e-4 if single else 1e-7, atol=1e-6 if single else 1e-13
        )
        if isinstance(one, SparseHandle):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            if isinstance(one, CooHandle):
                assert one.coalesced == other.coalesced
        else:
            assert np.asarray(one).dtype == np.asarray(other).dtype


def handle(layout: str, array: Any) -> Any:
    return sparse_of(layout, array)._handle


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic(layout: str, dtype: Any) -> None:
    a, b = handle(layout, matrix(1, dtype=dtype)), handle(layout, matrix(2, dtype=dtype))
    for function in (arithmetic.add, arithmetic.sub):
        agree(function, a, b, 2)
    agree(arithmetic.mul, a, b)
    plain = matrix(3, density=1.1, dtype=dtype)
    agree(arithmetic.add_dense, plain, a, 3)
    agree(arithmetic.sub_dense, a, plain, 2)
    agree(elements.gather, plain, a)
    agree(elements.gather, b, a)
    agree(reduction.sum_values, a, None)


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_two_layouts(first: str, second: str) -> None:
    a, b = handle(first, matrix(4)), handle(second, matrix(5))
    agree(arithmetic.add, a, b, 1)
    agree(arithmetic.mul, a, b)
    agree(products.matmul, a, handle(second, matrix(6, 6, 4)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(layout: str, dtype: Any) -> None:
    a = handle(layout, matrix(7, dtype=dtype))
    right, left = matrix(8, 6, 5, 1.1, dtype), matrix(9, 3, 4, 1.1, dtype)
    for operands in ((a, right), (a, right[:, 0].copy()), (left, a), (left[0], a)):
        agree(products.matmul, *operands)
    agree(sampled.sampled_mm, a, matrix(10, 4, 3, 1.1, dtype), matrix(11, 3, 6, 1.1, dtype))


def test_batches_other_sums_and_solving() -> None:
    batch = np.stack([matrix(12), matrix(12) * 2])
    for layout in ("coo", "csr", "csc"):
        agree(products.matmul, handle(layout, batch), np.ones((2, 6, 3)))
        agree(products.matmul, np.ones((2, 3, 4)), handle(layout, batch))
    a, b = handle("csr", matrix(13)), matrix(14, 6, 3, 1.1)
    for reduce in sampled.REDUCTIONS:
        agree(sampled.mm_reduce, a, b, reduce)
    chosen = sampled.mm_reduce(CPU, a, b, "amax")[1]
    agree(sampled.mm_reduce_backward, a, np.ones((4, 3)), b, chosen)
    for layout in LAYOUTS:
        system = handle(layout, matrix(15, 4, 4) + 3 * np.eye(4))
        for right in (np.ones(4), np.ones((4, 2))):
            agree(solve.spsolve, system, right, True)


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
def test_reductions(layout: str) -> None:
    a = handle(layout, matrix(16))
    for dim in (0, 1):
        agree(reduction.softmax, a, dim, False)
        agree(reduction.softmax, a, dim, True)
        agree(reduction.fiber_sum, a, dim)
        agree(reduction.spread, np.ones((1, 6)), a, [0], True)
    if layout in ("coo", "uncoalesced", "hybrid"):
        for dims in ([0], [1], [0, 1]):
            for keepdim in (False, True):
                agree(reduction.sum_dims, a, dims, keepdim)
    if layout == "csr":
        for dims in ([0], [1], [0, 1]):
            agree(reduction.sum_matrix, a, dims, True)


@pytest.mark.parametrize("target", ["coo", *COMPRESSED])
@pytest.mark.parametrize("source", [*LAYOUTS, "dense"])
def test_conversions(source: str, target: str) -> None:
    for array in (matrix(17), np.zeros((4, 6)), np.stack([matrix(18), matrix(18) * 3])):
        if source == "uncoalesced" and array.ndim == 3 and target != "coo":
            continue
        made = sparse_of(source, array)._handle if source != "dense" else array
        if source in ("coo", "uncoalesced") and array.ndim == 3 and target != "coo":
            continue  # a compressed layout has two sparse dimensions
        blocks = (2, 2) if target[0] == "b" else None
        dims = array.ndim if target == "coo" else 2
        wanted = Conversion(f"sparse_{target}", dims, blocks, 0)
        found, expected = conversion(STANDIN, made, wanted), cpu_convert(made, wanted)
        assert type(found) is type(expected)
        for name, part in found.components.items():
            if source == target == "uncoalesced":
                continue
            np.testing.assert_array_equal(part, expected.components[name], err_msg=name)
        if not isinstance(made, np.ndarray):
            np.testing.assert_array_equal(to_dense(STANDIN, made, None), array)


def test_coalescing() -> None:
    made = handle("uncoalesced", matrix(19))
    found, expected = STANDIN.coalesce(made), CPU.coalesce(made)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.values, expected.values)
    assert STANDIN.coalesce(found) is found


def test_kernels_get_arrays_and_return_handles_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    class Held:
        """A handle as CUDA's: it describes an array."""

        def __init__(self, array: Any) -> None:
            self.array, self.shape, self.ndim, self.dtype = array, array.shape, array.ndim, array.dtype

    backend, made = SimpleNamespace(normalise=Held), handle("csr", matrix(20))
    monkeypatch.setattr(type(REGISTRY), "backend", lambda self, device, layout="strided": backend)
    described = type(made)(*(Held(part) for part in made.components.values()), made.shape)
    product = STANDIN.bind(products.matmul)(described, Held(np.ones((6, 2))))
    assert type(product) is Held
    np.testing.assert_allclose(product.array, matrix(20) @ np.ones((6, 2)))
    both = STANDIN.bind(arithmetic.add)(described, described, 1)
    assert all(type(part) is Held for part in both.components.values())
    np.testing.assert_allclose(both.values.array, 2 * made.values)


def test_cupy_is_not_imported_before_a_kernel_is_called() -> None:
    library = CudaLibrary("a_library_that_nobody_has", "nor_this")
    assert callable(library.bind(arithmetic.add))
    with pytest.raises(ModuleNotFoundError, match="a_library_that_nobody_has"):
        assert library.xp


@pytest.mark.parametrize("layout", LAYOUTS)
def test_on_a_device(layout: str) -> None:
    if not tt.cuda.is_available():
        pytest.skip("needs a CUDA device")
    array, right = matrix(23), matrix(24, 6, 3, 1.1)
    made = sparse_of(layout, array).to("cuda")
    assert made.device.type == "cuda"
    for found, expected in (
        (made @ tt.tensor(right).to("cuda"), array @ right), (made + made, 2 * array), (made.sin(), np.sin(array)),
        (made.to_dense(), array), (made.sum(), array.sum()), (made @ made.transpose(0, 1), array @ array.T),
    ):  # fmt: skip
        np.testing.assert_allclose(numpy_of(found.cpu()), expected)
