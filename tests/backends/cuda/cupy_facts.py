"""What CuPy has: its functions with their parameters, the dtypes of its ufuncs, the methods of its arrays.

`cupy_facts.json` keeps what this module found in CuPy 14, so that the fake refuses what CuPy refuses where CuPy is not
installed; where it is, a test compares the two.  CuPy needs no driver for any of it.  To write the file again:

    python -m tests.backends.cuda.cupy_facts
"""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = ["FILE", "collect", "read"]

FILE: Final = Path(__file__).with_name("cupy_facts.json")

REDUCTIONS: Final = {
    "_routines_math": {"sum": "sum_auto_dtype", "prod": "prod_auto_dtype"},
    "_routines_statistics": {"max": "amax", "min": "amin"},
    "_routines_logic": {"all": "all", "any": "any"},
}
MATRICES: Final = ("csr_matrix", "csc_matrix", "coo_matrix")


def _signature(function: Any) -> str | None:
    """Return the parameters of a function: names, kinds and defaults, without annotations."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        # A method written in Cython tells them in the first line of its documentation: "Class.name(self, ...) -> ...".
        line = (getattr(function, "__doc__", None) or "").partition("\n")[0].partition(" -> ")[0]
        _, bracket, rest = line.partition("(")
        return f"({_untyped(rest)}" if bracket and rest.endswith(")") else None
    plain = [p.replace(annotation=inspect.Parameter.empty, default=_plain(p.default))
             for p in found.parameters.values()]  # fmt: skip
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _untyped(parameters: str) -> str:
    """Return parameters without the types of Cython: "int axis=-1" becomes "axis=-1"."""
    return ", ".join(part.split(" ")[-1] for part in parameters.split(", "))


def _plain(default: Any) -> Any:
    """Return a default that the text of a signature can hold."""
    if default is inspect.Parameter.empty or isinstance(default, int | float | str | tuple | None):
        return default
    return f"<{getattr(default, '__name__', type(default).__name__)}>"


def _functions(module: ModuleType) -> dict[str, str]:
    found = {}
    for name in sorted(dir(module)):
        function = getattr(module, name)
        if not name.startswith("_") and callable(function) and not isinstance(function, type):
            signature = _signature(function)
            if signature is not None and not hasattr(function, "types"):
                found[name] = signature
    return found


def _written(folder: Path) -> dict[str, str]:
    """Return the functions in the files of a package that cannot be imported without cuBLAS."""
    found = {}
    for file in sorted(folder.glob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found[node.name] = f"({ast.unparse(node.args)})"
    return dict(sorted(found.items()))


def collect() -> dict[str, Any]:
    """Return the facts of the installed CuPy."""
    import cupy
    import cupyx.scipy.sparse
    from cupy import _core

    methods = {name: _signature(getattr(cupy.ndarray, name)) for name in sorted(dir(cupy.ndarray))
               if not name.startswith("_") and callable(getattr(cupy.ndarray, name))}  # fmt: skip
    sparse: dict[str, Any] = {}
    for kind in MATRICES:
        of = getattr(cupyx.scipy.sparse, kind)
        names = [n for n in sorted(dir(of)) if not n.startswith("_") and callable(getattr(of, n))]
        sparse[kind] = {name: _signature(getattr(of, name)) for name in names}
    return {
        "version": cupy.__version__,
        "ufuncs": {
            name: " ".join(getattr(cupy, name).types)
            for name in sorted(dir(cupy)) if isinstance(getattr(getattr(cupy, name), "types", None), list)
        },
        "functions": _functions(cupy),
        "linalg": _functions(cupy.linalg),
        "fft": _functions(cupy.fft),
        "methods": methods,
        "properties": sorted(
            n for n in dir(cupy.ndarray) if not n.startswith("_") and not callable(getattr(cupy.ndarray, n))
        ),
        "reductions": {
            name: " ".join(f"{op.in_types[0].char}->{op.out_types[0].char}"
                           for op in getattr(getattr(_core, module), attribute)._ops.ops)
            for module, names in REDUCTIONS.items() for name, attribute in names.items()
        },
        "kernels": {
            "where": " ".join(cupy._sorting.search._where_ufunc.types),
            "clip": " ".join(_core._routines_math.clip.types),
            "copy": " ".join(_core.elementwise_copy.types),
        },
        "sparse": sparse,
        "sparse_functions": _functions(cupyx.scipy.sparse),
        "sparse_linalg": _written(Path(cupyx.scipy.sparse.__file__).parent / "linalg"),
    }  # fmt: skip


def read() -> dict[str, Any]:
    """Return the facts in the file."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(collect(), indent=1) + "\n")
