"""`tt ops show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tt.cli.pages.pages import pages
from tt.core.schema.operator_texts import further_examples

Run = Callable[..., Any]

THRICE = """
    acme::thrice(Tensor self, Tensor other, *, Scalar scale=1) -> Tensor

      Adds other three times, scaled.

      The scale is a number.

      kind          pointwise
      shape rule    broadcast
      result dtype  default
      dtypes        all
      defined by    tt-acme NUMBER (acme)
      promotes      self, other
      gradient      self, other
      core          no

    result
      dtype: the promoted dtype
      shape: that to which the tensors broadcast

    errors
      BroadcastError: The shapes do not broadcast.
      DeviceMismatchError: The tensors lie on different devices.

    who serves acme::thrice
    where     how                 dtypes    by              code
    cpu       kernel, functional  floating  tt-acme NUMBER (acme)  conftest:LINE
    anywhere  composite                     tt-acme NUMBER (acme)  conftest:LINE
    layer transform  rule                   tt-tensor NUMBER
"""


@pytest.mark.usefixtures("acme")
def test_everything_that_is_known_of_an_operator_is_shown(run: Run, text: Any, normalised: Any) -> None:
    ran = run("ops", "show", "acme::thrice")
    assert normalised(ran.out) == normalised(text(THRICE))
    assert (ran.err, ran.code) == ("", 0)


HYPOT = r"""
    hypot(Tensor self, Tensor other) -> Tensor

      Returns the length of the hypotenuse over two legs, without overflow in between.

      \text{out}_i = \sqrt{\text{self}_i^2 + \text{other}_i^2}

      method        Tensor.hypot
      in-place      hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)
      out           hypot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
      kind          pointwise
      shape rule    broadcast
      result dtype  default
      dtypes        floating
      reference     numpy:hypot
      samples       binary_extreme
      defined by    tt-tensor
      promotes      self, other
      gradient      self, other
      core          no

    parameters
    name   type           default  meaning
    input  Tensor                  The input tensor.
    other  Tensor                  The second operand; it broadcasts with the first.
    out    Tensor | None  None     The tensor to write into; it is returned.

    result
      dtype: the promoted dtype
      shape: that to which the tensors broadcast

    errors
      BroadcastError: The shapes do not broadcast.
      DtypeNotServedError: The dtype is not supported; supported: floating.
      DeviceMismatchError: The tensors lie on different devices.
      CastError: `out` has a dtype that cannot hold the result.

    examples
      >>> tt.hypot(tt.tensor([3.0]), tt.tensor([4.0]))
      tensor([5.])
      >>> tt.hypot(tt.tensor([[3.0], [6.0]]), tt.tensor([4.0, 8.0]))
      tensor([[ 5.0000,  8.5440],
              [ 7.2111, 10.0000]])

    see also
      tt.atan2
"""


def test_an_operator_is_described_as_on_its_page(run: Run, text: Any) -> None:
    before, _, served = run("ops", "show", "hypot").out.partition("\nwho serves hypot\n")
    assert before == text(HYPOT)
    assert served.startswith("where ")  # then kernels, which not every machine has


def test_the_facts_are_those_of_the_page(run: Run) -> None:
    page = pages()["softmax.md"]
    shown = json.loads(run("ops", "show", "softmax", "--json").out)
    for found in shown:
        for line in (found["formula"], *found["notes"], *found["result"], *found["errors"].values()):
            assert line in page
        for example in found["examples"]:
            assert example in page
        assert "tt.nn.Softmax" in found["see_also"]
    assert shown[0]["formula"]


def test_further_examples_of_an_operator_stand_once(run: Run) -> None:
    (example,) = [further_examples()["softmax"].strip().splitlines()[0]]
    assert run("ops", "show", "softmax").out.count(example) == 1


def test_parameters_are_described_with_their_defaults(run: Run) -> None:
    lines = [" ".join(line.split()) for line in run("ops", "show", "isclose").out.splitlines()]
    assert "name type default meaning" in lines
    assert "rtol float 1e-05 The relative tolerance." in lines
    parameters = json.loads(run("ops", "show", "isclose", "--json").out)[0]["parameters"]
    assert parameters[0] == {
        "name": "input",
        "type": "Tensor",
        "default": None,
        "meaning": "The input tensor.",
    }


def test_all_overloads_of_a_name_are_shown(run: Run) -> None:
    lines = run("ops", "show", "max").out.splitlines()
    assert [line for line in lines if line.startswith("max")] == [
        "max(Tensor self) -> Tensor",
        "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "max.other(Tensor self, Tensor other) -> Tensor",
    ]


def test_one_overload_is_shown_alone(run: Run) -> None:
    found = json.loads(run("ops", "show", "max.dim", "--json").out)
    assert [operator["name"] for operator in found] == ["max.dim"]


@pytest.mark.parametrize(
    ("public", "name"),
    [
        ("linalg.svd", "linalg_svd"),
        ("tt.linalg.svd", "linalg_svd"),
        ("multiply", "mul"),
        ("nn.functional.gelu", "gelu"),
    ],
)
def test_the_public_name_leads_to_the_operator(run: Run, public: str, name: str) -> None:
    (found,) = json.loads(run("ops", "show", public, "--json").out)
    assert found["name"] == name


def test_the_in_place_name_leads_to_the_operator(run: Run) -> None:
    (found,) = json.loads(run("ops", "show", "add_", "--json").out)
    assert found["name"] == "add"
    assert found["forms"] == {
        "method": "Tensor.add",
        "in-place": "add_(Tensor(a!) self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)",
        "out": "add.out(Tensor self, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    }


def test_who_serves_add_where(run: Run) -> None:
    (found,) = json.loads(run("ops", "show", "add", "--json").out)
    cpu = [row for row in found["served"] if row["where"] == "cpu"]
    assert cpu
    assert "float32" in cpu[0]["dtypes"]
    assert cpu[0]["by"].startswith("tt-tensor")
    assert [row["how"] for row in found["served"] if row["where"] == "layer autograd"] == ["rule"]
    assert found["examples"][0].startswith(">>> ")


@pytest.mark.parametrize("name", ["tt.Tensor.add_", "Tensor.add_", "tt.Tensor.add", "Tensor.fill_"])
def test_the_name_of_a_method_leads_to_the_operator(run: Run, name: str) -> None:
    operator = name.rpartition(".")[2].removesuffix("_")
    assert run("ops", "show", name).out.startswith(f"{operator}(Tensor self")


def test_an_in_place_name_of_an_operator_without_that_form_is_unknown(run: Run) -> None:
    ran = run("ops", "show", "matmul_")
    assert ran.code == 2
    assert "no operator is named 'matmul_'" in ran.err
