"""Which kernel serves a call, its arguments, and its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.errors import (
    DtypeError,
    DuplicateRegistrationError,
    KernelContractError,
    NoKernelError,
)
from tt.core.tensor.common_dtype import common_dtype


def test_a_kernel_is_called_with_native_handles_and_its_result_is_wrapped(probe: Any) -> None:
    seen = []

    def kernel(self: Any, other: Any) -> Any:
        seen.append((type(self), type(other)))
        return self * other

    probe.kernel("mul", kernel)
    result = tt.mul(probe.tensor([1.0, 2.0], tt.float32), probe.tensor([3.0, 4.0], tt.float32))
    assert seen == [(np.ndarray, np.ndarray)]
    assert result._handle.tolist() == [3.0, 8.0]
    assert (result.dtype, str(result.device)) == (tt.float32, "probe")


def test_arguments_of_a_group_are_cast_to_the_compute_dtype(probe: Any) -> None:
    seen = []
    probe.kernel("mul", lambda self, other: seen.append((self.dtype, other.dtype)) or self * other)
    left, right = probe.tensor([1, 2], tt.int64), probe.tensor([0.5, 0.25], tt.float32)
    assert tt.mul(left, right).dtype is tt.float32
    assert tt.mul(right, left).dtype is tt.float32
    assert seen == [(np.float32, np.float32)] * 2


def test_python_numbers_reach_the_kernel_as_they_are(probe: Any) -> None:
    seen = []
    probe.kernel("mul", lambda self, other: seen.append(other) or self * other)
    tt.mul(probe.tensor([1.0], tt.float32), 2.5)
    tt.mul(probe.tensor([1.0], tt.float32), True)
    assert seen == [2.5, True]
    assert type(seen[0]) is float


def test_the_narrowest_kernel_that_covers_the_arguments_serves(probe: Any) -> None:
    probe.kernel("add", lambda self, other: np.add(self, other) * 0 + 1, takes=("self", "other"))
    probe.kernel("add", lambda self, other, alpha: self + alpha * other)
    x = probe.tensor([1.0], tt.float32)
    assert tt.add(x, x)._handle.tolist() == [1.0]
    assert tt.add(x, x, alpha=2)._handle.tolist() == [3.0]
    assert tt.add(x, x, alpha=1)._handle.tolist() == [1.0]
    spec = f"{x.device.type}:float32"
    steps = tt.explain("add", [spec, spec]).steps()
    assert [(step["taken"], step["reason"]) for step in steps] == [
        (True, "the narrowest kernel that takes the call's arguments serves"),
        (False, "serves calls whose arguments those above do not take"),
    ]


def test_half_precision_is_computed_in_float32_and_rounded_once(probe: Any) -> None:
    seen = []
    probe.kernel("mul", lambda self, other: seen.append(self.dtype) or self * other)
    for dtype in (tt.float16, tt.bfloat16):
        result = tt.mul(probe.tensor([1.5], dtype), probe.tensor([2.5], dtype))
        assert (result.dtype, float(result._handle[0])) == (dtype, 3.75)
    assert seen == [np.float32, np.float32]


def test_a_kernel_for_half_precision_serves_it_itself(probe: Any) -> None:
    seen = []
    probe.kernel("mul", lambda self, other: seen.append(self.dtype) or self * other, half="native")
    tt.mul(probe.tensor([1.5], tt.float16), probe.tensor([2.5], tt.float16))
    assert seen == [np.float16]


def test_a_numpy_scalar_becomes_a_zero_dimensional_array(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    result = tt.mul(probe.tensor(2.0, tt.float32), probe.tensor(3.0, tt.float32))
    assert isinstance(result._handle, np.ndarray)
    assert (result.shape, result.dtype) == ((), tt.float32)


def test_the_first_result_is_checked_against_the_schema(probe: Any) -> None:
    probe.kernel("mul", lambda self, other: (self * other).astype(np.float64))
    x = probe.tensor([1.0], tt.float32)
    with pytest.raises(
        KernelContractError, match=r"by probe-dist 1\.0 .*returned float64 where the schema promises float32"
    ):
        tt.mul(x, x)


def test_parameters_that_the_schema_lacks_are_refused(probe: Any) -> None:
    probe.kernel("mul", lambda self, other, beta: self * other)
    x = probe.tensor([1.0], tt.float32)
    with pytest.raises(KernelContractError, match="has parameters that the schema lacks: beta"):
        tt.mul(x, x)


def test_floating_point_warnings_are_silent_in_kernels_only(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    big = probe.tensor([3e38], tt.float32)
    assert tt.mul(big, big)._handle.tolist() == [np.inf]
    with pytest.warns(RuntimeWarning, match="overflow"):
        np.multiply(big._handle, big._handle)


def test_a_kernel_may_call_operators_itself(probe: Any) -> None:
    def kernel(self: Any, other: Any) -> Any:
        return tt.add(probe.tensor(self, tt.float32), probe.tensor(other, tt.float32))._handle

    probe.kernel("add", np.add)
    probe.kernel("mul", kernel)
    x = probe.tensor([2.0], tt.float32)
    assert tt.mul(x, x)._handle.tolist() == [4.0]


def test_python_integers_wrap_around_as_in_pytorch(probe: Any) -> None:
    probe.kernel("add", np.add)
    assert tt.add(probe.tensor([1], tt.uint8), 300)._handle.tolist() == [45]
    assert tt.add(probe.tensor([1], tt.int8), 200)._handle.tolist() == [-55]


# --- forms ---------------------------------------------------------------------------------------------------------


def test_priority_goes_before_narrowness(probe: Any) -> None:
    probe.kernel("add", np.add)
    probe.kernel("add", lambda self, other, alpha: self + alpha * other + 100, priority=10)
    x = probe.tensor([1.0], tt.float32)
    assert tt.add(x, x)._handle.tolist() == [102.0]


def test_an_override_goes_before_narrowness_and_the_latest_first(probe: Any) -> None:
    probe.kernel("add", np.add)
    probe.kernel("add", lambda self, other, alpha: self * 0 + 1, override=True)
    latest = probe.kernel("add", lambda self, other, alpha: self * 0 + 2, override=True)
    x = probe.tensor([5.0], tt.float32)
    assert tt.add(x, x)._handle.tolist() == [2.0]
    latest.remove()
    assert tt.add(x, x)._handle.tolist() == [1.0]


def test_a_ufunc_and_a_function_that_take_the_same_are_a_conflict(probe: Any) -> None:
    probe.kernel("add", np.add)
    with pytest.raises(DuplicateRegistrationError):
        probe.kernel("add", lambda self, other: self + other)


def test_a_number_that_the_dtype_cannot_hold_is_refused_by_factories() -> None:
    with pytest.raises(RuntimeError, match=r"full\(\)"):
        tt.full((2,), 2**70)


def test_an_argument_that_no_kernel_takes_is_said_to_be_the_reason(probe: Any) -> None:
    probe.kernel("add", np.add)
    x = probe.tensor([1.0], tt.float32)
    with pytest.raises(
        NoKernelError, match="no kernel for probe/float32 that takes all arguments of this call"
    ):
        tt.add(x, x, alpha=2)


def test_complex32_is_computed_in_complex64_and_rounded(probe: Any) -> None:
    seen = []
    probe.kernel("mul", lambda self, other: seen.append(self.dtype) or self * other, dtypes="complex")
    x = probe.tensor([1 + 1j, 0.1], tt.complex32)
    found = tt.mul(x, x)
    assert seen == [np.complex64] and found.dtype is tt.complex32
    assert found._handle.astype(complex).tolist() == [
        2j,
        complex(np.float16(np.float32(np.float16(0.1)) ** 2)),
    ]


def test_float16_promotes_to_complex64_where_the_device_lacks_complex32(
    probe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    half, wide = probe.tensor([1.0], tt.float16), probe.tensor(1j, tt.complex64)

    def native_dtype(dtype: tt.dtype) -> Any:
        if dtype is tt.complex32:
            raise DtypeError("no complex32 here")
        return dtype.numpy

    monkeypatch.setattr(probe.backend, "native_dtype", native_dtype)
    probe.kernel("mul", lambda self, other: self * other)
    assert tt.mul(half, wide).dtype is tt.complex64 and tt.mul(half, 2j)._handle.tolist() == [2j]
    assert common_dtype(half, wide) is common_dtype(half, 1j) is tt.complex64
    assert common_dtype(tt.ones(1, dtype=tt.float16), 1j) is tt.complex32
