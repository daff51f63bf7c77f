"""The C sources: functions of several types are templates, and headers of scalar functions need only C's library."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tt.backends.cpu.native import extensions
from tt.core.extension.compilers import compiler_problem
from tt.core.family_index import families

FOLDER = Path(extensions.__file__).resolve().parent
SOURCES = sorted(
    path for name in (extensions.SOURCES, extensions.HEADERS) for path in (FOLDER / name).rglob("*.*")
)
MOST_CONTINUED_LINES = 3

EXEMPT = {
    ("sparse.c", "RUN"): "fills a struct for the types that BY_TYPES names and calls one function",
    ("sparse.c", "BY_TYPES"): "a choice between four calls",
    ("sorting_search.inc", "BY_INTEGER"): "a choice between five calls",
}
"""Macros with statements and more continued lines, and why: none of them has a loop to step through."""


def continued_macros(text: str) -> list[tuple[str, int, str]]:
    """Return the name, the number of continued lines and the text of each macro that has any."""
    found = re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:.*\\\n)+.*$", text, re.MULTILINE)
    return [(one[1], one[0].count("\\\n"), one[0]) for one in found]


def holds_statements(macro: str) -> bool:
    """Return whether a macro holds statements, and not only a list or an expression."""
    return ";" in macro


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define LIST(X) \\\n    X(a) \\\n    X(b)\n", [("LIST", 2, False)]),
        ("# define F(T) \\\n    T f(T x) \\\n    { \\\n        return x; \\\n    }\n", [("F", 4, True)]),
        ("#define ONE 1\nint a;\n", []),
    ],
)
def test_continued_macros_are_found(text, expected):
    found = [(name, lines, holds_statements(macro)) for name, lines, macro in continued_macros(text)]
    assert found == expected


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_long_macro_holds_statements(path):
    wrong = [
        f"{path.name}: {name} has {lines} continued lines; include a template (.inc) for each type instead"
        for name, lines, macro in continued_macros(path.read_text(encoding="utf-8"))
        if lines > MOST_CONTINUED_LINES and holds_statements(macro) and (path.name, name) not in EXEMPT
    ]
    assert not wrong, "\n".join(wrong)


def test_every_exemption_is_needed():
    long = {
        (path.name, name)
        for path in SOURCES
        for name, lines, macro in continued_macros(path.read_text(encoding="utf-8"))
        if lines > MOST_CONTINUED_LINES and holds_statements(macro)
    }
    assert set(EXEMPT) <= long


def test_every_template_and_header_is_part_of_an_extension():
    sources = map(Path, extensions.sources_in(FOLDER).values())
    used = {file for source in sources for file in extensions.made_of(source)}
    assert [path.name for path in SOURCES if path not in used] == []


def test_every_file_has_a_name_of_its_own():
    names = [path.name for path in SOURCES]
    assert sorted(set(names)) == sorted(names)


def test_every_folder_of_sources_is_a_family_or_of_the_plugin_sparse():
    folders = {path.name for path in (FOLDER / extensions.SOURCES).iterdir() if path.is_dir()}
    assert folders - {*families()} == {"sparse"}


def test_what_is_shared_serves_several_families():
    """What only one family includes belongs to it, except for headers of scalar functions, which serve other code."""
    users: dict[Path, set[str]] = {}
    for source in map(Path, extensions.sources_in(FOLDER).values()):
        for file in extensions.made_of(source):
            users.setdefault(file, set()).add(source.parent.name)
    shared = [path for path in SOURCES if path.parent.name in (extensions.SOURCES, extensions.HEADERS)]
    alone = {
        path.name for path in shared
        if len(users[path]) == 1 and users[path] != {extensions.SOURCES} and path.name not in SCALAR_HEADERS
    }  # fmt: skip
    assert alone == {"arithmetic.inc"}  # the template of arithmetic.h


# --- scalar functions ---

SCALAR_HEADERS = (
    "compilers.h",
    "vector_math.h",
    "vector_inverse.h",
    "random_math.h",
    "activations.h",
    "arithmetic.h",
)
"""The headers that other code can be made of."""


def compile_alone(text: str, into: Path, *flags: str) -> Path:
    """Compile a text with C's library alone: neither Python's headers nor NumPy's are on the path."""
    problem = compiler_problem("c")
    if problem:
        pytest.skip(f"needs a compiler: {problem}")
    source, library = into / "alone.c", into / "alone.so"
    source.write_text(text, encoding="utf-8")
    folders = [
        word
        for folder in extensions.include_folders(FOLDER / extensions.SOURCES / "x.c")
        for word in ("-iquote", folder)
    ]
    command = [
        *shlex.split(os.environ.get("CC") or "cc"),
        "-std=gnu11",
        "-O2",
        "-ffp-contract=fast",
        "-Wall",
        "-Werror",
        "-Wno-unused-function",
        *flags,
    ]
    command += [*folders, "-shared", "-fPIC", "-I", str(into), str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


@pytest.mark.parametrize("header", SCALAR_HEADERS)
def test_a_header_of_scalar_functions_compiles_alone(header, tmp_path):
    for name in ("Python.h", "numpy/arrayobject.h"):  # found first, wherever others lie
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            "#error this header is to be free of Python and NumPy\n", encoding="utf-8"
        )
    compile_alone(f'#include "{header}"\n#include "{header}"\n', tmp_path)


UNARY = {
    "tt_exp": math.exp,
    "tt_expm1": math.expm1,
    "tt_tanh": math.tanh,
    "tt_erf": math.erf,
    "tt_erfc": math.erfc,
    "tt_sin": math.sin,
    "tt_atan": math.atan,
    "tt_sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tt_gelu": lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)),
    "tt_silu": lambda x: x / (1 + math.exp(-x)),
    "tt_mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "tt_hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "tt_relu": lambda x: max(x, 0.0),
}
BINARY = {
    "tt_hypot": math.hypot,
    "tt_logaddexp": lambda a, b: max(a, b) + math.log1p(math.exp(-abs(a - b))),
    "tt_left": math.fmod,
    "tt_softshrink": lambda x, b: x - abs(b) if x > abs(b) else x + abs(b) if x < -abs(b) else 0.0,
    "tt_gelu_backward": lambda g, x: (
        g * (0.5 * math.erfc(-x / math.sqrt(2)) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    ),
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """The scalar functions in both precisions, as a library that exports them."""
    lines = ['#include "activations.h"', '#include "arithmetic.h"', '#include "vector_inverse.h"']
    for kind, ending in (("double", ""), ("float", "_f")):
        for name in UNARY:
            lines.append(f"{kind} call_{name}{ending}({kind} x) {{ return {name}{ending}(x); }}")
        for name in BINARY:
            second = f"{'fabs' if not ending else 'fabsf'}(y)" if name == "tt_softshrink" else "y"
            lines.append(
                f"{kind} call_{name}{ending}({kind} x, {kind} y) {{ return {name}{ending}(x, {second}); }}"
            )
    library = ctypes.CDLL(str(compile_alone("\n".join(lines) + "\n", tmp_path_factory.mktemp("scalar"))))

    def call(name: str, *numbers: float) -> float:
        kind = ctypes.c_float if name.endswith("_f") else ctypes.c_double
        function = getattr(library, f"call_{name}")
        function.restype, function.argtypes = kind, [kind] * len(numbers)
        return function(*numbers)

    return call


@pytest.mark.parametrize(("ending", "tolerance"), [("", 1e-13), ("_f", 2e-6)])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_scalar_functions_give_what_pythons_do(functions, name, ending, tolerance):
    numbers = np.random.default_rng(0).uniform(-6, 6, (200, 2)).astype(np.float32).astype(float)
    for x, y in numbers.tolist():
        arguments = (x,) if name in UNARY else (x, y)
        expected = (UNARY.get(name) or BINARY[name])(*arguments)
        assert functions(name + ending, *arguments) == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_scalar_functions_keep_special_values(functions):
    for ending in ("", "_f"):
        assert math.isnan(functions(f"tt_gelu{ending}", math.nan))
        assert math.isnan(functions(f"tt_softshrink{ending}", math.nan, 0.5))
        assert functions(f"tt_erf{ending}", -math.inf) == -1
        assert functions(f"tt_exp{ending}", -math.inf) == 0
        assert math.copysign(1, functions(f"tt_expm1{ending}", -0.0)) == -1
