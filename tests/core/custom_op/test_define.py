"""The refusals of `custom_op`, and the functions that it takes for declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt
from tt import library
from tt.core.custom_op.define import only_declares
from tt.core.errors import ArgumentError, GradientError, KernelContractError, NoKernelError
from tt.library import custom_op

# --- bodies ------------------------------------------------------------------------------------------------------


def docstring_only(x: tt.Tensor) -> tt.Tensor:
    """Declare."""


def returns_none(x: tt.Tensor) -> tt.Tensor:
    """Declare."""
    return None


def dots(x: tt.Tensor) -> tt.Tensor: ...


def raises(x: tt.Tensor) -> tt.Tensor:
    raise NotImplementedError


def identity(x: tt.Tensor) -> tt.Tensor:
    return x


def constant(x: tt.Tensor) -> tt.Tensor:
    return 1


def outer(x: tt.Tensor) -> tt.Tensor:
    return tt


@pytest.mark.parametrize("function", [docstring_only, returns_none, dots, raises])
def test_a_body_that_does_nothing_only_declares(function: Callable[..., Any]) -> None:
    assert only_declares(function)
    op = custom_op("test::declared")(function)
    with pytest.raises(NoKernelError):
        op(tt.ones(1))


@pytest.mark.parametrize("function", [identity, constant, outer, lambda x: x, len])
def test_a_body_that_returns_something_is_an_implementation(function: Callable[..., Any]) -> None:
    assert not only_declares(function)


def test_a_body_that_returns_its_argument_is_refused_where_it_is_called() -> None:
    op = custom_op("test::identity")(identity)  # it does something: it is no mere declaration
    with pytest.raises(KernelContractError, match="test::identity is one of its arguments"):
        op(tt.ones(2))


# --- schemas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", ["bad(Tensor x) -> Tensor", " m::bad(Tensor x) -> Tensor", "Tensor"])
def test_a_schema_has_no_name_where_the_name_is_given(schema: str) -> None:
    with pytest.raises(ArgumentError, match=r"schema='\(Tensor x\) -> Tensor'"):
        custom_op("test::bad", schema=schema)(lambda x: x + 1)
    with pytest.raises(ArgumentError, match=r"schema='\(Tensor x\) -> Tensor'"):
        library.define("test::bad", schema)
    assert not hasattr(tt.ops, "test")


@pytest.mark.parametrize(
    ("schema", "function", "message"),
    [
        ("(Tensor x) -> Tensor", lambda x, y: x + y, "has parameters that the schema lacks: y"),
        ("(Tensor x) -> Tensor", lambda x, y=1: x + y, "has parameters that the schema lacks: y"),
        ("(Tensor x, Tensor y) -> Tensor", lambda x: x + 1, "does not take y"),
        ("(Tensor x, *, float y=1.0) -> Tensor", lambda x, *, z: x + z, "lacks: z and does not take y"),
    ],
)
def test_a_schema_names_the_arguments_of_the_function(
    schema: str, function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        custom_op("test::named", schema=schema)(function)


@pytest.mark.parametrize(
    ("schema", "function"),
    [
        ("(Tensor x, Tensor y) -> Tensor", lambda *both: both[0] + both[1]),
        ("(Tensor x, *, float y=1.0) -> Tensor", lambda x, y: x + y),
        ("(Tensor x, *, float y=1.0) -> Tensor", lambda x, *, y: x + y),
        ("(Tensor x, *, float y=1.0) -> Tensor", lambda first, second: first + second),
    ],
)
def test_names_and_kinds_of_parameters_are_the_function_s_own_affair(
    schema: str, function: Callable[..., Any]
) -> None:
    op = custom_op("test::named", schema=schema)(function)
    args = (tt.ones(1), tt.ones(1)) if "Tensor y" in schema else (tt.ones(1),)
    assert op(*args).tolist() == [2]


@pytest.mark.parametrize("add", ["fake", "composite"])
def test_a_fake_or_composite_takes_the_operator_s_arguments(add: str) -> None:
    op = custom_op("test::taken")(docstring_only)
    with pytest.raises(ArgumentError, match=f"the {add} has parameters that the schema lacks: y"):
        getattr(op, add)(lambda x, y: x)
    with pytest.raises(ArgumentError, match=f"the {add} does not take x"):
        getattr(op, add)(lambda: None)
    getattr(op, add)(lambda x, y=1: tt.empty_like(x))  # a parameter of its own, with a default


# --- devices -----------------------------------------------------------------------------------------------------


def test_a_kernel_for_a_device_type_of_no_plugin_warns_where_it_is_added() -> None:
    op = custom_op("test::placed")(docstring_only)
    with pytest.warns(UserWarning, match="device type 'cpuu'.*did you mean 'cpu'") as caught:
        op.kernel("cpuu")(lambda x: x + 1)
    assert caught[0].filename == __file__
    with pytest.raises(UserWarning, match="no installed plugin brings the device type 'gpu9'"):
        op.kernel("gpu9", lambda x: x + 1)
    assert [handle.what for handle in op.handles[1:]] == ["kernel of test::placed for cpuu"]


@pytest.mark.parametrize("known", ["cpu", "cuda", "meta"])
def test_a_kernel_for_a_declared_device_type_does_not_warn(known: str) -> None:
    custom_op("test::placed")(docstring_only).kernel(known, lambda x: x + 1)


# --- gradients ---------------------------------------------------------------------------------------------------


def backward_of(formula: Callable[..., Any], setup: bool = False) -> list[float]:
    @custom_op("test::scaled")
    def scaled(x: tt.Tensor, by: float = 2.0) -> tt.Tensor:
        return x * by

    scaled.backward(formula)
    if setup:
        scaled.setup_context(lambda ctx, inputs, output: None)
    x = tt.ones(2, requires_grad=True)
    scaled(x).sum().backward()
    assert x.grad is not None
    return x.grad.tolist()


@pytest.mark.parametrize("found", [lambda g: g, lambda g: (g,), lambda g: (g, None), lambda g: {"x": g}])
def test_a_backward_returns_one_gradient_for_each_tensor_or_none_for_the_others(
    found: Callable[..., Any],
) -> None:
    assert backward_of(found) == [1, 1]


@pytest.mark.parametrize("found", [lambda g: (g, g), lambda g: [g, g], lambda g: {"x": g, "by": g}])
def test_a_gradient_of_what_takes_no_tensor_is_refused(found: Callable[..., Any]) -> None:
    with pytest.raises(GradientError, match="returned a gradient of 'by', which takes no tensor"):
        backward_of(found)


def test_a_gradient_of_what_takes_no_tensor_is_refused_of_a_backward_with_a_context() -> None:
    assert backward_of(lambda ctx, g: (g, None), setup=True) == [1, 1]
    with library.scoped(), pytest.raises(GradientError):
        tt.ops.test.scaled.remove()
        backward_of(lambda ctx, g: (g, g), setup=True)


@pytest.mark.parametrize("count", [3, 4])
def test_a_gradient_too_many_is_refused(count: int) -> None:
    with pytest.raises(GradientError, match=f"must return 1 gradients, of x, and it returned {count}"):
        backward_of(lambda g: (g,) * count)


# --- what is forgotten -------------------------------------------------------------------------------------------


def test_a_definition_without_a_name_says_so() -> None:
    with pytest.raises(
        ArgumentError, match=r"(?s)is the name of the operator.*@custom_op\('namespace::name'\)"
    ):
        custom_op(docstring_only)  # type: ignore[call-overload]


def test_a_kernel_that_cannot_get_the_arguments_is_refused_where_it_is_added() -> None:
    op = custom_op("test::refused")(docstring_only)
    with pytest.raises(ArgumentError, match="the kernel has parameters that the schema lacks: y"):
        op.kernel("cpu", lambda x, y: x)
    with pytest.raises(ArgumentError, match="the kernel does not take x"):
        op.kernel("cpu", lambda: None)
    with pytest.raises(ArgumentError, match=r"(?s)is a device type.*@op.kernel\('cpu'\)"):
        op.kernel(lambda x: x)  # type: ignore[call-overload]
    op.kernel("cpu", lambda x: x + x)  # nothing of the refused ones is left
    assert op(tt.ones(1)).tolist() == [2]


# --- dtypes of results -------------------------------------------------------------------------------------------


def test_int_to_float_computes_integers_in_the_default_dtype() -> None:
    op = custom_op("test::rooted", result="int_to_float")(docstring_only)
    op.kernel("cpu", np.sqrt)
    op.fake(tt.empty_like)
    found = op(tt.tensor([4, 9]))
    assert (found.dtype, found.tolist()) == (tt.float32, [2, 3])
    assert op(tt.empty(3, dtype=tt.int64, device="meta")).dtype is tt.float32
    assert op(tt.tensor([4.0], dtype=tt.float64)).dtype is tt.float64
    assert tt.explain("test::rooted", ["cpu:int64"]).result == "float32"
    library.opcheck(op, (tt.tensor([4, 9]),))
    library.opcheck(op, (tt.tensor([4.0, 9.0]),), test_utils=("test_schema", "test_faketensor"))


def test_the_advice_for_another_dtype_is_one_that_custom_op_takes() -> None:
    op = custom_op("test::advised")(docstring_only)
    op.fake(lambda x: tt.empty_like(x, dtype=tt.float32))
    with pytest.raises(tt.errors.KernelContractError, match="try: result='float32'"):
        op(tt.empty(2, dtype=tt.int64, device="meta"))


# --- which arguments have a gradient -----------------------------------------------------------------------------


def test_arguments_without_a_gradient_are_constants() -> None:
    def scaled(x: tt.Tensor, by: tt.Tensor) -> tt.Tensor:
        return x * by

    op = custom_op("test::scaled", scaled, grad="x")
    op.backward(lambda g, by: {"x": g * by})
    x, by = tt.tensor([1.0, 2.0], requires_grad=True), tt.tensor([3.0, 4.0], requires_grad=True)
    found = tt.autograd.grad(op(x, by).sum(), (x, by), allow_unused=True)
    assert (found[0].tolist(), found[1]) == ([3, 4], None)
    assert library.opcheck(op, (x.detach().double(), by.detach().double())).ok
    with pytest.raises(ArgumentError, match="grad names 'factor', which is no tensor argument"):
        custom_op("test::scaled", scaled, grad=("x", "factor"))
