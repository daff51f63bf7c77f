"""Shapes of reductions, scans and sorts."""

from __future__ import annotations

import pytest

from tt.core.errors import DataDependentError, IndexValueError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

SHAPES = [(), (3,), (2, 3), (0,), (2, 0), (0, 3), (2, 3, 4)]
DIMS = [None, 0, -1, 1, 2, -3, [], [0], [0, 1], [-1, 0], [0, 0], [0, -1, 1], 5]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_remove_or_keep_dimensions(agree, shape, dim, keepdim):
    x = torch.zeros(shape)
    agree("reduce", lambda x, d, k: torch.sum(x, d, k), self=x, dim=dim, keepdim=keepdim)
    if dim is not None:
        agree("reduce", torch.all, op="all", self=x, dim=dim, keepdim=keepdim)
    # Where a call has two mistakes, PyTorch names the empty dimension, or the repetition, first.
    if dim is not None and (dim not in ([-1, 0], [0, 0], [0, -1, 1]) or 0 not in shape):
        agree("reduce_nonempty", torch.amax, self=x, dim=dim, keepdim=keepdim)
    if dim is not None and (dim != [0, -1, 1] or len(shape) > 1):
        agree("reduce_two", lambda x, d, k: torch.var_mean(x, d, keepdim=k), self=x, dim=dim, keepdim=keepdim)
    if isinstance(dim, int):
        agree("reduce_with_indices", torch.max, self=x, dim=dim, keepdim=keepdim)
        agree("reduce_with_indices", torch.median, self=x, dim=dim, keepdim=keepdim)
    if not isinstance(dim, list):
        agree(
            "reduce_nonempty",
            lambda x, d, k: torch.argmax(x, d, keepdim=k),
            op="argmax",
            self=x,
            dim=dim,
            keepdim=keepdim,
        )
        agree("aminmax", lambda x, d, k: torch.aminmax(x, dim=d, keepdim=k), self=x, dim=dim, keepdim=keepdim)


def test_reducing_everything_without_identity_refuses_no_elements(agree, rule):
    for shape in SHAPES:
        agree("reduce_nonempty", torch.max, self=torch.zeros(shape))
    with pytest.raises(IndexValueError, match=r"dimension 1 of shape \[2, 0\] is empty"):
        rule("reduce_nonempty", self=torch.zeros(2, 0), dim=1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dim", [0, -1, 1, 3, -4])
def test_scans_and_sorts_keep_the_shape(agree, shape, dim):
    for x in (torch.zeros(shape), torch.zeros(shape[::-1]).permute(list(reversed(range(len(shape)))))):
        agree("scan", torch.cumsum, self=x, dim=dim)
        if x.numel():  # PyTorch does not check the dimension of an empty tensor here
            agree("scan_with_indices", torch.cummax, self=x, dim=dim)
        agree("sort", torch.sort, self=x, dim=dim)
        agree("argsort", torch.argsort, self=x, dim=dim)
        for k in (0, 1, 2, 4, -1):
            agree("topk", torch.topk, self=x, k=k, dim=dim)
            agree("kthvalue", torch.kthvalue, self=x, k=k, dim=dim)
        agree("diff", torch.diff, strides=False, self=x, n=2, dim=dim)


def test_what_depends_on_values_is_refused(rule):
    with pytest.raises(DataDependentError, match="nonzero"):
        rule("data_dependent", "nonzero", self=torch.zeros(2))
