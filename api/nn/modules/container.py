"""Containers of modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, SupportsIndex

from tt.core.lazy import attach
from tt.library import warn_user
from tt.nn.modules.module import Module, _addindent
from tt.nn.modules.registration import typename

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


def _position(index: SupportsIndex, length: int) -> int:
    """Return an index counted from the start.

    Raises
    ------
    IndexError
        If it is out of range.
    """
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range for {length} entries")
    return int(index) % length


class Container(Module):
    """A module with the given submodules; deprecated, because `Module` does the same.

    Examples
    --------
    >>> import tt
    >>> issubclass(tt.nn.Container, tt.nn.Module)
    True
    """

    def __init__(self, **kwargs: Module | None) -> None:
        super().__init__()
        warn_user("`nn.Container` is deprecated: a subclass of `nn.Module` does the same", FutureWarning)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """Submodules in a row, whose names are those of their places; a slice keeps the order."""

    _modules: dict[str, Module]

    def _key(self, index: SupportsIndex) -> str:
        return list(self._modules)[_position(index, len(self._modules))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        keys = list(self._modules)
        for key in keys[index] if isinstance(index, slice) else [self._key(index)]:
            delattr(self, key)
        # Names are positions, so those behind the gap move up.
        self._renumber(self._modules.values())

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(number): module for number, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        # Numbers are no names that a program could write after a dot.
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        modules = list(self._modules.values())
        modules.insert(index, module)
        self.add_module(str(len(self)), module)  # checks it, and calls the hooks of registration
        self._renumber(modules)

    def pop(self, key: int | slice) -> Any:
        """Remove a module and return it."""
        value = self[key]
        del self[key]
        return value

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        return self._modules[self._key(index)]

    def _slice(self, index: slice) -> Any:
        return type(self)(list(self._modules.values())[index])


class Sequential(_Numbered):
    """Calls modules one after the other, each with the output of the one before.

    Parameters
    ----------
    *args : Module, or one OrderedDict of them
        The modules; in a dictionary with their names.

    Examples
    --------
    >>> import tt
    >>> model = tt.nn.Sequential(tt.nn.Linear(2, 4), tt.nn.Identity())
    >>> model(tt.ones(3, 2)).shape
    tt.Size([3, 4])
    >>> model[:1]
    Sequential(
      (0): Linear(in_features=2, out_features=4, bias=True)
    )
    """

    def __init__(self, *args: Module | OrderedDict[str, Module]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for index, layer in enumerate(args):
                self.add_module(str(index), layer)  # type: ignore[arg-type]  # it refuses an OrderedDict

    def _slice(self, index: slice) -> Sequential:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def __add__(self, other: Sequential) -> Sequential:
        self._check("add", other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        self._check("add", other)
        return self.extend(list(other))

    def _check(self, name: str, other: object) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"{name} operator supports only objects of Sequential class, but {type(other)} is given."
            )

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(module for _ in range(self._times(other)) for module in self))

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        # A copy, because `extend` lengthens what is iterated.
        modules = list(self)
        for _ in range(self._times(other) - 1):
            self.extend(modules)
        return self

    def _times(self, other: object) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def forward(self, input: Any) -> Any:
        """Call the modules in order."""
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before an index.

        Raises
        ------
        AssertionError
            If it is not a module; it is a TypeError, too.
        IndexError
            If the index is out of range.
        """
        if not isinstance(module, Module):
            raise _NotAModuleError(f"{typename(module)} is not a Module subclass")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self


class _NotAModuleError(TypeError, AssertionError):
    """A TypeError, as for the other methods; PyTorch's `insert` asserts."""


class ModuleList(_Numbered):
    """A list of modules, which are registered.

    Parameters
    ----------
    modules : iterable of Module, optional
        The modules.

    Examples
    --------
    >>> import tt
    >>> layers = tt.nn.ModuleList(tt.nn.Linear(2, 2) for _ in range(3))
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before an index."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end.

        Raises
        ------
        TypeError
            If they are not iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {typename(modules)}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Return the modules, equal ones in a row as one line."""
        if not len(self):
            return f"{self._get_name()}()"
        groups: list[tuple[str, int, int]] = []
        for index, module in enumerate(self):
            text = repr(module)
            if groups and groups[-1][0] == text:
                groups[-1] = (text, groups[-1][1], index)
            else:
                groups.append((text, index, index))
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for text, first, last in groups
        ]
        body = "\n  ".join(_addindent(line, 2) for line in lines)
        return f"{self._get_name()}(\n  {body}\n)"


def _pairs(name: str, given: object) -> list[tuple[Any, Any]]:
    """Return the items of a mapping or of an iterable of pairs.

    Raises
    ------
    TypeError
        If it is neither.
    ValueError
        If an element is not a pair.
    """
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {typename(given)}"
        )
    if hasattr(given, "items"):
        return list(given.items())
    pairs = []
    for index, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{name} update sequence element #{index} should be Iterable; is {typename(pair)}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{index} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


class ModuleDict(Module):
    """A dictionary of modules, which are registered; it keeps the order in which they were added.

    Parameters
    ----------
    modules : mapping of str to Module, or iterable of pairs, optional
        The modules.

    Examples
    --------
    >>> import tt
    >>> choices = tt.nn.ModuleDict({"linear": tt.nn.Linear(2, 2), "none": tt.nn.Identity()})
    >>> list(choices), choices["none"]
    (['linear', 'none'], Identity())
    """

    _modules: dict[str, Module]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it."""
        value = self[key]
        del self[key]
        return value

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Return names and modules."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules; those of the same names are replaced.

        Raises
        ------
        TypeError
            If `modules` is neither a mapping nor an iterable of pairs.
        ValueError
            If an element is not a pair.
        """
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


# They are in a module of their own here, and in this one in PyTorch.
attach(__name__, {"tt.nn.modules.parameter_containers": "ParameterDict ParameterList"})
