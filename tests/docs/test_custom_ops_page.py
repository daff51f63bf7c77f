"""The page of custom operators: every registration and option is on it, and its package can be built and tested."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tt.core.custom_op.custom_op import CustomOp
from tt.core.dispatch.registry.sources import RegistrationHandle
from tt.library import Library, custom_op

FENCE = re.compile(r"((?:[^\n]+\n)+)\n```\w+\n(.*?)```", re.DOTALL)
PATH = re.compile(r"`([\w/.]+\.(?:py|toml))`")


@pytest.fixture(scope="module")
def page(pages):
    """The page."""
    return pages["docs/custom-ops.md"]


def public(cls: type) -> list[str]:
    """Return the public methods and properties that a class itself defines."""
    return [
        n for n, v in vars(cls).items() if not n.startswith("_") and (callable(v) or isinstance(v, property))
    ]


@pytest.mark.parametrize("cls", [CustomOp, RegistrationHandle, Library], ids=lambda cls: cls.__name__)
def test_every_method_is_described(page, cls):
    missing = [name for name in public(cls) if not page.mentions(name)]
    assert not missing, f"docs/custom-ops.md does not mention {missing}"


def test_every_option_of_custom_op_is_described(page):
    parameters = inspect.signature(custom_op).parameters.values()
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    listed = page.section("An operator in ten lines").first_cells()
    assert sorted(listed) == sorted(options)


def test_every_option_of_a_kernel_is_described(page):
    parameters = inspect.signature(CustomOp.kernel).parameters.values()
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert sorted(page.section("Kernels").first_cells()) == sorted(options)


def test_every_registration_is_described(page):
    listed = {cell.partition("(")[0] for cell in page.section("Registrations").first_cells()}
    adders = {
        name
        for name in public(CustomOp)
        if not name.startswith("register_") and name not in ("handle", "handles", "remove")
    }
    assert adders <= listed


def test_the_functions_of_pytorch_are_described(page):
    names = [n for n in ("define", "impl", "infer_schema", "register_kernel", "register_fake", "register_autograd",
                         "register_vmap") if not page.section("Libraries").mentions(n)]  # fmt: skip
    assert not names


# --- the package -----------------------------------------------------------------------------------------------


def run(*command: str, cwd: Path, path: Path | None = None) -> str:
    """Run a program of Python's, perhaps with one more folder of modules, and return its output."""
    inherited = os.environ.get("PYTHONPATH")
    folders = [*([str(path)] if path else []), *([inherited] if inherited else [])]
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_the_package_of_the_page_is_built_installed_and_passes_its_test(page, tmp_path):
    # The paragraph before a block names its file last.
    blocks = [(PATH.findall(before), text) for before, text in FENCE.findall(page.section("A package").text)]
    files = {names[-1]: text for names, text in blocks if names and "pip install" not in text}
    assert list(files) == [
        "pyproject.toml", "src/tt_guide/plugin.py", "src/tt_guide/operators.py", "tests/test_operators.py",
    ]  # fmt: skip
    source = tmp_path / "source"
    for name, text in {**files, "src/tt_guide/__init__.py": ""}.items():
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    pip = ("pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), ".", cwd=source)
    (wheel,) = tmp_path.glob("tt_guide-0.1.0-*.whl")
    site = tmp_path / "site"
    run(*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel), cwd=tmp_path)
    tests = source / "tests"
    assert "1 passed" in run("pytest", "-q", "-p", "no:cacheprovider", str(tests), cwd=tests, path=site)
    assert "no problems" in run("tt.cli.main", "ops", "check", cwd=tmp_path, path=site)
    shown = run("tt.cli.main", "ops", "show", "guide::logit", cwd=tmp_path, path=site)
    assert "tt-guide 0.1.0 (guide)" in shown and "like" in shown
