"""`tt cuda warmup`."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tt.backends.cuda.compile import warmup
from tt.backends.cuda.compile.cache import write_kernel
from tt.backends.cuda.compile.compiler import Compiled
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.runtime.availability import find_driver

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kernels, and where they are kept; NVRTC is there."""
    from tt.backends.cuda.compile import compiler
    from tt.core.errors import DeviceError

    try:
        compiler.nvrtc()
    except DeviceError as error:
        pytest.skip(str(error).splitlines()[0])
    (tmp_path / "good.cuh").write_text("template <typename T> __global__ void f(T* x) { *x = 1; }\n")
    program = Program("good.cuh", folder=tmp_path)
    monkeypatch.setattr(
        warmup, "common_kernels", lambda dtypes: [program.kernel(f"f<{name[:-2]}>") for name in dtypes]
    )
    monkeypatch.setattr(warmup, "DTYPES", ("float32",))
    monkeypatch.setenv("TT_CUDA_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path


@pytest.mark.cupy
def test_kernels_are_compiled_and_found_again(run: Run, folder: Path, text: Callable[[str], str]) -> None:
    first = run("cuda", "warmup", "--arch", "sm_80", "--arch", "sm_90")
    assert first.code == 0
    assert first.out == text(f"""
        1 kernels for sm_80, sm_90: 2 compiled, 0 were there, 0 failed
        kept in {folder / "kept"}
    """)
    assert first.err == text("""
        compiling for sm_80, sm_90: 1/2 good.cuh: f<float>
        compiling for sm_80, sm_90: 2/2 good.cuh: f<float>
    """)
    again = run("cuda", "warmup", "--arch", "sm_80", "--arch", "sm_90")
    assert again.out.startswith("1 kernels for sm_80, sm_90: 0 compiled, 2 were there, 0 failed\n")
    assert len(list((folder / "kept").iterdir())) == 2


@pytest.mark.cupy
def test_json_has_the_counts_and_the_failures(run: Run, folder: Path) -> None:
    (folder / "good.cuh").write_text("template <typename T> __global__ void f(T* x) { missing(x); }\n")
    found = run("cuda", "warmup", "--arch", "sm_80", "--json")
    assert found.code == 1
    parsed = json.loads(found.out)
    (failure,) = parsed.pop("failures")
    assert parsed == {
        "folder": str(folder / "kept"), "archs": ["sm_80"], "kernels": 1, "compiled": 0, "cached": 0, "failed": 1,
    }  # fmt: skip
    assert (failure["kernel"], failure["arch"], failure["state"]) == ("good.cuh: f<float>", "sm_80", "failed")
    assert 'identifier "missing" is undefined' in failure["error"]


@pytest.mark.cupy
def test_what_fails_is_printed(run: Run, folder: Path) -> None:
    (folder / "good.cuh").write_text("template <typename T> __global__ void f(T* x) { missing(x); }\n")
    found = run("cuda", "warmup", "--arch", "sm_80")
    assert found.code == 1
    assert found.out.startswith("1 kernels for sm_80: 0 compiled, 0 were there, 1 failed\n")
    assert "error: good.cuh: NVRTC does not compile f<float>" in found.err
    assert 'good.cuh(1): error: identifier "missing" is undefined' in found.err


@pytest.mark.cupy
def test_without_a_gpu_it_says_why_and_what_to_do(run: Run, folder: Path) -> None:
    if not find_driver().problem:
        pytest.skip("there is a driver here")
    found = run("cuda", "warmup")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("error: device 'cuda' is not available: no NVIDIA driver is installed")
    assert found.err.endswith("  try: tt cuda warmup --arch sm_90, which needs no GPU\n")


KNOWN = "sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100"


@pytest.fixture
def known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An NVRTC with a version and its architectures."""
    from tt.backends.cuda.compile import compiler

    class Known:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def getVersion(self) -> tuple[int, int]:  # noqa: N802 - the name in the binding
            return (12, 9)

        def getSupportedArchs(self) -> list[int]:  # noqa: N802 - the name in the binding
            return [int(name[3:]) for name in KNOWN.split(", ")]

    real = compiler.nvrtc()
    monkeypatch.setattr(compiler, "nvrtc", Known)


@pytest.mark.cupy
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("arch", "problem"),
    [
        ("hopper", f"'hopper' is not a CUDA architecture; NVRTC 12.9 compiles for {KNOWN}"),
        ("", f"'' is not a CUDA architecture; NVRTC 12.9 compiles for {KNOWN}"),
        ("sm_20", f"NVRTC 12.9 does not compile for sm_20; it compiles for {KNOWN}"),
    ],
)
def test_an_architecture_that_cannot_be_compiled_for_is_refused(run: Run, arch: str, problem: str) -> None:
    found = run("cuda", "warmup", "--arch", arch)
    assert (found.code, found.out) == (2, "")
    assert found.err == (
        "Usage: tt cuda warmup [OPTIONS]\nTry 'tt cuda warmup -h' for help.\n\n"
        f"Error: Invalid value for --arch: {problem}\n"
    )


@pytest.mark.cupy
def test_a_dtype_that_is_not_compiled_is_refused(run: Run, folder: Path) -> None:
    found = run("cuda", "warmup", "--dtype", "float31", "--arch", "sm_80")
    assert (found.code, found.out) == (2, "")
    assert found.err == (
        "error: unknown dtype 'float31'; did you mean 'float32' or 'float64'?\n  known: float32, float64\n"
    )


@pytest.mark.cupy
@pytest.mark.usefixtures("known")
def test_an_architecture_newer_than_the_compiler_gets_ptx_and_is_told(
    run: Run, folder: Path, text: Callable[[str], str]
) -> None:
    found = run(
        "cuda", "warmup", "--arch", "90", "--arch", "sm_90", "--arch", "sm_999", "--arch", "compute_80"
    )
    assert found.code == 0
    assert found.out == text(f"""
        1 kernels for sm_90, sm_999, compute_80: 3 compiled, 0 were there, 0 failed
        kept in {folder / "kept"}
        sm_999: PTX of compute_100 by NVRTC 12.9, which the driver compiles when it is loaded
        compute_80: PTX of compute_80 by NVRTC 12.9, which the driver compiles when it is loaded
    """)


@pytest.mark.cupy
def test_a_folder_that_cannot_keep_anything_is_an_error(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "file"
    file.write_text("no folder")
    monkeypatch.setenv("TT_CUDA_CACHE_DIR", str(file))
    found = run("cuda", "warmup", "--arch", "sm_80")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        f"error: {file}: compiled kernels cannot be kept there: it is a file; 0 of 1 are\n"
        "  try: TT_CUDA_CACHE_DIR=FOLDER, which names another folder\n"
    )


@pytest.mark.cupy
def test_a_full_disk_ends_it(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, name: str, compiled: Compiled) -> None:
        if path.parent.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_kernel(path, name, compiled)

    monkeypatch.setattr(warmup, "write_kernel", write)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    found = run("cuda", "warmup", "--arch", "sm_80", "--arch", "sm_90")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "compiling for sm_80, sm_90: 1/2 good.cuh: f<float>\n"
        f"error: {folder / 'kept'}: compiled kernels cannot be kept there: No space left on device; 1 of 2 are\n"
        "  try: TT_CUDA_CACHE_DIR=FOLDER, which names another folder\n"
    )


def test_the_group_alone_shows_its_help(run: Run) -> None:
    found = run("cuda")
    assert found.code == 0 and "warmup" in found.out
