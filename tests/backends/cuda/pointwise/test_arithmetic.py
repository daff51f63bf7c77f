"""Kernels that work element by element: their text, run on the host, against the CPU's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.kernels import arguments, call, kernels_of, native, reference, values
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.activation import elementwise as activation
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.pointwise import arithmetic as pointwise
from tt.core.errors import DtypeError, ShapeError, ValueRangeError

FLOATING = ("float16", "bfloat16", "float32", "float64")
SERVED = kernels_of(
    [t for f in (pointwise, activation) for t in f.tables(CudaBackend(HostMemory(), lambda: np))]
)
EXACT = {"nextafter"}  # of the dtype itself
ROUNDING = {
    "div.mode",
    "floor_divide",
}  # quotients that double precision puts on the other side of a whole number

# Relative errors in units of the dtype's precision; exponentials of sums lose more.
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
    # The results of complex have another dtype (test_complex.py), and the weight of prelu another shape (below).
    if op not in ("complex", "prelu")
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
        # The rounding of a dtype, and earlier losses.
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
    with pytest.raises(ValueRangeError, match="min and max are both None"):
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


@pytest.mark.parametrize(
    ("shape", "count"), [((2, 3), 3), ((2, 3, 4), 3), ((2, 3, 2, 2), 1), ((5,), 1), ((), 1)]
)
def test_prelu_has_a_weight_for_each_channel(host_engine, shape, count):
    backend = CudaBackend(HostMemory(), lambda: np, host_engine)
    kernel = kernels_of(activation.tables(backend))["prelu", "float32"]
    rng = np.random.default_rng(3)
    x = np.asarray(rng.standard_normal(shape), np.float32)
    weight = rng.standard_normal(2 * count).astype(np.float32)[::2]
    given = {"self": x, "weight": weight}
    np.testing.assert_array_equal(call(backend, kernel, given).array, reference("prelu", given))
