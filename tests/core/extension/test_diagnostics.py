"""Errors of compilers and linkers, in the user's lines."""

from __future__ import annotations

import pytest

import tt
from tt.core.extension.compilers import find_compiler
from tt.core.extension.diagnostics import Diagnostic, compile_error, link_error, read_output
from tt.utils.cpp_extension import load, load_inline

CompileError = tt.errors.CompileError


def failing(*args, **kwargs) -> CompileError:
    with pytest.raises(CompileError) as caught:
        load_inline(*args, **kwargs)
    return caught.value


def test_an_error_of_c_plus_plus_shows_the_users_line(compiler):
    error = failing(
        "broken", ["float ok(float x) { return x; }\n", "\nfloat f(float x) {\n    return x + yy;\n}\n"]
    )
    (problem, *_) = error.problems
    assert (problem.file, problem.line, problem.column, problem.kind) == (
        "broken:cpp_sources[1]",
        3,
        16,
        "error",
    )
    assert "yy" in problem.message
    assert str(error).splitlines() == [
        "broken: the source does not compile: 1 error",
        f"broken:cpp_sources[1]:3:16: error: {problem.message}",
        "        return x + yy;",
        "                   ^",
    ]
    assert error.extension == "broken" and error.command and "yy" in error.output


def test_an_error_of_c_shows_the_users_line(compiler):
    error = failing("broken", c_sources="float f(float x)\n{\n\treturn x +;\n}\n")
    problem = error.problems[0]
    assert (problem.file, problem.line, problem.kind) == ("broken:c_sources[0]", 3, "error")
    assert "    \treturn x +;\n    \t          ^" in str(error)


def test_all_errors_are_shown(compiler):
    error = failing("broken", "float f(float x) { return a; }\nfloat g(float x) { return b; }\n")
    assert [p.line for p in error.problems if p.kind == "error"] == [1, 2]
    assert "2 errors" in str(error)


def test_a_template_that_does_not_fit_a_dtype_is_shown_in_the_users_source(compiler):
    error = failing(
        "broken", "template <typename T>\nT f(T x) {\n  return x % 2;\n}\n", dtypes=["int32", "float32"]
    )
    assert {p.file for p in error.problems} == {"broken:cpp_sources[0]"}
    assert [p.line for p in error.problems if p.kind == "error"] == [3]
    assert "what calls" not in str(error.problems[0])


def test_an_error_in_generated_code_is_shown_at_the_function_that_it_calls(compiler):
    error = failing("broken", "\n\nfloat f(float x, float y);\n#define f(x) x\n", functions="f")
    assert {(p.file, p.line, p.column) for p in error.problems if p.kind == "error"} == {
        ("broken:cpp_sources[0]", 3, 0)
    }
    assert "broken:cpp_sources[0]:3: error: in what calls f: " in str(error)
    assert len(error.problems) == len(set(error.problems))


def test_a_missing_header_is_an_error_of_the_users_line(compiler):
    error = failing("broken", '#include "nowhere.h"\nfloat f(float x) { return x; }')
    assert (error.problems[0].line, error.problems[0].kind) == (1, "error")


def test_files_are_named_as_they_were_given(compiler, tmp_path, monkeypatch):
    (tmp_path / "kernels.cpp").write_text("#include <tt/extension.h>\n\nfloat f(float x) { return zz; }\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CompileError) as caught:
        load("broken", "kernels.cpp")
    problem = caught.value.problems[0]
    assert (problem.file, problem.line, problem.source) == (
        "kernels.cpp",
        3,
        "float f(float x) { return zz; }",
    )


# --- functions and symbols that are not there ----------------------------------------------------------------------


def test_a_function_that_no_source_declares_is_named_with_the_nearest():
    error = failing("broken", "float hypot2(float x) { return x; }", functions=["hypto2"])
    assert str(error) == (
        "broken: no source declares a function 'hypto2' with types that can be passed; did you mean 'hypot2'?\n"
        "  declared: hypot2\n"
        "  try: declare it in the source, for instance: float hypto2(float x);"
    )


def test_source_written_for_pytorch_is_told_what_there_is_instead():
    error = failing("broken", "torch::Tensor f(torch::Tensor x) { return x.sin(); }", functions="f")
    assert str(error).endswith("try: tt_tensor * of <tt/extension.h> instead of PyTorch's Tensor")


def test_sources_without_functions():
    with pytest.raises(CompileError, match="define no function that could become an operator"):
        load_inline("broken", "struct nothing {};")


@pytest.mark.parametrize("language", ["cpp_sources", "c_sources"])
def test_a_function_that_is_declared_and_not_defined(compiler, language):
    error = failing(
        "broken",
        **{language: "float helper(float x);\nfloat f(float x) { return helper(x); }"},
        functions="f",
    )
    assert str(error).startswith("broken: it uses what no source and no library defines: 'helper")


def test_a_library_that_is_not_there(compiler):
    error = failing("broken", "float f(float x) { return x; }", extra_ldflags=["-lnobody_has_this"])
    assert "the linker does not find -lnobody_has_this" in str(error)


def test_an_option_that_the_compiler_does_not_know(compiler):
    error = failing("broken", "float f(float x) { return x; }", extra_cflags=["-fno-such-option-at-all"])
    assert "no-such-option-at-all" in str(error)


def test_nothing_is_left_behind_by_a_failure(compiler, libraries):
    failing("leftovers", "float f(float x) { return y; }")
    assert not list((libraries / "leftovers").glob("*"))


# --- what compilers print ------------------------------------------------------------------------------------------


def test_the_output_of_clang_is_read():
    output = (
        "demo:cpp_sources[0]:2:9: error: use of undeclared identifier 'b'\n"
        "  return b;\n         ^\n"
        "demo:cpp_sources[0]:1:7: note: declared here\n"
        "1 error generated.\n"
    )
    assert read_output(output, {"demo:cpp_sources[0]": "float f() {\n  return b;\n}"}) == [
        Diagnostic("demo:cpp_sources[0]", 2, 9, "error", "use of undeclared identifier 'b'", "  return b;"),
        Diagnostic("demo:cpp_sources[0]", 1, 7, "note", "declared here", "float f() {"),
    ]


def test_the_output_of_nvrtc_is_read():
    error = 'demo:cuda_sources[0](3): error: identifier "y" is undefined'
    output = f"{error}\n      return y;\n             ^\n\n1 error detected.\n"
    found = read_output(output, {"demo:cuda_sources[0]": "a\nb\n    return y;"})
    assert found == [
        Diagnostic("demo:cuda_sources[0]", 3, 0, "error", 'identifier "y" is undefined', "    return y;")
    ]
    assert str(found[0]) == 'demo:cuda_sources[0]:3: error: identifier "y" is undefined\n        return y;'


def test_output_that_is_not_understood_is_shown_as_it_is():
    error = compile_error("demo", "Killed\n", [], ["cc", "-c"])
    assert str(error) == "demo: the compiler failed:\nKilled\n  try: the command, to repeat it: cc -c"
    assert str(link_error("demo", "ld: exploded\n", [], ["cc"])) == (
        "demo: linking failed:\nld: exploded\n  try: the command, to repeat it: cc"
    )


@pytest.mark.parametrize("step", ["-c", "-shared"])
@pytest.mark.parametrize("reason", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_no_error_of_the_source(compiler, tmp_path, monkeypatch, step, reason):
    script = tmp_path / "compiler"
    real = " ".join(find_compiler("c").command)
    script.write_text(
        f'#!/bin/sh\ncase " $* " in *" {step} "*) echo \'x.c:1:1: fatal error: error writing to x.s: {reason}\' '
        f'>&2; exit 1;; esac\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(tt.errors.CompileError) as caught:
        load_inline("full", c_sources="int one(int x) { return 1; }", build_directory=tmp_path / "cache")
    assert str(caught.value) == (
        f"full: the disk of {tmp_path} is full: error writing to x.s: {reason}\n"
        "  try: free some space, or name folders on another disk in the environment variables TMPDIR and "
        "TT_EXTENSIONS_DIR"
    )
    assert caught.value.problems == () and reason in caught.value.output


def test_undefined_symbols_are_named_with_the_nearest():
    gnu = "unit0.cpp:(.text+0x9): undefined reference to `helpr(float)'\n"
    assert "'helpr(float)'; did you mean 'helper'?" in str(link_error("demo", gnu, ["helper"], []))
    loader = "/x/demo.so: undefined symbol: helpr"
    assert "'helpr'; did you mean 'helper'?" in str(link_error("demo", loader, ["helper"], []))
