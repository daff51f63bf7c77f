"""Higher derivatives of the loss of sequences whose alignment is unknown, against differences."""

from __future__ import annotations

import pytest

import tt

F = tt.nn.functional
TARGETS, INPUTS, LENGTHS = [[1, 2, 2], [3, 1, 0]], tt.tensor([5, 4]), tt.tensor([3, 2])


def loss(logits, inputs=INPUTS, **options):
    scores = F.log_softmax(logits, -1)
    return F.ctc_loss(scores, tt.tensor(TARGETS), inputs, LENGTHS, reduction="sum", **options)


def slope(logits, directions):
    """Return the derivative along some directions, one order each, and then the gradient."""
    at = logits.detach().requires_grad_()
    value = loss(at)
    for direction in directions:
        (gradient,) = tt.autograd.grad(value, at, create_graph=True)
        value = (gradient * direction).sum()
    return tt.autograd.grad(value, at)[0]


def numbers(seed):
    return tt.randn(5, 2, 4, dtype=tt.float64, generator=tt.Generator().manual_seed(seed))


@pytest.mark.parametrize("order", [2, 3])
def test_a_derivative_is_the_difference_of_those_one_order_below(order):
    logits, directions = numbers(0), [numbers(seed) for seed in range(1, order)]
    step = 1e-5 * directions[-1]
    expected = (slope(logits + step, directions[:-1]) - slope(logits - step, directions[:-1])) / 2e-5
    tt.testing.assert_close(slope(logits, directions), expected, rtol=1e-6, atol=1e-8)


def test_forward_over_reverse_is_reverse_over_reverse():
    logits, direction = numbers(0), numbers(1)
    _, result = tt.func.jvp(tt.func.grad(loss), (logits,), (direction,))
    tt.testing.assert_close(result, slope(logits, [direction]), rtol=1e-10, atol=1e-12)


def test_second_derivatives_of_an_impossible_target_that_counts_as_zero_are_zero():
    logits = numbers(0).requires_grad_()
    value = loss(logits, tt.tensor([2, 4]), zero_infinity=True)
    (gradient,) = tt.autograd.grad(value, logits, create_graph=True)
    (curve,) = tt.autograd.grad((gradient * numbers(1)).sum(), logits)
    assert not curve[:, 0].any()
    assert curve.isfinite().all()
    assert curve[:, 1].any()
