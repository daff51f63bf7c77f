"""Results that are right in more than one form: what to compare instead.

An order among equal values, the sign or phase of a vector: each function takes a result, as PyTorch's tensors, with the
arguments of the call, and returns what must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

Invariant = Callable[..., Any]


def _gathered(result: Any, self: Any, dim: int) -> Any:
    """Values found at the indices, for one dimension that was reduced, sorted or cut."""
    indices = result[1] if isinstance(result, list | tuple) else result
    if self.dim() == 0:
        return indices * 0
    reduced = indices.dim() < self.dim()
    found = torch.gather(self, dim, indices.unsqueeze(dim) if reduced else indices)
    return found.squeeze(dim) if reduced else found


def _argument(args: Any, kwargs: Any, index: int, name: str, default: Any) -> Any:
    return kwargs.get(name, args[index] if len(args) > index else default)


# --- positions among equal values --------------------------------------------------------------------------------


def sort(result: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("stable") or (len(args) > 1 and isinstance(args[1], bool) and len(args) == 4):
        return result
    dim = kwargs.get("dim", next((a for a in args[1:] if type(a) is int), -1))
    return result[0], _gathered(result, args[0], dim)


def argsort(result: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("stable"):
        return result
    return _gathered(result, args[0], kwargs.get("dim", next((a for a in args[1:] if type(a) is int), -1)))


def topk(result: Any, args: Any, kwargs: Any) -> Any:
    dim = _argument(args, kwargs, 2, "dim", -1)
    values, gathered = result[0], _gathered(result, args[0], dim)
    if _argument(args, kwargs, 4, "sorted", True) or values.dim() == 0:
        return values, gathered
    return values.sort(dim).values, gathered.sort(dim).values


def kthvalue(result: Any, args: Any, kwargs: Any) -> Any:
    return result[0], _gathered(result, args[0], _argument(args, kwargs, 2, "dim", -1))


def median(result: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return result
    return result[0], _gathered(result, args[0], _argument(args, kwargs, 1, "dim", -1))


# --- vectors up to their sign or phase ---------------------------------------------------------------------------


def svd(result: Any, args: Any, kwargs: Any) -> Any:
    """Singular values, and the product of the leading vectors; all vectors are orthonormal."""
    U, S, Vh = result
    if U.numel() == 0 or Vh.numel() == 0:
        return S, U, Vh
    k = S.shape[-1]
    if U.shape[-1] < k or Vh.shape[-2] < k:
        return (S,)
    Sc = S.to(U.dtype)
    rebuilt = (U[..., :k] * Sc.unsqueeze(-2)) @ Vh[..., :k, :]
    return S, rebuilt, U.mH @ U, Vh @ Vh.mH


def legacy_svd(result: Any, args: Any, kwargs: Any) -> Any:
    U, S, V = result
    if not _argument(args, kwargs, 2, "compute_uv", True):
        return S, U, V
    return svd((U, S, V.mH), args, kwargs)


def svd_lowrank(result: Any, args: Any, kwargs: Any) -> Any:
    U, S, V = result
    return svd((U, S, V.mH), args, kwargs)[:2]


def eigh(result: Any, args: Any, kwargs: Any) -> Any:
    L, V = result
    return L, (V * L.to(V.dtype).unsqueeze(-2)) @ V.mH, V.mH @ V


def eig(result: Any, args: Any, kwargs: Any) -> Any:
    """Eigenvalues in one order, and the product of the vectors."""
    L, V = result
    if L.numel() == 0:
        return L, V
    A = args[0].to(V.dtype)
    return eigvals(L, args, kwargs), A @ V - V * L.unsqueeze(-2), V.norm(dim=-2)


def eigvals(result: Any, args: Any, kwargs: Any) -> Any:
    order = ((result.real * 1e4).round() * 1e6 + result.imag).argsort(dim=-1)
    return torch.gather(result, -1, order)


def qr(result: Any, args: Any, kwargs: Any) -> Any:
    Q, R = result
    return R.abs(), (Q @ R if Q.numel() and R.numel() else Q), Q.mH @ Q


# --- numbers with several names -----------------------------------------------------------------------------------


def logcumsumexp(result: Any, args: Any, kwargs: Any) -> Any:
    """The imaginary part is right up to multiples of 2π."""
    return result.exp() if result.is_complex() else result


INVARIANTS: dict[str, Invariant] = {
    "sort": sort,
    "argsort": argsort,
    "topk": topk,
    "kthvalue": kthvalue,
    "median": median,
    "logcumsumexp": logcumsumexp,
    "linalg.svd": svd,
    "svd": legacy_svd,
    "svd_lowrank": svd_lowrank,
    "pca_lowrank": svd_lowrank,
    "linalg.eigh": eigh,
    "linalg.eig": eig,
    "linalg.eigvals": eigvals,
    "linalg.qr": qr,
    "qr": qr,
}
