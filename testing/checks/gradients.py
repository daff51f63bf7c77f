"""The tests of gradients: whether there are any, and whether they are right.

Gradients are reached through the members that their layer gives to tensors (`requires_grad_`, `backward`, `grad`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import DataDependentError, GradcheckError, GradientError, TTError
from tt.core.types.dtype import float64
from tt.core.types.keys import KEYS
from tt.testing.checks.call import (
    CheckedCall,
    copied,
    is_strided,
    main_dtype,
    plain,
    tensors_in,
    unserved,
    values,
)
from tt.testing.checks.determinism import same_seed
from tt.testing.checks.dtypes import converted, doubled
from tt.testing.checks.mutation import changed_unsaid, declared
from tt.testing.checks.ties import distinct
from tt.testing.checks.values import unlike
from tt.testing.findings.log import Finding, Log
from tt.testing.gradcheck import gradcheck, gradgradcheck
from tt.testing.gradcheck.arrays import floating
from tt.testing.gradcheck.problem import backward

__all__ = ["probe_gradients", "probe_registration"]

LARGE = 400
"""The largest Jacobian that is compared entry by entry; larger ones are compared along random directions."""
TOO_LARGE = 100_000
"""With more elements than this, finite differences are too coarse a comparison, and too slow."""


def _candidates(call: CheckedCall) -> list[int]:
    """Return the positions, among the tensors of a call, of those that have a gradient."""
    promised = call.definition.grad
    changed = declared(call)
    return [
        i
        for i, (a, _, t) in enumerate(call.tensors())
        if a.name in promised and a.name not in changed and floating(t) and is_strided(t)
    ]


def _applies(call: CheckedCall, log: Log) -> bool:
    """Return whether gradients can be asked for, and note why not."""
    if not call.definition.grad or call.definition.undifferentiated:
        log.note("the operator is declared non-differentiable")
        return False
    if declared(call) and call.caller.form == "functional":
        log.note("an operator that changes its arguments has no gradient of its own")
        return False
    if not _candidates(call):
        log.note("no argument that may have a gradient is a floating-point tensor")
        return False
    try:
        first = next(t for t in tensors_in(call.args))
        plain(first).clone().to(float64).requires_grad_()
    except (AttributeError, TTError) as error:
        log.note(f"tensors have no gradients here: {str(error).splitlines()[0]}")
        return False
    return True


def _with_gradients(call: CheckedCall) -> CheckedCall:
    """Return a copy of the call whose arguments require gradients."""
    chosen = {*_candidates(call)}
    # Copies in the same memory layout, as kernels of gradients depend on it, too.
    copies = [t.detach() for t in tensors_in(copied(call.args))]
    return call.with_tensors([c.requires_grad_() if i in chosen else c for i, c in enumerate(copies)])


def _recorded(call: CheckedCall, log: Log) -> tuple[CheckedCall, list[Any], list[Any]]:
    """Return a copy of the call whose arguments require gradients, these arguments, and the results."""
    ready = _with_gradients(call)
    leaves = [t for t in tensors_in(ready.args) if t.requires_grad]
    with same_seed(call):
        result = log.run(ready)
    return ready, leaves, [t for t in tensors_in(result) if floating(t)]


# --- registration ----------------------------------------------------------------------------------------------


def probe_registration(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call whose arguments require gradients, and check that its result has them."""
    if not _applies(call, log):
        return
    unsaid = changed_unsaid(call, log)
    if unsaid is not None:
        yield from _only_once(unsaid, log)
        return
    results = [t for t in _recorded(call, log)[2] if t.numel()]
    if not results:
        log.note("no result is a floating-point tensor with elements")
        return
    ready = _with_gradients(call)
    layer = _without_rule(ready)
    if layer:
        yield Finding(
            "no_gradient",
            f"the arguments may require gradients, and the layer {layer!r} has no formula for the operator",
            ready, "backward",
        )  # fmt: skip
    elif not any(t.requires_grad for t in results):
        yield Finding(
            "detached",
            "the arguments require gradients, the operator has neither a formula nor is it declared "
            "non-differentiable, and its result has no history: gradients are lost without a word",
            ready, "backward",
        )  # fmt: skip


def _without_rule(call: CheckedCall) -> str:
    """Return the name of a layer that holds a tensor of the call and can do nothing with the operator, or ""."""
    keys = 0
    for tensor in tensors_in(call.args):
        keys |= tensor._keys & ~tensor._spec.keys
    registry, operator = call.operator.registry, call.operator
    for name in KEYS.names("layer", keys):
        layer = registry.layer(name)
        if (
            layer.rule(operator, call.caller.form) is None
            and registry.composite(operator.name) is None
            and not layer.passes_through(operator, call.caller.form)
        ):
            return name
    return ""


# --- values ----------------------------------------------------------------------------------------------------


def probe_gradients(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Compare gradients of the first and second order with finite differences, in double precision."""
    if not _applies(call, log):
        return
    main = main_dtype(call)
    call = converted(call, doubled(main))
    if sum(t.numel() for t in tensors_in(call.args)) > TOO_LARGE:
        log.note("the arguments have too many elements for finite differences")
        return
    unsaid = changed_unsaid(call, log)
    if unsaid is not None:
        yield from _only_once(unsaid, log)
        return
    findings = list(_compared(call, log))
    # Finite differences at equal values see a kink; moved apart, the values leave only real faults.
    apart = distinct(call) if any(f.fault in _AT_TIES for f in findings) else None
    still = {f.fault for f in _compared(apart, log)} if apart is not None else {*_AT_TIES}
    for finding in findings:
        if finding.fault in _AT_TIES and not still & {*_AT_TIES}:
            log.note("at equal values the operator is not smooth; where they differ, its gradient is right")
        else:
            yield finding


_AT_TIES = ("gradient_wrong", "second_gradient_wrong")
"""Faults that finite differences report wrongly at kinks of functions of several values, such as the largest."""


def _only_once(unsaid: Finding, log: Log) -> Iterator[Finding]:
    """Yield an undeclared change, unless the schema's test has reported it, and note that no gradient was compared."""
    log.note(f"the call changes argument '{unsaid.argument}' undeclared, so gradients cannot be compared")
    if (unsaid.fault, unsaid.argument) not in log.reported:
        yield unsaid


def _compared(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Compare the gradients at the arguments of a call."""
    double = main_dtype(call)
    try:
        ready, leaves, results = _recorded(call, log)
    except TTError as error:
        if not unserved(error):
            raise
        log.note(f"the operator does not serve {double}: {str(error).splitlines()[0]}")
        return
    results = [t for t in results if t.requires_grad]
    if not results or _without_rule(ready):
        log.note("no result has a gradient")
        return
    if any(t.numel() == 0 for t in leaves) or all(t.numel() == 0 for t in results):
        log.note("the tensors have no elements")
        return
    if not all(np.isfinite(values(t)).all() for t in results):
        log.note("a result is not finite, so differences cannot be computed")
        return
    findings = [*_backward(ready, leaves, results), *_together(ready, leaves, results)]
    yield from findings
    if findings and findings[0].fault == "gradient_fails":
        return
    shown = _with_gradients(call)
    candidates = _candidates(call)
    others = [t.detach() for t in tensors_in(copied(call.args))]

    def function(*tensors: Any) -> Any:
        replaced = dict(zip(candidates, tensors, strict=True))
        # An operator may change its arguments, so each evaluation gets its own.
        fresh = [replaced.get(i, t.clone()) for i, t in enumerate(others)]
        with same_seed(call):
            outcome = log.run(call.with_tensors(fresh))
        outcome = [t for t in tensors_in(outcome) if floating(t)]
        return tuple(outcome)

    inputs = tuple(others[i].clone().requires_grad_() for i in candidates)
    fast = sum(t.numel() for t in inputs) * max(1, sum(t.numel() for t in results)) > LARGE
    yield from _by_differences(function, inputs, fast, shown, log)


def _together(call: CheckedCall, leaves: list[Any], results: list[Any]) -> Iterator[Finding]:
    """Compare one backward pass from several results with the sum of one from each."""
    # A backward pass starts from one real number.
    if len(results) < 2 or any(t.dtype.is_complex for t in results):
        return

    def gradients(chosen: list[Any]) -> list[Any]:
        total = sum((ops.sum(ops.mul(result, 0.5)) for result in chosen), start=0)
        grad = _gradients(leaves, [(total, None)])
        return [ops.zeros_like(plain(t)) if g is None else g for g, t in zip(grad, leaves, strict=True)]

    try:
        each = [gradients([result]) for result in results]
        joint = gradients(results)
    except Exception:  # a pass that fails is found, and named, by the comparison with finite differences
        return
    for position, grad in enumerate(joint):
        text = unlike(grad, sum((row[position] for row in each[1:]), start=each[0][position]), 1e-6, 1e-9)
        if text:
            text = f"a backward pass from all results gives another gradient than the sum of one from each: {text}"
            yield Finding("gradient_undefined", text, call, "gradcheck")
            return


def _by_differences(
    function: Callable[..., Any], inputs: tuple[Any, ...], fast: bool, call: CheckedCall, log: Log
) -> Iterator[Finding]:
    """Compare derivatives of the first order with finite differences, and where they agree, those of the second."""
    tolerances: dict[str, Any] = {} if log.rtol is None else {"rtol": log.rtol, "atol": log.atol}
    try:
        gradcheck(function, inputs, fast_mode=fast, check_grad_dtypes=True, **tolerances)
    except GradcheckError as error:
        yield Finding(_kind(str(error)), str(error), call, "gradcheck")
        return
    except Exception as error:  # any error of the author's gradient is reported
        yield Finding("gradient_fails", f"{type(error).__name__}: {error}", call, "gradcheck")
        return
    try:
        # In fast mode, as the whole Jacobian of the gradients takes a pass for each of their elements.
        gradgradcheck(function, inputs, fast_mode=True, **{"atol": 1e-4, **tolerances})
    except GradcheckError as error:
        yield Finding("second_gradient_wrong", str(error), call, "gradgradcheck")
    except (GradientError, DataDependentError) as error:
        log.note(f"the second derivative is refused: {str(error).splitlines()[0]}")
    except Exception as error:  # any error of the author's gradient is reported
        yield Finding("second_gradient_fails", f"{type(error).__name__}: {error}", call, "gradgradcheck")


def _kind(text: str) -> str:
    if "not deterministic" in text:
        return "gradient_random"
    return "gradient_undefined" if "undefined gradient" in text else "gradient_wrong"


def _backward(call: CheckedCall, leaves: list[Any], results: list[Any]) -> Iterator[Finding]:
    """Run backward twice from each result, with the gradient in two memory layouts, and note the changes."""
    random = np.random.default_rng(0)
    watched = [(f"argument '{name}'", t) for _, name, t in call.tensors()]
    watched += [(f"result {i}", t) for i, t in enumerate(results)]
    # Bytes, so that NaN equals itself.
    before = [values(t).tobytes() for _, t in watched]
    for number, result in enumerate(results):
        row = random.uniform(0.5, 1.5)
        if result.ndim:  # the same for all elements along the last dim, so that it can be expanded
            small = ops.full_like(plain(result).narrow(-1, 0, min(1, result.shape[-1])), row)
            expanded = small.expand(*result.shape)
        else:
            expanded = ops.full_like(plain(result), row)
        got: list[list[Any]] = []
        # Stride 0, as `sum().backward()` makes it, breaks kernels that take a gradient for row-major or write to it.
        for gradient in (expanded.contiguous().clone(), expanded):
            kept = values(gradient).tobytes()
            try:
                got.append(_gradients(leaves, [(result, gradient)]))
            except Exception as error:  # any error of the author's gradient is reported
                text = f"{type(error).__name__}: {error}"
                if gradient is not expanded:
                    yield Finding("gradient_fails", text, call, "backward")
                else:
                    text = f"with an expanded gradient, backward raises {text}"
                    yield Finding("gradient_layout", text, call, "backward")
                return
            changed = [
                name for (name, t), old in zip(watched, before, strict=True) if values(t).tobytes() != old
            ]
            if values(gradient).tobytes() != kept:
                changed.insert(0, f"the gradient that it got for result {number}")
            if changed:
                yield Finding("gradient_mutates", f"backward changed {changed[0]}", call, "backward")
                return
        for one, other in zip(*got, strict=True):
            text = "" if one is None or other is None else unlike(other, one, 1e-6, 1e-9)
            if text or (one is None) != (other is None):
                text = f"an expanded gradient of the same values gives another result: {text}"
                yield Finding("gradient_layout", text, call, "backward")
                return


def _gradients(leaves: list[Any], starts: list[tuple[Any, Any]]) -> list[Any]:
    """Return copies of the gradients that backward passes give; see `backward`."""
    return [None if grad is None else plain(grad).clone() for grad in backward(leaves, starts)]
