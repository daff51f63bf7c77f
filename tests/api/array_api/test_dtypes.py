"""Limits, kinds and promotion of dtypes."""

from __future__ import annotations

import itertools

import array_api_strict as strict
import pytest

import tt
from tests.api.array_api.comparing import DTYPES, check
from tt import array_api as xp

KINDS = [
    "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
    ("bool", "integral"), ("real floating", "complex floating"), (),
]  # fmt: skip


def test_pairs_of_dtypes_promote_as_the_standard_says():
    for one, two in itertools.product(DTYPES, DTYPES):
        ours, theirs = ([getattr(library, name) for name in (one, two)] for library in (xp, strict))
        try:
            expected = strict.result_type(*theirs)
        except TypeError:
            continue  # the standard does not say
        assert str(xp.result_type(*ours)).split(".")[1] == str(expected).split(".")[-1], (one, two)
        assert xp.can_cast(*ours) == (xp.result_type(*ours) is ours[1])


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_have_the_dtypes_of_the_standard(kind):
    for name in DTYPES:
        assert xp.isdtype(getattr(xp, name), kind) == strict.isdtype(getattr(strict, name), kind)


def test_half_precision_is_real_floating():
    assert xp.isdtype(tt.float16, "real floating") and xp.isdtype(tt.bfloat16, "numeric")


def test_kinds_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="'whole' is not a kind of dtypes"):
        xp.isdtype(xp.int8, "whole")
    with pytest.raises(TypeError, match="kind must be a dtype, a name or a tuple"):
        xp.isdtype(xp.int8, 3)


@pytest.mark.parametrize("name", DTYPES)
def test_limits_are_those_of_the_strict_library(name):
    ours, theirs = getattr(xp, name), getattr(strict, name)
    if xp.isdtype(ours, "integral"):
        found, expected, fields = xp.iinfo(ours), strict.iinfo(theirs), ("bits", "max", "min")
    elif name != "bool":
        found, expected = xp.finfo(ours), strict.finfo(theirs)
        fields = ("bits", "eps", "max", "min", "smallest_normal")
    else:
        return
    for field in fields:
        value = getattr(found, field)
        assert value == getattr(expected, field) and type(value) in (int, float)
    assert str(found.dtype).split(".")[1] == str(expected.dtype).split(".")[-1]


def test_limits_of_the_dtype_of_an_array():
    assert xp.finfo(xp.ones(1, dtype=xp.float64)).bits == 64 and xp.iinfo(xp.asarray([1])).bits == 64


@pytest.mark.parametrize(
    "call",
    [
        "xp.astype(a([1.5, -2.5]), xp.int32)", "xp.astype(a([0, 2]), xp.bool)", "xp.astype(a([1]), xp.complex64)",
        "xp.result_type(xp.int8, 3)", "xp.result_type(xp.float32, 1.5)", "xp.result_type(xp.float32, 1j)",
        "xp.result_type(a([1], 'int8'), xp.int16, a(2, 'int32'))", "xp.can_cast(a([1], 'int8'), xp.int16)",
        "xp.can_cast(xp.int64, xp.uint64)", "xp.can_cast(xp.float32, xp.complex64)",
    ],
)  # fmt: skip
def test_equals_the_strict_library(call):
    check(call)


def test_conversion_copies_unless_told_otherwise():
    x = xp.ones(2)
    assert xp.astype(x, x.dtype) is not x and xp.astype(x, x.dtype, copy=False) is x
    assert xp.astype(x, xp.int8, device="meta").device.type == "meta"


def test_numbers_alone_have_no_dtype():
    with pytest.raises(TypeError, match="needs an array or a dtype"):
        xp.result_type(1, 2.0)
    with pytest.raises(TypeError, match="an array or a Python number, not str"):
        xp.result_type(xp.int8, "int8")
