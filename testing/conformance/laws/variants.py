"""The laws of the variants: the public forms of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

import tt
from tt.core.tensor.tensor import Tensor
from tt.testing.checks.call import UNDEFINED
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.values import differences
from tt.testing.conformance.laws.base import Law
from tt.testing.references import as_array

__all__ = ["VARIANT_LAWS"]


def function(case: Case) -> Iterator[str]:
    """Call the function by each of its public names."""
    definition = case.definition
    for name in definition.public_names if definition.signature.namespace == "tt" else ():
        try:
            member: Any = reduce(getattr, name.split("."), tt)
        except AttributeError:
            yield f"tt has no {name}"
            continue
        if not case.random and definition.name not in UNDEFINED:
            result = member(*case.sample.args, **case.sample.kwargs)
            for message in differences(result, as_array(case.result)):
                yield f"tt.{name} gives something other than the operator: {message}"


def method(case: Case) -> Iterator[str]:
    """Look for the method on the class of tensors."""
    name = case.definition.signature.name
    if not callable(getattr(Tensor, name, None)):
        yield f"tensors have no method {name!r}"


def attribute(case: Case) -> Iterator[str]:
    """Read the attribute."""
    name = case.definition.signature.name
    if len(case.bound) != 1:
        yield "it takes more than the tensor"
        return
    if not hasattr(case.tensors[0], name):
        yield f"tensors have no attribute {name!r}"
    elif not isinstance(getattr(case.tensors[0], name), Tensor):
        yield f"the attribute {name!r} is not a tensor"


def inplace(case: Case) -> Iterator[str]:
    """Look for the method on the class of tensors."""
    if case.definition.signature.namespace != "tt":
        yield SKIPPED
        return

    definition = case.definition
    if definition.module:  # the activations: tt.nn.functional.celu_ is a function
        path = [*definition.module.split("."), f"{definition.python_name}_"]
        member: Any = tt
        for name in path:
            member = getattr(member, name, None)
        if not callable(member):
            yield f"tt.{'.'.join(path)} does not exist"
    elif not callable(getattr(Tensor, definition.inplace_name, None)):
        yield f"tensors have no method {definition.inplace_name!r}"


VARIANT_LAWS: Final[dict[str, Law]] = {
    "function": Law("Every public name below tt calls the operator.", function),
    "method": Law("Tensors have a method of its name; the check `method` compares results.", method),
    "property": Law("Tensors have an attribute of its name, which is a tensor and not called.", attribute),
    "inplace": Law(
        "Tensors have a method whose name ends in an underscore (an activation has a function of that name below "
        "tt.nn.functional); the check `inplace` compares results.",
        inplace,
    ),
    "out": Law("out= is filled with the result and returned.", "out"),
    "copy": Law(
        "NAME_copy is an operator of its own: its result shares no memory with its arguments.", "alias"
    ),
}
