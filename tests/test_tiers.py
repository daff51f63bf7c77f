"""Tiers of tests: what each run takes, and that nothing is left out of all of them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests import conftest, tiers
from tests.tiers import (
    SLICES,
    Slice,
    changed_paths,
    families,
    family_of,
    is_in_slice,
    missing_paths,
    scope_of,
)

OWN_TESTS = """
import pytest
from hypothesis import given
from hypothesis import strategies as st

@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(60))
def test_many(number):
    pass

@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(40))
def test_long(number):
    pass

def test_short():
    pass

@given(st.integers())
def test_drawn(number):
    pass
"""


class Names:
    """Keeps the names of the tests that were collected."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.found = [item.name for item in session.items]


@pytest.fixture
def run(tmp_path):
    """Run pytest on tests of our own with the hooks of tests/conftest.py; return the names that were collected."""

    def run_with(*options: str, text: str = OWN_TESTS) -> list[str]:
        (tmp_path / "test_own.py").write_text(text, encoding="utf-8")
        marks = "".join(
            f"\n    {name}" for name in ("exhaustive", "sampled(n)", "both_forms", "torch", "cupy", "mpi4py")
        )
        (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers ={marks}\n", encoding="utf-8")
        names = Names()
        sys.modules.pop("test_own", None)  # of an earlier run
        pytest.main(
            ["-q", "-p", "no:cacheprovider", *options, str(tmp_path)],
            plugins=[names, conftest],
        )
        return names.found

    return run_with


@pytest.fixture
def collect(run):
    return lambda *options: run("--collect-only", *options)


def test_a_sample_of_the_parameters_is_in_the_base_tier_and_the_first_always_is(collect):
    names = collect("-m", "not exhaustive")
    many = [name for name in names if name.startswith("test_many")]
    assert "test_many[0]" in many and 10 <= len(many) <= 30
    assert {"test_short", "test_drawn"} < set(names) and not any(
        name.startswith("test_long") for name in names
    )


def test_the_slices_together_are_the_exhaustive_tier_and_the_tests_that_draw(collect):
    base = set(collect("-m", "not exhaustive"))
    parts = [collect(f"--slice={number}/2") for number in (1, 2)]
    found = [name for part in parts for name in part]
    assert len(found) == len(set(found))
    assert set(found) == (set(collect()) - base) | {"test_drawn"}


def test_what_is_no_slice_is_refused():
    for text in ("3", "0/8", "9/8", "a/8", "3/", "-1/8"):
        with pytest.raises(pytest.UsageError, match="expected NUMBER/COUNT"):
            Slice.parse(text)
    assert Slice.parse(f"{SLICES}/{SLICES}") == (SLICES, SLICES)


class Item:
    """As much of a test as the choice of a slice looks at."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid

    def get_closest_marker(self, name: str) -> object:
        return name == "exhaustive" or None


def test_tests_at_changed_paths_are_in_every_slice(tmp_path, monkeypatch):
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    monkeypatch.setattr(tiers, "ROOT", tmp_path)
    for name in (
        "core/a.py",
        "core/b.py",
        "tests/core/test_a.py",
        "tests/core/test_own_a.py",
        "tests/core/test_b.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    (tmp_path / "core" / "a.py").write_text("changed\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "second")
    changed = changed_paths("HEAD~1")
    assert {
        "tests/core/test_a.py",
        "tests/core/test_own_a.py",
    } <= changed and "tests/core/test_b.py" not in changed
    item = Item("tests/core/test_a.py::test_x")
    assert all(is_in_slice(item, Slice(number, 8), changed) for number in range(1, 9))
    assert sum(is_in_slice(item, Slice(number, 8), frozenset()) for number in range(1, 9)) == 1
    monkeypatch.setattr(tiers, "MOST_CHANGED", 1)
    assert not changed_paths("HEAD~1")
    with pytest.raises(pytest.UsageError, match="--changed-since=nowhere"):
        changed_paths("nowhere")


@pytest.mark.parametrize("option", ["--slice=9/8", "--changed-since=nowhere", "--family=nowhere"])
def test_wrong_options_are_refused_before_any_process_starts(option):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--numprocesses=2", option]
    done = subprocess.run(command, cwd=tiers.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {option}: " in done.stderr and "INTERNALERROR" not in done.stdout


def test_every_file_of_tests_runs_with_one_family():
    names = families()
    assert family_of("tests/operators/scan/test_helpers.py", names) == "scan"
    assert family_of("tests/backends/cpu/test_sorting.py", names) == "sorting"
    assert family_of("tests/backends/cpu/native/test_native_loss.py", names) == "loss"
    assert family_of("tests/plugins/autograd/formulas/decomposition/test_linalg.py", names) == "decomposition"
    files = [path.relative_to(tiers.ROOT).as_posix() for path in (tiers.ROOT / "tests").rglob("test_*.py")]
    chosen = [family_of(path, names) for path in files]
    assert set(chosen) == set(names)
    # Those that name no family are in the turns of all.
    others = [path for path in files if not any(name in path for name in names)]
    assert {family_of(path, names) for path in others} == set(names)


def test_the_files_of_other_families_are_not_collected():
    options = ["-p", "no:cacheprovider", "--collect-only", "-q", "--family=scan", "tests/backends/cpu"]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tiers.ROOT, capture_output=True, text=True, check=True)
    files = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert "tests/backends/cpu/native/test_native_scan.py" in files  # test_scan.py needs PyTorch
    assert {family_of(path, families()) for path in files} == {"scan"}


def test_libraries_that_no_longer_serve_are_reported():
    assert conftest.warnings_of_fallbacks("compiled by Cython", "switched off by TT_NATIVE=0") == []
    (line,) = conftest.warnings_of_fallbacks("compiled", "stale: scan.c has changed since it was compiled")
    assert line == "WARNING: the compiled kernels of the CPU are not used; try: make native"
    (line,) = conftest.warnings_of_fallbacks("stale: base.py has changed since it was compiled", "compiled")
    assert "make develop" in line


def test_they_are_reported_below_the_results_too(monkeypatch):
    lines = []
    reporter = SimpleNamespace(write_line=lambda line, **markup: lines.append(line))
    monkeypatch.setattr(conftest.loading, "status", lambda: SimpleNamespace(reason="incomplete: no _scan.so"))
    conftest.pytest_terminal_summary(reporter)
    assert [line for line in lines if "make native" in line]
    lines.clear()
    monkeypatch.setattr(conftest.loading, "status", lambda: SimpleNamespace(reason="switched off"))
    conftest.pytest_terminal_summary(reporter)
    assert not [line for line in lines if "make native" in line]


def test_the_paths_that_are_listed_are_there():
    assert not missing_paths()


def test_a_file_stays_in_one_process_unless_it_is_divided():
    tests = [f"::test_x[{number}]" for number in range(100)]
    assert {scope_of(f"tests/core/types/test_keys.py{test}") for test in tests} == {
        "tests/core/types/test_keys.py"
    }
    assert 1 < len({scope_of(f"{tiers.DIVIDED[0]}{test}") for test in tests}) <= tiers.PARTS


def test_a_test_without_the_marker_of_what_it_lacks_fails(run, capsys):
    run(
        text="import pytest\n"
        "def test_bare(): pytest.skip(\"could not import 'torch': No module named 'torch'\")\n"
        "@pytest.mark.torch\n"
        "def test_marked(): pytest.skip(\"could not import 'torch': No module named 'torch'\")\n",
    )
    output = capsys.readouterr().out
    assert "test_own.py::test_bare needs torch and has no marker 'torch'" in output
    assert "1 failed, 1 skipped" in output


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is there")
def test_a_file_without_the_marker_of_what_it_lacks_is_an_error(run, capsys):
    run(text='import pytest\nlibrary = pytest.importorskip("cupy")\ndef test_bare(): pass\n')
    assert "test_own.py needs cupy: set pytestmark = pytest.mark.cupy" in capsys.readouterr().out
    marked = "import pytest\npytestmark = pytest.mark.cupy\n"
    run(text=marked + 'library = pytest.importorskip("cupy")\ndef test_own(): pass\n')
    assert "needs cupy" not in capsys.readouterr().out
