"""Sorting and what is made of it, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt

torch = pytest.importorskip("torch")

NAN = torch.tensor([[3.0, math.nan, -math.inf, 1.0, math.nan], [0.0, -0.0, math.inf, 2.0, -1.0]])
DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def sample(dtype: str) -> torch.Tensor:
    numbers = torch.randint(0, 6, (3, 4, 5), generator=torch.Generator().manual_seed(0))
    return numbers.to(getattr(torch, dtype))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_is_stable(same, dtype, dim, descending):
    same(lambda m, x: m.sort(x, dim=dim, descending=descending, stable=True), sample(dtype))
    same(lambda m, x: m.sort(x, dim=dim, descending=descending)[0], sample(dtype).transpose(0, 2))
    same(lambda m, x: m.argsort(x, dim=dim, descending=descending, stable=True), sample(dtype))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_counts_as_the_largest(same, dtype, descending):
    same(lambda m, x: m.sort(x, descending=descending, stable=True), NAN.to(getattr(torch, dtype)))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 3, 20, 41])
@pytest.mark.parametrize("dim", [0, -1])
def test_topk(same, k, dim, largest):
    x = torch.randperm(1600, generator=torch.Generator().manual_seed(2)).reshape(40, 40).float()
    same(lambda m, x: m.topk(x, k, dim=dim, largest=largest), x)
    same(lambda m, x: m.topk(x, min(k, 5), largest=largest)[0], NAN)
    same(lambda m, x: m.topk(x, k), torch.tensor(1.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(same, dtype):
    x = sample(dtype)
    same(lambda m, x: m.unique(x), x)
    same(lambda m, x: m.unique(x, return_inverse=True), x)
    same(lambda m, x: m.unique(x, return_counts=True), x)
    same(lambda m, x: m.unique(x, True, True, True), x.transpose(0, 1))
    same(lambda m, x: m.unique(x[0, 0, 0], return_inverse=True), x)
    same(lambda m, x: m.unique(x[:0], return_inverse=True, return_counts=True), x)


def test_each_nan_is_unique(same):
    same(lambda m, x: m.unique(x, return_inverse=True, return_counts=True), NAN[:, [0, 2, 3]])
    assert tt.isnan(tt.unique(tt.tensor([math.nan, math.nan, 1.0]))).sum().item() == 2


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool"])
def test_unique_slices(same, dtype, dim):
    x = torch.randint(0, 2, (6, 3, 2), generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    same(lambda m, x: m.unique(x, dim=dim), x)
    same(lambda m, x: m.unique(x, dim=dim, return_inverse=True, return_counts=True), x)
