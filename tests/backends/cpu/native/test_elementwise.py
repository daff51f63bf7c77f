"""Shapes, strides, memory orders, dtypes, outputs and threads of what works element by element."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tests.threads import in_threads
from tt.backends.cpu.native.loading import load, status

P: Any = load("pointwise")
A: Any = load("activation")
pytestmark = pytest.mark.skipif(P is None, reason=f"native kernels are not in use: {status().reason}")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16]


def views(array: Any) -> Iterator[Any]:
    """Yield views of a matrix of 24 x 30: gaps, negative and zero strides, other orders, no elements, one."""
    yield array
    yield array.T
    yield array[::2, 1::3]
    yield array[:, ::-1]
    yield array[::-1, ::-1]
    yield array.T[1:]
    yield np.broadcast_to(array[:1], array.shape)
    yield array[:0]
    yield array[3, 4, ...]
    yield array[:, 3]
    cube = array.reshape(4, 6, -1)
    yield cube.transpose(2, 0, 1)
    yield cube.transpose(0, 2, 1)[:, ::3]
    yield np.broadcast_to(cube[:, :1], cube.shape).swapaxes(0, 1)


def matrix(dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((24, 30)).astype(dtype)


def wide(array: Any) -> Any:
    return array.astype(np.float64)


@pytest.mark.torch
@pytest.mark.parametrize("left", [*itertools.permutations(range(3))], ids=str)
@pytest.mark.parametrize("right", [*itertools.permutations(range(3))], ids=str)
def test_of_two_orders_in_memory_the_first_tensor_decides(left, right):
    torch = pytest.importorskip("torch")
    found, expected = (
        library.zeros(2, 3, 4).permute(left).contiguous().permute(np.argsort(left).tolist())
        + library.zeros(2, 3, 4).permute(right).contiguous().permute(np.argsort(right).tolist())
        for library in (tt, torch)
    )
    assert found.stride() == expected.stride()


@pytest.mark.torch
def test_a_broadcast_tensor_orders_only_its_own_dimensions():
    torch = pytest.importorskip("torch")
    for shape in ((3, 1), (2, 1, 1), (1, 3, 4), (3, 4)):
        found, expected = (
            library.zeros(*shape) + library.zeros(4, 3, 2).permute(2, 1, 0) for library in (tt, torch)
        )
        assert found.stride() == expected.stride()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_view_gives_the_values_and_strides_of_numpy(dtype):
    for view in views(matrix(dtype)):
        found = P.neg(view)
        wanted = np.asarray(np.negative(view))
        assert (found.shape, found.dtype, found.strides) == (view.shape, dtype, wanted.strides)
        np.testing.assert_array_equal(wide(found), wide(wanted))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_two_views_of_different_orders(dtype):
    for one in views(matrix(dtype)):
        for other in views(matrix(dtype, 1)):
            if one.shape != other.shape:
                continue
            found = P.add(one, other)
            wanted = np.asarray(np.add(one, other))
            np.testing.assert_array_equal(wide(found), wide(wanted))
            if dtype != BFLOAT16:
                assert found.strides == wanted.strides


@pytest.mark.parametrize(
    "shapes", [((3, 1), (1, 4)), ((5,), (2, 3, 5)), ((), (4,)), ((2, 1, 3), (4, 1)), ((0, 1), (1, 3))]
)
def test_broadcasting(shapes):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape) for shape in shapes)
    np.testing.assert_array_equal(P.mul(a, b), a * b)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="cannot be broadcast"):
        P.add(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="another shape"):
        P.exp(np.ones(3), np.ones(4))


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="int64"):
        P.exp(np.ones(3, np.int64))
    with pytest.raises(ValueError, match="float32"):
        P.add(np.ones(3), np.ones(3, np.float32))
    with pytest.raises(TypeError, match="takes 2 to 3 arguments"):
        P.add(np.ones(3))
    with pytest.raises(TypeError):
        P.exp("text")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_stand_in_the_place_of_either_array(dtype):
    x = matrix(dtype)
    for found, wanted in (
        (P.sub(x, 2), wide(x) - 2),
        (P.sub(2.5, x), 2.5 - wide(x)),
        (P.mul(x, True), wide(x)),
    ):
        assert found.dtype == dtype
        np.testing.assert_array_equal(wide(found), wide(wanted.astype(dtype)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_output_of_any_strides_is_written_and_nothing_else(dtype):
    x = matrix(dtype)
    for step in (1, 2, -1):
        buffer = np.full((24, 60), 7).astype(dtype)
        target = buffer[:, :30] if step == 1 else buffer[:, ::2] if step == 2 else buffer[:, 29::-1]
        assert P.square(x, target) is target
        np.testing.assert_array_equal(wide(target), wide((wide(x) ** 2).astype(dtype)))
        untouched = buffer[:, 30:] if step != 2 else buffer[:, 1::2]
        assert (wide(untouched) == 7).all()


def test_half_precision_is_rounded_once():
    x = np.arange(65536, dtype=np.uint16)
    for dtype in (np.dtype(np.float16), BFLOAT16):
        halves = x.view(dtype)
        with np.errstate(all="ignore"):
            wanted = (wide(halves) * 3).astype(np.float32).astype(dtype)
        found = P.mul(halves, 3)
        number = ~np.isnan(wide(wanted))
        np.testing.assert_array_equal(found.view(np.uint16)[number], wanted.view(np.uint16)[number])
        assert np.isnan(wide(found)[~number]).all()


@given(st.integers(1, 4), st.data())
def test_any_strides(ndim, data):
    shape = tuple(data.draw(st.integers(0, 5)) for _ in range(ndim))
    base = np.random.default_rng(0).standard_normal([2 * n + 1 for n in shape])
    steps = [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in range(ndim)]
    view = base[tuple(slice(None, None, s) for s in steps)][tuple(slice(0, n) for n in shape)]
    view = view.transpose(data.draw(st.permutations(range(ndim))))
    np.testing.assert_array_equal(P.neg(view), -view)
    np.testing.assert_array_equal(P.add(view, view), view + view)
    target = np.zeros_like(view)
    P.mul(view, 2.0, target)
    np.testing.assert_array_equal(target, view * 2)


# --- threads ---------------------------------------------------------------------------------------------------


@pytest.fixture
def threads() -> Iterator[Any]:
    native = load("threads")
    before = native.get_num_threads()
    yield native
    native.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_large_arrays_are_the_same_in_any_number_of_threads(threads, count):
    x = np.random.default_rng(0).standard_normal((700, 300)).astype(np.float32)
    threads.set_num_threads(1)
    wanted = P.exp(x), P.exp(x.T), P.add(x, x[0]), P.mul(x[:, ::2], 3)
    threads.set_num_threads(count)
    found = P.exp(x), P.exp(x.T), P.add(x, x[0]), P.mul(x[:, ::2], 3)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_kernels_run_in_several_threads_of_python_at_once(threads):
    threads.set_num_threads(2)
    x = np.random.default_rng(0).standard_normal(200_000)
    wanted, failures = P.exp(x), []

    def work() -> None:
        failures.extend(1 for _ in range(20) if not np.array_equal(P.exp(x), wanted))

    in_threads(*[work] * 4)
    assert not failures


# --- through the dispatcher ------------------------------------------------------------------------------------


def test_explain_shows_the_native_kernel_before_numpys():
    found = tt.explain("exp", ["cpu:float32"]).resolution.candidates
    sources = [(candidate.source.split()[-1], candidate.taken) for candidate in found]
    assert sources == [
        (f"tt.backends.cpu.native._pointwise_{status().level}.exp", True),
        ("numpy.exp", False),
    ]


def test_in_place_calls_write_into_the_tensor():
    x = tt.tensor([[0.25, 1.0], [4.0, 9.0]]).t()
    place = x.data_ptr()
    x.sqrt_().add_(1).mul_(x)
    assert x.data_ptr() == place
    assert x.tolist() == [[2.25, 9.0], [4.0, 16.0]]


def test_an_output_is_written_without_a_copy():
    x, out = tt.ones(1 << 18), tt.zeros(1 << 18)
    place, version = out.data_ptr(), out._version
    tt.exp(x, out=out)
    tt.cpu.reset_accumulated_memory_stats()
    assert tt.exp(x, out=out) is out and tt.add(x, x, alpha=2, out=x) is x
    assert tt.cpu.memory_stats()["allocation.all.allocated"] == 0
    assert (out.data_ptr(), out._version) == (place, version + 2)
    assert (out == tt.exp(tt.ones(1))).all() and (x == 3).all()


def test_an_output_of_another_shape_is_resized_and_of_another_dtype_cast():
    x = tt.ones(3)
    for _ in range(2):
        out = tt.zeros(2)
        with pytest.warns(UserWarning, match="resized"):
            tt.exp(x, out=out)
        assert out.tolist() == tt.exp(x).tolist()
        assert tt.exp(x, out=tt.zeros(3, dtype=tt.float64)).tolist() == tt.exp(x).tolist()
    with pytest.raises(tt.errors.ShapeError):
        tt.add(x, tt.ones(2), out=tt.zeros(3))


def test_a_kernel_of_the_program_goes_before_native_ones():
    from tt.core.library import REGISTRY, KernelTable, PluginRegistry, Provider

    table = KernelTable(device="cpu")
    table.kernel("exp", lambda self: self + 100, override=True)
    with PluginRegistry(REGISTRY, Provider()).add(table):
        assert tt.exp(tt.zeros(1)).item() == 100
    assert tt.exp(tt.zeros(1)).item() == 1


# --- activation functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "shapes",
    [
        ((300, 1000), (1000,)),
        ((300, 1000), (300, 1)),
        ((7, 1, 1500), (90, 1)),
        ((1, 40, 33), (60, 1, 1)),
        ((5000, 40), (1, 40)),
        ((2, 3, 5000), (3, 1)),
        ((30, 31), (31,)),
    ],
)
def test_rows_that_others_share_and_elements_that_rows_share(shapes, threads):
    before = tt.get_num_threads()
    rng = np.random.default_rng(0)
    tt.set_num_threads(threads)
    try:
        for dtype in (np.float32, np.float64):
            a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
            for one, other in ((a, b), (b, a), (a[..., ::-1], b), (a[..., ::2], b[..., ::2])):
                np.testing.assert_array_equal(P.sub(one, other), one - other)
            np.testing.assert_array_equal(P.lt(a, b), a < b)
            out = np.full((*(a - b).shape[:-1], 2 * (a - b).shape[-1]), 9, dtype)
            P.mul(a, b, out[..., : (a - b).shape[-1]])
            np.testing.assert_array_equal(out, np.concatenate([a * b, np.full_like(a * b, 9)], -1))
    finally:
        tt.set_num_threads(before)


UFUNCS = {
    "add": np.add, "sub": np.subtract, "rsub": lambda a, b: np.subtract(b, a), "mul": np.multiply,
    "maximum": np.maximum, "minimum": np.minimum, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("name", UFUNCS)
def test_integers_wrap_around_as_those_of_numpy(name, dtype):
    function, wanted = getattr(P, f"{name}_integers"), UFUNCS[name]
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    x = rng.integers(ends.min, ends.max, (24, 30), dtype, endpoint=True)
    y = np.where(
        rng.random((24, 30)) < 0.3, x, rng.integers(ends.min, ends.max, (24, 30), dtype, endpoint=True)
    )
    x[0, :3], y[0, :3] = (ends.min, ends.max, 0), (-1, 1, ends.min)
    for one, other in zip(views(x), views(y), strict=True):
        for a, b in (
            (one, other),
            (one, 3),
            (-5, other),
            (one, ends.min),
            (one, other[..., :1] if other.ndim else other),
        ):
            found = function(a, b)
            assert found.dtype == (np.bool_ if wanted(x, y).dtype == np.bool_ else dtype)
            np.testing.assert_array_equal(found, wanted(a, b))
    out = np.zeros((24, 60), wanted(x, y).dtype)[:, ::2]
    function(x, y, out)
    np.testing.assert_array_equal(out, wanted(x, y))


def test_integers_that_are_left_to_numpy():
    x = np.arange(3, dtype=np.int32)
    assert P.eq_integers(x, 2**40).tolist() == [False] * 3
    with pytest.raises(OverflowError):
        P.add_integers(x, 2**40)
    assert P.add_integers(x, x.astype(np.int64)).dtype == np.int64
    assert P.mul_integers(np.arange(3, dtype=np.uint8), 100).tolist() == [0, 100, 200]
    with pytest.raises(TypeError, match="one of self and other must be an array, not int"):
        P.add_integers(1, 2)


SLOPES = {
    "silu": (), "mish": (), "hardsigmoid": (), "hardswish": (), "logsigmoid": (), "relu": (), "selu": (),
    "elu": (0.5,), "celu": (0.5,), "leaky_relu": (0.1,), "softplus": (2.0, 20.0), "hardtanh": (-1.0, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_the_gradient_of_an_activation_is_its_slope(name):
    x = np.linspace(-4.07, 4.03, 401)
    step = 1e-6
    function = getattr(A, name)
    wanted = (function(x + step, *SLOPES[name]) - function(x - step, *SLOPES[name])) / (2 * step)
    t = tt.tensor(x, requires_grad=True)
    getattr(tt.nn.functional, name)(t, *SLOPES[name]).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), wanted, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_slope_of_hardswish_vanishes_exactly_where_it_does(dtype):
    at = np.full(40, -1.5, dtype)
    assert A.hardswish_backward(np.ones_like(at), at).tolist() == [0.0] * 40
    assert np.isnan(A.hardswish_backward(np.full_like(at, np.inf), at)).all()
    near = np.nextafter(at, dtype(0))
    wanted = (near.astype(np.float64) + 1.5) / 3
    np.testing.assert_allclose(A.hardswish_backward(np.ones_like(at), near), wanted, rtol=2e-7)


def test_gelu_of_floats_is_that_of_doubles_also_in_its_tail():
    x = np.concatenate([np.linspace(-13, 13, 100_001), -np.logspace(-40, 1, 1001)]).astype(np.float32)
    wanted = A.gelu(x.astype(np.float64), "none")
    np.testing.assert_allclose(A.gelu(x, "none"), wanted, rtol=1e-5, atol=1e-45)
    near = x[np.abs(x) < 3]
    np.testing.assert_allclose(
        A.gelu(near, "none"), A.gelu(near.astype(np.float64), "none"), rtol=8e-7, atol=1e-45
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_and_its_gradient_far_from_zero(dtype):
    x = np.array([np.nan, np.inf, 0.0, -0.0, 50.0, -50.0, 1e30, -1e30], dtype)
    assert np.array_equal(A.gelu(x, "none")[:6], [np.nan, np.inf, 0, 0, 50, 0], equal_nan=True)
    assert np.signbit(A.gelu(x, "none")[[3, 5]]).all()
    assert np.array_equal(A.gelu_backward(np.ones_like(x), x, "none")[2:], [0.5, 0.5, 1, 0, 1, 0])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_the_gradient_of_gelu_is_its_slope(approximate):
    x = np.linspace(-6, 6, 401)
    step = 1e-6
    wanted = (A.gelu(x + step, approximate) - A.gelu(x - step, approximate)) / (2 * step)
    np.testing.assert_allclose(A.gelu_backward(np.ones_like(x), x, approximate), wanted, atol=1e-9)
