"""The Jacobians that a function has by its gradients, compared with those by finite differences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tt.core.errors import GradcheckError
from tt.testing.gradcheck.arrays import (
    Array,
    close,
    components,
    random_array,
    to_array,
)
from tt.testing.gradcheck.problem import GradcheckProblem

__all__ = ["compare", "compare_fast", "compare_forward"]


def compare(
    problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any], rtol: float, atol: float
) -> None:
    """Compare whole Jacobians."""
    for number, jacobians in problem.analytical(outputs, leaves).items():
        _expect_same(problem, number, jacobians, rtol, atol)


def _expect_same(
    problem: GradcheckProblem, place: int, jacobians: list[Array], rtol: float, atol: float, mode: str = ""
) -> None:
    """Compare the Jacobians of all outputs with respect to an input with those by finite differences."""
    for k, (analytical, numerical) in enumerate(zip(jacobians, problem.numerical(place), strict=True)):
        if not close(analytical, numerical, rtol, atol):
            same = analytical.shape == numerical.shape
            worst = float(np.max(np.abs(analytical - numerical))) if same else float("nan")
            raise GradcheckError(
                f"{mode and mode + ': '}Jacobian mismatch for output {k} with respect to input {place},\n"
                f"numerical:{numerical}\n{mode or 'analytical'}:{analytical}\n"
                f"largest difference: {worst:.3g} (rows: components of the input; columns: of the output)"
            )


def compare_fast(
    problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any], rtol: float, atol: float
) -> None:
    """Compare u^T J v for one random pair of directions for each input and output."""
    rng = np.random.default_rng(0)

    def direction(array: Array) -> Array:
        numbers = random_array(rng, array.shape, np.iscomplexobj(array))
        # An array without elements has the norm 0.
        return numbers / max(float(np.linalg.norm(numbers)), 1e-30)

    arrays = [to_array(y) for y in outputs]
    for number, (k, y) in product(problem.places, enumerate(arrays)):
        v, u = direction(problem.points[number]), direction(y)
        sides = [
            problem.evaluate({**problem.points, number: problem.points[number] + sign * problem.eps * v})[k]
            for sign in (1, -1)
        ]
        numerical = float(components(u) @ (components(sides[0]) - components(sides[1]))) / (2 * problem.eps)
        gradient = problem.gradients(outputs, leaves, [u if j == k else None for j in range(len(arrays))])[
            number
        ]
        # Through the layout: a sparse input has no direction where it stores nothing.
        along = to_array(problem.where[number].tensor(v))
        analytical = float(components(problem.where[number].read(gradient)) @ components(along))
        if not np.isclose(analytical, numerical, rtol, atol, equal_nan=True):
            raise GradcheckError(
                f"Jacobian mismatch for output {k} with respect to input {number}, along random directions,\n"
                f"numerical: {numerical}\nanalytical: {analytical}\n"
                "fast_mode=False shows both Jacobians"
            )


def compare_forward(problem: GradcheckProblem, rtol: float, atol: float) -> None:
    """Compare the Jacobians that forward mode makes, a row for each component of an input."""
    for number in problem.places:
        point = problem.points[number]
        units = (1, 1j) if np.iscomplexobj(point) else (1,)
        rows: list[list[Array]] = []
        for index, unit in product(np.ndindex(point.shape), units):
            direction = np.zeros_like(point)
            direction[index] = unit
            pairs = problem.pushed(number, problem.where[number].tensor(direction))
            rows.append(
                [
                    components(np.zeros_like(to_array(primal)) if tangent is None else to_array(tangent))
                    for primal, tangent in pairs
                ]
            )
        counts = len(rows[0]) if rows else 0
        jacobians = [problem.where[number].spread(np.stack([row[k] for row in rows])) for k in range(counts)]
        # An input without elements gives no rows to count the outputs by.
        jacobians = jacobians or [np.zeros_like(numerical) for numerical in problem.numerical(number)]
        _expect_same(problem, number, jacobians, rtol, atol, "forward mode")
