"""`autograd.Function`: operations with a custom gradient, written as a class.

Note [A function's node]
------------------------
The context that `forward` and `backward` get is the node of the graph, as in PyTorch: attributes set on it live as long
as the graph does.  A result kept as an attribute refers back to the node, and only the garbage collector frees
such a circle; `save_for_backward` cuts it.

Note [Results that are views]
-----------------------------
What `forward` does is not recorded, and a result may share memory with an argument or with another result.  A result
with a gradient that is a view gets the node as its history and cannot be changed in place.  One without a gradient is
what it would be without the function: a view made under `no_grad`.  A view of a result that the function kept has no
part in the result's history, and the layer refuses to change it: see `AutogradLayer.refuse_change`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tt.core.library import KEYS, Tensor, TensorBase, alias, errors, ops, seen, warn_user
from tt.plugins.autograd.record.graph import STATE, Graphless, Node, ViewMeta, attach, start
from tt.plugins.autograd.record.inplace import check_inplace, rebase, rebase_view
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.record.saved import SavedTensors, same_kind, version_of
from tt.plugins.autograd.record.views import NO_GRAD, edge, hold_unrecorded, root_of

__all__ = ["Function", "FunctionCtx", "FunctionNode", "InplaceFunction", "once_differentiable", "run"]

TRANSFORM = KEYS.bit("layer", "transform")


class FunctionCtx:
    """The context of `forward`, `setup_context` and `backward` of a `Function`; any attribute may be set on it.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument of `apply` whether it requires a gradient, be recording on or off.
    """

    needs_input_grad: tuple[bool, ...] = ()
    _materialize = True
    _dirty: tuple[Any, ...] = ()
    _without_gradient: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _saved: SavedTensors

    if TYPE_CHECKING:  # any attribute

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors (or None) for `saved_tensors`; changing them in place before backward is then an error."""
        self._saved.put(tensors)

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors (or None) that `jvp` needs; they are among `saved_tensors` there."""
        self._for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved."""
        return self._saved.get(self if isinstance(self, Node) else None)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The tensors that were saved, by the name of PyTorch's first versions, with a warning."""
        warn_user("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def mark_shared_storage(self, *pairs: tuple[Any, Any]) -> None:
        """Do nothing but warn: tensors that share memory are known."""
        warn_user(
            "mark_shared_storage() is deprecated and has no effect: tensors that share memory are known",
            FutureWarning,
        )

    def mark_dirty(self, *tensors: Any) -> None:
        """Mark the arguments that `forward` changed in place; each must be returned, too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Mark the results without a gradient; `backward` gets zeros for them."""
        for position, value in enumerate(tensors):
            if not isinstance(value, TensorBase):
                raise errors.GradientError(
                    f"mark_non_differentiable() takes results that are tensors, and argument {position} is "
                    f"{errors.describe(value)}"
                )
        self._without_gradient = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what `backward` gets for results that have no gradient: zeros (the default), or None."""
        self._materialize = bool(value)


class FunctionNode(FunctionCtx, Node):
    """The node of a call of a `Function`, and its context; see Note [A function's node].

    Attributes
    ----------
    function : type
        The `Function`.
    tensors : tuple of int
        The positions of the arguments that are tensors: the edges.
    """

    function: type[Function]
    tensors: tuple[int, ...]
    count: int
    facts: tuple[Any, ...]

    def name(self) -> str:
        """Return the name that PyTorch gives such nodes."""
        return f"{self.function.__name__}Backward"

    @property
    def saved(self) -> tuple[()] | None:
        """None once a backward pass has freed what was saved."""
        return None if self._saved.released else ()

    def release(self) -> None:
        """Drop the saved tensors."""
        self._saved.release()

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> list[Any]:
        """Call `backward` and order its results by the edges."""
        arguments = [self._materialized(number, g) for number, g in enumerate(gradients)]
        with seen():
            returned = self.function._backward_of()(self, *arguments)
        if not isinstance(returned, tuple | list):
            returned = (returned,)
        # PyTorch takes further Nones, too: programs have one for `ctx`, or for arguments that they dropped.
        if len(returned) > self.count and all(value is None for value in returned[self.count :]):
            returned = returned[: self.count]
        if len(returned) != self.count:
            raise errors.GradientError(
                f"{self.name()} must return {self.count} gradients, one for each argument of forward, "
                f"and it returned {len(returned)}"
            )
        for position, value in enumerate(returned):
            if value is not None and position not in self.tensors:
                raise errors.GradientError(
                    f"{self.name()} returned a gradient for argument {position}, which is not a tensor: "
                    "return None there"
                )
        return [returned[position] for position in self.tensors]

    def _materialized(self, number: int, gradient: Tensor | None) -> Any:
        fact = self.facts[number]
        if gradient is not None or not self._materialize or fact is None:
            return gradient
        shape, spec = fact
        return ops.zeros(shape, dtype=spec.dtype, device=spec.device)


class Function:
    """The base class of operations with a custom gradient.

    A subclass has static methods: `forward(ctx, *args)` and `backward(ctx, *gradients)`; or `forward(*args)`,
    `setup_context(ctx, inputs, output)` and `backward`.  `backward` returns one gradient, or None, for each argument of
    `forward`.  `jvp(ctx, *tangents)` serves forward mode, and `vmap(info, in_dims, *args)`, or
    `generate_vmap_rule = True`, serves `tt.func.vmap`.  Call it by `apply`.

    Examples
    --------
    >>> import tt
    >>> class Cube(tt.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x ** 2 * gradient
    >>> x = tt.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False
    _node_class: type[FunctionNode] = FunctionNode

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A class for each function: programs look at `type(x.grad_fn).__name__`, as in PyTorch.
        cls._node_class = type(f"{cls.__name__}Backward", (FunctionNode,), {"function": cls})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        warn_user(
            f"{name}(): a Function should not be instantiated: its instances have no graph\n  try: {name}.apply(...)",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: `apply` calls a function."""
        name = type(self).__name__
        raise errors.GradientError(
            f"{name}()(...): a Function with a non-static forward method is deprecated, and instances are not called\n"
            f"  try: {name}.apply(...), with static methods"
        )

    # --- methods of subclasses ----------------------------------------------------------------------------------

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; recording is off meanwhile."""
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what `backward` needs; where it is there, `forward` gets no context."""
        raise NotImplementedError("setup_context")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Return the gradient of each argument, given the gradients of the results."""
        raise NotImplementedError(
            "a Function needs a static method backward(ctx, *gradients), or vjp, to be differentiated"
        )

    @staticmethod
    def vjp(ctx: Any, *gradients: Any) -> Any:
        """Do what `backward` does, under another name."""
        raise NotImplementedError("vjp")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Return the tangent of each result, given the tangents of the arguments."""
        raise NotImplementedError("a Function needs a static method jvp(ctx, *tangents) for forward mode")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Return (results, their dims) for arguments that are mapped over the dims `in_dims`."""
        raise NotImplementedError("vmap")

    @classmethod
    def _backward_of(cls) -> Callable[..., Any]:
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise errors.GradientError(f"{cls.__name__} has both backward and vjp; keep one of the two")
        return cls.vjp if has_vjp else cls.backward

    # --- calling -----------------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        split = cls.setup_context is not Function.setup_context
        if split:
            args = _with_defaults(cls.forward, args, kwargs)
        elif kwargs:
            args = _by_position(cls, args, kwargs)
        # `getattr_static`, as plain access unwraps a staticmethod, and then nothing tells it from a method.
        for method in ("forward", "backward"):
            if not isinstance(inspect.getattr_static(cls, method), staticmethod | classmethod):
                raise errors.GradientError(
                    f"{cls.__name__}.{method} must be a static method: write @staticmethod"
                )
        keys = 0
        for value in args:
            if isinstance(value, TensorBase):
                keys |= value._keys
        if keys & TRANSFORM:
            from tt.plugins.autograd.transforms.function import run_function

            return run_function(cls, args)
        return run(cls, args)[0]


class InplaceFunction(Function):
    """A `Function`, by a name from the time when its instances held whether they work in place."""


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _by_position(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return arguments with those given by name at the positions that `forward` gives them, after its context.

    `backward` returns a gradient for each argument of the call, so that defaults are not filled in, and an argument
    whose place is behind one that is left out has no position.
    """
    parameters = list(inspect.signature(cls.forward).parameters.values())[1:]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = dict(kwargs)
    values = list(args)
    for name in names[len(args) :]:
        if name not in rest:
            break
        values.append(rest.pop(name))
    if rest:
        name = next(iter(rest))
        if name in names[: len(args)]:
            problem = f"got multiple values for argument {name!r}"
        elif name in names:
            problem = f"missing the argument {names[len(values)]!r}, which comes before {name!r}"
        else:
            problem = f"got an unexpected keyword argument {name!r}"
        raise errors.ArgumentError(f"{cls.__name__}.apply", problem)
    return tuple(values)


def run(cls: type[Function], args: tuple[Any, ...]) -> tuple[Any, FunctionNode]:
    """Run a function and attach its node to the results; return these and the node."""
    split = cls.setup_context is not Function.setup_context
    tensors = tuple(i for i, value in enumerate(args) if isinstance(value, TensorBase))
    recorded = STATE.enabled() and any(args[i]._keys & STATE.bit for i in tensors)
    nodes, numbers = [], []
    for position in tensors:
        needy = recorded and args[position]._keys & STATE.bit
        node, number = edge(args[position]) if needy else (None, 0)
        nodes.append(node)
        numbers.append(number)
    # Also where nothing is recorded: `forward` always gets a context.
    ctx = start(cls._node_class.__new__(cls._node_class), tuple(nodes), tuple(numbers))
    ctx.tensors, ctx.count = tensors, len(args)
    ctx._saved = SavedTensors(ctx.name())
    ctx.needs_input_grad = tuple(
        [isinstance(value, TensorBase) and bool(value._keys & STATE.bit) for value in args]
    )
    with recording(False):
        output = cls.forward(*args) if split else cls.forward(ctx, *args)
        if split:
            cls.setup_context(ctx, args, output)
    single = not isinstance(output, tuple)
    outputs = [output] if single else list(output)
    results = [
        _result(ctx, value, args, recorded) if isinstance(value, TensorBase) else value for value in outputs
    ]
    _refuse_strange_dirt(ctx, outputs, args)
    if recorded:
        _record(ctx, results, outputs, args)
    return (results[0] if single else tuple(results)), ctx


def _is_in(value: Any, tensors: Sequence[Any]) -> bool:
    return any(value is tensor for tensor in tensors)


def _result(ctx: FunctionNode, value: Any, args: tuple[Any, ...], recorded: bool) -> Any:
    """Return a result as a tensor that can get its own history, or that has none; see Note [Results that are views]."""
    # An argument that was changed in place stays itself and gets the new history.
    if _is_in(value, ctx._dirty):
        return value
    differentiable = recorded and _has_gradient(ctx, value)
    # An argument that is returned as it is keeps its own history; what leaves is an alias with the node.
    if _is_in(value, args):
        result = same_kind(alias(value, STATE.bit), value)
        if not value._keys & STATE.bit:
            result._root = value if value._root is None else value._root
        return result
    if value._root is not None and not differentiable:
        return value
    if value._keys & STATE.bit or value._root is not None:
        return same_kind(alias(value, STATE.bit), value)
    return value


def _has_gradient(ctx: FunctionNode, value: Any) -> bool:
    """Return whether a result can have a gradient and is not marked as one that has none."""
    return not _is_in(value, ctx._without_gradient) and bool(STATE.floating >> value._spec.code & 1)


def _refuse_strange_dirt(ctx: FunctionNode, found: Sequence[Any], args: tuple[Any, ...]) -> None:
    for position, tensor in enumerate(ctx._dirty):
        if not _is_in(tensor, args):
            raise errors.GradientError(
                f"{ctx.name()}: mark_dirty() takes arguments of forward, and its argument {position} is none"
            )
        if not _is_in(tensor, found):
            raise errors.GradientError(
                f"{ctx.name()}: forward must return the arguments that it marks as dirty, and argument {position} of "
                "mark_dirty() is "
                "not among its results"
            )


def _record(ctx: FunctionNode, results: list[Any], found: Sequence[Any], args: tuple[Any, ...]) -> None:
    """Make the node the history of the results."""
    ctx.facts = tuple(
        (tuple(value.shape), value._spec) if isinstance(value, TensorBase) else None for value in results
    )
    ctx.outputs = len(results)
    shapes = tuple(() if fact is None else fact[0] for fact in ctx.facts)
    specs = tuple(None if fact is None else fact[1] for fact in ctx.facts)
    ctx.shape, ctx.spec = (shapes[0], specs[0]) if len(results) == 1 else (shapes, specs)
    for number, (value, original) in enumerate(zip(results, found, strict=True)):
        if not isinstance(value, TensorBase) or not _has_gradient(ctx, original):
            continue
        if _is_in(value, ctx._dirty):
            _rebase(ctx, value, number, args)
            continue
        record = attach(value, ctx, number)
        if original._root is not None or _is_in(original, args):
            # The function's view of the memory is unknown to autograd, so neither may be changed in place.
            value._root = original if original._root is None else original._root
            record.view = ViewMeta(value._root, ctx, (), 0, version_of(value))
    _hold_views(ctx, results, found)
    # Last: a saved result is recognized among the final ones, and its alias must not lead back to the node.
    ctx._saved.seal([o if _is_in(o, ctx._dirty) else r for o, r in zip(found, results, strict=True)])


def _hold_views(ctx: FunctionNode, results: list[Any], found: Sequence[Any]) -> None:
    """Note which results without a gradient view one that has a history now; see Note [Results that are views]."""
    for value, original in zip(results, found, strict=True):
        if not isinstance(value, TensorBase) or value._keys & STATE.bit or value._root is None:
            continue
        if value._root._keys & STATE.bit and not _has_gradient(ctx, original):
            hold_unrecorded(value, value._root, NO_GRAD)


def _rebase(ctx: FunctionNode, target: Any, number: int, args: tuple[Any, ...]) -> None:
    """Make the node the history of an argument that the function changed in place."""
    root = root_of(target)
    check_inplace(target, root)
    if root is not target and ctx.outputs > 1:
        raise errors.InplaceError(
            f"{ctx.name()}: a view can be marked as dirty only if it is the only result, and there are {ctx.outputs}"
        )
    # `rebase` would make the tensor result 0 of the node.
    if number:
        attach(target, ctx, number)
    elif root is target:
        rebase(target, ctx)
    else:
        position = next(i for i, value in enumerate(args) if value is target)
        rebase_view(target, root, ctx, ctx.tensors.index(position))


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot be differentiated itself, because it leaves tt; usable as a decorator.

    Differentiating its results raises.

    Examples
    --------
    >>> import numpy, tt
    >>> class Sine(tt.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.numpy()
    ...         return tt.from_numpy(numpy.sin(ctx.x))
    ...     @staticmethod
    ...     @tt.autograd.function.once_differentiable
    ...     def backward(ctx, gradient):
    ...         return gradient * tt.from_numpy(numpy.cos(ctx.x))
    >>> x = tt.zeros(1, requires_grad=True)
    >>> Sine.apply(x.detach()).requires_grad
    False
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        # Noted before recording is switched off: only a recorded pass could differentiate the results.
        enabled = STATE.enabled()
        with recording(False):
            returned = backward(ctx, *gradients)
        needy = [g for g in gradients if isinstance(g, TensorBase) and g._keys & STATE.bit]
        if not enabled or not needy:
            return returned
        results = returned if isinstance(returned, tuple | list) else (returned,)
        edges = [edge(g) for g in needy]
        closed = []
        for result in results:
            if isinstance(result, TensorBase) and STATE.floating >> result._spec.code & 1:
                node = start(
                    Graphless.__new__(Graphless), tuple(n for n, _ in edges), tuple(i for _, i in edges)
                )
                node.reason = "a backward marked with @once_differentiable was differentiated"
                node.shape, node.spec = tuple(result.shape), result._spec
                result = alias(result, STATE.bit)
                attach(result, node, 0)
            closed.append(result)
        return tuple(closed) if isinstance(returned, tuple | list) else closed[0]

    return wrapper
