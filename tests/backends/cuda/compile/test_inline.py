"""CUDA source of extensions: calls of CuPy and their results, with a stand-in for CuPy that compiles for the
host; and, where the library of NVRTC can be loaded, whether it compiles the source."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

import tt
from tests.backends.cuda.test_handle import HostMemory
from tests.core.extension.conftest import compiler, extensions_of_this_test, libraries  # noqa: F401 - fixtures
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.compile.inline import C_TYPES, elementwise_operation
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.extension import device_source
from tt.core.extension.generate import Instance
from tt.utils.cpp_extension import load, load_inline

HYPOT = """
template <typename T>
__device__ T squares(T x, T y) {
    return x * x + y * y;
}
"""
SCALE = """
extern "C" __global__ void scale(float *y, const float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = by * x[i];
}
"""


class CompileException(Exception):  # noqa: N818 - CuPy's name
    """What CuPy raises, with the log of the compiler as its text."""


class HostCupy:
    """Compiles elementwise kernels for the host, and notes how other functions are launched."""

    def __init__(self):
        self.cuda = SimpleNamespace(compiler=SimpleNamespace(CompileException=CompileException))
        self.built, self.launches = [], []

    def ElementwiseKernel(self, inputs, output, operation, name, *, preamble, options):  # noqa: N802
        self.built.append(name)
        assert options[-1] == "--std=c++17"
        host = {"float32": "float", "float64": "double", "int32": "int"}
        arguments = ", ".join(f"{host[p.split()[0]]} {p.split()[1]}" for p in inputs.split(", "))
        result = host[output.split()[0]]
        body = f"{{ {result} out0; {operation}; return out0; }}"
        source = f"#define __device__\n{preamble}\n{result} lifted({arguments}) {body}"

        def call(*arrays):
            try:
                module = load_inline(f"host_{name}", source, functions="lifted")
            except tt.errors.CompileError as error:
                place = error.problems[0]
                log = f"{place.file}({place.line}): error: {place.message}\n\n1 error detected."
                raise CompileException(log) from None
            return REGISTRY.kernels[module.lifted.name][0].kernel.function(*arrays)

        return call

    def RawModule(self, *, code, options, name_expressions):  # noqa: N802
        if "syntax error" in code:
            raise CompileException("raw:cuda_sources[0](2): error: expected a declaration")

        def get_function(name):
            assert name in name_expressions
            return lambda *args, **options: self.launches.append((name, args, options))

        return SimpleNamespace(get_function=get_function)


@pytest.fixture
def library():
    return HostCupy()


@pytest.fixture
def backend(library, monkeypatch):
    """A CUDA backend over the memory of the host that is available; kernels are called with its handles."""
    made = CudaBackend(HostMemory(), lambda: library)
    monkeypatch.setattr(made, "available", lambda: None)
    monkeypatch.setattr(made, "device_count", lambda: 1)
    monkeypatch.setattr(made, "current_device", lambda: 0)
    others = REGISTRY.backend
    monkeypatch.setattr(
        REGISTRY, "backend", lambda device, *layout: made if device == "cuda" else others(device, *layout)
    )
    return made


def cuda_kernels(op):
    found = [r for r in REGISTRY.kernels[op.name] if r.device == "cuda"]
    return {dtype: r.kernel.function for r in found for dtype in r.dtypes}


# --- elementwise ---------------------------------------------------------------------------------------------------


def test_a_function_becomes_a_kernel_of_the_same_operator_on_both_devices(compiler, backend, library):  # noqa: F811
    op = load_inline("gpu", HYPOT.replace("__device__ ", ""), HYPOT).squares
    assert op(tt.tensor([3.0]), 4.0).tolist() == [25.0]
    kernels = cuda_kernels(op)
    assert sorted(kernels) == ["float32", "float64"]
    assert not library.built  # compiled when it is called
    x = backend.normalise(np.array([[3.0], [6.0]], np.float32))
    found = kernels["float32"](x, 4.0)
    assert (found.shape, found.array.tolist()) == ((2, 1), [[25.0], [52.0]])
    kernels["float32"](x, x)
    assert library.built == ["tt_squares_float32"]


def test_a_function_only_for_cuda_is_an_operator_too(backend):
    op = load_inline("gpu", cuda_sources=HYPOT, dtypes=["float32"]).squares
    assert list(cuda_kernels(op)) == ["float32"]
    with pytest.raises(tt.errors.NoKernelError, match="kernels exist for: cuda"):
        op(tt.ones(1), 1.0)


def test_errors_are_shown_in_the_users_lines(compiler, backend):  # noqa: F811
    op = load_inline("gpu", cuda_sources="\n__device__ float f(float x) {\n    return y;\n}\n").f
    with pytest.raises(tt.errors.CompileError) as caught:
        cuda_kernels(op)["float32"](backend.normalise(np.ones(1, np.float32)))
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.source) == ("gpu:cuda_sources[0]", 3, "    return y;")


def test_functions_that_differ_between_the_sources_are_refused():
    with pytest.raises(tt.errors.ArgumentError, match="the function differs between the sources"):
        load_inline(
            "gpu", "float f(float x) { return x; }", "__device__ float f(float x, float y) { return x; }"
        )
    with pytest.raises(tt.errors.ArgumentError, match="on cuda a function over numbers becomes a kernel"):
        load_inline("gpu", cuda_sources="__device__ void f(float *x) {}")


# --- launched ------------------------------------------------------------------------------------------------------


class Tensor(tt.Tensor):
    device = tt.device("cuda", 0)


def cuda_tensor(backend, array):
    from tt.core.tensor.tensor import wrap
    from tt.core.types.dtype import from_numpy_dtype

    return wrap(backend.normalise(array), backend.spec(from_numpy_dtype(array.dtype)), Tensor)


def test_a_global_function_is_launched_with_values_of_its_types(backend, library):
    module = load_inline("raw", cuda_sources=SCALE)
    assert repr(module) == "<extension 'raw': scale>"
    x, y = (cuda_tensor(backend, np.ones(4, np.float32)) for _ in range(2))
    before = y._version
    module.scale((2,), (128,), (y, x, 2, 4), shared_mem=16)
    ((name, (grid, block, given), options),) = library.launches
    assert (name, grid, block, options) == ("scale", (2,), (128,), {"shared_mem": 16})
    assert [type(value) for value in given] == [np.ndarray, np.ndarray, np.float32, np.int32]
    assert given[0] is y._handle.array and y._version > before and x._version == 0


def test_what_a_device_cannot_check_is_checked_before(backend):
    module = load_inline("raw", cuda_sources=SCALE)
    x = cuda_tensor(backend, np.ones(4, np.float32))
    for args, problem in [
        ((x, x, 2), "it takes 4 arguments, and got 3"),
        ((tt.ones(4), x, 2, 4), "argument 'y' must be a tensor on a CUDA device"),
        ((x, cuda_tensor(backend, np.ones(4)), 2, 4), "argument 'x' must be float32, not float64"),
        ((x, cuda_tensor(backend, np.ones((4, 4), np.float32).T[1:]), 2, 4), "must be contiguous"),
    ]:
        with pytest.raises(tt.errors.ArgumentError, match=problem):
            module.scale((1,), (32,), args)


def test_errors_of_global_functions_are_shown_in_the_users_lines(backend):
    module = load_inline("raw", cuda_sources="int a;\nint syntax error;\n" + SCALE)
    with pytest.raises(
        tt.errors.CompileError,
        match=r"raw:cuda_sources\[0\]:2: error: expected a declaration\n    int syntax error;",
    ):
        module.scale((1,), (1,), ())


# --- without a device ----------------------------------------------------------------------------------------------


def test_without_cuda_optional_source_is_left_alone_and_required_source_is_an_error(compiler):  # noqa: F811
    if tt.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    op = load_inline("gpu", HYPOT.replace("__device__ ", ""), HYPOT).squares
    assert op(tt.tensor([3.0]), 4.0).tolist() == [25.0]
    with pytest.raises(tt.errors.DeviceError, match="device 'cuda' is not available: "):
        load_inline("gpu", HYPOT.replace("__device__ ", ""), HYPOT, with_cuda=True)
    module = load_inline("raw", cuda_sources=SCALE)
    with pytest.raises(tt.errors.DeviceError, match="device 'cuda' is not available: "):
        module.scale((1,), (1,), ())


def test_cuda_source_can_be_left_out(compiler):  # noqa: F811
    op = load_inline("gpu", HYPOT.replace("__device__ ", ""), HYPOT, with_cuda=False).squares
    assert not cuda_kernels(op)


def test_files_of_cuda_are_loaded(backend, tmp_path):
    (tmp_path / "kernels.cu").write_text(HYPOT)
    op = load("gpu", tmp_path / "kernels.cu", dtypes=["float64"]).squares
    assert list(cuda_kernels(op)) == ["float64"]


def test_a_backend_that_compiles_nothing_says_so(monkeypatch):
    monkeypatch.setattr(REGISTRY, "backend", lambda *place: tt.library.Backend())
    op = load_inline("gpu", cuda_sources="__device__ float f(float x) { return x; }").f
    with pytest.raises(
        tt.errors.UnsupportedError, match="compiles no source: it has no method compile_elementwise"
    ):
        cuda_kernels(op)["float32"](1.0)


# --- NVRTC itself --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nvrtc():
    """Compiles a text; returns the log, empty if all is well."""
    for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        try:
            found = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        pytest.skip("the library of NVRTC cannot be loaded")

    def compile_text(text: str) -> str:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        assert not found.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"text.cu", 0, None, None)
        options = (ctypes.c_char_p * 1)(b"--std=c++17")
        failed = found.nvrtcCompileProgram(program, 1, options)
        found.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        found.nvrtcGetProgramLog(program, log)
        found.nvrtcDestroyProgram(ctypes.byref(program))
        return log.value.decode() if failed else ""

    return compile_text


@pytest.mark.cupy
def test_nvrtc_compiles_what_is_handed_over_and_its_errors_are_read(nvrtc):
    source = device_source.DeviceSource("cuda", "gpu", {"gpu:cuda_sources[0]": HYPOT})
    (function,) = source.functions
    for dtype in [name for name in C_TYPES if not name.startswith("complex")]:
        instance = Instance(function, dtype, "")
        _, _, operation = elementwise_operation(instance)
        c = C_TYPES[dtype]
        text = f"{source.text}\n__global__ void k({c} in0, {c} in1, {c} *r) {{ {c} out0; {operation}; *r = out0; }}"
        assert nvrtc(text) == ""
    broken = device_source.DeviceSource(
        "cuda", "gpu", {"a": "\n", "b": "\n__device__ float f(float x) { return y; }"}
    )
    error = broken.failed(nvrtc(broken.text))
    assert [(p.file, p.line, p.kind) for p in error.problems] == [("b", 2, "error")]
    assert "identifier" in str(error)
