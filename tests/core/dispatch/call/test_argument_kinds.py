"""The quick way of a call, and the general one: both hand the same arguments to the kernel, and refuse the same."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import tt
from tt.core.dispatch.call.codes import FALL_THROUGH
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.library import Mode
from tt.core.types.state import STATE

RECEIVED = []


@pytest.fixture
def operator():
    """An operator with a parameter of each kind; what its kernel gets is in RECEIVED."""
    with tt.library.scoped():

        @tt.library.custom_op("quick::all", mutates=())
        def all_kinds(
            x: tt.Tensor,
            y: tt.Tensor | None = None,
            count: int = 1,
            sizes: tuple[int, ...] = (1, 2),
            scale: float = 0.5,
            flag: bool = False,
            others: list[tt.Tensor] | None = None,
            mode: Literal["one", "two"] = "one",
            *,
            number: int | float = 1,
            dtype: tt.dtype | None = None,
        ) -> tt.Tensor:
            RECEIVED.append((x, y, count, sizes, scale, flag, others, mode, number, dtype))
            return x.clone()

        yield tt.ops.quick.all
    RECEIVED.clear()


def plain(value):
    """Return what can be compared of an argument: its type, and its value."""
    if isinstance(value, tt.Tensor):
        return "tensor", tuple(value.shape), value.tolist()
    if isinstance(value, list | tuple):
        return type(value), [plain(item) for item in value]
    return type(value), value


X, Y = tt.tensor([1.0, 2.0]), tt.tensor([3, 4])

CALLS = [
    ((X,), {}),
    ((X, Y), {}),
    ((X, None), {}),
    ((X, Y, 3), {}),
    ((X, Y, 3, (4, 5)), {}),
    ((X, Y, 3, [4, 5]), {}),
    ((X, Y, 3, tt.Size((4, 5))), {}),
    ((X, Y, 3, ()), {}),
    ((X, Y, 3, (4,), 2.5), {}),
    ((X, Y, 3, (4,), 2), {}),
    ((X, Y, np.int64(3), (np.int32(4),), np.float32(2)), {}),
    ((X, Y, 3, (4,), 2.5, True), {}),
    ((X, Y, 3, (4,), 2.5, np.True_), {}),
    ((X, Y, 3, (4,), 2.5, True, [X, Y]), {}),
    ((X, Y, 3, (4,), 2.5, True, (X, Y)), {}),
    ((X, Y, 3, (4,), 2.5, True, []), {}),
    ((X, Y, 3, (4,), 2.5, True, None, "two"), {}),
    ((X,), {"y": Y}),
    ((X,), {"count": 3, "scale": 2.0}),
    ((X,), {"number": 2}),
    ((X,), {"number": 2.5}),
    ((X,), {"dtype": tt.float64}),
    ((X,), {"dtype": None}),
    ((X,), {"mode": "two", "flag": True}),
    ((), {"x": X, "sizes": (7,)}),
    ((X,), {"sizes": [7]}),
]  # fmt: skip

REFUSED = [
    ((), {}),
    ((X, 1), {}),
    ((X, Y, 1.5), {}),
    ((X, Y, True), {}),
    ((X, Y, 3, (1.5,)), {}),
    ((X, Y, 3, (4,), "a"), {}),
    ((X, Y, 3, (4,), 2.5, 1), {}),
    ((X, Y, 3, (4,), 2.5, True, [X, 1]), {}),
    ((X, Y, 3, (4,), 2.5, True, None, "three"), {}),
    ((X, Y, 3, (4,), 2.5, True, None, "one", 1), {}),
    ((X,), {"x": X}),
    ((X,), {"unknown": 1}),
    ((), {"y": Y}),
    ((X,), {"number": "a"}),
]  # fmt: skip


@pytest.mark.parametrize("args, kwargs", CALLS)
def test_the_kernel_gets_what_the_binder_makes_of_a_call(operator, args, kwargs):
    bound = operator.operator.binder(operator)(args, kwargs)
    for _ in range(3):  # resolved; found; found again
        operator(*args, **kwargs)
    expected = [plain(value) for value in bound]
    assert [[plain(value) for value in received] for received in RECEIVED] == [expected] * 3


@pytest.mark.parametrize("args, kwargs", REFUSED)
def test_what_the_binder_refuses_is_refused_after_calls_that_went_the_quick_way(operator, args, kwargs):
    operator(X, Y)
    operator(X, Y)
    found = len(RECEIVED)
    with pytest.raises((TypeError, ValueError)):
        operator(*args, **kwargs)
    assert len(RECEIVED) == found


def test_calls_without_conversions_go_the_quick_way_from_the_first_on(operator):
    for _ in range(2):
        assert operator.fast_path((X, Y), {}) is not FALL_THROUGH
    assert operator.binder is None
    assert operator.fast_path((X, Y), {"count": 2}) is not FALL_THROUGH
    assert operator.fast_path((X, Y), {"unknown": 2}) is FALL_THROUGH


def test_the_quick_way_is_closed_while_a_mode_watches(operator):
    seen = []

    class Watch(Mode):
        def handle(self, caller, args):
            seen.append(caller.name)
            return caller.dispatch(args)

    operator(X, Y)
    with Watch():
        assert operator.fast_path((X, Y), {}) is FALL_THROUGH
        operator(X, Y)
    assert seen[0] == "quick::all"
    assert operator.fast_path((X, Y), {}) is not FALL_THROUGH


def test_sizes_may_be_given_one_by_one():
    x = tt.arange(6)
    for _ in range(2):
        assert x.view(2, 3).shape == x.view((2, 3)).shape == x.view([2, 3]).shape == (2, 3)
        assert tt.zeros(2, 3).shape == tt.zeros((2, 3)).shape == (2, 3)
        assert x.view(2, 3).permute(1, 0).shape == (3, 2)


def test_one_number_stands_for_a_list_of_them():
    x = tt.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert x.sum(1).tolist() == x.sum((1,)).tolist() == x.sum(dim=1).tolist() == [3, 12]


def test_a_default_device_is_seen():
    for _ in range(2):
        assert tt.zeros(2).device.type == "cpu"
    with tt.device("meta"):
        assert tt.zeros(2).device.type == "meta"
    assert tt.zeros(2).device.type == "cpu" and STATE.placed == 0
    tt.set_default_device("meta")
    try:
        assert tt.zeros(2).device.type == "meta"
    finally:
        tt.set_default_device(None)
    assert tt.zeros(2).device.type == "cpu" and STATE.placed == 0


def test_a_default_dtype_is_seen():
    for _ in range(2):
        assert tt.zeros(2).dtype is tt.float32
    with tt.default_dtype(tt.float64):
        assert tt.zeros(2).dtype is tt.float64
    assert tt.zeros(2).dtype is tt.float32


# --- overloads -----------------------------------------------------------------------------------------------------


def test_the_overload_follows_the_types_of_each_call():
    x = tt.tensor([[1.0, 5.0], [4.0, 2.0]])
    for _ in range(3):
        assert tt.max(x).item() == 5
        assert tt.max(x, 1).values.tolist() == [5, 4]
        assert tt.max(x, tt.tensor(3.0)).tolist() == [[3, 5], [4, 3]]
        assert tt.max(x, dim=0, keepdim=True).indices.tolist() == [[1, 0]]


def test_methods_are_found_on_the_class_and_on_instances():
    x = tt.ones(2)
    assert tt.Tensor.add is tt.add and tt.Tensor.view is tt.ops.view
    assert tt.Tensor.add(x, x).tolist() == x.add(x).tolist() == [2, 2]


# --- out= ------------------------------------------------------------------------------------------------------------


def entry_of_out(*args):
    """Return the entry that serves a full argument tuple of `add` with `out=`."""
    caller = REGISTRY.overload("add", "out")
    return caller.cached_call(*caller.scan(args), args)


def test_a_kernel_writes_into_out_where_nothing_else_has_to_be_done():
    x, out = tt.tensor([1.0, 2.0]), tt.zeros(2)
    for expected in (1, 2):
        assert tt.add(x, x, out=out) is out and out.tolist() == [2, 4]
        assert out._version == expected
    assert entry_of_out(x, x, 1, out).operands == (0, 1)
    assert tt.add(x, x, alpha=2, out=out) is out and out.tolist() == [3, 6]


@pytest.mark.parametrize("shape", [(3,), (2, 2), (0,)])
def test_an_output_of_another_shape_is_resized_with_a_warning(shape):
    x = tt.tensor([1.0, 2.0])
    tt.add(x, x, out=tt.zeros(2))
    out = tt.zeros(shape)
    if 0 in shape:
        tt.add(x, x, out=out)
    else:
        with pytest.warns(UserWarning, match="resized"):
            tt.add(x, x, out=out)
    assert out.tolist() == [2, 4]


def test_a_kernel_still_writes_into_out_after_an_output_of_another_shape():
    x = tt.tensor([1.0, 2.0])
    tt.add(x, x, out=tt.zeros(2))
    before = entry_of_out(x, x, 1, tt.zeros(2)).choices
    tt.add(x, x, out=tt.zeros(0))
    assert before and entry_of_out(x, x, 1, tt.zeros(2)).choices is before


@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (1, 2)])
def test_operands_that_broadcast_are_those_of_the_result(shape):
    x, y = tt.tensor([1.0, 2.0]), tt.ones(shape)
    out = tt.zeros((x + y).shape)
    for _ in range(2):
        assert tt.add(x, y, out=out).tolist() == tt.add(y, x, out=out).tolist() == (x + y).tolist()
    number = tt.zeros(())
    assert tt.add(tt.tensor(1.0), tt.tensor(2.0), out=number).item() == 3


def test_an_output_larger_than_the_result_is_resized_and_not_broadcast_into():
    out = tt.zeros(2, 2)
    with pytest.warns(UserWarning, match="resized"):
        tt.add(tt.tensor(1.0), tt.tensor(2.0), out=out)
    assert out.shape == () and out.item() == 3


def test_an_output_that_overlaps_partly_with_an_operand_is_refused():
    x = tt.arange(4.0)
    tt.add(x[:3], x[:3], out=tt.zeros(3))
    with pytest.raises(RuntimeError, match="memory"):
        tt.add(x[:3], x[:3], out=x[1:])
