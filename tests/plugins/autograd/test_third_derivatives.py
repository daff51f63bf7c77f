"""Third derivatives of every operator whose formulas allow them, against differences of second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.autograd.calls import DIFFERENTIABLE, Call, calls, serves
from tests.plugins.autograd.formulas.test_formulas import BY_HAND, differentiable_here, loss, smooth
from tt.core.library import REGISTRY, OpDefinition

SERVED = [
    pytest.param(d, dtype, id=f"{d.name}-{dtype.name}")
    for d in DIFFERENTIABLE
    for dtype in (tt.float64, tt.complex128)
    if d.name not in BY_HAND and serves(d, dtype) and not REGISTRY.operator(d.name).mutates
]


def along(call: Call, points: list[Any], directions: list[Any], order: int) -> Any:
    """Return the derivative of some order along a direction, as a number."""
    leaves = [tt.tensor(p).requires_grad_() for p in points]
    value = loss(tt, call(*leaves))
    for _ in range(order):
        if not value.requires_grad:
            return 0.0
        gradients = tt.autograd.grad(
            value, leaves, create_graph=True, allow_unused=True, materialize_grads=True
        )
        parts = [g * tt.tensor(np.conj(v)) for g, v in zip(gradients, directions, strict=True)]
        value = sum(((p.real if p.is_complex() else p).sum() for p in parts), tt.zeros((), dtype=tt.float64))
    return float(value.item())


def check_third(call: Call, name: str, rng: Any) -> bool:
    """Compare at one sample; tell whether it could be compared."""
    points = [np.array(t.detach().numpy()) for t in call.inputs]
    directions = []
    for point in points:
        made = rng.standard_normal(point.shape)
        if np.iscomplexobj(point):
            made = made + 1j * rng.standard_normal(point.shape)
        directions.append(made / max(float(np.linalg.norm(made)), 1e-30))
    found = along(call, points, directions, 3)
    second = along(call, points, directions, 2)
    if not np.isfinite([found, second]).all() or max(abs(found), abs(second)) > 1e6:
        return False  # at the edge of where the function is smooth
    differences = []
    for step in (1e-4, 5e-5):
        sides = [
            along(call, [p + sign * step * v for p, v in zip(points, directions, strict=True)], directions, 2)
            for sign in (1, -1)
        ]
        differences.append((sides[0] - sides[1]) / (2 * step))
    coarse, fine = differences
    if not np.isfinite(differences).all() or abs(coarse - fine) > 1e-3 * max(1.0, abs(fine)):
        return False  # another branch lies within the step
    expected = (4 * fine - coarse) / 3
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4 * max(1.0, abs(second))), name
    return True


# At these points the function or its second derivative has no derivative that a formula gives: a norm of order -1 at
# zero; products that several zeros make zero, whose formulas are for the first two orders as PyTorch's; a determinant
# of complex numbers at a singular matrix, which goes through singular vectors and their phase.
NOT_THERE = ("a zero, order -1", "zeros", "singular")


def checked(definition: OpDefinition, dtype: tt.dtype, most: int) -> int:
    rng = np.random.default_rng(0)
    count = 0
    for name, call in calls(definition, dtype):
        if count == most:
            break
        if smooth(call) and differentiable_here(call) and not name.endswith(NOT_THERE):
            count += check_third(call, name, rng)
    return count


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("definition", "dtype"), [p for p in SERVED if p.values[1] is tt.float64])
def test_a_third_derivative_agrees_with_differences(definition: OpDefinition, dtype: tt.dtype) -> None:
    checked(definition, dtype, most=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("definition", "dtype"), SERVED)
def test_third_derivatives_of_all_samples_agree_with_differences(
    definition: OpDefinition, dtype: tt.dtype
) -> None:
    checked(definition, dtype, most=1000)


def test_nearly_all_operators_are_compared() -> None:
    """Operators that are smooth on no sample are passed over; these are smooth."""
    names = {"sin", "tanh", "mul", "matmul", "softmax", "logsumexp", "cumprod", "linalg_inv", "gelu", "std"}
    compared = {d.name for d in DIFFERENTIABLE if d.name in names and checked(d, tt.float64, most=1)}
    assert compared == names
