"""Containers of parameters: ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Self

import tt
from tt.nn.modules.container import _pairs, _position
from tt.nn.modules.module import Module
from tt.nn.modules.registration import typename
from tt.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def _described(value: object, name: str) -> str:
    """Return an entry as the repr of a container shows it."""
    if not isinstance(value, tt.Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(s) for s in value.shape)
    where = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{name} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters, which are registered; tensors become parameters, other values stay as they are.

    Parameters
    ----------
    values : iterable, optional
        The entries.

    Examples
    --------
    >>> import tt
    >>> params = tt.nn.ParameterList([tt.zeros(2), tt.ones(3)])
    >>> len(list(params.parameters())), params[1].requires_grad
    (2, True)
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[position] for position in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: int, param: object) -> None:
        # As in PyTorch, plain tensors become parameters, so that optimizers find them.
        if isinstance(param, tt.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, str(_position(index, len(self))), param)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: object) -> Self:
        """Add an entry at the end."""
        # First, because assigning checks the position against the size.
        self._size += 1
        try:
            self[self._size - 1] = value
        except BaseException:
            self._size -= 1
            raise
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add entries at the end.

        Raises
        ------
        TypeError
            If they are not iterable, or are one tensor.
        """
        items: object = values
        if isinstance(items, tt.Tensor) or not isinstance(items, Iterable):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {typename(values)}"
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return the entries, one a line."""
        lines = [
            f"  ({index}): {_described(value, str(getattr(value, 'dtype', '')))}"
            for index, value in enumerate(self)
        ]
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a container of parameters computes nothing."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, which are registered; tensors become parameters, other values stay as they are.

    Parameters
    ----------
    parameters : mapping or iterable of pairs, optional
        The entries, by names.

    Examples
    --------
    >>> import tt
    >>> params = tt.nn.ParameterDict({"scale": tt.ones(2)})
    >>> params["scale"]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"a key of a ParameterDict is a string, and {key!r} is of type {type(key).__name__!r}"
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: object) -> None:
        name = self._key_to_attr(key)
        if isinstance(value, tt.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a dictionary of the same parameters."""
        return ParameterDict((key, self[key]) for key in self._keys)

    def setdefault(self, key: str, default: object = None) -> Any:
        """Return an entry; one that is missing is added with a default first."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove an entry and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the entry that was added last, and return its name and value."""
        key, _ = self._keys.popitem()
        value = self[key]
        delattr(self, self._key_to_attr(key))
        return key, value

    def get(self, key: str, default: object = None) -> Any:
        """Return an entry, or a default for one that is missing."""
        return self[key] if key in self else default  # noqa: SIM401 - this is get

    def fromkeys(self, keys: Iterable[str], default: object = None) -> ParameterDict:
        """Return a dictionary with one value for several names."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: ParameterDict | Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add entries; those of the same names are replaced.

        The entries of a plain dictionary are added in the order of their names.

        Raises
        ------
        TypeError
            If `parameters` is neither a mapping nor an iterable of pairs.
        ValueError
            If an element is not a pair.
        """
        entries = _pairs("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            # As in PyTorch, plain dicts are entered by sorted keys, and those with an order keep it.
            entries = sorted(entries)
        for key, value in entries:
            self[key] = value

    def extra_repr(self) -> str:
        """Return the entries, one a line."""
        lines = [
            f"  ({key}): {_described(value, str(value.type()) if isinstance(value, tt.Tensor) else '')}"
            for key, value in self.items()
        ]
        return "\n".join(lines)

    def __call__(self, input: object) -> Any:
        """Refuse: a container of parameters computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        new = other.copy()
        new.update(self)
        return new

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
