"""The names of the methods by which classes answer calls: tt's own, and PyTorch's.

Note [Two names]
----------------
A class answers calls by `__tt_function__` or by PyTorch's `__torch_function__`, and operators by `__tt_dispatch__` or
`__torch_dispatch__`; a library that was written for PyTorch works as it is.  There is one protocol and not two: the
rule `method_of` picks one attribute of a class, and that is called.  The class nearest in the order of resolution
decides, as for any attribute; one that defines both names answers tt by tt's, so that it can answer PyTorch otherwise
where both are in one process.

Subclasses of `Tensor`, and modes, are known when they are defined: `spell_both` then gives them the name that they
lack, so that `super().__torch_function__` and `super().__tt_function__` lead to the same method, and a call looks for
tt's name alone.  Other classes are looked at by the rule, which happens only where an operator refused an argument.

PyTorch's own tensors are no tensor-likes of tt: `torch.Tensor.__torch_function__` calls its function again, and would
come back here without end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

__all__ = ["DISPATCH_METHODS", "FUNCTION_METHODS", "method_of", "spell_both"]

Names: TypeAlias = tuple[str, str]

FUNCTION_METHODS: Final[Names] = ("__tt_function__", "__torch_function__")
"""What answers the functions that a user calls."""
DISPATCH_METHODS: Final[Names] = ("__tt_dispatch__", "__torch_dispatch__")
"""What answers the operators that reach the kernels."""


def method_of(kind: type, names: Names) -> str | None:
    """Return the name under which a class has the method of a protocol, or None; see Note [Two names].

    Examples
    --------
    >>> from tt.core.types.protocols import FUNCTION_METHODS, method_of
    >>> class Duck:
    ...     def __torch_function__(self, func, types, args=(), kwargs=None): ...
    >>> method_of(Duck, FUNCTION_METHODS), method_of(list, FUNCTION_METHODS)
    ('__torch_function__', None)
    """
    own, other = names
    if getattr(kind, other, None) is None:
        return None if getattr(kind, own, None) is None else own
    if getattr(kind, own, None) is None:
        # A base in PyTorch's C module: a tensor of PyTorch's own.
        return None if any(base.__module__ == "torch._C" for base in kind.__mro__) else other
    return next(name for name, _, _ in _definitions(kind, names))


def spell_both(kind: type, names: Names) -> None:
    """Give a class under both names the method that it has, or inherits, under one of them.

    Examples
    --------
    >>> from tt.core.types.protocols import FUNCTION_METHODS, spell_both
    >>> class Image:
    ...     def __torch_function__(self, func, types, args=(), kwargs=None): ...
    >>> spell_both(Image, FUNCTION_METHODS)
    >>> Image.__tt_function__ is Image.__torch_function__
    True
    """
    for name, owner, method in _definitions(kind, names):
        for other in names:
            # A base may be no tensor: it is left as it is, and the class itself gets the other name.
            if other != name and other not in vars(owner):
                setattr(kind, other, method)
        return


def _definitions(kind: type, names: Names) -> Iterator[tuple[str, type, Any]]:
    """Yield the name, the class and the method of each definition, the one that decides first."""
    for owner in kind.__mro__:
        for name in names:
            if name in vars(owner):
                yield name, owner, vars(owner)[name]
