"""Registrations of custom operators: what each adds, and what its handle, a scope and a library undo."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.core.custom_op.made import add, make
from tt.core.errors import (
    ArgumentError,
    DuplicateRegistrationError,
    NoKernelError,
    ShapeError,
    UnknownNameError,
    UnknownOpError,
)
from tt.library import custom_op

# --- the operator is its caller ----------------------------------------------------------------------------------


def test_the_operator_is_what_the_namespace_has():
    twice = make()
    assert tt.ops.test.twice is twice
    assert twice.name == "test::twice"
    assert str(twice.schema) == "test::twice(Tensor x) -> Tensor"
    assert repr(twice) == "<custom operator test::twice(Tensor x) -> Tensor>"
    assert twice.__doc__ is not None and "Doubles x." in twice.__doc__


def test_a_removed_operator_is_unknown_to_those_who_hold_it():
    twice = make()
    twice.kernel("cpu", add(1))
    x = tt.ones(1)
    assert [twice(x).item() for _ in range(3)] == [2.0] * 3
    held = tt.ops.test.twice
    twice.remove()
    for op in (twice, held):
        with pytest.raises(UnknownOpError, match="test::twice"):
            op(x)
    with pytest.raises(UnknownOpError, match="test::twice"):
        twice.kernel("cpu", add(1))


def test_a_name_can_be_used_again_with_another_signature():
    first = make()
    first.remove()

    @custom_op("test::twice")
    def second(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return x + y

    assert tt.ops.test.twice(tt.ones(1), tt.ones(1)).item() == 2.0


def test_dtypes_of_several_tensors_do_not_mix_up():
    @custom_op("test::first")
    def first(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    seen = []

    @first.kernel("cpu")
    def on_cpu(x, y):
        seen.append((x.dtype.name, y.dtype.name, x.ndim, y.ndim))
        return x + 0

    f, i = tt.ones(2), tt.ones(2, dtype=tt.int64)
    zero_dim = tt.ones(())
    for _ in range(3):
        for x, y in ((f, f), (f, i), (i, f), (i, i), (zero_dim, f), (zero_dim, i)):
            made = first(x, y)
            assert (made.dtype, made.shape) == (x.dtype, x.shape)
            assert seen.pop() == (x.dtype.name, y.dtype.name, x.ndim, y.ndim)


def test_a_list_of_tensors_decides_the_dtype_where_nothing_stands_before_it():
    @custom_op("test::joined")
    def joined(
        mask: tt.Tensor | None, xs: list[tt.Tensor], ys: list[tt.Tensor] = ()
    ) -> tuple[tt.Tensor, tt.Tensor]: ...

    joined.kernel("cpu", lambda mask, xs, ys: (xs[0] + 0, xs[0] + 0))
    joined.fake(lambda mask, xs, ys: (tt.empty_like(xs[0]), tt.empty_like(xs[0])))
    for dtype in (tt.float64, tt.float32, tt.int16):
        for device in ("cpu", "meta"):
            x = tt.zeros(2, dtype=dtype, device=device)
            assert joined(None, [x, x])[1].dtype is dtype
        with tt.fake_mode():
            assert joined(None, [x])[1].dtype is dtype
    explained = tt.explain("test::joined", ["cpu:bool", "cpu:int16", "cpu:int8"])
    assert explained.resolution.results == (tt.bool, tt.bool)


# --- kernels ---------------------------------------------------------------------------------------------------


def test_kernels_serve_devices_dtypes_and_layouts():
    twice = make()
    twice.kernel(["cpu", "cuda"], add(1), dtypes="floating")
    twice.kernel("cpu", add(2), dtypes=("int64",))
    twice.kernel("cpu", lambda x: x, layout="sparse_coo")
    assert [h.what for h in twice.handles][1:] == [
        "kernel of test::twice for cpu; kernel of test::twice for cuda",
        "kernel of test::twice for cpu",
        "kernel of test::twice for cpu",
    ]
    assert twice(tt.ones(1)).item() == 2 and twice(tt.ones(1, dtype=tt.int64)).item() == 3
    with pytest.raises(NoKernelError, match="int32"):
        twice(tt.ones(1, dtype=tt.int32))


def test_a_second_kernel_of_a_place_is_an_error_unless_it_overrides():
    twice = make()
    twice.kernel("cpu", add(1))
    with pytest.raises(DuplicateRegistrationError, match="kernel of test::twice for cpu"):
        twice.kernel("cpu", add(2))
    other = add(2)
    twice.kernel("cpu", other, override=True)
    assert twice(tt.ones(1)).item() == 3
    twice.handle(other).remove()
    assert twice(tt.ones(1)).item() == 2


def test_no_device_is_an_error():
    with pytest.raises(ArgumentError, match="no device type is given"):
        make().kernel([], add(1))


def test_half_precision_reaches_the_kernel_as_it_is():
    twice = make()
    twice.kernel("cpu", lambda x: x + x)
    assert twice(tt.ones(2, dtype=tt.float16)).dtype is tt.float16


# --- handles ---------------------------------------------------------------------------------------------------


def test_decorators_return_the_function_and_its_handle_undoes_it():
    twice = make()

    @twice.composite
    def body(x):
        return x * 2

    @twice.kernel("cpu")
    def on_cpu(x):
        return x + np.float32(10)

    @twice.fake
    def fake(x):
        return tt.empty(7, device=x.device)

    assert callable(body) and callable(on_cpu) and callable(fake)
    x = tt.ones(3)
    assert (twice(x)[0].item(), twice(tt.ones(3, device="meta")).shape) == (11.0, (7,))
    twice.handle(on_cpu).remove()
    assert twice(x)[0].item() == 2.0
    twice.handle(fake).remove()
    assert twice(tt.ones(3, device="meta")).shape == (3,)
    assert [h.what for h in twice.handles] == ["operator test::twice", "composite of test::twice"]
    with pytest.raises(ArgumentError, match="on_cpu is not registered with this operator"):
        twice.handle(on_cpu)


def test_one_handle_for_all_that_a_function_was_registered_for():
    twice = make()

    @twice.kernel("cuda")
    @twice.kernel("cpu")
    def anywhere(x):
        return x + x

    handle = twice.handle(anywhere)
    assert handle.what == "kernel of test::twice for cpu; kernel of test::twice for cuda"
    handle.remove()
    with pytest.raises(NoKernelError):
        twice(tt.ones(1))


@pytest.mark.parametrize("part", ["composite", "fake", "shape"])
def test_what_was_shadowed_comes_back(part):
    twice = make()
    place = {"device": "cpu" if part == "composite" else "meta"}
    if part == "shape":
        first, second = (lambda x: (1,)), (lambda x: (2,))
    else:
        first, second = (lambda x: tt.zeros(1, **place)), (lambda x: tt.zeros(2, **place))
    x = tt.ones(3, **place)
    getattr(twice, part)(first)
    assert twice(x).shape == (1,)
    getattr(twice, part)(second)
    assert twice(x).shape == (2,)
    twice.handle(second).remove()
    assert twice(x).shape == (1,)
    getattr(twice, part)(second)
    twice.handle(first).remove()
    assert twice(x).shape == (2,)


def test_a_handle_says_what_it_undoes_and_whether_it_has():
    twice = make()
    kernel = twice.kernel("cpu", add(1))
    handle = twice.handle(kernel)
    assert (repr(handle), handle.active) == ("<handle of kernel of test::twice for cpu>", True)
    handle.remove()
    handle.remove()
    assert (repr(handle), handle.active) == ("<handle of kernel of test::twice for cpu, removed>", False)


# --- shapes ----------------------------------------------------------------------------------------------------


def test_a_named_shape_rule_serves_meta_fake_and_the_error_of_a_kernel():
    @custom_op("test::total")
    def total(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    total.kernel("cpu", lambda x, y: x + y)
    total.shape("broadcast")
    assert total(tt.ones(2, 1, device="meta"), tt.ones(3, device="meta")).shape == (2, 3)
    with tt.fake_mode():
        assert total(tt.ones(2, 1, device="cuda"), tt.ones(3, device="cuda")).shape == (2, 3)
    with pytest.raises(ShapeError, match="do not broadcast"):
        total(tt.ones(2), tt.ones(3))


def test_a_function_of_shapes_is_a_rule():
    @custom_op("test::split_at", result=("same", "int64"))
    def split_at(x: tt.Tensor, at: int) -> tuple[tt.Tensor, tt.Tensor]: ...

    @split_at.shape
    def shapes(x, at):
        return (at, *x.shape[1:]), (x.shape[0] - at, *x.shape[1:])

    first, second = split_at(tt.ones(5, 2, device="meta"), 2)
    assert (first.shape, second.shape, first.dtype, second.dtype) == ((2, 2), (3, 2), tt.float32, tt.int64)


def test_a_rule_that_does_not_fit_is_refused():
    twice = make()
    with pytest.raises(UnknownNameError, match="unknown shape rule 'brodcast'; did you mean 'broadcast'"):
        twice.shape("brodcast")
    with pytest.raises(
        ArgumentError, match="the shape rule 'wants' needs y, which the operator does not have"
    ):

        @twice.shape
        def wants(x, y):
            return x.shape


# --- vmap ------------------------------------------------------------------------------------------------------


def test_a_batching_rule_runs_once_for_all_examples():
    @custom_op("test::scaled")
    def scaled(x: tt.Tensor, by: tt.Tensor | None = None, *, plus: float = 0.0) -> tt.Tensor: ...

    calls = []

    @scaled.kernel("cpu")
    def on_cpu(x, by, plus):
        calls.append(x.shape)
        return x * (1 if by is None else by) + np.float32(plus)

    x = tt.arange(6.0).reshape(3, 2)
    expected = tt.func.vmap(lambda row: scaled(row, plus=1.0))(x)
    assert len(calls) == 3

    @scaled.vmap
    def rule(info, in_dims, x, by, *, plus):
        assert (info.batch_size, info.randomness, in_dims, plus) == (3, "error", (1, None), 1.0)
        return scaled(x, by, plus=plus), 1

    calls.clear()
    found = tt.func.vmap(lambda row: scaled(row, plus=1.0), in_dims=1)(x.t())
    assert found.tolist() == expected.tolist()
    assert calls == [(2, 3)]
    scaled.handle(rule).remove()
    calls.clear()
    tt.func.vmap(lambda row: scaled(row, plus=1.0))(x)
    assert len(calls) == 3


def test_a_batching_rule_may_have_several_results_lists_and_none_that_differ():
    @custom_op("test::stats")
    def stats(xs: list[tt.Tensor]) -> tuple[tt.Tensor, tt.Tensor]: ...

    stats.kernel("cpu", lambda xs: (xs[0] + 1, xs[1] + 0))

    @stats.vmap
    def rule(info, in_dims, xs):
        assert in_dims == ([0, None],)
        return (xs[0] + 1, xs[1]), (0, None)

    y = tt.ones(2)
    first, second = tt.func.vmap(lambda row: stats([row, y]))(tt.zeros(3, 2))
    assert first.tolist() == [[1.0, 1.0]] * 3
    assert second.tolist() == [[1.0, 1.0]] * 3


def test_a_rule_that_returns_no_dim_is_told():
    twice = make()
    twice.kernel("cpu", add(1))
    twice.register_vmap(lambda info, in_dims, x: x)
    with pytest.raises(ArgumentError, match="a batching rule returns"):
        tt.func.vmap(twice)(tt.ones(3))
