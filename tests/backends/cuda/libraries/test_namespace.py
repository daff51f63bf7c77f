"""What kernels call of CuPy exists there, with the parameters that they pass; neither CuPy nor a GPU is needed."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

from tests.backends.cuda.cupy_facts import collect, read
from tests.backends.cuda.strict_arrays import signature_of
from tt.backends.array_api.namespace import Namespace
from tt.backends.cuda.libraries.namespace import FFT, LINALG, SAME, SPELLINGS, LazyNamespace

ROOT = Path(__file__).parents[4]
FACTS = read()


@pytest.mark.cupy
def test_the_file_says_what_the_installed_cupy_has():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if cupy.__version__ != FACTS["version"]:
        pytest.skip(f"the file tells of CuPy {FACTS['version']}, and {cupy.__version__} is installed")
    assert collect() == FACTS


def exists(name: str) -> bool:
    return name in FACTS["ufuncs"] or name in FACTS["functions"]


def test_every_function_of_the_namespace_is_one_of_cupy():
    for name in SAME:
        assert exists(name), name
    for name, older in SPELLINGS.items():
        assert exists(name) or exists(older), name
    assert set(FACTS["linalg"]) >= LINALG
    assert set(FACTS["fft"]) >= FFT


# --- calls ---------------------------------------------------------------------------------------------------------


def dotted(node: ast.expr) -> str:
    """Return "xp.linalg.svd" of an expression, or ""."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def calls(folder: str, *roots: str):
    """Yield (place, function, number of arguments, names of keyword arguments) of calls of functions of a library."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = dotted(node.func)
            root = next((r for r in roots if name.startswith(r + ".")), None)
            if root is None or any(isinstance(a, ast.Starred) for a in node.args):
                continue
            keywords = [k.arg for k in node.keywords]
            yield f"{file.name}:{node.lineno}", name[len(root) + 1 :], len(node.args), keywords


def parameters(name: str) -> inspect.Signature:
    """Return the parameters of a function of CuPy, by its dotted name."""
    space, _, last = name.rpartition(".")
    if last in FACTS["ufuncs"] and not space:
        inputs = len(FACTS["ufuncs"][last].partition("->")[0])
        return signature_of("(" + ", ".join(f"x{i}" for i in range(inputs)) + ", out=None, *, dtype=None)")
    return signature_of(FACTS[space or "functions"][last])


def fits(signature: inspect.Signature, arguments: int, keywords: list[str | None]) -> bool:
    try:
        signature.bind(*range(arguments), **{k: None for k in keywords if k})
    except TypeError:
        return False
    return True


def test_kernels_over_the_array_api_pass_what_cupy_takes():
    namespace, seen = LazyNamespace(lambda: np), 0
    for place, name, arguments, keywords in calls("backends/array_api", "xp", "self"):
        own = getattr(LazyNamespace, name, None)
        if name.startswith(("backend.", "_")) or place.startswith(("backend.py", "placement.py", "table.py")):
            continue
        seen += 1
        if hasattr(Namespace, name):  # what kernels need besides the library's functions
            helper = inspect.signature(getattr(Namespace, name).__get__(object()))
            assert fits(helper, arguments, keywords), f"{place}: {name}{helper}"
            continue
        if own is not None:
            bound = inspect.signature(own.__get__(namespace))
            assert fits(bound, arguments, keywords), f"{place}: {name}{bound}"
        elif name in ("iinfo", "finfo", "result_type"):
            assert callable(getattr(namespace, name))
        elif name == "linalg.solve":
            assert fits(inspect.signature(namespace.linalg.solve), arguments, keywords), place
        else:
            found = name if exists(name) or "." in name else SPELLINGS[name]
            assert fits(parameters(found), arguments, keywords), f"{place}: {found}{parameters(found)}"
    assert seen > 300


def test_kernels_of_sparse_tensors_pass_what_cupy_takes():
    seen = 0
    for folder in ("plugins/sparse/compute", "plugins/sparse/cuda"):
        for place, name, arguments, keywords in calls(folder, "xp", "lib.xp", "self.xp"):
            if name in ("int64", "int32", "float64"):
                continue
            seen += 1
            if name == "add.at":
                continue
            assert exists(name), f"{place}: CuPy has no {name}"
            assert fits(parameters(name), arguments, keywords), f"{place}: {name}{parameters(name)}"
    assert seen > 50


def test_sparse_matrices_are_asked_for_what_cupyx_has():
    made = {name for _, name, _, _ in calls("plugins/sparse/cuda", "self.sp")}
    assert made <= set(FACTS["sparse"])
    assert fits(signature_of(FACTS["sparse_linalg"]["spsolve"]), 2, [])
    for kind in ("csr_matrix", "csc_matrix"):
        assert {"tocsr", "tocsc", "sort_indices"} <= set(FACTS["sparse"][kind])


def test_every_name_of_the_namespace_is_one_of_the_library():
    namespace = LazyNamespace(lambda: np)
    for name in (*SAME, *SPELLINGS):
        assert callable(namespace.find(name)), name
        assert hasattr(np, SPELLINGS.get(name, name)), name
    for name in LINALG:
        assert callable(getattr(namespace.linalg, name)), name
    assert not hasattr(namespace, "no_such_function")
    assert not hasattr(namespace.linalg, "no_such_function")
