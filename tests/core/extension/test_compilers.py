"""The choice of a compiler, and the error without one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import tt
from tt.core.extension.compilers import compiler_problem, find_compiler
from tt.utils.cpp_extension import load_inline

pytestmark = pytest.mark.sampled(6)

SOURCE = "float f(float x) { return x + 1; }"


def program(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return path


def test_without_a_compiler_the_error_says_what_was_tried_and_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("tt.core.extension.compilers.sysconfig.get_config_var", lambda name: None)
    with pytest.raises(tt.errors.NoCompilerError) as caught:
        find_compiler("c++", {"PATH": str(tmp_path)})
    assert caught.value.language == "c++"
    assert str(caught.value).splitlines()[:4] == [
        "no compiler for C++ was found",
        "  tried: c++ (search path): not found",
        "  tried: g++ (search path): not found",
        "  tried: clang++ (search path): not found",
    ]
    assert str(caught.value).splitlines()[4].endswith("or name one in the environment variable CXX")


def test_loading_without_a_compiler_registers_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tt.core.extension.compilers.sysconfig.get_config_var", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(tt.errors.NoCompilerError):
        load_inline("nowhere", SOURCE)
    assert "nowhere::f" not in tt.library.REGISTRY.names()
    assert "no compiler for C++" in compiler_problem()


def test_a_compiler_that_is_named_is_not_replaced_by_another(compiler):
    with pytest.raises(
        tt.errors.NoCompilerError, match=r"tried: no-such-compiler \(\$CC\): not found\n  try:"
    ):
        find_compiler("c", {**os.environ, "CC": "no-such-compiler"})


def test_the_variables_go_first_and_may_have_options(tmp_path):
    path = program(tmp_path, "mycc", "print('my compiler 1.0')")
    found = find_compiler("c", {"PATH": os.environ["PATH"], "CC": f"{path} -m64"})
    assert found.command == (str(path), "-m64")
    assert (found.origin, found.version) == ("$CC", "my compiler 1.0")


def test_what_cannot_tell_its_version_is_no_compiler(tmp_path):
    path = program(tmp_path, "mycc", "raise SystemExit(3)")
    with pytest.raises(
        tt.errors.NoCompilerError, match="--version ended with 3; GCC and Clang are supported"
    ):
        find_compiler("c", {"PATH": os.environ["PATH"], "CC": str(path)})
