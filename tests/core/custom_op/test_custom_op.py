"""Custom operators: signatures from annotations, kernels, fakes, gradients, and undoing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np
import pytest

import tt
from tt import library
from tt.core.errors import (
    ArgumentError,
    DuplicateRegistrationError,
    KernelContractError,
    NoKernelError,
    UnknownOpError,
)
from tt.library import custom_op, infer_schema


@pytest.fixture
def twice(define):
    @define("test::twice")
    def twice(x: tt.Tensor) -> tt.Tensor:
        """Doubles x."""

    return twice


# --- signatures ------------------------------------------------------------------------------------------------


def test_annotations_give_the_signature():
    def function(
        x: tt.Tensor,
        others: list[tt.Tensor],
        sizes: Sequence[int],
        mask: tt.Tensor | None = None,
        alpha: int | float = 1,
        name: str = "a",
        *,
        flag: bool = False,
        eps: Optional[float] = 1e-5,  # noqa: UP045 - both spellings are understood
        dtype: tt.dtype | None = None,
        dims: tuple[int, ...] = (0, 1),
    ) -> tuple[tt.Tensor, tt.Tensor]: ...

    assert infer_schema(function, op_name="a::b") == (
        "a::b(Tensor x, Tensor[] others, int[] sizes, Tensor? mask=None, Scalar alpha=1, str name='a', *, "
        "bool flag=False, float? eps=1e-05, dtype? dtype=None, int[] dims=[0, 1]) -> (Tensor, Tensor)"
    )


def test_results_may_be_lists_numbers_or_nothing():
    def many(x: tt.Tensor) -> list[tt.Tensor]: ...
    def number(x: tt.Tensor) -> float: ...
    def nothing(x: tt.Tensor) -> None: ...

    ends = [infer_schema(f).rpartition(" -> ")[2] for f in (many, number, nothing)]
    assert ends == ["Tensor[]", "float", "()"]


def test_what_no_signature_can_express_is_refused():
    def bare(x) -> tt.Tensor: ...
    def strange(x: set) -> tt.Tensor: ...
    def variadic(*x: tt.Tensor) -> tt.Tensor: ...
    def without_result(x: tt.Tensor): ...

    for function, message in [
        (bare, "parameter 'x' has no annotation"),
        (strange, "parameter 'x' has the annotation set, which a signature cannot"),
        (variadic, "an operator has no variadic parameter"),
        (without_result, "the result needs an annotation"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            infer_schema(function)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("twice", "has the form 'namespace::name'"),
        ("a::b c", "has the form 'namespace::name'"),
        ("tt::twice", "the namespace 'tt' belongs to tt's own operators"),
    ],
)
def test_a_name_needs_a_namespace_of_its_own(name, message):
    with pytest.raises(ArgumentError, match=message):
        custom_op(name)(lambda x: x)


# --- calling ---------------------------------------------------------------------------------------------------


def test_a_kernel_gets_native_arrays(twice):
    @twice.kernel("cpu")
    def on_cpu(x):
        assert type(x) is np.ndarray
        return x + x

    x = tt.tensor([1.0, 2.0])
    assert twice(x).tolist() == tt.ops.test.twice(x).tolist() == [2.0, 4.0]


def test_a_ufunc_is_a_kernel(define):
    @define("test::sum2")
    def sum2(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    sum2.kernel("cpu", np.add)
    assert sum2(tt.ones(2), tt.ones(2)).tolist() == [2.0, 2.0]


def test_keyword_only_parameters_reach_kernels_fakes_and_bodies_as_such(define):
    @define("test::keyed")
    def keyed(x: tt.Tensor, *, by: float = 2.0, shift: tt.Tensor | None = None) -> tt.Tensor:
        return x * by if shift is None else x * by + shift

    x = tt.ones(2)
    assert keyed(x, by=3.0, shift=x).tolist() == [4.0, 4.0]

    @keyed.kernel("cpu")
    def on_cpu(x, *, shift, by):
        return x * np.float32(by) * 10 + (0 if shift is None else shift)

    @keyed.fake
    def fake(x, *, by, shift):
        assert by == 3.0
        return tt.empty_like(x)

    assert keyed(x, by=3.0, shift=x).tolist() == [31.0, 31.0]
    assert keyed(x).tolist() == [20.0, 20.0]
    assert keyed(tt.ones(2, device="meta"), by=3.0).shape == (2,)


def test_defaults_keywords_lists_and_optional_tensors_reach_the_kernel(define):
    @define("test::mix")
    def mix(
        xs: list[tt.Tensor], scale: float = 2.0, bias: tt.Tensor | None = None, *, negative: bool = False
    ) -> tt.Tensor: ...

    @mix.kernel("cpu")
    def on_cpu(xs, scale, bias, negative):
        total = sum(xs) * np.float32(scale)
        total = total if bias is None else total + bias
        return -total if negative else total

    ones = tt.ones(2)
    assert mix([ones, ones]).tolist() == [4.0, 4.0]
    assert mix([ones], 3.0, ones, negative=True).tolist() == [-4.0, -4.0]
    with pytest.raises(ArgumentError, match="mix"):
        mix(ones)


def test_a_body_is_the_implementation_for_every_device(define):
    @define("test::shifted")
    def shifted(x: tt.Tensor, by: float = 1.0) -> tt.Tensor:
        return x + by

    assert shifted(tt.zeros(2)).tolist() == [1.0, 1.0]
    assert shifted(tt.zeros(2, device="meta")).device.type == "meta"
    x = tt.zeros(2, requires_grad=True)
    shifted(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_kernel_goes_before_the_body(define):
    @define("test::which")
    def which(x: tt.Tensor) -> tt.Tensor:
        return x + 1

    which.kernel("cpu", lambda x: x + np.float32(2), dtypes="floating")
    assert which(tt.zeros(1)).item() == 2
    assert which(tt.zeros(1, dtype=tt.int64)).item() == 1


def test_a_body_for_some_devices_refuses_the_others(define):
    @define("test::only", device_types="cuda")
    def only(x: tt.Tensor) -> tt.Tensor:
        return x + 1

    with pytest.raises(NoKernelError, match="test::only has no kernel for cpu"):
        only(tt.zeros(1))


def test_the_dtype_of_the_results_of_kernels_is_declared(define):
    @define("test::positive", result="bool")
    def positive(x: tt.Tensor) -> tt.Tensor: ...

    positive.kernel("cpu", lambda x: x > 0)
    assert positive(tt.tensor([1.0, -1.0])).tolist() == [True, False]


def test_a_kernel_that_returns_another_dtype_than_promised_is_named(twice):
    twice.kernel("cpu", lambda x: x > 0)
    with pytest.raises(KernelContractError, match="test::twice"):
        twice(tt.ones(2))


def test_several_results_come_back_as_a_tuple(define):
    @define("test::both")
    def both(x: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]: ...

    both.kernel("cpu", lambda x: (x + 1, x - 1))
    up, down = both(tt.zeros(2))
    assert (up.tolist(), down.tolist()) == ([1.0, 1.0], [-1.0, -1.0])


def test_a_device_without_a_kernel_is_an_error_that_says_where_there_is_one(twice):
    twice.kernel("cpu", lambda x: x + x)
    with pytest.raises(NoKernelError, match="test::twice") as caught:
        twice(tt.zeros(2, device="meta"))
    assert "kernels exist for: cpu" in str(caught.value)


# --- fakes and gradients ---------------------------------------------------------------------------------------


def test_a_fake_gives_the_shape_without_data(twice):
    @twice.fake
    def fake(x):
        assert x.device.type == "meta"
        return tt.empty_like(x)

    made = twice(tt.zeros(2, 3, dtype=tt.float64, device="meta"))
    assert (made.shape, made.dtype, made.device.type) == ((2, 3), tt.float64, "meta")


def test_a_fake_serves_fake_tensors_of_any_device(define, twice):
    twice.fake(tt.empty_like)

    @define("test::parts")
    def parts(xs: list[tt.Tensor]) -> tuple[tt.Tensor, tt.Tensor]: ...

    parts.fake(lambda xs: (tt.empty_like(xs[0]), tt.empty_like(xs[1])))
    data = tt.ones(2, 3)
    with tt.fake_mode():
        x = tt.zeros(4, device="cuda")
        assert (twice(x).shape, twice(x).device.type) == ((4,), "cuda")
        assert (twice(data).shape, twice(data).device.type) == ((2, 3), "cpu")
        first, second = parts([x, x[:2]])
        assert (first.shape, second.shape, second.device.type) == ((4,), (2,), "cuda")


def test_a_fake_that_returns_data_is_refused(twice):
    twice.fake(lambda x: tt.zeros(2))
    with pytest.raises(KernelContractError, match="returned a tensor on cpu for tensors on meta"):
        twice(tt.zeros(2, device="meta"))


def test_a_gradient_runs_with_what_was_saved(define):
    @define("test::cube")
    def cube(x: tt.Tensor, scale: float = 1.0) -> tt.Tensor: ...

    cube.kernel("cpu", lambda x, scale: (x**3 * scale).astype(x.dtype))

    @cube.setup_context
    def save(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    @cube.backward
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient * ctx.scale, None

    x = tt.tensor([2.0, 3.0], dtype=tt.float64, requires_grad=True)
    cube(x, 2.0).sum().backward()
    assert x.grad.tolist() == [24.0, 54.0]


def test_using_the_result_of_an_operator_without_gradient_in_a_backward_pass_is_an_error(twice):
    twice.kernel("cpu", lambda x: x + x)
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(tt.errors.TTError, match="test::twice"):
        twice(x).sum().backward()


# --- registering and undoing -----------------------------------------------------------------------------------


def test_a_name_is_taken_once_by_libraries(twice):
    with pytest.raises(DuplicateRegistrationError, match="operator test::twice is registered twice"):
        library.Library("test", "FRAGMENT").define("twice(Tensor x) -> Tensor")
    library.Library("test", "FRAGMENT").define("defined(Tensor x) -> Tensor")
    with pytest.raises(DuplicateRegistrationError, match="operator test::defined is registered twice"):
        custom_op("test::defined", schema="(Tensor x) -> Tensor")(lambda x: x)


def test_a_definition_that_is_executed_again_replaces_the_first():
    def cell(factor, gradient):
        @custom_op("test::scaled")
        def scaled(x: tt.Tensor) -> tt.Tensor:
            return x * factor

        scaled.backward(lambda g: g * gradient)
        return scaled

    first = cell(2, 20)
    assert first(tt.ones(1)).item() == 2
    second = cell(3, 30)
    x = tt.ones(1, requires_grad=True)
    for op in (first, second, tt.ops.test.scaled):  # who kept the first calls the second
        x.grad = None
        result = op(x)
        result.backward()
        assert (result.item(), x.grad.item()) == (3, 30)
    second.remove()
    with pytest.raises(UnknownOpError):
        first(tt.ones(1))


def test_a_wrong_definition_leaves_the_first():
    first = custom_op("test::kept", schema="(Tensor x) -> Tensor")(lambda x: x + 1)
    with pytest.raises(ArgumentError, match="unknown tag"):
        custom_op("test::kept", schema="(Tensor x) -> Tensor", tags="nothing")(lambda x: x)
    assert first(tt.ones(1)).item() == tt.ops.test.kept(tt.ones(1)).item() == 2


def test_removing_takes_out_the_operator_its_kernels_and_its_gradient():
    for _ in range(2):  # the second time nothing of the first is left
        op = custom_op("test::gone", schema="(Tensor x) -> Tensor")(lambda x: x + 1)
        op.kernel("cpu", lambda x: x + np.float32(1))
        op.fake(lambda x: tt.empty_like(x))
        op.backward(lambda ctx, gradient: gradient)
        assert tt.ops.test.gone(tt.ones(1)).item() == 2
        op.remove()
        op.remove()
        with pytest.raises(UnknownOpError):
            tt.ops.test.gone(tt.ones(1))


def test_a_part_given_again_replaces_the_first(twice):
    twice.composite(lambda x: x)
    twice.composite(lambda x: x + x)
    assert twice(tt.ones(1)).item() == 2
