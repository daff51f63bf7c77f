"""Hooks that decide how tensors are stored between the forward and the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.core.library import Block, Tensor, errors
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.saved import HOOKS, Pairs, leave_opened

__all__ = ["disable_saved_tensors_hooks", "innermost_hooks", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks(Block):  # noqa: N801 - PyTorch's name
    """Lets a pair of functions store and restore the tensors that the graph saves, in a `with` block.

    Parameters
    ----------
    pack_hook : callable
        Called with each tensor when it is saved, while nothing is recorded; returns anything: a file's name, a
        compressed copy.  An argument is the tensor itself, with its class and attributes.
    unpack_hook : callable
        Called with the result of the other when the tensor is needed; returns a tensor with the same values.

    Raises
    ------
    RuntimeError
        Inside `disable_saved_tensors_hooks`.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> pack, unpack = lambda t: t.half(), lambda t: t.float()
    >>> with tt.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _look(self) -> Pairs:
        return HOOKS.pairs

    def _begin(self) -> None:
        if HOOKS.forbidden:
            raise errors.GradientError(HOOKS.forbidden[-1])
        HOOKS.pairs = (*HOOKS.pairs, (self.pack_hook, self.unpack_hook))
        STATE.count_packing(
            1
        )  # last, where an interrupt follows the effect: `_end` sees by the pairs what was done

    def _end(self, before: Pairs) -> None:
        leave_opened(before, HOOKS.forbidden)

    def _leave(self, stack: list[Any]) -> None:
        # A hook of this block may have entered it once more in a backward pass, whose end left that: of such entries
        # the block knows still.  An entry that is active began with fewer pairs than there are.
        if type(stack[-1]) is not _Chosen:  # an interrupt may begin again
            active = len(stack) - 1
            while active > 0 and len(stack[active]) >= len(HOOKS.pairs):
                active -= 1
            stack[active:] = [_Chosen(stack[active])]
        self._end(tuple(stack[-1]))


class _Chosen(tuple[Any, ...]):
    """The pairs to which the exit of a block goes back."""

    __slots__ = ()


def innermost_hooks() -> tuple[Callable[[Any], Any], Callable[[Any], Any]] | None:
    """Return the pair of hooks that tensors of this thread are saved by now, or None."""
    return HOOKS.pairs[-1] if HOOKS.pairs else None


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Keeps the tensors that the graph saves in the host's memory, and brings them back for the backward pass.

    Parameters
    ----------
    pin_memory : bool
        Whether the copies are in page-locked memory, where the device has such.
    device_type : str
        The device whose tensors may need page-locked memory.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.autograd.graph.save_on_cpu():
    ...     y = x.exp().sum()
    >>> y.backward()
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Any:
            if not pin_memory:
                return tensor.device, tensor.cpu()
            kept = tensor.cpu()
            pin = getattr(kept, "pin_memory", None)
            return tensor.device, pin() if pin is not None and tensor.device.type == device_type else kept

        def unpack(packed: Any) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(Block):  # noqa: N801 - PyTorch's name
    """Refuses `saved_tensors_hooks` in a `with` block.

    Parameters
    ----------
    error_message : str
        The text of the error.

    Examples
    --------
    >>> import tt
    >>> with tt.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with tt.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    tt.core.errors.GradientError: not here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def _look(self) -> tuple[str, ...]:
        return HOOKS.forbidden

    def _begin(self) -> None:
        if HOOKS.pairs:
            raise errors.GradientError(self.error_message)
        HOOKS.forbidden = (*HOOKS.forbidden, self.error_message)
        STATE.count_packing(1)

    def _end(self, before: tuple[str, ...]) -> None:
        leave_opened(HOOKS.pairs, before)
