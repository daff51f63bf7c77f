"""Kernels of operators on lists: one call serves what lies in memory as its loops walk it, the composite the rest."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.backends.cpu.native.loading import load
from tt.core.library import REGISTRY, handle_of

pointwise, reduction = load("pointwise"), load("reduction")
pytestmark = pytest.mark.skipif(pointwise is None, reason="the native kernels are not in use")

DTYPES = ("float32", "float64", "float16", "bfloat16")


def arrays(dtype="float32", shapes=((3,), (2, 4), (), (0, 2), (70, 41))):
    generator = np.random.default_rng(1)
    tensors = [tt.tensor(generator.uniform(0.5, 2, shape)).to(getattr(tt, dtype)) for shape in shapes]
    return tensors, [handle_of(tensor) for tensor in tensors]


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_call_serves_lists_of_arrays(dtype):
    tensors, mine = arrays(dtype)
    for result, x in zip(pointwise.each("add", (mine, mine), None, None), tensors, strict=True):
        assert result.dtype == handle_of(x).dtype and np.array_equal(result, handle_of(tt.add(x, x)))
    for result, x in zip(pointwise.each("mul", (mine, 2.5), None, None), tensors, strict=True):
        assert np.array_equal(result, handle_of(tt.mul(x, 2.5)))
    numbers = [1.5, 2, 3, 4, -0.5]
    for result, x, n in zip(
        pointwise.each("div", (mine, numbers), None, None), tensors, numbers, strict=True
    ):
        assert np.array_equal(result, handle_of(tt.div(x, n)))
    for result, x, n in zip(
        pointwise.each("plain_addcmul", (mine,) * 3, numbers, None), tensors, numbers, strict=True
    ):
        assert np.array_equal(result, handle_of(tt.addcmul(x, x, x, value=n)))
    assert pointwise.each("sqrt", (mine,), None, mine) is True
    for x, before in zip(tensors, arrays(dtype)[0], strict=True):
        assert x.equal(before.sqrt())


def test_many_elements_are_divided_among_threads_wherever_arrays_begin():
    sizes = (100_001, 1, 0, 77_777, 3, 200_000)
    mine = [np.arange(size, dtype=np.float32) for size in sizes]
    for result, x in zip(pointwise.each("mul", (mine, 3.0), None, None), mine, strict=True):
        assert np.array_equal(result, x * np.float32(3))
    assert pointwise.each("zero", (mine,), None, mine) is True and not any(x.any() for x in mine)


def test_elements_of_any_dtype_are_copied():
    mine = [np.array([1, 2]), np.array([True]), np.array([1j, 2]), np.ones((2, 3), np.int8).T]
    copies = pointwise.each("copied", (mine,), None, None)
    for copy, x in zip(copies, mine, strict=True):
        assert (
            copy is not x and copy.dtype == x.dtype and copy.strides == x.strides and np.array_equal(copy, x)
        )


ones = np.ones(6, np.float32)
REFUSED = {
    "shapes": ("add", ([ones], [ones[:5]]), None, None),
    "gaps": ("add", ([ones[::2]], [ones[::2]]), None, None),
    "orders": ("add", ([np.ones((2, 3))], [np.ones((3, 2)).T]), None, None),
    "dtypes": ("add", ([ones], [ones.astype(np.float64)]), None, None),
    "integers": ("add", ([np.ones(2, np.int64)], 1), None, None),
    "a complex number": ("add", ([ones], 1j), None, None),
    "lengths": ("add", ([ones], [ones, ones]), None, None),
    "lengths of numbers": ("add", ([ones], [1.0, 2.0]), None, None),
    "nothing": ("sqrt", ([],), None, None),
    "a target twice": ("sqrt", ([ones, ones],), None, [ones, ones]),
    "targets that overlap": ("sqrt", ([ones[:4], ones[2:]],), None, [ones[:4], ones[2:]]),
    "an input that is a part of a target": ("add", ([ones[:3]], [ones[1:4]]), None, [ones[:3]]),
    "an input that another writes": ("add", ([ones[:3], ones[3:]], [ones[3:], ones[:3]]), None, [ones[:3], ones[3:]]),
    "a target of another order": ("copied", ([np.ones((2, 3))],), None, [np.ones((3, 2)).T]),
    "a target that is read only": ("sqrt", ([ones],), None, [np.broadcast_to(np.float32(1), (6,))]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_other_lists_are_left_to_the_composite_as_they_were(case):
    assert pointwise.each(*REFUSED[case]) is False
    assert (ones == 1).all()


def test_a_function_that_is_not_there_is_an_error():
    for extension, args in ((pointwise, (([ones],), None, None)), (reduction, ([ones],))):
        with pytest.raises(ValueError, match="no function 'nothing'"):
            extension.each("nothing", *args)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 2, float("inf"), float("-inf")])
def test_norms_are_those_of_single_tensors(dtype, order):
    tensors = [x for x in arrays(dtype)[0] if x.numel()]
    assert all(
        a.equal(tt.linalg.vector_norm(x, order))
        for a, x in zip(tt._foreach_norm(tensors, order), tensors, strict=True)
    )


def test_norms_of_doubles_whose_squares_leave_the_range_are_exact():
    tiny, large = (tt.full((2,), value, dtype=tt.float64) for value in (3e-200, 4e200))
    assert [n.item() for n in tt._foreach_norm([tiny, large])] == pytest.approx(
        [3e-200 * 2**0.5, 4e200 * 2**0.5]
    )


def test_lists_without_gradients_meet_the_kernel_and_others_the_composite(monkeypatch):
    calls = []

    class Spy:
        def each(self, *args):
            calls.append(args[0])
            return pointwise.each(*args)

    monkeypatch.setattr("tt.backends.cpu.native.optimizer.POINTWISE", Spy())
    leaf = [tt.ones(2, requires_grad=True)]
    tt._foreach_add([tt.ones(2)], 1)
    with tt.no_grad():
        tt._foreach_sub_(leaf, 1)
    tt._foreach_mul(leaf, 2)
    assert calls == ["add", "sub"] and leaf[0].tolist() == [0, 0] and leaf[0].requires_grad


@pytest.mark.parametrize("number", [1e300, 10**400, True, 1j])
def test_numbers_that_a_float_does_not_hold_are_left_to_the_composite(number):
    x = [tt.ones(2), tt.ones(3)]

    def outcome(call):
        try:
            return [(y.dtype, y.tolist()) for y in call()]
        except Exception as error:
            return type(error)

    expected = outcome(lambda: [tt.mul(y, number) for y in x])
    assert outcome(lambda: tt._foreach_mul(x, number)) == expected
    assert outcome(lambda: REGISTRY.composite("_foreach_mul.Scalar").function(x, number)) == expected
