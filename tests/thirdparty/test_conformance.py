"""The conformance check on a backend outside of this repository's tree: nothing to report on one that is right."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.exhaustive

pytest.importorskip("array_api_strict")

STRICT = "tt-strict-backend"
FEW = (
    "add",
    "exp",
    "sum",
    "amax",
    "transpose",
    "index_put",
    "sort",
    "softmax",
    "rand",
    "linalg_inv",
    "conv2d",
)


def check(run, *words, **options):
    """Return the outcome of `tt ops check` on the device `strict`."""
    output = run(["ops", "check", "--backend", "strict", "--json", *words], STRICT, **options)
    found, _ = json.JSONDecoder().raw_decode(output, output.index("{"))  # lines of progress follow
    return found["backends"][0]


def chosen(names):
    """Return the options that choose operators."""
    return [word for name in names for word in ("--ops", name)]


def test_some_operators_of_each_family_are_right(run):
    found = check(run, "--run", "--dtype", "float32", "--dtype", "int64", *chosen(FEW))
    rows = found["operators"]
    assert {row["name"].partition(".")[0] for row in rows} == set(FEW)
    assert [failure for row in rows for failure in row["failures"]] == []
    made = {name for row in rows for name in row["checks"]}
    assert made >= {
        "runs", "inputs", "meta", "device", "values", "view", "alias", "method", "inplace", "out", "seed", "gradient",
        "composite", "laws",
    }  # fmt: skip


def test_what_the_arrays_cannot_do_is_missing(run):
    found = check(run, "--run", "--ops", "view.dtype", "--dtype", "float32", fails=True)
    assert [row["missing"] for row in found["operators"]] == [True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("backend.to_numpy(self); return self + other", "reads 1 arrays back to the host"),
        ("return xp.asarray(self + other, copy=True) + xp.asarray(1, dtype=self.dtype)", "values differ"),
    ],
)
def test_a_kernel_that_is_wrong_is_reported(run, change, message):
    output = run(
        f"""
        import array_api_strict as xp
        import tt
        from tt.library import REGISTRY, KernelTable
        from tt.testing.conformance import check_conformance
        backend = REGISTRY.backend("strict")
        table = KernelTable(device="strict")
        @table.kernel("add", takes=("self", "other"), override=True, priority=100)
        def add(self, other):
            {change}
        with REGISTRY.add(table):
            report = check_conformance("strict", ops=["add"], dtypes=["float32"])
        print(*report.failures, sep="\\n")
        """,
        STRICT,
    )
    assert message in output
