"""Tensors of a module by their dotted names: read, exchanged and deleted where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import tt

__all__ = ["NamedMemberAccessor", "swap_tensor"]

_ABSENT: Any = object()


def swap_tensor(module: tt.nn.Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor into the table of a module that holds a name, and return what was there.

    Parameters
    ----------
    module : Module
        The module itself, not one above it.
    name : str
        The name of a parameter, a buffer, or another tensor.
    tensor : Tensor or None
        What takes its place, unchanged: a tensor need not be a `Parameter`.
    allow_missing : bool
        Whether there may be nothing of the name.

    Raises
    ------
    TypeError
        If the module is no module, or what has the name no tensor.
    KeyError
        For a name with a dot, or an empty one.
    AttributeError
        If there is nothing of the name.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils._named_member_accessor import swap_tensor
    >>> layer = tt.nn.Linear(1, 1, bias=False)
    >>> before = swap_tensor(layer, "weight", tt.full((1, 1), 2.0))
    >>> layer(tt.ones(1, 1))
    tensor([[2.]])
    """
    if not isinstance(module, tt.nn.Module):
        raise TypeError(f"{module} is not an instance of Module")
    if tensor is not None and tensor is not _ABSENT and not isinstance(tensor, tt.Tensor):
        raise TypeError(f"{tensor} is not an instance of Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    before: Any
    for table in (module._parameters, module._buffers):
        if name in table:
            before = table[name]
            if tensor is _ABSENT:
                del table[name]
            else:
                table[name] = tensor
            return before
    before = getattr(module, name, _ABSENT)
    if before is _ABSENT and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute {name!r}")
    if before is not _ABSENT and not isinstance(before, tt.Tensor):
        raise TypeError(f"attribute {name!r}: {before} is not an instance of Tensor")
    if tensor is not _ABSENT:
        setattr(module, name, tensor)
    elif before is not _ABSENT:
        delattr(module, name)
    return None if before is _ABSENT else before


class NamedMemberAccessor:
    """Reads and exchanges tensors of a module by dotted names.

    Parameters
    ----------
    module : Module
        The module at which the names start.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils._named_member_accessor import NamedMemberAccessor
    >>> model = tt.nn.Sequential(tt.nn.Linear(1, 2))
    >>> NamedMemberAccessor(model).get_tensor("0.bias").shape
    tt.Size([2])
    """

    def __init__(self, module: tt.nn.Module) -> None:
        self.module = module

    def get_submodule(self, name: str) -> tt.nn.Module:
        """Return a module by its name; the empty name is that of the module itself."""
        return self.module.get_submodule(name)

    def get_tensor(self, name: str) -> tt.Tensor:
        """Return a tensor.

        Raises
        ------
        AttributeError
            If there is nothing of the name.
        TypeError
            If it is no tensor.
        """
        parent, _, last = name.rpartition(".")
        tensor = getattr(self.get_submodule(parent), last)
        if not isinstance(tensor, tt.Tensor):
            raise TypeError(f"{tensor} is not an instance of Tensor")
        return tensor

    def set_tensor(self, name: str, value: tt.Tensor) -> None:
        """Put a tensor in the place of another."""
        self.swap_tensor(name, value)

    def del_tensor(self, name: str) -> None:
        """Delete a tensor."""
        self.swap_tensor(name, _ABSENT)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Put a tensor in the place of another, and return that."""
        parent, _, last = name.rpartition(".")
        return swap_tensor(self.get_submodule(parent), last, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[tt.Tensor]:
        """Return several tensors."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[tt.Tensor]) -> None:
        """Put several tensors in the place of others."""
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: Mapping[str, tt.Tensor]) -> None:
        """Put tensors in the place of those of their names."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def swap_tensors_dict(
        self, named_tensors: Mapping[str, tt.Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Exchange tensors by name; return those that were there, and the names of which there were none.

        Raises
        ------
        RuntimeError
            If there is nothing of a name, unless that is allowed; nothing is exchanged then.
        """
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                try:
                    before[name] = self.swap_tensor(name, value, allow_missing=True)
                except (KeyError, AttributeError):
                    before[name] = None
                if before[name] is None:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, _ABSENT if value is None else value, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names of tensors that are not among some, and those among them that are none."""
        own = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        others = set(keys)
        return sorted(own - others), sorted(others - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the parameters and their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, tt.Tensor]]:
        """Yield the buffers and their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, tt.Tensor]]:
        """Yield parameters and buffers, and their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, tt.nn.Module]]:
        """Yield the modules and their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
