"""Decompositions and equations on arrays of the standard: their unique parts, against PyTorch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device
from tt.errors import LinAlgError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(seed))


def positive(*shape: int, dtype: str = "float64") -> torch.Tensor:
    a = numbers(*shape, dtype=dtype)
    return (a @ a.mH + torch.eye(shape[-1])).to(a.dtype)


PROGRAMS = {
    "inv": lambda m, a: m.linalg.inv(a),
    "inv_ex": lambda m, a: list(m.linalg.inv_ex(a)),
    "det": lambda m, a: m.linalg.det(a),
    "slogdet": lambda m, a: list(m.linalg.slogdet(a)),
    "solve": lambda m, a: [m.linalg.solve(a, a[..., :2]), m.linalg.solve(a, a[..., :2, :], left=False)],
    "solve, vectors": lambda m, a: m.linalg.solve(a, a[..., 0]),
    "solve_triangular": lambda m, a: m.linalg.solve_triangular(a, a[..., :1], upper=True),
    "lu": lambda m, a: list(m.linalg.lu(a)),
    "lu_solve": lambda m, a: m.linalg.lu_solve(*m.linalg.lu_factor(a), a),
    "qr": lambda m, a: [
        m.linalg.qr(a).R.abs(),
        m.linalg.qr(a, "complete").R.abs(),
        m.linalg.qr(a, "r").R.abs(),
    ],
    "svdvals": lambda m, a: m.linalg.svdvals(a),
    "pinv": lambda m, a: m.linalg.pinv(a[..., :2]),
    "matrix_rank": lambda m, a: m.linalg.matrix_rank(a),
    "matrix_power": lambda m, a: m.linalg.matrix_power(a, -3),
    "matrix_exp": lambda m, a: m.linalg.matrix_exp(a / 4),
    "lstsq": lambda m, a: m.linalg.lstsq(a[..., :2], a[..., 2:]).solution,
    "eigh": lambda m, a: [m.linalg.eigh(a).eigenvalues, m.linalg.eigh(a, "U").eigenvalues],
    "cholesky": lambda m, a: [m.linalg.cholesky(a), m.linalg.cholesky(a, upper=True)],
    "cond": lambda m, a: [m.linalg.cond(a), m.linalg.cond(a, 1)],
    "norm": lambda m, a: [
        m.linalg.matrix_norm(a),
        m.linalg.matrix_norm(a, "nuc"),
        m.linalg.matrix_norm(a, 1),
    ],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_unique(same, name, shape, dtype):
    same(PROGRAMS[name], positive(*shape, dtype=dtype), tolerance=2e-3 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("name", ["eigh", "cholesky"])
def test_one_triangle_is_read(same, name):
    same(PROGRAMS[name], positive(3, 3) + torch.triu(numbers(3, 3, seed=1), 1) * (name == "eigh"))
    lower = torch.tril(positive(2, 3, 3, dtype="complex128"))
    same(lambda m, a: getattr(m.linalg, name)(a)[0] if name == "eigh" else m.linalg.cholesky(a), lower)


def test_what_has_no_factor_is_told(same):
    batch = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, 2.0, -1.0]))])
    same(lambda m, a: m.linalg.cholesky_ex(a).info, batch)
    same(lambda m, a: m.linalg.cholesky(a), batch)
    same(lambda m, a: m.linalg.cholesky_ex(a, check_errors=True).info, batch)
    same(lambda m, a: m.linalg.inv(a * 0), batch)
    same(lambda m, a: m.linalg.solve(a * 0, a), batch)
    same(lambda m, a: m.linalg.inv_ex(a * 0).info, batch)


# --- errors of a library ---------------------------------------------------------------------------------------


class OtherLinAlgError(RuntimeError):
    """An error of a library that derives it from RuntimeError, as PyTorch does."""


OtherLinAlgError.__name__ = "_LinAlgError"


def library_that_raises(error: Exception) -> Any:
    """Return NumPy, whose decompositions raise an error."""

    def fail(*args: Any, **options: Any) -> Any:
        raise error

    names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    linalg = SimpleNamespace(**vars(np.linalg) | dict.fromkeys(["cholesky", "inv", "solve"], fail))
    return SimpleNamespace(**names | {"linalg": linalg})


CALLS = {
    "cholesky": lambda x: tt.linalg.cholesky(x),
    "cholesky_ex": lambda x: tt.linalg.cholesky_ex(x),
    "inv": lambda x: tt.linalg.inv(x),
    "solve": lambda x: tt.linalg.solve(x, x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("error", [MemoryError("no memory"), TypeError("no such argument")], ids=repr)
def test_an_error_that_is_not_about_values_comes_through(name, error):
    with device(library_that_raises(error), "failing"):
        x = tt.eye(2, device="failing")
        with pytest.raises(type(error)) as caught:
            CALLS[name](x)
    assert not isinstance(caught.value, LinAlgError) and "singular" not in str(caught.value)


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("no"), OtherLinAlgError("no")], ids=repr)
def test_an_error_about_values_is_one_of_linear_algebra(error):
    with device(library_that_raises(error), "failing"):
        x = tt.eye(2, device="failing")
        for name in ("inv", "solve"):
            with pytest.raises(LinAlgError, match=r"the input matrix is singular \(no\)"):
                CALLS[name](x)
        assert tt.linalg.cholesky_ex(x).info.item() == 1
