"""The check of vmap: over a batch of examples, a call agrees with a loop over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import tt
from tt.core.dispatch.registry.registry import ops
from tt.core.errors import DataDependentError, HiddenValuesError, PluginError, TTError, UnsupportedError
from tt.testing.checks.call import (
    CheckedCall,
    copied,
    in_words,
    is_strided,
    main_dtype,
    plain,
    tensors_in,
    undefined,
)
from tt.testing.checks.dtypes import converted, doubled
from tt.testing.checks.mutation import declared
from tt.testing.checks.ties import judged
from tt.testing.checks.values import unlike
from tt.testing.findings.log import Finding, Log
from tt.testing.gradcheck.arrays import floating

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["probe_vmap"]


def probe_vmap(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Compare vmap with a loop: over all tensors together, over each one alone, and over another dim."""
    tensors = [plain(t) for t in tensors_in(call.args)]

    reason = _unmappable(call, tensors)
    if reason:
        log.note(reason)
        return
    try:
        vmap = tt.func.vmap
    except (ImportError, AttributeError, TTError) as error:
        log.note(f"vmap is missing: {error}")
        return
    everything = range(len(tensors))
    targets = _targets(call)
    runs: list[tuple[str, Sequence[int], int]] = [("all tensors", everything, 0)]
    if len(tensors) > 1:
        names = [name for _, name, _ in call.tensors()]
        # A changed argument has to be mapped: one tensor has no room for the examples' different values.
        runs += [(f"'{names[i]}' alone", (i,), 0) for i in everything if targets <= {i}]
    if call.definition.kind != "view":  # a view may need the strides that only the first dim leaves
        runs.append(("all tensors along their last dim", everything, -1))
    for words, mapped_tensors, dim in runs:
        # A loop and vmap may differ in ties, so both are kept as functions, to be run on other values.
        looped = partial(_looped, places=mapped_tensors, log=log)
        mapped = partial(_mapped, vmap=vmap, places=mapped_tensors, dim=dim, log=log)
        expected = looped(call)
        if expected is None:
            return
        try:
            text = unlike(mapped(call), expected, log.rtol, log.atol)
        except (HiddenValuesError, DataDependentError, PluginError, UnsupportedError) as error:
            log.note(f"vmap refuses the operator: {str(error).splitlines()[0]}")
            return
        except Exception as error:  # any error of the author's rule is reported
            yield Finding("vmap_fails", f"over {words}: {type(error).__name__}: {error}", call, "vmap")
            return
        if text:
            finding = Finding("vmap_wrong", f"over {words}: {text}", call, "vmap")
            note = "vmap and a loop differ only in which of equal values they chose"
            yield from judged(finding, mapped, looped, log, note)
            return
    yield from _gradients(call, log)


def _gradients(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Compare the gradients of a call inside vmap with those of a loop."""
    floating_tensors = [
        i
        for i, (a, _, t) in enumerate(call.tensors())
        if a.name in call.definition.grad and i not in _targets(call) and floating(t) and t.numel()
    ]
    if not floating_tensors or call.definition.undifferentiated or declared(call):
        return
    try:
        # In double precision, or the order of additions would show.
        call = converted(call, doubled(main_dtype(call)))
        tensors = [plain(t) for t in tensors_in(call.args)]
        others = [_flipped(t) for t in tensors]
        gradients = partial(_gradients_at, call, log, floating_tensors)
        rows = list(zip(gradients(*tensors), gradients(*others), strict=True))
    except Exception as error:  # the operator need not take the flipped values, nor double precision
        log.note(f"gradients in a loop over examples raise {in_words(error)}")
        return
    try:
        mapped = tt.func.vmap(gradients)(
            *[ops.stack(list(pair)) for pair in zip(tensors, others, strict=True)]
        )
    except (HiddenValuesError, DataDependentError, UnsupportedError) as error:
        log.note(f"vmap refuses the gradients: {str(error).splitlines()[0]}")
        return
    except Exception as error:  # any error of the author's gradient is reported
        yield Finding(
            "vmap_fails", f"gradients over all tensors: {type(error).__name__}: {error}", call, "vmap"
        )
        return
    text = unlike(list(mapped), [ops.stack([plain(t) for t in pair]) for pair in rows], log.rtol, log.atol)
    if text:
        yield Finding("vmap_wrong", f"gradients over all tensors: {text}", call, "vmap")


def _gradients_at(call: CheckedCall, log: Log, places: Sequence[int], *tensors: Any) -> Any:
    """Return the gradients of a weighted sum of a call's results."""

    def loss(*chosen: Any) -> Any:
        new = dict(zip(places, chosen, strict=True))
        result = log.run(call.with_tensors([new.get(i, t) for i, t in enumerate(tensors)]))
        # It ties the sum to an argument, so that there is a graph even if no result is floating-point.
        total: Any = ops.sum(chosen[0]).real * 0
        for value in tensors_in(result):
            if floating(value):
                numbers = ops.view_as_real(value) if value.dtype.is_complex else value
                # Different weights, or a gradient in the wrong place would not show in a sum.
                weights = ops.arange(numbers.numel(), dtype=numbers.dtype, device=numbers.device) % 7 - 3.3
                total = total + ops.sum(numbers * weights.reshape(tuple(numbers.shape)))
        return total

    return tt.func.grad(loss, tuple(range(len(places))))(*[tensors[i] for i in places])


def _unmappable(call: CheckedCall, tensors: list[Any]) -> str:
    """Return why vmap cannot be compared with a loop, or ""."""
    if undefined(call):
        return "the values are undefined"
    if any(not returned.type.is_tensor for returned in call.definition.signature.returns):
        return "a result is not a tensor, and a function under vmap returns tensors"
    if not tensors:
        return "the call has no tensors"
    if not all(is_strided(t) for t in tensors):
        return "vmap takes strided tensors, and an argument is not"
    if "random" in call.tags:
        return "each example of a random operator draws other numbers than a loop does"
    if "data_dependent_shape" in call.tags or "data_dependent" in call.tags:
        return "the examples may have results of different shapes"
    if not any(r.type.is_tensor for r in call.signature.returns) and not declared(call):
        return "the operator returns no tensors"
    return ""


def _function(call: CheckedCall, log: Log) -> Callable[..., Any]:
    """Return the call as a function of its tensors that also returns those that it changes."""

    def function(*tensors: Any) -> Any:
        result = log.run(call.with_tensors(tensors))
        # Unchanged: the transform must take every result of the operator, including named tuples.
        return () if result is None else result, tuple(tensors[i] for i in sorted(_targets(call)))

    return function


def _targets(call: CheckedCall) -> set[int]:
    changed = declared(call)
    return {i for i, (a, _, _) in enumerate(call.tensors()) if a.name in changed}


def _mapped(call: CheckedCall, *, vmap: Any, places: Sequence[int], dim: int, log: Log) -> list[Any]:
    """Return the result of vmap over some of the tensors of a call."""
    tensors = [plain(t) for t in tensors_in(call.args)]
    # The second example has the same values elsewhere: valid for the operator, and not equal to the first.
    batches = [ops.stack([t, _flipped(t)], dim) if i in places else t for i, t in enumerate(tensors)]
    dims = tuple(dim if i in places else None for i in range(len(tensors)))
    return list(tensors_in(vmap(_function(call, log), in_dims=dims)(*copied(batches))))


def _looped(call: CheckedCall, *, places: Sequence[int], log: Log) -> list[Any] | None:
    """Return the results for each example, stacked; None where an example is refused."""
    tensors = [plain(t) for t in tensors_in(call.args)]
    rows = []
    for example in (0, 1):
        chosen = [_flipped(t) if example and i in places else t for i, t in enumerate(tensors)]
        try:
            rows.append(list(tensors_in(_function(call, log)(*copied(chosen)))))
        except Exception as error:  # the operator need not take the flipped values
            log.note(f"a loop over examples raises {in_words(error)}")
            return None
    if any(tuple(a.shape) != tuple(b.shape) for a, b in zip(*rows, strict=True)):
        log.note("the examples have results of different shapes")
        return None
    return [ops.stack([plain(a), plain(b)]) for a, b in zip(*rows, strict=True)]


def _flipped(tensor: Tensor) -> Any:
    """Return a tensor with the same values in the opposite order."""
    base = plain(tensor)
    return ops.flip(base, list(range(base.ndim))) if is_strided(base) else base.clone()
