"""Defining operators: `custom_op`, from annotations or from a schema.

`custom_op` registers at once, as in PyTorch: a program that defines an operator calls it on the next line.  In a
plugin, the `tt_register` hook imports the module, and its definitions are then recorded as the plugin's.  A plugin with
many operators should ship a YAML file and tables instead (`registry.add_definitions`,
`registry.add`), which register only when they are handed over.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, overload
from weakref import WeakValueDictionary

from tt.core import plugins
from tt.core.custom_op.custom_op import CustomOp, make_op, replace_op
from tt.core.custom_op.infer_schema import infer_signature
from tt.core.custom_op.registrations import WITHOUT_GRADIENT, add_tensor_kernel, check_parameters
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError, did_you_mean
from tt.core.schema.fields import FIELDS
from tt.core.schema.model import TAGS, OpDefinition, Signature

__all__ = ["check_name", "custom_op", "definition_of", "signature_of"]

POINTWISE: Final = "pointwise"
"""A kind of operators, which custom ones declare by a tag, as in PyTorch."""
PROMOTING: Final = frozenset({"default", "int_to_float", "int_to_int64", "bool_to_int64"})
"""Rules for the dtype of a result that speak of the promoted dtype, in which the kernel then computes."""


def only_declares(function: Callable[..., Any]) -> bool:
    """Return whether a function's body does nothing: `...`, `pass`, a docstring, or `raise NotImplementedError`."""
    if not isinstance(function, types.FunctionType):
        return False
    # Instructions that Python adds, by version, do nothing.
    steps = [i for i in dis.get_instructions(function) if i.opname not in ("RESUME", "NOP", "CACHE")]
    if [i.opname for i in steps[:2]] == ["LOAD_GLOBAL", "RAISE_VARARGS"]:
        return bool(steps[0].argval == "NotImplementedError")
    # `return x` is as short, but loads a local variable.
    return all(
        i.opname == "RETURN_VALUE" or (i.opname in ("LOAD_CONST", "RETURN_CONST") and i.argval is None)
        for i in steps
    )


_MADE: Final[WeakValueDictionary[str, CustomOp]] = WeakValueDictionary()
"""What `custom_op` returned last for each name."""


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates: str | Iterable[str] = ...,
    mutates_args: str | Iterable[str] | None = ...,
    device_types: str | Sequence[str] | None = ...,
    schema: str | None = ...,
    tags: str | Sequence[str] | None = ...,
    result: str | Sequence[str] = ...,
    grad: str | Iterable[str] | None = ...,
) -> Callable[[Callable[..., Any]], CustomOp]: ...
@overload
def custom_op(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    mutates: str | Iterable[str] = ...,
    mutates_args: str | Iterable[str] | None = ...,
    device_types: str | Sequence[str] | None = ...,
    schema: str | None = ...,
    tags: str | Sequence[str] | None = ...,
    result: str | Sequence[str] = ...,
    grad: str | Iterable[str] | None = ...,
) -> CustomOp: ...
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates: str | Iterable[str] = (),
    mutates_args: str | Iterable[str] | None = None,
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: str | Sequence[str] | None = None,
    result: str | Sequence[str] = "same",
    grad: str | Iterable[str] | None = None,
) -> Any:
    """Define an operator; without a function, return a decorator.

    Parameters
    ----------
    name : str
        "namespace::name"; the operator is `tt.ops.namespace.name`.
    fn : callable, optional
        Its annotations give the signature (see `infer_schema`).  A body that does something is the implementation in
        other operators, for every device that has no kernel; a body of `...`, a docstring or
        `raise NotImplementedError` (for type checkers, which want a body that returns) only declares.
    mutates : iterable of str
        The arguments that the operator changes, or "unknown": every tensor.
    mutates_args : iterable of str, optional
        PyTorch's name of `mutates`.
    device_types : str or sequence of str, optional
        The device types for which the body is; others are refused, and so are tensors without data: the operator then
        needs a `fake` or a `shape`.
    schema : str, optional
        The signature without the name, instead of annotations: "(Tensor x, float by=1.0) -> Tensor".
    tags : str or sequence of str, optional
        Tags of ops.yaml, for instance "data_dependent_shape"; "pointwise" for an operator that treats each element
        alone and broadcasts its tensors, which then takes jagged tensors, and batches of `vmap`.
    result : str or sequence of str
        The dtype of the results of kernels: "same" (the first tensor's), "bool", "int64", another dtype's name;
        several for several results.  "default" and "int_to_float" mean the dtype to which the tensors promote, the
        second with the default dtype for bools and integers; the kernel gets its tensors in that dtype.
    grad : str or iterable of str, optional
        The arguments that have a gradient, by default all tensors; the others are constants.

    Returns
    -------
    CustomOp
        Call it; add to it with `.kernel`, `.composite`, `.fake`, `.shape`, `.backward`, `.setup_context` and `.vmap`;
        `.handle(function)` undoes one of them, `.remove()` everything.

    Raises
    ------
    ArgumentError
        When the name has no namespace, the annotations give no signature, or an option is unknown.
    SchemaError
        When the schema is none.
    DuplicateRegistrationError
        When a plugin or a schema has an operator of that name.  One that the program itself made by `custom_op` is
        replaced, as where a cell of a notebook is executed again.

    Examples
    --------
    >>> import tt
    >>> from tt.library import custom_op
    >>> @custom_op("doc::twice")
    ... def twice(x: tt.Tensor) -> tt.Tensor:
    ...     "Doubles x."
    >>> @twice.kernel("cpu")
    ... def twice_on_cpu(x):
    ...     return x + x
    >>> @twice.fake
    ... def twice_without_data(x):
    ...     return tt.empty_like(x)
    >>> @twice.backward
    ... def twice_backward(g):
    ...     return 2 * g
    >>> tt.ops.doc.twice(tt.tensor([1.0, 2.0]))
    tensor([2., 4.])
    >>> twice.remove()
    """
    if not isinstance(name, str):
        raise ArgumentError(
            "custom_op",
            f"the first argument is the name of the operator, not {name!r}",
            hint="@custom_op('namespace::name')",
        )
    changed = mutates if mutates_args is None else mutates_args

    def define(function: Callable[..., Any]) -> CustomOp:
        check_name(name)
        if schema is None:
            signature = infer_signature(function, name=name, mutates=changed)
        else:
            signature = signature_of(name, schema)
            _check_changed(signature, changed)
            # A function without parameters that only declares is there for its docstring.
            if not only_declares(function) or inspect.signature(function).parameters:
                check_parameters(name, "the function", function, signature, all_of_them=True)
        doc = inspect.getdoc(function) or ""
        definition = definition_of(signature, result=result, tags=_words(tags or ()), doc=doc, grad=grad)
        # Before the new one is registered, which would be refused as a second definition.
        _forget(definition.name)
        op = _MADE[name] = make_op(definition)
        if not only_declares(function):
            if device_types is None:
                op.composite(function)
            else:
                for device in _words(device_types):
                    op._keep(function, add_tensor_kernel(op.operator, device, function))
        return op

    return define if fn is None else define(fn)


def _forget(name: str) -> None:
    """Remove an operator that an earlier run of the program's own `custom_op` made: a cell that is executed again."""
    earlier = _MADE.pop(name, None)
    # A plugin that defines a name twice has made a mistake, and gets the error.
    if earlier is None or earlier.operator.removed or plugins().current_registry() is not None:
        return
    if REGISTRY.definition_source(name).is_program:
        replace_op(earlier)


def _words(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def check_name(name: str) -> None:
    """Refuse what cannot name a custom operator."""
    namespace, separator, short = name.partition("::")
    if not separator or not namespace.isidentifier() or not short.isidentifier():
        raise ArgumentError(name, "the name of a custom operator has the form 'namespace::name'")
    if namespace == "tt":
        raise ArgumentError(
            name, "the namespace 'tt' belongs to tt's own operators", hint="choose another namespace"
        )


def signature_of(name: str, schema: str) -> Signature:
    """Return the signature of an operator whose name and schema were given apart.

    Raises
    ------
    ArgumentError
        When the schema has a name, too.
    SchemaError
        When it is none.
    """
    # With a name in the schema there would be two, and one of them ignored.
    if not schema.lstrip().startswith("("):
        written, separator, rest = schema.partition("(")
        raise ArgumentError(
            name,
            f"the schema has a name of its own, {written.strip()!r}"
            if separator
            else f"{schema!r} is not a schema of arguments and results",
            hint=f"schema={'(' + rest!r}" if separator else "schema='(Tensor x) -> Tensor'",
        )
    return Signature.parse(name + schema.strip(), any_spelling=True)


def _check_changed(signature: Signature, changed: str | Iterable[str]) -> None:
    """Refuse a schema and `mutates` that contradict each other."""
    if changed == "unknown":
        return
    written = [a.name for a in signature.arguments if a.alias and a.alias.write]
    for argument in _words(changed):
        if argument not in written:
            raise ArgumentError(
                signature.qualified,
                f"mutates names {argument!r}, and the schema does not mark it as changed",
                signatures=[str(signature)],
                hint="write Tensor(a!) in the schema; mutates may then be left out",
            )


def definition_of(
    signature: Signature,
    *,
    result: str | Sequence[str] = "same",
    tags: Sequence[str] = (),
    doc: str = "",
    grad: str | Iterable[str] | None = None,
) -> OpDefinition:
    """Return the definition of a custom operator; a tensor has a gradient, whose formula may be missing.

    Raises
    ------
    ArgumentError
        For a signature, dtype rule or tag that a custom operator cannot have, and names of `grad` that are no tensors.
    """
    name = signature.qualified
    for returned in signature.returns:
        # The operator's results would alias arguments, of which autograd, functionalisation and compilers must know.
        if returned.alias and not returned.alias.write:
            raise ArgumentError(
                name,
                "a custom operator returns no views of its arguments",
                signatures=[str(signature)],
                hint="return a copy, or write an operator of other operators as an ordinary function",
            )
    rules = result if isinstance(result, str) else tuple(result)
    for word in _words(rules):
        known = FIELDS["result"].words or {}
        if word not in known:
            raise ArgumentError(
                name,
                f"result: {word!r} is neither a rule for the dtype of results nor a dtype{did_you_mean(word, known)}",
            )
    if not isinstance(rules, str) and len(rules) != len(signature.returns):
        raise ArgumentError(
            name, f"result has {len(rules)} rules, and the operator returns {len(signature.returns)} values"
        )
    allowed = {*TAGS, POINTWISE}
    for tag in tags:
        if tag not in allowed:
            raise ArgumentError(name, f"unknown tag {tag!r}{did_you_mean(tag, allowed)}")
    kind = POINTWISE if POINTWISE in tags else "other"
    if kind == POINTWISE and not signature.tensor_arguments:
        raise ArgumentError(
            name, "an operator with the tag 'pointwise' takes a tensor", signatures=[str(signature)]
        )
    tags = [tag for tag in tags if tag != POINTWISE]
    tensors = tuple(a.name for a in signature.tensor_arguments)
    # These rules give the dtype to which the arguments promote; an argument that is changed keeps its own.
    promoted = tuple(
        a.name
        for a in signature.arguments
        if a.type.is_tensor and not (a.alias and a.alias.write) and {*_words(rules)} & PROMOTING
    )
    # A result of whole numbers has no gradient, unless an argument is changed, which may have one.
    without = not {"nondifferentiable", "no_derivative"}.isdisjoint(tags) or (
        not any(a.alias and a.alias.write for a in signature.arguments)
        and all(rule in WITHOUT_GRADIENT for rule in _words(rules))
    )
    chosen = tensors if grad is None else (grad,) if isinstance(grad, str) else tuple(grad)
    for argument in chosen:
        if argument not in tensors:
            raise ArgumentError(
                name, f"grad names {argument!r}, which is no tensor argument", signatures=[str(signature)]
            )
    differentiated = () if without else chosen
    return OpDefinition(
        signature, kind, promote=promoted, result=rules, grad=differentiated, tags=tuple(tags), doc=doc
    )
