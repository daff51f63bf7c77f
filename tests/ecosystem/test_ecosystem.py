"""The harness of the jobs: what it sees, and that what is committed agrees."""

from __future__ import annotations

import json
import re
import sys
from types import ModuleType

import numpy as np
import pytest

import tt
from tests.ecosystem import page, runner
from tests.ecosystem.__main__ import main
from tests.ecosystem.catalog import EXPECTED, jobs
from tests.ecosystem.facts import differences, facts_of


def _without_the_facade(path):
    """Return the module of small programs as `tt port` would write it: it imports tt by its own name."""
    source = re.sub(r"^from torch", "from tt", path.read_text(), flags=re.MULTILINE)
    source = re.sub(r"^( *)import torch\.([\w.]+) as", r"\1import tt.\2 as", source, flags=re.MULTILINE)
    source = re.sub(r"^( +)from torch", r"\1from tt", source, flags=re.MULTILINE)
    source = source.replace("import torch\n", "import tt as torch\n")
    module = ModuleType("small_programs")
    exec(compile(source, path, "exec"), vars(module))
    return module


PARTS = jobs()["small_programs"].parts
PROGRAMS = _without_the_facade(EXPECTED.parent / "jobs" / "small_programs.py")


UNDER_THE_FACADE_ALONE = {
    "operators_of_a_library": "kernels of tt.library take a backend's handles, those of torch.library tensors",
}


@pytest.mark.parametrize("program", [p for p in PARTS if p not in UNDER_THE_FACADE_ALONE])
def test_small_programs_run_without_the_facade(program):
    expected = json.loads(jobs()["small_programs"].expected.read_text())["parts"][program]
    result = facts_of(getattr(PROGRAMS, program)())
    assert list(differences(expected, json.loads(json.dumps(result)))) == []


def test_the_page_has_the_table_of_the_committed_results():
    rows = page.read()
    assert page.PAGE.read_text() == page.with_table(page.PAGE.read_text(), rows.values())


def test_every_result_is_of_a_job():
    assert page.read().keys() <= jobs().keys()
    for row in page.read().values():
        assert 0 <= row.passed <= row.parts == len(jobs()[row.library].parts), row.library


def test_every_expected_result_is_of_a_part_of_a_job():
    for path in EXPECTED.glob("*.json"):
        parts = json.loads(path.read_text())["parts"]
        assert parts.keys() <= set(jobs()[path.stem].parts), path.name


def test_every_job_has_expected_results():
    assert [name for name, job in jobs().items() if not job.expected.exists()] == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x * 1.001, "values"),
        (lambda x: x.reshape(3, 2), "shape"),
        (lambda x: x.double(), "dtype"),
        (lambda x: tt.where(x > 0, x, tt.inf), "not finite"),
        (lambda x: [x], ""),
        (lambda x: None, "None"),
    ],
)
def test_results_that_differ_are_seen(change, text):
    x = tt.linspace(-1, 1, 6).reshape(2, 3)
    expected = json.loads(json.dumps(facts_of({"x": x})))
    assert list(differences(expected, facts_of({"x": x + 1e-7}))) == []
    (difference, *_) = differences(expected, facts_of({"x": change(x)}))
    assert difference.path == "['x']"
    assert text in difference.text


def test_a_value_that_is_not_sampled_shows_in_the_norm():
    values = np.arange(100.0)
    expected = facts_of(values)
    values[50] = 1000.0
    (difference,) = differences(expected, facts_of(values))
    assert "norm" in str(difference)


def test_facts_are_of_numbers_alone():
    assert facts_of([True, 2, 0.5, "a", None, tt.ones(1, dtype=tt.bfloat16)])[-1]["dtype"] == "bfloat16"
    with pytest.raises(TypeError, match="object"):
        facts_of({"x": object()})


def test_a_tolerance_needs_a_reason():
    from tests.ecosystem import kit

    with pytest.raises(ValueError, match="reason"):
        kit.tolerance(rtol=1.0, reason=" ")


def test_the_distribution_of_a_requirement():
    assert [runner.distribution(r) for r in ("a==1", "b-c[x]>=2", "d", "e~=3")] == ["a", "b-c", "d", "e"]


def test_the_list_of_jobs_imports_no_library(capsys):
    assert main(["--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {job["job"]: len(job["parts"]) for job in listed} == {n: len(j.parts) for n, j in jobs().items()}
    assert "einops" not in sys.modules
