"""Programs of CUDA C++: how kernels are named, packed, compiled and launched."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from tests.backends.cuda.shim.engine import HostEngine, KernelProblemError
from tt.backends.cuda.launch.programs import SOURCES, Program, packer_of
from tt.core.errors import ArgumentError, CompileError, ValueRangeError

HEAD = '#include "common.cuh"\n'
COPY = """
template <typename T>
__global__ void duplicate(T* target, const T* source, int64 count) {
    for (int64 i = first_element(); i < count; i += element_step()) target[i] = source[i];
}
"""


@pytest.fixture
def program(tmp_path):
    """Make a program of a text and the shared one."""

    def make(text: str) -> Program:
        (tmp_path / "common.cuh").write_text((SOURCES / "common.cuh").read_text())
        (tmp_path / "sample.cuh").write_text(HEAD + text)
        return Program("sample.cuh", folder=tmp_path)

    return make


def test_nothing_is_read_or_imported_until_a_kernel_is_launched():
    code = (
        "import sys; from tt.backends.cuda.launch.programs import Program\n"
        "Program('no_such_file.cuh').kernel('f<float>')\n"
        "assert not {'cupy', 'subprocess'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_source_brings_what_it_includes():
    source = Program("pointwise.cuh").source
    texts = [source.text, *source.headers.values()]
    included = {name for text in texts for name in re.findall(r'#include "(.+)"', text)}
    assert set(source.headers) == included >= {"common.cuh"} and "pointwise_flat" in source.text


def test_a_kernel_copies(host_backend, program):
    x = host_backend.normalise(np.arange(1000, dtype=np.float32))
    y = host_backend.empty((1000,), np.float32)
    program(COPY).kernel("duplicate<float32>")(host_backend, (3,), (128,), (y, x, 1000))
    np.testing.assert_array_equal(y.array, x.array)


def test_a_grid_without_blocks_launches_nothing(host_backend):
    Program("no_such_file.cuh").kernel("f")(host_backend, (0,), (128,), ())


def test_arguments_are_packed_as_the_parameters_of_the_kernel(host_backend, program):
    sample = program(
        """
struct Pair { int64 first; double second; };
__global__ void echo(double* out, bool flag, int64 i, double d, int32 small, float f, Pair pair, const int8* none) {
    out[0] = flag; out[1] = i; out[2] = d; out[3] = small; out[4] = f; out[5] = pair.first; out[6] = pair.second;
    out[7] = none == nullptr;
}
"""
    )
    out = host_backend.empty((8,), np.float64)
    pair = np.array([(-7, 0.25)], np.dtype([("a", "i8"), ("b", "f8")])).tobytes()
    args = (out, True, -3, -0.0, np.int32(-9), np.float32(1.5), pair, None)
    sample.kernel("echo")(host_backend, (1,), (1,), args)
    assert out.array.tolist() == [1, -3, -0.0, -9, 1.5, -7, 0.25, 1]
    assert np.signbit(out.array[2])
    with pytest.raises(KernelProblemError, match=r"its parameters are @P\?qdif0q16sP, and it was given @P$"):
        sample.kernel("echo")(host_backend, (1,), (1,), (out,))


def test_what_no_kernel_takes_is_refused():
    with pytest.raises(ArgumentError, match="handles, numbers, NumPy scalars and bytes, not str"):
        packer_of(("text",))


# --- the host engine finds the faults of a kernel -------------------------------------------------------------

RACE = """
__global__ void turn(float* out) {
    SHARED_ARRAY(float, buffer);
    buffer[threadIdx.x] = threadIdx.x;
    BARRIER
    out[threadIdx.x] = buffer[(threadIdx.x + 1) % blockDim.x] + buffer[(threadIdx.x + 63) % blockDim.x];
}
"""


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_a_missing_barrier_shows(shim_folder, host_backend, program, order):
    host_backend.engine = HostEngine(shim_folder, order, host_backend.engine.sanitize)
    out = host_backend.empty((64,), np.float32)
    at = np.arange(64)
    expected = (at + 1) % 64 + (at + 63) % 64
    program(RACE.replace("BARRIER", "__syncthreads();")).kernel("turn")(
        host_backend, (1,), (64,), (out,), 256
    )
    assert (out.array == expected).all()
    program(RACE.replace("BARRIER", "")).kernel("turn")(host_backend, (1,), (64,), (out,), 256)
    assert not (out.array == expected).all()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("if (threadIdx.x) __syncthreads();", "some threads have left the kernel"),
        ("if (threadIdx.x % 2) __syncwarp(); else __syncthreads();", "threads wait for each other at different places"),
        ("if (threadIdx.x < 16) *out = __shfl_sync(FULL_MASK, 1.0f, 0);", "a warp waits for a lane that has left"),
        ("*out = __shfl_sync(1u, 1.0f, 0);", "a lane takes part in what its mask leaves it out of"),
    ],
)  # fmt: skip
def test_threads_that_wait_forever_are_an_error(host_backend, program, body, problem):
    out = host_backend.empty((1,), np.float32)
    with pytest.raises(KernelProblemError, match=problem):
        program(f"__global__ void f(float* out) {{ {body} }}").kernel("f")(host_backend, (1,), (64,), (out,))


def test_warps_exchange_values(host_backend, program):
    sample = program(
        """
__global__ void f(uint32* out) {
    uint32 at = threadIdx.x, found = __ballot_sync(FULL_MASK, at % 3 == 0);
    if (at % 32 < 16) found = __shfl_down_sync(0xffffu, at, 3);
    out[at] = found;
    out[blockDim.x + at] = __syncthreads_count(at < 5) + 10 * __any_sync(FULL_MASK, at == 40)
        + 100 * shuffle_up(int32(at), 1) + 10000 * (__all_sync(FULL_MASK, at < 32) != 0);
}
"""
    )
    out = host_backend.empty((128,), np.uint32)
    sample.kernel("f")(host_backend, (1,), (64,), (out,))
    at = np.arange(64)
    third = [sum(1 << lane for lane in range(32) if (lane + base) % 3 == 0) for base in (0, 32)]
    # Lanes that shuffle by masks of 16 and read from a lane outside get their own value.
    low = at % 32 < 16
    expected = np.where(low, np.where(at % 32 + 3 < 16, at + 3, at), np.array(third)[at // 32])
    np.testing.assert_array_equal(out.array[:64], expected)
    previous = np.where(at % 32 == 0, at, at - 1)
    np.testing.assert_array_equal(out.array[64:], 5 + 10 * (at >= 32) + 100 * previous + 10000 * (at < 32))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_blocks_reduce(host_backend, program, dtype, threads):
    sample = program(
        """
template <typename T, int THREADS>
__global__ void f(T* out, const T* in) {
    T value = in[blockIdx.x * THREADS + threadIdx.x], total = block_sum<THREADS>(value);
    T largest = block_max<THREADS>(value), smallest = block_reduce<THREADS>(value, Minimum());
    out[blockIdx.x * THREADS + threadIdx.x] = total * 10000 + largest * 100 + smallest;
}
"""
    )
    values = np.random.default_rng(threads).integers(0, 50, (3, threads)).astype(dtype)
    x, y = host_backend.normalise(values), host_backend.empty((3, threads), np.dtype(dtype))
    sample.kernel(f"f<{dtype}, {threads}>")(host_backend, (3,), (threads,), (y, x))
    expected = values.sum(1) * 10000 + values.max(1) * 100 + values.min(1)
    np.testing.assert_array_equal(y.array, np.broadcast_to(expected[:, None], values.shape).astype(dtype))


# --- NVRTC ---------------------------------------------------------------------------------------------------------


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvrtc_compiles_without_a_gpu(nvrtc, program, arch):
    names = ["duplicate<bfloat16>", "duplicate<complex128>"]
    found = nvrtc.compile_source(program(COPY).source, names, arch)
    assert found.code[:4] == b"\x7fELF" and all(found.names[name].encode() in found.code for name in names)


@pytest.mark.cupy
def test_a_gpu_newer_than_nvrtc_gets_ptx(nvrtc, program):
    found = nvrtc.compile_source(program(COPY).source, ["duplicate<int8>"], "sm_999")
    assert b".entry " + found.names["duplicate<int8>"].encode() in found.code
    with pytest.raises(
        ValueRangeError, match=r"'volta' is not a CUDA architecture; NVRTC .* compiles for sm_"
    ):
        nvrtc.usable_arch("volta")
    with pytest.raises(ValueRangeError, match="does not compile for sm_10; it compiles for sm_"):
        nvrtc.usable_arch("sm_10")


@pytest.mark.cupy
def test_denormal_numbers_are_kept(nvrtc, program):
    sample = program("__global__ void f(float* x) { *x = *x * 0.5f; }")
    found = nvrtc.compile_source(sample.source, ["f"], "compute_80")
    assert b"mul.f32" in found.code and b".ftz" not in found.code


@pytest.mark.cupy
def test_what_does_not_compile_is_shown_with_its_line(nvrtc, program):
    sample = program("template <typename T>\n__global__ void f(T* x) { *x = missing; }")
    with pytest.raises(
        CompileError, match=r"NVRTC does not compile f<float32> \(--std=c\+\+17 .*-arch=sm_80\)"
    ) as caught:
        nvrtc.compile_source(sample.source, ["f<float32>"], "sm_80")
    assert 'sample.cuh(3): error: identifier "missing" is undefined' in str(caught.value)
    assert "__global__ void f(T* x) { *x = missing; }" in str(caught.value)
    with pytest.raises(CompileError, match=r"sample\.cuh"):
        nvrtc.compile_source(sample.source, ["no_such_kernel"], "sm_80")
