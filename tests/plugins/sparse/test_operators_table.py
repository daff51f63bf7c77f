"""The table of operators in docs/sparse.md agrees with the registrations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tt
from tt.core.library import REGISTRY
from tt.plugins.sparse.layouts import LAYOUTS

PAGE = Path(__file__).parents[3] / "docs" / "sparse.md"
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
ARITHMETIC = (
    "sin",
    "sqrt",
    "relu",
    "abs",
    "round",
    "isnan",
    "pow",
    "gt",
    "add",
    "sub",
    "mul",
    "div",
    "mm",
    "bmm",
    "matmul",
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "op", [*ARITHMETIC, "sum", "mean", "linalg_vector_norm", "any", "all", "nonzero", "sum.dim"]
)
def test_what_the_page_names_has_a_kernel_in_every_layout(op: str, layout: str) -> None:
    assert tt.ones(2, 2).to_sparse().is_sparse  # activates the plugin
    found = {r.layouts for r in REGISTRY.kernels[op] if r.device == "cpu"}
    assert (layout,) in found, f"{op} has no kernel for {layout}"
    for device in ("meta", "cuda"):
        served = {r.layouts for r in REGISTRY.kernels[op] if r.device == device}
        assert (layout,) in served, f"{op} has no kernel for {layout} on {device}"


def test_the_functions_of_the_page_are_those_of_the_namespace() -> None:
    named = set(re.findall(r"tt\.sparse\.(\w+)", "\n".join(ROWS)))
    functions = {
        name for name in tt.sparse.__all__ if not name.startswith(("sparse_", "check_", "as_", "to_"))
    }
    missing = {
        name for name in functions if name not in named and name not in PAGE.read_text(encoding="utf-8")
    }
    assert not missing
    assert {
        "mm",
        "addmm",
        "sampled_addmm",
        "spsolve",
        "sum",
        "softmax",
        "log_softmax",
        "smm",
    } <= named & functions
