"""Shapes of factories and random operators."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def test_sizes(agree, rule):
    for size in ([], [2, 3], [0], [-1], [2, -3]):
        agree("sized", torch.zeros, size=size)
        agree("randint", torch.randint, low=0, high=3, size=size)
    agree("randint", torch.randint, low=3, high=3, size=[2])
    with pytest.raises(RuntimeError, match="the size -3 at position 1"):
        rule("sized", "zeros", size=[2, -3])


def test_likes_follow_dense_layouts(agree):
    for x in (
        torch.zeros(2, 3).t(),
        torch.zeros(4, 6)[::2, ::2],
        torch.zeros(3, 1).expand(3, 4),
        torch.zeros(()),
    ):
        agree("full_like", lambda x: torch.full_like(x, 1), self=x)


def test_likes_in_a_memory_format(agree):
    for name in ("contiguous_format", "preserve_format", "channels_last"):
        how = getattr(torch, name)
        for x in (torch.zeros(2, 3).t(), torch.zeros(2, 3, 4, 5), torch.zeros(2, 3, 4, 5).transpose(0, 3)):
            agree("like", lambda x, f: torch.empty_like(x, memory_format=f), self=x, memory_format=how)
            agree("same", lambda x, f: torch.clone(x, memory_format=f), self=x, memory_format=how)


def test_empty_strided(agree):
    for size, stride in (
        ([2, 3], [1, 2]),
        ([2, 3], [0, 1]),
        ([2], [1, 1]),
        ([2], [-1]),
        ([-2], [1]),
        ([], []),
    ):
        agree("empty_strided", torch.empty_strided, size=size, stride=stride)


@pytest.mark.parametrize("start", [0, 1, -2, 0.5, 3.0])
@pytest.mark.parametrize("end", [0, 5, 1.7, -3, float("inf")])
@pytest.mark.parametrize("step", [1, 2, 0.3, -1, 0])
def test_arange(agree, start, end, step):
    agree("arange", lambda e, s, d: torch.arange(s, e, d), end=end, start=start, step=step)


def test_other_factories(agree):
    for n in (0, 3, -1):
        agree("linspace", lambda n: torch.linspace(0, 1, n), steps=n)
        agree("randperm", torch.randperm, n=n)
        agree("window", torch.hann_window, strides=False, window_length=n)
        for m in (None, 0, 2, -1):
            agree("eye", lambda n, m: torch.eye(n) if m is None else torch.eye(n, m), n=n, m=m)
        for m in (0, 2, -1):
            for offset in (0, 1, -2, 7):
                agree("triangle_indices", torch.tril_indices, row=n, col=m, offset=offset)
                agree("upper_triangle_indices", torch.triu_indices, row=n, col=m, offset=offset)


def test_multinomial(agree):
    for shape in ((4,), (2, 4), (), (2, 2, 4)):
        for count in (1, 3, 5, 0):
            for replacement in (True, False):
                weights = torch.ones(shape)
                agree(
                    "multinomial", torch.multinomial, self=weights, num_samples=count, replacement=replacement
                )
