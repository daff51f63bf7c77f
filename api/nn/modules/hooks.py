"""Hooks of modules: registration, global ones, and the call of a module that has some."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import tt
from tt.library import warn_user
from tt.nn.modules import registration
from tt.nn.modules.calling import GLOBAL_HOOKS, HOOK_TABLES
from tt.utils.hooks import BackwardHook, RemovableHandle

if TYPE_CHECKING:
    from tt.nn.modules.module import Module

__all__ = [
    "GlobalTables",
    "HookTable",
    "add_hook",
    "call_with_hooks",
    "choose_kind",
    "register_module_backward_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

HookTable = OrderedDict[int, Any]

_global_backward_pre_hooks: HookTable = OrderedDict()
_global_backward_hooks: HookTable = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: HookTable = OrderedDict()
_global_forward_hooks: HookTable = OrderedDict()
_global_forward_hooks_always_called: HookTable = OrderedDict()
_global_forward_hooks_with_kwargs: HookTable = OrderedDict()


def add_hook(
    table: HookTable, hook: Callable[..., Any], extras: Sequence[HookTable] = (), *, prepend: bool = False
) -> RemovableHandle:
    """Add a hook to a table, and its number to further ones."""
    handle = RemovableHandle(table, extra_dict=list(extras))
    table[handle.id] = hook
    for extra in extras:
        extra[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _added_globally(
    table: HookTable, hook: Callable[..., Any], extras: Sequence[HookTable] = ()
) -> RemovableHandle:
    # In place, because `calling` has the same list.
    GLOBAL_HOOKS[:] = [True]
    return add_hook(table, hook, extras)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module; see `Module.register_forward_pre_hook`."""
    return _added_globally(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module; see `Module.register_forward_hook`."""
    extras = [_global_forward_hooks_with_kwargs] * with_kwargs + [
        _global_forward_hooks_always_called
    ] * always_call
    return _added_globally(_global_forward_hooks, hook, extras)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call a hook at the backward of every module; `register_module_full_backward_hook` is to be preferred."""
    return _added_backward(hook, False)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` at every module's backward."""
    return _added_backward(hook, True)


def _added_backward(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook not in (None, full):
        raise RuntimeError(
            "full backward hooks and others cannot both be set for all modules: choose one kind"
        )
    _global_is_full_backward_hook = full
    return _added_globally(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before every module's backward."""
    return _added_globally(_global_backward_pre_hooks, hook)


def _any_global_hooks() -> bool:
    return bool(
        _global_forward_hooks
        or _global_forward_pre_hooks
        or _global_backward_hooks
        or _global_backward_pre_hooks
    )


def choose_kind(module: Module, full: bool) -> None:
    """Refuse to mix full backward hooks of a module with others."""
    if module._is_full_backward_hook not in (None, full):
        raise RuntimeError("a module has either full backward hooks or others: choose one kind")
    module._is_full_backward_hook = full


def _backward_hooks(module: Module) -> tuple[list[Any], list[Any]]:
    """Return the full backward hooks and the others, the global ones first."""
    full: list[Any] = []
    partial: list[Any] = []
    if _global_backward_hooks:
        (full if _global_is_full_backward_hook else partial).extend(_global_backward_hooks.values())
    (full if module._is_full_backward_hook else partial).extend(module._backward_hooks.values())
    return full, partial


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `forward` with the hooks of the module and those of all modules around it."""
    if not _any_global_hooks():
        # Handles remove hooks without telling, so the first call that finds none makes calls fast again.
        GLOBAL_HOOKS.clear()
        _drop_empty_hooks(module)
        if not module._may_have_hooks:  # the last one was removed
            return module.forward(*args, **kwargs)
    called: set[int] = set()
    result = None
    try:
        args, kwargs = _after_pre_hooks(module, args, kwargs)
        full, partial = _backward_hooks(module)
        before = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        backward = BackwardHook(module, full, before) if full or before else None
        if backward is not None:
            args = backward.setup_input_hook(args)
        result = module.forward(*args, **kwargs)
        for number, hook, with_kwargs, always in _forward_hooks_in_order(module):
            # Noted before the call: a hook that raises is not called again below.
            if always:
                called.add(number)
            output = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            if output is not None:
                result = output
        if backward is not None:
            if not isinstance(result, (tt.Tensor, tuple)):
                warn_user(
                    f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors, "
                    f"but received {type(result)}",
                )
            result = backward.setup_output_hook(result)
        if partial:
            _hook_last_node(module, partial, args, result)
    except Exception:
        # As in PyTorch, such hooks see a forward that raised, too, before the error goes on.
        for number, hook, with_kwargs, always in _forward_hooks_in_order(module):
            if always and number not in called:
                try:
                    output = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
                except Exception as error:
                    warn_user(
                        "a module's forward hook with always_call=True raised after forward had raised, "
                        f"and this was silenced: {error}",
                    )
                    continue
                if output is not None:
                    result = output
        raise
    return result


def _drop_empty_hooks(module: Module) -> None:
    """Make calls fast again once the last hook is removed."""
    members = module.__dict__
    if not any(members.get(table) for table in HOOK_TABLES):
        for name in (*HOOK_TABLES, "_may_have_hooks"):
            members.pop(name, None)


def _after_pre_hooks(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as the forward pre-hooks leave them."""
    for number, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if number in module._forward_pre_hooks_with_kwargs:
            output = hook(module, args, kwargs)
            if output is None:
                continue
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {output}."
                )
            args, kwargs = output
        else:
            output = hook(module, args)
            if output is not None:
                args = output if isinstance(output, tuple) else (output,)
    return args, kwargs


def _forward_hooks_in_order(module: Module) -> list[tuple[int, Any, bool, bool]]:
    """Return number and function of each forward hook, whether it takes keywords and is always called."""
    # A list, because a hook may remove itself while it runs.
    result = []
    for hooks, keywords, always in (
        (_global_forward_hooks, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
        (module._forward_hooks, module._forward_hooks_with_kwargs, module._forward_hooks_always_called),
    ):
        result += [(number, hook, number in keywords, number in always) for number, hook in hooks.items()]
    return result


def _hook_last_node(module: Module, hooks: list[Any], args: tuple[Any, ...], result: Any) -> None:
    """Register the hooks that are not full with the node of the first tensor among the outputs."""
    first = result
    while not isinstance(first, tt.Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, tt.Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    missed = _missed_gradients(args, result, node)
    if missed:
        warn_user(
            f"a backward hook that is not full sees only the gradients of one autograd Node, and {missed}: "
            "use register_full_backward_hook",
            FutureWarning,
        )
    for hook in hooks:
        node.register_hook(lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output))


def _missed_gradients(args: tuple[Any, ...], result: Any, node: Any) -> str:
    """Return why a hook of the node sees other gradients than those of the module, or an empty text."""
    results = (result,) if isinstance(result, tt.Tensor) else result
    if not _are_tensors(results):
        return "the module does not return a single Tensor or a tuple of Tensors"
    if not _are_tensors(args):
        return "the module does not take as input a single Tensor or a tuple of Tensors"
    if {tensor.grad_fn for tensor in results} - {None, node}:
        return "outputs are generated by different autograd Nodes"
    if {tensor.grad_fn for tensor in args} - {None} != {following for following, _ in node.next_functions}:
        return "the forward contains multiple autograd Nodes"
    return ""


def _are_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, tt.Tensor) for value in values)


class GlobalTables(ModuleType):
    """The class of the module `module`: programs find the tables of global hooks there, and replace them."""

    def __getattr__(self, name: str) -> Any:
        for tables in (globals(), vars(registration)):
            if name.startswith("_global_") and name in tables:
                return tables[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_global_") and name in vars(registration):
            vars(registration)[name] = value
        elif name.startswith("_global_"):
            GLOBAL_HOOKS[:] = [True]  # the next call of a module sees whether there are any
            globals()[name] = value
        else:
            super().__setattr__(name, value)
