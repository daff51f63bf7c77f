"""A backend of twenty lines in a package of its own: array-api-strict, whose arrays cannot change or be viewed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

pytest.importorskip("array_api_strict")

STRICT = "tt-strict-backend"
HERE = Path(__file__).parent
PROGRAM = (HERE / "strict_cases.py").read_text()


def _names() -> list[str]:
    """Return the names of the cases without running the program: the string keys of its two tables."""
    found = []
    for node in ast.parse(PROGRAM).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            found += [key.value for key in node.value.keys if isinstance(key, ast.Constant)]
    return found


@pytest.fixture(scope="module")
def problems(run):
    """Run all cases in one process; what is wrong with each."""
    return json.loads(run(PROGRAM, STRICT))


@pytest.mark.parametrize("name", _names())
def test_it_gives_what_the_cpu_gives(problems, name):
    assert problems[name] == ""


def test_every_case_ran(problems):
    assert sorted(problems) == sorted(_names()) and len(problems) > 50


def test_the_whole_backend_is_about_twenty_lines():
    code = (HERE / STRICT / "src" / "tt_strict" / "plugin.py").read_text()
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20


def test_tensors_of_two_devices_in_one_call_are_refused(run):
    run(
        """
        import tt
        from tt.core.errors import DeviceMismatchError
        try:
            tt.ones(2, device="strict") + tt.ones(2)
        except DeviceMismatchError as error:
            assert "'self' is on strict" in str(error) and "'other' is on cpu" in str(error), error
        else:
            raise SystemExit("no error")
        """,
        STRICT,
    )


def test_the_command_shows_what_it_serves(run):
    assert "strict" in run(["plugins", "list"], STRICT)
    assert "tt-strict-backend 0.5.0" in run(["plugins", "list"], STRICT) or "0.5.0" in run(
        ["plugins", "list"], STRICT
    )
    assert "strict" in run(["ops", "explain", "add", "strict:float32", "strict:float32"], STRICT)


def test_the_array_library_is_imported_when_the_device_is_used_first(run):
    run(
        """
        import sys
        import tt
        tt.ones(2) + 1
        assert "array_api_strict" not in sys.modules
        tt.ones(2, device="strict")
        assert "array_api_strict" in sys.modules
        """,
        STRICT,
    )
