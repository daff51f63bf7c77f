"""Warnings point at the program, whatever lies between it and the operator."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

import pytest

import tt
from tt.core.types.user_warnings import warn_user

X = tt.arange(3.0)
W = tt.ones(1, requires_grad=True)

FORMS: dict[str, Callable[[], object]] = {
    "function": lambda: tt.meshgrid(X, X),
    "property": lambda: X.T,
    "method": lambda: X[:1].std(),
    "overload": lambda: X[:1].var(0, True),
    "operator of a loss": lambda: tt.nn.functional.mse_loss(X, X[:1]),
    "module": lambda: tt.nn.MSELoss()(X, X[:1]),
    "with gradients": lambda: tt.ones(1, requires_grad=True).std(),
    "vmap": lambda: tt.func.vmap(lambda x: tt.std(x))(X.reshape(3, 1)),
    "index": lambda: X[tt.tensor([1, 0, 1], dtype=tt.uint8)],
    "older form": lambda: tt.add(X, 2, X),
    "target of another shape": lambda: tt.add(X, X, out=tt.empty(2)),
    "constructor of a base class": lambda: tt.nn.LSTM(1, 1, dropout=0.5),
    "initializer": lambda: tt.nn.init.kaiming_normal_(tt.empty(0, 1)),
    "state": lambda: tt.nn.Linear(1, 1).state_dict({}),
    "optimizer": lambda: tt.optim.SGD([W, W], lr=1.0),
    "schedule": lambda: tt.optim.lr_scheduler.StepLR(tt.optim.SGD([W], lr=1.0), 1).step(),
    "gradient of a result": lambda: (W * 2).grad,
    "distribution": lambda: tt.distributions.Normal(0.0, 1.0).sample_n(1),
    "loader": lambda: tt.utils.data.random_split(range(1), [1, 0]),
}


@pytest.mark.parametrize("form", FORMS)
def test_warnings_point_at_the_line_of_the_program(form: str) -> None:
    with pytest.warns(Warning) as caught:
        FORMS[form]()
    assert {warning.filename for warning in caught} == {__file__}


def test_functions_without_a_module_are_passed() -> None:
    write = FunctionType((lambda: warn("text")).__code__, {"warn": warn_user})  # type: ignore[name-defined]  # noqa: F821
    with pytest.warns(UserWarning, match="text") as caught:
        write()
    with pytest.warns(DeprecationWarning, match="old") as more:
        warn_user("old", DeprecationWarning)
    assert [warning.filename for warning in (*caught, *more)] == [__file__] * 2
