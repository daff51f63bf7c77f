"""The state that every dispatched call compares with one integer.

Note [Epochs and the guard]
---------------------------
The resolution of a call depends on its keys and dtypes and on a few switchable settings: the default dtype, fallback
policies, masked kernels, backend priorities.  Each combination of settings has a number, its epoch; a cached call in a
dispatch table remembers the epoch for which it was resolved.  `guard` is the epoch while no mode is active and -1
otherwise, so that one comparison shows that a cached call is valid and that no mode listens.  Going back to
earlier settings goes back to their epoch: a `with default_dtype(...)` in a loop does not empty the tables.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, Self, TypeVar

from tt.core.blocks import Block
from tt.core.forks import fork_safe_lock
from tt.core.types.device import DEFAULT, Device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import float32
from tt.core.types.thread_state import THREAD

M = TypeVar("M")


class DispatchState:
    """Settings of the dispatcher; there is one object, `STATE`.

    Attributes
    ----------
    guard : int
        The epoch, or -1 while modes are active anywhere in the process.
    epoch : int
        The number of the current settings.
    modes : int
        How many modes are active, in all threads.
    drawing : int
        How many handlers of random operators there are, in all threads; while it is zero, calls of these operators do
        not look at the thread's.
    placed : int
        How many default devices are chosen, in all threads; while it is zero, calls do not look at the thread's.
    """

    __slots__ = ("_epochs", "_lock", "drawing", "epoch", "guard", "modes", "placed", "settings")

    guard: int
    epoch: int
    modes: int
    drawing: int
    placed: int
    settings: dict[Any, Any]
    _epochs: dict[frozenset[tuple[Any, Any]], int]
    _lock: Any

    def __init__(self) -> None:
        self.guard = 0
        self.epoch = 0
        self.modes = 0
        self.drawing = 0
        self.placed = 0
        self.settings = {"default_dtype": float32}
        self._epochs = {frozenset(self.settings.items()): 0}
        self._lock = fork_safe_lock()

    def change(self, name: Any, value: Any) -> None:
        """Change a setting (None removes it) and go to the epoch of the new settings."""
        with self._lock:
            settings = dict(self.settings)
            if value is None:
                settings.pop(name, None)
            else:
                settings[name] = value
            self.settings = settings
            key = frozenset(settings.items())
            self.epoch = self._epochs.setdefault(key, len(self._epochs))
            self.guard = -1 if self.modes else self.epoch

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the value of a setting."""
        return self.settings.get(name, default)

    @property
    def default_dtype(self) -> Dtype:
        """The dtype that Python floats take."""
        found: Dtype = self.settings["default_dtype"]
        return found

    def set_default_dtype(self, dtype: Dtype) -> None:
        """Change the dtype that Python floats take."""
        self.change("default_dtype", dtype)

    def count_placed(self, change: int) -> None:
        """Note that a default device was chosen (1) or that one was given up (-1)."""
        with self._lock:
            self.placed += change

    def count_drawing(self, change: int) -> None:
        """Note that handlers of random operators were entered (positive) or left (negative)."""
        with self._lock:
            self.drawing += change

    def mode_entered(self) -> None:
        """Count one more active mode."""
        with self._lock:
            self.modes += 1
            self.guard = -1

    def mode_left(self) -> None:
        """Count one active mode less."""
        with self._lock:
            self.modes -= 1
            self.guard = -1 if self.modes else self.epoch


STATE = DispatchState()
"""The state of this process."""


class changed(Block, ContextDecorator):  # noqa: N801 - reads as a statement: with changed("default_dtype", float64)
    """Changes a setting of this process inside a `with` block.

    Parameters
    ----------
    name : object
        The setting.
    value : object
        Its value in the block; None: the setting is not there.
    adds : bool
        Whether the value, a tuple, comes behind the one before.
    """

    def __init__(self, name: Any, value: Any, adds: bool = False) -> None:
        self._name = name
        self._value = value
        self._adds = adds

    def _look(self) -> Any:
        return STATE.get(self._name)

    def _begin(self) -> None:
        value = (*(STATE.get(self._name) or ()), *self._value) if self._adds else self._value
        STATE.change(self._name, value)

    def _end(self, before: Any) -> None:
        STATE.change(self._name, before)


def enter_device(self: Device) -> Device:
    """Make a device the default one of this thread, for the length of a block."""
    before = DEFAULT.stack
    counted = STATE.placed
    try:
        DEFAULT.stack = (*before, self)
        STATE.count_placed(1)
    except BaseException:
        DEFAULT.stack = before
        STATE.count_placed(counted - STATE.placed)
        raise
    return self


def leave_device(self: Device, *exception: object) -> None:
    """Give up the default device of a block."""
    DEFAULT.stack = DEFAULT.stack[:-1]
    STATE.count_placed(-1)


# Devices are defined below the dispatcher, in a module that is not compiled; see Note [Blocks and interrupts].
for name, method in (("__enter__", enter_device), ("__exit__", leave_device)):
    setattr(Device, name, method)


class Stacked:
    """Stands on the stack of modes of this thread inside a `with` block; see Note [Blocks and interrupts].

    Blocks may end in another order than they began.
    """

    def __enter__(self) -> Self:
        before = THREAD.modes
        counted = STATE.modes
        mode: Any = self  # a Mode, which is defined above the state
        try:
            THREAD.modes = [*before, mode]
            STATE.mode_entered()
        except BaseException:
            THREAD.modes = before
            if STATE.modes != counted:
                STATE.mode_left()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        modes = THREAD.modes
        mode: Any = self  # as above
        kept = without(modes, mode)
        if len(kept) != len(modes):
            THREAD.modes = kept
            STATE.mode_left()


def without(modes: list[M], mode: M) -> list[M]:
    """Return a stack of modes without the innermost place of one of them."""
    kept = list(modes)
    for place in range(len(kept) - 1, -1, -1):
        if kept[place] is mode:
            del kept[place]
            break
    return kept
