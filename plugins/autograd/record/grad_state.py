"""What recording depends on: the switches of each thread, the layer's key bits, and the clock that orders nodes.

This is a hot module: plain Python that Cython compiles with the C types of `grad_state.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import TracebackType
from typing import Any

from tt.core.library import ALL_DTYPES, KEYS, Carried, fork_safe_lock


class _Switches(Carried):
    """Those of a thread: of recording, of inference mode, and whether it records by both."""

    grad = True
    inferring = False
    enabled = True


class GradState:
    """Whether operations are recorded, thread by thread, and the clock that orders nodes.

    A thread records where that is switched on and inference mode is off.

    Attributes
    ----------
    switched_off : int
        In how many threads recording is off.  While it is zero, calls do not look at thread-local state.
    packing : int
        How many `saved_tensors_hooks` are active in all threads.  While it is zero, calls do not look for them.
    anomaly : int
        0; 1: nodes remember where they were made; 2: gradients are also searched for NaN.
    transforming : int
        1 once a function was differentiated by a transform; until then in-place operators do not look for captured
        tensors.
    passes : int
        How many backward passes run, in all threads and one inside of another.
    watching : int
        Number of hooks on several tensors; these depend on which pass runs.
    inference_bit : int
        The key bit of tensors made in inference mode.
    bit : int
        The key bit of tensors that require a gradient.
    floating : int
        Bit set of the codes of the dtypes that can have a gradient.
    tick : callable
        Returns 1, 2, 3, ...; safe to call from any thread.
    """

    __slots__ = (
        "_local", "_lock", "anomaly", "bit", "floating", "inference_bit", "packing", "passes", "switched_off", "tick",
        "transforming", "watching",
    )  # fmt: skip

    switched_off: int
    packing: int
    anomaly: int
    transforming: int
    passes: int
    watching: int
    inference_bit: int
    bit: int
    floating: int
    tick: Callable[[], int]
    _local: _Switches
    _lock: Any

    def __init__(self) -> None:
        self.switched_off = 0
        self.packing = 0
        self.anomaly = 0
        self.transforming = 0
        self.passes = 0
        self.watching = 0
        self.bit = KEYS.bit("layer", "autograd")
        self.inference_bit = KEYS.bit("layer", "inference")
        self.floating = sum(1 << t.code for t in ALL_DTYPES if t.kind in ("floating", "complex"))
        # One call in C, which no other thread can split, where `+= 1` on an attribute would need a lock.
        self.tick = count(1).__next__
        self._local = _Switches()
        self._lock = fork_safe_lock()

    def enabled(self) -> bool:
        """Return whether this thread records."""
        if self.switched_off == 0:
            return True
        return self._local.enabled

    def enable(self, enabled: bool) -> bool:
        """Switch recording on or off in this thread; return how it was."""
        before = self._local.grad
        if before is not enabled:
            self._local.grad = enabled
            self._settle()
        return before

    def grad(self) -> bool:
        """Return whether recording is switched on in this thread, be it in inference mode or not."""
        return self._local.grad

    def inferring(self) -> bool:
        """Return whether this thread is in inference mode."""
        return self._local.inferring

    def infer(self, inferring: bool) -> bool:
        """Switch inference mode on or off in this thread; return how it was."""
        before = self.inferring()
        if before is not inferring:
            self._local.inferring = inferring
            self._settle()
        return before

    def _settle(self) -> None:
        """Note whether this thread records, after either switch was moved."""
        before = self._local.enabled
        enabled = self.grad() and not self.inferring()
        if before is not enabled:
            # `+=` reads and writes in two steps, and another thread may come between.
            with self._lock:
                self.switched_off += 1 if before else -1
            self._local.enabled = enabled

    def count_packing(self, change: int) -> None:
        """Note that hooks on saved tensors came (1) or went (-1)."""
        with self._lock:
            self.packing += change


STATE = GradState()
"""The state of this process."""


class Switching:
    """Switches recording on or off inside a `with` block; see Note [Blocks and interrupts] of tt.core.blocks.

    A subclass has the attributes `_enabled`, what to switch to, and `_before`, None at first: how it was, and what
    `_before` was then.
    """

    __slots__ = ()

    _enabled: bool
    _before: Any

    def __enter__(self) -> None:
        before = STATE.grad()
        self._before = before, self._before
        try:
            STATE.enable(self._enabled)
        # An interrupt may come after the switch was moved; Python calls no `__exit__` when `__enter__`
        # raises.
        except BaseException:
            STATE.enable(before)
            self._before = self._before[1]
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        before, outer = self._before
        try:
            STATE.enable(before)
        # A second try: an interrupt may have cut the first one short.
        except BaseException:
            STATE.enable(before)
            raise
        finally:
            self._before = outer
