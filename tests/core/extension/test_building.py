"""Compilers, the cache, and several builders at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tt
from tt.core.extension import build as building
from tt.core.extension import caller
from tt.core.extension.cache import Store, default_folder
from tt.core.extension.compilers import compiler_problem, find_compiler
from tt.utils.cpp_extension import load, load_inline

pytestmark = pytest.mark.sampled(6)

SOURCE = "float f(float x) { return x + 1; }"


@pytest.fixture
def commands(monkeypatch):
    """The commands that compilers are called with."""
    found = []
    run = building._run

    def noting(command, name, verbose):
        if name != "_tt_caller":
            found.append(command)
        return run(command, name, verbose)

    monkeypatch.setattr(building, "_run", noting)
    return found


# --- compilers -----------------------------------------------------------------------------------------------------


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
    with pytest.raises(tt.errors.NoCompilerError, match=r"tried: nobody-has-it \(\$CC\): not found\n  try:"):
        find_compiler("c", {**os.environ, "CC": "nobody-has-it"})


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


# --- the cache -----------------------------------------------------------------------------------------------------


def test_the_folder_follows_the_variables(tmp_path, monkeypatch):
    assert default_folder({"TT_EXTENSIONS_DIR": str(tmp_path)}) == tmp_path
    assert default_folder({"XDG_CACHE_HOME": "/caches"}) == Path("/caches/tt/extensions")
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_folder({}) == Path.home() / ".cache/tt/extensions"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_folder({}) == Path.home() / "Library/Caches/tt/extensions"


def test_the_same_source_is_compiled_once(compiler, commands, tmp_path):
    for _ in range(2):
        assert load_inline("once", SOURCE, build_directory=tmp_path).f(tt.ones(1)).tolist() == [2.0]
    assert len(commands) == 2  # compiled and linked
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".so"]


@pytest.mark.parametrize(
    "change",
    [
        {"cpp_sources": SOURCE.replace("1", "2")},
        {"extra_cflags": ["-DANYTHING"]},
        {"extra_ldflags": ["-lm"]},
        {"extra_include_paths": ["."]},
        {"dtypes": ["float32"], "cpp_sources": "template <typename T> T f(T x) { return x; }"},
    ],
)
def test_whatever_changes_the_result_compiles_anew(compiler, commands, tmp_path, change):
    load_inline("anew", SOURCE, build_directory=tmp_path)
    load_inline("anew", **{"cpp_sources": SOURCE, "build_directory": tmp_path, **change})
    assert len(commands) == 4


@pytest.mark.exhaustive
def test_another_compiler_compiles_anew(compiler, commands, tmp_path, monkeypatch):
    load_inline("anew", SOURCE, build_directory=tmp_path)
    command = find_compiler("c++").command
    monkeypatch.setenv("CXX", " ".join([*command, "-O1"]))
    load_inline("anew", SOURCE, build_directory=tmp_path)
    assert len(commands) == 4


@pytest.mark.exhaustive
def test_a_header_that_changes_compiles_anew(compiler, commands, tmp_path):
    header = tmp_path / "value with space.h"
    folder = tmp_path / "kept"
    source = '#include "value with space.h"\nfloat f(float x) { return x + VALUE; }'
    for value in (1, 2, 2, 1):
        header.write_text(f"#define VALUE {value}\n")
        module = load_inline("headers", source, extra_include_paths=[tmp_path], build_directory=folder)
        assert module.f(tt.zeros(1)).tolist() == [float(value)]
    assert len(commands) == 6
    assert len(list(folder.glob("*.so"))) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "damage", ["library", "library gone", "manifest", "manifest of another kind", "half"]
)
def test_a_damaged_entry_is_built_again(compiler, commands, tmp_path, damage):
    load_inline("damaged", SOURCE, build_directory=tmp_path)
    (library,), (manifest,) = tmp_path.glob("*.so"), tmp_path.glob("*.json")
    if damage == "library":
        library.unlink()  # another file: the one that is loaded stays as it is
        library.write_bytes(b"not a library")
    elif damage == "library gone":
        library.unlink()
    elif damage == "manifest":
        manifest.write_text('{"library": ')
    elif damage == "manifest of another kind":
        manifest.write_text("[1, 2]")
    else:
        manifest.write_text(json.dumps({"library": library.name}))
    assert load_inline("damaged", SOURCE, build_directory=tmp_path).f(tt.ones(1)).tolist() == [2.0]
    assert len(commands) == 4
    assert load_inline("damaged", SOURCE, build_directory=tmp_path).f(tt.ones(1)).tolist() == [2.0]
    assert len(commands) == 4


def test_what_a_killed_builder_left_is_removed(compiler, tmp_path):
    left = tmp_path / ".killed.so.1.partial"
    left.write_bytes(b"half a library")
    load_inline("after", SOURCE, build_directory=tmp_path)
    assert not left.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with (
        pytest.raises(
            tt.errors.ValueRangeError, match=r"cannot be kept in .*: Permission denied\n  try: another"
        ),
        Store(tmp_path / "closed", "any").building(),
    ):
        raise AssertionError("not reached")


@pytest.mark.exhaustive
def test_several_processes_build_the_same_source(compiler, tmp_path):
    program = textwrap.dedent("""
        import sys, tt
        from tt.core.extension import build
        from tt.utils.cpp_extension import load_inline
        run, compiled = build._run, []
        def noting(command, name, verbose):
            compiled.append(name)
            return run(command, name, verbose)
        build._run = noting
        sys.stdin.readline()
        module = load_inline("shared", "float f(float x) { return 3 * x; }")
        print(module.f(tt.ones(2)).tolist(), compiled.count("shared"))
    """)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "TT_EXTENSIONS_DIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 5, answers
    found = sorted(out.strip() for out, _ in answers)
    assert {line[:10] for line in found} == {"[3.0, 3.0]"}
    if sys.platform != "win32":  # where there are no locks, several may do the work
        assert [line[11:] for line in found] == ["0", "0", "0", "0", "2"]
    assert sorted(p.suffix for p in (tmp_path / "shared").iterdir()) == [".json", ".so"]


# --- options -------------------------------------------------------------------------------------------------------


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


# --- the caller ----------------------------------------------------------------------------------------------------


def test_without_the_headers_of_python_ctypes_serves(compiler, tmp_path, monkeypatch):
    monkeypatch.setattr(caller.sysconfig, "get_path", lambda name: str(tmp_path))
    caller.load_native.cache_clear()
    try:
        native, why = caller.load_native()
        assert native is None and "Python.h is missing" in why
        module = load_inline("headless", SOURCE)
        kernel = tt.library.REGISTRY.kernels["headless::f"][0].kernel.function
        assert isinstance(kernel, caller.CtypesCaller)
        assert module.f(tt.ones(2, 2).T).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    finally:
        caller.load_native.cache_clear()


def test_a_caller_that_does_not_compile_gives_way_to_ctypes(compiler, tmp_path, monkeypatch):
    (tmp_path / "Python.h").write_text("#error broken\n")
    monkeypatch.setattr(caller.sysconfig, "get_path", lambda name: str(tmp_path))
    caller.load_native.cache_clear()
    try:
        native, why = caller.load_native()
        assert native is None and "broken" in why
    finally:
        caller.load_native.cache_clear()
