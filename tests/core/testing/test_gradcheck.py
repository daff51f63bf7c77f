"""gradcheck finds what is wrong and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tt.autograd import gradcheck, gradgradcheck
from tt.core.errors import GradcheckError
from tt.core.library import CustomOp, custom_op


def point(*shape: int, complex: bool = False) -> tt.Tensor:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0)
    return tt.tensor(values, requires_grad=True)


@pytest.fixture
def wrong() -> Iterator[CustomOp]:
    """An operator x ** 2 whose gradient is off by a factor of two."""

    @custom_op("gradcheck_test::square")
    def square(x: tt.Tensor) -> tt.Tensor:
        """Squares x."""
        return x * x

    @square.setup_context
    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @square.backward
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x

    yield square
    square.remove()


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("complex", [False, True])
def test_right_gradients_pass(fast_mode: bool, complex: bool) -> None:
    x, y = point(2, 3, complex=complex), point(3, complex=complex)
    assert gradcheck(lambda x, y: (x * y).exp(), (x, y), fast_mode=fast_mode)
    assert gradcheck(lambda x, y: ((x * y).sum(1), x.abs()), (x, y), fast_mode=fast_mode)
    assert gradgradcheck(lambda x, y: (x * y).exp(), (x, y), fast_mode=fast_mode)


def test_functions_from_complex_to_real_and_back() -> None:
    assert gradcheck(lambda z: (z * z.conj()).real, point(3, complex=True))
    assert gradcheck(lambda x: x * (1 + 2j), point(3))


def test_a_wrong_gradient_shows_both_jacobians(wrong: CustomOp) -> None:
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ) as raised:
        gradcheck(wrong, point(2))
    message = str(raised.value)
    assert "numerical:[[" in message and "analytical:[[" in message
    with pytest.raises(GradcheckError, match="along random directions"):
        gradcheck(wrong, point(2), fast_mode=True)
    assert gradcheck(wrong, point(2), raise_exception=False) is False


def test_arguments_that_are_no_tensors_or_need_no_gradient_are_left_alone() -> None:
    assert gradcheck(lambda x, n, y: x * n + y, (point(2), 3, point(2).detach()))


def test_a_constant_function_has_no_gradient() -> None:
    assert gradcheck(lambda x: tt.zeros(2, dtype=tt.float64), point(2))


def test_inputs_must_require_gradients() -> None:
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, tt.zeros(2))


def test_single_precision_is_warned_about() -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="is not a double precision floating point"):
        gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2)


def test_noise_is_found_and_tolerated_on_demand() -> None:
    noise = iter(np.linspace(0, 1e-4, 1000))

    def hook(g: Any) -> Any:
        return g + float(next(noise))

    def noisy(x: Any) -> Any:
        y = x * 2
        if y.requires_grad:
            y.register_hook(hook)
        return y

    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(noisy, point(2), atol=1e-2)
    assert gradcheck(noisy, point(2), atol=1e-2, nondet_tol=1e-3)


@pytest.mark.parametrize("option", ["check_batched_grad", "check_forward_ad", "masked"])
def test_checks_that_there_are_not_are_refused(option: str) -> None:
    options: dict[str, Any] = {option: True}
    with pytest.raises(TypeError, match=option):
        gradcheck(lambda x: x, point(2), **options)


def test_no_warning_where_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x: x.sin(), point(2), check_grad_dtypes=True)
