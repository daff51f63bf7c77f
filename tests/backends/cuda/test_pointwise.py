"""Kernels that work element by element: their text, run on the host, against the CPU's in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.backends.cuda.kernels import arguments, call, kernels_of, native, reference, values
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda import activation, pointwise
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.launch.elementwise import collapse, run
from tt.core.errors import ArgumentError, DtypeError, ShapeError, ValueRangeError

FLOATING = ("float16", "bfloat16", "float32", "float64")
SERVED = kernels_of(
    [t for f in (pointwise, activation) for t in f.tables(CudaBackend(HostMemory(), lambda: np))]
)
EXACT = {"nextafter"}  # of the dtype itself
ROUNDING = {
    "div.mode",
    "floor_divide",
}  # quotients that double precision puts on the other side of a whole number

# Relative errors in units of the dtype's precision; what is computed by exponentials of sums loses more.
ULPS = {"float16": 1, "bfloat16": 1, "float32": 8, "float64": 8}
# The CPU's gelu_backward adds 1 to erf, where the kernel's erfc keeps the small numbers.
LOSSY = {
    "lgamma": 40, "pow": 40, "tan": 40, "gelu": 20, "gelu_backward": 200, "mish_backward": 40, "silu_backward": 20,
    "addcdiv": 40, "logaddexp": 20, "logaddexp2": 20, "sinh": 20, "remainder": 40, "fmod": 40, "softplus": 20,
    "mish": 20,
}  # fmt: skip


def default(dtype):
    return dtype in ("float32", "bfloat16", "int32", "uint8", "bool", "complex64")


CASES = [
    pytest.param(op, dtype, marks=[] if default(dtype) else pytest.mark.exhaustive)
    for op, dtype in sorted(SERVED)
    if op != "complex"  # whose results are of another dtype: test_complex.py
]


@pytest.fixture(scope="module")
def prepared(host_engine, request):
    """The engine, with the kernels of the selected cases compiled together."""
    wanted = [
        item.callspec.params
        for item in request.session.items
        if getattr(item, "callspec", None)
        and item.module is request.module
        and "dtype" in item.callspec.params
    ]
    backend = CudaBackend(HostMemory(), lambda: np, host_engine)
    served = kernels_of([t for f in (pointwise, activation) for t in f.tables(backend)])
    with host_engine.collecting():
        for params in wanted:
            kernel = served[params["op"], params["dtype"]]
            call(backend, kernel, arguments(kernel.takes, params["dtype"]))
    return backend, served


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_an_operator_gives_what_the_cpu_does(prepared, op, dtype):
    backend, served = prepared
    kernel = served[op, dtype]
    given = arguments(kernel.takes, dtype)
    if op == "gelu_backward":
        # Infinity times a derivative that only float64 tells from zero is NaN in float32, as PyTorch's is.
        far = abs(given["self"].astype("float64")) > 5
        given["grad_output"][np.isinf(given["grad_output"]) & far] = 3
    found = call(backend, kernel, given)
    if dtype in FLOATING and op not in EXACT:
        expected = reference(op, given, "float32" if op in ROUNDING and dtype != "float64" else "float64")
        if expected.dtype == bool:
            np.testing.assert_array_equal(found.array, expected)
            return
        assert found.dtype == native(dtype)
        with np.errstate(over="ignore"):
            rounded = expected.astype(native(dtype)).astype("float64")
        # What a dtype rounds to, and what was lost before.
        eps = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}[dtype]
        lost = (2.0**-52 if dtype == "float64" else 2.0**-23) * LOSSY.get(op, 8)
        smallest = 1e-7 if dtype == "float16" else 0
        actual = found.array.astype("float64")
        np.testing.assert_allclose(actual, rounded, rtol=eps * ULPS[dtype] + lost, atol=smallest + lost / 8)
    elif dtype.startswith("complex"):
        expected = reference(op, given)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.array, expected, rtol=3e-6)
    else:
        expected = reference(op, given)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.array, expected)


@pytest.mark.parametrize("op", ["add", "mul", "exp", "where", "clamp", "lerp", "gelu_backward", "lt"])
def test_a_result_is_written_where_it_is_wanted(host_backend, op):
    tables = [t for f in (pointwise, activation) for t in f.tables(host_backend)]
    plain, into = (kernels_of(tables, form)[op, "float32"] for form in ("functional", "out"))
    given = arguments(plain.takes, "float32")
    expected = call(host_backend, plain, given)
    target = host_backend.empty((80, 14), expected.dtype).view((7, 40), (2, 28))
    assert call(host_backend, into, given, target) is target
    np.testing.assert_array_equal(target.array, expected.array)


# --- numbers -------------------------------------------------------------------------------------------------------


def kernel(backend, op, dtype="float32"):
    return kernels_of([t for f in (pointwise, activation) for t in f.tables(backend)])[op, dtype].function


@pytest.mark.exhaustive
def test_python_numbers_keep_their_digits(host_backend):
    x = host_backend.normalise(np.array([2**62, -5], np.int64))
    assert kernel(host_backend, "add", "int64")(x, 2**53 + 1, 1).array.tolist() == [
        2**62 + 2**53 + 1,
        2**53 - 4,
    ]
    y = host_backend.normalise(np.array([1], np.uint64))
    assert kernel(host_backend, "mul", "uint64")(y, 2**64 - 3).array.tolist() == [2**64 - 3]
    z = host_backend.normalise(np.array([1.0]))
    assert kernel(host_backend, "mul", "float64")(z, 0.1).array.tolist() == [0.1]
    halves = host_backend.normalise(np.array([2.0**-14], np.float16))
    assert kernel(host_backend, "mul", "float16")(halves, 70000.0).array[0] == np.float16(70000 * 2.0**-14)
    signed = kernel(host_backend, "mul")(host_backend.normalise(np.ones(1, np.float32)), -0.0)
    assert np.signbit(signed.array[0])
    c = host_backend.normalise(np.array([1 + 2j], np.complex64))
    assert kernel(host_backend, "add", "complex64")(c, 2j, 1 - 1j).array.tolist() == [3 + 4j]


@pytest.mark.exhaustive
def test_a_number_may_be_on_either_side(host_backend):
    x = host_backend.normalise(np.array([[1.0, 2.0, 3.0]], np.float32))
    np.testing.assert_array_equal(kernel(host_backend, "pow.Scalar")(2, x).array, [[2, 4, 8]])
    np.testing.assert_array_equal(kernel(host_backend, "pow")(x, 2).array, [[1, 4, 9]])
    mask = host_backend.normalise(np.array([[True], [False]]))
    np.testing.assert_array_equal(kernel(host_backend, "where")(mask, x, -1).array, [[1, 2, 3], [-1, -1, -1]])
    np.testing.assert_array_equal(kernel(host_backend, "where")(mask, -1, x).array, [[-1, -1, -1], [1, 2, 3]])
    both = kernel(host_backend, "where")(mask, 1, 2.5)
    assert (both.dtype, both.array.tolist()) == (np.float32, [[1.0], [2.5]])


def test_what_the_operators_refuse_is_refused(host_backend):
    x = host_backend.normalise(np.ones(3, np.float32))
    with pytest.raises(DtypeError, match="alpha is a complex number"):
        kernel(host_backend, "add")(x, x, 1j)
    with pytest.raises(ValueRangeError, match="rounding_mode is None, 'trunc' or 'floor', not 'up'"):
        kernel(host_backend, "div.mode")(x, x, "up")
    with pytest.raises(ValueRangeError, match="approximate is 'none' or 'tanh', not 'fast'"):
        kernel(host_backend, "gelu")(x, "fast")
    with pytest.raises(ArgumentError, match="min and max are both None"):
        kernel(host_backend, "clamp")(x, None, None)
    for op, *rest in [("hardtanh", 1.0, 0.0), ("softshrink", -1.0), ("celu", 0.0)]:
        with pytest.raises(ValueRangeError, match=op):
            kernel(host_backend, op)(x, *rest)
    with pytest.raises(DtypeError, match="addcmul"):
        whole = host_backend.normalise(np.ones(3, np.int32))
        kernel(host_backend, "addcmul", "int32")(whole, whole, whole, 1j)
    with pytest.raises(DtypeError, match="the condition has the dtype bool, not float32"):
        kernel(host_backend, "where")(x, x, x)
    with pytest.raises(ShapeError, match=r"the shapes \(3,\), \(2,\) do not broadcast"):
        kernel(host_backend, "mul")(x, host_backend.normalise(np.ones(2, np.float32)))


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [
        (minimum, maximum)
        for maximum in (None, 1, "tensor")
        for minimum in (None, -1, "tensor")
        if (minimum, maximum) != (None, None)
    ],
)
def test_clamp_takes_numbers_and_tensors(host_backend, minimum, maximum):
    x = values("float32", (50,), 1)
    low, high = (values("float32", (50,), 2) if m == "tensor" else m for m in (minimum, maximum))
    handles = [host_backend.normalise(v) if isinstance(v, np.ndarray) else v for v in (x, low, high)]
    expected = x
    expected = expected if low is None else np.maximum(expected, low)
    expected = expected if high is None else np.minimum(expected, np.float32(high))
    np.testing.assert_array_equal(kernel(host_backend, "clamp")(*handles).array, expected)


# --- layouts -------------------------------------------------------------------------------------------------------


def test_dimensions_collapse_as_far_as_all_operands_allow():
    assert collapse((4, 1, 5), [(5, 5, 1), (5, 9, 1)]) == ((20,), ((1,), (1,)))
    assert collapse((4, 5), [(1, 4), (1, 4)]) == ((20,), ((1,), (1,)))  # both transposed
    assert collapse((4, 5), [(5, 1), (1, 4)]) == ((4, 5), ((5, 1), (1, 4)))
    assert collapse((), [(), ()]) == ((), ((), ()))


@pytest.mark.parametrize(
    ("shapes", "kind"),
    [
        ([(8, 64), (8, 64)], "flat"),
        ([(8, 64), (64,)], "rows"),
        ([(8, 64), (8, 1)], "rows"),
        ([(8, 64), ()], "rows"),
        ([(8, 63), (63,)], "strided"),
        ([(3, 8, 64), (3, 1, 64)], "strided"),
        ([(), ()], "flat"),
    ],
)
def test_layouts_are_served_by_the_kernel_for_them(host_backend, shapes, kind):
    arrays = [np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in shapes]
    found = run(host_backend, "Add", [host_backend.normalise(a) for a in arrays], np.dtype(np.float32))
    np.testing.assert_array_equal(found.array, arrays[0] + arrays[1])
    assert host_backend.engine.launches[-1][0].startswith(f"pointwise_{kind}<Add")


def test_addresses_between_vectors_are_served_too(host_backend):
    base = host_backend.normalise(np.arange(1001, dtype=np.float32))
    shifted = base.view((1000,), (1,), 1)
    found = run(host_backend, "Add", [shifted, shifted], np.dtype(np.float32))
    np.testing.assert_array_equal(found.array, np.arange(1, 1001) * 2)
    assert host_backend.engine.launches[-1][0].startswith("pointwise_strided<Add")


def test_results_keep_the_order_of_dimensions(host_backend):
    base = host_backend.normalise(np.zeros((2, 3, 4), np.float32))
    turned = base.view((4, 2, 3), (1, 12, 4))
    found = run(host_backend, "Add", [turned, turned], np.dtype(np.float32))
    assert found.strides == (1, 12, 4)
    assert host_backend.engine.launches[-1][0].startswith("pointwise_flat<Add")
    assert run(host_backend, "Neg", [base.view((1, 3, 2), (7, 1, 3))], base.dtype).strides[1:] == (1, 3)


def test_more_dimensions_than_a_kernel_takes(host_backend):
    x = np.arange(2**10, dtype=np.float32).reshape([2] * 10)
    y = x.transpose(range(9, -1, -1))
    found = run(host_backend, "Add", [host_backend.normalise(x), host_backend.normalise(y)], x.dtype)
    np.testing.assert_array_equal(found.array, x + y)


def test_an_operand_that_the_result_overlaps_is_read_first(host_backend):
    base = host_backend.normalise(np.arange(101, dtype=np.float32))
    first = base.view((100,), (1,))
    run(host_backend, "Add", [first, first], base.dtype, (), base.view((100,), (1,), 1))
    np.testing.assert_array_equal(base.array, [0, *(np.arange(100) * 2)])


def test_a_target_of_another_shape_is_refused(host_backend):
    column, row = (host_backend.normalise(np.ones(shape, np.float32)) for shape in [(2, 1), (1, 3)])
    with pytest.raises(
        ShapeError, match=r"the result has the shape \(2, 3\), and what it is written into \(2, 1\)"
    ):
        run(host_backend, "Mul", [column, row], column.dtype, (), column)


def test_nothing_is_launched_for_nothing(host_backend):
    empty = host_backend.normalise(np.zeros((0, 3), np.float32))
    before = len(host_backend.engine.launches)
    assert run(host_backend, "Add", [empty, empty], empty.dtype).shape == (0, 3)
    assert len(host_backend.engine.launches) == before


@st.composite
def views(draw, shape):
    """A view of the shape, or one that broadcasts to it: permuted, stepped, turned round, spread."""
    own = [1 if draw(st.integers(0, 4)) == 0 else n for n in shape]
    own = own[draw(st.integers(0, len(own))) :]
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in own]
    order = draw(st.permutations(range(len(own))))
    large = [own[d] * abs(steps[d]) for d in order]
    base = np.random.default_rng(draw(st.integers(0, 99))).integers(-99, 99, large).astype(np.float32)
    view = base.transpose(np.argsort(order)) if own else base
    return view[(..., *(slice(None, None, step) for step in steps))]


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(data=st.data(), shape=st.lists(st.integers(1, 9), max_size=4))
def test_operands_of_any_layout(host_engine, data, shape):
    backend = CudaBackend(HostMemory(), lambda: np, host_engine)
    x, y = data.draw(views(shape)), data.draw(views(shape))
    expected = x * 2 + y
    handles = [backend.normalise(x), backend.normalise(y)]
    double = run(backend, "Add", handles[:1] * 2, x.dtype)
    np.testing.assert_array_equal(run(backend, "Add", [double, handles[1]], x.dtype).array, expected)
    # Written into a view that is turned round and has gaps; what lies between stays.
    room = np.full((*y.shape[::-1], 2), 7, np.float32)
    target = room.transpose(*range(y.ndim - 1, -1, -1), y.ndim)[..., 1]
    run(backend, "AddScaledRight", handles[1:], x.dtype, (3, 2), backend.normalise(target))
    np.testing.assert_array_equal(target, y + 6)
    assert (room[..., 0] == 7).all()


def test_tensors_of_bfloat16_are_served(host_backend):
    x = values("bfloat16", (33,), 3)
    found = kernel(host_backend, "mul", "bfloat16")(host_backend.normalise(x), 3)
    expected = (x.astype(np.float32) * 3).astype(x.dtype).astype(np.float32)
    np.testing.assert_array_equal(found.array.astype(np.float32), expected)
    assert tt.bfloat16.name == found.dtype.name
