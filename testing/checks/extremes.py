"""Checks at the edges of a dtype: extreme values, and more elements than half precision can add up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tt
from tt.testing.checks.call import map_tensors, tensors_in
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.values import differences, reference_of, takes
from tt.testing.references import as_array, cpu_reference, numpy_reference

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["check_extreme", "check_many"]

COPIES: Final = 512
"""The number of repetitions that give an argument many elements."""

# --- extreme values ----------------------------------------------------------------------------------------------

_DISPUTED: Final = frozenset({"sign", "lgamma", "lcm"})
"""Operators whose result in PyTorch (0 for the sign of NaN) differs from NumPy's, with which the CPU is compared."""
_WITHOUT_PHASE: Final = frozenset({"special_airy_ai"})
"""Operators that oscillate so fast at the smallest integers that no digit of their phase is left."""
EXTREMES: Final = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.5)


def check_extreme(case: Case) -> Iterator[str]:
    """Compare with the reference at NaN, infinities, zeros of both signs, and the largest and smallest integers."""
    kinds = ("signed", "unsigned", "floating")
    on_cpu = case.device_type == "cpu"
    usable = (
        case.determined
        and case.definition.kind in ("pointwise", "reduction")
        and any(t.numel() > 1 and t.dtype.kind in kinds for t in case.tensors)
        and (case.dtype.is_floating_point or case.definition.kind == "pointwise")
        and not (on_cpu and case.definition.name in _DISPUTED)
        and (case.dtype.is_floating_point or case.definition.name not in _WITHOUT_PHASE)
    )
    if not takes(case, "extreme", usable):
        yield SKIPPED
        return
    pointwise = case.definition.kind == "pointwise"
    for bound in _in_pairs(case) if pointwise else _spoiled(case):
        expected = reference_of(case, bound)
        if expected is NotImplemented:
            continue
        try:
            result = case.run_bound(bound)
        except Exception as error:  # the reference has a result
            if not on_cpu:
                yield f"at extreme values: {type(error).__name__}: {error}"
            continue
        for message in differences(result, expected, case.steps):
            yield f"at extreme values: {message}"
        if pointwise and not case.steps and not on_cpu:
            yield from _signs_of_zero(result, expected)
        if pointwise:
            return  # the first for which the operator is defined


def _in_pairs(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the arguments with each extreme value next to each other; without those that may divide by zero last."""
    if case.dtype.is_floating_point:
        yield _paired(case, EXTREMES)
    elif case.dtype.kind in ("signed", "unsigned"):
        info = np.iinfo(case.dtype.numpy)
        # `info.max // 2 + 2` overflows when it is doubled.
        most = (info.max, info.min, info.max - 1, info.max // 2 + 2, 1)
        yield _paired(case, (*most, 0))
        yield _paired(case, [value for value in most if value])
        # Integers have no negative powers, and shifts no negative counts.
        yield _paired(case, [value for value in most if value > 0])


def _paired(case: Case, extremes: Sequence[Any]) -> dict[str, Any]:
    count = len(extremes) ** 2
    # The first two tensors have all pairs of values; a further one has the same column, rotated.
    grid = (
        [one for one in extremes for _ in extremes],
        [other for _ in extremes for other in extremes],
    )
    numbers = itertools.count()

    def filled(tensor: Tensor) -> Any:
        # Masks and indices keep their values, repeated to the new length.
        if tensor.dtype.kind != case.dtype.kind or tensor.dtype.itemsize != case.dtype.itemsize:
            array = as_array(tensor).reshape(-1)
            values = np.resize(array, count) if array.size else np.zeros(count, array.dtype)
        else:
            number = next(numbers)
            chosen = grid[number % 2]
            values = np.array(chosen[number // 2 :] + chosen[: number // 2], tensor.dtype.numpy)
        return tt.tensor(values, device=tensor.device)

    return {key: map_tensors(value, filled) for key, value in case.bound.items()}


def _spoiled(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the arguments with extreme values at some places."""
    random = np.random.default_rng(0)
    # One kind of value at a time in a reduction, as NaN swallows all others.
    for extremes in ((np.nan,), (np.inf,), (-np.inf,), (np.inf, -np.inf), (0.0, -0.0)):

        def filled(tensor: Tensor, extremes: tuple[float, ...] = extremes) -> Any:
            if not tensor.dtype.is_floating_point or not tensor.numel():
                return tensor
            values = as_array(tensor).copy()
            positions = random.choice(values.size, size=min(len(extremes), values.size), replace=False)
            for position, extreme in zip(positions, extremes, strict=False):
                values[np.unravel_index(position, values.shape)] = extreme
            return tt.tensor(values, device=tensor.device)

        yield {key: map_tensors(value, filled) for key, value in case.bound.items()}


def _signs_of_zero(result: Any, expected: Any) -> Iterator[str]:
    """Compare the signs of zeros, which compare equal."""
    pairs = zip(tensors_in(result), expected if isinstance(expected, list) else [expected], strict=True)
    for one, other in pairs:
        if not one.dtype.is_floating_point:
            continue
        actual, right = np.asarray(as_array(one), np.float64), np.asarray(other, np.float64)
        wrong = (actual == 0) & (right == 0) & (np.signbit(actual) != np.signbit(right))
        if wrong.any():
            at = [int(i) for i in np.argwhere(wrong)[0]]
            wrong_zero, right_zero = actual[tuple(at)], right[tuple(at)]
            yield f"at extreme values: the sign of zero is wrong at {at}: {wrong_zero} instead of {right_zero}"


# --- many elements -----------------------------------------------------------------------------------------------


_MATCHED: Final = frozenset({"_batch_norm_backward"})
"""Operators some of whose arguments follow from others: of repeated numbers the statistics are not these."""


def check_many(case: Case) -> Iterator[str]:
    """Compare reductions of many elements in half precision, where sums in half precision are wrong."""
    tensors = case.tensors
    usable = (
        case.determined
        and case.definition.name not in _MATCHED
        and case.dtype.is_floating_point
        and case.dtype.itemsize == 2
        and bool(tensors)
        and all(0 < t.ndim < 3 and t.shape[-1] > 1 and 0 < t.numel() < 64 for t in tensors)
        # A result with fewer elements than an argument means that something is reduced.
        and any(0 < t.numel() < max(t.numel() for t in tensors) for t in tensors_in(case.result))
    )
    if not takes(case, "many", usable):
        yield SKIPPED
        return
    bound = {key: map_tensors(value, _repeated) for key, value in case.bound.items()}
    try:
        result = case.run_bound(bound)
    except Exception:  # longer arguments do not fit together
        yield SKIPPED
        return
    # Results in float32 differ by the order of additions; what this looks for shows in half precision, too.
    result = map_tensors(result, lambda t: t.to(case.dtype) if t.dtype.is_floating_point else t)
    for reference in (numpy_reference, cpu_reference):
        expected = reference(case.definition, bound)
        if expected is not NotImplemented:
            for message in differences(result, expected, case.steps):
                yield f"with {COPIES} times as many elements: {message}"
            return


def _repeated(tensor: Tensor) -> Any:
    if not tensor.dtype.is_floating_point:
        return tensor
    # All of one sign, so that sums do not cancel but outgrow the digits of half precision; 64 * 512 such numbers still
    # add up to less than the largest float16.
    values = np.abs(as_array(tensor).astype(np.float64))
    if (values[..., 1:] >= values[..., :-1]).all():  # what has to be sorted stays so
        values = np.repeat(values, COPIES, axis=-1) / 8 + 0.1
    else:
        values = np.concatenate([values] * COPIES, axis=-1) / 8 + 0.1
    return tt.tensor(values.astype(tensor.dtype.numpy), device=tensor.device)
