"""`tt cuda warmup`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tt.backends.cuda import warmup
from tt.backends.cuda.availability import find_driver
from tt.backends.cuda.programs import Program

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kernels, and where they are kept; NVRTC is there."""
    from tt.backends.cuda import compiler
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


def test_kernels_are_compiled_and_found_again(run: Run, folder: Path, text: Callable[[str], str]) -> None:
    first = run("cuda", "warmup", "--arch", "sm_80", "--arch", "sm_90")
    assert first.code == 0
    assert first.out == text(f"""
        1 kernels for sm_80, sm_90: 2 compiled, 0 were there, 0 failed
        kept in {folder / "kept"}
    """)
    assert first.err == text("""
        compiling for sm_80, sm_90: 1/2
        compiling for sm_80, sm_90: 2/2
    """).replace("/2\n", "/2 \n")
    again = run("cuda", "warmup", "--arch", "sm_80", "--arch", "sm_90")
    assert again.out.startswith("1 kernels for sm_80, sm_90: 0 compiled, 2 were there, 0 failed\n")
    assert len(list((folder / "kept").iterdir())) == 2


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


def test_what_fails_is_printed(run: Run, folder: Path) -> None:
    (folder / "good.cuh").write_text("template <typename T> __global__ void f(T* x) { missing(x); }\n")
    found = run("cuda", "warmup", "--arch", "sm_80")
    assert found.code == 1
    assert found.out.startswith("1 kernels for sm_80: 0 compiled, 0 were there, 1 failed\n")
    assert "error: good.cuh: NVRTC does not compile f<float>" in found.err
    assert 'good.cuh(1): error: identifier "missing" is undefined' in found.err


def test_without_a_gpu_it_says_why_and_what_to_do(run: Run, folder: Path) -> None:
    if not find_driver().problem:
        pytest.skip("there is a driver here")
    found = run("cuda", "warmup")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("error: device 'cuda' is not available: there is no NVIDIA driver")
    assert found.err.endswith("  try: tt cuda warmup --arch sm_90, which needs no GPU\n")


def test_wrong_options_are_refused(run: Run, folder: Path) -> None:
    found = run("cuda", "warmup", "--arch", "hopper")
    assert (found.code, found.out) == (1, "")
    assert "error: 'hopper' is no architecture of CUDA; NVRTC" in found.err
    found = run("cuda", "warmup", "--dtype", "int32", "--arch", "sm_80")
    assert (found.code, found.out) == (2, "")
    assert "--dtype is one of float32, float64, not 'int32'" in found.err


def test_the_group_alone_shows_its_help(run: Run) -> None:
    found = run("cuda")
    assert found.code == 0 and "warmup" in found.out
