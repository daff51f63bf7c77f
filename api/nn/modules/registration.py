"""The contents of a module: parameters, buffers and submodules, and the attributes that they are read by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

import tt
from tt.nn.modules.calling import HOOK_TABLES, ModuleBase
from tt.nn.parameter import Buffer, Parameter
from tt.utils.hooks import RemovableHandle

__all__ = [
    "Registration",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "typename",
]

_buffer_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_module_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_parameter_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

_PLAIN: frozenset[type] = frozenset((int, float, bool, str, bytes, tuple, list, dict, set, type(None)))
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
    return _register_hook(_buffer_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` at every registration of a module; its result is registered instead."""
    return _register_hook(_module_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` at every registration of a parameter; its result is registered instead."""
    return _register_hook(_parameter_hooks, hook)


def _after_hooks(hooks: OrderedDict[int, Callable[..., Any]], module: Any, name: str, value: Any) -> Any:
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def _before_init(what: str) -> NoReturn:
    raise AttributeError(
        f"cannot assign {what} before Module.__init__() call\n  try: super().__init__() first"
    )


def _check_name(what: str, name: Any) -> None:
    """Refuse a name that a key of a state dict cannot hold."""
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


class Registration(ModuleBase):
    """Parameters, buffers and submodules by their names."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, tt.Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    call_super_init: bool = False
    """Whether `Module.__init__` calls the next class's, for modules that inherit from other classes too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (kwargs or args):
            given = (
                f"keyword argument {next(iter(kwargs))!r}" if kwargs else f"{len(args)} positional arguments"
            )
            raise TypeError(f"{type(self).__name__}.__init__() takes no arguments of Module, and got {given}")
        members = self.__dict__
        members["training"] = True
        members["_parameters"] = {}
        members["_buffers"] = {}
        members["_non_persistent_buffers_set"] = set()
        members["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def register_buffer(self, name: str, tensor: tt.Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor that belongs to the module's state and is not trained.

        Parameters
        ----------
        name : str
            The attribute by which it is read.
        tensor : Tensor or None
            The buffer; None is not part of the state dict.
        persistent : bool
            Whether the buffer is part of the state dict.

        Raises
        ------
        KeyError
            If the name is empty, has a dot, or is taken.
        TypeError
            If the name is not a string, or the buffer not a tensor.

        Examples
        --------
        >>> import tt
        >>> module = tt.nn.Module()
        >>> module.register_buffer("mean", tt.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        if "_buffers" not in self.__dict__:
            _before_init("buffer")
        _check_name("buffer", name)
        if name not in self._buffers and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, tt.Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (Tensor or None required)"
            )
        self._buffers[name] = _after_hooks(_buffer_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter.

        Parameters
        ----------
        name : str
            The attribute by which it is read.
        param : Parameter or None
            The parameter; None is not part of the state dict.

        Raises
        ------
        KeyError
            If the name is empty, has a dot, or is taken.
        TypeError
            If the name is not a string, or the value not a parameter.
        ValueError
            If the parameter is the result of a computation.
        """
        if "_parameters" not in self.__dict__:
            _before_init("parameter")
        _check_name("parameter", name)
        if name not in self._parameters and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}': parameters are not computed\n"
                    f"  try: compute '{name}' from other parameters in forward()"
                )
        self._parameters[name] = _after_hooks(_parameter_hooks, self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule.

        Parameters
        ----------
        name : str
            The attribute by which it is read.
        module : Module or None
            The submodule.

        Raises
        ------
        KeyError
            If the name is empty, has a dot, or is taken.
        TypeError
            If the name is not a string, or the value not a module.
        """
        if module is not None and not isinstance(module, ModuleBase):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name("module", name)
        if name not in self._modules and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        self._modules[name] = _after_hooks(_module_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Add a submodule: another name of `add_module`."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        params = members.get("_parameters")
        if params is not None and type(value) in _PLAIN:
            if name in params or name in members["_modules"] or name in members["_buffers"]:
                self._set_member(name, value)
            else:
                super().__setattr__(name, value)
        elif isinstance(value, Parameter):
            if params is None:
                _before_init("parameters")
            self._drop(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, ModuleBase):
            if "_modules" not in members:
                _before_init("module")
            if name in self._parameters:
                self._set_member(name, value)
            self._drop(name, "_modules")
            members["_modules"][name] = _after_hooks(_module_hooks, self, name, value)
        elif params is not None and (name in params or name in self._modules or name in self._buffers):
            self._set_member(name, value)
        elif isinstance(value, Buffer):
            if params is None:
                _before_init("buffer")
            self._register(name, value)
        else:
            super().__setattr__(name, value)

    def _register(self, name: str, buffer: Buffer) -> None:
        """Register a buffer that is assigned; a subclass may define `register_buffer` without `persistent`."""
        if buffer.persistent:
            self.register_buffer(name, buffer)
        else:
            self.register_buffer(name, buffer, False)

    def _drop(self, name: str, keep: str) -> None:
        """Remove a name from everything except one table."""
        members = self.__dict__
        members.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                members[table].pop(name, None)
        if keep != "_buffers":
            self._non_persistent_buffers_set.discard(name)

    def _set_member(self, name: str, value: Any) -> None:
        """Assign to a name that is registered; the value is not a parameter."""
        if name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (nn.Module or None expected)"
                )
            self._modules[name] = _after_hooks(_module_hooks, self, name, value)
        elif isinstance(value, Buffer):
            self._register(name, value)
        else:
            if value is not None and not isinstance(value, tt.Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (nn.Buffer, Tensor or None expected)"
                )
            self._buffers[name] = _after_hooks(_buffer_hooks, self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                if table == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        members = self.__dict__
        found = {*dir(type(self)), *members}
        for table in ("_parameters", "_buffers", "_modules"):
            found.update(members.get(table, ()))
        return sorted(name for name in found if not name[0].isdigit())

    def _drop_empty_hooks(self) -> None:
        """Make calls fast again once the last hook is removed."""
        members = self.__dict__
        if not any(members.get(table) for table in HOOK_TABLES):
            for name in (*HOOK_TABLES, "_may_have_hooks"):
                members.pop(name, None)

    def _missing_attribute(self, name: str) -> Any:
        """Make the tables of hooks when one is first read; raise for every other name."""
        members = self.__dict__
        if name in HOOK_TABLES and "_parameters" in members:
            for table in HOOK_TABLES:
                members.setdefault(table, OrderedDict())
            members["_may_have_hooks"] = True
            return members[name]
        kind = type(self)
        # A property that raised AttributeError comes here as if it were missing: the second reading shows why.
        descriptor = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if isinstance(descriptor, property) and descriptor.fget is not None:
            return descriptor.fget(self)
        if "_parameters" not in members:
            hint = f"\n  try: super().__init__() at the start of {kind.__name__}.__init__"
            raise AttributeError(
                f"{kind.__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self
            )
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=self)
