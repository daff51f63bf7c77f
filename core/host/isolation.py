"""Isolation: changes that a plugin makes to the process while tt loads it are undone.

Loading a plugin runs its code, in programs that may never use it.  Whatever decides the results of such a program
(dtypes and devices that are defaults, random numbers, how NumPy and Python report errors, how tensors are printed) must
be the same as before.  See docs/design/plugins.md for what this does not cover.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tt.core.methods import printing
from tt.core.tensor import generator as tt_random
from tt.core.types import device
from tt.core.types.state import STATE
from tt.core.types.thread_state import THREAD

__all__ = ["isolated"]

Put = Callable[[], None]


@contextmanager
def isolated(found: list[str]) -> Iterator[None]:
    """Run a block; afterwards undo its changes of the process, and add them to `found`.

    Examples
    --------
    >>> import tt
    >>> from tt.core.host.isolation import isolated
    >>> with isolated(found := []):
    ...     tt.set_default_dtype(tt.float64)
    >>> tt.get_default_dtype(), found
    (tt.float32, ['the default dtype'])
    """
    watched: list[tuple[str, Callable[[], Any], Any, Callable[[Any], None]]] = []
    # All are read before the block runs, so that none sees a change of it.
    for what, read, write in WATCHED:
        watched.append((what, read, read(), write))
    with warnings.catch_warnings():
        filters = list(warnings.filters)
        try:
            yield
        finally:
            # `catch_warnings` puts the filters back itself; here it is only noted.
            if list(warnings.filters) != filters:
                found.append("the filters of warnings")
            for what, read, before, write in watched:
                if not _same(read(), before):
                    write(before)
                    found.append(what)


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, tuple) and isinstance(before, tuple) and len(now) == len(before):
        return all(_same(a, b) for a, b in zip(now, before, strict=True))
    if isinstance(now, np.ndarray):
        return isinstance(before, np.ndarray) and np.array_equal(now, before)
    return bool(now == before)


# --- settings of tt --------------------------------------------------------------------------------------------


def _settings() -> dict[Any, Any]:
    # The default dtype has an entry of its own in `WATCHED`.
    return {name: value for name, value in STATE.settings.items() if name != "default_dtype"}


def _put_settings(before: dict[Any, Any]) -> None:
    for name in {*_settings(), *before}:
        STATE.change(name, before.get(name))


def _put_modes(before: list[Any]) -> None:
    # Modes are counted in the state, too: both have to agree.
    for _ in range(len(THREAD.modes) - len(before)):
        STATE.mode_left()
    THREAD.modes = list(before)


def _put_protocols(before: tuple[bool, bool]) -> None:
    THREAD.functions, THREAD.subclasses = before


def _default_device() -> tuple[Any, Any]:
    return device.DEFAULT.device, device.DEFAULT.stack


def _put_default_device(before: tuple[Any, Any]) -> None:
    device.DEFAULT.device, device.DEFAULT.stack = before


def _generators() -> tuple[Any, dict[str, tuple[int, int]]]:
    defaults = tt_random._DEFAULTS
    return defaults.seed, {name: (g.initial_seed(), g.get_offset()) for name, g in defaults.by_device.items()}


def _put_generators(before: tuple[Any, dict[str, tuple[int, int]]]) -> None:
    defaults = tt_random._DEFAULTS
    defaults.seed = before[0]
    for name in list(defaults.by_device):
        if name in before[1]:
            seed, offset = before[1][name]
            defaults.by_device[name].manual_seed(seed)
            defaults.by_device[name].set_offset(offset)
        else:
            # Of a device that the plugin was the first to use; it is made anew when it is needed.
            del defaults.by_device[name]


def _put_print_options(before: Any) -> None:
    printing._Current.options = before


# --- settings of NumPy and Python ------------------------------------------------------------------------------


def _numpy_random() -> Any:
    # Importing it takes 10 ms, which a program that has no use for it should not pay.
    module = sys.modules.get("numpy.random")
    return None if module is None else module.get_state()


def _put_numpy_random(before: Any) -> None:
    if before is None:
        # The plugin imported `numpy.random`, so there is no earlier state to go back to.
        np.random.seed()
    else:
        np.random.set_state(before)


def _put_numpy_errors(before: tuple[Any, Any]) -> None:
    np.seterr(**before[0])
    np.seterrcall(before[1])


WATCHED: tuple[tuple[str, Callable[[], Any], Callable[[Any], None]], ...] = (
    ("the default dtype", lambda: STATE.default_dtype, STATE.set_default_dtype),
    ("settings of the dispatcher", _settings, _put_settings),
    ("settings of ambient layers", STATE.ambient_here, lambda before: STATE.set_ambient(*before)),
    ("active modes", lambda: list(THREAD.modes), _put_modes),
    ("whether __tt_function__ is asked", lambda: (THREAD.functions, THREAD.subclasses), _put_protocols),
    ("the default device", _default_device, _put_default_device),
    ("the random numbers of tt", _generators, _put_generators),
    ("how tensors are printed", lambda: printing._Current.options, _put_print_options),
    ("the random numbers of Python", random.getstate, random.setstate),
    ("the random numbers of NumPy", _numpy_random, _put_numpy_random),
    ("how NumPy reports errors", lambda: (np.geterr(), np.geterrcall()), _put_numpy_errors),
    ("how NumPy prints", np.get_printoptions, lambda before: np.set_printoptions(**before)),
)
"""The watched state: its name, how it is read, how it is put back."""
