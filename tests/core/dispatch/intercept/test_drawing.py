"""Handlers of random operators: which calls they see, in which thread, and that other calls pay nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tt
from tt.core.library import DrawHandler, active_modes
from tt.core.types.state import STATE
from tt.library import custom_op, scoped


class Log(DrawHandler):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
        self.seen.append(overload.name)
        return overload.dispatch(args)


def test_a_handler_sees_the_random_operators_of_its_block_in_all_forms() -> None:
    x = tt.full((3,), 0.5)
    with Log() as log:
        x + x
        tt.rand(2)
        x.bernoulli_()
        tt.rand(3, out=x)
        tt.nn.functional.dropout(x, 0.5)
    tt.rand(2)
    assert log.seen[:2] == ["rand", "bernoulli_"]
    assert "add" not in log.seen and log.seen[2].startswith("rand") and "dropout" in log.seen[3]


def test_a_handler_sees_random_operators_under_other_layers() -> None:
    x = tt.full((3,), 0.5, requires_grad=True)
    y = tt.tensor([[0.5]]).to_sparse_csr()
    with Log() as log:
        tt.bernoulli(x).sum()
        tt.rand_like(y)
    assert log.seen[0] == "bernoulli" and "rand_like" in log.seen


def test_calls_stay_on_the_fast_path() -> None:
    guard = STATE.guard
    with Log():
        assert guard == STATE.guard >= 0 and not active_modes() and STATE.drawing == 1
    assert STATE.drawing == 0


def test_handlers_nest_the_inner_one_first_and_are_off_in_their_own_handling() -> None:
    with Log() as outer, Log() as inner:
        tt.rand(2)

        class Twice(DrawHandler):
            def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
                return tt.rand(2) + overload.dispatch(args)

        with Twice():
            tt.rand(2)
    assert outer.seen == inner.seen == ["rand"] * 3


def test_another_thread_has_handlers_of_its_own() -> None:
    with Log() as log:
        thread = threading.Thread(target=lambda: tt.rand(2))
        thread.start()
        thread.join()
    assert log.seen == []


def test_an_error_leaves_no_handler_behind() -> None:
    class Refuse(DrawHandler):
        def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
            raise KeyError(overload.name)

    for _ in range(2):
        with Refuse(), pytest.raises(KeyError, match="rand"):
            tt.rand(2)
    assert STATE.drawing == 0
    assert tt.rand(2).shape == (2,)


def test_a_custom_operator_whose_kernel_takes_bare_arrays_is_seen() -> None:
    with scoped():

        @custom_op("drawing::noise", tags=("random",))
        def noise(x: tt.Tensor) -> tt.Tensor: ...

        noise.kernel("cpu", lambda x: x + 1)
        x = tt.ones(2)
        for _ in range(3):
            noise(x)
        with Log() as log:
            noise(x)
        assert log.seen == ["drawing::noise"]
        with pytest.raises(RuntimeError, match="called random operation drawing::noise"):
            tt.func.vmap(noise)(x)


def test_mapping_activates_no_mode() -> None:
    seen: list[Any] = []

    def watched(x: tt.Tensor) -> tt.Tensor:
        seen.append((active_modes(), STATE.guard >= 0))
        return x

    tt.func.vmap(watched)(tt.ones(2))
    assert seen == [((), True)]
