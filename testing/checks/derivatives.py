"""Checks of gradients: against differences in double precision, or against the CPU.

Autograd is reached through the members that it gives to tensors; without it there is nothing to check.

Along one random direction of the arguments and one of the results, the derivative that the backward pass gives is
compared with a central difference.  The differences are taken in double precision on the CPU, whatever the dtype and
device of the call, and where those to both sides do not agree (at a kink or a jump, next to a pole) nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import tt
from tt.core.host import host
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import finfo
from tt.testing.checks.call import map_tensors, on_cpu, tensors_in
from tt.testing.checks.case import SKIPPED, Case, copy_of
from tt.testing.checks.dtypes import doubled
from tt.testing.checks.values import differences
from tt.testing.compare import tolerances
from tt.testing.gradcheck.arrays import floating, from_array, random_array, to_array
from tt.testing.gradcheck.problem import GradcheckProblem, backward
from tt.testing.references import as_array

__all__ = ["check_gradient"]

STEP: Final = 1e-5
MOST_ELEMENTS: Final = 2000
LARGEST: Final = 1e15
PRECISE: Final = ("float32", "float64", "complex64", "complex128")
"""Half precision is left out: its gradients are those of single precision, rounded."""

# Vectors whose phase is arbitrary, and so is its derivative.
_FREE: Final = frozenset(
    {"linalg_svd", "svd", "linalg_eigh", "linalg_eig", "linalg_eigvals", "linalg_qr", "qr"}
)
# They read one triangle of a Hermitian matrix, and their gradient is that of the whole matrix.
_TRIANGULAR: Final = frozenset({"linalg_eigvalsh", "linalg_cholesky", "linalg_cholesky_ex", "cholesky"})
# The gradient of a row that pads, or scaled by frequency, is by definition not that of the result.
# That of ctc_loss is the gradient through log_softmax, which log_probs is taken to be a result of.
_CONVENTIONS: Final = frozenset({"embedding", "_embedding", "ctc_loss", "ctc_loss.IntList", "_ctc_loss"})
# A value below a tolerance counts as zero: its gradient is zero, and the difference quotient is not.
_CUT_OFF: Final = frozenset({"linalg_pinv", "linalg_pinv.rcond", "pinverse", "linalg_lstsq"})
# 0 * log(x) is 0 everywhere, and its gradient 0 / x is not: PyTorch's is NaN at 0, too.
# By definition, scaling by frequency applies to the gradient alone.
# In training the statistics are by definition those of the input and move with it; differences move them apart.
_SINGULAR: Final = frozenset(
    {
        ("xlogy.Scalar", "zero"),
        ("_embedding_bag", "scaled by frequency"),
        ("_batch_norm_backward", "training, weight"),
    }
)
_CONSTANTS: Final = {"cross_entropy": ("weight",), "linear_cross_entropy": ("weight",)}
"""Arguments that are constants by PyTorch's definition."""


def check_gradient(case: Case) -> Iterator[str]:
    """Compare the backward pass with differences, and on other devices with that of the CPU."""
    if not _applies(case):
        yield SKIPPED
        return
    names = _differentiable(case)
    points = [t for name in names for t in _floats(case.bound[name])]
    # At infinities, and at numbers whose square overflows, formulas that are right give NaN.
    limited = all(bool((np.abs(_wide(as_array(t))) < LARGEST).all()) for t in points)
    if not points or not limited or sum(t.numel() for t in points) > MOST_ELEMENTS:
        yield SKIPPED
        return
    leaves = [copy_of(t.detach()).requires_grad_() for t in points]
    result = case.run_bound(_filled(case, names, leaves))
    outputs = [t for t in tensors_in(result) if t.requires_grad]
    if not outputs:
        yield SKIPPED
        return
    # Random weights, since a plain sum has the gradient zero for softmax and for normalizations.
    random = np.random.default_rng(0)
    weights = [random_array(random, tuple(t.shape), t.dtype.is_complex) for t in outputs]
    gradients = _backward(outputs, leaves, weights)
    for leaf, gradient in zip(leaves, gradients, strict=True):
        if gradient is not None and (gradient.shape, gradient.dtype, gradient.device) != (
            leaf.shape, leaf.dtype, leaf.device,
        ):  # fmt: skip
            yield (
                f"the gradient of {leaf.dtype} {list(leaf.shape)} on {leaf.device} is {gradient.dtype} "
                f"{list(gradient.shape)} on {gradient.device}"
            )
            return
    if case.device_type != "cpu":
        yield from _compare_with_cpu(case, names, points, weights, gradients)
    else:
        yield from _compare_with_differences(case, names, points, weights, gradients, outputs)


def _applies(case: Case) -> bool:
    definition = case.definition
    if (
        case.random
        or case.inplace_only
        or case.dtype.name not in PRECISE
        or not host.declares("member", "backward")
    ):
        return False
    if any(definition.name == name and case.sample.name.endswith(sample) for name, sample in _SINGULAR):
        return False
    if definition.name in _FREE | _TRIANGULAR | _CONVENTIONS | _CUT_OFF:
        return False
    return bool(definition.grad) or (definition.kind == "composite" and not definition.undifferentiated)


def _differentiable(case: Case) -> list[str]:
    names = case.definition.grad or tuple(case.bound)
    return [n for n in names if n not in _CONSTANTS.get(case.definition.name, ())]


def _floats(value: Any) -> list[Any]:
    return [t for t in tensors_in(value) if floating(t)]


def _filled(case: Case, names: list[str], tensors: list[Any]) -> dict[str, Any]:
    """Return the arguments with other tensors for those that are differentiated."""
    remaining = iter(tensors)
    fill = partial(map_tensors, function=lambda t: next(remaining) if floating(t) else t)
    return {name: fill(value) if name in names else value for name, value in case.bound.items()}


def _backward(outputs: list[Any], leaves: list[Any], weights: list[Any]) -> list[Any]:
    pairs = zip(outputs, weights, strict=True)
    return backward(leaves, [(y, from_array(w.astype(y.dtype.numpy), y)) for y, w in pairs])


# --- the CPU -----------------------------------------------------------------------------------------------------


def _compare_with_cpu(
    case: Case, names: list[str], points: list[Any], weights: list[Any], gradients: list[Any]
) -> Iterator[str]:
    leaves = [t.detach().to("cpu").clone().requires_grad_() for t in points]
    bound = {name: on_cpu(value) for name, value in _filled(case, names, leaves).items()}
    outputs = [t for t in tensors_in(case.run_bound(bound)) if t.requires_grad]
    if [tuple(t.shape) for t in outputs] != [w.shape for w in weights]:
        yield f"{len(weights)} results have a gradient, on the CPU {len(outputs)}"
        return
    expected = _backward(outputs, leaves, weights)
    for number, (one, other) in enumerate(zip(gradients, expected, strict=True)):
        if (one is None) != (other is None):
            yield f"tensor {number} has {'no' if one is None else 'a'} gradient, unlike on the CPU"
        elif one is not None:
            rtol, atol = tolerances(one.dtype)
            reference = as_array(other)
            scale = float(np.max(np.abs(reference), initial=1.0, where=np.isfinite(reference)))
            # The tolerance has to stay finite: an infinite one would let every difference pass.
            allowed = 10 * rtol, min(10 * (rtol + atol) * scale, float(np.finfo(np.float64).max))
            for message in differences(one, reference, tolerance=allowed):
                yield f"the gradient of tensor {number} is not that of the CPU: {message}"


# --- differences -------------------------------------------------------------------------------------------------


def _compare_with_differences(
    case: Case,
    names: list[str],
    points: list[Any],
    weights: list[Any],
    gradients: list[Any],
    outputs: list[Any],
) -> Iterator[str]:
    arrays = [_wide(as_array(t)) for t in points]
    positions = [i for i, t in enumerate(tensors_in(case.result)) if floating(t)]
    if not all(np.isfinite(a).all() for a in arrays) or len(positions) != len(outputs):
        return  # some results do not depend on the differentiated arguments
    random = np.random.default_rng(1)
    directions = [
        random_array(random, a.shape, t.dtype.is_complex) for a, t in zip(arrays, points, strict=True)
    ]
    # In double precision the error of the difference is far below that of the gradient that is judged.
    problem = _in_double(case, names, arrays)

    def at(step: float) -> float | None:
        """Return the weighted sum of the results at a step along the directions; None if there is none."""
        moved = {i: a + step * d for i, (a, d) in enumerate(zip(arrays, directions, strict=True))}
        if step and any((m == a).any() for m, a in zip(moved.values(), arrays, strict=True)):
            return None  # the step is lost in the rounding of large numbers
        try:
            moved_result = problem.evaluate(moved)
        except (RuntimeError, ValueError):
            return None  # at the edge of the operator's domain, or a part lacks the precision
        # A part that computed in single precision would drown the difference in its rounding.
        if [(a.shape, a.dtype.itemsize // (1 + np.iscomplexobj(a))) for a in moved_result] != [
            (w.shape, 8) for w in weights
        ]:
            return None
        return sum(float(np.vdot(w, a).real) for w, a in zip(weights, moved_result, strict=True))

    values = [at(step) for step in (-STEP, 0.0, STEP)]
    if any(v is None or not np.isfinite(v) for v in values):
        return
    left, middle, right = (float(v) for v in values if v is not None)
    slopes = (middle - left) / STEP, (right - middle) / STEP
    numerical = (right - left) / (2 * STEP)
    pairs = [(_wide(as_array(g)), d) for g, d in zip(gradients, directions, strict=True) if g is not None]
    with np.errstate(all="ignore"):
        moved_result = sum(float(np.vdot(g, d).real) for g, d in pairs)
        # Terms that cancel leave their rounding behind, so it counts against their sizes, not against the sum.
        size = sum(float(np.abs(g * d).sum()) for g, d in pairs)
    noise = 1e-9 * abs(middle) / STEP  # the rounding in the difference of two large numbers
    coarse = 1e-4 * max(1.0, abs(numerical)) + noise
    allowed = coarse + (_rounding(points) * size if np.isfinite(size) else 0.0)
    if abs(slopes[0] - slopes[1]) > allowed or not np.isfinite(numerical):
        return
    if abs(moved_result - numerical) <= allowed:
        return
    if _rounding(points) and abs(moved_result - numerical) <= 1e-2 * max(1.0, size):
        # Next to a singular point (a group of nearly equal numbers) single precision loses more than usual: then the
        # same formula in double precision has to agree.
        results, leaves = problem.record()
        if all(t.requires_grad for t in results):
            precise = problem.gradients(results, leaves, weights)
            known = [(to_array(g), directions[i]) for i, g in precise.items() if g is not None]
            if abs(sum(float(np.vdot(g, d).real) for g, d in known) - numerical) <= coarse:
                return
    # A branch point looks smooth to steps of one length.
    wider = [at(step) for step in (-10 * STEP, 10 * STEP)]
    if wider[0] is not None and wider[1] is not None:
        again = (wider[1] - wider[0]) / (20 * STEP)
        # Not `>`: a NaN has to count as a difference.
        if not abs(again - numerical) <= allowed:
            return
        yield f"the derivative along a direction is {moved_result:.6g}, by differences {numerical:.6g}"


def _in_double(case: Case, names: list[str], arrays: list[Any]) -> GradcheckProblem:
    """Return the operator in double precision as a function of the differentiated arguments, at the given point."""

    def function(*tensors: Any) -> list[Any]:
        bound = {name: _doubled(value) for name, value in _filled(case, names, [*tensors]).items()}
        return list(tensors_in(case.run_bound(bound)))

    return GradcheckProblem(function, [tt.tensor(a).requires_grad_() for a in arrays], STEP, masked=False)


def _rounding(points: list[Any]) -> float:
    """Return the relative error that gradients of the coarsest of some tensors may have."""
    coarsest = max(finfo(t.dtype).eps for t in points)
    return 4 * coarsest if coarsest > 1e-4 else 1e-4 if coarsest > 1e-10 else 0.0


def _wide(array: Any) -> Any:
    return np.asarray(array, np.complex128 if np.iscomplexobj(array) else np.float64)


def _doubled(value: Any) -> Any:
    """Return the other tensors in double precision, too, so that all promote to it."""
    if isinstance(value, Dtype):
        return doubled(value) if value.is_complex or value.is_floating_point else value
    return map_tensors(value, lambda t: t.to(doubled(t.dtype)) if floating(t) else t)
