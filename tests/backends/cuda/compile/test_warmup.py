"""Which kernels are compiled before they are needed, and what becomes of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tt.backends.cuda.compile.warmup import DTYPES, common_kernels, compile_all
from tt.backends.cuda.launch.programs import Program
from tt.core.errors import ValueRangeError

MOVING = (
    "transpose_tiles", "take_places", "put_places", "find_places", "count_digits", "begin_digits", "move_digits",
    "fill_masked", "join_rows",
)  # fmt: skip
"""Kernels that know how many bytes an element has, and no dtype."""


def test_finding_the_kernels_needs_neither_cupy_nor_a_compiler():
    code = (
        "import sys; from tt.backends.cuda.compile.warmup import common_kernels\n"
        "assert len(common_kernels()) > 300 and 'cupy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", [*DTYPES, "float64"])
def test_every_family_that_programs_run_most_is_there(dtype):
    kernels = common_kernels([dtype])
    assert {k.program.file for k in kernels} == {f"{family}.cuh" for family in (
        "attention", "indexing", "loss", "normalization", "optimizer", "pointwise", "pooling", "random", "reduction",
        "scan", "scattering", "softmax", "sorting",
    )}  # fmt: skip
    assert all(dtype in k.name or k.name.split("<")[0] in MOVING for k in kernels)
    assert len(set(kernels)) == len(kernels)


@pytest.mark.cupy
def test_kernels_are_compiled_once(nvrtc, tmp_path):
    kernels = common_kernels(["float32"])[:2]
    told = []
    first = compile_all(kernels, ["sm_80", "sm_90"], told.append, tmp_path, workers=2)
    assert [w.state for w in first] == ["compiled"] * 4 and told == first
    assert {(w.kernel, w.arch) for w in first} == {(str(k), a) for k in kernels for a in ("sm_80", "sm_90")}
    assert [w.state for w in compile_all(kernels, ["sm_80", "sm_90"], folder=tmp_path)] == ["cached"] * 4


@pytest.mark.cupy
def test_what_does_not_compile_does_not_stop_the_rest(nvrtc, tmp_path):
    (tmp_path / "bad.cuh").write_text("__global__ void f() { missing(); }\n__global__ void g() {}\n")
    (tmp_path / "good.cuh").write_text("__global__ void g() {}\n")
    kernels = [
        Program("bad.cuh", folder=tmp_path).kernel("f"),
        Program("good.cuh", folder=tmp_path).kernel("g"),
    ]
    found = {w.kernel: w for w in compile_all(kernels, ["sm_80"], folder=tmp_path / "k")}
    assert [found["bad.cuh: f"].state, found["good.cuh: g"].state] == ["failed", "compiled"]
    assert 'identifier "missing" is undefined' in found["bad.cuh: f"].error


@pytest.mark.cupy
def test_an_unknown_architecture_is_refused_before_anything_is_compiled(nvrtc, tmp_path):
    with pytest.raises(ValueRangeError, match="'hopper' is not a CUDA architecture"):
        compile_all(common_kernels(["float32"])[:1], ["sm_80", "hopper"], folder=tmp_path / "k")
    assert not (tmp_path / "k").exists()
