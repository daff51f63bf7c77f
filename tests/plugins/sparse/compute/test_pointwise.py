"""Functions of one sparse tensor, compared with those of dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.sparse.compute.test_reduction import PATTERNS
from tests.plugins.sparse.making import LAYOUTS, matrix, numpy_of, same, sparse_of
from tt.core.errors import NoKernelError, ValueRangeError
from tt.plugins.sparse.compute.pointwise import COMPARISONS, LINEAR, ZERO_PRESERVING

DTYPES = (tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int32, tt.int64, tt.complex64, tt.complex128)


UNARY = [op for op in ZERO_PRESERVING if "." not in op and hasattr(tt, op)]


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
@pytest.mark.parametrize("op", UNARY)
def test_functions_that_keep_zeros_keep_the_layout(op: str, layout: str) -> None:
    array = matrix(3, dtype=np.complex128) if op in ("real", "imag") else matrix(3)
    made, dense = sparse_of(layout, array), tt.tensor(array)
    function = getattr(tt, op)
    found = function(made)
    assert found.layout is made.layout
    same(found, numpy_of(function(dense)), rtol=1e-12)
    assert numpy_of(function(tt.zeros(1, dtype=dense.dtype)))[0] == 0, (
        "else it is not a function for sparse tensors"
    )
    if layout == "uncoalesced":
        assert found.is_coalesced() == (op not in LINEAR)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_every_pattern(layout: str, pattern: str) -> None:
    array = PATTERNS[pattern]
    for op in ("sin", "abs", "neg", "relu", "isnan", "round"):
        made = sparse_of(layout, array)
        same(getattr(tt, op)(made), numpy_of(getattr(tt, op)(tt.tensor(array))), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_every_dtype(layout: str, dtype: Any) -> None:
    dense = tt.tensor(matrix(4, dtype=np.int64)).to(dtype)
    made = sparse_of(layout, dense.tolist(), dtype=dtype)
    for op in ("sin", "neg", "square", "sgn"):
        found, expected = getattr(tt, op)(made), getattr(tt, op)(dense)
        assert found.dtype is expected.dtype
        same(
            found.to_dense().to(tt.complex128),
            numpy_of(expected.to(tt.complex128)),
            rtol=1e-2 if dtype.itemsize == 2 else 1e-5,
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_in_place_and_with_out(layout: str) -> None:
    array = matrix(5)
    made = sparse_of(layout, array)
    assert made.sin_() is made
    same(made, np.sin(array))
    out = sparse_of(layout, array).clone()
    assert tt.neg(sparse_of(layout, array), out=out) is out
    same(out, -array)
    same(made.mul_(2).neg_(), -2 * np.sin(array))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_powers_and_comparisons_that_keep_zeros(layout: str) -> None:
    array = matrix(6)
    made = sparse_of(layout, array)
    same(made**2, array**2)
    same(made.abs().pow(0.5), np.abs(array) ** 0.5)
    for op, number in (("gt", 0.2), ("lt", -0.1), ("ne", 0), ("eq", 0.5), ("ge", 0.3), ("le", -0.3)):
        found = getattr(tt, op)(made, number)
        assert (found.dtype, found.layout) == (tt.bool, made.layout)
        same(found, COMPARISONS[op](array, number))
    for op, number in (("gt", -1), ("eq", 0), ("le", 0)):
        with pytest.raises(
            ValueRangeError, match=r"False where nothing is stored(.|\n)*try: self.to_dense\(\)"
        ):
            getattr(tt, op)(made, number)
    for exponent in (0, -1):
        with pytest.raises(ValueRangeError, match="it would make the result tensor dense"):
            made**exponent
    with pytest.raises(NoKernelError, match=r"try: self.to_dense\(\)"):
        made ** tt.ones(())
    with pytest.raises(ValueRangeError, match="raised to a number, not to a tensor"):
        made**made


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_function_that_does_not_keep_zeros_is_refused_with_the_conversion(layout: str) -> None:
    made = sparse_of(layout, matrix(7))
    for op in ("exp", "cos", "sigmoid"):
        with pytest.raises(NoKernelError, match=r"try: self.to_dense\(\)"):
            getattr(tt, op)(made)
