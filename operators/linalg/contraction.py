"""Einstein's notation: reading equations, and contracting tensors by transposing, reshaping and multiplying matrices.

An index is an int: its letter's position in `LETTERS`.  The dimensions of an ellipsis get indices from `LETTERS` on,
counted from the last dimension, so that ellipses of several operands broadcast against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    ArgumentError,
    ChoiceError,
    DimensionCountError,
    DtypeError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import wrap_dim
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["Equation", "composites", "contract", "contracted_dims", "parse", "parse_sublists"]

composites: Final = CompositeTable()
composite = composites.composite

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS: Final = -1
"""Represents the dimensions that a list of indices leaves open."""

Indices = tuple[int, ...]


class Equation(NamedTuple):
    """The indices of the dimensions of each operand and of the result, ellipses written out."""

    operands: tuple[Indices, ...]
    result: Indices


# --- reading ---------------------------------------------------------------------------------------------------


def parse(equation: str, operands: Sequence[Any]) -> Equation:
    """Return what an equation such as "ij,jk->ik" means for operands.

    Raises
    ------
    ValueRangeError, ShapeError
        If it is not an equation, or does not fit the operands.
    """
    return _complete(*_read(equation), operands)


# Programs call few equations, many times each.
@lru_cache(maxsize=256)
def _read(equation: str) -> tuple[tuple[Indices, ...], Indices | None]:
    """Return the indices of the operands and, behind an arrow, of the result."""
    left, arrow, right = equation.partition("->")
    terms = tuple(_term(text, equation) for text in left.split(","))
    return terms, _term(right, equation) if arrow else None


def _term(text: str, equation: str) -> Indices:
    indices: list[int] = []
    rest = text.replace(" ", "")
    while rest:
        if rest.startswith("..."):
            if ELLIPSIS in indices:
                raise ValueRangeError(
                    f"einsum(): {text.strip()!r} in {equation!r} has more than one ellipsis"
                )
            indices.append(ELLIPSIS)
            rest = rest[3:]
        elif rest[0] in LETTERS:
            indices.append(LETTERS.index(rest[0]))
            rest = rest[1:]
        else:
            raise ValueRangeError(
                f"einsum(): invalid subscript {rest[0]!r} in the equation {equation!r}; subscripts are letters from a "
                f"to z and A to Z, and '...'"
            )
    return tuple(indices)


def parse_sublists(arguments: Sequence[Any]) -> tuple[Equation, list[Any]]:
    """Return the equation and the operands of a call with lists: tensor, indices, ..., and the result's indices."""
    operands, lists = list(arguments[::2]), list(arguments[1::2])
    result = None
    if len(arguments) % 2:
        result = operands.pop()
    if not operands or not all(isinstance(t, TensorBase) for t in operands):
        raise ChoiceError(
            "einsum", "takes an equation and tensors, or tensors each followed by a list of indices"
        )
    terms = [_sublist(value) for value in lists]
    return _complete(terms, None if result is None else _sublist(result), operands), operands


def _sublist(value: Any) -> Indices:
    if not isinstance(value, list | tuple):
        raise ArgumentError(
            "einsum", f"a list of indices must follow each tensor, not {type(value).__name__}"
        )
    indices: list[int] = []
    for item in value:
        index = ELLIPSIS if item is Ellipsis else item
        if not isinstance(index, int) or (item is not Ellipsis and not 0 <= index < len(LETTERS)):
            raise ValueRangeError(
                f"einsum(): subscripts in a list must be within [0, {len(LETTERS)}), got {item!r}"
            )
        indices.append(index)
    if indices.count(ELLIPSIS) > 1:
        raise ValueRangeError("einsum(): a list of subscripts has more than one ellipsis")
    return tuple(indices)


def _complete(terms: Sequence[Indices], result: Indices | None, operands: Sequence[Any]) -> Equation:
    """Check the terms against the operands and write out the ellipses."""
    if not operands:
        raise ValueRangeError("einsum(): no tensors are given")
    if len(terms) != len(operands):
        raise ValueRangeError(
            f"einsum(): the equation has {len(terms)} operands, and {len(operands)} tensors were given"
        )
    open_ndims = []
    for position, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        named = sum(index != ELLIPSIS for index in term)
        if operand.ndim != named if ELLIPSIS not in term else operand.ndim < named:
            raise ShapeError(
                f"einsum(): operand {position} has {operand.ndim} dimensions, and the equation names {named} of it"
            )
        open_ndims.append(operand.ndim - named if ELLIPSIS in term else 0)
    widest = max(open_ndims)
    written = tuple(_written(term, count) for term, count in zip(terms, open_ndims, strict=True))
    if result is None:
        # Without an arrow the result has the letters that occur once, in alphabetical order, as in NumPy.
        named_once = sorted(
            i for i in {*sum(terms, ())} if i != ELLIPSIS and sum(t.count(i) for t in terms) == 1
        )
        return Equation(written, (*_open(widest), *named_once))
    known = {index for term in terms for index in term}
    for index in result:
        if index != ELLIPSIS and result.count(index) > 1:
            raise ValueRangeError(f"einsum(): the output names the subscript {LETTERS[index]} twice or more")
        if index != ELLIPSIS and index not in known:
            raise ValueRangeError(
                f"einsum(): the output names the subscript {LETTERS[index]}, which no operand has"
            )
    return Equation(written, _written(result, widest))


def _open(count: int) -> Indices:
    """Return the indices of so many dimensions under an ellipsis."""
    return tuple(len(LETTERS) + position for position in range(count - 1, -1, -1))


def _written(term: Indices, count: int) -> Indices:
    if ELLIPSIS not in term:
        return term
    at = term.index(ELLIPSIS)
    return (*term[:at], *_open(count), *term[at + 1 :])


# --- contracting -----------------------------------------------------------------------------------------------


def contract(equation: Equation, operands: Sequence[Any]) -> Tensor:
    """Return the sums of products of an equation."""
    sizes = _sizes(equation, operands)
    for operand in operands[1:]:
        if operand.dtype is not operands[0].dtype:
            raise ShapeError(
                f"einsum(): all operands must have one dtype, found {operands[0].dtype.name} and {operand.dtype.name}"
            )
    terms = [_without_repeats(term, t) for term, t in zip(equation.operands, operands, strict=True)]
    # Greedy, as the best order takes exponential time to find.
    while len(terms) > 1:
        one, other = _cheapest(terms, sizes) if len(terms) > 2 else (0, 1)
        second, first = terms.pop(other), terms.pop(one)
        kept = {*equation.result}.union(*(indices for indices, _ in terms))
        terms.insert(one if not terms else len(terms), _pair(first, second, kept))
    # A product keeps the dtype, as matmul does.  A tensor alone is summed as `sum` does it: integers as int64.
    dtype = operands[0].dtype if len(operands) > 1 else None
    indices, tensor = _summed(*terms[0], {*equation.result}, dtype)
    return _permuted(tensor, tuple(indices.index(i) for i in equation.result))


def _permuted(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """Return the tensor with its dimensions in an order, itself if they are."""
    return tensor if order == tuple(range(len(order))) else ops.permute(tensor, order)


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the tensor in a shape, itself if it has it."""
    return tensor if tuple(tensor.shape) == shape else ops.reshape(tensor, shape)


def _sizes(equation: Equation, operands: Sequence[Any]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for position, (term, operand) in enumerate(zip(equation.operands, operands, strict=True)):
        for dim, index in enumerate(term):
            size = operand.shape[dim]
            if index in term[:dim] and operand.shape[term.index(index)] != size:
                raise ShapeError(
                    f"einsum(): subscript {LETTERS[index]} is repeated for operand {position}, but the sizes differ: "
                    f"{operand.shape[term.index(index)]} and {size}"
                )
            known = sizes.setdefault(index, size)
            if known == 1:
                sizes[index] = size
            elif size not in (1, known):
                name = LETTERS[index] if index < len(LETTERS) else "..."
                raise ShapeError(
                    f"einsum(): subscript {name} has size {size} in operand {position} and {known} in one before it, "
                    f"which do not broadcast"
                )
    return sizes


def _without_repeats(term: Indices, tensor: Tensor) -> tuple[Indices, Any]:
    """Take the diagonal over dimensions with the same index."""
    for index in dict.fromkeys(term):
        while term.count(index) > 1:
            one = term.index(index)
            other = term.index(index, one + 1)
            tensor = ops.movedim(ops.diagonal(tensor, 0, one, other), -1, one)
            term = term[:other] + term[other + 1 :]
    return term, tensor


def _cheapest(terms: Sequence[tuple[Indices, Any]], sizes: dict[int, int]) -> tuple[int, int]:
    """Return the pair whose product is smallest compared with its operands: the greedy order."""

    def size(indices: Any) -> int:
        return prod(sizes[i] for i in indices)

    def gain(pair: tuple[int, int]) -> tuple[int, int]:
        one, other = terms[pair[0]][0], terms[pair[1]][0]
        rest = {i for position, (indices, _) in enumerate(terms) if position not in pair for i in indices}
        shared = {*one} & {*other}
        left = ({*one} | {*other}) - (shared - rest)
        return size(left) - size(one) - size(other), size({*one, *other})

    pairs = [(a, b) for b in range(len(terms)) for a in range(b)]
    # Pairs without a common index make outer products, which only grow.
    connected = [(a, b) for a, b in pairs if {*terms[a][0]} & {*terms[b][0]}]
    return min(connected or pairs, key=gain)


def _summed(indices: Indices, tensor: Tensor, kept: set[int], dtype: Dtype | None) -> tuple[Indices, Any]:
    """Sum over the dimensions that are not kept."""
    dims = tuple(dim for dim, index in enumerate(indices) if index not in kept)
    if not dims:
        return indices, tensor
    return tuple(i for i in indices if i in kept), ops.sum.dim(tensor, dims, False, dtype=dtype)


def _pair(first: tuple[Indices, Any], second: tuple[Indices, Any], kept: set[int]) -> tuple[Indices, Any]:
    """Multiply two tensors and sum over the indices that are not kept: one product of batches of matrices."""
    # A dimension of size 1 against a larger one repeats its element, which needs no product.
    (a, x), (b, y) = _narrowed(*first, *second), _narrowed(*second, *first)
    # Dimensions of one operand that are not kept are summed before the product.
    (a, x), (b, y) = _summed(a, x, kept | {*b}, x.dtype), _summed(b, y, kept | {*a}, y.dtype)
    batch = tuple(i for i in a if i in b and i in kept)
    inner = tuple(i for i in a if i in b and i not in kept)
    rows = tuple(i for i in a if i not in b)
    columns = tuple(i for i in b if i not in a)
    sizes = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}

    def arranged(indices: Indices, tensor: Tensor, order: tuple[Indices, ...]) -> Tensor:
        turned = _permuted(tensor, tuple(indices.index(i) for part in order for i in part))
        shape = [sizes[i] for i in order[0]] + [prod(sizes[i] for i in part) for part in order[1:]]
        return _reshaped(turned, tuple(shape))

    result = (*batch, *rows, *columns)
    if inner:
        product = ops.matmul(arranged(a, x, (batch, rows, inner)), arranged(b, y, (batch, inner, columns)))
    else:  # no product of matrices, which autocast would lower
        product = ops.mul(arranged(a, x, (batch, rows, ())), arranged(b, y, (batch, (), columns)))
    return result, _reshaped(product, tuple(sizes[i] for i in result))


def _narrowed(a: Indices, x: Tensor, b: Indices, y: Tensor) -> tuple[Indices, Any]:
    """Drop the dimensions of size 1 that are larger in the other tensor; the product has them from there."""
    sizes = dict(zip(b, y.shape, strict=True))
    dims = [dim for dim, i in enumerate(a) if x.shape[dim] == 1 and sizes.get(i, 1) != 1]
    for dim in reversed(dims):
        x = ops.squeeze.dim(x, dim)
    return tuple(i for dim, i in enumerate(a) if dim not in dims), x


# --- tensordot -------------------------------------------------------------------------------------------------


def contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    """Return the dimensions of both tensors over which `tensordot` sums, counted from the front."""
    if isinstance(dims, TensorBase):
        value: Any = dims
        dims = value.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise ValueRangeError(f"tensordot(): expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise ValueRangeError(
                f"tensordot(): expects dims < ndim_a or ndim_b, but got dims={dims} for {a.ndim}D and {b.ndim}D tensors"
            )
        return list(range(a.ndim - dims, a.ndim)), list(range(dims))
    pair = [[d] if isinstance(d, int) else d for d in dims] if isinstance(dims, list | tuple) else []
    if len(pair) != 2 or not all(
        isinstance(part, list | tuple) and all(isinstance(d, int) for d in part) for part in pair
    ):
        raise ChoiceError("tensordot", f"dims must be an int or a pair of lists of ints, not {dims!r}")
    left, right = pair
    if len(left) != len(right):
        raise ShapeError(f"tensordot(): both dimension lists should have same length, got {left} and {right}")
    wrapped = [[wrap_dim("tensordot", d, t.ndim) for d in part] for part, t in ((left, a), (right, b))]
    for part in wrapped:
        if len({*part}) != len(part):
            raise ShapeError(f"tensordot(): a dimension appears twice in {part}")
    return wrapped[0], wrapped[1]


@composite("tensordot.dims")
@composite("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any) -> Tensor:
    left, right = contracted_dims(a, b, dims)
    if a.dtype is not b.dtype:
        raise DtypeError(f"tensordot(): both inputs should have same dtype, but got {a.dtype} and {b.dtype}")
    for one, other in zip(left, right, strict=True):
        sizes = a.shape[one], b.shape[other]
        if sizes[0] == sizes[1]:
            continue
        if 1 not in sizes:
            raise ShapeError(
                f"tensordot(): contracted dimensions need to match, but first has size {sizes[0]} in dim {one} and "
                f"second has size {sizes[1]} in dim {other}"
            )
        # A dimension of size 1 represents as many equal elements as the other has.
        a = a if sizes[0] == 1 else ops.sum.dim(a, (one,), True, dtype=a.dtype)
        b = b if sizes[1] == 1 else ops.sum.dim(b, (other,), True, dtype=b.dtype)
    rows = [d for d in range(a.ndim) if d not in left]
    columns = [d for d in range(b.ndim) if d not in right]
    inner = prod(a.shape[d] for d in left)
    shape = [a.shape[d] for d in rows] + [b.shape[d] for d in columns]
    first = ops.reshape(ops.permute(a, (*rows, *left)), (prod(a.shape[d] for d in rows), inner))
    second = ops.reshape(ops.permute(b, (*right, *columns)), (inner, prod(b.shape[d] for d in columns)))
    if prod(shape) == 1:  # as in PyTorch, whose autocast lowers products of matrices and no dot products
        return ops.reshape(ops.dot(ops.reshape(first, (-1,)), ops.reshape(second, (-1,))), tuple(shape))
    return ops.reshape(ops.mm(first, second), tuple(shape))


# --- operators of equations ------------------------------------------------------------------------------------

composite("einsum", lambda equation, operands: contract(parse(equation, operands), operands))
composite("einsum.sublist", lambda operands: contract(*parse_sublists(operands)))


@composite("bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if not input1.ndim or not input2.ndim:
        raise ShapeError("bilinear(): the inputs have at least one dimension, and one of them has none")
    if input1.shape[:-1] != input2.shape[:-1]:
        raise ShapeError(
            f"bilinear(): the inputs differ before the last dimension: {list(input1.shape)} and {list(input2.shape)}"
        )
    if weight.ndim != 3:
        raise DimensionCountError(f"bilinear(): weight has 3 dimensions, not {weight.ndim}")
    if (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise ShapeError(
            f"bilinear(): weight {list(weight.shape)} does not fit inputs of sizes {input1.shape[-1]} and "
            f"{input2.shape[-1]}"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError(f"bilinear(): bias must have {weight.shape[0]} elements, got {list(bias.shape)}")
    result = contract(parse("...i,kij,...j->...k", [input1, weight, input2]), [input1, weight, input2])
    return result if bias is None else ops.add(result, bias)
