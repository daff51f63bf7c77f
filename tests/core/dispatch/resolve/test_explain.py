"""`explain` reads the records that calls read."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.dispatch.resolve.explain import Explanation
from tt.core.library import ops


def test_explain_reads_the_same_records(probe: Any) -> None:
    probe.kernel("mul", np.multiply, dtypes=("float64",))
    found = tt.explain("mul", ["probe:float64", "2.5"])
    assert found.served
    assert (
        found.resolution
        is ops.mul.operator.overload().cached_call_of(probe.backend.keys, found_bits(), ()).resolution
    )
    missing = tt.explain("mul", ["probe:float32", "probe:float32"])
    assert not missing.served
    assert '"mul" not implemented for float32 on probe' in missing.text()


def found_bits() -> int:
    from tt.core.types.promotion import DIM_BITS, SCALAR_BITS

    return DIM_BITS[tt.float64.code] | SCALAR_BITS[float]


class Notebook(HTMLParser):
    """The text of each cell of the tables; fails for an element that is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


@pytest.mark.parametrize(
    ("public", "name"), [("linalg.svd", "linalg_svd"), ("tt.linalg.svd", "linalg_svd"), ("absolute", "abs")]
)
def test_the_public_name_leads_to_the_operator(public: str, name: str) -> None:
    assert tt.explain(public, ["cpu:float32"]).to_dict() == tt.explain(name, ["cpu:float32"]).to_dict()


def test_numbers_may_be_given_as_they_are() -> None:
    for number, text in ((2.5, "2.5"), (2, "2"), (True, "True"), (1j, "1j")):
        given, written = tt.explain("add", ["cpu:int64", number]), tt.explain("add", ["cpu:int64", text])
        assert given.to_dict() == written.to_dict()
    assert tt.explain("add", ["cpu:int64", 2.5]).result == "float32"


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ("cpu:float32", r"write \['cpu:float32'\]"),
        ([tt.ones(2)], "'cpu:float32', or a number, not of type Tensor"),
        (tt.ones(2), "not of type Tensor"),
        (["float32"], "'float32' is not an argument"),
    ],
    ids=["text", "tensors", "tensor", "dtype"],
)
def test_wrong_arguments_are_refused_with_what_to_write(specs: Any, said: str) -> None:
    with pytest.raises(tt.errors.ArgumentError, match=said):
        tt.explain("exp", specs)


def test_a_notebook_shows_every_candidate_and_which_is_taken() -> None:
    found = tt.explain("add", ["cpu:float32+autograd", "cpu:int64"])
    rows = Notebook(found._repr_html_()).rows[1:]
    assert [row[1:] for row in rows] == [[s["kind"], s["source"], s["reason"]] for s in found.steps()]
    assert [row[0] == "→" for row in rows] == [s["taken"] for s in found.steps()] and rows


def test_a_notebook_shows_text_of_others_as_text() -> None:
    error = tt.errors.ArgumentError("<b>", "<script>alert(1)</script>")
    found = Explanation("x", "functional", "x(<i>) -> &", [("<a>", "<img>")], error=error, notes=["<u>"])
    text = found._repr_html_()
    assert (
        "x(&lt;i&gt;) -&gt; &amp;" in text
        and "&lt;script&gt;" in text
        and "<code>&lt;a&gt;</code>: &lt;img&gt;" in text
    )
    assert not re.search(r"<(b|script|i|a|img|u)\b", text)


def test_a_tensor_has_no_rich_representation_so_notebooks_show_its_text() -> None:
    assert not [name for name in dir(tt.ones(1)) if name.startswith("_repr_")]


def test_the_dtype_of_what_is_composed_of_other_operators_is_that_of_its_results() -> None:
    found = tt.explain("float_power", ["cpu:int64", "2"])
    assert tt.float_power(tt.tensor([2]), 2).dtype is tt.float64
    assert found.text().endswith("result: float64, or complex128 for complex numbers")
    assert "result: float64" in found._repr_html_()
    assert tt.explain("isclose", ["cpu:float32", "cpu:float32"]).result == "bool"
    assert tt.explain("add", ["cpu:int64", "cpu:float32"]).to_dict()["result"] == "float32"
