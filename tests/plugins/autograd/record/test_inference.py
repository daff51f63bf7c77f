"""Inference mode: nothing is recorded, and its tensors can never be; next to torch where it is installed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tt


def test_values_can_be_read_in_the_mode() -> None:
    with tt.inference_mode():
        x = tt.ones(2) + 1
        assert x.tolist() == [2.0, 2.0]
        assert repr(x) == "tensor([2., 2.])"
        assert x.numpy().tolist() == [2.0, 2.0]


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tt", "torch"])
def test_what_is_an_inference_tensor(name: str) -> None:
    module = pytest.importorskip(name)
    x = module.ones(2, requires_grad=True)
    with module.inference_mode():
        assert module.is_inference_mode_enabled() and not module.is_grad_enabled()
        made, computed, view = module.ones(2), x * 2, x.view(2, 1)
        inner = computed[0]
        x_changed = module.ones(2)
        x_changed.add_(1)
        with module.inference_mode(False):
            assert (x * 2).requires_grad and not module.ones(1).is_inference()
    assert [t.is_inference() for t in (made, computed, inner, x_changed)] == [True] * 4
    assert not view.is_inference() and not x.is_inference()
    assert computed[0].is_inference(), "a view of one is one"
    assert not (computed + 1).is_inference() and not computed.clone().is_inference()
    assert not module.is_inference_mode_enabled() and module.is_grad_enabled()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tt", "torch"])
def test_what_is_refused_outside(name: str) -> None:
    module = pytest.importorskip(name)
    parameter = module.ones(2, requires_grad=True)
    with module.inference_mode():
        made = module.ones(2)
    for call in (
        lambda: made.add_(1),
        lambda: module.add(parameter.detach(), 1, out=made),
        lambda: parameter * made,
        lambda: made.requires_grad_(),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert (parameter + made).requires_grad, "addition saves nothing"
    assert not (parameter.detach() * made).requires_grad
    with module.inference_mode():
        made.fill_(2)
    assert made.tolist() == [2.0, 2.0]


def test_errors_say_what_to_do() -> None:
    with tt.inference_mode():
        made = tt.ones(2)
    with pytest.raises(tt.errors.InferenceTensorError, match=r"clone\(\)"):
        made.mul_(2)
    with pytest.raises(tt.errors.InferenceTensorError, match="MulBackward0 would save"):
        tt.ones(2, requires_grad=True) * made


def test_it_decorates_functions_and_generators() -> None:
    @tt.inference_mode()
    def make() -> Any:
        return tt.ones(1)

    @tt.inference_mode
    def make_too() -> Any:
        return tt.ones(1)

    @tt.inference_mode()
    def several() -> Any:
        yield tt.ones(1)
        yield tt.ones(1)

    assert make().is_inference() and make_too().is_inference()
    for made in several():
        assert made.is_inference() and not tt.is_inference_mode_enabled()


def test_each_thread_has_its_own() -> None:
    found: list[bool] = []
    with tt.inference_mode():
        thread = threading.Thread(target=lambda: found.append(tt.ones(1).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]
