"""The line search for the strong Wolfe conditions, with cubic interpolation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import tt

SUFFICIENT: Final = 1e-4  # of the decrease that the slope promises
FLAT: Final = 0.9  # of the slope may be left


@dataclass
class Trial:
    """A point on the line: where, the loss, its gradient, and the slope along the line."""

    at: Any
    value: float
    grad: Any
    slope: float


def lowest_of_cubic(one: Trial, other: Trial, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return where the cubic through two trials, with their slopes, has its minimum, between bounds."""
    left, right = (one, other) if one.at <= other.at else (other, one)
    low, high = bounds or (left.at, right.at)
    bend = one.slope + other.slope - 3 * (one.value - other.value) / (one.at - other.at)
    square = bend**2 - one.slope * other.slope
    # The cubic has no minimum: its derivative has no real root.
    if square < 0:
        return (low + high) / 2.0
    root = square**0.5
    part = (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    return min(max(right.at - (right.at - left.at) * part, low), high)


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Any]],
    length: float | tt.Tensor,
    direction: tt.Tensor,
    value: float,
    grad: tt.Tensor,
    slope: float,
    tolerance: float,
    most: int,
) -> tuple[Trial, int]:
    """Return a point that fulfils the strong Wolfe conditions, and the number of evaluations.

    Algorithms 3.5 and 3.6 of Nocedal and Wright, *Numerical Optimization*: a bracket is found, then narrowed.

    Parameters
    ----------
    evaluate : callable
        Returns loss and gradient at a distance from the start.
    length : float
        The first distance.
    direction : Tensor
        The direction.
    value, grad, slope
        Loss, gradient and slope at the start.
    tolerance : float
        The width of the bracket below which the search ends.
    most : int
        How many points may be tried after the first; the lowest one is returned if none fulfils the conditions.
    """
    start = Trial(0, value, grad, slope)
    trials = 0

    def trial(at: float | tt.Tensor) -> Trial:
        nonlocal trials
        trials += 1
        loss, gradient = evaluate(at)
        return Trial(at, loss, gradient, gradient.dot(direction).item())

    def too_high(point: Trial) -> bool:
        return bool(point.value > value + SUFFICIENT * point.at * slope)

    def flat(point: Trial) -> bool:
        return abs(point.slope) <= -FLAT * slope

    # A bracket.
    before, point, steps = start, trial(length), 0
    bracket: list[Trial] = []
    while steps < most:
        # Nocedal and Wright, Numerical Optimization, algorithm 3.5: a point that lies too high, or above
        # the last, closes the bracket.
        if too_high(point) or (steps > 1 and point.value >= before.value):
            bracket = [before, point]
            break
        if flat(point):
            return point, trials
        # The loss rises here, so the minimum lies before this point.
        if point.slope >= 0:
            bracket = [before, point]
            break
        # Extrapolation goes at least a little ahead, and not too far.
        bounds = (point.at + 0.01 * (point.at - before.at), point.at * 10)
        before, point = point, trial(lowest_of_cubic(before, point, bounds))
        steps += 1
    if not bracket:
        bracket = [start, point]

    # Narrower, until a point fulfils both conditions.
    width_of_direction = direction.abs().max().item()
    stuck = False
    low, high = sorted(bracket, key=lambda at: at.value)
    # Algorithm 3.6: `low` always has the lowest loss that fulfils the first condition.
    while steps < most and abs(high.at - low.at) * width_of_direction >= tolerance:
        at = lowest_of_cubic(low, high)
        left, right = sorted((low.at, high.at))
        margin = 0.1 * (right - left)
        if min(right - at, at - left) < margin:
            # Too near to an end: allowed once, then moved inside.
            if stuck or at >= right or at <= left:
                at = right - margin if abs(at - right) < abs(at - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = trial(at)
        steps += 1
        if too_high(point) or point.value >= low.value:
            low, high = sorted((low, point), key=lambda at: at.value)
            continue
        if flat(point):
            return point, trials
        # The minimum lies on the side to which the loss falls.
        if point.slope * (high.at - low.at) >= 0:
            high = low
        low = point
    return low, trials
