"""Module: the base class of all parts of a neural network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import tt
from tt.nn.modules import hooks, registration, traversal
from tt.nn.modules.calling import ModuleBase
from tt.nn.modules.conversion import convert_members, converter, replica, reset_gradients, to_floating
from tt.nn.modules.hooks import (
    add_hook,
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from tt.nn.modules.registration import (
    after_hooks,
    before_init,
    check_name,
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    set_member,
)
from tt.nn.modules.state_dict import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from tt.nn.modules.state_dict import StatePreHook, collect_state, load_own, load_tree, save_own
from tt.nn.modules.state_dict import _IncompatibleKeys as _IncompatibleKeys
from tt.nn.modules.traversal import _addindent as _addindent
from tt.nn.parameter import Buffer, Parameter
from tt.types import Device
from tt.utils.hooks import RemovableHandle

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class Module(ModuleBase):
    """The base class of all parts of a neural network.

    A subclass makes its parameters and submodules in `__init__`, after `super().__init__()`, by assigning them to
    attributes, and computes in `forward`.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode.

    Examples
    --------
    >>> import tt
    >>> from tt import nn
    >>> class Model(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = nn.Linear(2, 1)
    ...
    ...     def forward(self, x):
    ...         return self.inner(x).relu()
    >>> Model()
    Model(
      (inner): Linear(in_features=2, out_features=1, bias=True)
    )
    >>> Model()(tt.zeros(3, 2)).shape
    tt.Size([3, 1])
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, tt.Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    _is_full_backward_hook: bool | None = None
    call_super_init: bool = False
    """Whether `Module.__init__` calls the next class's, for modules that inherit from other classes too."""

    dump_patches: bool = False

    _version: int = 1
    """Of the names and shapes in the state dict; `_load_from_state_dict` may convert older ones."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (kwargs or args):
            registration.refuse_arguments(self, args, kwargs)
        members = self.__dict__
        members["training"] = True
        members["_parameters"] = {}
        members["_buffers"] = {}
        members["_non_persistent_buffers_set"] = set()
        members["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """Compute the module's output; every subclass overrides it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` with the hooks around it: the name by which libraries call from an override of `__call__`."""
        return ModuleBase.__call__(self, *args, **kwargs)

    _wrapped_call_impl = _call_impl

    # --- parameters, buffers and submodules ---

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
            before_init("buffer")
        check_name(self, "buffer", name, self._buffers)
        if tensor is not None:
            registration.check_tensor(name, tensor)
        self._buffers[name] = after_hooks(registration._global_buffer_registration_hooks, self, name, tensor)
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
            before_init("parameter")
        check_name(self, "parameter", name, self._parameters)
        if param is not None:
            registration.check_parameter(name, param)
        self._parameters[name] = after_hooks(
            registration._global_parameter_registration_hooks, self, name, param
        )

    def add_module(self, name: str, module: Module | None) -> None:
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
            raise TypeError(f"{registration.typename(module)} is not a Module subclass")
        check_name(self, "module", name, self._modules)
        self._modules[name] = after_hooks(registration._global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule: another name of `add_module`."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: object) -> None:
        members = self.__dict__
        params = members.get("_parameters")
        if params is not None and type(value) in registration.PLAIN_TYPES:
            if name in params or name in members["_modules"] or name in members["_buffers"]:
                set_member(self, name, value)
            else:
                super().__setattr__(name, value)
        elif isinstance(value, Parameter):
            if params is None:
                before_init("parameters")
            registration.drop_name(self, name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, ModuleBase):
            if "_modules" not in members:
                before_init("module")
            if name in self._parameters:
                set_member(self, name, value)
            registration.drop_name(self, name, "_modules")
            members["_modules"][name] = after_hooks(
                registration._global_module_registration_hooks, self, name, value
            )
        elif params is not None and (name in params or name in self._modules or name in self._buffers):
            set_member(self, name, value)
        elif isinstance(value, Buffer):
            if params is None:
                before_init("buffer")
            registration.register_assigned_buffer(self, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                if table == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return registration.attribute_names(self)

    def _missing_attribute(self, name: str) -> Any:
        return registration.missing_attribute(self, name)

    # --- walks over the tree below ---

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield the items that a function finds in this module and those below it, with full names."""
        return traversal.named_members(self, get_members_fn, prefix, recurse, remove_duplicate)

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
        """Return the submodule at a path like "encoder.0.linear", or this module for ""; AttributeError if none is."""
        return traversal.submodule_at(self, target)

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
        traversal.replace_submodule(self, target, module, strict)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a path like "encoder.0.weight"; AttributeError if there is none."""
        return traversal.parameter_at(self, target)

    def get_buffer(self, target: str) -> tt.Tensor:
        """Return the buffer at a path like "norm.running_mean"; AttributeError if there is none."""
        return traversal.buffer_at(self, target)

    # --- changes of everything below ---

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call a function with each submodule and then with this module.

        Parameters
        ----------
        fn : callable
            For instance one that initialises parameters.

        Examples
        --------
        >>> import tt
        >>> @tt.no_grad()
        ... def fill(module):
        ...     if type(module) is tt.nn.Linear:
        ...         _ = module.weight.fill_(1.0)
        >>> tt.nn.Sequential(tt.nn.Linear(1, 1)).apply(fill)[0].weight.item()
        1.0
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and those below it into training mode, or into evaluation mode.

        Parameters
        ----------
        mode : bool
            True for training.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and those below it into evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set for all parameters whether autograd records operations on them."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        Parameters
        ----------
        set_to_none : bool
            Whether they become None; otherwise they become zero.
        """
        reset_gradients(self, set_to_none)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do what `tt.compile` does: nothing with `disable=True`, and raise without it."""
        tt.compile(self, *args, **kwargs)

    # --- devices and dtypes ---

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace each parameter, its gradient and each buffer by the result of a function for it."""
        convert_members(self, fn, recurse)
        return self

    def cuda(self, device: Device = None) -> Self:
        """Move parameters and buffers to a CUDA device: the current one, or that of a number or name."""
        target = tt.device("cuda", device) if isinstance(device, int) else tt.device(device or "cuda")
        return self._apply(lambda t: t.to(target))

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.to("cpu"))

    def type(self, dst_type: tt.dtype | type | str) -> Self:
        """Convert all parameters and buffers, those of integers too, to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(to_floating(tt.float32))

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(to_floating(tt.float64))

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(to_floating(tt.float16))

    def bfloat16(self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._apply(to_floating(tt.bfloat16))

    def share_memory(self) -> Self:
        """Move parameters, their gradients and buffers to memory that processes share."""
        return self._apply(lambda t: t.share_memory_())

    def to_empty(self, *, device: Device, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values, which are undefined afterwards.

        Parameters
        ----------
        device : device, str or int
            The device.
        recurse : bool
            Whether submodules are moved, too.
        """
        return self._apply(lambda t: tt.empty_like(t, device=device), recurse=recurse)

    def to(
        self,
        *args: Any,
        device: Device = None,
        dtype: tt.dtype | None = None,
        non_blocking: bool = False,
        memory_format: tt.memory_format | None = None,
        copy: bool = False,
    ) -> Self:
        """Move or convert the module, in place.

        `to(device, dtype)`, `to(dtype)`, `to(tensor)` and `to(memory_format=...)`.  A dtype is that of floating-point
        and complex parameters and buffers; integers only move.

        Parameters
        ----------
        *args : device, dtype, Tensor
            Where to; a tensor stands for its device and dtype.
        device : device, str or int, optional
            The device.
        dtype : dtype, optional
            A floating-point or complex dtype.
        non_blocking : bool
            Whether copies from pinned memory may run while the program continues.
        memory_format : memory_format, optional
            The memory format of tensors with four or five dimensions.
        copy : bool
            Refused: a module is changed in place.

        Raises
        ------
        TypeError
            If the dtype is one of integers.
        ValueRangeError
            With `copy`.

        Examples
        --------
        >>> import tt
        >>> tt.nn.Linear(1, 1).to(tt.float64).weight.dtype
        tt.float64
        """
        if copy:
            raise tt.errors.ValueRangeError(
                "Module.to() does not accept copy: try copy.deepcopy(module).to(...)"
            )
        return self._apply(converter(args, device, dtype, non_blocking, memory_format))

    # --- hooks ---

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call a hook before each `forward`.

        Parameters
        ----------
        hook : callable
            `hook(module, args)`; its result, if not None, replaces the positional arguments.  With `with_kwargs`
            it is `hook(module, args, kwargs)` and returns None or a pair.
        prepend : bool
            Whether it runs before the hooks of this module that are there already.
        with_kwargs : bool
            Whether it gets the keyword arguments.

        Returns
        -------
        RemovableHandle
            Removes the hook.
        """
        extras = [self._forward_pre_hooks_with_kwargs] * with_kwargs
        return add_hook(self._forward_pre_hooks, hook, extras, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call a hook after each `forward`.

        Parameters
        ----------
        hook : callable
            `hook(module, args, output)`, with `with_kwargs` `hook(module, args, kwargs, output)`; its result, if
            not None, is the module's output.
        prepend : bool
            Whether it runs before the hooks of this module that are there already.
        with_kwargs : bool
            Whether it gets the keyword arguments.
        always_call : bool
            Whether it runs also where `forward` raised.

        Returns
        -------
        RemovableHandle
            Removes the hook.

        Examples
        --------
        >>> import tt
        >>> layer = tt.nn.Identity()
        >>> with layer.register_forward_hook(lambda module, args, output: output + 1):
        ...     layer(tt.zeros(2))
        tensor([1., 1.])
        """
        extras = [self._forward_hooks_with_kwargs] * with_kwargs
        extras += [self._forward_hooks_always_called] * always_call
        return add_hook(self._forward_hooks, hook, extras, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's gradients are computed; it may return new ones."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the module's inputs are computed.

        Its result, if not None, replaces them.
        """
        hooks.choose_kind(self, True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook at the backward of the module's last operation; `register_full_backward_hook` is preferable."""
        hooks.choose_kind(self, False)
        return add_hook(self._backward_hooks, hook)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return hooks.call_with_hooks(self, args, kwargs)

    # --- state dicts ---

    def get_extra_state(self) -> Any:
        """Return what belongs to the state dict besides tensors; to be overridden, with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: "
            "a module that overrides set_extra_state has to override get_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned when the state dict was made; to be overridden."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: "
            "a module that overrides get_extra_state has to override set_extra_state"
        )

    def _overrides(self, name: str) -> bool:
        """Return whether the module's class has another method of this name than `Module`."""
        return getattr(type(self), name) is not getattr(Module, name)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it changes it in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]  # a mark on the function
        return self._register_state_dict_hook(hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a hook that may return another state dict."""
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before this module loads.

        `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, StatePreHook(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` when this module and those below it have loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Add this module's own parameters and persistent buffers."""
        save_own(self, destination, prefix, keep_vars)

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return parameters and persistent buffers by their names, the submodules' too.

        Parameters
        ----------
        *args
            destination, prefix and keep_vars by position; deprecated.
        destination : dict, optional
            Where the entries are added; a new ordered dict without one.
        prefix : str
            What all names begin with.
        keep_vars : bool
            Whether the tensors are those of the module; otherwise they share memory and have no history.

        Returns
        -------
        dict
            Tensors by name; its `_metadata` has the version of each module.

        Examples
        --------
        >>> import tt
        >>> list(tt.nn.Linear(1, 1).state_dict())
        ['weight', 'bias']
        """
        return collect_state(self, args, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own entries; what does not fit is added to the three lists."""
        load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Load parameters and buffers, the submodules' too.

        A state dict that does not fit leaves parameters and buffers as they were.

        Parameters
        ----------
        state_dict : mapping of str to Tensor
            What `state_dict` returned.
        strict : bool
            Whether its names have to be exactly those of this module's state dict.
        assign : bool
            Whether its tensors become the module's; otherwise their values are copied.  A tensor that the module has
            under several names stays one, unless the state dict has different values for them.

        Returns
        -------
        _IncompatibleKeys
            The names that are missing, and those that are too many.

        Raises
        ------
        TypeError
            If `state_dict` is not a mapping.
        RuntimeError
            If something does not fit; the message lists everything.

        Examples
        --------
        >>> import tt
        >>> first, second = tt.nn.Linear(1, 1), tt.nn.Linear(1, 1)
        >>> second.load_state_dict(first.state_dict())
        <All keys matched successfully>
        """
        return load_tree(self, state_dict, strict, assign)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what `repr` shows of this module besides its name and submodules."""
        return ""

    def __repr__(self) -> str:
        return traversal.describe(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        # As files and copies of PyTorch's form have them: calls look at the tables.
        if "_forward_hooks" in state:
            self.__dict__["_may_have_hooks"] = True

    def _replicate_for_data_parallel(self) -> Self:
        """Return a shallow copy with tables of its own, for another device."""
        return replica(self)


sys.modules[__name__].__class__ = hooks.GlobalTables
