"""Products by cuBLASLt, played by NumPy: the requests to the library, and the results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.cuda.fake_cublaslt import FakeCublasLt
from tests.backends.cuda.serving import backend_on, contents, served, values
from tt.backends.cuda import matmul
from tt.backends.cuda.libraries.cublaslt import CublasLt
from tt.backends.cuda.linalg import products
from tt.core.errors import ArgumentError, DeviceError, UnknownNameError

pytestmark = pytest.mark.sampled(6)

TOLERANCE = {
    "float16": 4e-3, "bfloat16": 4e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12,
}  # fmt: skip


@pytest.fixture
def lt():
    return FakeCublasLt()


@pytest.fixture
def called(lt, host_engine):
    """Calls an operator with arrays; the number of products that the library computed is checked."""
    backend = backend_on(host_engine)
    kernels = served(products.tables(backend, CublasLt(backend, lambda: lt, lambda: None)))[1]

    def call(op, *args, by_library=1):
        before = len(lt.products)
        handles = [backend.normalise(a) if isinstance(a, np.ndarray) else a for a in args]
        found = kernels[op](*handles)
        assert len(lt.products) - before == by_library
        return found

    return call


def close(found, expected, name="float32"):
    np.testing.assert_allclose(contents(found), expected, atol=TOLERANCE[name] * 8, rtol=TOLERANCE[name])


def wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


@pytest.mark.parametrize("name", list(TOLERANCE))
def test_every_dtype(called, name):
    a, b = values(1, (5, 7), name), values(2, (7, 3), name)
    found = called("mm", a, b)
    assert found.dtype == a.dtype and found.shape == (5, 3)
    close(found, wide(a) @ wide(b), name)
    c = values(3, (5, 3), name)
    close(called("addmm", c, a, b, 2, 0.5), 2 * wide(c) + 0.5 * wide(a) @ wide(b), name)


@pytest.mark.parametrize("turn_one", [False, True])
@pytest.mark.parametrize("turn_two", [False, True])
def test_layouts_are_read_in_place_where_rows_or_columns_are_contiguous(lt, called, turn_one, turn_two):
    a = values(1, (7, 5)).T if turn_one else values(1, (5, 9))[:, 1:8]
    b = values(2, (3, 8)).T[:7] if turn_two else values(2, (7, 3))
    close(called("mm", a, b), a @ b)
    assert (lt.products[-1]["TRANSA"], lt.products[-1]["TRANSB"]) == (int(turn_two), int(turn_one))
    gaps = values(3, (10, 14))[::2, ::2]
    close(called("mm", gaps, b), gaps @ b)


def test_a_bias_is_added_by_the_library(lt, called):
    x, w, bias = values(1, (2, 4, 6)), values(2, (3, 6)), values(3, (6,))[::2]
    close(called("linear", x, w, bias), x @ w.T + bias)
    assert lt.products[-1]["EPILOGUE"] == lt.Epilogue.BIAS
    close(called("linear", x, w, None), x @ w.T)
    assert lt.products[-1]["EPILOGUE"] == lt.Epilogue.DEFAULT
    close(called("linear", x[0, 0], w, np.array(2.0, np.float32)), x[0, 0] @ w.T + 2)
    c = values(4, (3,))
    close(called("addmm", c, x[0], w.T, 1, 1), x[0] @ w.T + c)
    assert lt.products[-1]["EPILOGUE"] == lt.Epilogue.BIAS
    z = values(5, (3,), "complex64")
    close(called("addmm", z, x[0].astype("complex64"), w.T.astype("complex64"), 1, 1), x[0] @ w.T + z)
    assert lt.products[-1]["EPILOGUE"] == lt.Epilogue.DEFAULT


def activated(found, use_gelu):
    tanh = np.tanh(np.sqrt(2 / np.pi) * (found + 0.044715 * found**3))
    return found * 0.5 * (1 + tanh) if use_gelu else np.maximum(found, 0)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("use_gelu", [False, True])
def test_an_activation_is_part_of_the_product(lt, called, name, use_gelu):
    a, b = values(1, (5, 7), name), values(2, (7, 3), name)
    kind = "GELU" if use_gelu else "RELU"
    for shape, beta, alpha, epilogue in (
        ((3,), 1, 1, f"{kind}_BIAS"), ((5, 3), 1, 1, kind), ((5, 1), 2, 1, kind), ((3,), 1, 0.5, kind),
        ((3,), 0, 1, kind),
    ):  # fmt: skip
        c = values(3, shape, name)
        expected = activated(beta * wide(c) + alpha * wide(a) @ wide(b), use_gelu)
        close(called("_addmm_activation", c, a, b, beta, alpha, use_gelu), expected, name)
        assert lt.products[-1]["EPILOGUE"] == lt.Epilogue[epilogue]
    lt.none_for = {name}
    for size in (9, 0):  # no algorithm, and nothing to multiply
        args = values(3, (3,), name), values(1, (5, size), name), values(2, (size, 3), name)
        expected = activated(wide(args[0]) + wide(args[1]) @ wide(args[2]), use_gelu)
        close(called("_addmm_activation", *args, 1, 1, use_gelu, by_library=0), expected, name)
    assert called("_addmm_activation", c, a[:0], b, 1, 1, use_gelu, by_library=0).shape == (0, 3)


def test_what_is_added_zero_times_does_not_count(called):
    a, b = values(1, (2, 3)), values(2, (3, 4))
    close(called("addmm", np.full((2, 4), np.nan, np.float32), a, b, 0, 1), a @ b)


def test_batches(called):
    a, b, c = values(1, (4, 2, 3)), values(2, (4, 3, 5)), values(3, (2, 5))
    close(called("bmm", a, b), a @ b)
    close(called("bmm", a.transpose(0, 1, 2)[::2], b[::2]), a[::2] @ b[::2])
    close(called("baddbmm", c, a, b, 1, 2), c + 2 * (a @ b))
    shared = np.broadcast_to(b[:1], (4, 3, 5))
    close(called("bmm", a, shared), a @ shared)


shapes = st.lists(st.integers(1, 3), max_size=2)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_matmul_broadcasts_as_numpy(host_engine, data):
    lt = FakeCublasLt()
    backend = backend_on(host_engine)
    library = CublasLt(backend, lambda: lt, lambda: None)
    kernels = served(products.tables(backend, library))[1]
    batch = data.draw(shapes)
    one, two = (tuple(data.draw(st.sampled_from([n, 1])) for n in batch) for _ in range(2))
    one = one[data.draw(st.integers(0, len(one))) :]
    rows, inner, columns = (data.draw(st.integers(1, 4)) for _ in range(3))
    left = (*one, rows, inner) if data.draw(st.booleans()) else (inner,)
    right = (*two, inner, columns) if data.draw(st.booleans()) else (inner,)
    a, b = values(1, left), values(2, right)
    if a.ndim > 2 and data.draw(st.booleans()):
        a = np.ascontiguousarray(a.swapaxes(0, -1)).swapaxes(0, -1)
    found = kernels["matmul"](backend.normalise(a), backend.normalise(b))
    expected = a @ b
    assert found.shape == np.shape(expected)
    close(found, expected)


def test_empty_factors(called):
    assert called("mm", values(1, (0, 3)), values(2, (3, 2)), by_library=0).shape == (0, 2)
    found = called("addmm", values(3, (2,)), values(1, (4, 0)), values(2, (0, 2)), 1, 1, by_library=0)
    close(found, np.broadcast_to(values(3, (2,)), (4, 2)))
    found = called("mm", values(1, (4, 0), "bfloat16"), values(2, (0, 2), "bfloat16"), by_library=0)
    assert found.dtype.name == "bfloat16" and not contents(found).any()


@pytest.mark.parametrize(
    "args", [("mm", (2, 3), (2, 3)), ("bmm", (2, 2, 3), (3, 3, 2)), ("matmul", (3,), (2, 2))]
)
def test_shapes_that_do_not_fit_are_left_to_the_shape_rule(called, args):
    op, one, two = args
    with pytest.raises(ValueError, match=r"differ|dimensions"):
        called(op, values(1, one), values(2, two))


def test_plans_are_kept_by_what_they_depend_on(lt, called):
    a, b = values(1, (4, 4)), values(2, (4, 4))
    for _ in range(3):
        called("mm", a, b)
    assert lt.asked == 1
    with matmul.flags(allow_tf32=True):
        called("mm", a, b)
        called("mm", a.astype("float64"), b.astype("float64"))
    assert [p["compute"] for p in lt.products] == [68, 68, 68, 77, 70]
    called("mm", a, b)
    assert lt.asked == 3 and {p["stream"] for p in lt.products} == {7}


def test_plans_that_are_dropped_give_their_descriptors_back(lt, host_engine):
    backend = backend_on(host_engine)
    library = CublasLt(backend, lambda: lt, lambda: None)
    library.plans._most = 2
    kernels = served(products.tables(backend, library))[1]
    for size in (1, 2, 3, 4):
        kernels["mm"](*(backend.normalise(values(i, (size, size))) for i in range(2)))
    kinds = [facts["kind"] for facts in lt.live.values()]
    assert (kinds.count("desc"), kinds.count("layout"), kinds.count("preference")) == (2, 6, 0)


def test_what_the_library_has_no_algorithm_for_is_computed_by_arrays(lt, called):
    lt.none_for = {"bfloat16", "complex64"}
    for name in lt.none_for:
        a, b, c = values(1, (3, 4), name), values(2, (4, 2), name), values(3, (2,), name)
        found = called("addmm", c, a, b, 1, 1, by_library=0)
        assert found.dtype == a.dtype
        close(found, wide(a) @ wide(b) + wide(c), name)


@pytest.mark.parametrize("where", ["heuristic", "matmul"])
def test_a_failure_of_the_library_is_an_error_of_the_device(lt, called, where):
    lt.fails = where
    asked = r"product of \[2, 3\] and \[3, 2\], float32, epilogue DEFAULT"
    with pytest.raises(DeviceError, match=rf"cuBLASLt failed: CUBLAS_STATUS_\w+ .*\n  {asked}"):
        called("mm", values(1, (2, 3)), values(2, (3, 2)))


def test_switches_know_their_names_and_values():
    with pytest.raises(UnknownNameError, match="allow_tf32"):
        matmul.allow_tf33 = True
    with pytest.raises(ArgumentError, match=r"allow_tf32.*is True or False, not 1"):
        matmul.allow_tf32 = 1
    with pytest.raises(UnknownNameError), matmul.flags(allow_tf32=True, other=True):
        pass
    assert repr(matmul).startswith("MatmulSettings(allow_tf32=False, ")


def test_without_the_library_a_sum_is_part_of_the_product(host_engine):
    backend = backend_on(host_engine)
    plain = served(products.tables(backend, CublasLt(backend)))[0]
    assert set(plain) == {"linear", "baddbmm"}
    x, w, bias = values(1, (2, 4, 6)), values(2, (3, 6)), values(3, (3,))
    close(plain["linear"](*map(backend.normalise, (x, w, bias))), x @ w.T + bias)
    close(plain["linear"](backend.normalise(x[0, 0]), backend.normalise(w), None), w @ x[0, 0])
    a, b, c = values(1, (4, 2, 3), "int64"), values(2, (4, 3, 5), "int64"), values(3, (2, 5), "int64")
    found = plain["baddbmm"](*map(backend.normalise, (c, a, b)), 2.0, 3.0)
    np.testing.assert_array_equal(found.array, 2 * c + 3 * (a @ b))
