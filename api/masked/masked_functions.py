"""The implementations of tt's functions for masked tensors, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import tt
from tt.library import REGISTRY
from tt.masked import normalizations, reductions

if TYPE_CHECKING:
    from tt.masked.masked_tensor import MaskedTensor

__all__ = ["FACTS", "handler_of"]

Handler = Callable[..., Any]

STRUCTURAL: Final = frozenset({
    "H", "T", "__getitem__", "adjoint", "alias", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "cat",
    "chunk", "clone", "column_stack", "concat", "concatenate", "contiguous", "detach", "diagonal", "dsplit", "dstack",
    "expand", "expand_as", "flatten", "flip", "fliplr", "flipud", "gather", "hsplit", "hstack", "index_select", "mH",
    "mT", "moveaxis", "movedim", "narrow", "permute", "positive", "ravel", "repeat", "repeat_interleave", "reshape",
    "reshape_as", "roll", "rot90", "select", "slice", "split", "split_with_sizes", "squeeze", "stack", "swapaxes",
    "swapdims", "t", "take_along_dim", "tensor_split", "tile", "transpose", "unbind", "unflatten", "unfold",
    "unsqueeze", "view", "view_as", "vsplit", "vstack",
})  # fmt: skip
"""Functions that move elements: they move those of the mask in the same way."""
ELEMENTWISE: Final = frozenset({
    "angle", "absolute", "divide", "dropout", "fix", "float_power", "greater", "greater_equal", "hardtanh", "isclose",
    "less", "less_equal", "masked_fill", "multiply", "negative", "not_equal", "relu6", "softsign", "subtract",
    "tanhshrink", "true_divide",
})  # fmt: skip
"""Functions of each element alone, besides the operators that the schema calls pointwise."""
CONVERSIONS: Final = frozenset({
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "cpu", "cuda", "double", "float", "half", "int", "long",
    "short", "to", "type_as",
})  # fmt: skip
LIKE: Final = frozenset({
    "empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like",
})  # fmt: skip
FACTS: Final = frozenset({
    "__hash__", "__len__", "_version", "device", "dim", "dtype", "element_size", "get_device", "is_complex",
    "is_contiguous", "is_cpu", "is_cuda", "is_floating_point", "is_meta", "is_nested", "is_same_size", "is_signed",
    "is_sparse", "is_sparse_csr", "itemsize", "layout", "names", "nbytes", "ndim", "ndimension", "nelement",
    "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "numel", "shape", "size", "storage_offset",
    "stride",
})  # fmt: skip
"""Functions that concern no element."""


def _made(data: tt.Tensor, mask: tt.Tensor) -> Any:
    from tt.masked.masked_tensor import MaskedTensor

    return MaskedTensor._over(data, mask)


def _is_masked(value: object) -> bool:
    from tt.masked.masked_tensor import MaskedTensor

    return isinstance(value, MaskedTensor)


def _mapped(value: object, change: Callable[[Any], Any]) -> Any:
    """Return arguments with all tensors, those in lists too, replaced."""
    if isinstance(value, tt.Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return (
            type(value)([_mapped(item, change) for item in value]) if type(value) in (list, tuple) else value
        )
    return value


def _data(value: object) -> Any:
    return _mapped(value, lambda t: t._data if _is_masked(t) else t)


def _first(args: Sequence[Any]) -> MaskedTensor:
    for value in args:
        if isinstance(value, list | tuple):
            if any(_is_masked(item) for item in value):
                return _first(value)
        elif _is_masked(value):
            result: MaskedTensor = value
            return result
    raise LookupError("no masked tensor")


# --- elements --------------------------------------------------------------------------------------------------------


def _common_mask(name: str, args: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return the mask of a result, which all masked arguments must agree on."""
    masks = [value._mask for value in args if _is_masked(value)]
    whole = [tt.broadcast_to(mask, tuple(shape)) for mask in masks]
    # Where only one of two elements counts, neither mask is right for the result.
    if any(not tt.equal(whole[0], other) for other in whole[1:]):
        raise tt.errors.ValueRangeError(
            f"{name}(): Input masks must match\n"
            "  try: x.to_tensor(value) of one argument, or tt.where(x.get_mask(), x, y)"
        )
    return whole[0]


def _elementwise(name: str, func: Handler) -> Handler:
    def handler(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            raise tt.errors.ArgumentError(name, "out= is not for masked tensors")
        everything = (*args, *kwargs.values())
        shape = tt.broadcast_shapes(*(tuple(v.shape) for v in everything if isinstance(v, tt.Tensor)))
        mask = _common_mask(name, everything, shape)
        result = func(*_data(args), **{key: _data(value) for key, value in kwargs.items()})
        if isinstance(result, tuple | list):
            return type(result)([_made(part, mask) for part in result])
        return _made(result, mask)

    return handler


def _in_place(name: str, func: Handler) -> Handler:
    def handler(self: Any, *args: Any, **kwargs: Any) -> Any:
        everything = (self, *args, *kwargs.values())
        if not _is_masked(self):
            raise tt.errors.InplaceError(
                f"{name}(): a tensor without a mask does not take masked elements\n  try: x.to_tensor(value) of these"
            )
        mask = _common_mask(name, everything, tuple(self._mask.shape))
        func(self._data, *_data(args), **{key: _data(value) for key, value in kwargs.items()})
        self._mask = mask
        return self

    return handler


def _where(condition: tt.Tensor, input: Any = None, other: Any = None) -> Any:
    if _is_masked(condition) or input is None:
        raise tt.errors.ArgumentError("where", "the condition of masked tensors is a tensor without a mask")
    result = tt.where(condition, _data(input), _data(other))

    def mask_of(value: Any) -> Any:
        shown = value._mask if _is_masked(value) else tt.ones((), dtype=tt.bool, device=result.device)
        return tt.broadcast_to(shown, tuple(result.shape))

    chosen = tt.where(condition, mask_of(input), mask_of(other))
    return _made(result, chosen)


def _of_tensor_where(self: tt.Tensor, condition: tt.Tensor, other: Any) -> Any:
    return _where(condition, self, other)


def _like(func: Handler) -> Handler:
    def handler(self: Any, *args: Any, **kwargs: Any) -> Any:
        gradient = kwargs.pop("requires_grad", False)
        result = _made(func(self._data, *args, **kwargs), self._mask.clone())
        return result.requires_grad_() if gradient else result

    return handler


def _converted(func: Handler) -> Handler:
    def handler(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_masked(self):
            return func(self, *_data(args), **kwargs)
        result = func(self._data, *_data(args), **kwargs)
        return self if result is self._data else _made(result, self._mask.to(result.device))

    return handler


# --- structure -------------------------------------------------------------------------------------------------------


def _mask_as_data(value: object) -> Any:
    """Return the masks of tensors; an index keeps its numbers."""

    def mask_of(tensor: Any) -> Any:
        return tensor._mask if _is_masked(tensor) else tt.ones_like(tensor, dtype=tt.bool)

    return _mapped(value, mask_of)


def _structural(name: str, func: Handler) -> Handler:
    def handler(first: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_masked(first) and not isinstance(first, list | tuple):
            raise tt.errors.ArgumentError(name, "an index or a shape is a tensor without a mask")
        if any(_is_masked(value) for value in (*args, *kwargs.values())) and name not in (
            "view_as",
            "expand_as",
        ):
            raise tt.errors.ArgumentError(name, "an index is a tensor without a mask")
        rest, named = _data(args), {key: _data(value) for key, value in kwargs.items()}
        # The mask goes the same way as the data, so each function is stated once.
        result, mask = func(_data(first), *rest, **named), func(_mask_as_data(first), *rest, **named)
        if isinstance(result, tuple | list):
            return type(result)([_made(one, other) for one, other in zip(result, mask, strict=True)])
        return _made(result, mask)

    return handler


# --- reductions ------------------------------------------------------------------------------------------------------


def _reduced_mask(mask: tt.Tensor, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    """Return where a reduction has at least one element."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        result = mask.any()
        return result.reshape((1,) * mask.ndim) if keepdim else result
    return mask.any(dim, keepdim) if mask.ndim else mask


def _dims(dim: Any, kwargs: dict[str, Any]) -> Any:
    dim = kwargs.pop("axis", dim)
    return tuple(dim) if isinstance(dim, list) else dim


def _reduction(name: str) -> Handler:
    function: Any = getattr(reductions, name)

    def handler(
        input: MaskedTensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, **kwargs: Any
    ) -> Any:
        dim = _dims(dim, kwargs)
        keepdim = kwargs.pop("keepdims", keepdim)
        if name == "median" and dim is None:
            # The median has no form over all dimensions with a mask.
            flat, kept = input._data.reshape(-1), input._mask.reshape(-1)
            return _made(function(flat, -1, mask=kept, **kwargs), kept.any())
        result = function(input._data, dim, keepdim=keepdim, mask=input._mask, **kwargs)
        return _made(result, _reduced_mask(input._mask, dim, keepdim))

    return handler


def _variance(name: str) -> Handler:
    function: Any = getattr(reductions, name)

    def handler(
        input: MaskedTensor,
        dim: int | Sequence[int] | None = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        **kwargs: Any,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dim = _dims(dim, kwargs)
        by = correction if correction is not None else 1 if unbiased is None else int(unbiased)
        if by not in (0, 1):
            raise tt.errors.ValueRangeError(
                f"{name}(): correction must be 0 or 1 for masked tensors, got {by}"
            )
        result = function(input._data, dim, bool(by), keepdim=keepdim, mask=input._mask, **kwargs)
        return _made(result, _reduced_mask(input._mask, dim, keepdim))

    return handler


def _norm(
    input: MaskedTensor,
    p: Any = 2,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
) -> Any:
    order = 2.0 if p in ("fro", None) else p
    result = reductions.norm(input._data, order, dim, keepdim=keepdim, dtype=dtype, mask=input._mask)
    return _made(result, _reduced_mask(input._mask, dim, keepdim))


def _logical(name: str) -> Handler:
    def handler(input: MaskedTensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
        data = input._data.to(tt.bool)
        # True changes no "all", and False no "any".
        filled = tt.where(input._mask, data, tt.tensor(name == "all", device=data.device))
        result = getattr(tt, name)(filled) if dim is None else getattr(tt, name)(filled, dim, keepdim)
        return _made(result, _reduced_mask(input._mask, dim, keepdim))

    return handler


def _extreme(name: str) -> Handler:
    value: Any = getattr(reductions, f"a{name}")
    index_of: Any = getattr(reductions, f"arg{name}")
    pointwise = "maximum" if name == "max" else "minimum"

    def handler(input: MaskedTensor, dim: int | tt.Tensor | None = None, keepdim: bool = False) -> Any:
        if isinstance(dim, tt.Tensor):
            return getattr(tt, pointwise)(input, dim)
        if dim is None:
            return _made(value(input._data, None, mask=input._mask), _reduced_mask(input._mask, None, False))
        mask = _reduced_mask(input._mask, dim, keepdim)
        result = [
            _made(f(input._data, dim, keepdim=keepdim, mask=input._mask), mask) for f in (value, index_of)
        ]
        # The class of the result with names, of the operator itself.
        kind: Any = type(getattr(tt, name)(tt.zeros(1), 0))
        return kind(result)

    return handler


def _along(module: ModuleType, name: str) -> Handler:
    function: Any = getattr(module, name)

    def handler(
        input: MaskedTensor, dim: int | Sequence[int] | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        # PyTorch's functions have it for their warnings.
        kwargs.pop("_stacklevel", None)
        if args:
            kwargs["dtype"] = args[-1]
        if dim is None:
            raise tt.errors.ArgumentError(name, "masked tensors need a dimension: dim=-1")
        return _made(function(input._data, dim, mask=input._mask, **kwargs), input._mask)

    return handler


REDUCTIONS: Final = ("amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "prod", "sum")
ALONG: Final = {
    "softmax": normalizations, "log_softmax": normalizations, "softmin": normalizations,
    "cumsum": reductions, "cumprod": reductions,
}  # fmt: skip
SPECIAL: Final[dict[str, Handler]] = {
    **{name: _reduction(name) for name in REDUCTIONS},
    **{name: _along(module, name) for name, module in ALONG.items()},
    "std": _variance("std"), "var": _variance("var"), "norm": _norm, "all": _logical("all"), "any": _logical("any"),
    "max": _extreme("max"), "min": _extreme("min"), "where": _where, "Tensor.where": _of_tensor_where,
}  # fmt: skip


@cache
def _pointwise() -> frozenset[str]:
    definitions = [REGISTRY.definition(name) for name in REGISTRY.names()]
    return (
        frozenset(d.signature.name for d in definitions if d is not None and d.kind == "pointwise")
        | ELEMENTWISE
    )


def handler_of(full: str, func: Handler) -> Handler | None:
    """Return the implementation of a function of tt for masked tensors, by its full name, or None."""
    # Getters of attributes have names of their own.
    path = full.removesuffix(".__get__").removeprefix("tt.")
    name = path.rpartition(".")[2]
    if path in SPECIAL or name in SPECIAL:
        return SPECIAL.get(path) or SPECIAL[name]
    if name in STRUCTURAL:
        return _structural(name, func)
    if name in CONVERSIONS:
        return _converted(func)
    if name in LIKE:
        return _like(func)
    if name in _pointwise():
        return _elementwise(name, func)
    if name.endswith("_") and name.removesuffix("_") in _pointwise() | {"fill", "zero", "copy"}:
        return _in_place(name, func)
    return None
