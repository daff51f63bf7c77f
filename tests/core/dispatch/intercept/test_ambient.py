"""Ambient layers: whose calls they handle, what they pay, and that threads keep their settings apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.library import Layer, Mode, mask_kernels, without_ambient
from tt.core.types.carried import state_of_thread
from tt.core.types.state import STATE


class Doubling(Layer):
    """Multiplies the results of some operators."""

    name = "test_doubling"
    ambient = True

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def ambient_rule(self, operator: Any, keys: int, setting: Any) -> Callable[..., Any] | None:
        self.asked.append(operator.name)
        names, factor = setting
        if operator.name not in names:
            return None
        overload = operator.overload("functional")

        def rule(cached: Any, args: tuple[Any, ...]) -> Any:
            suspended = STATE.suspend()
            try:
                return overload.dispatch(args) * factor
            finally:
                STATE.resume(suspended)

        return rule


@pytest.fixture(scope="module")
def layer() -> Iterator[Doubling]:
    layer = Doubling()
    handle = REGISTRY.add_layer(layer)
    yield layer
    handle.remove()


@contextmanager
def doubling(*names: str, factor: int = 2) -> Iterator[None]:
    before = STATE.ambient_here()
    STATE.set_ambient({"test_doubling": (names, factor)})
    try:
        yield
    finally:
        STATE.set_ambient(*before)


def test_it_handles_calls_of_any_tensor_and_leaves_other_operators_alone(layer: Doubling) -> None:
    x = tt.ones(2)
    with doubling("add"):
        assert (x + x).tolist() == [4.0, 4.0]
        assert (x * x).tolist() == [1.0, 1.0]
    assert (x + x).tolist() == [2.0, 2.0] and STATE.guard == STATE.epoch and STATE.ambient == 0


def test_it_has_no_key_bit(layer: Doubling) -> None:
    assert layer.bit == 0


def test_a_combination_asks_once_in_each_setting(layer: Doubling) -> None:
    x = tt.ones(5, dtype=tt.float64)
    with doubling("hypot"):
        tt.hypot(x, x)
        count = layer.asked.count("hypot")
        for _ in range(3):
            tt.hypot(x, x)
        assert count > 0 and layer.asked.count("hypot") == count
        with doubling("hypot", factor=3):
            assert tt.hypot(x, x * 0).tolist() == [3.0] * 5
        assert tt.hypot(x, x * 0).tolist() == [2.0] * 5
    assert tt.hypot(x, x * 0).tolist() == [1.0] * 5


@pytest.mark.parametrize("call", [
    lambda x: x.add_(1),
    lambda x: tt.add(x, 1, out=tt.zeros(2)),
])  # fmt: skip
def test_in_place_forms_and_out_do_not_meet_it(layer: Doubling, call: Any) -> None:
    with doubling("add"):
        assert call(tt.ones(2)).tolist() == [2.0, 2.0]


def test_composites_meet_it_in_their_parts_and_other_operators_are_units(layer: Doubling) -> None:
    x = tt.ones(2, 2)
    assert REGISTRY.definition("addmm").kind != "composite" == REGISTRY.definition("kron").kind
    with doubling("mul"), mask_kernels("addmm"):
        assert tt.kron(x, x)[0, 0].item() == 2.0
        assert tt.addmm(x, x, x, beta=3)[0, 0].item() == 5.0


def test_gradients_flow_through_it(layer: Doubling) -> None:
    x = tt.ones(2, requires_grad=True)
    with doubling("exp"):
        tt.exp(x).sum().backward()
    assert tt.allclose(x.grad, 2 * tt.exp(tt.ones(2)))


def test_modes_see_the_calls_that_it_makes(layer: Doubling) -> None:
    class Log(Mode):
        def __init__(self) -> None:
            self.names: list[str] = []

        def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
            self.names.append(overload.name)
            return overload.dispatch(args)

    x = tt.ones(2)
    with doubling("add"), Log() as log:
        y = x + x
    assert log.names == ["add", "mul"] and y.tolist() == [4.0, 4.0]
    with doubling("add"), tt.FakeMode():
        assert (tt.ones(2) + 1).shape == (2,)
    with doubling("add"), Log():
        assert (x + x).tolist() == [4.0, 4.0]


def test_transforms_are_below_it(layer: Doubling) -> None:
    x = tt.arange(3.0)
    with doubling("sin"):
        assert tt.allclose(tt.func.grad(lambda v: tt.sin(v).sum())(x), 2 * tt.cos(x))
        assert tt.allclose(tt.func.vmap(tt.sin)(x), 2 * tt.tensor([0.0, 1.0, 2.0]).sin() / 2)


def test_a_block_without_it_restores_it(layer: Doubling) -> None:
    x = tt.ones(1)
    with doubling("add"):
        with without_ambient():
            assert (x + x).item() == 2.0
            with doubling("add", factor=5):
                assert (x + x).item() == 10.0
            assert (x + x).item() == 2.0
        assert (x + x).item() == 4.0


def test_other_threads_do_not_meet_it_and_have_settings_of_their_own(layer: Doubling) -> None:
    x, results = tt.ones(1), {}
    inside, checked = threading.Event(), threading.Event()

    def other() -> None:
        results["before"] = (x + x).item()
        with doubling("add", factor=7):
            results["inside"] = (x + x).item()
            inside.set()
            checked.wait(30)
        results["after"] = (x + x).item()

    with doubling("add"):
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(30)
        assert (x + x).item() == 4.0 and STATE.ambient == 2
        with without_ambient():
            assert (x + x).item() == 2.0
        checked.set()
        thread.join()
        assert (x + x).item() == 4.0 and STATE.ambient == 1
    assert results == {"before": 2.0, "inside": 14.0, "after": 2.0} and STATE.ambient == 0


def test_the_settings_of_a_thread_end_with_it(layer: Doubling) -> None:
    thread = threading.Thread(target=STATE.set_ambient, args=({"test_doubling": (("add",), 2)},))
    thread.start()
    thread.join()
    assert STATE.ambient == 0 and STATE.guard == STATE.epoch


def test_a_change_of_the_default_dtype_keeps_it(layer: Doubling) -> None:
    with doubling("add"):
        tt.ones(1) + 1
        with tt.default_dtype(tt.float64):
            assert (tt.ones(1) + 1).tolist() == [4.0] and (tt.ones(1) + 1).dtype is tt.float64
        assert (tt.ones(1) + 1).dtype is tt.float32


def test_it_is_carried_to_the_thread_in_which_a_computation_goes_on(layer: Doubling) -> None:
    x, results = tt.ones(1), []
    with doubling("add"):
        put = state_of_thread()

    def goes_on() -> None:
        put()
        results.append((x + x).item())

    thread = threading.Thread(target=goes_on)
    thread.start()
    thread.join()
    assert results == [4.0] and STATE.ambient == 0


def test_an_error_below_a_rule_leaves_it_on(layer: Doubling) -> None:
    with doubling("add"):
        with pytest.raises(RuntimeError):
            tt.ones(2) + tt.ones(3)
        assert (tt.ones(1) + 1).item() == 4.0


def test_an_explanation_names_it(layer: Doubling) -> None:
    with doubling("add"):
        text = str(tt.explain("add", ["cpu:float32", "cpu:float32"]))
    assert "ambient layer" in text
