"""Jacobians and Hessians: `tt.func` and `tt.autograd.functional` against torch's, in every order of nesting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.autograd import functional
from tt.func import jacrev

# torch compiles something of its own the first time that it makes a dual number, and warns itself of that.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

POINT = np.array([0.3, -0.7, 1.2])


def mixing(module: Any) -> Any:
    return lambda x: module.softmax(x, 0) * x.sin() + x.prod()


def scalar(module: Any) -> Any:
    return lambda x: (module.softmax(x, 0) * x.exp()).pow(2).sum()


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


# --- tt.autograd.functional ------------------------------------------------------------------------------------


def two(module: Any) -> Any:
    return lambda a, b: (a * b.sin()).sum() * a.exp().sum()


@pytest.mark.torch
@pytest.mark.parametrize("vectorize", [False, True])
def test_the_functional_interface_is_torchs(torch: Any, vectorize: bool) -> None:
    values = (POINT, POINT[::-1].copy())

    def run(module: Any) -> list[Any]:
        f = module.autograd.functional
        args = tuple(module.tensor(v) for v in values)
        found: list[Any] = [f.jacobian(mixing(module), args[0], vectorize=vectorize)]
        found += f.jacobian(two(module), args, vectorize=vectorize)
        for row in f.hessian(two(module), args, vectorize=vectorize):
            found += row
        if vectorize:
            found.append(f.jacobian(mixing(module), args[0], vectorize=True, strategy="forward-mode"))
            found.append(
                f.hessian(scalar(module), args[0], vectorize=True, outer_jacobian_strategy="forward-mode")
            )
        for product_of in (f.vjp, f.jvp, f.vhp, f.hvp):
            v = module.tensor(1.5, dtype=module.float64) if product_of is f.vjp else args
            value, product_ = product_of(two(module), args, v)
            found.append(value)
            found += product_ if isinstance(product_, tuple) else [product_]
        return found

    for found, expected in zip(run(tt), run(torch), strict=True):
        close(found, expected)


def test_create_graph_makes_results_differentiable() -> None:
    x = tt.tensor(POINT, requires_grad=True)
    found = functional.jacobian(lambda v: v**3, x, create_graph=True)
    found.sum().backward()
    close(x.grad, 6 * x)
    assert not functional.jacobian(lambda v: v**3, x).requires_grad


def test_strict_refuses_what_does_not_depend() -> None:
    x = tt.tensor(POINT)
    assert functional.jacobian(lambda v: tt.ones(2), x).tolist() == [[0.0] * 3] * 2
    with pytest.raises(RuntimeError, match="strict"):
        functional.jacobian(lambda v: tt.ones(2), x, strict=True)
    with pytest.raises(RuntimeError, match="strict"):
        functional.hessian(lambda v: v.sum(), x, strict=True)


def test_wrong_calls_are_refused() -> None:
    x = tt.tensor(POINT)
    with pytest.raises(TypeError, match="input 0 must be a Tensor"):
        functional.jacobian(tt.sin, 1.0)
    with pytest.raises(RuntimeError, match="one element"):
        functional.hessian(tt.sin, x)
    with pytest.raises(RuntimeError, match="may be left out"):
        functional.vjp(tt.sin, x)
    with pytest.raises(RuntimeError, match="shape"):
        functional.jvp(tt.sin, x, tt.ones(2))
    with pytest.raises(ValueError, match="strategy"):
        functional.jacobian(tt.sin, x, strategy="sideways")
    with pytest.raises(NotImplementedError, match="vectorize"):
        functional.jacobian(tt.sin, x, strategy="forward-mode")


# --- many vectors at once --------------------------------------------------------------------------------------


def test_a_batched_pass_is_one_pass() -> None:
    x = tt.tensor(POINT, requires_grad=True)
    y = mixing(tt)(x)
    calls: list[Any] = []
    y.register_hook(lambda g: calls.append(g.shape))
    (found,) = tt.autograd.grad(y, x, tt.eye(3, dtype=tt.float64), is_grads_batched=True)
    close(found, jacrev(mixing(tt))(tt.tensor(POINT)))
    assert len(calls) == 1


def test_strict_refuses_a_derivative_that_is_constant_where_it_is_recorded() -> None:
    x = tt.tensor(POINT, requires_grad=True)
    for call in (
        lambda f, **how: functional.jacobian(f, x, create_graph=True, **how),
        lambda f, **how: functional.vjp(f, x, tt.ones_like(x), create_graph=True, **how)[1],
        lambda f, **how: functional.jvp(f, x, tt.ones_like(x), create_graph=True, **how)[1],
    ):
        with pytest.raises(RuntimeError, match="does not depend on an input"):
            call(tt.clone, strict=True)
        assert call(tt.clone).shape[0] == len(POINT)
        assert call(tt.sin, strict=True).requires_grad


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_refuses_results_that_are_no_tensors(vectorize: bool) -> None:
    with pytest.raises(TypeError, match="result 1 must be a Tensor"):
        functional.jacobian(lambda t: (t * 2, "text"), tt.tensor(POINT), vectorize=vectorize)
