"""What `tt new` writes, built as a wheel and installed: it passes its own tests, and the checks of its code."""

from __future__ import annotations

import email
import email.utils
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive

PACKAGES = {
    "op": ["new", "op", "invented::square"],
    "op with long names": ["new", "op", "a_rather_long_namespace::an_even_longer_operator_name"],
    "backend": ["new", "backend", "invented"],
    "backend on a strict library": ["new", "backend", "invented_strict", "--library", "array_api_strict"],
}


@pytest.fixture(scope="module", params=PACKAGES)
def package(request, run, tmp_path_factory):
    """Write one of the packages; return its folder."""
    if "strict" in request.param:
        pytest.importorskip("array_api_strict")
    folder = tmp_path_factory.mktemp("new") / request.param.replace(" ", "-")
    run([*PACKAGES[request.param], "--directory", str(folder), "--author", 'A "quoted" name <a@example.org>'])
    return folder


def pytest_in(folder: Path, site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    path = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "TT_CONFIG": ""},
    )


def test_its_wheel_passes_its_own_tests_beside_other_packages(package, installed):
    done = pytest_in(package, installed(package))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout


def test_its_tests_fail_where_the_package_is_wrong(package, tmp_path, installed):
    """The generated tests see the installed package and notice its faults."""
    if " " in package.name or package.name not in PACKAGES:
        pytest.skip("the same template as one without further options")
    import shutil

    wrong = tmp_path / package.name
    shutil.copytree(package, wrong)
    (module,) = (wrong / "src").iterdir()
    changes = {
        "operators.py": ("x * x * x.dtype.type(scale)", "x * x * x.dtype.type(scale) + (x > 100)"),
        "plugin.py": (
            "registry.add(backend.kernels())",
            "registry.add(backend.kernels(without=['exp', 'tril']))",
        ),
    }
    file = next(name for name in changes if (module / name).exists())
    before, after = changes[file]
    text = (module / file).read_text()
    assert before in text
    (module / file).write_text(text.replace(before, after.replace("(x > 100)", "1")))
    done = pytest_in(wrong, installed(wrong), "-x")
    assert done.returncode == 1 and " failed" in done.stdout, done.stdout


def test_it_is_listed_for_the_interface_of_this_tt(package, run):
    import json

    listed = json.loads(run(["plugins", "list", "--activate", "--json"], package))
    (found,) = [plugin for plugin in listed if plugin["distribution"] != "tt-tensor"]
    assert (found["state"], found["api_version"], found["undone"]) == ("active", "1.0", [])
    assert "no problems" in run(["ops", "check"], package)


def test_its_author_and_its_licence_are_in_the_metadata(package, installed):
    (metadata,) = installed(package).glob("*.dist-info/METADATA")
    found = email.message_from_string(metadata.read_text())
    assert email.utils.parseaddr(found["Author-email"])[1] == "a@example.org"
    assert "quoted" in found["Author-email"]
    assert found["License-Expression"] == "Apache-2.0"


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_its_code_is_clean(package, tool):
    pytest.importorskip(tool)
    commands = {
        "ruff": [["ruff", "check", "--isolated", "."], ["ruff", "format", "--isolated", "--check", "."]],
        "mypy": [["mypy", "--strict", "src", "tests"]],
    }[tool]
    root = Path(__file__).parents[2] / ".editable"
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=package,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "MYPYPATH": str(root)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
