"""What a module holds: the rules for names and values of parameters, buffers and submodules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import tt
from tt.nn.modules.calling import HOOK_TABLES
from tt.nn.parameter import Buffer, Parameter
from tt.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from tt.nn.modules.module import Module

__all__ = [
    "PLAIN_TYPES",
    "after_hooks",
    "attribute_names",
    "before_init",
    "check_name",
    "check_parameter",
    "check_tensor",
    "drop_name",
    "missing_attribute",
    "refuse_arguments",
    "register_assigned_buffer",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "set_member",
    "typename",
]

_global_buffer_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

PLAIN_TYPES: frozenset[type] = frozenset((int, float, bool, str, bytes, tuple, list, dict, set, type(None)))
"""Types whose values are neither tensors nor modules: assigning them registers nothing."""


def typename(obj: object) -> str:
    """Return the full name of an object's class; built-in classes without their module."""
    kind = type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _register_hook(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` at every registration of a buffer; its result is registered instead."""
    return _register_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` at every registration of a module; its result is registered instead."""
    return _register_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` at every registration of a parameter; its result is registered instead."""
    return _register_hook(_global_parameter_registration_hooks, hook)


def after_hooks(hooks: OrderedDict[int, Callable[..., Any]], module: Module, name: str, value: object) -> Any:
    """Return the value to register: what the hooks of a kind make of the one that was assigned."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def before_init(what: str) -> NoReturn:
    """Raise for an assignment to a module whose tables are not made yet."""
    raise AttributeError(
        f"cannot assign {what} before Module.__init__() call\n  try: super().__init__() first"
    )


def refuse_arguments(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    """Raise for arguments that a class passes on to `Module.__init__`."""
    refused = f"keyword argument {next(iter(kwargs))!r}" if kwargs else f"{len(args)} positional arguments"
    raise TypeError(f"{type(module).__name__}.__init__() takes no arguments of Module, and got {refused}")


def check_name(module: Module, what: str, name: str, table: dict[str, Any]) -> None:
    """Refuse a name that a key of a state dict cannot hold, or that is taken by something outside the table."""
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    # A name that is taken by a method or an attribute would hide it.
    if name not in table and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")


def check_parameter(name: str, param: object) -> None:
    """Refuse what cannot be registered as a parameter: other tensors, and results of computations."""
    if not isinstance(param, Parameter):
        raise TypeError(
            f"cannot assign '{typename(param)}' object to parameter '{name}' (nn.Parameter or None required)"
        )
    # Optimizers change parameters in place, which has no effect on what was computed.
    if param.grad_fn is not None:
        raise ValueError(
            f"Cannot assign non-leaf Tensor to parameter '{name}': parameters are not computed\n"
            f"  try: compute '{name}' from other parameters in forward()"
        )


def check_tensor(name: str, tensor: object) -> None:
    """Refuse what cannot be registered as a buffer."""
    if not isinstance(tensor, tt.Tensor):
        raise TypeError(
            f"cannot assign '{typename(tensor)}' object to buffer '{name}' (Tensor or None required)"
        )


def register_assigned_buffer(module: Module, name: str, buffer: Buffer) -> None:
    """Register a buffer that is assigned; a subclass may define `register_buffer` without `persistent`."""
    # Without the argument in the usual case, since modules may override the method without it.
    if buffer.persistent:
        module.register_buffer(name, buffer)
    else:
        module.register_buffer(name, buffer, False)


def drop_name(module: Module, name: str, keep: str) -> None:
    """Remove a name from everything except one table."""
    members = module.__dict__
    # An entry of the instance would be found before `__getattr__` looks into the tables.
    members.pop(name, None)
    for table in ("_parameters", "_buffers", "_modules"):
        if table != keep:
            members[table].pop(name, None)
    if keep != "_buffers":
        module._non_persistent_buffers_set.discard(name)


def set_member(module: Module, name: str, value: object) -> None:
    """Assign to a name that is registered; the value is not a parameter."""
    if name in module._parameters:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' as parameter '{name}' (nn.Parameter or None expected)"
            )
        module.register_parameter(name, value)
    elif name in module._modules:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' as child module '{name}' (nn.Module or None expected)"
            )
        module._modules[name] = after_hooks(_global_module_registration_hooks, module, name, value)
    elif isinstance(value, Buffer):
        register_assigned_buffer(module, name, value)
    else:
        if value is not None and not isinstance(value, tt.Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (nn.Buffer, Tensor or None expected)"
            )
        module._buffers[name] = after_hooks(_global_buffer_registration_hooks, module, name, value)


def missing_attribute(module: Module, name: str) -> Any:
    """Make the tables of hooks when one is first read; raise for every other name."""
    members = module.__dict__
    if name in HOOK_TABLES and "_parameters" in members:
        # All at once: from here on the tables are found without `__getattr__`.
        for table in HOOK_TABLES:
            members.setdefault(table, OrderedDict())
        members["_may_have_hooks"] = True
        return members[name]
    kind = type(module)
    # A property that raised AttributeError comes here as if it were missing: the second reading shows why.
    descriptor = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if isinstance(descriptor, property) and descriptor.fget is not None:
        return descriptor.fget(module)
    if "_parameters" not in members:
        hint = f"\n  try: super().__init__() at the start of {kind.__name__}.__init__"
        raise AttributeError(
            f"{kind.__name__!r} object has no attribute {name!r}{hint}", name=name, obj=module
        )
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=module)


def attribute_names(module: Module) -> list[str]:
    """Return what `dir` shows of a module: members that could be read as attributes."""
    members = module.__dict__
    names = {*dir(type(module)), *members}
    for table in ("_parameters", "_buffers", "_modules"):
        names.update(members.get(table, ()))
    # Names such as those of Sequential's children cannot be written after a dot.
    return sorted(name for name in names if not name[0].isdigit())
