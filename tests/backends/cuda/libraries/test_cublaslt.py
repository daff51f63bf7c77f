"""The bindings of cuBLASLt have the names, arguments and numbers that are used."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.fake_cublaslt import FakeCublasLt
from tt.backends.cuda.libraries import cublaslt

pytestmark = pytest.mark.sampled(6)


def test_the_bindings_have_what_is_used():
    lt = pytest.importorskip("nvmath.bindings.cublasLt", exc_type=ImportError)
    for enum in ("Epilogue", "MatmulDescAttribute", "MatrixLayoutAttribute", "MatmulPreferenceAttribute"):
        for member in getattr(FakeCublasLt, enum):
            assert int(getattr(lt, enum)[member.name]) == member.value
    fake = FakeCublasLt()
    for name in dir(fake):
        if name[0] != "_" and name not in {"live", "none_for", "fails", "products", "asked"}:
            assert hasattr(lt, name), name
    assert lt.matmul_heuristic_result_dtype == FakeCublasLt.matmul_heuristic_result_dtype
    for kind, attributes in (
        ("matmul_desc", FakeCublasLt.MatmulDescAttribute),
        ("matrix_layout", FakeCublasLt.MatrixLayoutAttribute),
        ("matmul_preference", FakeCublasLt.MatmulPreferenceAttribute),
    ):
        for attribute in attributes:
            real = getattr(lt, f"get_{kind}_attribute_dtype")(int(attribute))
            assert np.dtype(real) == np.dtype(getattr(fake, f"get_{kind}_attribute_dtype")(attribute)), (
                attribute
            )


def test_the_bindings_take_the_arguments_that_are_given():
    lt = pytest.importorskip("nvmath.bindings.cublasLt", exc_type=ImportError)
    for name in (
        "matmul", "matmul_algo_get_heuristic", "matmul_desc_create", "matrix_layout_create",
        "matmul_desc_set_attribute", "matrix_layout_set_attribute", "matmul_preference_set_attribute",
    ):  # fmt: skip
        given = getattr(FakeCublasLt, name).__code__
        taken = getattr(lt, name).__doc__.split("(")[1].split(")")[0].split(",")
        assert given.co_argcount - 1 == len(taken) or given.co_flags & 4, name


def test_the_numbers_of_types_are_those_of_cuda():
    nvmath = pytest.importorskip("nvmath")
    cublas = pytest.importorskip("nvmath.bindings.cublas")
    names = {
        "float16": "CUDA_R_16F", "bfloat16": "CUDA_R_16BF", "float32": "CUDA_R_32F", "float64": "CUDA_R_64F",
        "complex64": "CUDA_C_32F", "complex128": "CUDA_C_64F",
    }  # fmt: skip
    for name, (memory, compute, _) in cublaslt.DTYPES.items():
        assert memory == nvmath.CudaDataType[names[name]]
        wanted = "COMPUTE_64F" if name in ("float64", "complex128") else "COMPUTE_32F"
        assert compute == cublas.ComputeType[wanted]
    assert cublas.ComputeType["COMPUTE_32F_FAST_TF32"] == cublaslt.TF32
