"""Functions over numbers, lifted over the elements of tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tt
from tt.core.extension import parameters
from tt.core.extension.types import COMPLEX
from tt.utils.cpp_extension import load_inline

pytestmark = pytest.mark.sampled(3)

try:
    import torch
except ImportError:  # only a reference
    torch = None

TEMPLATE = """
#include <complex>
template <typename T> T twice_plus(T x, T y) { return T(x + x + y); }
"""
NUMBERS = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
]
# The third operand is large enough, and of both signs, to show a wrong type.
C_TYPES = {
    name: {"bool": "bool", "float32": "float", "float64": "double"}.get(name, f"{name}_t") for name in NUMBERS
}
C_TYPES |= {name: f"{part} _Complex" for name, part in COMPLEX.items()}


def values(dtype: str, shape, seed: int = 0):
    random = np.random.default_rng(seed)
    numpy = parameters.NUMPY_DTYPES[parameters.CODES[dtype]]
    if numpy.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(numpy)
    if numpy.kind == "f":
        return random.standard_normal(shape).astype(numpy)
    if numpy.kind == "b":
        return random.integers(0, 2, shape).astype(numpy)
    limits = np.iinfo(numpy)
    return random.integers(limits.min, limits.max, shape, dtype=numpy, endpoint=True)


def reference(x, y):
    with np.errstate(over="ignore"):
        return (x + x + y).astype(x.dtype)


# --- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*NUMBERS, *COMPLEX])
def test_a_template_serves_every_dtype(both_callers, dtype):
    module = load_inline("templates", TEMPLATE, dtypes=[*NUMBERS, *COMPLEX])
    x, y = values(dtype, (3, 5), 1), values(dtype, (5,), 2)
    found = module.twice_plus(tt.from_numpy(x), tt.from_numpy(y))
    assert str(found.dtype) == f"tt.{dtype}"
    np.testing.assert_array_equal(found.numpy(), reference(x, y))


@pytest.mark.parametrize("dtype", C_TYPES)
def test_a_function_of_c_serves_its_dtype(both_callers, dtype):
    source = "\n".join(f"{c} add_{name}({c} x, {c} y) {{ return x + x + y; }}" for name, c in C_TYPES.items())
    module = load_inline("c_types", c_sources=source)
    x, y = values(dtype, (4, 3), 3), values(dtype, (4, 1), 4)
    found = module.functions[f"add_{dtype}"](tt.from_numpy(x), tt.from_numpy(y))
    np.testing.assert_array_equal(found.numpy(), reference(x, y))


@pytest.mark.exhaustive
def test_overloads_of_c_plus_plus_are_one_operator(both_callers):
    module = load_inline(
        "overloads", "float f(float x) { return x + 1; } double f(double x) { return x + 2; }"
    )
    assert module.f(tt.ones(1)).tolist() == [2.0]
    assert module.f(tt.ones(1, dtype=tt.float64)).tolist() == [3.0]


@pytest.mark.exhaustive
def test_half_precision_is_computed_in_float32(both_callers):
    module = load_inline("halves", "float third(float x) { return x / 3; }")
    for dtype in (tt.float16, tt.bfloat16):
        x = tt.tensor([1.0, 2.0, 5.0], dtype=dtype)
        found = module.third(x)
        assert found.dtype is dtype
        assert found.tolist() == (x.float() / 3).to(dtype).tolist()


def test_the_result_has_the_type_that_the_function_returns(both_callers):
    source = """
    bool above(float x, float y) { return x > y; }
    int64_t rounded(double x) { return (int64_t)(x + 0.5); }
    """
    module = load_inline("results", c_sources=source)
    found = module.above(tt.tensor([1.0, 3.0]), 2.0)
    assert (found.dtype, found.tolist()) == (tt.bool, [False, True])
    found = module.rounded(tt.tensor([1.2, 3.7], dtype=tt.float64))
    assert (found.dtype, found.tolist()) == (tt.int64, [1, 4])


def test_parameters_of_another_type_do_not_promote(both_callers):
    module = load_inline(
        "mixed", "double power(double x, int32_t n) { double r = 1; while (n-- > 0) r *= x; return r; }"
    )
    x, n = tt.tensor([2.0, 3.0], dtype=tt.float64), tt.tensor([[3], [0]], dtype=tt.int32)
    assert module.power(x, n).tolist() == [[8.0, 27.0], [1.0, 1.0]]
    assert module.power(x, 2).tolist() == [4.0, 9.0]
    with pytest.raises(tt.errors.DtypeError, match=r"argument 'n' must be int32, not int64"):
        module.power(x, tt.tensor([3, 0]))
    with pytest.raises(tt.errors.ArgumentError, match=r"argument 'n' must be int, not float"):
        module.power(x, 2.5)
    with pytest.raises(tt.errors.NumberRangeError):
        module.power(x, 2**40)


@pytest.mark.exhaustive
def test_many_operands(both_callers):
    counts = (1, 3, 4, 6)
    source = ""
    for count in counts:
        parameters = ", ".join(f"double a{i}" for i in range(count))
        total = " + ".join(f"{i + 1} * a{i}" for i in range(count))
        source += f"double of{count}({parameters}) {{ return {total}; }}\n"
    module = load_inline("operands", source)
    for count in counts:
        shapes = [(2, 3), (3,), (2, 1), (), (1, 3), (2, 3)][:count]
        arrays = [values("float64", shape, i) for i, shape in enumerate(shapes)]
        expected = sum((i + 1) * a for i, a in enumerate(arrays))
        found = module.functions[f"of{count}"](*map(tt.from_numpy, arrays))
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)


# --- layouts -------------------------------------------------------------------------------------------------------


@st.composite
def operands(draw):
    """Two arrays that broadcast, each a view of a larger one: permuted, stepped, expanded."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    found = []
    for _ in range(2):
        own = [1 if draw(st.booleans()) and draw(st.booleans()) else size for size in shape]
        own = own[draw(st.integers(0, len(own))) :] if draw(st.booleans()) else own
        steps = [draw(st.integers(1, 3)) for _ in own]
        order = draw(st.permutations(range(len(own))))
        base = np.arange(1, 1 + int(np.prod([own[d] * steps[d] for d in order])), dtype=np.float32)
        base = base.reshape([own[d] * steps[d] for d in order])
        view = np.asarray(base.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)])
        assert view.shape == tuple(own)
        found.append(view)
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arrays=operands())
def test_any_views_give_the_values_of_the_built_in_and_the_strides_of_torch(both_callers, arrays):
    module = load_inline("views", "float f(float x, float y) { return x * 2 + y; }")
    x, y = map(tt.from_numpy, arrays)
    found, expected = module.f(x, y), tt.add(y, x, alpha=2)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    meta = module.f(x.to("meta"), y.to("meta"))
    assert (found.shape, found.dtype) == (meta.shape, meta.dtype)
    if torch is not None and found.numel():
        expected = torch.add(*map(torch.from_numpy, arrays))
        assert used_strides(found) == used_strides(expected)


def used_strides(tensor):
    """Return the strides of the dimensions in which there is a step to make."""
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1,), (1, 1, 1), (2, 0, 3)])
def test_no_dimensions_and_no_elements(both_callers, shape):
    module = load_inline("views", "float f(float x, float y) { return x * 2 + y; }")
    found = module.f(tt.ones(shape), 1.0)
    assert found.shape == shape
    assert found.flatten().tolist() == [3.0] * found.numel()


def test_arrays_that_c_cannot_read_are_copied(both_callers):
    module = load_inline("views", "float f(float x, float y) { return x * 2 + y; }")
    record = np.zeros(4, dtype=[("tag", "u1"), ("value", "<f4")])
    record["value"] = [1, 2, 3, 4]
    unaligned = record["value"]
    assert not unaligned.flags.aligned
    kernel = parameters_of(module.f)
    np.testing.assert_array_equal(kernel(unaligned, np.float32(1) * np.ones(4, np.float32)), [3, 5, 7, 9])
    swapped = np.arange(3, dtype=">f4")
    np.testing.assert_array_equal(kernel(swapped, 1.0), [1, 3, 5])


def parameters_of(op):
    """Return the kernel of an operator on the CPU."""
    from tt.core.dispatch.registry.registry import REGISTRY

    return REGISTRY.kernels[op.name][0].kernel.function


# --- errors --------------------------------------------------------------------------------------------------------


def test_shapes_that_do_not_broadcast(both_callers):
    module = load_inline("views", "float f(float x, float y) { return x * 2 + y; }")
    with pytest.raises(tt.errors.BroadcastError, match=r"\[2\] and \[3\]"):
        module.f(tt.ones(2), tt.ones(3))
    with pytest.raises(tt.errors.BroadcastError):
        parameters_of(module.f)(np.ones(2, np.float32), np.ones(3, np.float32))


def test_a_dtype_that_the_function_does_not_have_is_refused_and_not_cast(both_callers):
    module = load_inline("views", "float f(float x, float y) { return x * 2 + y; }")
    with pytest.raises(tt.errors.DtypeNotServedError, match=r"kernels exist for: cpu \{float32\}"):
        module.f(tt.ones(2, dtype=tt.float64), 1.0)
    with pytest.raises(tt.errors.DtypeError, match=r"argument 'x' must be float32, not float64"):
        parameters_of(module.f)(np.ones(2), np.ones(2))


def test_wrong_arguments(both_callers):
    module = load_inline("views", "float f(float x, float y) { return x * 2 + y; }")
    with pytest.raises(tt.errors.ArgumentError, match="missing"):
        module.f(tt.ones(2))
    with pytest.raises(tt.errors.ArgumentError):
        module.f(tt.ones(2), "y")
    with pytest.raises(tt.errors.ArgumentError, match="takes 2 arguments, and got 1"):
        parameters_of(module.f)(np.ones(2, np.float32))


def test_a_c_plus_plus_exception_becomes_an_error(both_callers):
    source = """
    #include <stdexcept>
    float checked(float x) { if (x < 0) throw std::invalid_argument("negative"); return x; }
    float strange(float x) { if (x < 0) throw 3; return x; }
    """
    module = load_inline("throwing", source)
    assert module.checked(tt.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(tt.errors.ValueRangeError, match=r"throwing::checked\(\): negative"):
        module.checked(-tt.ones(2))
    with pytest.raises(tt.errors.ValueRangeError, match="a C\\+\\+ exception that is not a std::exception"):
        module.strange(-tt.ones(2))


def test_an_error_is_reported_once_and_the_next_call_is_clean(both_callers):
    module = load_inline(
        "reporting",
        c_sources='float f(float x) { if (x < 0) tt_error("%g is negative", (double)x); return x; }',
    )
    with pytest.raises(tt.errors.ValueRangeError, match="-1 is negative"):
        module.f(tt.tensor([1.0, -1.0, -2.0]))
    assert module.f(tt.ones(1)).tolist() == [1.0]
