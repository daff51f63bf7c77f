"""The state that every dispatched call compares with one integer.

Note [Epochs and the guard]
---------------------------
What a call resolves to depends on its keys and dtypes and on few switchable settings: the default dtype, fallback
policies, masked kernels, backend priorities.  Each combination of settings has a number, its epoch; an entry of a
dispatch table remembers the epoch for which it was resolved.  `guard` is the epoch while no mode is active and -1
otherwise, so that a single comparison answers "is this entry still right, and is nobody listening".  Going back to
earlier settings goes back to their epoch: a `with default_dtype(...)` in a loop does not empty the tables.
"""

from contextlib import ContextDecorator

from tt.core.blocks import Block
from tt.core.forks import fork_safe_lock
from tt.core.types.device import DEFAULT, Device
from tt.core.types.dtype import float32
from tt.core.types.thread_state import THREAD


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
    placed : int
        How many default devices are chosen, in all threads; as long as none is, nobody looks at the thread's.
    """

    __slots__ = ("_epochs", "_lock", "epoch", "guard", "modes", "placed", "settings")

    def __init__(self):
        self.guard = 0
        self.epoch = 0
        self.modes = 0
        self.placed = 0
        self.settings = {"default_dtype": float32}
        self._epochs = {frozenset(self.settings.items()): 0}
        self._lock = fork_safe_lock()

    def change(self, name, value):
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

    def get(self, name, default=None):
        """Return the value of a setting."""
        return self.settings.get(name, default)

    @property
    def default_dtype(self):
        """The dtype that Python floats take."""
        return self.settings["default_dtype"]

    def set_default_dtype(self, dtype):
        """Change the dtype that Python floats take."""
        self.change("default_dtype", dtype)

    def count_placed(self, change):
        """Note that a default device was chosen (1) or that one was given up (-1)."""
        with self._lock:
            self.placed += change

    def mode_entered(self):
        """Count one more active mode."""
        with self._lock:
            self.modes += 1
            self.guard = -1

    def mode_left(self):
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

    def __init__(self, name, value, adds=False):
        self._name = name
        self._value = value
        self._adds = adds

    def _look(self):
        return STATE.get(self._name)

    def _begin(self):
        value = (*(STATE.get(self._name) or ()), *self._value) if self._adds else self._value
        STATE.change(self._name, value)

    def _end(self, before):
        STATE.change(self._name, before)


def enter_device(self):
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


def leave_device(self, *exception):
    """Give up the default device of a block."""
    DEFAULT.stack = DEFAULT.stack[:-1]
    STATE.count_placed(-1)


# Devices are defined below the dispatcher, in a module that is not compiled; see Note [Blocks and interrupts].
Device.__enter__ = enter_device
Device.__exit__ = leave_device


class Stacked:
    """Stands on the stack of modes of this thread inside a `with` block; see Note [Blocks and interrupts].

    Blocks may end in another order than they began.
    """

    def __enter__(self):
        before = THREAD.modes
        counted = STATE.modes
        try:
            THREAD.modes = [*before, self]
            STATE.mode_entered()
        except BaseException:
            THREAD.modes = before
            if STATE.modes != counted:
                STATE.mode_left()
            raise
        return self

    def __exit__(self, kind, error, trace):
        modes = THREAD.modes
        kept = without(modes, self)
        if len(kept) != len(modes):
            THREAD.modes = kept
            STATE.mode_left()


def without(modes, mode):
    """Return a stack of modes without the innermost place of one of them."""
    kept = list(modes)
    for place in range(len(kept) - 1, -1, -1):
        if kept[place] is mode:
            del kept[place]
            break
    return kept
