"""Parameters and buffers whose shape the first input decides; public names of `tt.nn.parameter`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, SupportsIndex

import tt
from tt.nn.parameter import Parameter
from tt.overrides import DisableTTFunction
from tt.types import Device

__all__ = ["UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin"]

_CONVERTING = (
    "to", "cpu", "cuda", "half", "float", "double", "bfloat16", "char", "short", "int", "long", "type",
)  # fmt: skip
_ALLOWED = (
    *_CONVERTING, "requires_grad_", "is_complex", "is_floating_point", "detach", "detach_", "get_device", "copy_",
)  # fmt: skip
_ACCESS = ("__get__", "__set__", "__delete__")


@functools.cache
def _allowed() -> frozenset[Any]:
    """Return the methods that need no shape, as `__tt_function__` gets them."""
    # Collected at the first use, when the methods of the class are all there.
    return frozenset(getattr(tt.Tensor, name) for name in _ALLOWED)


@functools.cache
def _converting() -> frozenset[Any]:
    """Return the functions that give a tensor another dtype or device."""
    return frozenset(getattr(tt.Tensor, name) for name in _CONVERTING)


class UninitializedTensorMixin:
    """A tensor without a shape yet.

    `materialize` gives it one; until then most methods of a tensor raise a ValueError.  Attributes other than `shape`
    are those of a tensor without elements, as in PyTorch.
    """

    cls_to_become: ClassVar[type]

    def materialize(self, shape: Sequence[int], device: Device = None, dtype: tt.dtype | None = None) -> None:
        """Become an ordinary parameter or buffer of a shape, with undefined values.

        Parameters
        ----------
        shape : int or sequence of int
            The shape.
        device : device, optional
            The device; that of this tensor without one.
        dtype : dtype, optional
            The dtype; that of this tensor without one.
        """
        this: Any = self
        this.data = tt.empty(
            shape,
            device=this.data.device if device is None else device,
            dtype=this.data.dtype if dtype is None else dtype,
        )
        # The same object becomes an ordinary parameter, so that optimizers and modules which hold it need
        # not be told.
        this.__class__ = type(self).cls_to_become
        plain = this.detach()
        this._keys = (
            plain.requires_grad_() if this.requires_grad else plain
        )._keys  # without this class's bit

    @classmethod
    def __tt_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Refuse what needs a shape."""
        # Attributes come as their getters and setters; each module reads some while it is built.
        if func not in _allowed() and getattr(func, "__name__", None) not in _ACCESS:
            raise ValueError(
                f"{getattr(func, '__name__', func)} of an uninitialized parameter or buffer: it has no shape yet\n"
                "  try: call the module once with an input, which decides the shape"
            )
        # Without this guard the call would come here again.
        with DisableTTFunction():
            return func(*args, **(kwargs or {}))

    @property
    def shape(self) -> Any:
        """Refused: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer: the first call of its module decides it\n"
            "  (a state dict with initialized parameters decides it too, one without cannot be loaded)"
        )

    def size(self, dim: int | None = None) -> Any:
        """Return the size of a tensor without elements, which this one is until it has a shape."""
        this: Any = self
        return this.data.size(dim)

    def share_memory_(self) -> Any:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory of an uninitialized parameter or buffer: the first call of its module gives it some"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[override]  # it refuses
    """A parameter whose shape is not known yet.

    Parameters
    ----------
    requires_grad : bool
        Whether autograd records operations on it.
    device, dtype : optional
        Those of the parameter that it becomes.

    Examples
    --------
    >>> import tt
    >>> param = tt.nn.UninitializedParameter()
    >>> param.materialize((2, 3))
    >>> type(param).__name__, param.shape
    ('Parameter', tt.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device = None, dtype: tt.dtype | None = None
    ) -> UninitializedParameter:
        """Make the parameter; see the class."""
        data = tt.empty(0, device=device, dtype=dtype)
        return Parameter.__new__(cls, data, requires_grad)

    def __init__(
        self, requires_grad: bool = True, device: Device = None, dtype: tt.dtype | None = None
    ) -> None:
        """Take the arguments of `__new__`."""

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            # Cloning would ask for a shape; three facts make an equal one.
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        new: UninitializedParameter = memo[id(self)]
        return new

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)


class UninitializedBuffer(UninitializedTensorMixin, tt.Tensor):  # type: ignore[override]  # it refuses
    """A buffer whose shape is not known yet.

    Parameters
    ----------
    requires_grad : bool
        Whether autograd records operations on it.
    device, dtype : optional
        Those of the buffer that it becomes.
    persistent : bool
        Whether the buffer is part of the state dict.
    """

    cls_to_become = tt.Tensor
    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        """Make the buffer; see the class."""
        data = tt.empty(0, device=device, dtype=dtype)
        new: UninitializedBuffer = data.as_subclass(cls)
        new.requires_grad_(requires_grad)
        new.persistent = persistent
        new._is_buffer = True  # as Buffer does
        return new

    def __init__(
        self,
        requires_grad: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
        persistent: bool = True,
    ) -> None:
        """Take the arguments of `__new__`."""

    @classmethod
    def __tt_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Refuse functions that need a shape; a result of another dtype or device has none either."""
        result = super().__tt_function__(func, types, args, kwargs)
        # Conversion of an empty tensor gives a plain one; it has to stay uninitialised on the new device or
        # dtype.
        if func not in _converting() or type(result) is not tt.Tensor:
            return result
        return cls(result.requires_grad, result.device, result.dtype, args[0].persistent)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.requires_grad, self.data.device, self.data.dtype, self.persistent
            )
        new: UninitializedBuffer = memo[id(self)]
        return new

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype, self.persistent)
