"""The copying forms of views: `permute_copy` does what `permute` does, and its result shares no memory."""

from __future__ import annotations

import re

from tt.core.schema.model import OpDefinition, Signature

__all__ = ["copy_form"]


def copy_form(view: OpDefinition) -> OpDefinition:
    """Return the definition of the function that copies what an operator views.

    Parameters
    ----------
    view : OpDefinition
        An operator whose results share memory with its first argument.
    """
    signature = view.signature
    copied = Signature(
        signature.namespace,
        f"{signature.name}_copy",
        signature.overload,
        tuple(argument._replace(alias=None) for argument in signature.arguments),
        tuple(result._replace(alias=None) for result in signature.returns),
    )
    single = len(copied.returns) == 1 and not copied.returns[0].type.list
    return OpDefinition(
        copied,
        kind="composite",
        dtypes=view.dtypes,
        variants=("function", "out") if single else ("function",),
        samples=view.samples,
        # As in PyTorch, `out=` of a copy has to have its dtype; results that are lists have no out= form.
        tags=(*(("exact_target",) if single else ()), *(t for t in view.tags if t == "nondifferentiable")),
        doc=_doc(signature.name, view.doc),
        example=_example(signature, view.example or ""),
        family=view.family,
        location=view.location,
    )


def _doc(name: str, doc: str) -> str:
    """Return a sentence that describes the copy without reference to the view's page."""
    what = doc.strip().rstrip(".")
    return f"Returns a copy of the view that {name} returns ({what[:1].lower()}{what[1:]})."


def _example(signature: Signature, example: str) -> str:
    """Return the example of a view with the copying form in it; a call of the method becomes one of the function."""
    name = signature.name
    several = len(signature.arguments) == 2 and signature.arguments[1].type.list is not None
    opening, closing = ("[", "]") if several else ("", "")
    # The function first; where the example calls the method, the call is turned into one of the function.
    copied = re.sub(rf"tt\.(ops\.)?{name}\(", f"tt.{name}_copy(", example)
    if copied == example:
        copied = re.sub(
            rf">>> (.*)\.{name}\(([^()]*)\)",
            lambda m: f">>> tt.{name}_copy({m[1]}{f', {opening}{m[2]}{closing}' if m[2] else ''})",
            example,
        )
    return copied
