"""The state that every dispatched call compares with one integer.

Note [Epochs and the guard]
---------------------------
The resolution of a call depends on its keys and dtypes and on a few switchable settings: the default dtype, fallback
policies, masked kernels, backend priorities.  Each combination of settings has a number, its epoch; a cached call in a
dispatch table remembers the epoch for which it was resolved.  `guard` is the epoch while no mode is active and -1
otherwise, so that one comparison shows that a cached call is valid and that no mode listens.  Going back to
earlier settings goes back to their epoch: a `with default_dtype(...)` in a loop does not empty the tables.

Note [Ambient layers]
---------------------
A layer with a key bit handles the calls of tensors that carry the bit.  An ambient layer (autocast) handles the calls
of a thread, whatever their tensors are, while the thread has a setting for it.  The settings of a thread, together
with those of the process, have an epoch of their own, so that its calls are cached like all others: in a table in
which operators that the layer leaves alone are resolved as if it were not there.

While some thread has settings and no mode is active, `guard` is -4.  No cached call has this epoch, so each call misses
at first and asks `epoch_here`, which compares the calling thread with the one that has settings: mostly there is one,
and no thread-local state is read.  A layer's rule suspends the settings of its thread for the calls that it makes.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from threading import local
from types import TracebackType
from typing import Any, Self, TypeVar

from tt.core.blocks import Block
from tt.core.forks import fork_safe_lock
from tt.core.types import thread_ident
from tt.core.types.carried import Carried
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
        The epoch, or -1 while modes are active anywhere in the process, or -4 while ambient layers are on somewhere.
    epoch : int
        The number of the current settings.
    ambient : int
        How many threads have settings of ambient layers.
    ambient_thread, ambient_epoch : int
        The only such thread and the epoch of its calls; 0 and 0 if there are several or none.
    modes : int
        How many modes are active, in all threads.
    drawing : int
        How many handlers of random operators there are, in all threads; while it is zero, calls of these operators do
        not look at the thread's.
    placed : int
        How many default devices are chosen, in all threads; while it is zero, calls do not look at the thread's.
    """

    __slots__ = (
        "_ambient_epochs", "_ambients", "_epochs", "_lock", "ambient", "ambient_epoch", "ambient_thread", "drawing",
        "epoch", "guard", "modes", "placed", "settings",
    )  # fmt: skip

    guard: int
    epoch: int
    ambient: int
    ambient_thread: int
    ambient_epoch: int
    modes: int
    drawing: int
    placed: int
    settings: dict[Any, Any]
    _ambients: dict[int, AmbientState]
    _ambient_epochs: dict[int, dict[tuple[tuple[str, Any], ...], int]]
    _epochs: dict[frozenset[tuple[Any, Any]], int]
    _lock: Any

    def __init__(self) -> None:
        self.guard = 0
        self.epoch = 0
        self.ambient = 0
        self.ambient_thread = 0
        self.ambient_epoch = 0
        self._ambients = {}
        self._ambient_epochs = {}
        self.modes = 0
        self.drawing = 0
        self.placed = 0
        self.settings = {"default_dtype": float32}
        self._epochs = {frozenset(self.settings.items()): 0}
        self._lock = fork_safe_lock()

    def change(self, name: Any, value: Any) -> None:
        """Change a setting (None removes it) and go to the epoch of the new settings."""
        with self._lock:
            # Replaced and not changed: other threads read the settings without the lock.
            settings = dict(self.settings)
            if value is None:
                settings.pop(name, None)
            else:
                settings[name] = value
            self.settings = settings
            self.epoch = self._number(settings)
            self._look_around()

    def _number(self, settings: dict[Any, Any]) -> int:
        # Numbers are given under the lock, so that two settings never get the same one.
        return self._epochs.setdefault(frozenset(settings.items()), len(self._epochs))

    def _number_of(self, pairs: tuple[tuple[str, Any], ...]) -> int:
        """Return the epoch of the settings of the process together with those of a thread."""
        numbers = self._ambient_epochs.setdefault(self.epoch, {})
        number = numbers.get(pairs)
        if number is None:
            number = self._number({**self.settings, **{("ambient", layer): value for layer, value in pairs}})
            numbers[pairs] = number
        return number

    def _look_around(self) -> None:
        """Make what calls compare from the settings of the process and of its threads."""
        if self._ambients:
            for ambient in self._ambients.values():
                ambient.on = self._number_of(tuple(ambient.settings.items()))
                ambient.epoch = self.epoch if ambient.suspended else ambient.on
        self.ambient_thread = 0  # first: until the end of this method every thread looks at its own
        self.ambient = len(self._ambients)
        if self.ambient == 1:
            for thread, ambient in self._ambients.items():
                # The epoch before the thread: who finds its number in `ambient_thread` uses the epoch at once.
                self.ambient_epoch = ambient.epoch
                self.ambient_thread = thread
        self.guard = -1 if self.modes else -4 if self.ambient else self.epoch

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the value of a setting."""
        return self.settings.get(name, default)

    # --- see Note [Ambient layers] ---
    def epoch_here(self) -> int:
        """Return the epoch of the calls of this thread."""
        if self.ambient == 0:
            return self.epoch
        thread = thread_ident.this_thread()
        if self.ambient_thread == thread:
            return self.ambient_epoch
        if self.ambient_thread != 0:  # another thread is the only one that has settings
            return self.epoch
        ambient = self._ambients.get(thread)
        return self.epoch if ambient is None else ambient.epoch

    def ambient_settings(self) -> dict[str, Any]:
        """Return the settings that calls of this thread meet: name of an ambient layer -> setting."""
        ambient = self._ambients.get(thread_ident.this_thread()) if self.ambient else None
        return {} if ambient is None or ambient.suspended else ambient.settings

    def ambient_here(self) -> tuple[dict[str, Any], bool]:
        """Return the settings of this thread, and whether they are suspended."""
        ambient = self._ambients.get(thread_ident.this_thread()) if self.ambient else None
        return ({}, False) if ambient is None else (ambient.settings, ambient.suspended)

    def set_ambient(self, settings: dict[str, Any], suspended: bool = False) -> None:
        """Give this thread settings of ambient layers, a dict that nobody changes, in place of those that it has."""
        thread = thread_ident.this_thread()
        # A thread's number is used again when it has ended, so its end has to drop the settings.
        if settings and not hasattr(_ENDING, "thread"):
            _ENDING.thread = _ThreadEnd(thread)
        with self._lock:
            if settings:
                self._ambients[thread] = AmbientState(settings, suspended)
            else:
                self._ambients.pop(thread, None)
            self._look_around()

    def forget_thread(self, thread: int) -> None:
        """Drop the settings of a thread that has ended: a later one may get its number."""
        with self._lock:
            if self._ambients.pop(thread, None) is not None:
                self._look_around()

    def keep_this_thread(self) -> None:
        """Drop the settings of all other threads, which a child process does not have."""
        # Without the lock: a child process has one thread.
        thread = thread_ident.this_thread()
        self._ambients = {other: state for other, state in self._ambients.items() if other == thread}
        self._look_around()

    def suspend(self) -> bool:
        """Let the calls of this thread pass its ambient layers by, for `resume`; return whether they do so already."""
        if self.ambient == 0:
            return True
        thread = thread_ident.this_thread()
        ambient = self._ambients.get(thread)
        if ambient is None or ambient.suspended:
            return True
        # Without the lock: rules come here with each call, and change what belongs to their own thread.
        ambient.suspended = True
        ambient.epoch = self.epoch
        if self.ambient_thread == thread:
            self.ambient_epoch = self.epoch
        return False

    def resume(self, suspended: bool) -> None:
        """End what `suspend` began, with what it returned."""
        if suspended:
            return
        thread = thread_ident.this_thread()
        ambient = self._ambients.get(thread)
        if ambient is not None:
            ambient.suspended = False
            ambient.epoch = ambient.on
            if self.ambient_thread == thread:
                self.ambient_epoch = ambient.on

    @property
    def default_dtype(self) -> Dtype:
        """The dtype that Python floats take."""
        dtype: Dtype = self.settings["default_dtype"]
        return dtype

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
            self.guard = -1 if self.modes else -4 if self.ambient else self.epoch


class AmbientState:
    """The settings of one thread for ambient layers.

    Attributes
    ----------
    settings : dict
        Name of a layer -> its setting, which is hashable.
    suspended : bool
        Whether the calls of the thread pass the layers by.
    on, epoch : int
        The epoch of the settings, and that of the thread's calls: without the settings where they are suspended.
    """

    __slots__ = ("epoch", "on", "settings", "suspended")

    settings: dict[str, Any]
    suspended: bool
    on: int
    epoch: int

    def __init__(self, settings: dict[str, Any], suspended: bool) -> None:
        self.settings = settings
        self.suspended = suspended
        self.on = 0
        self.epoch = 0


STATE = DispatchState()
"""The state of this process."""


class _ThreadEnd:
    """Lies in the local state of a thread, and goes with it."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def __del__(self) -> None:
        STATE.forget_thread(self._thread)


_ENDING = local()


class _AmbientCarried(Carried):
    """Takes the settings of a thread along where its computation goes on in another one."""

    def take(self) -> tuple[dict[str, Any], bool]:
        return STATE.ambient_here()

    def put(self, state: tuple[dict[str, Any], bool]) -> None:
        if state != STATE.ambient_here():
            STATE.set_ambient(*state)


_CARRIED = _AmbientCarried()

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=STATE.keep_this_thread)


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
        # The interrupt may have come before or after the count rose.
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
            # The interrupt may have come before or after the count rose.
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
    """Return a stack of modes without the innermost entry of one of them."""
    kept = list(modes)
    # The innermost first: a mode that is entered twice is left in the reverse order.
    for index in range(len(kept) - 1, -1, -1):
        if kept[index] is mode:
            del kept[index]
            break
    return kept
