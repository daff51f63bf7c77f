"""What `tt ops` says of operators that a program or a plugin defines with `custom_op`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

import tt
from tt.library import CustomOp, custom_op, scoped

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def mixed() -> Iterator[CustomOp]:
    """An operator with everything that a signature can have."""
    with scoped():

        @custom_op("shop::mixed", mutates="total")
        def mixed(
            total: tt.Tensor,
            x: tt.Tensor,
            how: Literal["mean", "sum"] = "sum",
            weights: dict[str, float] = {"a": 1.0},  # noqa: B006 - the default cannot change
            *,
            size: tuple[int, float] = (1, 2.0),
        ) -> tt.Tensor:
            """Adds x to the total, and returns it."""
            raise NotImplementedError

        @mixed.kernel("cpu", dtypes="floating")
        def on_cpu(total: Any, x: Any, how: str, weights: Any, size: Any) -> Any:
            total += x
            return total + 0

        mixed.shape(shape_of_x)
        yield mixed


def shape_of_x(x: Any) -> Any:
    """Return the shape of x."""
    return x.shape


def described(x: Any) -> Any:
    """Doubles x."""


SIGNATURE = (
    "shop::mixed(Tensor(a0!) total, Tensor x, str{'mean', 'sum'} how='sum', dict(str, float) weights={'a': 1.0}, *, "
    "tuple(int, float) size=[1, 2.0]) -> Tensor"
)


def test_list_has_it(run: Run) -> None:
    rows = {row["name"]: row for row in json.loads(run("ops", "list", "--json").out)}
    assert rows["shop::mixed"]["kind"] == "other"
    assert "shop::mixed" in run("ops", "list").out


def test_show_has_its_signature_rule_and_kernel(run: Run) -> None:
    (found,) = json.loads(run("ops", "show", "shop::mixed", "--json").out)
    assert found["signature"] == SIGNATURE
    assert found["shape_rule"] == "shape_of_x"
    assert found["defined_by"] == "(this program)"
    kernel = found["served"][0]
    assert (kernel["where"], kernel["dtypes"][-2:]) == ("cpu", ["float32", "float64"])
    assert "Adds x to the total, and returns it." in run("ops", "show", "shop::mixed").out


def test_explain_says_how_a_call_is_served(run: Run) -> None:
    ran = run("ops", "explain", "shop::mixed", "cpu:float32", "cpu:float32")
    assert ran.code == 0
    assert "serves the dtype in place" in ran.out
    assert run("ops", "explain", "shop::mixed", "cpu:int64", "cpu:int64").code == 1


def test_check_is_content_with_it(run: Run) -> None:
    ran = run("ops", "check")
    assert "shop::mixed" not in ran.out
    assert ran.code == 0


def test_check_names_a_gradient_that_is_missing(run: Run) -> None:
    plain = custom_op("shop::plain", described, schema="(Tensor x) -> Tensor")
    plain.kernel("cpu", lambda x: x + x)
    plain.shape("like")
    ran = run("ops", "check")
    assert (ran.code, ran.out.count("shop::")) == (1, 1)
    assert (
        "shop::plain: promises a gradient of 'x' and has neither a formula for it nor a composite" in ran.out
    )
    plain.backward(lambda g: 2 * g)
    assert run("ops", "check").code == 0


def test_check_names_a_shape_rule_that_is_missing(run: Run, mixed: CustomOp) -> None:
    mixed.handle(shape_of_x).remove()
    assert "shop::mixed: has neither a shape rule nor a composite" in run("ops", "check").out
