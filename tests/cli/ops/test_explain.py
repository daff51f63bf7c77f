"""`tt ops explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.usefixtures("acme")
def test_every_candidate_is_named_in_order(run: Run, text: Any, normalised: Any) -> None:
    ran = run("ops", "explain", "acme::thrice", "cpu:float32", "cpu:int64")
    # Key bits are listed in the order in which the process met them.
    assert normalised(ran.out).replace("cpu strided", "cpu strided") == normalised(
        text("""
        acme::thrice(Tensor self, Tensor other, *, Scalar scale=1) -> Tensor
          argument 'self': cpu:float32
          argument 'other': cpu:int64
          keys and dtypes: cpu strided: int64 float32
          -> kernel tt-acme NUMBER (acme) conftest:LINE: serves the dtype
          computes in float32
          result: float32
    """)
    )
    assert ran.code == 0


@pytest.mark.usefixtures("acme")
def test_a_call_that_is_not_served_exits_with_1_and_says_why(run: Run) -> None:
    ran = run("ops", "explain", "acme::twice", "cpu:int64")
    assert ran.code == 1
    assert "DtypeNotServedError" in ran.out
    assert run("ops", "explain", "acme::twice", "cpu:int64", "--json").code == 1


def test_json_holds_the_same(run: Run) -> None:
    found = json.loads(run("ops", "explain", "add", "cpu:float32", "2.5", "--json").out)
    assert found["operator"] == "add"
    assert found["arguments"] == [{"name": "self", "spec": "cpu:float32"}, {"name": "other", "spec": "2.5"}]
    assert found["compute"] == "float32"
    assert found["results"] == ["float32"]
    assert [c["kind"] for c in found["candidates"] if c["taken"]] == ["kernel"]
    assert found["error"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("addd", "cpu:float32"), "no operator is named 'addd'; did you mean 'add'"),
        (("add", "cpu"), "explain(): 'cpu' is not an argument: write device[/layout]:dtype[shape]"),
        (("add", "cpuu:float32"), "unknown device 'cpuu'; did you mean 'cpu'"),
        (("add", "cpu:float33"), "unknown dtype 'float33'; did you mean 'float32'"),
        (("neg", "cpu:int64", "cpu:int64"), "neg(): takes 1 tensor or number here, not 2"),
    ],
)
def test_what_cannot_be_explained_exits_with_2(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("ops", "explain", *words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "cpu:float32[2]", "cpu:float32[3]"), "BroadcastError: add(): the shapes [2] and [3]"),
        (("add_", "cpu:float32[1]", "cpu:float32[3]"), "InplaceError: add_(): the result has shape [3]"),
        (("mm", "cpu:float32[2,3]", "cuda:float32[2,3]"), "DeviceMismatchError"),
        (("mm", "cpu:float32[2,3]", "cpu:float32[2,3]"), "mm(): matrices of 2x3 and 2x3 do not multiply"),
        (("cat", "cpu:float32[2,3]", "cpu:float32[2,4]"), "in dimension 1 tensor 0 has size 3"),
        (("mm", "cpu:float32"), "ArgumentError: mm(): missing required argument 'mat2'"),
        (("add",), "ArgumentError: add(): missing required argument 'self'"),
        (("cat",), "ArgumentError: cat(): missing required argument 'tensors'"),
    ],
)
def test_calls_that_must_fail_are_not_served(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("ops", "explain", *words)
    assert ran.code == 1
    assert message in ran.out


@pytest.mark.parametrize(
    "words",
    [
        ("add", "cpu:float32[2]", "cpu:float32[1]"),
        ("mm", "cpu:float32", "cpu:float32"),
        ("softmax", "cpu:float32[2]"),  # specs give no dimension
        ("nonzero", "cpu:float32[2]"),  # the shape of the result depends on data
        ("linear", "cpu:float32[2,3]", "cpu:float32[4,3]"),
        ("zeros",),
    ],
)
def test_calls_that_may_succeed_are_served(run: Run, words: tuple[str, ...]) -> None:
    assert run("ops", "explain", *words).code == 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cpu/sparse:float32", "unknown layout 'sparse'; did you mean 'sparse_coo'?"),
        ("cpu/csr:float32", "unknown layout 'csr'; did you mean 'sparse_csr'?"),
        ("cpu/strded:float32", "unknown layout 'strded'; did you mean 'strided'?"),
        ("cpu/dense:float32", "unknown layout 'dense'; did you mean 'strided'?"),
        ("meta/coo:float32", "unknown layout 'coo'; did you mean 'sparse_coo'?"),
        ("cpux/coo:float32", "unknown device 'cpux'; did you mean 'cpu'?"),
        ("cpu:f32", "unknown dtype 'f32'; did you mean 'float32'?"),
        ("cpu:flot32", "unknown dtype 'flot32'; did you mean 'float32'"),
    ],
)
def test_a_wrong_device_layout_or_dtype_exits_with_2_and_names_the_nearest(
    run: Run, spec: str, message: str
) -> None:
    ran = run("ops", "explain", "add", spec, spec)
    assert ran.code == 2 and message in ran.err
