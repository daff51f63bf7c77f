"""`allow_mutation_on_saved_tensors`: tensors that backward needs may be changed in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import tt
from tt.autograd.graph import saved_tensors_hooks
from tt.library import Carried
from tt.utils._python_dispatch import TTDispatchMode

__all__ = ["allow_mutation_on_saved_tensors"]

_open = Carried()
"""Whether this thread is in a block."""


class SavedHandle:
    """Stands for a saved tensor in the graph, which alone holds it: when the graph goes, so does the tensor."""

    __slots__ = ("__weakref__",)


class MutationContext:
    """The tensors that are saved in a block, and the copies of those that were changed since.

    Attributes
    ----------
    original, cloned : WeakKeyDictionary of SavedHandle to Tensor
        The saved tensors that still have their values, and copies of the others.
    tid_to_weakhandle : WeakValueDictionary of tuple to SavedHandle
        The handles by what a tensor shows of its memory: one that is saved many times has one handle.
    """

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[SavedHandle, tt.Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[SavedHandle, tt.Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[Any, ...], SavedHandle] = WeakValueDictionary()
        self._by_storage: WeakKeyDictionary[tt.UntypedStorage, WeakSet[SavedHandle]] = WeakKeyDictionary()

    def pack(self, tensor: tt.Tensor) -> SavedHandle:
        """Return the handle of a tensor that is being saved."""
        if tensor.layout is not tt.strided:
            # Other layouts have several memories, or none; they are seldom changed in place, and copied at once.
            handle = SavedHandle()
            self.cloned[handle] = tensor.detach().clone()
            return handle
        storage = tensor.untyped_storage()
        memory = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
        # The storage lives as long as a handle of it, so its id is its own.
        tid = (id(storage), tensor._version, memory, tensor.dtype, type(tensor))
        known = self.tid_to_weakhandle.get(tid)
        if known is None:
            self.tid_to_weakhandle[tid] = known = SavedHandle()
            self.original[known] = tensor
            self._by_storage.setdefault(storage, WeakSet()).add(known)
        return known

    def unpack(self, handle: SavedHandle) -> tt.Tensor:
        """Return the tensor with the values that it was saved with."""
        kept = self.cloned.get(handle)
        if kept is None:
            kept = self.original.get(handle)
        if kept is None:
            raise tt.errors.AssertedError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the tensors of "
                "the graph were saved: nothing has kept their values since"
            )
        return kept

    def before_change(self, tensor: tt.Tensor) -> None:
        """Copy the saved tensors that share the memory of one that is about to be changed."""
        if tensor.layout is not tt.strided:
            return
        # Taken out: the copies are their own from now on, and further changes do not matter.
        for handle in list(self._by_storage.pop(tensor.untyped_storage(), ())):
            saved = self.original.pop(handle, None)
            if saved is not None:
                with tt.no_grad():
                    self.cloned[handle] = saved.detach().clone()

    def clear(self) -> None:
        """Let go of all tensors."""
        self.original.clear()
        self.cloned.clear()
        self.tid_to_weakhandle.clear()
        self._by_storage.clear()


class CopyBeforeChange(TTDispatchMode):
    """Shows a context the arguments that operators change, before they do."""

    def __init__(self, context: MutationContext) -> None:
        super().__init__()
        self._context = context

    def __tt_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        # The schema says which arguments an operator writes, in-place forms and `out=` alike.
        for position, argument in enumerate(func.schema.arguments):
            if argument.alias is None or not argument.alias.write:
                continue
            value = args[position] if position < len(args) else keywords.get(argument.name)
            for target in value if isinstance(value, list | tuple) else (value,):
                if isinstance(target, tt.Tensor):
                    self._context.before_change(target)
        return func(*args, **keywords)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """Let tensors be changed in place although backward needs their values: it keeps copies of them.

    A tensor is copied when it is changed while a graph needs it.  The backward pass belongs into the block.

    Raises
    ------
    RuntimeError
        If a block of it is open in this thread.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     _ = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if getattr(_open, "block", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested: one is open already")
    context = MutationContext()
    _open.block = True
    try:
        with CopyBeforeChange(context), saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        context.clear()
        _open.block = False
