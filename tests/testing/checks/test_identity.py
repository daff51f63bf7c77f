"""A tensor changed in place stays the same tensor: the check finds whatever loses that."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tt.core.dispatch.call import cached_call
from tt.testing.checks.case import Case
from tt.testing.conformance import check_conformance


def failures(*ops: str, device: str = "cpu", dtypes: tuple[str, ...] = ("float32",)) -> list[str]:
    found = check_conformance(device, ops=ops, dtypes=dtypes, checks=["identity"])
    assert found.checks["identity"] >= len(ops)
    return [failure.message for failure in found.failures]


def test_sound_operators_pass_in_dtypes_with_and_without_gradients() -> None:
    names = ("add", "copy", "t", "uniform", "index_add", "masked_fill", "resize", "zero")
    assert failures(*names, dtypes=("float32", "int64", "complex64")) == []


def test_a_layer_that_hands_back_its_alias_is_found(frozen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(entry: Any, args: Any, aliases: Any, result: Any) -> Any:
        return result

    monkeypatch.setattr(cached_call, "hand_back", lost)
    found = failures("add", device=frozen)
    for kind in ("a leaf", "a parameter", "a leaf of a subclass"):
        for mode in ("no_grad", "inference_mode"):
            assert f"{kind} under {mode}: the in-place form returns another tensor than its target" in found


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda target, value: tt.full_like(target, float(value)),
            "a leaf under no_grad: the in-place form returns",
        ),
        (
            lambda target, value: target.fill_(value).requires_grad_(False),
            "requires_grad was True and is False",
        ),
        (lambda target, value: _without_grad(target.fill_(value)), "grad was"),
        (lambda target, value: target, "does not bump the version"),
        (lambda target, value: target.fill_(value + 1), "instead of"),
    ],
)
def test_a_form_that_loses_something_of_its_target_is_found(
    monkeypatch: pytest.MonkeyPatch, broken: Any, message: str
) -> None:
    call = Case.call

    def spoilt(case: Case, args: Any, form: str = "functional", **more: Any) -> Any:
        if form == "inplace" and not tt.is_grad_enabled():
            return broken(*args)
        return call(case, args, form, **more)

    monkeypatch.setattr(Case, "call", spoilt)
    found = failures("fill")
    assert any(message in text for text in found), found


def _without_grad(tensor: Any) -> Any:
    tensor.grad = None
    return tensor
