"""`func.rearrange`, compared with PyTorch's."""

from __future__ import annotations

import pytest

import tt

PATTERNS = [
    ((2, 3, 4, 5), "b h w c -> b h w c", {}),
    ((2, 3, 4, 5), "b h w c -> (b h) w c", {}),
    ((2, 3, 4, 5), "b h w c -> h (b w) c", {}),
    ((2, 3, 4, 5), "b h w c -> b c h w", {}),
    ((2, 3, 4, 5), "b h w c -> b (c h w)", {}),
    ((2, 6, 4, 5), "b (h1 h) (w1 w) c -> (b h1 w1) h w c", {"h1": 3, "w1": 2}),
    ((2, 6, 4, 5), "b (h h1) (w w1) c -> b h w (c h1 w1)", {"h1": 3, "w1": 2}),
    ((2, 3, 4), "... c -> c ...", {}),
    ((2, 3, 4), "a ... -> a (...)", {}),
    ((2, 3, 4), "a ... b c -> (c ... a) b", {}),
    ((2, 3), "a b -> 1 a () b 1", {}),
    ((1, 2, 1), "1 a () -> a", {}),
    ((), "->", {}),
    ((0, 4), "a (b c) -> c a b", {"b": 2}),
]


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "pattern", "lengths"), PATTERNS)
def test_elements_are_where_pytorch_puts_them(shape, pattern, lengths):
    import torch

    ours = tt.arange(tt.empty(shape).numel()).reshape(shape)
    theirs = torch.arange(torch.empty(shape).numel()).reshape(shape)
    expected = torch.func.rearrange(theirs, pattern, **lengths)
    found = tt.func.rearrange(ours, pattern, **lengths)
    assert tuple(found.shape) == tuple(expected.shape)
    assert found.tolist() == expected.tolist()


def test_a_sequence_is_stacked_and_gradients_flow():
    parts = [tt.ones(2, requires_grad=True), tt.zeros(2, requires_grad=True)]
    found = tt.func.rearrange(parts, "n c -> (c n)")
    assert found.tolist() == [1, 0, 1, 0]
    found[0].backward()
    assert parts[0].grad.tolist() == [1, 0]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("shape", "pattern", "lengths"),
    [
        ((2, 3), "a b", {}),
        ((2, 3), "a b -> b", {}),
        ((2, 3), "a -> a", {}),
        ((2,), "a b ... -> a b ...", {}),
        ((2, 3), "a a -> a", {}),
        ((2, 3), "a ((b)) -> a b", {}),
        ((2, 3), "a (b -> a b", {}),
        ((2, 3), "a b) -> a b", {}),
        ((2, 3), "a b -> ...", {}),
        ((2, 3), "a b. -> a b.", {}),
        ((2, 3), "a (... b) -> a b ...", {}),
        ((2, 3), "a 3 -> a", {}),
        ((2, 3), "a b_ -> a b_", {}),
        ((2, 3), "a b -> a b", {"c": 2}),
        ((2, 3), "a b -> b a", {"a": 2.0}),
    ],
)
def test_wrong_patterns_raise_what_pytorch_raises(shape, pattern, lengths):
    import torch

    with pytest.raises(Exception) as theirs:
        torch.func.rearrange(torch.zeros(shape), pattern, **lengths)
    with pytest.raises(type(theirs.value), match="rearrange"):
        tt.func.rearrange(tt.zeros(shape), pattern, **lengths)


@pytest.mark.parametrize(
    ("pattern", "lengths", "problem"),
    [
        ("a (b c) -> a b c", {}, "splits a dimension into b, c"),
        ("a (b c) -> a b c", {"b": 2}, "does not fit a dimension of length 3"),
        ("a b -> b a", {"a": 4}, "does not fit a dimension of length 2"),
        ("a (b c) -> a b c", {"b": 0}, "does not fit a dimension of length 3"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(pattern, lengths, problem):
    with pytest.raises(ValueError, match=problem):
        tt.func.rearrange(tt.zeros(2, 3), pattern, **lengths)


def test_all_lengths_of_a_group_may_be_given_and_ones_added():
    x = tt.arange(6)
    assert tt.func.rearrange(x, "(a b) -> b a", a=2, b=3).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tt.func.rearrange(x[0], "-> 1").tolist() == [0]
