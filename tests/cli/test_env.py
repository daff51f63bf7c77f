"""`tt env`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest

import tt
from tests.processes import printed_by
from tt.backends.cpu.native import loading

Run = Callable[..., Any]


def test_json_has_what_a_bug_report_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_SOMETHING", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    found = json.loads(run("env", "--json").out)
    assert list(found) == ["tt", "system", "libraries", "blas", "threads", "plugins", "variables"]
    assert found["tt"]["version"] == tt.__version__
    assert found["tt"]["hot modules"].startswith(("compiled (", "interpreted ("))
    assert found["tt"]["extensions"] == str(tt.utils.cpp_extension.default_folder())
    assert found["system"]["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert found["libraries"]["numpy"] == metadata.version("numpy")
    assert found["threads"]["OMP_NUM_THREADS"] == "2"
    assert "autograd" in found["plugins"]
    assert found["variables"]["TT_SOMETHING"] == "1"


def test_the_text_holds_the_same(run: Run) -> None:
    found = json.loads(run("env", "--json").out)
    lines = [line.strip() for line in run("env").out.splitlines()]
    for section, values in found.items():
        assert section in lines
        for name, value in values.items():
            shown = str(value).splitlines()[0] if value else "(empty)"
            assert any(line.startswith(name) and line.endswith(shown) for line in lines)


def test_libraries_that_are_not_installed_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return "9.9"

    monkeypatch.setattr(metadata, "version", version)
    libraries = json.loads(run("env", "--json").out)["libraries"]
    assert "torch" not in libraries
    assert libraries["cupy"] == "9.9"


def test_a_variable_that_names_no_plugin_does_not_stop_the_report() -> None:
    code = "from tt.cli.main import main; import sys; sys.argv = ['tt', 'env']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**__import__("os").environ, "TT_PLUGINS": "no_such_plugin"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"TT_PLUGINS +no_such_plugin\n", done.stdout)
    assert "unknown plugin 'no_such_plugin'" in done.stdout


@pytest.mark.parametrize("asked", ["", "native", "blas", "magic"])
def test_what_computes_products_is_shown(asked: str) -> None:
    code = "from tt.cli.main import main; import sys; sys.argv = ['tt', 'env', '--json']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        env={**os.environ, "TT_PRODUCTS": asked}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["blas"]
    if asked == "magic":
        assert "TT_PRODUCTS=magic" in facts["products"]
        return
    native = asked != "blas" and loading.status().active
    assert facts["float32 and float64 products"] == ("native kernels" if native else "NumPy's BLAS")
    if not native:
        assert facts["bfloat16 products"] == "in float32, NumPy's BLAS"


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("numpy", "NumPy's LAPACK (MKL: TT_LAPACK=numpy)"),
        ("magic", "TT_LAPACK=magic: unknown choice; known: mkl, numpy"),
    ],
)
def test_what_computes_singular_values_is_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch, asked: str, shown: str
) -> None:
    monkeypatch.setenv("TT_LAPACK", asked)
    assert json.loads(run("env", "--json").out)["blas"]["singular values and eigenvalues"] == shown


def test_a_library_that_computes_products_is_shown() -> None:
    if not loading.status().active:
        pytest.skip("native kernels call the library")
    code = "from tt.cli.env import product_facts; print(product_facts())"
    assert "SciPy's BLAS" in printed_by(code, os.environ | {"TT_PRODUCTS": "scipy"})
    assert "cannot be loaded" in printed_by(code, os.environ | {"TT_PRODUCTS": "/no/such.so"})


def test_the_instruction_set_of_the_native_kernels_is_shown(run: Run) -> None:
    found = loading.levels()
    shown = json.loads(run("env", "--json").out)["tt"]["instruction set"]
    asked = os.environ.get("TT_ISA")
    assert shown.startswith(
        f"{loading.status().level or 'none'}; {f'by TT_ISA={asked}' if asked else 'TT_ISA is not set'}"
    )
    if found.processor:
        has, compiled = ", ".join(found.processor), ", ".join(found.compiled)
        assert shown.endswith(f"; the processor has {has}; compiled: {compiled}")


def test_an_instruction_set_that_is_refused_does_not_stop_the_report() -> None:
    code = "from tt.cli.main import main; import sys; sys.argv = ['tt', 'env']; main()"
    printed = printed_by(code, os.environ | {"TT_ISA": "sse9"})
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "native kernels TT_ISA=sse9: unknown instruction set; known: baseline, avx2, avx512" in lines
    assert "TT_ISA sse9" in lines


def test_nothing_of_torch_or_cupy_is_imported() -> None:
    code = (
        "import sys; from tt.cli.env import environment; environment();"
        "print([name for name in ('torch', 'cupy', 'scipy') if name in sys.modules])"
    )
    assert printed_by(code).strip() == "[]"
