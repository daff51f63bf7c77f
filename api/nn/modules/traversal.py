"""Walks over a module's tree: parameters, buffers and submodules with their names, and finding one by its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import tt
from tt.nn.modules.calling import ModuleBase
from tt.nn.modules.registration import Registration, typename
from tt.nn.parameter import Parameter

if TYPE_CHECKING:
    from tt.nn.modules.module import Module

__all__ = ["Traversal"]


class Traversal(Registration):
    """Parameters, buffers and submodules of a tree of modules."""

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield the items that a function finds in this module and those below it, with full names."""
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once.

        Parameters
        ----------
        recurse : bool
            Whether those of submodules belong to them.

        Examples
        --------
        >>> import tt
        >>> [p.shape for p in tt.nn.Linear(2, 3).parameters()]
        [tt.Size([3, 2]), tt.Size([3])]
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield names and parameters.

        Parameters
        ----------
        prefix : str
            What all names begin with, and a dot.
        recurse : bool
            Whether those of submodules belong to them.
        remove_duplicate : bool
            Whether a parameter with several names is yielded once, by the first.
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[tt.Tensor]:
        """Yield the buffers, each once; `recurse` as in `parameters`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, tt.Tensor]]:
        """Yield names and buffers; the parameters are those of `named_parameters`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """Yield the submodules of this module itself, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield names and submodules of this module itself, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all below it, each once.

        Parameters
        ----------
        remove_duplicate : bool
            Whether a module with several names is yielded once.

        Examples
        --------
        >>> import tt
        >>> model = tt.nn.Sequential(tt.nn.Identity(), tt.nn.Identity())
        >>> [type(module).__name__ for module in model.modules()]
        ['Sequential', 'Identity', 'Identity']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield names and modules: this one, by the prefix alone, and all below it.

        Parameters
        ----------
        memo : set, optional
            The modules that were yielded already; further ones are added.
        prefix : str
            The name of this module.
        remove_duplicate : bool
            Whether a module with several names is yielded once.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        this: Any = self
        yield prefix, this
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """Return the submodule with a path like "encoder.0.linear"; the module itself for "".

        Raises
        ------
        AttributeError
            If the path leads nowhere, or to something that is not a module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(
                    f"{module._get_name()} has no attribute `{name}`, part of the path {target!r}"
                )
            module = getattr(module, name)
            if not isinstance(module, ModuleBase):
                raise AttributeError(
                    f"`{name}` is not an nn.Module, but a {typename(module)}; the path is {target!r}"
                )
        found: Module = module
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule at a path.

        Parameters
        ----------
        target : str
            The path.
        module : Module
            The new submodule.
        strict : bool
            Whether there has to be one at that path already; without it the last name may be new.

        Raises
        ------
        ValueError
            If the path is empty, or `module` is not a module.
        AttributeError
            If the path leads nowhere, or to something that is not a module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleBase):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        there = hasattr(parent, name)
        if strict and not there:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if there and not isinstance(getattr(parent, name), ModuleBase):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a path like "encoder.0.weight".

        Raises
        ------
        AttributeError
            If the path leads nowhere, or to something that is not a parameter.
        """
        found = self._get_tensor(target)
        if not isinstance(found, Parameter):
            raise AttributeError(
                f"`{target.rpartition('.')[2]}` is not an nn.Parameter, but a {typename(found)}"
            )
        return found

    def get_buffer(self, target: str) -> tt.Tensor:
        """Return the buffer at a path like "norm.running_mean".

        Raises
        ------
        AttributeError
            If the path leads nowhere, or to something that is not a buffer.
        """
        path, _, name = target.rpartition(".")
        found: tt.Tensor = self._get_tensor(target)
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _get_tensor(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)
