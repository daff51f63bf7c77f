"""Indices that were changed after they were checked are an error: nothing outside of the memory is read or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tt

DTYPE = tt.complex128  # served by NumPy and SciPy, whose routines look at no index
LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "sparse_coo")

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "beyond": lambda starts, plain: plain.fill_(10**8),
    "negative": lambda starts, plain: plain.fill_(-1),
    "a start beyond": lambda starts, plain: starts[1:2].fill_(10**8),
    "a negative start": lambda starts, plain: starts[1:2].fill_(-1),
    "rows that fall": lambda starts, plain: starts.copy_(tt.tensor([0, 4, 1, 4]).to(starts.device)),
    "elements in no row": lambda starts, plain: starts.zero_(),
}
USES: dict[str, Callable[[Any], Any]] = {
    "to_dense": lambda x: x.to_dense(),
    "mm": lambda x: x @ tt.ones(x.shape[1], 2, dtype=DTYPE, device=x.device),
    "mv": lambda x: x @ tt.ones(x.shape[1], dtype=DTYPE, device=x.device),
    "two": lambda x: x @ x,
    "add": lambda x: x + x,
    "mul": lambda x: x * x,
    "to_csr": lambda x: x.to_sparse_csr() if x.layout is not tt.sparse_csr else x.to_sparse_csc(),
    "to_coo": lambda x: x.to_sparse() if x.layout is not tt.sparse_coo else x.coalesce(),
    "to_scipy": tt.sparse.to_scipy,
}


def matrix(layout: str, device: str = "cpu") -> tuple[Any, Any, Any]:
    """Return a tensor and its index tensors."""
    starts, plain = tt.tensor([0, 2, 3, 4], device=device), tt.tensor([0, 2, 1, 2], device=device)
    if layout == "sparse_coo":
        indices = tt.tensor([[0, 0, 1, 2], [0, 2, 1, 2]], device=device)
        values = tt.ones(4, dtype=DTYPE, device=device)
        return tt.sparse_coo_tensor(indices, values, (3, 3)), None, indices[1]
    blocked = layout in ("sparse_bsr", "sparse_bsc")
    values = tt.ones((4, 2, 2) if blocked else (4,), dtype=DTYPE, device=device)
    x = tt.sparse_compressed_tensor(
        starts, plain, values, (6, 6) if blocked else (3, 3), layout=getattr(tt, layout)
    )
    return x, starts, plain


CASES = [
    (layout, change, use)
    for layout in LAYOUTS
    for change in CHANGES
    for use in USES
    if layout != "sparse_coo" or change in ("beyond", "negative")  # coordinates have no starts
    if (layout, use) != ("sparse_bsc", "to_scipy")  # SciPy has no such arrays
]


@pytest.mark.parametrize(("layout", "change", "use"), CASES)
def test_changed_indices_are_refused(layout: str, change: str, use: str) -> None:
    x, starts, plain = matrix(layout)
    CHANGES[change](starts, plain)
    with pytest.raises(IndexError, match="an index of a sparse tensor is out of range, or out of order"):
        USES[use](x)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_indices_that_are_filled_in_later_are_used(layout: str) -> None:
    starts, plain = tt.zeros(4, dtype=tt.int64), tt.zeros(4, dtype=tt.int64)
    x = tt.sparse_compressed_tensor(
        starts, plain, tt.ones(4, dtype=DTYPE), (3, 3), layout=getattr(tt, layout), check_invariants=False
    )
    with pytest.raises(IndexError, match="was never checked"):
        x.to_dense()
    starts.copy_(tt.tensor([0, 2, 3, 4]))
    plain[...] = tt.tensor([0, 2, 1, 2])
    expected = tt.tensor([[1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=DTYPE)
    assert tt.equal(x.to_dense(), expected if layout == "sparse_csr" else expected.t())
    assert (x @ tt.ones(3, dtype=DTYPE)).sum().item() == 4


@pytest.mark.parametrize(
    ("starts", "plain", "values"),
    [([0, 1, 2, 3], [0, 1, 2], 1), ([0, 1, 2, 3], [0, 1], 3), ([0, 3], [0, 1, 2], 3)],
)
def test_components_of_a_pickle_that_do_not_fit_are_refused(
    starts: list[int], plain: list[int], values: int
) -> None:
    x = tt.eye(3, dtype=DTYPE).to_sparse_csr()
    function, (kind, packed, gradient), _ = x.__reduce_ex__(4)
    form, layout, dtype, parts, *rest = packed
    parts = dict(zip(parts, (tt.tensor(starts), tt.tensor(plain), tt.ones(values, dtype=DTYPE)), strict=True))
    broken = function(kind, (form, layout, dtype, parts, *rest), gradient)
    for use in (broken.to_dense, lambda: broken @ tt.ones(3, dtype=DTYPE)):
        with pytest.raises(IndexError, match="out of range"):
            use()
