"""Custom operators: what `custom_op` returns, to which kernels, a shape rule and a gradient are added.

Note [A custom operator is an overload]
---------------------------------------
What `custom_op` returns is the very object that `tt.ops.acme.twice` is: an `OpOverload`, whose class is compiled, to
which the subclass adds the registrations.  A call takes the path of a built-in operator, with nothing around it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from tt.core.custom_op import registrations as parts
from tt.core.dispatch.call.op_overload import DescribedOverload
from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.registry.registry import REGISTRY, RegistrationHandle
from tt.core.dispatch.registry.tables import Form
from tt.core.dispatch.resolve.operators import make_operator
from tt.core.errors import ArgumentError, UnknownOpError
from tt.core.schema.model import OpDefinition
from tt.core.types.dtype import dtype as Dtype

__all__ = ["CustomOp", "make_op", "replace_op", "when_defined"]

Function = TypeVar("Function", bound=Callable[..., Any])
Rule = TypeVar("Rule", bound="str | Callable[..., Any]")


class CustomOp(DescribedOverload):
    """An operator made by `custom_op`: call it, and add kernels, a shape rule and a gradient to it.

    Every method that adds something also is a decorator and returns the function; `handle(function)` undoes it.

    Attributes
    ----------
    name : str
        For instance "acme::twice"; `tt.ops.acme.twice` is the same object.
    schema : Signature
        Its signature; `str(op.schema)` is the text.
    definition : OpDefinition
        Its definition in the schema.

    Examples
    --------
    >>> import tt
    >>> from tt.library import CustomOp, custom_op, scoped
    >>> with scoped():
    ...     @custom_op("doc::halve")
    ...     def halve(x: tt.Tensor) -> tt.Tensor:
    ...         return x / 2
    ...     isinstance(halve, CustomOp), halve(tt.ones(1))
    (True, tensor([0.5000]))
    """

    operator: Operator
    name: str
    _added: list[tuple[Any, RegistrationHandle]]
    _setup_context: Callable[..., None] | None
    _backward: tuple[Callable[..., Any], RegistrationHandle] | None
    _tensor_kernels: Any = None
    _over_tensors = False

    def _begin(self, definition: RegistrationHandle) -> None:
        self._added = [(None, definition)]
        self._setup_context = None
        self._backward = None

    def __repr__(self) -> str:
        return f"<custom operator {self.definition.signature}>"

    @property
    def handles(self) -> tuple[RegistrationHandle, ...]:
        """The handles of all active registrations, in order; the first belongs to the operator."""
        return tuple(dict.fromkeys(handle for _, handle in self._added if handle.active))

    def handle(self, function: Callable[..., Any]) -> RegistrationHandle:
        """Return the handle that undoes the registration of a function.

        Raises
        ------
        ArgumentError
            When the function was not registered with this operator.

        Examples
        --------
        >>> import tt
        >>> from tt.library import custom_op
        >>> @custom_op("doc::thrice")
        ... def thrice(x: tt.Tensor) -> tt.Tensor:
        ...     return x * 3
        >>> @thrice.kernel("cpu")
        ... def wrong(x):
        ...     return x + x
        >>> thrice(tt.ones(1))
        tensor([2.])
        >>> thrice.handle(wrong).remove()
        >>> thrice(tt.ones(1))
        tensor([3.])
        >>> thrice.remove()
        """
        # One function may have been registered several times, for other devices say.
        active = [handle for added, handle in self._added if added is function and handle.active]
        if not active:
            name = getattr(function, "__name__", repr(function))
            raise ArgumentError(self.name, f"{name} is not registered with this operator")
        return active[0] if len(active) == 1 else parts.together(active)

    def remove(self) -> None:
        """Unregister the operator and everything that was added to it.  Doing it twice does nothing."""
        # The last first, as each may rest on those before.
        while self._added:
            self._added.pop()[1].remove()

    def _keep(self, function: Function, handle: RegistrationHandle) -> Function:
        self._added.append((function, handle))
        return function

    def _adder(self, add: Callable[[Any], RegistrationHandle], function: Any) -> Any:
        """Register a function, or return a decorator that does."""
        # The object may be held longer than the operator exists.
        if self.operator.removed:
            raise UnknownOpError(self.name, REGISTRY.names())

        def register(function: Function) -> Function:
            return self._keep(function, add(function))

        return register if function is None else register(function)

    # --- registrations -----------------------------------------------------------------------------------------

    @overload
    def kernel(
        self,
        device_types: str | Sequence[str],
        function: None = None,
        *,
        dtypes: str | Iterable[str] = ...,
        layout: str | tuple[str, ...] = ...,
        form: Form | None = ...,
        override: bool = ...,
    ) -> Callable[[Function], Function]: ...
    @overload
    def kernel(
        self,
        device_types: str | Sequence[str],
        function: Function,
        *,
        dtypes: str | Iterable[str] = ...,
        layout: str | tuple[str, ...] = ...,
        form: Form | None = ...,
        override: bool = ...,
    ) -> Function: ...
    def kernel(
        self,
        device_types: str | Sequence[str],
        function: Callable[..., Any] | None = None,
        *,
        dtypes: str | Iterable[str] = "all",
        layout: str | tuple[str, ...] = "strided",
        form: Form | None = None,
        override: bool = False,
    ) -> Any:
        """Add a kernel for one or several device types.

        Parameters
        ----------
        device_types : str or sequence of str
            For instance "cpu".
        function : callable, optional
            Takes the backend's native arrays (NumPy's on "cpu") instead of tensors and returns one, or a tuple.
            Its parameters are named like the operator's.
        dtypes : str or iterable of str
            The dtypes that it serves: a class ("floating") or names.
        layout : str or tuple of str
            The layout that it serves, or the layouts that occur together in a mixed call.
        form : str, optional
            Of an operator that changes arguments: "inplace", the default, changes the arrays that it gets;
            "functional" returns the new values, then the results.
        override : bool
            Replace an earlier kernel of the same place and dtypes, which is otherwise an error.
        """
        if not isinstance(device_types, str | Iterable):
            raise ArgumentError(
                self.name, "kernel: the first argument is a device type", hint="@op.kernel('cpu')"
            )
        devices = [device_types] if isinstance(device_types, str) else list(device_types)
        if not devices:
            raise ArgumentError(self.name, "kernel: no device type is given")

        def add(function: Callable[..., Any]) -> RegistrationHandle:
            handles = [
                parts.add_kernel(
                    self.operator,
                    device,
                    function,
                    layout=layout,
                    dtypes=dtypes,
                    form=form,
                    override=override,
                )
                for device in devices
            ]
            return handles[0] if len(handles) == 1 else parts.together(handles)

        return self._adder(add, function)

    @overload
    def composite(self, function: None = None) -> Callable[[Function], Function]: ...
    @overload
    def composite(self, function: Function) -> Function: ...
    def composite(self, function: Callable[..., Any] | None = None) -> Any:
        """Add an implementation in other operators, for all devices that have no kernel.

        Gradients go through its parts where the operator has no `backward`.  A second one shadows the first.
        """
        return self._adder(lambda f: parts.add_composite(self.operator, f), function)

    @overload
    def fake(self, function: None = None) -> Callable[[Function], Function]: ...
    @overload
    def fake(self, function: Function) -> Function: ...
    def fake(self, function: Callable[..., Any] | None = None) -> Any:
        """Add what makes the result for tensors without data.

        The function gets tensors on the device "meta" and returns one of the right shape and dtype, for instance
        `tt.empty_like(x)`.  A second one shadows the first.
        """
        return self._adder(lambda f: parts.add_fake(self.operator, f), function)

    @overload
    def shape(self, rule: None = None) -> Callable[[Function], Function]: ...
    @overload
    def shape(self, rule: Rule) -> Rule: ...
    def shape(self, rule: str | Callable[..., Any] | None = None) -> Any:
        """Add a shape rule instead of a fake: a rule's name, or a function.

        A function gets the operator's arguments that it names, tensors as objects with `shape`, `strides`,
        `ndim` and `dtype`, and returns the shape of the result, or a tuple of `Result`s.

        Examples
        --------
        >>> import tt
        >>> from tt.library import custom_op
        >>> @custom_op("doc::pairs")
        ... def pairs(x: tt.Tensor) -> tt.Tensor:
        ...     "Pairs each element with itself."
        >>> @pairs.shape
        ... def pairs_shape(x):
        ...     return (*x.shape, 2)
        >>> pairs(tt.empty(3, device="meta")).shape
        tt.Size([3, 2])
        >>> pairs.remove()
        """
        return self._adder(lambda r: parts.add_shape(self.operator, r), rule)

    @overload
    def backward(
        self, function: None = None, /, *, saves: str | Sequence[str] | None = ...
    ) -> Callable[[Function], Function]: ...
    @overload
    def backward(self, function: Function, /, *, saves: str | Sequence[str] | None = ...) -> Function: ...
    @overload
    def backward(
        self, function: None = None, /, *, saves: None = None, **gradients: Callable[..., Any]
    ) -> None: ...
    def backward(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        saves: str | Sequence[str] | None = None,
        **gradients: Callable[..., Any],
    ) -> Any:
        """Add the gradient, in one of three forms.

        - `function(ctx, *gradients)`, with `setup_context`: as PyTorch's `register_autograd`.
        - `function(g, x, ...)`: gets the gradient of the result (or `gs`, the list for all results) and the
          saved values that its other parameters name: arguments, results by name, `result`.  `saves` names the values
          saved instead of the parameters.
        - one keyword for each argument, as in the tables of formulas: `backward(x=lambda g, y: g * y)`.

        A function returns one gradient for each argument that takes tensors (or for each argument, None where there
        is none), or a dict by name.

        Parameters
        ----------
        function : callable, optional
            In the first or second form; without it, and without formulas, a decorator is returned.
        saves : str or sequence of str, optional
            The saved values for the second form, in the order of the parameters after the gradient.
        **gradients : callable
            The third form.

        Raises
        ------
        ArgumentError
            When the operator changes its arguments, or a name is neither an argument nor a result.

        Examples
        --------
        >>> import tt
        >>> from tt.library import custom_op
        >>> @custom_op("doc::cube")
        ... def cube(x: tt.Tensor) -> tt.Tensor:
        ...     "Returns the third power."
        >>> cube_on_cpu = cube.kernel("cpu", lambda x: x**3)
        >>> @cube.backward
        ... def cube_backward(g, x):
        ...     return 3 * x * x * g
        >>> x = tt.tensor([2.0], requires_grad=True)
        >>> cube(x).backward()
        >>> x.grad
        tensor([12.])
        >>> cube.remove()
        """
        if gradients:
            if function is not None or saves is not None:
                raise ArgumentError(self.name, "backward: give a function, or a formula for each argument")
            handle = self._handle_of_gradient(parts.add_formulas(self.operator, gradients))
            for formula in gradients.values():
                self._keep(formula, handle)  # each of them removes all: they were registered together
            return None
        names = (saves,) if isinstance(saves, str) else saves

        def add(function: Callable[..., Any]) -> RegistrationHandle:
            parameters = list(inspect.signature(function).parameters.values())
            # PyTorch's form is known by its first parameter.
            if names is None and parameters and parameters[0].name == "ctx":
                return self._add_backward(function)
            saved = names
            if saved is None:
                # Parameters with a default are the author's own, and no saved values.
                saved = [p.name for p in parameters[1:] if p.default is p.empty]
            return self._handle_of_gradient(parts.add_joint(self.operator, function, saved))

        return self._adder(add, function)

    def _handle_of_gradient(self, handle: RegistrationHandle) -> RegistrationHandle:
        self._backward = None
        return handle

    def _add_backward(self, function: Callable[..., Any]) -> RegistrationHandle:
        handle = parts.add_backward(self.operator, function, self._setup_context)
        self._backward = function, handle
        return handle

    @overload
    def setup_context(self, function: None = None) -> Callable[[Function], Function]: ...
    @overload
    def setup_context(self, function: Function) -> Function: ...
    def setup_context(self, function: Callable[..., Any] | None = None) -> Any:
        """Add what saves values for `backward(ctx, ...)`: `function(ctx, inputs, output)`.

        It may come before or after `backward`.
        """

        def add(function: Callable[..., None]) -> RegistrationHandle:
            # Kept, so that removing this one brings the earlier one back.
            before, self._setup_context = self._setup_context, function

            def forget() -> None:
                self._setup_context = before

            known = self._backward
            if known is None or not known[1].active:
                return RegistrationHandle(forget, f"setup_context of {self.name}")
            # The gradient was there first: it is registered anew, with what saves for it.
            handle = self._add_backward(known[0])

            def remove() -> None:
                forget()
                handle.remove()
                self._backward = known

            return RegistrationHandle(remove, f"setup_context of {self.name}")

        return self._adder(add, function)

    @overload
    def vmap(self, function: None = None) -> Callable[[Function], Function]: ...
    @overload
    def vmap(self, function: Function) -> Function: ...
    def vmap(self, function: Callable[..., Any] | None = None) -> Any:
        """Add a batching rule: what `tt.func.vmap` runs, instead of the operator once for each example.

        `function(info, in_dims, *args)` returns the result (or a tuple) and the dim of the examples in it:
        `info.batch_size` is the number of examples, `in_dims` has the dim of each argument, None where all examples
        share it.
        """
        return self._adder(lambda f: parts.add_vmap(self.operator, f), function)

    # --- PyTorch's names -----------------------------------------------------------------------------------------

    @overload
    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: None = None, /
    ) -> Callable[[Function], Function]: ...
    @overload
    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Function, /) -> Function: ...
    def register_kernel(
        self,
        device_types: str | Sequence[str] | None,
        fn: Callable[..., Any] | None = None,
        /,
    ) -> Any:
        """Add a kernel, as PyTorch's `register_kernel`; for None, an implementation for all devices.

        As with `kernel`, the function gets native arrays; for None, and where `torch.library` made the operator, it
        gets tensors.
        """
        if self._over_tensors:
            devices = (
                (device_types,) if device_types is None or isinstance(device_types, str) else device_types
            )
            return self._adder(
                lambda f: parts.together([parts.add_tensor_kernel(self.operator, d, f) for d in devices]), fn
            )
        return self.composite(fn) if device_types is None else self.kernel(device_types, fn)

    @overload
    def register_fake(self, fn: None = None, /) -> Callable[[Function], Function]: ...
    @overload
    def register_fake(self, fn: Function, /) -> Function: ...
    def register_fake(self, fn: Callable[..., Any] | None = None, /) -> Any:
        """Add a fake implementation: PyTorch's name of `fake`."""
        return self.fake(fn)

    @overload
    def register_vmap(self, func: None = None) -> Callable[[Function], Function]: ...
    @overload
    def register_vmap(self, func: Function) -> Function: ...
    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Add a batching rule: PyTorch's name of `vmap`."""
        return self.vmap(func)

    def register_autocast(self, device_type: str, cast_inputs: Dtype | str) -> None:
        """Say how autocast chooses the operator's precision: see `tt.library.register_autocast`."""
        self._keep(parts.add_autocast, parts.add_autocast(self.operator, device_type, cast_inputs))

    @overload
    def register_tt_dispatch(
        self, tt_dispatch_class: Any, fn: None = None, /
    ) -> Callable[[Function], Function]: ...
    @overload
    def register_tt_dispatch(self, tt_dispatch_class: Any, fn: Function, /) -> Function: ...
    def register_tt_dispatch(self, tt_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Add what answers the operator for a class or mode, as `tt.library.register_tt_dispatch`."""
        return self._adder(lambda f: parts.add_tt_dispatch(self.operator, tt_dispatch_class, f), fn)

    @overload
    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: None = None, /
    ) -> Callable[[Function], Function]: ...
    @overload
    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Function, /) -> Function: ...
    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Add what answers the operator for a class or mode: PyTorch's name of `register_tt_dispatch`."""
        return self.register_tt_dispatch(torch_dispatch_class, fn)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., None] | None = None
    ) -> None:
        """Add the gradient as PyTorch's `register_autograd` does.

        Parameters
        ----------
        backward : callable
            `backward(ctx, *gradients)` returns one gradient for each argument, None if there is none.
        setup_context : callable, optional
            `setup_context(ctx, inputs, output)` saves what `backward` needs; of an operator with keyword-only
            arguments it may be `setup_context(ctx, inputs, keyword_only_inputs, output)`.
        """
        handle = parts.add_backward(self.operator, backward, setup_context)
        self._adder(self._handle_of_gradient_of(handle), backward)

    def _handle_of_gradient_of(self, handle: RegistrationHandle) -> Callable[[Any], RegistrationHandle]:
        return lambda function: self._handle_of_gradient(handle)


class _DescribedCustomOp(CustomOp):
    __doc__: Any = DescribedOverload.__doc__  # the property: that of the operator


class _ReplacedOp(_DescribedCustomOp):
    """An operator whose name was defined again: who still holds the object calls the new one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return REGISTRY.overload(self.name)(*args, **kwargs)


def replace_op(op: CustomOp) -> None:
    """Unregister an operator that is defined again under its name."""
    op.remove()
    op.__class__ = _ReplacedOp


def make_op(definition: OpDefinition) -> CustomOp:
    """Register a definition and return its operator."""
    handle = REGISTRY.add_definitions(definition)
    handle.what = f"operator {definition.name}"
    known = REGISTRY.definition(definition.name) is definition
    # In a plugin whose namespace another one holds, the definition waits until the namespace is its own.
    operator = REGISTRY.operator(definition.name) if known else make_operator(definition, REGISTRY)
    adopted: Any = operator.adopt(_DescribedCustomOp)
    adopted._begin(handle)
    op: CustomOp = adopted
    for add in _awaited.get(definition.name, ()):
        add(operator)
    return op


_awaited: dict[str, list[Callable[[Operator], None]]] = {}
"""What was registered for operators that are not defined yet."""


def when_defined(name: str, add: Callable[[Operator], RegistrationHandle], what: str) -> RegistrationHandle:
    """Register a part of an operator as soon as it is defined, which may be never.

    Parameters
    ----------
    name : str
        The operator: "acme::twice".
    add : callable
        Registers the part.
    what : str
        What is registered, for the handle.
    """
    handles: list[RegistrationHandle] = []

    def begin(operator: Operator) -> None:
        handles.append(add(operator))

    _awaited.setdefault(name, []).append(begin)

    def remove() -> None:
        waiting = _awaited.get(name, [])
        if begin in waiting:
            waiting.remove(begin)
        if not waiting:
            _awaited.pop(name, None)
        while handles:
            handles.pop().remove()

    return REGISTRY.scopes.note(RegistrationHandle(remove, f"{what} of {name}, once it is defined"))
