"""Handles that remove hooks, and the hooks of modules on their gradients."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, MutableMapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import tt
from tt.library import warn_user

if TYPE_CHECKING:
    from tt.autograd.function import FunctionCtx
    from tt.nn import Module

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

Hook = TypeVar("Hook", bound=Callable[..., Any])


class RemovableHandle:
    """Removes a hook from the dictionary that holds it; as a context manager, at the end of the block.

    Parameters
    ----------
    hooks_dict : dict
        The hooks, by their number.  The handle does not keep it alive.
    extra_dict : dict or list of dict, optional
        Further dictionaries that have an entry of the same number.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> from tt.utils.hooks import RemovableHandle
    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> len(hooks)
    0
    """

    id: int
    next_id: ClassVar[int] = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        # Weak: a handle that a program keeps must not keep the module alive.
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras = [extra_dict] if isinstance(extra_dict, dict) else list(extra_dict or ())
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        """Remove the hook; a second time does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks: MutableMapping[int, Any] | None = ref()
            if hooks is not None and self.id in hooks:
                del hooks[self.id]

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        from collections import OrderedDict

        hooks, self.id = state[:2]
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        extras = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if e is None else e) for e in extras)
        # A handle that is made later must not get the number of one from a file.
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def unserializable_hook(f: Hook) -> Hook:
    """Return a hook, of which no warning says that its tensor is pickled without it.

    Parameters
    ----------
    f : callable
        The hook.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.hooks import unserializable_hook
    >>> x = tt.ones(1, requires_grad=True)
    >>> handle = x.register_hook(unserializable_hook(lambda gradient: 2 * gradient))
    """
    f.__tt_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: tt.Tensor) -> None:
    """Warn of each hook of a tensor that a file will not have, unless it was made for that.

    Warns
    -----
    UserWarning
        That the file lacks a hook.
    """
    from tt.core.methods.memory.pickling import warn_of_hooks  # only programs that save tensors need it

    warn_of_hooks(tensor)


def _with_nones(indices: Iterable[int], values: Iterable[Any], size: int) -> tuple[Any, ...]:
    """Return a tuple of `size` that has the values at the indices, and None elsewhere."""
    full = [None] * size
    for index, value in zip(indices, values, strict=False):
        full[index] = value
    return tuple(full)


# Made at first use, for `tt.autograd.Function` may be left out of an installation.
_boundary: Any = None


def _boundary_function() -> Any:
    """Return the identity whose node marks where a module's inputs or outputs are in the graph."""
    global _boundary
    if _boundary is None:

        class BackwardHookFunction(tt.autograd.Function):
            @staticmethod
            def forward(ctx: FunctionCtx, *args: Any) -> Any:
                # An identity would otherwise make integers and constants require gradients.
                ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
                return args

            @staticmethod
            def backward(ctx: FunctionCtx, *grads: Any) -> Any:
                return grads

        _boundary = BackwardHookFunction
    return _boundary


class BackwardHook:
    """Calls a module's hooks with the gradients of its inputs and outputs.

    Identities are put around the module, one before its inputs and one behind its outputs.  A hook of the second
    one's node sees the gradients of all outputs together, a hook of the first one's node those of all inputs.

    Parameters
    ----------
    module : Module
        The first argument of the hooks.
    user_hooks : list of callable
        Full backward hooks: `hook(module, grad_input, grad_output)`.
    user_pre_hooks : list of callable
        Backward pre-hooks: `hook(module, grad_output)`.
    """

    def __init__(
        self,
        module: Module,
        user_hooks: list[Callable[..., Any]],
        user_pre_hooks: list[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def _around(
        self, install: Callable[[Any], None], args: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], list[int] | None]:
        """Return the arguments behind an identity, and which of them are tensors (None without gradients)."""
        indices = [i for i, arg in enumerate(args) if isinstance(arg, tt.Tensor)]
        if not tt.is_grad_enabled() or not any(args[i].requires_grad for i in indices):
            return args, None
        try:
            new = _boundary_function().apply(*[args[i] for i in indices])
        except (tt.errors.ArgumentError, NotImplementedError) as error:
            raise tt.errors.UnsupportedError(
                "full backward hooks of a module are not called where vmap or forward mode runs around the gradient:\n"
                "  those of all examples or directions are computed together\n"
                "  try: remove() of the hooks before; tt.func.grad, vjp and jacrev alone call them"
            ) from error
        new = new if isinstance(new, tuple) else (new,)
        nodes = [t.grad_fn for t in new if t.grad_fn is not None]
        if not nodes:
            raise RuntimeError("a module's inputs or outputs have no place in the graph: no hook can be set")
        install(nodes[0])
        replaced = list(args)
        for index, tensor in zip(indices, new, strict=True):
            replaced[index] = tensor
        # A named tuple, or one of `tt.return_types`, stays what it is.
        rebuild = getattr(type(args), "_make", type(args))
        return rebuild(replaced), indices

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the inputs of the module behind an identity."""

        def install(node: Any) -> None:
            node.register_hook(self._inputs_reached)

        self.n_inputs = len(args)
        result, self.input_tensors_index = self._around(install, args)
        return result

    def setup_output_hook(self, args: Any) -> Any:
        """Return the outputs of the module behind an identity."""

        def install(node: Any) -> None:
            # Before the node runs, for pre-hooks may replace what the module's backward gets.
            node.register_prehook(self._outputs_reached)

        several = isinstance(args, tuple)
        outputs = args if several else (args,)
        self.n_outputs = len(outputs)
        result, self.output_tensors_index = self._around(install, outputs)
        return result if several else result[0]

    def _inputs_reached(self, grad_input: Any, _: object) -> Any:
        if self.grad_outputs is None:  # no output was used
            return None
        indices = self.input_tensors_index or []
        packed = _with_nones(indices, grad_input, self.n_inputs)
        result = packed
        for hook in self.user_hooks:
            out = hook(self.module, packed, self.grad_outputs)
            if out is None:
                continue
            out = out if isinstance(out, tuple) else (out,)
            if len(out) != len(result):
                raise RuntimeError(
                    f"a full backward hook returned {len(out)} gradients, and the module has {len(result)} inputs"
                )
            result = out
        # The same graph may run backward again, perhaps without reaching the outputs.
        self.grad_outputs = None
        return tuple(result[i] for i in indices)

    def _outputs_reached(self, grad_output: Any) -> Any:
        indices = self.output_tensors_index or []
        self.grad_outputs = _with_nones(indices, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            out = hook(self.module, self.grad_outputs)
            if out is None:
                continue
            out = out if isinstance(out, tuple) else (out,)
            if len(out) != len(self.grad_outputs):
                raise RuntimeError(
                    f"a backward pre-hook returned {len(out)} gradients, and the module has "
                    f"{len(self.grad_outputs)} outputs"
                )
            self.grad_outputs = out
        gradients = self.grad_outputs
        if self.input_tensors_index is None and self.user_hooks:
            self._without_inputs(gradients)
        return tuple(gradients[i] for i in indices)

    def _without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        warn_user(
            "no input of the module requires a gradient: its full backward hook runs as soon as the gradients of its "
            "outputs are there, with None for each input",
        )
        grad_inputs = (None,) * self.n_inputs
        for hook in self.user_hooks:
            out = hook(self.module, grad_inputs, grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(o is None for o in out)):
                raise RuntimeError(
                    "a full backward hook returned gradients of inputs, and no input of the module requires one"
                )
        self.grad_outputs = None
