"""The forms of operators for lists: `_foreach_add` does to the tensors of lists what `add` does to tensors."""

from __future__ import annotations

from typing import Final

from tt.core.schema.classes import dtype_names
from tt.core.schema.model import OpDefinition, Signature

__all__ = ["FAMILY", "FORMS", "foreach_forms"]

FAMILY: Final = "optimizer"
"""The family of operators on lists, in whose folder their composites and kernels lie together."""

FORMS: Final[dict[str, str]] = {
    "default": "each tensor of a list",
    "Scalar": "each tensor of a list, with one number for all",
    "List": "each tensor of a list, with those of another",
    "ScalarList": "each tensor of a list, with a number for each",
    "Tensor": "each tensor of a list, with the number, or the numbers, in a tensor",
}
"""The overloads that an operator may have for lists, and to what each applies it."""

# Names and order of arguments are PyTorch's.  Rows are found by the names of the operator's own arguments.
_OPERANDS: Final[dict[tuple[str, ...], dict[str, str]]] = {
    (): {"default": ""},
    ("exponent",): {"Scalar": "Scalar exponent", "List": "Tensor[] exponent", "ScalarList": "Scalar[] exponent"},
    ("end", "weight"): {
        "Scalar": "Tensor[] tensors1, Scalar weight",
        "List": "Tensor[] tensors1, Tensor[] weights",
        "ScalarList": "Tensor[] tensors1, Scalar[] weight",
    },
    ("tensor1", "tensor2"): {
        "Scalar": "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1",
        "ScalarList": "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars",
        "Tensor": "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars",
    },
}  # fmt: skip
_ANY_OTHER: Final = {
    "Scalar": "Scalar scalar", "List": "Tensor[] other", "ScalarList": "Scalar[] scalars", "Tensor": "Tensor other",
}  # fmt: skip
_VALUES: Final = {
    "Scalar[] ": ("[2, 3]", "3"),
    "Scalar ": ("2", "2"),
    "Tensor[] ": ("[tt.tensor([2.0]), tt.tensor([3.0, 2.0])]", "tt.tensor([3.0, 2.0])"),
    "Tensor other": ("tt.tensor(2.0)", "2"),
    "Tensor scalars": ("tt.tensor([2.0, 3.0])", "3"),
}
"""What examples give for an operand, and what the second tensor meets of it."""


def foreach_forms(definition: OpDefinition, forms: tuple[str, ...]) -> list[OpDefinition]:
    """Return the definitions of an operator for lists: of each form the functional one and that in place.

    Parameters
    ----------
    definition : OpDefinition
        An operator of tensors that are combined element by element.
    forms : tuple of str
        Which of `FORMS` it has.

    Raises
    ------
    ValueError
        If the operator's arguments do not suit a form.
    """
    base = definition.signature
    names = tuple(argument.name for argument in base.positional[1:])
    operands = _OPERANDS.get(names, _ANY_OTHER if len(names) == 1 else {})
    results = []
    for form in forms:
        if form not in operands:
            raise ValueError(f"{base.qualified} has no form {form!r} for lists")
        text = operands[form]
        # As in PyTorch: a scale of what is added goes with tensors, a number is scaled by whoever writes it.
        if base.argument("alpha") is not None and form in ("List", "Tensor"):
            text += ", *, Scalar alpha=1"
        rest = f", {text}" if text else ""
        overload = "" if form == "default" else f".{form}"
        for inplace in (False, True):
            name = f"_foreach_{base.name}{'_' * inplace}{overload}"
            alias, returns = ("(a!)", "()") if inplace else ("", "Tensor[]")
            signature = Signature.parse(f"{name}(Tensor{alias}[] self{rest}) -> {returns}")
            if base.namespace != "tt":
                signature = signature._replace(namespace=base.namespace)
            results.append(
                OpDefinition(
                    signature,
                    kind="composite",
                    dtypes=_dtypes(definition, form, inplace),
                    # Numbers have none, in a tensor neither.
                    grad=tuple(a.name for a in signature.tensor_arguments if a.name != "scalars")
                    if definition.grad
                    else (),
                    tags=("internal", *(tag for tag in definition.tags if tag == "nondifferentiable")),
                    samples="foreach",
                    doc=_doc(definition, form, inplace),
                    example=_example(definition, signature, text, inplace),
                    family=FAMILY if definition.family else "",
                    location=definition.location,
                )
            )
    return results


def _dtypes(definition: OpDefinition, form: str, inplace: bool) -> tuple[str, ...]:
    """Return the dtypes that all tensors of a call may have."""
    names = dtype_names(definition.dtypes)
    # float8 has no operators on lists; a bool and a number give an integer, which a bool cannot hold.
    left_out = {*dtype_names("float8")} | ({"bool"} if form != "default" else set())
    if inplace and definition.result == "int_to_float":
        left_out |= {*dtype_names("integral_bool")}
    if inplace and definition.result == "real":
        left_out |= {*dtype_names("complex")}
    return tuple(name for name in names if name not in left_out)


def _doc(definition: OpDefinition, form: str, inplace: bool) -> str:
    what = definition.doc.strip().rstrip(".")
    how = "Applies in place" if inplace else "Applies"
    return f"{how} {definition.signature.name} to {FORMS[form]} ({what[:1].lower()}{what[1:]})."


def _example(definition: OpDefinition, signature: Signature, operands: str, inplace: bool) -> str:
    """Return an example that compares with the operator of tensors."""
    texts = operands.partition(", *,")[0].split(", ") if operands else []
    values = [next(value for kind, value in _VALUES.items() if text.startswith(kind)) for text in texts]
    lists, single = [value for value, _ in values], [value for _, value in values]
    if texts and not texts[-1].startswith("Tensor[]"):
        if definition.signature.argument("value") is not None:
            single[-1] = f"value={single[-1]}"
        elif (
            definition.signature.arguments[-1].type.is_tensor
            and not definition.signature.arguments[1].type.or_scalar
        ):
            single[-1] = f"tt.tensor({single[-1]}.0)"
    # At these arguments every function has a value.
    second, name = "tt.tensor([0.25, 1.0])", definition.signature.name
    lines = [f">>> x = [tt.tensor([0.5]), {second}]"]
    call = f"tt.{signature.name}({', '.join(['x', *lists])})"
    lines.append(f">>> {call}" if inplace else f">>> y = {call}")
    return "\n".join(
        [*lines, f">>> {'x' if inplace else 'y'}[1].equal(tt.{name}({', '.join([second, *single])}))", "True"]
    )
