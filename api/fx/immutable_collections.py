"""tt.fx.immutable_collections: lists and dicts that cannot be changed, in which nodes keep their arguments.

A node knows which nodes it uses, and they know their users.  A list that changed behind the node's back would make
both wrong, so arguments are changed as a whole: ``node.args = ...``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from tt.errors import ArgumentError
from tt.utils import _pytree as pytree

__all__ = ["immutable_dict", "immutable_list"]

T = TypeVar("T")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise ArgumentError(
        type(self).__name__,
        f"'{type(self).__name__}' object does not support mutation: it is an argument of a node",
        hint="make a copy, change that, and assign it: new_args = ...; node.args = new_args",
    )


class immutable_list(list[T]):  # noqa: N801 - PyTorch's name
    """A list whose elements stay.

    Examples
    --------
    >>> from tt.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2]) == [1, 2], hash(immutable_list([1])) == hash(immutable_list([1]))
    (True, True)
    """

    __slots__ = ()
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override] # a list has none because it can change
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class immutable_dict(dict[str, T]):  # noqa: N801 - PyTorch's name
    """A dict whose items stay.

    Examples
    --------
    >>> from tt.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1) == {"a": 1}
    True
    """

    __slots__ = ()
    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override] # a dict has none because it can change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self.items()),)


def _list_children(value: list[Any]) -> tuple[list[Any], None]:
    return list(value), None


def _dict_children(value: dict[str, Any]) -> tuple[list[Any], list[str]]:
    return list(value.values()), list(value)


def _made_dict(children: Iterable[Any], keys: list[str]) -> immutable_dict[Any]:
    return immutable_dict(zip(keys, children, strict=True))


pytree.register_pytree_node(immutable_list, _list_children, lambda children, _: immutable_list(children))
pytree.register_pytree_node(immutable_dict, _dict_children, _made_dict)
