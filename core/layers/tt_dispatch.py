"""`__tt_dispatch__`: classes and modes that answer operators below autograd, and wrapper tensors without data.

This is the protocol of PyTorch's `__torch_dispatch__`.  One layer, "python", is between autograd and the kernels.
Tensors whose class has `__tt_dispatch__` carry its key bit, and a `TTDispatchMode` adds the bit to the keys of every
call (see Note [The order of interception] in `modes`); calls without either do not reach the layer.

Note [What arrives]
-------------------
The layer answers an operator as a whole, in its functional or in-place form.  An operator of kind "composite" is taken
apart first and its parts arrive, as does one that autograd differentiates through its parts where a gradient is
recorded; `out=` arrives as the functional form and `copy_`.  A class or mode whose `__tt_dispatch_whole__` is true gets
composites as they are, too, and has them taken apart by returning NotImplemented.

Below autograd nothing is recorded: while a handler runs, the layers above are passed by, so that the tensors in its
arguments are the very ones that the user has, gradients or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tt.core.blocks import Block
from tt.core.dispatch.call.mutation import targets_of, with_targets_of
from tt.core.dispatch.intercept.layers import Layer, LayerFunction
from tt.core.dispatch.intercept.modes import Mode
from tt.core.dispatch.intercept.tt_function import flat
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.composite import composite_call
from tt.core.dispatch.resolve.resolution import CallKey, ResolveContext
from tt.core.errors import NoOverrideError, describe
from tt.core.meta import MetaHandle, fresh, run_rule
from tt.core.schema.model import MISSING
from tt.core.tensor.base import TensorBase, TensorSpec
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, answers_operators, wrap
from tt.core.types.device import get_default_device, to_device
from tt.core.types.dtype import to_dtype
from tt.core.types.keys import KEYS, PYTHON
from tt.core.types.layout import strided, to_layout
from tt.core.types.promotion import get_default_dtype
from tt.core.types.protocols import DISPATCH_METHODS, spell_both
from tt.core.types.size import Size
from tt.core.types.state import STATE, without
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.operator import Operator
    from tt.core.types.device import Device
    from tt.core.types.dtype import dtype as Dtype
    from tt.core.types.layout import layout as Layout

__all__ = [
    "PythonLayer",
    "TTDispatchMode",
    "TorchDispatchMode",
    "as_written",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "make_wrapper",
    "make_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


# --- modes ---------------------------------------------------------------------------------------------------------


class TTDispatchMode(Mode):
    """Sees every operator that reaches the kernels of a thread in a `with` block: override `__tt_dispatch__`.

    It is below autograd, so it gets the inner calls of composites, the calls of a backward pass, and factories.  A
    mode is off inside its own handler, so `func(*args, **kwargs)` there goes to the next mode further out, then to the
    classes of the arguments, then to the kernel.

    Examples
    --------
    >>> import tt
    >>> class Log(tt.library.TTDispatchMode):
    ...     def __tt_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func.name)
    ...         return func(*args, **(kwargs or {}))
    >>> x = tt.ones(2, requires_grad=True)
    >>> with Log():
    ...     (x * 3).sum().backward()
    mul
    sum
    ones_like
    expand
    mul
    """

    sees = "dispatch"

    def __init_subclass__(cls, /, **options: Any) -> None:
        super().__init_subclass__(**options)
        spell_both(cls, DISPATCH_METHODS)

    def __tt_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Answer a call, or return NotImplemented to leave it to the classes of the arguments.

        Parameters
        ----------
        func : callable
            The form of the operator: `func.name`, `func.schema`, `func.overloadpacket`.
        types : tuple of type
            The classes of the arguments that have `__tt_dispatch__`.
        args, kwargs
            The arguments, without those at the end that have their defaults.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __tt_dispatch__")

    __torch_dispatch__ = __tt_dispatch__


TorchDispatchMode = TTDispatchMode  # PyTorch's name, which its programs use


def _get_current_dispatch_mode_stack() -> list[TTDispatchMode]:
    """Return the dispatch modes of this thread, the outermost first."""
    return [mode for mode in THREAD.modes if isinstance(mode, TTDispatchMode)]


def _get_current_dispatch_mode() -> TTDispatchMode | None:
    """Return the innermost dispatch mode of this thread, or None."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


def is_in_torch_dispatch_mode() -> bool:
    """Return whether a dispatch mode is active in this thread."""
    return _get_current_dispatch_mode() is not None


class _disable_current_modes(Block):  # noqa: N801 - PyTorch's name
    """Turn the dispatch modes of this thread off in a `with` block, whose target is the list of them.

    Examples
    --------
    >>> import tt
    >>> from tt.utils._python_dispatch import TTDispatchMode, _disable_current_modes
    >>> class Refuse(TTDispatchMode):
    ...     def __tt_dispatch__(self, func, types, args=(), kwargs=None):
    ...         raise ValueError("not now")
    >>> with Refuse(), _disable_current_modes() as modes:
    ...     tt.ones(2) + 1, [type(mode).__name__ for mode in modes]
    (tensor([2., 2.]), ['Refuse'])
    """

    def _look(self) -> list[Mode]:
        return THREAD.modes

    def _begin(self) -> list[TTDispatchMode]:
        modes = _get_current_dispatch_mode_stack()
        # The count of modes of the process stays: calls only look at the thread's list once more.
        THREAD.modes = [mode for mode in THREAD.modes if mode.sees != "dispatch"]
        return modes

    def _end(self, before: list[Mode]) -> None:
        THREAD.modes = before


# --- the layer -----------------------------------------------------------------------------------------------------


class PythonLayer(Layer):
    """Hands operators to dispatch modes and to the classes of the arguments."""

    name = "python"
    order = 50
    terminal = True

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return the rule that calls them; out= reaches the layer as its functional form and a copy."""
        if form == "out":
            return None
        # An operator that is a composite by nature is taken apart; one that merely has a composite arrives whole.
        if operator.definition.kind == "composite" and operator.registry.composite(operator.name) is not None:
            return _whole_or_in_parts
        return _ask

    def format_tensor(self, tensor: Any) -> str | None:
        """Return the class, shape and dtype of a tensor without values of its own."""
        if not tensor._spec.keys & self.bit:
            return None
        from tt.core.methods.printing import gradient_suffixes, join_suffixes  # written above the layers

        parts = [f"size={tuple(tensor.shape)}", f"dtype={tensor.dtype}"]
        parts += [] if tensor.device.type == "cpu" else [f"device='{tensor.device}'"]
        parts += gradient_suffixes(tensor)
        name = type(tensor).__name__
        return join_suffixes(f"{name}(...", parts, len(name) + 1)


def _wants_whole(kind: type, operator: Operator) -> bool:
    """Return whether a class or mode takes a composite as it is."""
    return kind in operator.dispatch_rules or bool(getattr(kind, "__tt_dispatch_whole__", False))


def _whole_or_in_parts(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Call the handlers that want whole composites; if there are none, or all decline, decompose the operator."""
    # The innermost mode only: it decides whether the others see the call.
    modes = _get_current_dispatch_mode_stack()[-1:]
    if any(_wants_whole(type(value), cached.operator) for value in (*modes, *overloaded(args))):
        result = _asked(cached, args, whole=True)
        if result is not NotImplemented:
            return _finished(cached, args, result)
    composite = cached.operator.registry.composite_on(cached.operator.name, cached.keys)
    assert composite is not None  # the layer has this rule for composites only
    # The record of the present call goes on in the composite's, so that `explain` shows both.
    key = CallKey(cached.operator, cached.form, cached.keys, cached.bits)
    return composite_call(ResolveContext(key, args, cached.resolution), composite).run(args)


def _ask(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    result = _asked(cached, args)
    if result is NotImplemented:
        mode = _get_current_dispatch_mode()
        names = [type(value).__name__ for value in overloaded(args)]
        name = f"tt.ops.{cached.operator.name}" + ("_" if cached.form == "inplace" else "")
        raise NoOverrideError(name, "__tt_dispatch__", names, None if mode is None else type(mode).__name__)
    return _finished(cached, args, result)


def overloaded(args: Sequence[Any]) -> list[Any]:
    """Return the first argument of each class that has `__tt_dispatch__`, subclasses before their bases."""
    ordered: list[Any] = []
    known: set[type] = set()
    for value in flat(args):
        # One argument of each class, as for `__tt_function__`.
        kind = type(value)
        if kind in known or not isinstance(value, TensorBase) or not value._keys & PYTHON:
            continue
        known.add(kind)
        # In front of its first base, so that the subclass is asked first.
        position = next((i for i, other in enumerate(ordered) if issubclass(kind, type(other))), len(ordered))
        ordered.insert(position, value)
    return ordered


def _asked(cached: CachedCall, args: tuple[Any, ...], whole: bool = False) -> Any:
    """Return the result of the innermost mode, or else of the arguments' classes."""
    operator = cached.operator
    function = operator.overload(cached.form)
    rules = operator.dispatch_rules
    candidates = overloaded(args)
    types = tuple(map(type, candidates))
    shown, kwargs = as_written(function, args)
    modes, masked = THREAD.modes, THREAD.masked
    # Autograd and its like are passed by while a handler runs; see Note [What arrives].
    THREAD.masked = masked | _transparent()
    # Counted as a mode: the fast path does not look at the mask.
    STATE.mode_entered()
    try:
        mode = _get_current_dispatch_mode()
        if mode is not None and (not whole or _wants_whole(type(mode), operator)):
            rule = rules.get(type(mode))
            # What the mode itself calls goes to what lies below it.
            THREAD.modes = without(modes, mode)
            try:
                if rule is None:
                    result = mode.__tt_dispatch__(function, types, shown, kwargs)
                else:
                    result = rule(mode, function, types, shown, kwargs)
            finally:
                THREAD.modes = modes
            if result is not NotImplemented:
                return result
        for value in candidates:
            kind: Any = type(value)
            if not whole or _wants_whole(kind, operator):
                rule = rules.get(kind)
                if rule is None:
                    # On the class, as Python looks up special methods; an attribute of an instance does not count.
                    result = kind.__tt_dispatch__(function, types, shown, kwargs)
                else:
                    result = rule(kind, function, types, shown, kwargs)
                if result is not NotImplemented:
                    return result
    finally:
        THREAD.masked = masked
        STATE.mode_left()
    return NotImplemented


def _transparent() -> int:
    """Return the bits of the layers above that are passed by."""
    bits = 0
    for layer in list(REGISTRY.layers.values()):
        if layer.transparent and layer.order > PythonLayer.order:
            bits |= layer.bit
    return bits


def _finished(cached: CachedCall, args: tuple[Any, ...], result: Any) -> Any:
    """Return the result of a handler: for in-place calls the target; a view gets its base."""
    if cached.form == "inplace":
        target = args[0]
        # A mode has called the operator itself; a class has changed the inner tensor.
        if target._keys & PYTHON:
            definition = cached.operator.definition
            if definition.kind == "view" or "metadata_inplace" in definition.tags:
                # The inner tensor has its new shape already; the wrapper's own description follows by the rule.
                target._set_data(run_rule(definition, args), target._spec)
            target._bump_version()
        return target
    if cached.operator.mutates:
        for target in targets_of(cached.operator, args):
            if target._keys & PYTHON:
                target._bump_version()
        return with_targets_of(cached.operator, args, result)
    if cached.operator.definition.kind == "view" and args[0]._keys & PYTHON:
        for view in result if isinstance(result, list | tuple) else (result,):
            if isinstance(view, TensorBase) and view._keys & PYTHON and view is not args[0]:
                # The handler made the view of inner tensors: the wrappers are views by the schema.
                view._storage = args[0]._ensure_storage()
                view._root = args[0] if args[0]._root is None else args[0]._root
    return result


def as_written(overload: OpOverload, bound: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a full argument tuple as a user would write it: without what has its default, keyword-only by name."""
    arguments = overload.operator.arguments
    defaults = overload.operator.defaults
    positional = [i for i, argument in enumerate(arguments) if not argument.keyword_only]
    # Trailing arguments only: a default in the middle has to be written to keep the positions.
    while positional and _is_default(bound[positional[-1]], defaults[positional[-1]]):
        positional.pop()
    kwargs = {
        argument.name: bound[i]
        for i, argument in enumerate(arguments)
        if argument.keyword_only and not _is_default(bound[i], defaults[i])
    }
    return tuple(bound[i] for i in positional), kwargs


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return default is not MISSING
    # Comparing tensors would give a tensor; and True is not the default 1.
    if default is MISSING or isinstance(value, TensorBase | list) or type(value) is not type(default):
        return False
    return bool(value == default)


# --- wrapper tensors -----------------------------------------------------------------------------------------------


@cache
def wrapper_spec(dtype: Dtype, device: Device, layout: Layout) -> TensorSpec:
    """Return the (one) spec of wrapper tensors of a dtype on a device in a layout."""
    REGISTRY.layer("python")  # it prints such tensors
    keys = KEYS.bit("device", device.type) | layout.bit | PYTHON
    return TensorSpec(dtype, device, layout, REGISTRY.backend("meta"), keys)


def make_wrapper(
    kind: type[Any],
    shape: Sequence[int],
    dtype: Dtype,
    device: Device,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    layout: Layout = strided,
) -> Any:
    """Return an instance of a class with `__tt_dispatch__` that has a shape and a dtype, and no data."""
    size = tuple(shape)
    handle = fresh(size, dtype, strides)
    if offset:
        # With the offset in front, the memory reaches as much further.
        handle = MetaHandle(size, dtype, handle.strides, offset, offset + (handle.extent or 0))
    spec = wrapper_spec(dtype, device, layout)
    new = wrap(handle, spec, kind)
    new._storage = Storage(handle, spec.backend)
    return new


def make_wrapper_subclass(
    cls: type[Any],
    size: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Return a tensor of a class with `__tt_dispatch__` that has no data: all operators on it arrive there.

    Parameters
    ----------
    cls : type
        The class, a subclass of `Tensor`.
    size : sequence of int
        The shape that the tensor shows.
    strides : sequence of int, optional
        In elements; row-major by default.
    storage_offset : int, optional
        Position of the first element.
    dtype, layout, device
        The visible properties; by default the default dtype, strided and the default device.
    memory_format, pin_memory
        Taken as PyTorch takes them, and without effect.
    requires_grad : bool
        Whether autograd records operations on it.

    Raises
    ------
    TypeError
        If the class is not a subclass of `Tensor` or does not define `__tt_dispatch__`.

    Examples
    --------
    >>> import tt
    >>> class Twice(tt.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, inner):
    ...         self = tt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
    ...         self.inner = inner
    ...         return self
    ...     @classmethod
    ...     def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         plain = [a.inner * 2 if isinstance(a, cls) else a for a in args]
    ...         return func(*plain, **(kwargs or {}))
    >>> x = Twice(tt.ones(3))
    >>> x
    Twice(..., size=(3,), dtype=tt.float32)
    >>> x + 1
    tensor([3., 3., 3.])
    """
    kind: Any = cls
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"_make_wrapper_subclass() takes a subclass of Tensor, not {describe(cls)}")
    if not answers_operators(kind):
        raise TypeError(
            f"_make_wrapper_subclass(): {cls.__name__} must define __tt_dispatch__, which answers all operators on it\n"
            "  try: x.as_subclass(cls), for a class that adds no more than attributes and methods"
        )

    wrapper = make_wrapper(
        cls,
        Size(size),
        get_default_dtype() if dtype is None else to_dtype(dtype),
        get_default_device() if device is None else to_device(device),
        strides,
        storage_offset or 0,
        to_layout(layout),
    )
    if requires_grad:
        wrapper.requires_grad = True
    return wrapper


# --- what handlers use ---------------------------------------------------------------------------------------------


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return whether an object is a wrapper tensor whose class has `__tensor_flatten__` and `__tensor_unflatten__`."""
    return (
        isinstance(t, TensorBase)
        and bool(t._spec.keys & PYTHON)
        and is_traceable_wrapper_subclass_type(type(t))
    )


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether the instances of a class are wrapper tensors that can be taken apart and put together."""
    return (
        issubclass(t, Tensor)
        and answers_operators(t)
        and all(hasattr(t, name) for name in ("__tensor_flatten__", "__tensor_unflatten__"))
    )


def transform_subclass(
    t: Any,
    callback: Callable[[str, Any], Any],
    outer_size: Sequence[int] | None = None,
    outer_stride: Sequence[int] | None = None,
) -> Any:
    """Return a wrapper tensor like another, over other inner tensors.

    Parameters
    ----------
    t : Tensor
        Its class has `__tensor_flatten__`, which returns the names of the attributes that are tensors and a context,
        and `__tensor_unflatten__`, which makes a tensor of the attributes, the context, a size and strides.
    callback : callable
        Called with the name of each attribute and its tensor; returns the tensor in its place.
    outer_size, outer_stride : sequence of int, optional
        Of the result; by default those of `t`.

    Examples
    --------
    >>> import tt
    >>> from tt.utils._python_dispatch import transform_subclass
    >>> class Kept(tt.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, inner):
    ...         self = tt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
    ...         self.inner = inner
    ...         return self
    ...     def __tensor_flatten__(self):
    ...         return ["inner"], None
    ...     @staticmethod
    ...     def __tensor_unflatten__(inner_tensors, context, outer_size, outer_stride):
    ...         return Kept(inner_tensors["inner"])
    ...     @classmethod
    ...     def __tt_dispatch__(cls, func, types, args=(), kwargs=None): ...
    >>> transform_subclass(Kept(tt.ones(2)), lambda name, inner: inner * 3).inner
    tensor([3., 3.])
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Callable[..., Any], args: Any, kwargs: Any, out: Any) -> Any:
    """Return `out`.

    PyTorch's handlers end with this call, which lets views share the storage of their base and returns the target
    of a call in place.  The layer does both for every handler.
    """
    return out
