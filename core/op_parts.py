"""What is added to an operator: kernels, composites, fakes, shape rules, gradients, batching rules.

Each function registers one part and returns the handle that undoes it.  `CustomOp` and the functions of `tt.library`
with PyTorch's names are made of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from tt.core.dispatch.callers import Caller
from tt.core.dispatch.operator import Operator
from tt.core.dispatch.overloads import OverloadedOp
from tt.core.dispatch.registry import REGISTRY, Handle
from tt.core.dispatch.tables import CompositeTable, Form, KernelTable
from tt.core.errors import ArgumentError, KernelContractError
from tt.core.tensor import Tensor, wrap

__all__ = [
    "add_backward",
    "add_composite",
    "add_fake",
    "add_formulas",
    "add_kernel",
    "add_shape",
    "add_vmap",
    "operator_of",
]

Function = Callable[..., Any]


def operator_of(op: Any) -> Operator:
    """Return the operator that a name ("acme::twice"), a custom operator or `tt.ops.acme.twice` stands for.

    Raises
    ------
    UnknownOpError
        When there is none of the name.
    ArgumentError
        When the name has several overloads, or it is no operator.
    """
    if isinstance(op, str):
        overloads = REGISTRY.overloads(op.removesuffix(".default"))
        if len(overloads) > 1 and op not in overloads:
            raise ArgumentError(
                op, f"there are several overloads: {', '.join(overloads)}", hint="name one of them"
            )
        return REGISTRY.operator(overloads[0] if len(overloads) == 1 else op)
    if isinstance(op, OverloadedOp):
        names = ", ".join(caller.operator.name for caller in op.callers.values())
        raise ArgumentError(op.name, f"there are several overloads: {names}", hint="name one of them")
    if isinstance(op, Caller):
        return op.operator
    raise ArgumentError("tt.library", f"{op!r} is no operator: give its name, for instance 'acme::twice'")


def named(handle: Handle, what: str) -> Handle:
    """Return a handle that says what it undoes."""
    handle.what = what
    return handle


def positional(function: Function, names: Sequence[str] | None = None) -> Function:
    """Return a function that takes everything by position, as the dispatcher gives it.

    Parameters
    ----------
    function : callable
        May have keyword-only parameters.
    names : sequence of str, optional
        What the values are called; by default the function's own parameters.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin that tells no parameters
        return function
    wanted = list(parameters) if names is None else list(names)
    keywords = {
        i: n
        for i, n in enumerate(wanted)
        if n in parameters and parameters[n].kind is inspect.Parameter.KEYWORD_ONLY
    }
    if not keywords:
        return function

    @wraps(function)
    def call(*values: Any) -> Any:
        plain = [value for i, value in enumerate(values) if i not in keywords]
        return function(*plain, **{name: values[i] for i, name in keywords.items()})

    return call


def _names(operator: Operator) -> tuple[str, ...]:
    return tuple(argument.name for argument in operator.arguments)


# --- kernels and composites --------------------------------------------------------------------------------------


def add_kernel(
    operator: Operator,
    device: str,
    function: Function,
    *,
    layout: str | tuple[str, ...] = "strided",
    dtypes: str | Iterable[str] = "all",
    form: Form | None = None,
    override: bool = False,
) -> Handle:
    """Add a kernel for a device type: a function over its native arrays."""
    table = KernelTable(device=device, layout=layout)
    table.kernel(
        operator.name,
        positional(function),
        dtypes=dtypes,
        form=form or ("inplace" if operator.mutates else "functional"),
        half="native",
        override=override,
    )
    return named(REGISTRY.add(table), f"kernel of {operator.name} for {device}")


def add_composite(operator: Operator, function: Function) -> Handle:
    """Add an implementation in other operators."""
    table = CompositeTable()
    table.composite(operator.name, positional(function, _names(operator)))
    return named(REGISTRY.add(table), f"composite of {operator.name}")


# --- results without data ----------------------------------------------------------------------------------------


def add_fake(operator: Operator, function: Function) -> Handle:
    """Add what makes the results of tensors without data: a function over meta tensors."""
    table = KernelTable(device="meta")
    table.kernel(
        operator.name,
        _on_tensors(operator.name, positional(function, _names(operator))),
        form="inplace" if operator.mutates else "functional",
        takes=_names(operator),
        half="native",
        override=True,
    )
    return named(REGISTRY.add(table), f"fake of {operator.name}")


def _on_tensors(name: str, function: Function) -> Function:
    """Return a kernel of the meta backend that calls a function over meta tensors."""

    def tensor(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [tensor(item) for item in value]
        if not hasattr(value, "extent"):
            return value
        return wrap(value, REGISTRY.backend("meta").spec(value.dtype))

    def handle(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(handle(item) for item in value)
        if isinstance(value, Tensor) and value.device.type != "meta":
            raise KernelContractError(
                f"the fake implementation of {name} returned a tensor on {value.device} for tensors on meta\n"
                f"  try: make it like an argument, for instance with tt.empty_like(x)"
            )
        return value.handle if isinstance(value, Tensor) else value

    @wraps(function)
    def kernel(*values: Any) -> Any:
        return handle(function(*map(tensor, values)))

    return kernel


def add_shape(operator: Operator, rule: str | Function) -> Handle:
    """Give an operator a shape rule: the name of one, or a function that is one."""
    from tt.core.shapes import Rule, find_rule

    name = operator.name
    found = find_rule(rule) if isinstance(rule, str) else Rule(getattr(rule, "__name__", name), rule)
    absent = found.missing(_names(operator))
    if absent:
        raise ArgumentError(
            name,
            f"the shape rule {found.name!r} needs {', '.join(absent)}, which the operator does not have",
            signatures=[str(operator.definition.signature)],
        )
    return named(
        REGISTRY.add_shape_rule(name, rule if isinstance(rule, str) else found), f"shape rule of {name}"
    )


# --- layers ------------------------------------------------------------------------------------------------------


class _Backward:
    """The gradient of one operator as the layer "autograd" takes it."""

    layer = "autograd"
    override = True

    def __init__(self, op: str, formula: Any) -> None:
        self.formulas = {op: formula}


class _Batching:
    """The batching rule of one operator as the layer "transform" takes it."""

    layer = "transform"

    def __init__(self, op: str, function: Function) -> None:
        self.rules = {op: function}


def _refuse_mutating(operator: Operator) -> None:
    if operator.mutates:
        raise ArgumentError(
            operator.name,
            "an operator that changes its arguments has no gradient of its own: what it changes had a history before",
            signatures=[str(operator.definition.signature)],
            hint="write an operator that returns a new tensor, give that a gradient, and copy_() its result; or give "
            "this one a body in other operators, through which gradients go",
        )


def add_backward(operator: Operator, backward: Function, setup_context: Callable[..., None] | None) -> Handle:
    """Add a gradient in PyTorch's form: `backward(ctx, *gradients)` and `setup_context(ctx, inputs, output)`."""
    _refuse_mutating(operator)
    table = _Backward(operator.name, (backward, setup_context))
    return named(REGISTRY.add(table), f"backward of {operator.name}")


def add_formulas(operator: Operator, gradients: dict[str, Function]) -> Handle:
    """Add a gradient as formulas, one for each argument; their parameter names say what is saved."""
    _refuse_mutating(operator)
    names = [argument.name for argument in operator.arguments if argument.type.is_tensor]
    for argument in gradients:
        if argument not in names:
            raise ArgumentError(
                operator.name,
                f"backward: {argument!r} is no tensor argument",
                signatures=[str(operator.definition.signature)],
                hint=f"gradients are those of: {', '.join(names)}",
            )
    return named(REGISTRY.add(_Backward(operator.name, dict(gradients))), f"backward of {operator.name}")


def saving(operator: Operator, function: Function, saves: Sequence[str]) -> tuple[Function, Function]:
    """Return `backward` and `setup_context` for a function of the gradients and of what is saved by name.

    Parameters
    ----------
    operator : Operator
        The operator.
    function : callable
        Takes the gradient of the result (or, named `gs`, the list of those of all results), then what is saved.
    saves : sequence of str
        Arguments, results by their names, or "result": the first one.
    """
    signature = operator.definition.signature
    arguments = {a.name: i for i, a in enumerate(signature.arguments)}
    results = {r.name: i for i, r in enumerate(signature.returns) if r.name}
    for name in saves:
        if name not in arguments and name not in results and name != "result":
            raise ArgumentError(
                operator.name,
                f"backward: {name!r}, which is to be saved, is neither an argument nor a result",
                signatures=[str(signature)],
                hint="a function of a context names its first parameter ctx; others take g, the gradient, and then "
                "what is saved",
            )
    several = next(iter(inspect.signature(function).parameters), "g") == "gs"

    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        tensors: list[Any] = []
        ctx.tt_saved = [_keep(_pick(name, inputs, output), tensors) for name in saves]
        ctx.save_for_backward(*tensors)

    def _pick(name: str, inputs: Sequence[Any], output: Any) -> Any:
        if name in arguments:
            return inputs[arguments[name]]
        single = len(signature.returns) == 1
        return output if single else output[results.get(name, 0)]

    def backward(ctx: Any, *gradients: Any) -> Any:
        tensors = ctx.saved_tensors
        values = [_restore(value, tensors) for value in ctx.tt_saved]
        found = function(list(gradients) if several else gradients[0], *values)
        if isinstance(found, dict):
            return tuple(found.get(a.name) for a in signature.arguments)
        return found

    return backward, setup_context


class _Place:
    """Stands for a saved tensor: where it is among those that the context holds."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _keep(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    return [_keep(item, tensors) for item in value] if isinstance(value, list) else value


def _restore(value: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(value, _Place):
        return tensors[value.number]
    return [_restore(item, tensors) for item in value] if isinstance(value, list) else value


def add_vmap(operator: Operator, function: Function) -> Handle:
    """Add a batching rule: `function(info, in_dims, *args)` returns (result, its dim)."""
    return named(REGISTRY.add(_Batching(operator.name, function)), f"vmap of {operator.name}")
