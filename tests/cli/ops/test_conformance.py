"""`tt ops check` of backends: how they serve operators, and whether these are right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import KernelTable, mask_kernels
from tt.library import custom_op, scoped

Run = Callable[..., Any]

FEW = ("--ops", "neg", "--ops", "softmin", "--dtype", "float32")


@pytest.fixture
def wrong_neg() -> Iterator[None]:
    """Let the CPU have a kernel of neg that is wrong at zero."""
    table = KernelTable(device="cpu")
    table.kernel("neg", lambda self: -self + (self == 0), takes=("self",), override=True, priority=100)
    with REGISTRY.add(table, Provider("the test")):
        yield


def squeezed(text: str) -> list[str]:
    """Return the words of each line that is not empty."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


# --- without --run -----------------------------------------------------------------------------------------------


def test_how_operators_are_served_is_counted_by_family(run: Run) -> None:
    ran = run("ops", "check", "--backend", "cpu", *FEW)
    assert squeezed(ran.out) == [
        "family operators with dtypes kernel composite",
        "pointwise 1 1 1 0",
        "activation 1 1 0 1",
        "all 2 2 1 1",
    ]
    assert (ran.err, ran.code) == ("", 0)


def test_json_has_every_operator_and_dtype(run: Run) -> None:
    found = json.loads(run("ops", "check", "--ops", "neg", "--json").out)
    assert found["ok"] and found["problems"] == []
    (backend,) = found["backends"]
    assert backend["name"] == "cpu" and backend["comparison"] is None
    assert {row["dtype"]: row["served"] for row in backend["operators"]}["float32"] == "kernel"
    assert all(row["name"] == "neg" and row["family"] == "pointwise" for row in backend["operators"])


def test_what_is_missing_is_listed_and_exits_with_1(run: Run) -> None:
    with mask_kernels("sin"):
        ran = run("ops", "check", "--run", "--ops", "sin", "--dtype", "float32")
    assert squeezed(ran.out)[-2:] == ["missing on cpu", "sin (float32)"]
    assert ran.code == 1


# --- with --run --------------------------------------------------------------------------------------------------


def test_a_run_without_failures(run: Run) -> None:
    ran = run("ops", "check", "--run", "--ops", "neg", "--dtype", "float32", "--checks", "values")
    lines = squeezed(ran.out)
    assert lines[0] == "family operators with dtypes calls checks missing failed"
    assert [line.split()[0] for line in lines[1:]] == ["pointwise", "all"]
    assert all(line.endswith(" 0 0") for line in lines[1:])
    assert "checking cpu: 1/1 neg" in ran.err
    assert ran.code == 0


@pytest.mark.usefixtures("wrong_neg")
def test_a_failure_is_shown_with_code_that_repeats_it(run: Run) -> None:
    ran = run("ops", "check", "--run", "--ops", "neg", "--dtype", "int64", "--checks", "values")
    assert ran.code == 1
    head = ran.out.index("\nfailures\n")
    first, *code = ran.out[head:].strip().splitlines()[1:4]
    assert (
        first.startswith("neg [cpu, int64, ") and " values: " in first and first.endswith(" 1 instead of 0")
    )
    assert code[0] == "    import tt" and code[1].startswith("    tt.ops.neg(tt.tensor(")


@pytest.mark.usefixtures("wrong_neg")
def test_json_and_junit_hold_every_failure(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    ran = run("ops", "check", "--run", "--ops", "neg", "--dtype", "int64", "--json", "--junit", str(file))
    (row,) = json.loads(ran.out)["backends"][0]["operators"]
    assert row["failures"] and {"op", "check", "message", "snippet"} <= set(row["failures"][0])
    assert ElementTree.parse(file).getroot().get("failures") == "1"
    again = run("ops", "check", "--run", "--ops", "neg", "--dtype", "int64", "--json", "--junit", str(file))
    assert again.code == 1  # its own file is written again


def test_another_seed_makes_other_inputs(run: Run) -> None:
    ran = run("ops", "check", "--run", "--ops", "neg", "--dtype", "float32", "--seed", "5", "--json")
    assert json.loads(ran.out)["ok"]


# --- baselines ---------------------------------------------------------------------------------------------------

NEG = ("ops", "check", "--run", "--ops", "neg", "--dtype", "int64", "--checks", "values")


def test_a_regression_is_told_from_what_was_known(run: Run, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    assert run(*NEG, "--save-baseline", str(good)).code == 0
    table = KernelTable(device="cpu")
    table.kernel("neg", lambda self: -self + (self == 0), takes=("self",), override=True, priority=100)
    with REGISTRY.add(table, Provider("the test")):
        worse = run(*NEG, "--baseline", str(good), "--save-baseline", str(bad))
        known = run(*NEG, "--baseline", str(bad))
    assert worse.code == 1
    assert "worse than the baseline\nneg[int64] values fails now\n" in worse.out
    assert worse.out.endswith("\n1 worse than the baseline, 0 mended, 0 known to be wrong\n")
    assert known.code == 0
    assert known.out.endswith("\n0 worse than the baseline, 0 mended, 1 known to be wrong\n")
    mended = run(*NEG, "--baseline", str(bad))
    assert mended.code == 0
    assert "mended since the baseline\nneg[int64] values no longer fails\n" in mended.out


def test_an_operator_that_became_missing_is_a_regression_without_a_run(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "served.json")
    words = ("ops", "check", "--backend", "cpu", "--ops", "softmin", "--dtype", "float32")
    assert run(*words, "--save-baseline", file).code == 0
    text = Path(file).read_text().replace('"composite"', '"kernel"')
    Path(file).write_text(text)
    ran = run(*words, "--baseline", file)
    assert ran.code == 0
    assert "served in another way\nsoftmin[float32] kernel before, composite now\n" in ran.out


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_operators_do_to_a_layout_what_they_do_to_dense_tensors(run: Run, layout: str) -> None:
    ran = run("ops", "check", "--backend", f"cpu/{layout}", "--run", "--dtype", "float32")
    assert ran.code == 0, ran.out
    family, operators, _, calls, _, missing, failed = ran.out.splitlines()[-1].split()
    assert (family, missing, failed) == ("all", "0", "0")
    assert int(operators) > 90
    assert int(calls) > 800


# --- wrong calls -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--backend", "cpuu"), "unknown device 'cpuu'; did you mean 'cpu'"),
        (("--ops", "negg"), "no operator is named 'negg'; did you mean 'neg'"),
        (("--ops", "neg", "--dtype", "float33"), "unknown dtype 'float33'; did you mean 'float32'"),
        (("--run", "--ops", "neg", "--checks", "value"), "unknown check 'value'; did you mean 'values'"),
        (("--checks", "values"), "add --run, or leave out --checks"),
        (("--seed", "0", "--junit", "x.xml"), "add --run, or leave out --seed, --junit"),
        (
            ("--run", "--backend", "cpu/sparse_cow"),
            "unknown backend 'cpu/sparse_cow'; did you mean 'cpu/sparse_coo'",
        ),
    ],
)
def test_a_wrong_word_exits_with_2(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("ops", "check", *words)
    assert ran.code == 2
    assert message in " ".join(ran.err.replace("│", " ").split())
    assert ran.out == ""


def test_a_file_that_is_no_baseline_is_a_wrong_call(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("[]")
    ran = run(*NEG, "--baseline", str(file))
    assert ran.code == 2 and "is not a baseline" in " ".join(ran.err.split())
    ran = run(*NEG, "--save-baseline", str(file))
    assert ran.code == 2 and "this command did not write it" in " ".join(ran.err.split())
    assert file.read_text() == "[]"


def test_schema_files_are_checked_on_their_own(run: Run, acme_file: Path) -> None:
    ran = run("ops", "check", str(acme_file), "--run")
    assert ran.code == 2
    assert "FILE is checked on its own: leave out --run" in " ".join(ran.err.split())


# --- what concerns whom ------------------------------------------------------------------------------------------


def test_a_run_that_would_check_nothing_is_an_error(run: Run) -> None:
    with scoped():

        @custom_op("shop::unsampled")
        def unsampled(x: tt.Tensor) -> tt.Tensor:
            """Doubles x."""
            return x + x

        ran = run("ops", "check", "--run", "--ops", "shop::*")
    assert "nothing was checked on cpu: no operator that matches shop::* has samples" in ran.err
    assert ran.code == 1


def test_a_check_of_a_backend_leaves_out_what_other_packages_brought(run: Run, tmp_path: Path) -> None:
    table = KernelTable(device="cpu")
    table.kernel("neg", lambda wrong: wrong, priority=-100)
    path = tmp_path / "other.yaml"
    path.write_text("""
schema_version: 1
namespace: other
ops:
- func: undone(Tensor self) -> Tensor
  kind: other
  meta: same
""")
    source = Provider("tt-other", "1.0", "other")
    assert REGISTRY.backend_sources["cpu", "strided"].distribution != source.distribution
    with REGISTRY.add(table, source), REGISTRY.add_definitions(path, source):
        alone = run("ops", "check", "--backend", "cpu")
        everything = run("ops", "check")
    assert "other::undone" not in alone.out and "has parameters that the schema lacks" not in alone.out
    assert alone.code == 0
    assert "other::undone" in everything.out and "has parameters that the schema lacks" in everything.out
    assert everything.code == 1


def test_operators_without_a_shape_to_foretell_have_no_problem(run: Run) -> None:
    with scoped():

        @custom_op("shop::places", tags="data_dependent_shape", result="int64")
        def places(x: tt.Tensor) -> tt.Tensor:
            """Returns where x is not zero."""

        @custom_op("shop::bump", mutates="x")
        def bump(x: tt.Tensor) -> None:
            """Adds one to x."""

        @custom_op("shop::shapeless")
        def shapeless(x: tt.Tensor) -> tt.Tensor:
            """Does something."""

        for op in (places, bump, shapeless):
            op.kernel("cpu", lambda x: x)
        good = run("ops", "check", "--ops", "shop::places", "--ops", "shop::bump")
        bad = run("ops", "check", "--ops", "shop::shapeless")
    assert good.code == 0, good.out
    assert "shop::shapeless: has neither a shape rule nor a composite" in bad.out
    assert bad.code == 1


# --- short runs --------------------------------------------------------------------------------------------------


def test_samples_limits_the_inputs_of_each_operator(run: Run) -> None:
    ran = run("ops", "check", "--run", "--ops", "neg", "--dtype", "float32", "--samples", "2", "--json")
    (backend,) = json.loads(ran.out)["backends"]
    assert [row["calls"] for row in backend["operators"]] == [2]


@pytest.mark.parametrize("operator", ["neg", "add"])
def test_samples_limits_the_inputs_on_layouts_too(run: Run, operator: str) -> None:
    few = (
        "ops",
        "check",
        "--run",
        "--backend",
        "cpu/sparse_coo",
        "--ops",
        operator,
        "--dtype",
        "float32",
        "--json",
    )
    counts = []
    for option in (("--samples", "1"), ("--samples", "2"), ()):
        (backend,) = json.loads(run(*few, *option).out)["backends"]
        counts.append(next(row["calls"] for row in backend["operators"] if row["name"] == operator))
    # Each argument of "add" is laid out alone, too.
    assert 0 < counts[0] <= (3 if operator == "add" else 1) and counts[0] < counts[1] < counts[2]


@pytest.mark.usefixtures("wrong_neg")
def test_a_finding_is_printed_as_it_comes_and_fail_fast_ends_the_run(run: Run) -> None:
    few = ("--ops", "neg", "--ops", "sin", "--dtype", "float32", "--dtype", "int64", "--checks", "values")
    ran = run("ops", "check", "--run", *few)
    lines = ran.err.splitlines()
    assert lines.index("neg[int64]: values") < len(lines) - 1
    assert "neg[float32]: values" in lines
    fast = run("ops", "check", "--run", "--fail-fast", *few)
    assert "neg[int64]: values" in fast.err and "neg[float32]" not in fast.err
    assert (ran.code, fast.code) == (1, 1)


@pytest.mark.parametrize("option", [("--samples", "2"), ("--fail-fast",)])
def test_options_of_a_run_need_one(run: Run, option: tuple[str, ...]) -> None:
    ran = run("ops", "check", *option)
    assert ran.code == 2 and f"add --run, or leave out {option[0]}" in ran.err
