"""Modes: which calls they see, in which order, and in which thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import Mode
from tt.core.types.state import STATE


class Log(Mode):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
        self.seen.append(caller.name)
        return caller.dispatch(args)


def test_a_mode_sees_the_calls_of_its_block(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0], tt.float32)
    tt.mul(x, x)
    with Log() as log:
        tt.mul(x, x)
        x.mul_(2.0)
    tt.mul(x, x)
    assert log.seen == ["mul", "mul_"]


def test_modes_nest_the_inner_one_first(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0], tt.float32)
    order: list[str] = []

    class Named(Mode):
        def __init__(self, name: str) -> None:
            self.name = name

        def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
            order.append(self.name)
            return caller.dispatch(args)

    with Named("outer"), Named("inner"):
        tt.mul(x, x)
    assert order == ["inner", "outer"]


def test_another_threads_mode_is_not_seen(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([2.0], tt.float32)
    found: list[Any] = []
    with Log() as log:
        thread = threading.Thread(target=lambda: found.append(tt.mul(x, x)._handle.tolist()))
        thread.start()
        thread.join()
    assert (found, log.seen) == ([[4.0]], [])


def test_a_mode_is_left_when_its_block_raises(probe: Any) -> None:
    with pytest.raises(KeyError), Log():
        raise KeyError
    assert STATE.modes == 0
