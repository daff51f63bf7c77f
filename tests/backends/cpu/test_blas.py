"""Products by a library that TT_PRODUCTS names: one that a compiler makes here, SciPy's BLAS, and MKL if installed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tt
from tests.backends.cpu.mkl_libraries import needs_mkl
from tests.processes import printed_by
from tt.backends.cpu import blas, threads
from tt.backends.cpu.native import loading

OTHER = getattr(importlib.util.find_spec("tt.backends.cpu.native._threads"), "origin", "")
"""A library that has no products."""

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

needs_native = pytest.mark.skipif(not loading.status().active, reason="native kernels call the library")
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform == "win32", reason="no C compiler is here"
)

SOURCE = """
static int called, threads;
int calls(void) { return called; }
int threads_set(void) { return threads; }
void openblas_set_num_threads(int count) { threads = count; }

#define MULTIPLY(T)                                                                                              \\
    called++;                                                                                                    \\
    for (int j = 0; j < n; j++)                                                                                  \\
        for (int i = 0; i < m; i++) {                                                                            \\
            T sum = 0, *at = c + i + (long)j * ldc;                                                              \\
            for (int l = 0; l < k; l++)                                                                          \\
                sum += (ta ? a[l + (long)i * lda] : a[i + (long)l * lda]) *                                      \\
                       (tb ? b[j + (long)l * ldb] : b[l + (long)j * ldb]);                                       \\
            *at = (beta == 0 ? 0 : beta * *at) + alpha * sum;                                                    \\
        }

#ifdef FORTRAN
#define GEMM(NAME, T)                                                                                            \\
    void NAME(const char *ta_, const char *tb_, const INT *m_, const INT *n_, const INT *k_, const T *alpha_,    \\
              const T *a, const INT *lda_, const T *b, const INT *ldb_, const T *beta_, T *c, const INT *ldc_)       \\
    {                                                                                                            \\
        int ta = *ta_ == 'T', tb = *tb_ == 'T', m = *m_, n = *n_, k = *k_, lda = *lda_, ldb = *ldb_, ldc = *ldc_; \\
        T alpha = *alpha_, beta = *beta_;                                                                        \\
        MULTIPLY(T)                                                                                              \\
    }
GEMM(sgemm_, float)
GEMM(dgemm_, double)
#else
#define GEMM(NAME, T)                                                                                            \\
    void NAME(int order, int transa, int transb, INT m, INT n, INT k, T alpha, const T *a, INT lda, const T *b,  \\
              INT ldb, T beta, T *c, INT ldc)                                                                        \\
    {                                                                                                            \\
        int ta = transa == 112, tb = transb == 112;                                                              \\
        if (order != 102) __builtin_trap();                                                                      \\
        MULTIPLY(T)                                                                                              \\
    }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
#endif
"""
"""A BLAS with products of matrices alone, which counts its calls."""

PROGRAM = """
import ctypes, os
import numpy as np
import tt
from tt.backends.cpu.native.linalg import products

F = tt.nn.functional
random = np.random.default_rng(0)

def numbers(*shape, dtype):
    return random.standard_normal(shape).astype(dtype)

def laid_out(a):
    wide = np.zeros((2 * a.shape[0] + 1, 3 * a.shape[1] + 1), a.dtype)
    wide[: 2 * a.shape[0] : 2, : a.shape[1]] = a
    yield a
    yield np.asfortranarray(a)
    yield wide[: 2 * a.shape[0] : 2, : a.shape[1]]           # rows with gaps
    wide = np.zeros((a.shape[0], 2 * a.shape[1]), a.dtype)
    wide[:, ::2] = a
    yield wide[:, ::2]                                       # neither rows nor columns without gaps
    if a.shape[0]:
        yield np.broadcast_to(a[:1], a.shape)                # rows in one place

def close(found, expected):
    tolerance = 1e-4 if expected.dtype == np.float32 else 1e-12
    assert found.dtype == tt.as_tensor(expected).dtype and found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance * 100)

for dtype in ("float32", "float64"):
    for m, k, n in (
        (3, 4, 5), (64, 32, 48), (150, 90, 70), (17, 1, 9), (5, 0, 4), (0, 3, 4), (3, 4, 0), (1, 20, 30), (20, 30, 1)
    ):
        bias, whole = numbers(n, dtype=dtype), numbers(m, n, dtype=dtype)
        for one in laid_out(numbers(m, k, dtype=dtype)):
            for other in laid_out(numbers(k, n, dtype=dtype)):
                x, y, b = map(tt.as_tensor, (one, other, bias))
                product = one @ other
                close(tt.mm(x, y), product)
                close(tt.addmm(b, x, y), product + bias)
                close(tt.addmm(tt.as_tensor(whole), x, y, beta=0.5, alpha=2), 2 * product + whole / 2)
                close(F.linear(x, y.mT, b), product + bias)
    for left, right in (
        ((7, 20, 30), (7, 30, 10)), ((2, 3, 20, 30), (3, 30, 10)), ((5, 20, 30), (30, 10)), ((0, 2, 3), (0, 3, 4)),
        ((2, 2, 0), (2, 0, 4)),
    ):
        one, other = numbers(*left, dtype=dtype), numbers(*right, dtype=dtype)
        close(tt.matmul(tt.as_tensor(one), tt.as_tensor(other)), one @ other)
    a = tt.as_tensor(numbers(30, 20, dtype=dtype)).requires_grad_()
    (a @ a.mT).sum().backward()
    close(a.grad, np.broadcast_to(2 * a.detach().numpy().sum(0), (30, 20)).astype(dtype))
for dtype in ("complex64", "complex128", "int64", "float16", "bfloat16"):  # by others, or in float32
    x = tt.arange(12.0).reshape(3, 4)
    expected, x = (x.numpy() @ x.numpy().T).sum(), x.to(getattr(tt, dtype))
    assert (x @ x.mT).to(tt.complex128).real.sum().item() == expected
print(products.serving())
asked = os.environ["TT_PRODUCTS"]
if os.path.isfile(asked):
    library = ctypes.CDLL(asked)
    if hasattr(library, "calls"):
        print(library.calls() > 300, library.threads_set())
        tt.set_num_threads(3)
        print(library.threads_set())
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The library, with both interfaces and integers of both sizes."""
    folder = tmp_path_factory.mktemp("blas")
    (folder / "blas.c").write_text(SOURCE)
    found = {}
    for interface in ("C", "FORTRAN"):
        for integer in ("int", "long long"):
            path = folder / f"lib{interface.lower()}_{integer.replace(' ', '_')}.so"
            subprocess.run(
                [str(COMPILER), "-O2", "-shared", "-fPIC", f"-D{interface}", f"-DINT={integer}", str(folder / "blas.c"),
                 "-o", str(path)],
                check=True,
            )  # fmt: skip
            found[f"{interface} {integer}"] = path
    return found


@needs_native
@needs_compiler
@pytest.mark.parametrize("interface", ["C int", "C long long", "FORTRAN int", "FORTRAN long long"])
def test_a_library_multiplies_by_its_own_interface(compiled: dict[str, Path], interface: str) -> None:
    path = str(compiled[interface])
    printed = printed_by(PROGRAM, {**os.environ, "TT_PRODUCTS": path, "OMP_NUM_THREADS": "2"})
    assert printed.splitlines() == [path, "True 2", "3"]


@needs_native
@pytest.mark.parametrize(
    ("asked", "shown"), [("scipy", "SciPy's BLAS"), pytest.param("mkl", "MKL", marks=needs_mkl)]
)
def test_scipys_blas_and_mkl_multiply(asked: str, shown: str) -> None:
    assert printed_by(PROGRAM, {**os.environ, "TT_PRODUCTS": asked}).startswith(shown)


@needs_native
@needs_mkl
def test_the_pool_divides_products_of_mkl() -> None:
    code = """
import numpy as np, tt
a, b = np.random.default_rng(0).standard_normal((2, 300, 300))
for count in (1, 2, 5):
    tt.set_num_threads(count)
    np.testing.assert_allclose(tt.mm(tt.as_tensor(a), tt.as_tensor(b)).numpy(), a @ b)
    x, y = tt.as_tensor(a).reshape(10, 30, 300), tt.as_tensor(b).reshape(10, 300, 30)
    np.testing.assert_allclose(tt.bmm(x, y).numpy(), x.numpy() @ y.numpy())
"""
    printed_by(code, {**os.environ, "TT_PRODUCTS": "mkl"})


@needs_native
@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("magic", "TT_PRODUCTS=magic: unknown choice; known: native, blas, mkl, scipy, and the path"),
        ("/no/such/libblas.so", "TT_PRODUCTS=/no/such/libblas.so: the library cannot be loaded"),
        (OTHER, "the library has neither cblas_sgemm and cblas_dgemm nor sgemm_"),
    ],
)  # fmt: skip
def test_what_cannot_serve_is_refused_by_the_first_product(asked: str, problem: str) -> None:
    code = """
import tt
try:
    tt.ones(2, 2) @ tt.ones(2, 2)
except tt.errors.ConfigurationError as error:
    print(error)
"""
    printed = printed_by(code, {**os.environ, "TT_PRODUCTS": asked})
    assert problem in printed and "try: unset TT_PRODUCTS" in printed


def test_mkl_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas.mkl, "find", lambda: None)
    blas.mkl.load.cache_clear()
    with pytest.raises(
        tt.errors.ConfigurationError, match=r"TT_PRODUCTS=mkl: it is not installed\n.*tt-tensor\[mkl\]"
    ):
        blas.named("mkl")


def test_scipys_functions_are_found_by_address() -> None:
    found = blas.named("scipy")
    assert found.fortran and found.whole and found.single != found.double
    one = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(found.double)
    size, number, zero = (
        ctypes.byref(kind(value))
        for kind, value in ((ctypes.c_int64, 2), (ctypes.c_double, 1), (ctypes.c_double, 0))
    )
    a, c = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2))
    one(
        b"N",
        b"N",
        size,
        size,
        size,
        number,
        a.ctypes.data,
        size,
        a.ctypes.data,
        size,
        zero,
        c.ctypes.data,
        size,
    )
    np.testing.assert_array_equal(c, a @ a)


@needs_compiler
def test_threads_of_a_library_are_governed(
    compiled: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "GOVERNED", [])
    assert blas.named(str(compiled["C int"])).whole
    assert len(threads.GOVERNED) == 1
