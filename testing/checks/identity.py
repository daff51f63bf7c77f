"""Checks of tensors changed in place: each stays the same tensor, for autograd and for the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import tt
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor
from tt.testing.checks.case import SKIPPED, Case, copy_of, fits
from tt.testing.checks.values import differences
from tt.testing.references import as_array

__all__ = ["check_identity"]

CUTS = frozenset({"detach"})
"""Operators whose in-place form changes the position in the graph, but no data."""


class Subclass(Tensor):
    """An example of a program's own class of tensors."""


def check_identity(case: Case) -> Iterator[str]:
    """Change leaves, results, parameters and instances of a subclass, with and without recording.

    Once for each operator and dtype: the last sample is as good as another.
    """
    args = case.sample.args
    changes = case.definition.has_inplace or case.inplace_only
    name = case.definition.name
    if (
        not (case.last and changes and args and isinstance(args[0], TensorBase) and _fits(case))
        or name in CUTS
    ):
        yield SKIPPED
        return
    expected = as_array(case.call((copy_of(args[0]), *args[1:]))) if case.determined else None
    for kind, make in _kinds(case).items():
        for mode, enter in _modes().items():
            yield from _changed(case, make(args[0]), enter, f"{kind} under {mode}", mode != "grad", expected)


def _fits(case: Case) -> bool:
    """Return whether the in-place form can hold its result."""
    target: Any = case.sample.args[0]
    whatever = case.inplace_only or case.definition.kind == "view"
    return whatever or fits(case, case.call((copy_of(target), *case.sample.args[1:])), target)


def _kinds(case: Case) -> dict[str, Callable[[Any], Any]]:
    """Return how each kind of target is made of a tensor."""
    kinds: dict[str, Callable[[Any], Any]] = {
        "a tensor": copy_of,
        "an instance of a subclass": lambda x: copy_of(x).as_subclass(Subclass),
    }
    if hasattr(tt.Tensor, "requires_grad") and (case.dtype.is_floating_point or case.dtype.is_complex):
        kinds |= {
            "a leaf": lambda x: copy_of(x).requires_grad_(),
            "a result": lambda x: copy_of(x).requires_grad_().clone(),
            "a parameter": lambda x: tt.nn.Parameter(copy_of(x)),
            "a leaf of a subclass": lambda x: copy_of(x).as_subclass(Subclass).requires_grad_(),
        }
    return kinds


def _modes() -> dict[str, Callable[[], Any]]:
    """Return the modes of recording; without autograd there is none."""
    if not hasattr(tt.Tensor, "requires_grad"):
        return {"grad": nullcontext}
    return {"grad": nullcontext, "no_grad": tt.no_grad, "inference_mode": tt.inference_mode}


def _changed(
    case: Case, target: Any, enter: Callable[[], Any], where: str, silent: bool, expected: Any
) -> Iterator[str]:
    """Yield the effects of a change in place on a target, apart from its values."""
    leaf = getattr(target, "is_leaf", False) and getattr(target, "requires_grad", False)
    if leaf:
        # With a gradient in place it shows when a change drops or replaces it.
        target.grad = tt.zeros_like(target.detach())
    before = _facts(target)
    version = target._version
    try:
        with enter():
            returned = case.call((target, *case.sample.args[1:]), "inplace")
    except RuntimeError as error:
        if silent or not before["requires_grad"]:
            yield f"{where}: {type(error).__name__}: {error}"
        # While recording, a leaf has to refuse changes, without a trace of the attempt.
        elif _facts(target) != before or target._version != version:
            yield f"{where}: the change was refused, and the tensor changed"
        return
    if returned is not target:
        yield f"{where}: the in-place form returns another tensor than its target"
    if target._version <= version:
        yield f"{where}: the in-place form does not bump the version"
    if silent or not leaf:
        for name, value in _facts(target).items():
            # While recording, `requires_grad` and `is_leaf` may rightly change; class and gradient may not.
            if (silent or name in ("class", "grad")) and value != before[name]:
                yield f"{where}: {name} was {before[name]} and is {value}"
    if silent and expected is not None and target.dtype is case.sample.args[0].dtype:
        yield from (f"{where}: {message}" for message in differences(target.detach(), expected))


def _facts(tensor: Tensor) -> dict[str, Any]:
    """Return the properties that a change of the values must not change."""
    grad = getattr(tensor, "grad", None) if getattr(tensor, "is_leaf", True) else None
    return {
        "class": type(tensor).__name__,
        "requires_grad": getattr(tensor, "requires_grad", False),
        "is_leaf": getattr(tensor, "is_leaf", True),
        "grad": id(grad) if grad is not None else None,
    }
