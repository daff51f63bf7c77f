"""Anomaly mode: NaNs are found where they are made, and errors say which call recorded them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tt


@pytest.fixture
def x() -> Any:
    return tt.zeros(2, requires_grad=True)


def nan_later(x: Any) -> Any:
    return (x.sqrt() * 0).sum()


def test_a_nan_is_found_with_the_line_that_recorded_its_operator(x: Any) -> None:
    with pytest.warns(UserWarning, match="makes everything slower"), tt.autograd.detect_anomaly():
        y = nan_later(x)
        recorded = r"return \(x\.sqrt\(\) \* 0\)\.sum\(\)"
        made = pytest.raises(tt.errors.AnomalyError, match="SqrtBackward0 made a NaN in its gradient 0")
        with pytest.warns(UserWarning, match=recorded) as found, made:
            y.backward()
    assert "op_overload.py" not in str(found[0].message), "how tt records helps no user"


def test_without_the_check_a_nan_passes(x: Any) -> None:
    with tt.autograd.set_detect_anomaly(True, check_nan=False):
        nan_later(x).backward()
    assert x.grad.isnan().all()


def test_errors_of_a_backward_say_where_it_was_recorded(x: Any) -> None:
    class Broken(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            raise ValueError("broken")

    with tt.autograd.set_detect_anomaly(True):
        y = Broken.apply(x)
        with pytest.warns(UserWarning, match="Broken.apply"), pytest.raises(ValueError, match="broken"):
            y.sum().backward()


def test_an_error_in_a_second_pass_names_the_first_call_too() -> None:
    x = tt.zeros(1, requires_grad=True, dtype=tt.float64)
    with tt.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = x**1.5
        (first,) = tt.autograd.grad(y.sum(), x, create_graph=True)
        with pytest.raises(tt.errors.AnomalyError):
            (first * 0).sum().backward()
    assert "Error detected in" in str(seen[-2].message) and "tt.autograd.grad(y" in str(seen[-2].message)
    assert "which came from the backward of PowBackward0" in str(seen[-1].message)
    assert "y = x**1.5" in str(seen[-1].message)


def test_a_node_made_before_says_so(x: Any) -> None:
    y = nan_later(x)
    with (
        tt.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match=r"No forward pass information.*made outside anomaly detection"),
        pytest.raises(tt.errors.AnomalyError),
    ):
        y.backward()


def test_the_switch_goes_back() -> None:
    assert not tt.is_anomaly_enabled()
    tt.autograd.set_detect_anomaly(True)
    try:
        assert tt.is_anomaly_enabled() and tt.is_anomaly_check_nan_enabled()
        with tt.autograd.set_detect_anomaly(False):
            assert not tt.is_anomaly_enabled()
        assert tt.is_anomaly_enabled()
    finally:
        tt.autograd.set_detect_anomaly(False)
    assert not tt.is_anomaly_enabled()


def test_a_report_that_filters_make_an_error_does_not_hide_the_error(capsys) -> None:
    x = tt.ones(2, requires_grad=True)
    with warnings.catch_warnings(), tt.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        y = x + 1
        z = y**2
        y += 1
        with pytest.raises(RuntimeError, match="changed in place"):
            z.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err
