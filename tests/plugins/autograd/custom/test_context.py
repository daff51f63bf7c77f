"""Formulas that come from outside: tables of plugins, and custom operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY, CustomOp, custom_op
from tt.plugins.autograd.formulas.table import Formulas


@pytest.fixture
def scaled() -> Iterator[CustomOp]:
    @custom_op("formula_test::scaled")
    def scaled(x: tt.Tensor, factor: float) -> tt.Tensor:
        """Multiplies x by a factor."""

    @scaled.kernel("cpu")
    def on_cpu(x: Any, factor: float) -> Any:
        return x * factor

    @scaled.fake
    def fake(x: Any, factor: float) -> Any:
        return tt.empty_like(x)

    yield scaled
    scaled.remove()


def test_a_custom_operator_with_backward(scaled: CustomOp) -> None:
    @scaled.setup_context
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @scaled.backward
    def backward(ctx: Any, gradient: Any) -> Any:
        assert ctx.needs_input_grad == (True, False)
        return gradient * ctx.factor, None

    x = tt.ones(3, dtype=tt.float64, requires_grad=True)
    y = scaled(x, 3.0)
    assert y.grad_fn is not None and y.grad_fn.name() == "ScaledBackward0"
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0, 3.0]
    assert tt.autograd.gradcheck(lambda x: scaled(x, 3.0), x)
    assert not scaled(tt.ones(3), 3.0).requires_grad


def test_a_custom_operator_without_backward_is_refused_in_backward_only(scaled: CustomOp) -> None:
    x = tt.ones(3, requires_grad=True)
    y = scaled(x, 3.0)
    assert y.tolist() == [3.0, 3.0, 3.0]
    if y.requires_grad:
        with pytest.raises(RuntimeError, match="is not implemented"):
            y.sum().backward()


def test_saved_tensors_of_a_custom_operator_are_watched() -> None:
    @custom_op("formula_test::squared")
    def squared(x: tt.Tensor) -> tt.Tensor:
        """Squares x."""
        return x * x

    squared.setup_context(lambda ctx, inputs, output: ctx.save_for_backward(inputs[0], output))

    @squared.backward
    def backward(ctx: Any, gradient: Any) -> Any:
        x, output = ctx.saved_tensors
        assert output.tolist() == (x * x).tolist()
        return 2 * x * gradient

    try:
        w = tt.ones(2, requires_grad=True)
        x = w * 3
        y = squared(x)
        y.sum().backward(retain_graph=True)
        assert w.grad is not None and w.grad.tolist() == [18.0, 18.0]
        (g,) = tt.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = tt.autograd.grad(g.sum(), x, retain_graph=True)
        assert h is not None and h.tolist() == [2.0, 2.0]
        with tt.no_grad():
            x.add_(1)
        with pytest.raises(tt.core.errors.SavedTensorError, match="saved by SquaredBackward0"):
            y.sum().backward()
    finally:
        squared.remove()


def test_a_saved_result_of_a_custom_operator_can_be_differentiated_again() -> None:
    @custom_op("formula_test::exponential")
    def exponential(x: tt.Tensor) -> tt.Tensor:
        """Raises e to the power of x."""
        return x.exp()

    exponential.setup_context(lambda ctx, inputs, output: ctx.save_for_backward(output))
    exponential.backward(lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    try:
        x = tt.tensor([0.5, 1.0], dtype=tt.float64, requires_grad=True)
        assert tt.autograd.gradcheck(exponential, x)
        assert tt.autograd.gradgradcheck(exponential, x)
    finally:
        exponential.remove()


def test_a_second_formula_for_an_operator_is_refused() -> None:
    table = Formulas()
    table.of("mul", self=lambda g, other: g * other)
    with pytest.raises(tt.core.errors.DuplicateRegistrationError, match="formula of mul"):
        REGISTRY.add(table)
    with pytest.raises(ValueError, match="already has a formula"):
        table.of("mul", self=lambda g: g)
    x = tt.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 2.0])
