"""The state that every dispatched call compares with one integer.

Note [Epochs and the guard]
---------------------------
What a call resolves to depends on its keys and dtypes and on few switchable settings: the default dtype, fallback
policies, masked kernels, backend priorities.  Each combination of settings has a number, its epoch; an entry of a
dispatch table remembers the epoch for which it was resolved.  `guard` is the epoch while no mode is active and -1
otherwise, so that a single comparison answers "is this entry still right, and is nobody listening".  Going back to
earlier settings goes back to their epoch: a `with default_dtype(...)` in a loop does not empty the tables.
"""

from tt.core.dtype import float32
from tt.core.forks import fork_safe_lock


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
