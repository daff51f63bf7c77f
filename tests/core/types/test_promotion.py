"""Promotion equals PyTorch's `result_type` for every pair of dtypes, dimensions and Python scalars."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.core.errors import PromotionError
from tt.core.types.dtype import DTYPES, dtype, float64
from tt.core.types.promotion import (
    DIM_BITS,
    SCALAR_BITS,
    ZERO_DIM_BITS,
    describe_bits,
    promote_bits,
    promote_types,
)

COMPUTING = (*DTYPES, tt.complex32)
SCALARS: dict[type, Any] = {bool: True, int: 3, float: 2.5, complex: 1j}

# Where tt differs (docs/differences.md): wide unsigned integers promote as in the array API.


def torch_dtype(torch: Any, d: dtype) -> Any:
    return getattr(torch, d.name)


def standard(left: Any, right: Any) -> str | None:
    """Return the dtype of two integer dtypes that PyTorch does not promote; None if they have none."""
    one, two = (str(d).removeprefix("torch.") for d in (left, right))
    if "complex" in one + two:
        return one if "complex" in one else two
    name = np.promote_types(one, two).name
    return None if name == "float64" else name


def expected(torch: Any, left: Any, right: Any) -> str | None:
    try:
        name = str(torch.result_type(left, right)).removeprefix("torch.")
    except RuntimeError:
        return standard(left.dtype, right.dtype)
    return name


def found(*bits: int) -> str | None:
    try:
        return promote_bits(reduce(int.__or__, bits), tt.float32).name
    except PromotionError:
        return None


@pytest.mark.torch
@pytest.mark.parametrize("left_dims", [True, False])
@pytest.mark.parametrize("right_dims", [True, False])
def test_two_tensors_promote_as_in_torch(left_dims: bool, right_dims: bool) -> None:
    torch = pytest.importorskip("torch")
    wrong = []
    for left, right in itertools.product(COMPUTING, COMPUTING):
        one = torch.ones((1,) if left_dims else (), dtype=torch_dtype(torch, left))
        two = torch.ones((1,) if right_dims else (), dtype=torch_dtype(torch, right))
        want = expected(torch, one, two)
        left_bit = (DIM_BITS if left_dims else ZERO_DIM_BITS)[left.code]
        right_bit = (DIM_BITS if right_dims else ZERO_DIM_BITS)[right.code]
        if found(left_bit, right_bit) != want:
            wrong.append((left, right, want, found(left_bit, right_bit)))
    assert not wrong


@pytest.mark.torch
@pytest.mark.parametrize("dims", [True, False])
@pytest.mark.parametrize("kind", list(SCALARS))
def test_a_tensor_and_a_python_number_promote_as_in_torch(dims: bool, kind: type) -> None:
    torch = pytest.importorskip("torch")
    wrong = []
    for d in COMPUTING:
        tensor = torch.ones((1,) if dims else (), dtype=torch_dtype(torch, d))
        want = expected(torch, tensor, SCALARS[kind])
        got = found((DIM_BITS if dims else ZERO_DIM_BITS)[d.code], SCALAR_BITS[kind])
        if got != want:
            wrong.append((d, want, got))
    assert not wrong


@pytest.mark.torch
def test_two_python_numbers_promote_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    for left, right in itertools.product(SCALARS, SCALARS):
        want = expected(torch, SCALARS[left], SCALARS[right])
        assert found(SCALAR_BITS[left], SCALAR_BITS[right]) == want


@pytest.mark.torch
def test_promote_types_equals_torch() -> None:
    torch = pytest.importorskip("torch")
    for left, right in itertools.product(COMPUTING, COMPUTING):
        try:
            want = str(torch.promote_types(torch_dtype(torch, left), torch_dtype(torch, right)))
        except RuntimeError:
            want = f"torch.{standard(torch_dtype(torch, left), torch_dtype(torch, right))}"
        if want == "torch.None":
            with pytest.raises(PromotionError, match="none holds the numbers of both"):
                promote_types(left, right)
        else:
            assert f"torch.{promote_types(left, right).name}" == want


@pytest.mark.torch
def test_can_cast_equals_torch() -> None:
    torch = pytest.importorskip("torch")
    for left, right in itertools.product(COMPUTING, COMPUTING):
        want = torch.can_cast(torch_dtype(torch, left), torch_dtype(torch, right))
        assert tt.can_cast(left, right) == want, (left, right)


_PLAIN = [d for d in COMPUTING if d.name not in ("uint16", "uint32", "uint64")]


@given(st.lists(st.sampled_from(_PLAIN), min_size=1, max_size=6), st.randoms())
def test_the_order_of_the_arguments_does_not_matter(dtypes: list[dtype], random: Any) -> None:
    shuffled = list(dtypes)
    random.shuffle(shuffled)
    assert reduce(promote_types, dtypes) is reduce(promote_types, shuffled)
    assert promote_bits(reduce(int.__or__, (DIM_BITS[d.code] for d in dtypes)), tt.float32) is reduce(
        promote_types, dtypes
    )


def test_python_floats_take_the_default_dtype() -> None:
    bits = ZERO_DIM_BITS[tt.int64.code] | SCALAR_BITS[float]
    assert promote_bits(bits, tt.float32) is tt.float32
    assert promote_bits(bits, float64) is tt.float64
    assert promote_bits(DIM_BITS[tt.int64.code] | SCALAR_BITS[complex], float64) is tt.complex128


def test_the_default_dtype_is_a_setting_with_a_context() -> None:
    assert tt.get_default_dtype() is tt.float32
    with tt.default_dtype(tt.float64):
        assert tt.get_default_dtype() is tt.float64
    assert tt.get_default_dtype() is tt.float32
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        tt.set_default_dtype(tt.int64)


def test_bits_are_described_in_words() -> None:
    bits = DIM_BITS[tt.int8.code] | ZERO_DIM_BITS[tt.float64.code] | SCALAR_BITS[int]
    assert describe_bits(bits) == "int8 float64() scalar int"
