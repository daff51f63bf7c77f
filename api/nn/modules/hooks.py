"""Hooks of modules: registration, global ones, and the call of a module that has some."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import tt
from tt.library import warn_user
from tt.nn.modules.calling import GLOBAL_HOOKS
from tt.nn.modules.conversion import Conversion
from tt.utils.hooks import BackwardHook, RemovableHandle

__all__ = [
    "Hooks",
    "register_module_backward_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

Table = OrderedDict[int, Any]

_global_backward_pre_hooks: Table = OrderedDict()
_global_backward_hooks: Table = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: Table = OrderedDict()
_global_forward_hooks: Table = OrderedDict()
_global_forward_hooks_always_called: Table = OrderedDict()
_global_forward_hooks_with_kwargs: Table = OrderedDict()


def _added(
    table: Table, hook: Any, extras: Sequence[Table] = (), *, prepend: bool = False
) -> RemovableHandle:
    """Add a hook to a table, and its number to further ones."""
    handle = RemovableHandle(table, extra_dict=list(extras))
    table[handle.id] = hook
    for extra in extras:
        extra[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _added_globally(table: Table, hook: Any, extras: Sequence[Table] = ()) -> RemovableHandle:
    GLOBAL_HOOKS[:] = [True]
    return _added(table, hook, extras)


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


class Hooks(Conversion):
    """Registration of hooks, and the call with them."""

    _is_full_backward_hook: bool | None = None
    _backward_hooks: Table
    _backward_pre_hooks: Table
    _forward_hooks: Table
    _forward_hooks_always_called: Table
    _forward_hooks_with_kwargs: Table
    _forward_pre_hooks: Table
    _forward_pre_hooks_with_kwargs: Table

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
        return _added(self._forward_pre_hooks, hook, extras, prepend=prepend)

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
        extras = [self._forward_hooks_with_kwargs] * with_kwargs + [
            self._forward_hooks_always_called
        ] * always_call
        return _added(self._forward_hooks, hook, extras, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's gradients are computed; it may return new ones."""
        return _added(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the module's inputs are computed.

        Its result, if not None, replaces them.
        """
        self._choose_kind(True)
        return _added(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook at the backward of the module's last operation; `register_full_backward_hook` is preferable."""
        self._choose_kind(False)
        return _added(self._backward_hooks, hook)

    def _choose_kind(self, full: bool) -> None:
        if self._is_full_backward_hook not in (None, full):
            raise RuntimeError("a module has either full backward hooks or others: choose one kind")
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """Return the full backward hooks and the others, the global ones first."""
        full: list[Any] = []
        partial: list[Any] = []
        if _global_backward_hooks:
            (full if _global_is_full_backward_hook else partial).extend(_global_backward_hooks.values())
        (full if self._is_full_backward_hook else partial).extend(self._backward_hooks.values())
        return full, partial

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _any_global_hooks():
            GLOBAL_HOOKS.clear()
            self._drop_empty_hooks()
            if not self._may_have_hooks:  # the last one was removed
                return self.forward(*args, **kwargs)
        called: set[int] = set()
        result = None
        try:
            args, kwargs = self._before(args, kwargs)
            full, partial = self._get_backward_hooks()
            before = self._get_backward_pre_hooks()
            backward = BackwardHook(self, full, before) if full or before else None
            if backward is not None:
                args = backward.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for number, hook, with_kwargs, always in self._forward_hooks_in_order():
                if always:
                    called.add(number)
                output = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
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
                self._hook_last_node(partial, result)
        except Exception:
            for number, hook, with_kwargs, always in self._forward_hooks_in_order():
                if always and number not in called:
                    try:
                        output = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
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

    def _before(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as the forward pre-hooks leave them."""
        for number, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                output = hook(self, args, kwargs)
                if output is None:
                    continue
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {output}."
                    )
                args, kwargs = output
            else:
                output = hook(self, args)
                if output is not None:
                    args = output if isinstance(output, tuple) else (output,)
        return args, kwargs

    def _forward_hooks_in_order(self) -> list[tuple[int, Any, bool, bool]]:
        """Return number and function of each forward hook, whether it takes keywords and is always called."""
        found = []
        for hooks, keywords, always in (
            (_global_forward_hooks, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
            (self._forward_hooks, self._forward_hooks_with_kwargs, self._forward_hooks_always_called),
        ):
            found += [(number, hook, number in keywords, number in always) for number, hook in hooks.items()]
        return found

    def _hook_last_node(self, hooks: list[Any], result: Any) -> None:
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
        if isinstance(result, tuple) or len(node.next_functions) > 1:
            warn_user(
                "a backward hook that is not full sees only the gradients of the module's last operation: "
                "use register_full_backward_hook",
                FutureWarning,
            )
        for hook in hooks:
            node.register_hook(lambda grad_input, grad_output, hook=hook: hook(self, grad_input, grad_output))
