"""The subjects of commits: what the hook of `.pre-commit-config.yaml` takes and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[1]
CONFIG: Final = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))

GOOD: Final = (
    "Refuse negative strides",
    "Keep benchmark results as CSV, one row a case\n\nA report of JSON took 9,000 lines.\n",
    "Add tt.foo\n# Please enter the commit message for your changes.\n",
    "Pass the stream to kernels",
    "Address review of conv2d",
    "Speed up softmax",
    "Embed fonts",
    "Bring back `out=`",
    "Re-export the names of NumPy\n",
    "Merge branch 'records'",
    "Say why " + "x" * 64,
)
BAD: Final = (
    "Say why " + "x" * 65,
    "refuse negative strides",
    "Refuse negative strides.",
    "The strides are refused",
    "A refusal of strides",
    "Tests of strides",
    "Refuses negative strides",
    "Refused negative strides",
    "Refusing negative strides",
    "core: refuse negative strides",
    "Refuse negative strides\nbecause they crash",
    "Refuse",
    "",
)


def hook() -> dict[str, Any]:
    (subject,) = (h for repo in CONFIG["repos"] for h in repo["hooks"] if h["id"] == "commit-subject")
    return subject


def takes(message: str) -> bool:
    """Return whether the hook takes a message: its pattern matches, with the flags of its options."""
    return re.search(hook()["entry"].encode(), message.encode(), re.MULTILINE | re.DOTALL) is not None


@pytest.mark.parametrize("message", GOOD)
def test_good_subjects_are_taken(message: str) -> None:
    assert takes(message)


@pytest.mark.parametrize("message", BAD)
def test_bad_subjects_are_refused(message: str) -> None:
    assert not takes(message)


def test_the_hook_is_installed_with_the_others_and_runs_at_messages_alone() -> None:
    assert CONFIG["default_install_hook_types"] == ["pre-commit", "commit-msg"]
    assert CONFIG["default_stages"] == ["pre-commit"]
    assert hook()["stages"] == ["commit-msg"] and hook()["args"] == ["--negate", "--multiline"]


@pytest.mark.parametrize(("message", "status"), [(GOOD[1], 0), (BAD[0], 1)], ids=["good", "bad"])
def test_pre_commit_judges_the_file_of_a_message_by_the_pattern(
    message: str, status: int, tmp_path: Path
) -> None:
    pytest.importorskip("pre_commit")
    file = tmp_path / "message"
    file.write_text(message, encoding="utf-8")
    words = [sys.executable, "-m", "pre_commit.languages.pygrep", *hook()["args"], hook()["entry"], str(file)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == status
