"""What was measured is named: the commit, and whether its files were changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import environment


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of two files with one commit, in which the module believes it lies."""
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    for name in ("core.py", "benchmarks/results/cases.csv"):
        (tmp_path / name).write_text("before\n", encoding="utf-8")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "benchmarks" / "environment.py"))
    return tmp_path


def test_a_report_that_a_run_has_written_changes_nothing_that_is_measured(repository: Path) -> None:
    name = environment.commit()
    assert len(name) >= 7 and int(name, 16) >= 0
    (repository / "benchmarks" / "results" / "cases.csv").write_text("after\n", encoding="utf-8")
    assert environment.commit() == name


def test_other_changed_files_are_said(repository: Path) -> None:
    name = environment.commit()
    (repository / "core.py").write_text("after\n", encoding="utf-8")
    assert environment.commit() == f"{name}-dirty"


def test_outside_a_repository_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "environment.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert environment.commit() == "unknown"
