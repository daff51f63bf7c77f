"""Checks of gradients for functions of sparse tensors, by functions that check strided ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt

__all__ = ["as_sparse_gradcheck"]

_ROWS = ("sparse_csr", "sparse_bsr")


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function like `tt.autograd.gradcheck` that takes sparse inputs and results, too.

    The given function sees strided tensors alone: the values of sparse inputs, and sparse results as dense ones.

    Parameters
    ----------
    gradcheck : callable
        `tt.autograd.gradcheck`, `gradgradcheck`, or a function that calls one of them.

    Returns
    -------
    callable
        It takes `masked` besides: False, the default, checks the gradients of elements that are not stored, too.

    Examples
    --------
    >>> import tt
    >>> check = tt.sparse.as_sparse_gradcheck(tt.autograd.gradcheck)
    >>> x = tt.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=tt.float64).to_sparse().requires_grad_()
    >>> check(lambda x: x * 2, x)
    True
    """

    def check(func: Callable[..., Any], inputs: Any, *, masked: bool = False, **kwargs: Any) -> Any:
        values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        rebuild: dict[int, Callable[[Any], Any]] = {}
        for index, value in enumerate(values):
            if _is_sparse(value):
                # Without `masked` elements that are not stored count as well, so all of them are stored.
                values[index], rebuild[index] = _parts(value if masked else _filled(value))

        def on_values(*args: Any, **more: Any) -> Any:
            whole = [rebuild[k](value) if k in rebuild else value for k, value in enumerate(args)]
            output = func(*whole, **more)
            if isinstance(output, list | tuple):
                return tuple(map(_dense, output))
            return _dense(output)

        return gradcheck(on_values, tuple(values), **kwargs)

    return check


def _is_sparse(value: object) -> bool:
    """Return whether a value is a sparse tensor whose gradient is checked."""
    return tt.is_tensor(value) and value.requires_grad and value.layout != tt.strided


def _dense(value: Any) -> Any:
    return value.to_dense() if _is_sparse(value) else value


def _filled(value: tt.Tensor) -> Any:
    """Return a sparse tensor that stores every element, also those that are zero."""
    name = value.layout.name
    mask = tt.ones(tuple(value.shape), dtype=tt.bool, device=value.device)
    if name == "sparse_coo":
        pattern = mask.to_sparse(value.sparse_dim())
    else:
        values = value.values()
        batch = value.ndim - value.dense_dim() - value.sparse_dim()
        block = tuple(values.shape[batch + 1 : batch + 3]) if name in ("sparse_bsr", "sparse_bsc") else None
        pattern = mask.to_sparse(layout=value.layout, blocksize=block, dense_dim=value.dense_dim())
    return value.detach().to_dense().sparse_mask(pattern)


def _parts(value: tt.Tensor) -> tuple[Any, Callable[[Any], Any]]:
    """Return the values of a sparse tensor, and the function that makes it of them."""
    shape = tuple(value.shape)
    if value.layout.name == "sparse_coo":
        indices, whole = value._indices(), value.is_coalesced()
        return (
            value._values().detach().clone().requires_grad_(),
            lambda values: tt.sparse_coo_tensor(indices, values, shape, is_coalesced=whole),
        )
    rows = value.layout.name in _ROWS
    compressed = value.crow_indices() if rows else value.ccol_indices()
    plain = value.col_indices() if rows else value.row_indices()
    return (
        value.values().detach().clone().requires_grad_(),
        lambda values: tt.sparse_compressed_tensor(compressed, plain, values, shape, layout=value.layout),
    )
