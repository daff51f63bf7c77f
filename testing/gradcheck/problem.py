"""A function at a point: how it is evaluated, and its two Jacobians.

Complex numbers are pairs of real ones here: a function of n complex inputs and m complex outputs has a real Jacobian
of 2n x 2m, and a gradient is one of its columns, the derivatives with respect to the real parts plus i times
those with respect to the imaginary parts.

Autograd is reached through the members that it gives to tensors (`requires_grad_`, `backward`, `grad`) only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

import tt
from tt.core.errors import UnstableOutputsError
from tt.testing.gradcheck.arrays import (
    Array,
    components,
    differentiable,
    floating,
    from_array,
    plain,
    tensors,
    to_array,
)
from tt.testing.gradcheck.points import point_of

__all__ = ["GradcheckProblem", "backward"]


def backward(leaves: Collection[Any], starts: Iterable[tuple[Any, Any]]) -> list[Any]:
    """Return the gradients of leaves, None if there is none, that backward passes give.

    Parameters
    ----------
    leaves : collection of Tensor
        Tensors that require gradients; earlier gradients do not count.
    starts : iterable of (Tensor, Tensor)
        Each result from which a pass starts, with its gradient.
    """
    for leaf in leaves:
        # `backward` adds to the gradients that are there.
        leaf.grad = None
    for result, gradient in starts:
        # The graph is kept, as further passes go through it.
        result.backward(gradient, retain_graph=True)
    return [leaf.grad for leaf in leaves]


class GradcheckProblem:
    """A function, the point at which it is checked, and how to evaluate both sides.

    Attributes
    ----------
    places : list of int
        The inputs that require a gradient.
    where : dict of int to Point
        These inputs.
    points : dict of int to numpy.ndarray
        Their elements.
    """

    def __init__(self, func: Callable[..., Any], inputs: Sequence[Any], eps: float, masked: bool) -> None:
        self.func, self.inputs, self.eps = func, inputs, eps
        self.places = [i for i, x in enumerate(inputs) if differentiable(x)]
        self.where = {i: point_of(inputs[i], masked) for i in self.places}
        self.points = {i: point.array for i, point in self.where.items()}
        self._layout: list[tuple[tuple[int, ...], str]] | None = None

    def _outputs(self, args: Sequence[Any]) -> list[Any]:
        """Return the floating-point outputs.

        Raises
        ------
        UnstableOutputsError
            When they differ in number, shape or dtype from those of the calls before: a function whose outputs depend
            on its inputs in this way has no derivative to compare.
        """
        outputs = [y for y in tensors(self.func(*args)) if floating(y)]
        layout = [(tuple(y.shape), y.dtype.name) for y in outputs]
        if self._layout is None:
            self._layout = layout
        # Moved inputs may take another branch, and the difference of two branches is no derivative.
        if layout != self._layout:
            raise UnstableOutputsError(
                "the outputs of the function differ in number, shape or dtype between two calls, so there is no "
                f"derivative to check: {_described(self._layout)} first, {_described(layout)} for the same or nearly "
                "the same inputs"
            )
        return outputs

    def evaluate(self, points: dict[int, Array]) -> list[Array]:
        """Return the floating-point outputs at a point; the inputs require gradients, as functions may ask or use."""
        args = [
            # New tensors for each evaluation, as the function may change its inputs.
            self.where[i].tensor(points[i]).requires_grad_() if i in points else plain(x)
            for i, x in enumerate(self.inputs)
        ]
        return [to_array(y) for y in self._outputs(args)]

    def record(self) -> tuple[list[Any], dict[int, Any]]:
        """Return the outputs that have a history, and the leaves."""
        leaves = {i: point.leaf() for i, point in self.where.items()}
        args = [leaves.get(i, x) for i, x in enumerate(self.inputs)]
        return self._outputs(args), leaves

    def gradients(
        self, outputs: list[Any], leaves: dict[int, Any], cotangents: Sequence[Array | None]
    ) -> dict[int, Any]:
        """Return the gradients of the leaves; None if there is none."""
        chosen = [
            (y, from_array(v.astype(y.dtype.numpy), y))
            for y, v in zip(outputs, cotangents, strict=True)
            if v is not None and y.requires_grad
        ]
        return dict(zip(leaves, backward(leaves.values(), chosen), strict=True))

    def pushed(self, place: int, direction: Any, zeros: bool = False) -> list[tuple[Any, Any]]:
        """Return each output with its tangent, None if it has none, for a tangent of one input.

        Parameters
        ----------
        place : int
            The input.
        direction : Tensor
            Its tangent.
        zeros : bool
            Whether the other inputs have tangents of zeros; else they have none.
        """
        forward = tt.autograd.forward_ad
        with forward.dual_level():
            args = [
                self.where[i].tensor(self.points[i]) if i in self.points else plain(x)
                for i, x in enumerate(self.inputs)
            ]
            for i in self.places if zeros else (place,):
                tangent = direction if i == place else self.where[i].tensor(np.zeros_like(self.points[i]))
                args[i] = forward.make_dual(args[i], tangent)
            return [tuple(forward.unpack_dual(y)) for y in self._outputs(args)]

    # --- Jacobians: rows are components of an input, columns components of an output ---------------------------

    def numerical(self, place: int) -> list[Array]:
        """Return the Jacobian of each output with respect to one input, by central differences."""
        point = self.points[place]
        rows: list[list[Array]] = []
        steps = (self.eps, 1j * self.eps) if np.iscomplexobj(point) else (self.eps,)
        for index, step in product(np.ndindex(point.shape), steps):
            sides = []
            for sign in (1, -1):
                moved = point.copy()
                moved[index] += sign * step
                sides.append(self.evaluate({**self.points, place: moved}))
            rows.append(
                [(components(a) - components(b)) / (2 * self.eps) for a, b in zip(*sides, strict=True)]
            )
        # For the number and sizes of outputs where an input without elements gives no rows.
        outputs = self.evaluate(self.points)
        return [
            self.where[place].spread(
                np.stack([row[k] for row in rows]) if rows else np.zeros((0, components(outputs[k]).size))
            )
            for k in range(len(outputs))
        ]

    def analytical(self, outputs: list[Any], leaves: dict[int, Any]) -> dict[int, list[Array]]:
        """Return the Jacobian of each output with respect to each input, by backward passes."""
        jacobians: dict[int, list[Array]] = {i: [] for i in self.places}
        for k, output in enumerate(outputs):
            columns: dict[int, list[Array]] = {i: [] for i in self.places}
            units = (1, 1j) if output.dtype.is_complex else (1,)
            for index, unit in product(np.ndindex(tuple(output.shape)), units):
                cotangent = np.zeros(tuple(output.shape), output.dtype.numpy)
                cotangent[index] = unit
                gradients = self.gradients(
                    outputs, leaves, [cotangent if j == k else None for j in range(len(outputs))]
                )
                for i, gradient in gradients.items():
                    columns[i].append(components(self.where[i].read(gradient)))
            for i in self.places:
                size = components(self.where[i].read(None)).size
                jacobians[i].append(np.stack(columns[i], 1) if columns[i] else np.zeros((size, 0)))
        return jacobians


def _described(layout: Sequence[tuple[tuple[int, ...], str]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in layout) or "none"
