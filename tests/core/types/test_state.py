"""The settings that every call reads: epochs that come back, and the guard."""

from __future__ import annotations

import tt
from tt.core.types.state import DispatchState


def test_going_back_to_earlier_settings_goes_back_to_their_epoch() -> None:
    state = DispatchState()
    start = state.epoch
    state.set_default_dtype(tt.float64)
    other = state.epoch
    state.set_default_dtype(tt.float32)
    assert (state.epoch, other != start) == (start, True)
    state.set_default_dtype(tt.float64)
    assert state.epoch == other


def test_the_guard_is_the_epoch_unless_modes_are_active() -> None:
    state = DispatchState()
    state.mode_entered()
    assert state.guard == -1
    state.set_default_dtype(tt.float64)
    assert state.guard == -1
    state.mode_left()
    assert state.guard == state.epoch
