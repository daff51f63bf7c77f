"""The checks of sizes: larger ones, none at all, and dims that are counted from the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import tt
from tt.core.dispatch.registry.registry import ops
from tt.core.errors import TTError
from tt.testing.checks.call import (
    CheckedCall,
    in_words,
    is_strided,
    like,
    map_tensors,
    plain,
    tensors_in,
)
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.ties import outcome
from tt.testing.checks.values import reference_of, same_with, takes
from tt.testing.findings.log import Finding, Log
from tt.testing.references import as_array

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["check_dim", "check_empty", "empties", "probe_empty", "resized", "sizes"]

# --- other sizes -----------------------------------------------------------------------------------------------


def resized(call: CheckedCall, size: int, new: int, on: str | None = None) -> CheckedCall | None:
    """Return the call with every dim of one size cut or repeated to another; None where no tensor has one."""
    if not any(size in t.shape for t in tensors_in(call.args)):
        return None
    return call.map(lambda t: _resize(t, size, new), on)


def _resize(tensor: Tensor, size: int, new: int) -> Any:
    if size not in tensor.shape or not is_strided(tensor):
        return tensor
    resized = plain(tensor)
    for dim in [d for d, n in enumerate(resized.shape) if n == size]:
        if new <= size:
            resized = ops.narrow(resized, dim, 0, new)
        else:
            resized = ops.cat([resized, ops.narrow(resized, dim, 0, new - size)], dim)
    # `narrow` gives a view with gaps; what was row-major stays so.
    resized = resized.contiguous().clone() if tensor.is_contiguous() else resized
    return like(resized, tensor)


def sizes(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    """Yield the call with each size larger, so that a constant for it is found."""
    known = sorted({n for t in tensors_in(call.args) for n in t.shape if n > 1})
    for size in known:
        # A size that no other dim has, so that a constant in a shape rule cannot agree by chance.
        new = next(n for n in range(size + 1, size + 2 + len(known)) if n not in known)
        larger = resized(call, size, new, f"sizes {new} instead of {size}")
        if larger is not None:
            yield larger


def empties(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    """Yield the call with no elements along the dims of each size."""
    for size in sorted({n for t in tensors_in(call.args) for n in t.shape if n > 0}):
        empty = resized(call, size, 0, f"no elements instead of {size}")
        if empty is not None:
            yield empty


# --- no elements -----------------------------------------------------------------------------------------------


def probe_empty(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call without elements: it may be refused, but not break."""
    try:
        outcome(call, log)
    except (TTError, ValueError, RuntimeError, NotImplementedError) as error:
        log.note(f"{call.on}: refused: {in_words(error)}")
    except Exception as error:  # any error of the author's kernel is reported
        yield Finding("empty_fails", f"{type(error).__name__}: {error}", call)


def check_empty(case: Case) -> Iterator[str]:
    """Take the first dimension from the arguments that share it, and compare with the reference."""
    tensors = case.tensors
    size = tensors[0].shape[0] if tensors and tensors[0].ndim else 0
    usable = case.determined and size > 0 and all(t.ndim and is_strided(t) for t in tensors)
    internal = "internal" in case.definition.tags  # its callers refuse unsuitable arguments
    if not takes(case, "empty", usable and not internal):
        yield SKIPPED
        return

    def emptied(tensor: Tensor) -> Any:
        if tensor.shape[0] != size:
            return tensor
        return tt.tensor(as_array(tensor)[:0], device=tensor.device)

    bound = {key: map_tensors(value, emptied) for key, value in case.bound.items()}
    expected = reference_of(case, bound)
    if expected is NotImplemented:
        yield SKIPPED
        return
    yield from same_with(case, bound, expected, "with a first dimension of size 0")


# --- dims counted from the end ---------------------------------------------------------------------------------

_ONE_MORE: Final = frozenset({"stack", "unsqueeze", "unsqueeze_copy"})
"""Operators whose dims are those of the result, which has one more."""


def check_dim(case: Case) -> Iterator[str]:
    """Count a dim from the end, which means the same."""
    dim = case.bound.get("dim")
    first = case.tensors[0] if case.tensors else None
    ndim = 0 if first is None else first.ndim + (case.definition.name in _ONE_MORE)
    dims: list[Any] = list(dim) if isinstance(dim, list | tuple) else [dim]
    whole = bool(dims) and all(type(d) is int and 0 <= d < ndim for d in dims)
    if not takes(case, "dim", case.determined and ndim > 1 and whole):
        yield SKIPPED
        return
    from_end = [d - ndim for d in dims]
    bound = {**case.bound, "dim": from_end if isinstance(dim, list | tuple) else from_end[0]}
    yield from same_with(case, bound, as_array(case.result), f"with dim={bound['dim']} in place of {dim}")
