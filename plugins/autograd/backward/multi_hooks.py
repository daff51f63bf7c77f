"""Hooks on the gradients of several tensors together, and on the end of a pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tt.core.library import Block, Carried, Tensor, errors, fork_safe_lock
from tt.plugins.autograd.record.graph import STATE, Node
from tt.plugins.autograd.record.views import edge

__all__ = [
    "entered",
    "queue_callback",
    "register_multi_grad_hook",
    "run_callbacks",
    "watch_passes",
    "when_pass_ends",
]


class _Passes(Carried):
    """The backward passes that run in this thread, the innermost last: their roots, and the nodes that they need."""

    def __init__(self) -> None:
        self.stack: tuple[_Running, ...] = ()
        # Of the innermost pass that started before passes were watched.
        self.callbacks: list[Callable[[], object]] = []


class _Running:
    def __init__(self, roots: list[Node], needed: set[Node] | None) -> None:
        self.roots, self.needed = roots, needed
        self._reached: set[Node] | None = None
        self.completed = False
        self.ending: list[Callable[[bool], object]] = []  # called at its end
        self.callbacks: list[Callable[[], object]] = []  # called when all gradients are there

    def runs(self, node: Node) -> bool:
        """Return whether the pass will reach a node."""
        if self.needed is not None:
            return node in self.needed
        if self._reached is None:
            self._reached = set(self.roots)
            stack = list(self.roots)
            while stack:
                for following in stack.pop().next_nodes:
                    if following is not None and following not in self._reached:
                        self._reached.add(following)
                        stack.append(following)
        return node in self._reached


_PASSES = _Passes()


class entered(Block):  # noqa: N801 - reads as a statement: with entered(roots, needed)
    """Gives hooks on several tensors access to the running pass."""

    def __init__(self, roots: list[Node], needed: set[Node] | None) -> None:
        self._running = _Running(roots, needed)

    def _look(self) -> tuple[_Running, ...]:
        return _PASSES.stack

    def _begin(self) -> _Running:
        _PASSES.stack = (*_PASSES.stack, self._running)
        return self._running

    def _end(self, before: tuple[_Running, ...]) -> None:
        _PASSES.stack = before
        while self._running.ending:
            self._running.ending.pop()(not self._running.completed)


@cache
def watch_passes() -> None:
    """Let `when_pass_ends` know of the passes that start from now on, for as long as the process lives."""
    STATE.watching += 1


def when_pass_ends(callback: Callable[[bool], object]) -> bool:
    """Call ``callback(failed)`` when the backward pass ends that runs in this thread: the innermost one.

    For what hooks and nodes begin and the rest of the pass ends, unless it raises.  False if no pass runs, or one that
    started before `watch_passes`: then nothing will be called.
    """
    if _PASSES.stack:
        _PASSES.stack[-1].ending.append(callback)
    return bool(_PASSES.stack)


def queue_callback(callback: Callable[[], object]) -> None:
    """Call a function when the innermost backward pass of this thread has computed all gradients.

    Functions are called in the order in which they were queued, those that they queue after them.  What one raises
    leaves the pass, and the rest is not called; nor is any if the pass itself raises.

    Parameters
    ----------
    callback : callable
        Takes nothing.

    Raises
    ------
    GradientError
        When no backward pass runs.
    ArgumentError
        For what cannot be called.
    """
    if not callable(callback):
        raise errors.ArgumentError("queue_callback", f"takes a function, not {type(callback).__name__}")
    if STATE.passes == 0:
        raise errors.GradientError("Final callbacks can only be installed during backward pass.")
    # Before the call: passes inside of this one have callbacks of their own from now on.
    watch_passes()
    (_PASSES.stack[-1].callbacks if _PASSES.stack else _PASSES.callbacks).append(callback)


def run_callbacks() -> None:
    """Call what was queued in the pass that has just computed its gradients."""
    callbacks = _PASSES.stack[-1].callbacks if _PASSES.stack else _PASSES.callbacks
    if not callbacks:
        return
    STATE.passes += 1  # they may queue others
    try:
        while callbacks:
            callbacks.pop(0)()
    finally:
        callbacks.clear()
        STATE.passes -= 1


class MultiHandle:
    """Removes a hook on several tensors."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = tuple(handles)
        STATE.watching += 1

    def remove(self) -> None:
        """Remove the hook; doing it twice does nothing."""
        if self._handles:
            STATE.watching -= 1
        for handle in self._handles:
            handle.remove()
        self._handles = ()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., None], *, mode: str = "all"
) -> MultiHandle:
    """Call a function once in each backward pass for several tensors together.

    Parameters
    ----------
    tensors : sequence of Tensor
        Each requires a gradient.
    fn : callable
        With mode "all" it gets the list of all gradients, when the last of them is there (None for a tensor that the
        pass does not reach); with mode "any" the first gradient that is there.
    mode : str
        "all" or "any".

    Returns
    -------
    MultiHandle
        Its `remove()` takes the hook out.

    Examples
    --------
    >>> import tt
    >>> x, y = tt.ones(1, requires_grad=True), tt.ones(1, requires_grad=True)
    >>> handle = tt.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (2 * x + 3 * y).sum().backward()
    [tensor([2.]), tensor([3.])]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise errors.ValueRangeError(f"register_multi_grad_hook: the mode is 'all' or 'any', not {mode!r}")
    nodes = []
    for tensor in tensors:
        if not tensor._keys & STATE.bit:
            raise errors.GradientError(
                "a hook is for tensors that require a gradient, and one of these does not"
            )
        nodes.append(edge(tensor)[0])
    lock = fork_safe_lock()
    # By pass: the same hook may take part in passes of several threads, and in passes inside of others.
    collected: dict[_Running, list[Any]] = {}

    def hook_of(position: int) -> Callable[[Any], None]:
        def hook(gradient: Tensor) -> None:
            running = _PASSES.stack[-1]
            with lock:
                first = running not in collected
                received = collected.setdefault(running, [None] * len(nodes) + [0])
                received[position] = gradient
                received[-1] += 1
                # Only of the last few passes: a pass that raised leaves an entry behind.
                while len(collected) > 64:
                    del collected[next(iter(collected))]
                # As many gradients come as there are nodes that the pass reaches; the rest stay None.
                last = received[-1] == sum(map(running.runs, nodes))
                if last and mode == "all":
                    del collected[running]
            # Outside of the lock: the function may run a pass that comes here again.
            if mode == "any" and first:
                fn(gradient)
            if mode == "all" and last:
                fn(received[:-1])

        return hook

    return MultiHandle([tensor.register_hook(hook_of(position)) for position, tensor in enumerate(tensors)])
