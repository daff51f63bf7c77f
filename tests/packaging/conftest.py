"""Builds the project, and a miniature of it that the same hook compiles within seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[2]

MINIATURE = {
    "README.md": "# tt\n",
    "ops.yaml": "schema_version: 1\n",
    "api/__init__.py": """
        from tt.core import compiled

        compiled.install()
        from tt.core.tensor.base import TensorBase
        """,
    "api/nn/__init__.py": "",
    "api/nn/functional.py": "from tt import TensorBase\n",
    "api/py.typed": "",
    "core/__init__.py": "",
    "core/tensor/__init__.py": "",
    "core/tensor/storage.py": """
        class Storage:
            __slots__ = ("version",)

            def __init__(self):
                self.version = 0
        """,
    "core/tensor/storage.pxd": """
        cdef class Storage:
            cdef public long long version
        """,
    "core/tensor/base.py": """
        from tt.core.tensor.storage import Storage


        class TensorBase:
            __slots__ = ("storage",)

            def __init__(self):
                self.storage = Storage()

            def bump(self, by: float = 1):
                self.storage.version += by
                return self.storage.version
        """,
    "core/tensor/base.pxd": """
        from tt.core.tensor.storage cimport Storage

        cdef class TensorBase:
            cdef public Storage storage
        """,
    "backends/__init__.py": "",
    "backends/cpu/__init__.py": "",
    "backends/cpu/native/__init__.py": "",
    "backends/cpu/native/include/number.h": "#define NUMBER 42\n",
    "backends/cpu/native/src/threads.c": """
        #include <Python.h>
        #include "number.h"
        static PyObject *cpu_level(PyObject *self, PyObject *none) { return PyUnicode_FromString("level"); }
        static PyObject *number(PyObject *self, PyObject *none) { return PyLong_FromLong(NUMBER); }
        static PyObject *set_num_threads(PyObject *self, PyObject *count) { Py_RETURN_NONE; }
        static PyMethodDef methods[] = {
            {"cpu_level", cpu_level, METH_NOARGS, NULL}, {"number", number, METH_NOARGS, NULL},
            {"set_num_threads", set_num_threads, METH_O, NULL}, {NULL, NULL, 0, NULL}};
        static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_threads", NULL, -1, methods};
        PyMODINIT_FUNC PyInit__threads(void) { return PyModule_Create(&module); }
        """,
    "plugins/__init__.py": "",
    "cli/__init__.py": "",
}

Build = Callable[..., subprocess.CompletedProcess[str]]


def run(*command: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a command, in a folder, with variables added to the environment."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TT_BUILD", "TT_LIBRARIES", "TT_COMPILED", "TT_NATIVE", "TT_ISA")
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=inherited | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def succeed(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a program; fail the test with all of its output if the program failed."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(project: Path, target: str, into: Path, **environ: str) -> tuple[Path, str]:
    """Build a wheel or sdist; return it and the output of the build."""
    output = succeed(run("-m", "hatchling", "build", "-t", target, "-d", str(into), cwd=project, **environ))
    (package,) = into.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return package, output


def install_editable(project: Path, into: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build what `pip install --editable` builds, which lays the package out in `.editable`."""
    program = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"
    into.mkdir(exist_ok=True)
    return run("-c", program, str(into), cwd=project, **environ)


def import_from(folder: Path, program: str, **environ: str) -> list[str]:
    """Run a program that imports tt from a folder; return the lines that it printed."""
    done = run("-c", dedent(program), cwd=folder, PYTHONPATH=str(folder), **environ)
    return succeed(done).splitlines()


def make_miniature(project: Path) -> Path:
    """Write a small project with the real build files."""
    for name, text in MINIATURE.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
    native = [f"backends/cpu/native/{name}.py" for name in ("build", "extensions", "loading", "stamps")]
    plain = ("pyproject.toml", "hatch_build.py", "LICENSE", "core/compiled.py", "backends/cpu/cores.py")
    for name in (*plain, *native):
        shutil.copyfile(ROOT / name, project / name)
    return project


@pytest.fixture
def miniature(tmp_path: Path) -> Path:
    """Return a small project with the real build files."""
    return make_miniature(tmp_path / "project")


@pytest.fixture(scope="session")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a compiled editable installation of the miniature; for `compiled_miniature` to copy."""
    base = tmp_path_factory.mktemp("compiled")
    project = make_miniature(base / "project")
    done = install_editable(project, base / "built", TT_BUILD="compiled")
    if "no working C compiler" in done.stdout + done.stderr:
        pytest.skip("this machine has no C compiler")
    succeed(done)
    return project


@pytest.fixture
def compiled_miniature(compiled_once: Path, tmp_path: Path) -> Path:
    """Return a project whose editable installation is compiled."""
    return shutil.copytree(compiled_once, tmp_path / "project", symlinks=True)
