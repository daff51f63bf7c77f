"""Ties: equal values among the arguments, of which an operator that chooses (argmax, sort, mode) may take any.

Two right runs of such an operator can differ. A difference is a tie's where it is about what was chosen, and is gone on
arguments that leave no choice: values that are all different, or of which one is in the majority along each dim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tt.core.methods.creation import tensor as make
from tt.core.types.complex32 import decode_complex32
from tt.testing.checks.call import Array, CheckedCall, copied, main_dtype, plain, tensors_in, values
from tt.testing.checks.determinism import same_seed
from tt.testing.checks.mutation import declared
from tt.testing.checks.values import unlike
from tt.testing.findings.log import Finding, Log

__all__ = ["distinct", "judged", "outcome"]

Way = Callable[[CheckedCall], Any]
"""Makes a call in one of the two ways that are compared."""


def outcome(call: CheckedCall, log: Log) -> list[Any]:
    """Return a call's results and the arguments that it changed."""
    copy = log.copy(call)
    with same_seed(call):
        result = log.run(copy)
    changed = declared(call)
    return [result, [value for a, value in copy.named() if a.name in changed]]


def distinct(call: CheckedCall) -> CheckedCall | None:
    """Return the call with equal values moved apart; None if there are none, or they cannot be."""
    arrays = _arrays(call)
    if not arrays:
        return None
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    apart = _apart(flat)
    if apart is None or np.array_equal(apart, flat):
        return None
    return _with_values(call, np.split(apart, np.cumsum([a.size for a in arrays])[:-1]))


def judged(finding: Finding, one: Way, other: Way, log: Log, note: str = "") -> Iterator[Finding]:
    """Yield a finding, unless the two ways to make its call differ only in ties, which is noted."""
    text = f"{finding.call.on}: other results, which differ only in which of equal values they chose"
    if _only_ties(finding.call, one, other, log):
        log.note(note or text)
    else:
        yield finding


def _only_ties(call: CheckedCall, one: Way, other: Way, log: Log) -> bool:
    """Return whether two ways to make a call differ only in which of several equal values they chose."""
    differ = _differing(call, one(call), other(call), log)
    if not differ:
        return differ is not None
    for apart in _without_ties(call):
        try:
            still = _differing(apart, one(apart), other(apart), log)
        except Exception:  # the operator need not take the other values
            continue
        if still is not None:
            # A result is explained as soon as it agrees in one arrangement.
            differ &= still
        if not differ:
            return True
    return False


def _differing(call: CheckedCall, result: Any, other_result: Any, log: Log) -> set[int] | None:
    """Return which results differ; None where ties cannot explain it: other shapes, or values from elsewhere."""
    actual, expected = list(tensors_in(result)), list(tensors_in(other_result))
    if len(actual) != len(expected):
        return None
    arrays = _arrays(call)
    differ: set[int] = set()
    for position, (one, other) in enumerate(zip(actual, expected, strict=True)):
        if tuple(one.shape) != tuple(other.shape):
            return None
        if not unlike(one, other, log.rtol, log.atol):
            continue
        a, b = _known(values(one)), _known(values(other))
        if one.dtype.is_floating_point or one.dtype.is_complex:
            # A choice is one of the arguments' values; any other value is wrong, not another choice.
            elements = np.concatenate([array.reshape(-1) for array in arrays]) if arrays else np.zeros(0)
            if not (np.isin(a, elements) | np.isnan(a)).all() or not np.isin(b, elements).all():
                return None
        elif _same_values(a, b, arrays, actual):
            continue
        differ.add(position)
    return differ


def _same_values(one: Array, other: Array, arrays: list[Array], results: list[Any]) -> bool:
    """Return whether two arrays of indices both lead to the values that are another result (those of a mode)."""
    if one.dtype.kind not in "iu":
        return False
    returned = [_known(values(t)) for t in results if t.shape == one.shape and t.dtype.is_floating_point]
    for array in arrays:
        for dim in (None, *range(array.ndim)):
            first, second = _taken(array, one, dim), _taken(array, other, dim)
            if first is None or second is None:
                continue
            if any(np.array_equal(first, r) and np.array_equal(second, r) for r in returned):
                return True
    return False


def _taken(array: Array, index: Array, dim: int | None) -> Array | None:
    """Return the elements at indices into the flattened array or along a dim; None where they are not such indices."""
    try:
        if dim is None:
            return np.asarray(array.reshape(-1)[index])
        full = index if index.ndim == array.ndim else np.expand_dims(index, dim)
        return np.take_along_axis(array, full, dim).reshape(index.shape)
    except (IndexError, ValueError):
        return None


# --- arguments without ties ------------------------------------------------------------------------------------


def _chosen(call: CheckedCall) -> list[int]:
    """Return the positions of the tensors whose values are compared: those of the main dtype."""
    main = main_dtype(call)
    if main is None or main.kind not in ("floating", "signed", "unsigned"):
        return []
    return [i for i, t in enumerate(tensors_in(call.args)) if t.dtype is main]


def _arrays(call: CheckedCall) -> list[Array]:
    chosen = _chosen(call)
    arrays = [values(t) for i, t in enumerate(tensors_in(call.args)) if i in chosen]
    return [_known(a) for a in arrays]


def _known(array: Array) -> Array:
    """Return the array in a dtype that NumPy's functions take: float32 holds all values of half precision."""
    array = decode_complex32(array)
    narrow = array.dtype.kind not in "iufcb" or (array.dtype.kind == "f" and array.dtype.itemsize < 4)
    return array.astype(np.float32) if narrow else array


def _apart(flat: Array) -> Array | None:
    """Return the values in the same order, equal ones spread up to the next larger."""
    # A stable order keeps equal values in that of their places, so that the same input gives the same output.
    order = np.argsort(flat, kind="stable")
    ascending = flat[order]
    if not np.isfinite(ascending).all():
        return None
    known, counts = np.unique(ascending, return_counts=True)
    if flat.dtype.kind in "iu":
        # There is no room between neighbouring integers, so all are numbered anew in their order.
        spread = np.arange(flat.size) + (known[0] if known.size else 0)
        spread = ascending if (counts == 1).all() else spread.astype(flat.dtype)
    else:
        # The largest value has no next one to stay below.
        gaps = np.append(np.diff(known), 1)
        parts = [v + g * np.arange(n) / n for v, g, n in zip(known, gaps, counts, strict=True)]
        spread = np.concatenate(parts) if parts else ascending
    result = np.empty_like(flat)
    result[order] = spread
    return result


def _without_ties(call: CheckedCall) -> Iterator[CheckedCall]:
    """Yield the call with all values different, and with one value in the majority along each dim."""
    yield distinct(call) or call
    arrays = _arrays(call)
    longer = [[d for d, n in enumerate(a.shape) if n > 2] for a in arrays]
    if not arrays or not all(longer):
        return
    values_by_array = []
    for array, dims in zip(arrays, longer, strict=True):
        ranks = sum((np.indices(array.shape)[d] for d in dims), np.zeros(array.shape, dtype=np.int64))
        # Every third place along each dim holds a number of its own: fewer than the ones of the common value, and all
        # different.  Along dims of two elements both are equal.
        first = array[tuple(slice(None) if d in dims else slice(0, 1) for d in range(array.ndim))]
        own = np.broadcast_to(np.arange(first.size).reshape(first.shape), array.shape)
        common = array.reshape(-1)[0]
        values_by_array.append(
            np.where(ranks % 3 == 0, common + 1 + own, common).astype(array.dtype).reshape(-1)
        )
    yield _with_values(call, values_by_array)


def _with_values(call: CheckedCall, flat: list[Array]) -> CheckedCall:
    """Return the call with other values, in the same places of memory."""
    copies = copied(call.args)
    chosen = _chosen(call)
    rest = iter(flat)
    for position, tensor in enumerate(tensors_in(copies)):
        if position in chosen:
            new = next(rest).reshape(tuple(tensor.shape))
            target = plain(tensor)
            target.copy_(make(new.tolist(), dtype=target.dtype).to(target.device))
    return CheckedCall(call.caller, copies, call.on)
