"""Inference mode: like `no_grad`, and tensors made in it can never take part in a graph.

Note [Inference tensors]
------------------------
A tensor made in inference mode carries a key bit.  Outside of the mode its calls meet the layer "inference": in-place
changes are refused, what shares its memory carries the bit on, everything else goes below.  The layer is below
autograd, whose rules look for the bit when they save a tensor.  In the mode itself the dispatcher's mode marks the
results, but for those that share the memory of a tensor from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tt.core.library import (
    REGISTRY,
    Block,
    CachedCall,
    Layer,
    LayerFunction,
    Mode,
    Operator,
    Tensor,
    TensorBase,
    errors,
    shares_memory,
    targets_of,
    with_targets_of,
)
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.modes import Parameters, Result, decorate

__all__ = [
    "InferenceLayer",
    "inference_mode",
    "is_inference",
    "is_inference_mode_enabled",
    "mark",
    "outside_inference",
    "without_inference",
]


def is_inference_mode_enabled() -> bool:
    """Return whether this thread is in inference mode.

    Examples
    --------
    >>> import tt
    >>> with tt.inference_mode():
    ...     tt.is_inference_mode_enabled()
    True
    """
    return bool(STATE.inferring())


def is_inference(self: Any) -> bool:
    """Return whether the tensor was made in inference mode.

    Examples
    --------
    >>> import tt
    >>> with tt.inference_mode():
    ...     x = tt.ones(2)
    >>> x.is_inference(), x.clone().is_inference()
    (True, False)
    """
    return bool(self._keys & STATE.inference_bit)


class _Marking(Mode):
    """Marks the tensors that calls of this thread make."""

    def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
        """Run the call and mark its results, but for views of tensors from outside."""
        result = overload.dispatch(args)
        if overload.form != "functional" or not STATE.inferring():
            return result
        outside = [t for t in _tensors(args) if not t._keys & STATE.inference_bit]
        for tensor in _tensors((result,)):
            # As in PyTorch, a view of an ordinary tensor stays one, and its base can be recorded later.
            if not any(tensor is t or shares_memory(tensor, t) for t in outside):
                tensor._keys |= STATE.inference_bit
        return result

    def see_data(self, tensor: Tensor) -> None:
        """Mark a tensor that was made of data."""
        if STATE.inferring():
            tensor._keys |= STATE.inference_bit


def mark(values: Any) -> None:
    """Mark the results of a call that is not one of an operator, if this thread is in inference mode."""
    if STATE.inferring():
        for tensor in _tensors((values,)):
            tensor._keys |= STATE.inference_bit


def _tensors(values: Any) -> list[Any]:
    tensors = []
    for value in values:
        if isinstance(value, TensorBase):
            tensors.append(value)
        elif isinstance(value, list | tuple):
            tensors += _tensors(value)
    return tensors


class InferenceLayer(Layer):
    """The layer of tensors made in inference mode; see Note [Inference tensors]."""

    name = "inference"
    order = 90
    generic = True
    transparent = True

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return the layer's rule for a form of an operator."""
        if form != "functional":
            return _change
        if operator.mutates:
            return _change_arguments
        return _view if operator.definition.kind == "view" else _pass

    def refuse_change(self, target: Tensor, root: Tensor) -> None:
        """Refuse to change memory of inference mode outside of it through a tensor without the mark."""
        if not STATE.inferring():
            raise _refusal("a view")


def _refusal(name: str) -> errors.InferenceTensorError:
    return errors.InferenceTensorError(
        f"{name}: a tensor made in inference mode is changed outside of it\n  try: clone() it first"
    )


def _pass(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run what lies below; a result that is an argument stays that, and one that shares its memory is marked."""
    result = entry.call_below(args)
    marked = [t for t in _tensors(args) if t._keys & STATE.inference_bit]
    if isinstance(result, TensorBase):
        for tensor in marked:
            # So that `x.contiguous() is x` holds here, too.
            if result._handle is tensor._handle and result._spec is tensor._spec:
                return tensor  # a composite got an alias of it
    for tensor in _tensors((result,)):
        if any(shares_memory(tensor, t) for t in marked):
            tensor._keys |= STATE.inference_bit
    return result


def _change(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    count = entry.operator.out_count if entry.form == "out" else 0
    targets = _tensors(args[-count:]) if count else [args[0]]
    if not STATE.inferring() and any(t._keys & STATE.inference_bit for t in targets):
        raise _refusal(entry.operator.definition.signature.name)
    result = entry.call_below(args)
    if entry.form == "inplace":
        return args[0]
    return targets[0] if count == 1 else entry.operator.return_type(targets) if count else result


def _change_arguments(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    if not STATE.inferring() and any(t._keys & STATE.inference_bit for t in targets_of(entry.operator, args)):
        raise _refusal(entry.operator.name)
    return with_targets_of(entry.operator, args, entry.call_below(args))


def _view(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    result = entry.call_below(args)
    for tensor in _tensors((result,)):
        tensor._keys |= STATE.inference_bit
    return result


def _has_layer() -> bool:
    """Return whether marked tensors can be used: not where the plugin is blocked, and nothing can be recorded."""
    try:
        REGISTRY.layer(InferenceLayer.name)
    except (errors.PluginError, errors.PluginMissingError):
        return False
    return True


class inference_mode(Block):  # noqa: N801 - PyTorch's name
    """Switches recording off, in a `with` block or for a function; tensors made there can never be recorded.

    Parameters
    ----------
    mode : bool
        False: ordinary recording inside another `inference_mode`.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    >>> y.add_(1)
    Traceback (most recent call last):
        ...
    tt.core.errors.InferenceTensorError: add: a tensor made in inference mode is changed outside of it
      try: clone() it first
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:  # noqa: D102 - a decorator, too
        if callable(mode):
            return decorate(cls, mode)
        return super().__new__(cls)

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        self.mode = bool(mode)

    def _look(self) -> tuple[bool, bool, _Marking | None]:
        # Only the outermost block: marking twice would cost each call twice.
        marking = _Marking() if self.mode and not STATE.inferring() and _has_layer() else None
        return STATE.grad(), STATE.inferring(), marking

    def _begin(self) -> None:
        marking = self._befores[-1][2]
        if marking is not None:
            marking.__enter__()
        STATE.infer(self.mode)
        STATE.enable(not self.mode)

    def _end(self, before: tuple[bool, bool, _Marking | None]) -> None:
        grad, inferring, marking = before
        STATE.infer(inferring)
        STATE.enable(grad)
        if marking is not None:
            marking.__exit__(None, None, None)  # does nothing the second time

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function that runs in the mode."""
        return decorate(lambda: inference_mode(self.mode), function)


class without_inference(Block):  # noqa: N801 - reads as a statement: with without_inference()
    """Leaves inference mode for what tt itself records, in a `with` block; recording stays switched as it is."""

    def _look(self) -> bool:
        return bool(STATE.inferring())

    def _begin(self) -> None:
        STATE.infer(False)

    def _end(self, before: bool) -> None:
        STATE.infer(before)


def outside_inference(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function of tt, one that records for itself, run outside of inference mode; its results are not marked."""

    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if not STATE.inferring():
            return function(*args, **kwargs)
        with without_inference():
            return function(*args, **kwargs)

    return wrapper
