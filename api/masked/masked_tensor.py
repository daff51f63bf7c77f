"""MaskedTensor: data with a mask of the elements that count."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self, SupportsIndex

import tt
from tt.library import warn_user
from tt.masked.masked_functions import FACTS, handler_of
from tt.masked.printing import masked_text
from tt.types import Number

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]


def is_masked_tensor(obj: object, /) -> bool:
    """Return whether an object is a masked tensor.

    Examples
    --------
    >>> import tt
    >>> tt.masked.is_masked_tensor(tt.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)


def _check(data: Any, mask: Any) -> None:
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, tt.Tensor) or is_masked_tensor(value):
            raise tt.errors.ArgumentError(
                "masked_tensor", f"{name} must be a Tensor, not {type(value).__name__}"
            )
        if value.layout != tt.strided:
            raise tt.errors.LayoutError(
                f"masked_tensor(): {name} must be strided, but its layout is {value.layout}\n  try: {name}.to_dense()"
            )
    if mask.dtype is not tt.bool:
        raise tt.errors.DataTypeError(f"masked_tensor(): mask must have dtype bool, not {mask.dtype}")
    if data.shape != mask.shape:
        raise tt.errors.ShapeError(
            f"masked_tensor(): data.size() must equal mask.size(), but they are {list(data.shape)} and "
            f"{list(mask.shape)}"
        )
    if data.device != mask.device:
        raise tt.errors.DeviceError(
            f"masked_tensor(): data and mask must be on one device, but are on {data.device} and {mask.device}"
        )


class MaskedTensor(tt.Tensor):
    """A tensor some of whose elements do not count: where its mask is False.

    Functions of elements compute all elements, and keep the mask, on which all their arguments must agree; reductions
    leave out masked elements, and mask a result without any; functions that move elements move the mask.  Gradients
    are masked, too.

    Parameters
    ----------
    data : Tensor
        The elements, copied.
    mask : Tensor
        Of bools and of the same size: which elements count.
    requires_grad : bool
        Whether operations are recorded.

    Raises
    ------
    ArgumentError, DataTypeError, ShapeError
        When data and mask do not fit.

    Examples
    --------
    >>> import tt
    >>> x = tt.masked.MaskedTensor(tt.tensor([1.0, 2.0, 4.0]), tt.tensor([True, False, True]))
    >>> x.mean()
    MaskedTensor(  2.5000, True)
    """

    _data: tt.Tensor
    _mask: tt.Tensor

    def __new__(cls, data: tt.Tensor, mask: tt.Tensor, requires_grad: bool = False) -> Self:
        """Return a masked tensor over copies of data and mask."""
        _check(data, mask)
        if data.requires_grad:
            warn_user(
                "MaskedTensor(): data requires a gradient, which does not reach it through the masked tensor\n"
                "  try: as_masked_tensor(), or data.detach()"
            )
        with tt.no_grad():
            own = data.clone()  # detach() would also drop a tangent
        return cls._over(own.requires_grad_() if requires_grad else own, mask.detach().clone())

    def __init__(self, data: tt.Tensor, mask: tt.Tensor, requires_grad: bool = False) -> None:
        """Do nothing: all is made by `__new__`."""

    @classmethod
    def _over(cls, data: tt.Tensor, mask: tt.Tensor) -> Self:
        """Return a masked tensor over data, with its history, and a mask."""
        # A shell without history: autograd follows `_data`.
        new: Any = tt.Tensor._make_subclass(cls, data.detach())
        new._data, new._mask = data, mask
        result: Self = new
        return result

    @classmethod
    def __tt_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run a function of tt on data and mask.

        Raises
        ------
        ArgumentError
            When the function is not for masked tensors.
        """
        full = tt.overrides.resolve_name(func) or ""
        name = full.removesuffix(".__get__").rpartition(".")[2]
        if name in FACTS:
            with tt.DisableTTFunctionSubclass():
                return func(*args, **(kwargs or {}))
        handler = handler_of(full, func)
        if handler is not None:
            return handler(*args, **(kwargs or {}))
        # Another tensor-like class among the arguments may handle the call.
        if not all(issubclass(kind, tt.Tensor) for kind in types):
            return NotImplemented
        raise tt.errors.ArgumentError(
            name, "masked tensors have no such function\n  try: x.to_tensor(value), a plain tensor"
        )

    # --- its parts -------------------------------------------------------------------------------------------

    def get_data(self) -> tt.Tensor:
        """Return the data, masked elements too; gradients flow through it.

        Examples
        --------
        >>> import tt
        >>> tt.masked.masked_tensor(tt.tensor([1, 2]), tt.tensor([True, False])).get_data()
        tensor([1, 2])
        """
        return self._data

    def get_mask(self) -> tt.Tensor:
        """Return the mask: True where an element counts.

        Examples
        --------
        >>> import tt
        >>> tt.masked.masked_tensor(tt.tensor([1, 2]), tt.tensor([True, False])).get_mask()
        tensor([ True, False])
        """
        return self._mask

    def to_tensor(self, value: Number) -> tt.Tensor:
        """Return a plain tensor with a number instead of masked elements.

        Examples
        --------
        >>> import tt
        >>> tt.masked.masked_tensor(tt.tensor([1, 2]), tt.tensor([True, False])).to_tensor(-1)
        tensor([ 1, -1])
        """
        return self._data.masked_fill(~self._mask, value)

    def item(self) -> Any:
        """Return the only element.

        Raises
        ------
        ValueRangeError
            When it is masked.
        """
        if self._mask.numel() == 1 and not self._mask.item():
            raise tt.errors.ValueRangeError(
                "item(): the element is masked\n  try: x.to_tensor(value).item(), or x.get_data().item()"
            )
        return self._data.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists, None for masked ones.

        Examples
        --------
        >>> import tt
        >>> tt.masked.masked_tensor(tt.tensor([1, 2]), tt.tensor([True, False])).tolist()
        [1, None]
        """
        return _listed(self._data.tolist(), self._mask.tolist())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __iter__(self) -> Any:
        return iter(tt.unbind(self, 0))

    def __repr__(self) -> str:
        return masked_text(self._data, self._mask)

    __str__ = __repr__

    def __format__(self, format_spec: str) -> str:
        return repr(self) if self._data.ndim or not format_spec else format(self.item(), format_spec)

    # --- gradients -------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the tensor are recorded."""
        return bool(self._data.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._data.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether operations on the tensor are recorded."""
        self._data.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        """The gradient, masked as the tensor is, or None."""
        gradient = self._data.grad
        return None if gradient is None else MaskedTensor._over(gradient, self._mask)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._data.grad = value._data if is_masked_tensor(value) else value

    @property
    def grad_fn(self) -> Any:
        """The node of the graph that made the data, or None."""
        return self._data.grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made the data."""
        return bool(self._data.is_leaf)

    @property
    def data(self) -> Any:
        """The same elements and mask, without history."""
        return MaskedTensor._over(self._data.detach(), self._mask)

    @data.setter
    def data(self, value: Any) -> None:
        self._data.data = value._data if is_masked_tensor(value) else value

    def retain_grad(self) -> None:
        """Keep the gradient of a result."""
        self._data.retain_grad()

    def backward(
        self,
        gradient: tt.Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: tt.Tensor | Sequence[tt.Tensor] | None = None,
    ) -> None:
        """Compute the gradients of the leaves; masked elements contribute nothing.

        Parameters
        ----------
        gradient : Tensor, optional
            Of the size of the tensor; needed unless it has one element.
        retain_graph, create_graph, inputs
            As of a plain tensor.
        """
        cotangent = _bare(gradient)
        chosen = [inputs] if isinstance(inputs, tt.Tensor) else inputs
        leaves = None if chosen is None else [_bare(x) for x in chosen]
        # Masked elements must not pass gradients on, whatever the cotangent is for them.
        kept = tt.where(self._mask, self._data, self._data.detach())
        kept.backward(cotangent, retain_graph=retain_graph, create_graph=create_graph, inputs=leaves)

    # --- copies ----------------------------------------------------------------------------------------------

    def __copy__(self) -> Any:
        return MaskedTensor._over(self._data, self._mask)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        new = MaskedTensor._over(copy.deepcopy(self._data, memo), copy.deepcopy(self._mask, memo))
        memo[id(self)] = new
        return new

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return _rebuilt, (self._data, self._mask)


def _bare(value: Any) -> Any:
    return value._data if is_masked_tensor(value) else value


def _rebuilt(data: tt.Tensor, mask: tt.Tensor) -> MaskedTensor:
    _check(data, mask)
    return MaskedTensor._over(data, mask)


def _listed(data: Any, mask: Any) -> Any:
    if not isinstance(data, list):
        return data if mask else None
    return [_listed(one, kept) for one, kept in zip(data, mask, strict=True)]


def masked_tensor(data: tt.Tensor, mask: tt.Tensor, requires_grad: bool = False) -> MaskedTensor:
    """Return a masked tensor of copies of data and mask, without history.

    Parameters
    ----------
    data : Tensor
        The elements.
    mask : Tensor
        Of bools and of the same size: True where an element counts.
    requires_grad : bool
        Whether operations are recorded.

    Raises
    ------
    ArgumentError, DataTypeError, ShapeError
        When data and mask do not fit.

    Examples
    --------
    >>> import tt
    >>> tt.masked.masked_tensor(tt.arange(4).reshape(2, 2), tt.tensor([[True, False], [True, True]]))
    MaskedTensor(
      [
        [0,       --],
        [2, 3]
      ]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: tt.Tensor, mask: tt.Tensor) -> MaskedTensor:
    """Return a masked tensor over data with its history: gradients flow to the data, zero where the mask is False.

    Parameters
    ----------
    data : Tensor
        The elements.
    mask : Tensor
        Of bools and of the same size: True where an element counts.

    Raises
    ------
    ArgumentError, DataTypeError, ShapeError
        When data and mask do not fit.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> (tt.masked.as_masked_tensor(x, tt.tensor([True, False])) * x).sum().backward()
    >>> x.grad
    tensor([2., 0.])
    """
    _check(data, mask)
    # Where a masked element is infinite or NaN, so is its gradient: it ends here.
    held = tt.where(mask, data, data.detach()) if data.requires_grad else data
    return MaskedTensor._over(held, mask)
