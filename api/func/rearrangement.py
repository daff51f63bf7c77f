"""Elements of tensors in another order, by a pattern of names: a public name of `tt.func`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import tt
from tt.errors import ArgumentError, ValueRangeError

__all__ = ["rearrange"]

Group = list[str]
"""The names of a dimension that is written as "(a b)"; a dimension by itself is a group of one."""

_DOTS = "..."
_REST = [_DOTS, _DOTS]  # the group of "..." outside of parentheses: several dimensions


def rearrange(tensor: tt.Tensor | Sequence[tt.Tensor], pattern: str, **axes_lengths: int) -> tt.Tensor:
    """Permute, split and join dimensions as a pattern says.

    Parameters
    ----------
    tensor : Tensor or sequence of Tensor
        Tensors of a sequence are stacked along a new first dimension.
    pattern : str
        The names of the dimensions before and after: "b h w c -> b (h w) c".  Parentheses join dimensions, "..."
        stands for all that are not named, and "1" or "()" for a dimension of length 1.
    **axes_lengths : int
        Lengths of names.  In each group on the left, one name at most needs none.

    Returns
    -------
    Tensor
        A view where the layout of the memory allows.

    Raises
    ------
    ValueRangeError
        When the pattern is not well-formed, or does not fit the tensor.
    ArgumentError
        If a length is not an integer.

    Examples
    --------
    >>> import tt
    >>> images = tt.zeros(32, 30, 40, 3)
    >>> tt.func.rearrange(images, "b h w c -> b c h w").shape
    tt.Size([32, 3, 30, 40])
    >>> tt.func.rearrange(images, "b (h p) (w q) c -> b (h w) (p q c)", p=10, q=10).shape
    tt.Size([32, 12, 300])
    """
    x = tensor if isinstance(tensor, tt.Tensor) else tt.stack(list(tensor))
    for name, length in axes_lengths.items():
        if not isinstance(length, int):
            raise ArgumentError("rearrange", f"the length of {name!r} must be an integer, not {length!r}")
    left, right = _sides(pattern)
    _check(pattern, left, right, axes_lengths)
    before, after = _spelled_out(pattern, left, right, x.ndim)
    sizes = _sizes(pattern, before, x.shape, axes_lengths)
    names = [name for group in before for name in group]
    # Split all groups, permute, join: views wherever memory allows.
    x = x.reshape([sizes[name] for name in names])
    x = x.permute([names.index(name) for group in after for name in group])
    return x.reshape([math.prod(sizes[name] for name in group) for group in after])


def _wrong(pattern: str, problem: str) -> ValueRangeError:
    return ValueRangeError(f"rearrange(): the pattern {pattern!r} {problem}")


def _sides(pattern: str) -> tuple[list[Group], list[Group]]:
    sides = pattern.split("->")
    if len(sides) != 2:
        raise _wrong(pattern, "must have one '->'")
    return _groups(pattern, sides[0]), _groups(pattern, sides[1])


def _groups(pattern: str, side: str) -> list[Group]:
    """Return the groups of one side; a "1" is an empty one."""
    groups: list[Group] = []
    seen: set[str] = set()
    inside = False
    for word in re.findall(r"\.\.\.|[()]|[^\s().]+|\.", side):
        if word == "(":
            if inside:
                raise _wrong(pattern, "has parentheses inside of parentheses")
            inside = True
            groups.append([])
        elif word == ")":
            if not inside:
                raise _wrong(pattern, "has a ')' without its '('")
            inside = False
        else:
            if word != _DOTS and word != "1" and not _is_name(word):
                raise _wrong(pattern, f"has {word!r}, which names no dimension; a number may only be 1")
            if word in seen:
                raise _wrong(pattern, f"has {word!r} twice on one side")
            if word != "1":
                seen.add(word)
            if not inside:
                groups.append([])
            if word == _DOTS and not inside:
                groups[-1] += _REST
            elif word != "1":
                groups[-1].append(word)
    if inside:
        raise _wrong(pattern, "has a '(' without its ')'")
    return groups


def _is_name(word: str) -> bool:
    return word.isidentifier() and not word.startswith("_") and not word.endswith("_")


def _check(pattern: str, left: list[Group], right: list[Group], lengths: dict[str, int]) -> None:
    if any(_DOTS in group and group != _REST for group in left):
        raise _wrong(pattern, "has '...' in parentheses on the left")
    first, second = ({name for group in side for name in group} for side in (left, right))
    if first != second:
        raise _wrong(pattern, f"has {', '.join(sorted(first ^ second))} on one side only")
    unknown = lengths.keys() - first
    if unknown:
        raise _wrong(pattern, f"lacks {', '.join(sorted(unknown))}, whose lengths are given")


def _spelled_out(
    pattern: str, left: list[Group], right: list[Group], ndim: int
) -> tuple[list[Group], list[Group]]:
    """Return both sides with names for the dimensions of "..."."""
    has_dots = _REST in left
    # How many dimensions "..." stands for.
    count = ndim - len(left) + has_dots
    if count < 0 or (count and not has_dots):
        least = "at least " if has_dots else ""
        raise _wrong(pattern, f"has {least}{len(left) - has_dots} dimensions, and the tensor {ndim}")
    further = [f"{_DOTS}{i}" for i in range(count)]
    before = [g for group in left for g in ([[name] for name in further] if group == _REST else [group])]
    after: list[Group] = []
    for group in right:
        if group == _REST:
            after += [[name] for name in further]
        else:
            after.append([n for name in group for n in (further if name == _DOTS else [name])])
    return before, after


def _sizes(
    pattern: str, groups: list[Group], shape: Sequence[int], lengths: dict[str, int]
) -> dict[str, int]:
    sizes = dict(lengths)
    for group, length in zip(groups, shape, strict=True):
        unknown = [name for name in group if name not in lengths]
        known = math.prod(lengths[name] for name in group if name in lengths)
        if len(unknown) > 1:
            raise _wrong(
                pattern, f"splits a dimension into {', '.join(unknown)}, whose lengths are not given"
            )
        if unknown and known > 0 and length % known == 0:
            sizes[unknown[0]] = length // known
        elif unknown or known != length:
            raise _wrong(
                pattern, f"does not fit a dimension of length {length}: ({' '.join(group)}) with {lengths}"
            )
    return sizes
