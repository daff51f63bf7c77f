"""Convolutions on the CPU: every way that the kernels copy windows, against PyTorch."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import tt
import tt.nn.functional as F
from tt.backends.cpu import convolution

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

DIMS = (1, 2, 3)


def pair(rng: np.random.Generator, *shape: int) -> tuple[tt.Tensor, object]:
    array = rng.standard_normal(shape)
    return tt.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)


def agree(mine: tt.Tensor, theirs: object) -> None:
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-10)  # type: ignore[attr-defined]


# Few items and long rows are copied one way, many items and short rows another.
SIZES = {"few items, long rows": (2, 20), "many items, short rows": (5, 6), "one item": (1, 6)}
WAYS = [
    {},
    {"padding": 1},
    {"stride": 2, "padding": 2},
    {"dilation": 2, "padding": 1},
    {"stride": 3, "dilation": 2},
    {"groups": 2},
    {"groups": 4, "stride": 2},
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize("dims", DIMS)
def test_results_and_gradients_are_those_of_torch(dims: int, how: dict[str, int], size: str) -> None:
    rng = np.random.default_rng(dims)
    count, width = SIZES[size]
    spatial = (4,) * (dims - 1) + (width,)
    x, theirs_x = pair(rng, count, 4, *(n + 2 for n in spatial))
    w, theirs_w = pair(rng, 4, 4 // how.get("groups", 1), *(2, 1, 3)[3 - dims :])
    b, theirs_b = pair(rng, 4)
    found = getattr(F, f"conv{dims}d")(x, w, b, **how)
    expected = getattr(torch.nn.functional, f"conv{dims}d")(theirs_x, theirs_w, theirs_b, **how)
    agree(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    for mine, theirs in ((x, theirs_x), (w, theirs_w), (b, theirs_b)):
        agree(mine.grad, theirs.grad)  # type: ignore[arg-type, attr-defined]


@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize("dims", DIMS)
def test_transposed_convolutions_are_those_of_torch(dims: int, how: dict[str, int]) -> None:
    rng = np.random.default_rng(dims)
    x, theirs_x = pair(rng, 5, 4, *(5, 4, 6)[:dims])
    w, theirs_w = pair(rng, 4, 3, *(4, 3, 5)[:dims])
    found = getattr(F, f"conv_transpose{dims}d")(x, w, **how)
    expected = getattr(torch.nn.functional, f"conv_transpose{dims}d")(theirs_x, theirs_w, **how)
    agree(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    agree(x.grad, theirs_x.grad)  # type: ignore[arg-type, attr-defined]
    agree(w.grad, theirs_w.grad)  # type: ignore[arg-type, attr-defined]


@pytest.mark.parametrize("how", [{"padding": 1}, {"stride": 2, "padding": 1}, {"groups": 2}], ids=str)
def test_large_batches_are_computed_in_blocks(how: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, w = tt.tensor(rng.standard_normal((9, 4, 6, 5))), tt.tensor(rng.standard_normal((4, 4, 3, 3)))
    w = w[:, : 4 // how.get("groups", 1)].clone()

    def everything() -> list[tt.Tensor]:
        mine, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = F.conv2d(mine, weight, **how)
        y.square().sum().backward()
        return [y.detach(), mine.grad, weight.grad]  # type: ignore[list-item]

    whole = everything()
    monkeypatch.setattr(convolution, "BLOCK", 1 << 14)
    for one, parts in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(one.numpy(), parts.numpy(), rtol=1e-12)


def test_half_precision_accumulates_in_single_precision() -> None:
    x = tt.full((1, 4096, 1), 0.1, dtype=tt.float16)
    w = tt.ones(1, 4096, 1, dtype=tt.float16)
    assert F.conv1d(x, w).item() == pytest.approx(4096 * float(np.float16(0.1)), rel=1e-3)


def test_integers_are_computed_exactly() -> None:
    x = tt.tensor([[2**40, 1, -(2**40)]])
    w = tt.tensor([[[3, 1, 3]]])
    assert F.conv1d(x, w).tolist() == [[1]]


@pytest.mark.parametrize("dtype", [tt.int32, tt.bool])
def test_other_integers_are_refused_as_in_torch(dtype: tt.dtype) -> None:
    with pytest.raises(RuntimeError):
        F.conv1d(tt.ones(1, 1, 3, dtype=dtype), tt.ones(1, 1, 2, dtype=dtype))


def test_infinity_outside_of_a_window_does_not_reach_its_result() -> None:
    x = tt.tensor([[float("inf"), 1.0, 2.0, float("nan")]])
    assert F.conv1d(x, tt.tensor([[[1.0, 1.0]]])).tolist()[0][1] == 3.0
    assert F.avg_pool1d(x, 2, 1).tolist()[0][1] == 1.5


def test_mixed_dtypes_are_refused() -> None:
    with pytest.raises(RuntimeError):
        F.conv1d(tt.ones(1, 1, 3), tt.ones(1, 1, 2, dtype=tt.float64))


@pytest.mark.filterwarnings("ignore:Using padding", "ignore:conv1d")  # both say that they copy
@pytest.mark.parametrize(("kernel", "dilation", "sizes"), [*product((1, 2, 3, 4), (1, 2), (5, 6))])
def test_same_padding_keeps_the_size_and_is_greater_at_the_end(
    kernel: int, dilation: int, sizes: int
) -> None:
    rng = np.random.default_rng(0)
    (x, theirs_x), (w, theirs_w) = pair(rng, 2, 3, sizes), pair(rng, 2, 3, kernel)
    found = F.conv1d(x, w, padding="same", dilation=dilation)
    expected = torch.nn.functional.conv1d(theirs_x, theirs_w, padding="same", dilation=dilation)
    agree(found, expected)
    assert found.stride() == expected.stride()


def test_a_second_derivative_flows_through_all_three_products() -> None:
    rng = np.random.default_rng(0)
    x, w = (tt.tensor(rng.standard_normal(s), requires_grad=True) for s in ((2, 2, 4, 3), (4, 1, 2, 2)))

    def loss(x: tt.Tensor, w: tt.Tensor) -> tt.Tensor:
        return F.conv2d(x, w, stride=2, padding=1, groups=2).sin()

    assert tt.autograd.gradgradcheck(loss, (x, w))


# --- faults of a call ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: F.conv2d(x, w[:, :2]), "takes 2 channels, but the input .* has 3"),
        (lambda x, w: F.conv2d(x, w, stride=0), "stride must be greater than zero"),
        (lambda x, w: F.conv2d(x, w, padding=-1), "padding must be zero or more"),
        (lambda x, w: F.conv2d(x[:, :, :1], w), "more than the 1 of the padded input"),
        (lambda x, w: F.conv2d(x, w, groups=3), "divides into groups=3"),
        (lambda x, w: F.conv2d(x, w, tt.zeros(3)), r"needs a bias of shape \[4\]"),
        (lambda x, w: F.conv2d(x[0, 0], w), "has 3 dimensions, or 4 with a batch"),
        (lambda x, w: F.conv2d(x, w, padding="full"), "must be 'same' or 'valid'"),
        (lambda x, w: F.conv2d(x, w, padding="same", stride=2), "not supported for strided convolutions"),
        (lambda x, w: F.conv_transpose2d(x[:, :1], w), "takes 4 channels, but the input .* has 1"),
        (
            lambda x, w: F.conv_transpose2d(x, w[:3], output_padding=1),
            "must be below the larger of stride",
        ),
        (lambda x, w: F.unfold(x, 9), "does not fit into an image"),
        (lambda x, w: F.fold(x[:, 0], 4, 3), "is not a multiple of the 9 elements"),
    ],
)
def test_an_error_says_what_was_asked_and_what_was_found(call: object, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(tt.zeros(2, 3, 5, 4), tt.zeros(4, 3, 2, 2))  # type: ignore[operator]


# --- windows as columns ----------------------------------------------------------------------------------------


def test_fold_adds_up_what_unfold_copied() -> None:
    x = tt.tensor(np.random.default_rng(0).standard_normal((2, 3, 6, 5)))
    how = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": 1, "stride": (2, 1)}
    times = F.fold(F.unfold(tt.ones_like(x), **how), (6, 5), **how)
    np.testing.assert_allclose(F.fold(F.unfold(x, **how), (6, 5), **how).numpy(), (x * times).numpy())


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((1, 1, 2, 2), {"kernel_size": 1}),
        ((1, 1, 2, 2), {"kernel_size": 2}),
        ((2, 3, 1, 4), {"kernel_size": (1, 2), "stride": (1, 2)}),
        ((3, 1, 4), {"kernel_size": (1, 4)}),
    ],
)
def test_windows_that_are_no_copy_have_memory_of_their_own(shape, how) -> None:
    x, there = pair(np.random.default_rng(0), *shape)
    before = x.tolist()
    y, other = F.unfold(x, **how), torch.nn.functional.unfold(there, **how)
    assert y.stride() == other.stride()
    for result in (y, other):
        result.mul_(2)
        result.sum().backward()
    assert x.tolist() == before
    agree(y, other)
    np.testing.assert_array_equal(x.grad.numpy(), there.grad.numpy())
