"""Custom operators: an operator of one's own, with kernels, shape rule and gradient, in a few lines.

`custom_op` registers at once, as PyTorch's does: a program that defines an operator wants to call it on the next line.
In the module of a plugin it is the `tt_register` hook that imports the module, and what it defines is then noted as the
plugin's.  A plugin that brings many operators rather ships a YAML file and tables (`registry.add_definitions`,
`registry.add`), which register only when they are handed over.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from tt.core.annotations import infer_schema
from tt.core.dispatch.registry import REGISTRY, Handle, PluginRegistry, Registry
from tt.core.dispatch.tables import CompositeTable, KernelTable
from tt.core.errors import ArgumentError, KernelContractError
from tt.core.schema.model import OpDefinition, Signature
from tt.core.tensor import Tensor, wrap
from tt.core.tensor_base import TensorBase

__all__ = ["CustomOp", "custom_op", "infer_schema"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _only_declares(function: Callable[..., Any]) -> bool:
    """Tell whether a function's body does nothing but return None: `...`, `pass`, a docstring."""
    if not isinstance(function, types.FunctionType):
        return False
    steps = [i for i in dis.get_instructions(function) if i.opname not in ("RESUME", "NOP", "CACHE")]
    return (
        len(steps) <= 2
        and steps[-1].opname.startswith("RETURN")
        and all(i.argval is None for i in steps if i.opname in ("LOAD_CONST", "RETURN_CONST"))
    )


# --- the operator ----------------------------------------------------------------------------------------------


class _Backward:
    """The gradient of one operator as the layer "autograd" takes it."""

    layer = "autograd"

    def __init__(
        self, op: str, backward: Callable[..., Any], setup_context: Callable[..., None] | None
    ) -> None:
        self.formulas = {op: (backward, setup_context)}


class CustomOp:
    """An operator made by `custom_op`: call it, and add kernels, a shape rule and a gradient to it.

    Attributes
    ----------
    name : str
        For instance "acme::twice"; `tt.ops.acme.twice` is the same operator.
    schema : str
        Its signature.
    """

    def __init__(self, name: str, schema: str, *, result: str, tags: Sequence[str], doc: str) -> None:
        self.name, self.schema = name, schema
        self._handles: list[Handle] = []
        self._parts: dict[str, Handle] = {}
        self._setup_context: Callable[..., None] | None = None
        self._backward: Callable[..., Any] | None = None
        self.definition = _define(schema, result, tags, doc)
        self._handles.append(_registry().add_definitions(self.definition))
        self.__name__, self.__doc__ = name, doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator through the dispatcher."""
        return REGISTRY.caller(self.name)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<custom operator {self.schema}>"

    def kernel(
        self,
        device_types: str | Sequence[str],
        function: Callable[..., Any] | None = None,
        *,
        dtypes: str | Iterable[str] = "all",
        layout: str = "strided",
    ) -> Any:
        """Add a kernel for one or several device types; without a function, return a decorator.

        Parameters
        ----------
        device_types : str or sequence of str
            For instance "cpu".
        function : callable, optional
            Takes the backend's native arrays (NumPy's on "cpu") in the place of tensors and returns one, or a tuple.
            Its parameters are named like the operator's.
        dtypes : str or iterable of str
            The dtypes that it serves.
        layout : str
            The layout that it serves.
        """
        wanted = [device_types] if isinstance(device_types, str) else list(device_types)

        def add(function: Function) -> Function:
            for device in wanted:
                table = KernelTable(device=device, layout=layout)
                table.kernel(self.name, function, dtypes=dtypes, half="native")
                self._handles.append(_registry().add(table))
            return function

        return add if function is None else add(function)

    def composite(self, function: Function) -> Function:
        """Add an implementation in other operators, for all devices that have no kernel; usable as a decorator.

        Gradients go through its parts where the operator has no `backward`.
        """
        table = CompositeTable()
        table.composite(self.name, function)
        return self._replace("composite", table, function)

    def fake(self, function: Function) -> Function:
        """Add what makes the result for tensors without data; usable as a decorator.

        The function gets tensors on the device "meta" and returns one of the right shape and dtype, for instance
        `tt.empty_like(x)`.
        """
        table = KernelTable(device="meta")
        table.kernel(self.name, _on_tensors(self.name, function), takes=self._arguments(), half="native")
        return self._replace("fake", table, function)

    def backward(self, function: Function) -> Function:
        """Add the gradient: `function(ctx, *gradients)` returns one for each argument; usable as a decorator."""
        self._backward = function
        return self._differentiate(function)

    def setup_context(self, function: Function) -> Function:
        """Add what saves values for `backward`: `function(ctx, inputs, output)`; usable as a decorator."""
        self._setup_context = function
        return self._differentiate(function)

    def remove(self) -> None:
        """Unregister the operator and everything that was added to it.  Doing it twice does nothing."""
        for handle in (*self._parts.values(), *reversed(self._handles)):
            handle.remove()
        self._parts.clear()
        self._handles.clear()

    def _arguments(self) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.definition.signature.arguments)

    def _differentiate(self, function: Function) -> Function:
        if self._backward is not None:
            self._replace("backward", _Backward(self.name, self._backward, self._setup_context), function)
        return function

    def _replace(self, part: str, table: Any, function: Function) -> Function:
        """Register a part of which there is one; an earlier one goes."""
        if part in self._parts:
            self._parts[part].remove()
        self._parts[part] = _registry().add(table)
        return function


def _registry() -> Registry | PluginRegistry:
    """Return where to register: what the plugin that is registering was given, or the registry of the process."""
    from tt.core import host

    return host.current_registry() or REGISTRY


def _on_tensors(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
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

    def kernel(*values: Any) -> Any:
        return handle(function(*map(tensor, values)))

    return kernel


# --- defining --------------------------------------------------------------------------------------------------


@overload
def custom_op(
    name: str,
    function: None = None,
    /,
    *,
    mutates: str | Iterable[str] = ...,
    mutates_args: str | Iterable[str] | None = ...,
    device_types: str | Sequence[str] | None = ...,
    schema: str | None = ...,
    result: str = ...,
    tags: Sequence[str] = ...,
) -> Callable[[Callable[..., Any]], CustomOp]: ...
@overload
def custom_op(
    name: str,
    function: Callable[..., Any],
    /,
    *,
    mutates: str | Iterable[str] = ...,
    mutates_args: str | Iterable[str] | None = ...,
    device_types: str | Sequence[str] | None = ...,
    schema: str | None = ...,
    result: str = ...,
    tags: Sequence[str] = ...,
) -> CustomOp: ...
def custom_op(
    name: str,
    function: Callable[..., Any] | None = None,
    /,
    *,
    mutates: str | Iterable[str] = (),
    mutates_args: str | Iterable[str] | None = None,
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    result: str = "same",
    tags: Sequence[str] = (),
) -> Any:
    """Define an operator; without a function, return a decorator.

    Parameters
    ----------
    name : str
        "namespace::name"; the operator is `tt.ops.namespace.name`.
    function : callable, optional
        Its annotations give the signature.  A body that does something is the implementation in other operators, for
        every device that has no kernel; a body of `...` or a docstring only declares.
    mutates : iterable of str
        The arguments that the operator changes.  None may be: return a new tensor.
    mutates_args : iterable of str, optional
        PyTorch's name of `mutates`.
    device_types : str or sequence of str, optional
        The device types for which the body is; others are refused.
    schema : str, optional
        The signature without the name, instead of annotations: "(Tensor x, float by=1.0) -> Tensor".
    result : str
        The dtype of the results of kernels: "same" (that of the first tensor), "bool", "int64", another dtype's name.
    tags : sequence of str
        Tags of ops.yaml, for instance "data_dependent_shape".

    Returns
    -------
    CustomOp
        Call it; add to it with `.kernel`, `.composite`, `.fake`, `.backward` and `.setup_context`; `.remove()` undoes
        everything.

    Raises
    ------
    ArgumentError
        When the name has no namespace or the annotations give no signature.
    DuplicateRegistrationError
        When the operator exists.

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
    ... def twice_backward(ctx, gradient):
    ...     return 2 * gradient
    >>> tt.ops.doc.twice(tt.tensor([1.0, 2.0]))
    tensor([2., 4.])
    >>> twice.remove()
    """
    changed = _names(mutates if mutates_args is None else mutates_args)

    def define(function: Callable[..., Any]) -> CustomOp:
        _check_name(name)
        signature = (
            name + schema
            if schema is not None
            else infer_schema(function, op_name=name, mutates_args=changed)
        )
        if changed or "!" in signature:
            raise ArgumentError(
                name,
                "an operator that changes its arguments cannot be defined here: the dispatcher derives in-place forms "
                "from operators that return new tensors",
                signatures=[signature],
                hint="return the new value, and let the caller copy it: x.copy_(op(x))",
            )
        doc = inspect.getdoc(function) or ""
        made = CustomOp(name, signature, result=result, tags=tags, doc=doc)
        if not _only_declares(function):
            made.composite(
                function if device_types is None else _only_on(name, function, _names(device_types))
            )
        return made

    return define if function is None else define(function)


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check_name(name: str) -> None:
    namespace, separator, short = name.partition("::")
    if not separator or not namespace.isidentifier() or not short.isidentifier():
        raise ArgumentError(name, "the name of a custom operator has the form 'namespace::name'")
    if namespace == "tt":
        raise ArgumentError(
            name, "the namespace 'tt' is that of tt's own operators", hint="choose one of your own"
        )


def _only_on(name: str, function: Callable[..., Any], devices: tuple[str, ...]) -> Callable[..., Any]:
    """Return a composite that serves some device types only."""
    from tt.core.errors import NoKernelError

    def composite(*args: Any) -> Any:
        for value in args:
            if isinstance(value, TensorBase) and value.device.type not in (*devices, "meta"):
                raise NoKernelError(
                    name,
                    f"{name} has no kernel for {value.device.type}",
                    exist=", ".join(devices),
                    hint=f"@op.kernel({value.device.type!r})",
                )
        return function(*args)

    return composite


def _define(text: str, result: str, tags: Sequence[str], doc: str) -> OpDefinition:
    """Return the definition of an operator; every tensor has a gradient, whose formula may be missing."""
    signature = Signature.parse(text)
    grad = () if "nondifferentiable" in tags else tuple(a.name for a in signature.tensor_arguments)
    return OpDefinition(signature, "other", result=result, grad=grad, tags=tuple(tags), doc=doc)
