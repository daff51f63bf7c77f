"""What a release is made of: the settings of the wheels, and the workflow that builds and tries them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT

TRIED = ROOT / "tests" / "packaging" / "installed.py"


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def workflow():
    path = ROOT / ".github" / "workflows" / "release.yml"
    if not path.is_file():
        pytest.skip("a source distribution has no workflows")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands(job):
    return [step["run"] for step in job["steps"] if "run" in step]


def test_a_wheel_is_built_for_every_python_that_the_project_names(project):
    named = re.findall(r"Python :: 3\.(\d+)", " ".join(project["project"]["classifiers"]))
    assert len(named) >= 3
    assert project["tool"]["cibuildwheel"]["build"] == [f"cp3{minor}-*" for minor in named]


def test_wheels_are_compiled_and_tried(project):
    settings = project["tool"]["cibuildwheel"]
    for environment in (settings["environment"], settings["macos"]["environment"]):
        assert environment["TT_BUILD"] == "compiled"
    command = settings["test-command"]
    assert (
        str(TRIED.relative_to(ROOT)) in command and "--form compiled" in command and "-I" in command.split()
    )


def test_nothing_is_published_that_was_not_tried(workflow):
    jobs = workflow["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert jobs["publish"]["if"] == "github.event_name == 'push'"
    tried = [job for job, found in jobs.items() if any(TRIED.name in run for run in commands(found))]
    assert tried == ["bare", "anywhere"]


def test_the_workflow_tries_every_python_that_the_project_names(workflow, project):
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["project"]["classifiers"]))
    assert workflow["jobs"]["bare"]["strategy"]["matrix"]["python"] == named


def test_the_workflow_and_the_script_have_one_limit_for_the_size_of_a_wheel(workflow):
    script = ROOT / ".ci" / "wheels"
    limit = re.search(r"^limit=\$\(\((\d+) << 20\)\)", script.read_text(encoding="utf-8"), re.M)
    asked = re.search(r"-size \+(\d+)M", " ".join(commands(workflow["jobs"]["wheels"])))
    assert limit and asked and limit[1] == asked[1]


def test_an_editable_installation_is_not_taken_for_an_installed_one():
    done = subprocess.run(
        [sys.executable, str(TRIED), "--form", "compiled"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stderr.startswith("tt is imported from ") and not done.stdout


def test_the_script_of_the_wheels_is_a_valid_program():
    script = ROOT / ".ci" / "wheels"
    if not Path(script).is_file():
        pytest.skip("a source distribution has no scripts of CI")
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
