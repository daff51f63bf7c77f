"""Builds: their output, which files go together, and which are refused."""

from __future__ import annotations

import pytest

import tt
from tt.utils.cpp_extension import load, load_inline

pytestmark = pytest.mark.sampled(6)


def test_verbose_shows_commands_and_warnings(compiler, tmp_path, capfd):
    source = "float f(float x) { int unused = 3; return x; }"
    load_inline("talking", source, build_directory=tmp_path)
    assert capfd.readouterr().err == ""
    load_inline("talking", source, build_directory=tmp_path / "again", verbose=True)
    printed = capfd.readouterr().err
    assert "-shared" in printed
    assert "talking:cpp_sources[0]:1:24: warning: unused variable" in printed
    load_inline("talking", source, build_directory=tmp_path / "again", verbose=True)
    assert capfd.readouterr().err.endswith("is current\n")


@pytest.mark.exhaustive
def test_files_of_c_and_c_plus_plus_are_linked_together(compiler, commands, tmp_path):
    (tmp_path / "constants.h").write_text("#define ONE 1\n")
    (tmp_path / "first.c").write_text('#include "constants.h"\nfloat helper(float x) { return x + ONE; }\n')
    (tmp_path / "second.cpp").write_text(
        '#include <tt/extension.h>\nextern "C" float helper(float x);\n'
        "float f(float x) { return 2 * helper(x); }\n"
        'tt_tensor *g(const tt_tensor *x) { return tt_error("g is not done"); }\n'
    )
    module = load(
        "files", [tmp_path / "first.c", str(tmp_path / "second.cpp")], build_directory=tmp_path / "kept"
    )
    assert module.f(tt.ones(1)).tolist() == [4.0]
    assert module.helper(tt.ones(1)).tolist() == [2.0]
    with pytest.raises(tt.errors.ValueRangeError, match="g is not done"):
        module.g(tt.ones(1))
    (tmp_path / "constants.h").write_text("#define ONE 2\n")
    module = load(
        "files", [tmp_path / "first.c", str(tmp_path / "second.cpp")], build_directory=tmp_path / "kept"
    )
    assert module.f(tt.ones(1)).tolist() == [6.0]


def test_other_files_are_refused(tmp_path):
    (tmp_path / "kernel.rs").write_text("")
    with pytest.raises(tt.errors.ArgumentError, match=r"none of the suffixes of sources: .c, "):
        load("files", tmp_path / "kernel.rs")


@pytest.mark.exhaustive
def test_c_and_c_plus_plus_in_one_call(compiler):
    module = load_inline(
        "both",
        'extern "C" float helper(float x);\nfloat f(float x) { return helper(x) + 1; }',
        c_sources="float helper(float x) { return 10 * x; }",
    )
    assert module.f(tt.ones(1)).tolist() == [11.0]
    assert module.helper(tt.ones(1)).tolist() == [10.0]


def test_without_implicit_headers_names_of_mathematics_are_free(compiler):
    source = "float hypot(float x, float y, float z) { return x + y + z; }"
    module = load_inline(
        "free", c_sources=source, no_implicit_headers=True, extra_cflags=["-fno-builtin", "-w"]
    )
    assert module.hypot(tt.ones(1), 2.0, 3.0).tolist() == [6.0]
