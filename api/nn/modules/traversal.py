"""The tree below a module: finding what lies at a path like "encoder.0.weight", walking, and showing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import tt
from tt.nn.modules.calling import ModuleBase
from tt.nn.modules.registration import typename
from tt.nn.parameter import Parameter

if TYPE_CHECKING:
    from tt.nn.modules.module import Module

__all__ = ["buffer_at", "describe", "named_members", "parameter_at", "replace_submodule", "submodule_at"]


def submodule_at(module: Module, path: str) -> Module:
    """Return the submodule at a path; the module itself for ""."""
    part: Any = module
    for name in path.split(".") if path else ():
        if not hasattr(part, name):
            raise AttributeError(f"{part._get_name()} has no attribute `{name}`, part of the path {path!r}")
        part = getattr(part, name)
        if not isinstance(part, ModuleBase):
            raise AttributeError(
                f"`{name}` is not an nn.Module, but a {typename(part)}; the path is {path!r}"
            )
    submodule: Module = part
    return submodule


def replace_submodule(module: Module, path: str, new: Module, strict: bool) -> None:
    """Put another submodule at a path; with `strict`, only where one is."""
    if path == "":
        raise ValueError("Cannot set the submodule without a target name!")
    if not isinstance(new, ModuleBase):
        raise ValueError(f"`module` is not an nn.Module, found {type(new)}")
    above, _, name = path.rpartition(".")
    parent = module.get_submodule(above)
    exists = hasattr(parent, name)
    if strict and not exists:
        raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
    if exists and not isinstance(getattr(parent, name), ModuleBase):
        raise AttributeError(f"`{name}` is not an nn.Module")
    setattr(parent, name, new)


def parameter_at(module: Module, path: str) -> Parameter:
    """Return the parameter at a path."""
    _, name, value = _member_at(module, path)
    if not isinstance(value, Parameter):
        raise AttributeError(f"`{name}` is not an nn.Parameter, but a {typename(value)}")
    return value


def buffer_at(module: Module, path: str) -> tt.Tensor:
    """Return the buffer at a path."""
    owner, name, value = _member_at(module, path)
    if name not in owner._buffers:
        raise AttributeError(f"`{name}` is not a buffer")
    buffer: tt.Tensor = value
    return buffer


def _member_at(module: Module, path: str) -> tuple[Module, str, Any]:
    """Return the module that a path leads to, the last name of the path, and the module's attribute of that name."""
    above, _, name = path.rpartition(".")
    owner = module.get_submodule(above)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    return owner, name, getattr(owner, name)


def named_members(
    module: Module,
    get_members: Callable[[Any], Iterable[tuple[str, Any]]],
    prefix: str,
    recurse: bool,
    remove_duplicate: bool,
) -> Iterator[tuple[str, Any]]:
    """Yield the items that a function gives for a module and for those below it, with full names."""
    # By identity: comparing tensors would give tensors.
    seen = set()
    parts: Iterable[tuple[str, Any]] = [(prefix, module)]
    if recurse:
        parts = module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
    for path, part in parts:
        for name, value in get_members(part):
            # Names without a value are registered, too: a layer without bias has None.
            if value is None or id(value) in seen:
                continue
            if remove_duplicate:
                seen.add(id(value))
            yield f"{path}.{name}" if path else name, value


def describe(module: Module) -> str:
    """Return a module's name, what it says of itself, and the same of those below it, indented."""
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    children = [f"({name}): {_addindent(repr(child), 2)}" for name, child in module._modules.items()]
    if len(lines) == 1 and not children:
        return f"{module._get_name()}({lines[0]})"
    body = "\n  ".join(lines + children)
    return f"{module._get_name()}(\n  {body}\n)" if body else f"{module._get_name()}()"


def _addindent(text: str, spaces: int) -> str:
    """Return a text whose lines, except for the first, are indented."""
    return text.replace("\n", "\n" + " " * spaces)
