"""Further properties of a right gradient: it does not depend on how it is computed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import tt
from tt.core.errors import GradcheckError, ValueRangeError
from tt.core.types.user_warnings import warn_user
from tt.testing.gradcheck.arrays import close, from_array, random_array, to_array
from tt.testing.gradcheck.problem import GradcheckProblem

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = [
    "check_batched",
    "check_batched_forward",
    "check_deterministic",
    "check_dtypes",
    "check_inputs",
    "check_layouts",
    "check_linear",
    "check_undefined",
    "check_undefined_forward",
]


def check_inputs(problem: GradcheckProblem, eps: float) -> None:
    """Refuse inputs of which none requires a gradient, and warn of single precision."""
    if not problem.places:
        raise ValueRangeError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for number in problem.places:
        if problem.inputs[number].dtype.name not in ("float64", "complex128"):
            warn_user(
                f"Input #{number} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. "
                f"(eps={eps})",
            )


def check_batched(problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """One pass with several vectors must give what one pass for each of them gives."""
    # Seeded, so that a failure can be repeated.
    inputs = list(leaves.values())
    rng = np.random.default_rng(0)
    for k, output in enumerate(outputs):
        if not output.requires_grad:
            continue
        vectors = random_array(rng, (2, *output.shape), output.dtype.is_complex)
        stacked = from_array(vectors.astype(output.dtype.numpy), output)
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
        together = tt.autograd.grad(output, inputs, stacked, is_grads_batched=True, **options)
        for number in range(2):
            alone = tt.autograd.grad(output, inputs, stacked[number], **options)
            for position, one, many in zip(leaves, alone, together, strict=True):
                if one is None and many is None:
                    continue
                if (
                    one is None
                    or many is None
                    or not close(to_array(many[number]), to_array(one), 1e-8, 1e-10)
                ):
                    raise GradcheckError(
                        f"a backward pass with several vectors at once gives another gradient of output {k} with "
                        f"respect to input {position} than a pass for each:\n{many}\ninstead of\n{one}\n"
                        f"in place {number}"
                    )


def check_batched_forward(problem: GradcheckProblem) -> None:
    """One forward pass with several tangents must give what one pass for each of them gives."""
    rng = np.random.default_rng(0)
    for input_number in problem.places:
        point = problem.points[input_number]
        vectors = random_array(rng, (2, *point.shape), np.iscomplexobj(point))
        stacked = tt.stack([problem.where[input_number].tensor(vector) for vector in vectors])

        def tangents(direction: Any, input_number: int = input_number) -> tuple[Any, ...]:
            results = []
            for primal, tangent in problem.pushed(input_number, direction):
                # As a sum: a tangent that does not depend on the direction has no dimension for the vectors.
                zero = tt.zeros_like(primal) + 0 * direction.real.sum()
                results.append(zero if tangent is None else tangent + zero)
            return tuple(results)

        together = tt.func.vmap(tangents)(stacked)
        for number in range(2):
            for k, (many, one) in enumerate(zip(together, tangents(stacked[number]), strict=True)):
                if not close(to_array(many[number]), to_array(one), 1e-8, 1e-10):
                    raise GradcheckError(
                        f"a forward pass with several tangents at once gives another tangent of output {k} for "
                        f"input {input_number} than a pass for each:\n{many}\ninstead of\n{one}\nin place {number}"
                    )


def check_deterministic(
    problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any], tolerance: float
) -> None:
    """Check that two passes give the same gradients."""
    ones = [np.ones(tuple(y.shape), y.dtype.numpy) for y in outputs]
    runs = [
        {i: None if g is None else to_array(g) for i, g in problem.gradients(outputs, leaves, ones).items()}
        for _ in range(2)
    ]
    for number in problem.places:
        first, second = (run[number] for run in runs)
        if first is not None and second is not None and first.size:
            difference = float(np.max(np.abs(first - second)))
            if difference > tolerance:
                raise GradcheckError(
                    f"the backward pass is not deterministic: run twice with the same values, it gives gradients of "
                    f"input {number} that differ by {difference}, more than the {tolerance} allowed"
                )


def check_undefined(problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """An output without a gradient must count as one with a gradient of zeros."""
    _check_all_undefined(problem, outputs, leaves)
    if len(outputs) == 1:
        return
    zeros = [np.zeros(tuple(y.shape), y.dtype.numpy) for y in outputs]
    for k, output in enumerate(outputs):
        ones = np.ones(tuple(output.shape), output.dtype.numpy)
        runs = []
        for rest in (None, zeros):
            cotangents = [ones if j == k else None if rest is None else rest[j] for j in range(len(outputs))]
            gradients = problem.gradients(outputs, leaves, cotangents)
            runs.append({i: problem.where[i].read(g) for i, g in gradients.items()})
        for number in problem.places:
            if not close(runs[0][number], runs[1][number], 1e-8, 1e-10):
                raise GradcheckError(
                    f"Backward handles an undefined gradient differently from zeros: the gradient of output {k} with "
                    f"respect to input {number} is\n{runs[0][number]}\nwhen the other outputs have none, and\n"
                    f"{runs[1][number]}\nwhen theirs are zeros"
                )


@cache
def _without_gradient() -> Any:
    """Return a `Function` that passes no gradient on, made at the first call: core is loaded before the class."""

    class WithoutGradient(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> None:
            return None

    return WithoutGradient


def _check_all_undefined(problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """Where no output has a gradient, the pass must end, and inputs have none, or zeros."""
    ends = [_without_gradient().apply(y) for y in outputs if y.requires_grad]
    hint = "check_undefined_grad=False leaves this check out"
    any_gradients = [y.detach() for y in ends]  # not all layouts have ones; they end here in any case
    try:
        grads = tt.autograd.grad(
            ends, list(leaves.values()), any_gradients, retain_graph=True, allow_unused=True
        )
    except (
        AttributeError,
        RuntimeError,
        TypeError,
    ) as error:  # what arithmetic with None, or the function, raises
        warn_user(f"gradcheck(): the backward pass raises where an output has no gradient; {hint}")
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads: where the gradient of each output is "
            f"None, it raises {type(error).__name__}: {error}\n  {hint}"
        ) from error
    for number, gradient in zip(leaves, grads, strict=True):
        if gradient is not None and np.any(problem.where[number].read(gradient)):
            warn_user(f"gradcheck(): inputs have gradients where no output has one; {hint}")
            raise GradcheckError(
                f"the gradient of input {number} is neither None nor zero where no output has a gradient:\n{gradient}"
            )


def check_undefined_forward(problem: GradcheckProblem) -> None:
    """An input without a tangent must count as one with a tangent of zeros."""
    rng = np.random.default_rng(0)
    for number in problem.places:
        point = problem.points[number]
        if len(problem.places) == 1:
            zero = problem.where[number].tensor(np.zeros_like(point))
            pairs = problem.pushed(number, zero)
            runs = [pairs, [(primal, None) for primal, _ in pairs]]
        else:
            direction = problem.where[number].tensor(random_array(rng, point.shape, np.iscomplexobj(point)))
            runs = [problem.pushed(number, direction, zeros) for zeros in (False, True)]
        for k, sides in enumerate(zip(*runs, strict=True)):
            arrays = [
                np.zeros_like(to_array(primal)) if tangent is None else to_array(tangent)
                for primal, tangent in sides
            ]
            if not close(arrays[0], arrays[1], 1e-8, 1e-10):
                raise GradcheckError(
                    f"forward mode handles an undefined tangent differently from zeros: for input {number} the tangent "
                    f"of output {k} is\n{arrays[0]}\nand\n{arrays[1]}"
                )


def check_linear(problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """Check that a gradient is a multiple of the output's: zero where that is zero."""
    zeros = [np.zeros(tuple(y.shape), y.dtype.numpy) for y in outputs]
    for number, gradient in problem.gradients(outputs, leaves, zeros).items():
        gradients_read = problem.where[number].read(gradient)
        if not np.array_equal(gradients_read, np.zeros_like(gradients_read)):
            raise GradcheckError(
                f"backward not multiplied by grad_output: where the gradients of all outputs are zero, that of input "
                f"{number} is\n{gradients_read}"
            )


def check_dtypes(problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """Check that gradients have the dtypes of their inputs."""
    ones = [np.ones(tuple(y.shape), y.dtype.numpy) for y in outputs]
    for number, gradient in problem.gradients(outputs, leaves, ones).items():
        if gradient is not None and gradient.dtype is not leaves[number].dtype:
            raise GradcheckError(
                f"the gradient of input {number} has the dtype {gradient.dtype}, the input has {leaves[number].dtype}"
            )


def check_layouts(problem: GradcheckProblem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """Check that a gradient that does not store all elements stores them as its input does."""
    ones = [np.ones(tuple(y.shape), y.dtype.numpy) for y in outputs]
    for number, gradient in problem.gradients(outputs, leaves, ones).items():
        if gradient is not None and gradient.layout.name not in ("strided", leaves[number].layout.name):
            raise GradcheckError(
                f"the gradient of input {number} has the layout {gradient.layout}, the input has "
                f"{leaves[number].layout}"
            )
        if gradient is not None and gradient.layout is tt.sparse_coo:
            pairs = [(x.sparse_dim(), x.dense_dim()) for x in (gradient, leaves[number])]
            if pairs[0] != pairs[1]:
                raise GradcheckError(
                    f"the gradient of input {number} has {pairs[0][0]} sparse and {pairs[0][1]} dense dimensions, the "
                    f"input has {pairs[1][0]} and {pairs[1][1]}"
                )
