"""The parts of an operator: kernels, composites, fakes, shape rules, gradients, batching rules.

Each function registers one part and returns the handle that undoes it.  `CustomOp` and the functions of `tt.library`
with PyTorch's names use them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import Any, Final

from tt.core import plugins
from tt.core.blocks import swapped
from tt.core.custom_op.results import checked_composite, checked_kernel, tensors_in
from tt.core.dispatch.call.op_overload import OpOverload
from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.call.packet import PacketOp
from tt.core.dispatch.registry.registry import REGISTRY, RegistrationHandle, ops
from tt.core.dispatch.registry.tables import CompositeTable, Form, KernelTable
from tt.core.dispatch.resolve.kernels import wrong_parameters
from tt.core.dispatch.resolve.no_kernel_errors import missing_fake
from tt.core.errors import (
    ArgumentError,
    ChoiceError,
    DataDependentError,
    DuplicateRegistrationError,
    KernelContractError,
    NoKernelError,
    UnknownNameError,
    UnknownOpError,
    UnsupportedError,
    describe,
    did_you_mean,
)
from tt.core.layers.fake import is_fake
from tt.core.schema.model import AUTOCAST, Signature
from tt.core.shapes import ShapeRule, find_rule
from tt.core.tensor.tensor import Tensor, answers_operators, wrap
from tt.core.types.carried import Carried
from tt.core.types.device import NAMED_DEVICES, Device, get_default_device
from tt.core.types.dtype import DTYPES
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.user_warnings import warn_user

__all__ = [
    "WITHOUT_GRADIENT",
    "FakeContext",
    "add_autocast",
    "add_backward",
    "add_composite",
    "add_fake",
    "add_formulas",
    "add_joint",
    "add_kernel",
    "add_shape",
    "add_tensor_kernel",
    "add_tt_dispatch",
    "add_vmap",
    "check_parameters",
    "get_ctx",
    "operator_of",
]

Function = Callable[..., Any]


class _Fakes(Carried):
    """Which operator's fake implementation this thread runs."""

    running = ""


_fakes = _Fakes()

WITHOUT_GRADIENT: Final = frozenset(
    ["truth", "none", *(d.name for d in DTYPES if d.kind not in ("floating", "complex"))]
)
"""Rules for the dtype of a result that has no gradient."""


def operator_of(op: Any) -> Operator:
    """Return the operator that a name ("acme::twice"), a custom operator or `tt.ops.acme.twice` refers to.

    Raises
    ------
    UnknownOpError
        When there is none of the name.
    ArgumentError
        If the name has several overloads, or is not an operator.
    """
    if isinstance(op, str) and op.startswith("aten::"):
        return _operator_of_aten(op)
    if isinstance(op, str):
        overloads = REGISTRY.overloads(op.removesuffix(".default"))
        if len(overloads) > 1 and op not in overloads:
            raise ArgumentError(
                op, f"there are several overloads: {', '.join(overloads)}", hint="name one of them"
            )
        return REGISTRY.operator(overloads[0] if len(overloads) == 1 else op)
    if isinstance(op, PacketOp):
        names = ", ".join(overload.operator.name for overload in op.op_overloads.values())
        raise ArgumentError(op.name, f"there are several overloads: {names}", hint="name one of them")
    if isinstance(op, OpOverload):
        return op.operator
    raise ArgumentError("tt.library", f"{op!r} is not an operator: give its name, for instance 'acme::twice'")


def _operator_of_aten(op: str) -> Operator:
    """Return the operator that serves one of PyTorch's: "aten::add.Tensor"."""
    name, _, overload = op.removeprefix("aten::").partition(".")
    packet = getattr(ops.aten, name, None)
    match = getattr(packet, overload or "default", None)
    if not isinstance(match, OpOverload) or match.form != "functional":
        raise UnknownOpError(op, REGISTRY.names())
    return match.operator


def named(handle: RegistrationHandle, what: str) -> RegistrationHandle:
    """Return a handle with a description of the registration that it undoes."""
    handle.what = what
    return handle


def together(handles: Sequence[RegistrationHandle]) -> RegistrationHandle:
    """Return one handle for several, which it removes in turn."""

    def remove() -> None:
        # In reverse, since later ones may shadow earlier ones.
        for handle in reversed(handles):
            handle.remove()

    return RegistrationHandle(remove, "; ".join(handle.what for handle in handles))


def positional(function: Function, names: Sequence[str] | None = None) -> Function:
    """Return a function that takes everything by position, as the dispatcher gives it.

    Parameters
    ----------
    function : callable
        May have keyword-only parameters.
    names : sequence of str, optional
        The names of the values; by default the function's own parameters.
    """
    if isinstance(getattr(function, "nin", None), int):  # a ufunc takes its operands by position
        return function
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return function
    ordered = list(parameters) if names is None else list(names)
    keywords = {
        i: n
        for i, n in enumerate(ordered)
        if n in parameters and parameters[n].kind is inspect.Parameter.KEYWORD_ONLY
    }
    if not keywords:
        return function

    # `wraps` keeps the signature, by which the registry finds the names of parameters.
    @wraps(function)
    def call(*values: Any) -> Any:
        plain = [value for i, value in enumerate(values) if i not in keywords]
        return function(*plain, **{name: values[i] for i, name in keywords.items()})

    return call


def check_parameters(
    name: str,
    what: str,
    function: Function,
    signature: Signature,
    *,
    all_of_them: bool = False,
) -> None:
    """Refuse a function that cannot be called with the arguments of an operator.

    Parameters
    ----------
    name, what : str
        The operator, and the function's role: "the composite".
    function : callable
        Gets the operator's arguments by position, those that are keyword-only in the function by name.
    signature : Signature
        The operator's signature.
    all_of_them : bool
        Refuse parameters that no argument reaches, too, although they have a default.

    Raises
    ------
    ArgumentError
        With the names that are missing on either side.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return
    names = [argument.name for argument in signature.arguments]
    kinds = inspect.Parameter
    keyword_only = {p.name for p in parameters if p.kind is kinds.KEYWORD_ONLY}
    by_place = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    passed = [argument for argument in names if argument not in keyword_only]
    # By position, arguments reach parameters in order; by keyword, only those of the same name.
    unreached = [*by_place[len(passed) :], *(p for p in parameters if p.name in keyword_only - {*names})]
    lacking = [p.name for p in unreached if all_of_them or p.default is p.empty]
    refused = passed[len(by_place) :] if not any(p.kind is kinds.VAR_POSITIONAL for p in parameters) else []
    if lacking or refused:
        problems = [f"has parameters that the schema lacks: {', '.join(lacking)}"] if lacking else []
        problems += [f"does not take {', '.join(refused)}"] if refused else []
        raise ArgumentError(name, f"{what} {' and '.join(problems)}", signatures=[str(signature)])


def _check_device(operator: Operator, device: str) -> None:
    """Warn of a kernel for a device type that no installed plugin brings: it may come later, or be misspelt."""
    known = Device.known_types()
    if device in known:
        return
    warn_user(
        f"{operator.name}: no installed plugin brings the device type {device!r}, for which a kernel is "
        f"added{did_you_mean(device, known)}",
    )


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
) -> RegistrationHandle:
    """Add a kernel for a device type: a function over its native arrays."""
    table = KernelTable(device=device, layout=layout)
    # By the schema, so that a kernel of an operator that changes its arguments need not say so.
    form = form or ("inplace" if operator.mutates else "functional")
    table.kernel(
        operator.name,
        checked_kernel(operator, positional(function), new_values=form == "functional"),
        dtypes=dtypes,
        form=form,
        # A custom kernel knows its dtypes: nothing is cast to float32 behind its back.
        half="native",
        override=override,
    )
    try:
        problem = wrong_parameters(operator, table.kernels[0])
    except (TypeError, ValueError):  # a builtin without a signature: its calls will show
        problem = ""
    if problem:
        raise ArgumentError(
            operator.name, f"the kernel {problem}", signatures=[str(operator.definition.signature)]
        )
    handle = named(REGISTRY.add(table), f"kernel of {operator.name} for {device}")
    try:
        _check_device(operator, device)
    except UserWarning:  # where warnings are errors
        handle.remove()
        raise
    return handle


def add_composite(operator: Operator, function: Function) -> RegistrationHandle:
    """Add an implementation in other operators."""
    check_parameters(operator.name, "the composite", function, operator.definition.signature)
    table = CompositeTable()
    table.composite(operator.name, checked_composite(operator, positional(function, _names(operator))))
    return named(REGISTRY.add(table), f"composite of {operator.name}")


class _TensorKernels:
    """A composite that chooses, by the type of the device, among functions over tensors."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.functions: dict[str | None, Function] = {}
        self.handle: RegistrationHandle | None = None
        shadowed = REGISTRY.composite(operator.name)
        # An implementation for all devices that was there before serves those without a function.
        self.for_others = None if shadowed is None else shadowed.function

    def __call__(self, *args: Any) -> Any:
        name = self.operator.name
        tensors = list(tensors_in(args))
        devices = {tensor.device.type for tensor in tensors} or {get_default_device().type}
        for device in devices:
            function = self.functions.get(device)
            if function is None:
                continue
            if any(tensor.is_meta or is_fake(tensor) for tensor in tensors):
                break  # the function may look at values, or call another library
            return function(*args)
        # The function for all devices is one in other operators, which run without data, too.
        function = self.functions.get(None) or self.for_others
        if function is not None:
            return function(*args)
        if any(tensor.is_meta or is_fake(tensor) for tensor in tensors):
            raise missing_fake(self.operator, args)
        device = min(devices)
        raise NoKernelError(
            name,
            f"{name} has no kernel for {device}",
            exist=", ".join(sorted(filter(None, self.functions))),
            hint=f"@op.kernel({device!r})",
        )


def add_tensor_kernel(operator: Operator, device: str | None, function: Function) -> RegistrationHandle:
    """Add an implementation over tensors for one device type, or for None one for all others.

    Gradients go through its operators where the operator has none of its own.
    """
    overload: Any = operator.overload()
    if not hasattr(overload, "_tensor_kernels"):
        raise UnsupportedError(
            f"{operator.name}: the kernels of this operator take native arrays, and functions over tensors replace none"
            "\n  try: tt.library.register_kernel with a function over arrays, or a mode or subclass that answers it"
        )
    signature = operator.definition.signature
    check_parameters(operator.name, "the kernel", function, signature)
    kernels: _TensorKernels | None = overload._tensor_kernels
    if kernels is None or kernels.handle is None or not kernels.handle.active:
        kernels = _TensorKernels(operator)
        kernels.handle = add_composite(operator, kernels)
        overload._tensor_kernels = kernels
    functions = kernels.functions
    before = functions.get(device)
    functions[device] = positional(function, _names(operator))
    own = kernels

    def remove() -> None:
        if before is None:
            functions.pop(device, None)
        else:
            functions[device] = before
        if not functions and own.handle is not None:
            own.handle.remove()

    where = "all devices" if device is None else device
    return REGISTRY.scopes.note(RegistrationHandle(remove, f"implementation of {operator.name} for {where}"))


# --- results without data ----------------------------------------------------------------------------------------


def add_fake(operator: Operator, function: Function) -> RegistrationHandle:
    """Add what makes the results of tensors without data: a function over meta tensors."""
    check_parameters(operator.name, "the fake", function, operator.definition.signature)
    table = KernelTable(device="meta")
    table.kernel(
        operator.name,
        _on_tensors(operator.name, positional(function, _names(operator))),
        form="inplace" if operator.mutates else "functional",
        # By the schema's arguments, since a fake may be written with other names.
        takes=_names(operator),
        half="native",
        # A second fake shadows the first, as while a notebook is edited.
        override=True,
    )
    return named(REGISTRY.add(table), f"fake of {operator.name}")


def _on_tensors(name: str, function: Function) -> Function:
    """Return a kernel of the meta backend that calls a function over meta tensors."""

    def tensor(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [tensor(item) for item in value]
        # Only handles of meta tensors have an extent; numbers and texts pass.
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
        return value._handle if isinstance(value, Tensor) else value

    @wraps(function)
    def kernel(*values: Any) -> Any:
        with swapped(_fakes, "running", name):
            return handle(function(*map(tensor, values)))

    return kernel


def add_shape(operator: Operator, rule: str | Function) -> RegistrationHandle:
    """Give an operator a shape rule: the name of one, or a function that is one."""
    name = operator.name
    shape_rule = (
        find_rule(rule) if isinstance(rule, str) else ShapeRule(getattr(rule, "__name__", name), rule)
    )
    absent = shape_rule.missing(_names(operator))
    if absent:
        raise ArgumentError(
            name,
            f"the shape rule {shape_rule.name!r} needs {', '.join(absent)}, which the operator does not have",
            signatures=[str(operator.definition.signature)],
        )
    return named(
        REGISTRY.add_shape_rule(name, rule if isinstance(rule, str) else shape_rule), f"shape rule of {name}"
    )


# --- layers ------------------------------------------------------------------------------------------------------


class FakeContext:
    """What a fake implementation may ask for: PyTorch's sizes that depend on data, which tt has not."""

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Refuse: without data a size that depends on it is not known.

        Raises
        ------
        DataDependentError
            Always, as any operator whose result's shape depends on data does without data.
        """
        raise DataDependentError(self._operator, "fake or meta")

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        """Do as `new_dynamic_size`, whose former name it is."""
        return self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeContext | None:
    """Return the context of the fake implementation that runs, None outside of one.

    Examples
    --------
    >>> from tt import library
    >>> library.get_ctx() is None
    True
    """
    return FakeContext(_fakes.running) if _fakes.running else None


class _Backward:
    """The gradient of one operator, for the layer that takes gradients."""

    # A program may replace the formula of a plugin.
    override = True

    def __init__(self, op: str, formula: Any) -> None:
        self.layer = plugins().layer_of("gradient")
        self.formulas = {op: formula}


class _Batching:
    """The batching rule of one operator, for the layer that takes batching rules."""

    def __init__(self, op: str, function: Function) -> None:
        self.layer = plugins().layer_of("batching rule")
        self.rules = {op: function}


def _refuse_mutating(operator: Operator) -> None:
    if operator.mutates:
        raise ArgumentError(
            operator.name,
            "an operator that changes its arguments has no gradient: the changed arguments had a history before",
            signatures=[str(operator.definition.signature)],
            hint="write an operator that returns a new tensor, give that a gradient, and copy_() its result; or give "
            "this one a body in other operators, through which gradients go",
        )


def add_backward(
    operator: Operator, backward: Function, setup_context: Callable[..., None] | None
) -> RegistrationHandle:
    """Add a gradient in PyTorch's form: `backward(ctx, *gradients)` and `setup_context(ctx, inputs, output)`."""
    _refuse_mutating(operator)
    table = _Backward(operator.name, (backward, setup_context))
    return named(REGISTRY.add(table), f"backward of {operator.name}")


class _Joint:
    """One formula for all arguments: a function of the gradient and of the saved values."""

    def __init__(self, function: Function, saves: Sequence[str]) -> None:
        self.function, self.saves = function, tuple(saves)


def add_formulas(operator: Operator, gradients: dict[str, Function]) -> RegistrationHandle:
    """Add a gradient as formulas, one for each argument; their parameter names name the saved values."""
    names = [argument.name for argument in operator.arguments if argument.type.is_tensor]
    for argument, function in gradients.items():
        if argument not in names:
            raise ArgumentError(
                operator.name,
                f"backward: {argument!r} is not a tensor argument",
                signatures=[str(operator.definition.signature)],
                hint=f"gradients are those of: {', '.join(names)}",
            )
        _check_gradients_taken(operator, function)
    return _add_checked(operator, dict(gradients))


def add_joint(operator: Operator, function: Function, saves: Sequence[str]) -> RegistrationHandle:
    """Add a gradient as one formula for all arguments.

    Parameters
    ----------
    operator : Operator
        The operator.
    function : callable
        Takes the gradient of the result (or, named `gs`, the list for all results), then the saved values.
    saves : sequence of str
        Arguments, results by their names, "result": the first one, or facts: "x_shape".
    """
    _check_gradients_taken(operator, function)
    return _add_checked(operator, _Joint(function, saves))


def _check_gradients_taken(operator: Operator, function: Function) -> None:
    """Refuse a formula that would see the gradient of one result where several have one."""
    returns, rules = operator.definition.signature.returns, operator.definition.result
    listed = (rules,) * len(returns) if isinstance(rules, str) else rules
    with_gradient = [
        r
        for r, rule in zip(returns, listed, strict=True)
        if r.type.is_tensor and rule not in WITHOUT_GRADIENT
    ]
    if len(returns) > 1 and any(r.type.list for r in returns):
        raise ArgumentError(
            operator.name,
            "backward: a list is one of several results, and formulas take a gradient for each result",
            signatures=[str(operator.definition.signature)],
            hint="give a backward that takes a context: op.register_autograd(backward, setup_context=...)",
        )
    several = len(with_gradient) > 1 or any(r.type.list for r in with_gradient)
    # The name of the first parameter says whether it takes one gradient or the list.
    if several and next(iter(inspect.signature(function).parameters), "") != "gs":
        raise ArgumentError(
            operator.name,
            "backward: the operator has several results, and the formula takes the gradient of one",
            signatures=[str(operator.definition.signature)],
            hint="call its first parameter gs: it gets a list, None for results that were not used; or declare the "
            "dtype of the others, for instance result=('same', 'int64')",
        )


def _add_checked(operator: Operator, formula: Any) -> RegistrationHandle:
    """Register a formula, and have its names looked up now rather than at the first call."""
    _refuse_mutating(operator)
    table = _Backward(operator.name, formula)
    handle = named(REGISTRY.add(table), f"backward of {operator.name}")
    try:
        REGISTRY.layer(table.layer).rule(operator, "functional")
    except ArgumentError:
        handle.remove()
        raise
    return handle


def add_vmap(operator: Operator, function: Function) -> RegistrationHandle:
    """Add a batching rule: `function(info, in_dims, *args)` returns (result, its dim)."""
    return named(REGISTRY.add(_Batching(operator.name, function)), f"vmap of {operator.name}")


class _Autocast:
    """The policy of one operator on devices of a type, for the layer that takes policies of autocast."""

    def __init__(self, op: str, device_type: str, policy: str | Dtype | Function) -> None:
        self.layer = plugins().layer_of("autocast policy")
        self.policies = {op: {device_type: policy}}


def add_autocast(operator: Operator, device_type: str, policy: str | Dtype | Function) -> RegistrationHandle:
    """Add how autocast chooses the precision of an operator on devices of a type.

    The policy is a word of the schema, a dtype, or a function that is called in the place of the operator, with
    autocast off.

    Raises
    ------
    ArgumentError
        If the policy is none of them, or if the device type is no text.
    ChoiceError
        For a word that is no policy, or that does not fit the operator.
    UnknownNameError
        When no backend has devices of the type, and it is none of PyTorch's.
    """
    name = "register_autocast"
    if not isinstance(device_type, str):
        raise ArgumentError(name, f"argument 'device_type' must be str, not {describe(device_type)}")
    if device_type not in REGISTRY.device_types() and device_type not in NAMED_DEVICES:
        raise UnknownNameError("device", device_type, REGISTRY.device_types())
    if isinstance(policy, str):
        words = [word for word in AUTOCAST if word != "set_dtype" or operator.dtype_at >= 0]
        if policy not in words:
            raise ChoiceError(
                name, f"{policy!r} is no policy for {operator.name}; there are: {', '.join(words)}"
            )
    elif not isinstance(policy, Dtype) and not callable(policy):
        raise ArgumentError(name, f"argument 'cast_inputs' must be dtype or str, not {describe(policy)}")
    table = _Autocast(operator.name, device_type, policy)
    return named(REGISTRY.add(table), f"autocast of {operator.name} on {device_type}")


def add_tt_dispatch(operator: Operator, kind: Any, function: Function) -> RegistrationHandle:
    """Add what answers the operator in the place of the `__tt_dispatch__` of a class or mode.

    Raises
    ------
    ArgumentError
        If the first is no class with the protocol.
    DuplicateRegistrationError
        If it has such a function for the operator.
    """
    if not (isinstance(kind, type) and answers_operators(kind)):
        raise ArgumentError(
            "register_tt_dispatch",
            f"takes a subclass of Tensor or a mode that has __tt_dispatch__, not {describe(kind)}",
        )
    what = f"__tt_dispatch__ of {kind.__name__} for {operator.name}"
    rules = operator.dispatch_rules
    if kind in rules:
        raise DuplicateRegistrationError(what, "this program", "this program", hint="remove the first one")
    rules[kind] = function
    return REGISTRY.scopes.note(RegistrationHandle(partial(rules.pop, kind, None), what))
