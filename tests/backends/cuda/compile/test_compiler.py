"""Kernels that work element by element compile for GPUs, without one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.backends.cuda.cases import Recorder
from tests.backends.cuda.kernels import arguments, call, kernels_of
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.activation import elementwise as activation
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.compile.warmup import common_kernels
from tt.backends.cuda.copies import cast
from tt.backends.cuda.launch.elementwise import POINTWISE, run
from tt.backends.cuda.launch.programs import SOURCES, Program
from tt.backends.cuda.pointwise import arithmetic as pointwise
from tt.backends.cuda.pointwise import integral
from tt.core.errors import CompileError
from tt.core.types.dtype import DTYPES


def launched(dtype: str) -> list[str]:
    """Return the kernels of all operators with one dtype, and of copies to every other."""
    recorder = Recorder()
    backend = CudaBackend(HostMemory(), lambda: np, recorder)
    for (op, name), kernel in kernels_of(
        [t for f in (pointwise, activation, integral) for t in f.tables(backend)]
    ).items():
        # The weight of prelu has another shape; _prelu_kernel launches the same functor.
        if name == dtype and op != "prelu":
            call(backend, kernel, arguments(kernel.takes, dtype))
    native = backend.native_dtype(next(d for d in DTYPES if d.name == dtype))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # complex numbers lose their imaginary parts: test_copies tests the warning
        for other in DTYPES:
            cast(backend, backend.empty((64,), native), np.dtype(backend.native_dtype(other)))
    x = backend.empty((9, 5, 3), native)
    for operands in ([x, x.view((9, 5, 3), (0, 0, 1))], [x, x.view((9, 5, 3), (1, 3, 9))]):
        run(backend, "Mul", operands, native)
    return [kernel.name for kernel in recorder.kernels]


@pytest.mark.cupy
def test_every_operator_compiles_in_half_precision(nvrtc):
    names = launched("bfloat16")
    assert len(names) > 100
    assert set(nvrtc.compile_source(POINTWISE.source, names[::4], "sm_90").names) == set(names[::4])


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_complex_functions_and_divisions_of_integers_compile(nvrtc, arch):
    functors = [("Asin", "complex64"), ("Sigmoid", "complex128"), ("Exp2", "complex128")]
    names = [f"pointwise_flat<{functor}, {dtype}, Types<{dtype}>>" for functor, dtype in functors]
    pairs = [
        ("Pow", "complex64"),
        ("IntegerFloor", "int64"),
        ("IntegerFmod", "uint8"),
        ("ShiftRight", "int8"),
    ]
    names += [f"pointwise_flat<{functor}, {dtype}, Types<{dtype}, {dtype}>>" for functor, dtype in pairs]
    names += ["pointwise_flat<IntegerPowLeft, int16, Types<int16>>"]
    assert set(nvrtc.compile_source(POINTWISE.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [d.name for d in DTYPES])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_every_operator_compiles(nvrtc, arch, dtype):
    names = launched(dtype)
    assert set(nvrtc.compile_source(POINTWISE.source, names, arch).names) == set(names)


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("source", sorted(p.name for p in SOURCES.glob("*.cuh")))
def test_every_source_compiles_by_itself(nvrtc, source, arch):
    assert nvrtc.compile_source(Program(source).source, [], arch).log in ("", "\0")


@pytest.mark.cupy
def test_a_faulty_source_does_not_compile(nvrtc, tmp_path):
    for name in ("common.cuh", "complex.cuh", "failures.cuh", "integers.cuh", "pointwise.cuh"):
        text = (SOURCES / name).read_text()
        (tmp_path / name).write_text(
            text.replace("TWO(Mul, ops::times(x, y))", "TWO(Mul, ops::times(x, y, z))")
        )
    faulty = Program("pointwise.cuh", folder=tmp_path)
    with pytest.raises(CompileError, match='identifier "z" is undefined'):
        nvrtc.compile_source(
            faulty.source, ["pointwise_flat<Mul, float32, Types<float32, float32>>"], "sm_80"
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_what_warmup_compiles_does(nvrtc, arch):
    programs: dict[Program, list[str]] = {}
    for kernel in common_kernels():
        programs.setdefault(kernel.program, []).append(kernel.name)
    for program, names in programs.items():
        assert set(nvrtc.compile_source(program.source, names, arch).names) == set(names)
