"""Named tuples of operators with several results: `tt.max(x, 0).values`."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any

__all__ = ["return_type"]


class _NamedResult(tuple[Any, ...]):
    """The base of the results; prints as PyTorch's do."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        inner = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"tt.return_types.{type(self).__name__}(\n{inner})"

    @classmethod
    def _make(cls, values: Any) -> Any:
        return tuple.__new__(cls, values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self).__name__, self._fields, tuple(self))


def _restore(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return return_type(name, fields)._make(values)


@cache
def return_type(name: str, fields: tuple[str, ...]) -> Any:
    """Return the class of results with these names; the same class for the same name and fields."""
    members: dict[str, Any] = {"__slots__": (), "_fields": fields, "__module__": "tt.return_types"}
    for index, field in enumerate(fields):
        members[field] = property(itemgetter(index))
    return type(name, (_NamedResult,), members)
