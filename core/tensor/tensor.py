"""Tensor: the class that users see, and how the dispatcher makes one.

`Tensor` is an ordinary class, so that subclassing, attributes, weak references and pickling work as users expect.
Its operators come from the schema, its other members from `tt.core.methods.attributes`, and those of plugins from
their manifests.

Note [Members above the dispatcher]
-----------------------------------
The constructor and what subclasses need (`__init_subclass__`, `__tt_function__`) call operators, and the dispatcher
makes tensors.  So these members, too, are written above it, in `tt.core.methods`, and put on the class by
`tt.core.methods.methods.install` before the first tensor is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, overload

from tt.core import start
from tt.core.errors import HiddenValuesError
from tt.core.tensor.base import TensorBase, TensorSpec, wrap_handle
from tt.core.types.keys import FUNCTION, PYTHON
from tt.core.types.protocols import DISPATCH_METHODS, method_of
from tt.core.types.state import STATE
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    # A stub without a module: the methods that the schema, `tt.core.methods` and the manifests of plugins add, written
    # by `python -m tt.core.schema.stubs`.
    from tt.core.tensor.tensor_methods import TensorMethods
    from tt.core.types.device import Device
else:
    TensorMethods = TensorBase

__all__ = [
    "Tensor",
    "alias",
    "answers_operators",
    "disabled_tt_dispatch_impl",
    "disabled_tt_function_impl",
    "sibling",
    "slots_of",
    "wrap",
]


def disabled_tt_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__tt_function__` of a class that takes no part in the protocol, such as `Parameter`.

    Examples
    --------
    >>> import tt
    >>> class Plain(tt.Tensor):
    ...     __tt_function__ = tt.overrides.disabled_tt_function_impl
    >>> type(tt.ones(2).as_subclass(Plain) + 1).__name__
    'Tensor'
    """
    return NotImplemented


def disabled_tt_dispatch_impl(
    func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Call an operator with the kernels: neither `__tt_dispatch__` of the arguments nor a dispatch mode sees it.

    It is `Tensor.__tt_dispatch__`, so a subclass continues with `super().__tt_dispatch__(func, types, args, kwargs)`;
    the results are plain tensors.  A class that has the function itself takes no part in the protocol.

    Parameters
    ----------
    func : callable
        The operator, as `__tt_dispatch__` gets it.
    types : tuple of type
        The classes of the arguments that have `__tt_dispatch__`.
    args, kwargs
        The arguments.

    Raises
    ------
    HiddenValuesError
        For wrapper tensors, which have no data: their class passes the tensors that it holds.

    Examples
    --------
    >>> import tt
    >>> class Counted(tt.Tensor):
    ...     calls = 0
    ...     @classmethod
    ...     def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         cls.calls += 1
    ...         return super().__tt_dispatch__(func, types, args, kwargs)
    >>> tt.ones(2).as_subclass(Counted) + 1
    tensor([2., 2.])
    >>> Counted.calls
    1
    """
    named = kwargs or {}
    for value in (*args, *named.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            # A spec with the bit is a wrapper's; other instances have it from their class.
            if isinstance(item, TensorBase) and item._spec.keys & PYTHON:
                name = type(item).__name__
                raise HiddenValuesError(
                    f"Tensor.__tt_dispatch__(): a {name} has no data, so no kernel can work on it\n"
                    f"  try: pass the tensors that the {name} holds: func(*args) with these"
                )
    masked, modes = THREAD.masked, THREAD.modes
    THREAD.masked = masked | PYTHON
    THREAD.modes = [mode for mode in modes if mode.sees != "dispatch"]
    # Also counted as a mode, so that no call passes the mask by on the fast path.
    STATE.mode_entered()
    try:
        return func(*args, **named)
    finally:
        THREAD.masked, THREAD.modes = masked, modes
        STATE.mode_left()


class Tensor(TensorMethods):
    """A multi-dimensional array of one dtype on one device.

    Make one with `tt.tensor`, `tt.zeros`, `tt.from_numpy` and the other factories.  Called itself, the class makes
    tensors of the default dtype: `Tensor([1, 2])` from data, `Tensor(2, 3)` of a shape, with any values, and `Tensor()`
    without elements.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[1.0, 2.0], [3.0, 4.0]]).sum()
    tensor(10.)
    """

    # NumPy then leaves `array * tensor` to Tensor.__rmul__.
    __array_priority__ = 1000

    # The key bits of the instances of a subclass: whether it has `__tt_function__`, and `__tt_dispatch__`.
    _class_keys = 0

    @overload
    def __new__(cls, *size: int, device: Device | str | int | None = None) -> Self: ...

    @overload
    def __new__(cls, data: Any, *, device: Device | str | int | None = None) -> Self: ...

    def __new__(cls, *args: Any, device: Any = None, **data: Any) -> Any:
        """Make a tensor of sizes or data; see `tt.core.methods.legacy_constructor`."""
        start()  # which puts the constructor in the place of this function
        return Tensor.__new__(cls, *args, device=device, **data)

    if TYPE_CHECKING:

        @classmethod
        def __tt_function__(
            cls,
            func: Any,
            types: tuple[type, ...],
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any: ...

        __torch_function__ = __tt_function__

    # Under both names, as every subclass has its own; see Note [Two names] in `protocols`.
    __tt_dispatch__ = __torch_dispatch__ = staticmethod(disabled_tt_dispatch_impl)


def answers_operators(kind: type) -> bool:
    """Return whether a class has a `__tt_dispatch__` of its own, or a `__torch_dispatch__`."""
    name = method_of(kind, DISPATCH_METHODS)
    method = None if name is None else getattr(kind, name)
    return method is not None and getattr(method, "__func__", method) is not disabled_tt_dispatch_impl


def wrap(handle: Any, spec: TensorSpec, kind: type[Tensor] = Tensor) -> Tensor:
    """Return a tensor over a native handle.

    Parameters
    ----------
    handle : object
        The backend's array.
    spec : TensorSpec
        dtype, device, layout and backend of the handle.
    kind : type
        The class of the result.
    """
    bits = spec.dim_bit if handle.ndim else spec.zero_dim_bit
    return wrap_handle(kind, handle, spec, spec.keys | kind._class_keys, bits)


def alias(tensor: TensorBase, clear: int = 0) -> Tensor:
    """Return a tensor with the same handle and storage that the layers in `clear` do not hold.

    Parameters
    ----------
    tensor : Tensor
        The tensor to alias; it gets a storage, so that both share one version.
    clear : int
        Key bits that the alias must not have.
    """
    if tensor._keys & PYTHON:
        return sibling(tensor, clear)
    new = wrap(tensor._handle, tensor._spec)
    # An alias is a plain tensor, whatever the class of the tensor: nothing intercepts calls with it.
    new._keys = tensor._keys & ~(clear | FUNCTION)
    if tensor._spec.backend.functionalised:
        from tt.core.layers.functionalise import share  # for backends without views only

        new._storage = share(tensor)
    else:
        new._storage = tensor._ensure_storage()
    return new


def sibling(tensor: Any, clear: int = 0) -> Tensor:
    """Return an alias of a tensor whose class has `__tt_dispatch__`: of the same class, with the same attributes."""
    new: Tensor = wrap_handle(
        type(tensor), tensor._handle, tensor._spec, tensor._keys & ~clear, tensor._promotion
    )
    new._storage = tensor._ensure_storage()
    # The same dict, and no copy: attributes that are set on one show on the other.
    new.__dict__ = tensor.__dict__
    for name, value in slots_of(tensor).items():
        setattr(new, name, value)
    return new


def slots_of(tensor: Any) -> dict[str, Any]:
    """Return the attributes of a tensor that are in `__slots__` of its class or of a base between it and `Tensor`."""
    values = {}
    # Attributes in `__slots__` are not in `__dict__`, so each class up to `Tensor` is asked.
    for kind in type(tensor).__mro__:
        if kind is Tensor:
            break
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(tensor, name):
                values[name] = getattr(tensor, name)
    return values
