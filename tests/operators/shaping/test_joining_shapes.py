"""Shapes of joined tensors."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

LISTS = [
    [(2, 3), (2, 3)],
    [(2, 3), (4, 3)],
    [(2, 3), (2, 1)],
    [(0,), (2, 3)],
    [(0,), (0,)],
    [(2, 3)],
    [],
    [()],
    [(), ()],
    [(3,), (2,)],
    [(2, 3), (2, 3, 1)],
    [(2, 3, 4, 5), (2, 1, 4, 5)],
]


@pytest.mark.parametrize("shapes", LISTS, ids=str)
@pytest.mark.parametrize("dim", [0, 1, -1, -2, 4])
def test_cat_and_stack(agree, shapes, dim):
    tensors = [torch.zeros(shape) for shape in shapes]
    agree("cat", torch.cat, tensors=tensors, dim=dim)
    agree("stack", torch.stack, tensors=tensors, dim=dim)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(agree, indexing):
    for shapes in ([(2,), (3,)], [(2,), (), (4,)], [(3,)], [(2, 2)], []):
        tensors = [torch.zeros(shape) for shape in shapes]
        agree("meshgrid", lambda t, i: torch.meshgrid(*t, indexing=i), tensors=tensors, indexing=indexing)


def test_block_diag(agree):
    for shapes in ([(2, 3), (1, 1)], [(3,), ()], [(0, 2), (2, 2)], [(1, 1, 1)]):
        agree("block_diag", lambda t: torch.block_diag(*t), tensors=[torch.zeros(shape) for shape in shapes])


def test_the_error_names_the_tensor_and_the_dimension(rule):
    with pytest.raises(RuntimeError, match=r"in dimension 1 tensor 0 has size 3, tensor 1 has 4"):
        rule("cat", tensors=[torch.zeros(2, 3), torch.zeros(2, 4)], dim=0)
