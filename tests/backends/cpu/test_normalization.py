"""Normalization and attention, against PyTorch, where the samples do not reach."""

from __future__ import annotations

import math
from contextlib import nullcontext

import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def sample(*shape: int, dtype: str = "float32", seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))


# --- running statistics ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("momentum", [0.1, 0.75])
def test_running_statistics_move(name, momentum):
    x, mean, var = sample(2, 3, 4), sample(3, seed=1), sample(3, seed=2).abs()
    ours = [tt.tensor(t.numpy()) for t in (x, mean, var)]
    expected = getattr(torch.nn.functional, name)(x, mean, var, None, None, True, momentum)
    found = getattr(F, name)(*ours, None, None, True, momentum)
    for f, e in zip((found, *ours[1:]), (expected, mean, var), strict=True):
        torch.testing.assert_close(torch.from_numpy(f.numpy()), e)


def test_running_statistics_stay_outside_of_training():
    mean, var = tt.zeros(3), tt.ones(3)
    F.batch_norm(tt.tensor(sample(4, 3).numpy()), mean, var)
    assert mean.equal(tt.zeros(3))
    assert var.equal(tt.ones(3))


def test_running_statistics_carry_no_gradient():
    x = tt.tensor(sample(4, 3).numpy(), requires_grad=True)
    mean, var = tt.zeros(3), tt.ones(3)
    F.batch_norm(x, mean, var, training=True).sum().backward()
    assert not mean.requires_grad
    assert x.grad is not None


# --- numbers far from 0 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_large_mean_loses_no_variance(dtype):
    x = sample(4, 64, dtype="float32") + (1e4 if dtype == "float32" else 100.0)
    x = x.to(getattr(torch, dtype))
    ours = tt.tensor(x.float().numpy()).to(getattr(tt, dtype))
    exact = torch.nn.functional.layer_norm(x.double(), (64,))
    for found in (
        F.layer_norm(ours, (64,)),
        F.batch_norm(ours.t(), None, None, training=True).t(),
        F.group_norm(ours, 1),
        F.instance_norm(ours.unsqueeze(0)).squeeze(0),
    ):
        assert found.dtype is ours.dtype
        tolerance = {"float32": 2e-3, "float16": 4e-3, "bfloat16": 4e-2}[dtype]
        torch.testing.assert_close(
            torch.from_numpy(found.double().numpy()), exact, rtol=tolerance, atol=tolerance
        )


def test_half_precision_does_not_overflow(same):
    same(lambda m, x: m.nn.functional.rms_norm(x, (4,)), torch.full((2, 4), 1000.0).half())
    assert F.normalize(tt.full((1, 4), 1000.0, dtype=tt.float16)).tolist() == [[0.5] * 4]
    x = tt.full((4,), 1000.0, dtype=tt.float16)
    assert F.cosine_similarity(x, x, dim=0).item() == 1


# --- vectors ---------------------------------------------------------------------------------------------------


def test_zero_vectors(same):
    same(lambda m, x: m.nn.functional.normalize(x), torch.zeros(2, 3))
    same(lambda m, x, y: m.nn.functional.cosine_similarity(x, y), torch.zeros(2, 3), sample(2, 3))
    x = tt.zeros(1, 3, requires_grad=True)
    F.normalize(x).sum().backward()
    assert bool(tt.isfinite(x.grad).all())


def test_cosine_similarity_broadcasts(same):
    cosine = "cosine_similarity"
    same(lambda m, x, y: getattr(m, cosine)(x, y, -1), sample(2, 1, 3), sample(4, 3, seed=1))
    same(lambda m, x, y: getattr(m, cosine)(x, y), torch.ones(2, 2).long(), torch.ones(2, 2).long())


# --- attention -------------------------------------------------------------------------------------------------


def attention(*arguments, **options):
    return lambda m, q, k, v, *mask: m.nn.functional.scaled_dot_product_attention(q, k, v, *mask, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_attention(same, dtype):
    q, k, v = (
        sample(2, 4, 3, 8, dtype=dtype),
        sample(2, 4, 5, 8, dtype=dtype),
        sample(2, 4, 5, 2, dtype=dtype),
    )
    same(attention(), q, k, v)
    same(attention(scale=0.2), q, k, v)
    same(attention(is_causal=True), q, k, v)
    same(attention(), q, k, v, sample(3, 5, seed=3) > 0)
    same(attention(), q, k, v, sample(2, 1, 3, 5, seed=3).to(q.dtype))
    same(attention(enable_gqa=True), q, k[:, :2], v[:, :2])


def test_a_row_without_keys_gives_zeros():
    q, k = tt.tensor(sample(2, 4).numpy(), requires_grad=True), tt.tensor(sample(3, 4, seed=1).numpy())
    mask = tt.tensor([[False] * 3, [True, False, True]])
    found = F.scaled_dot_product_attention(q, k, k, mask)
    assert found[0].tolist() == [0.0] * 4
    found.sum().backward()
    assert bool(tt.isfinite(q.grad).all())
    infinite = tt.where(mask, 0.0, -math.inf)
    assert F.scaled_dot_product_attention(q, k, k, infinite).detach().equal(found.detach())


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("with_sums", [False, True])
def test_the_gradient_of_a_mask_of_numbers(is_causal, with_sums):
    q, k, v, mask = (
        tt.tensor(sample(2, 3, n, dtype="float64", seed=seed).numpy(), requires_grad=True)
        for seed, n in enumerate((4, 4, 2, 3))
    )

    def attend(*arguments):
        found = tt.ops._attention(*arguments, is_causal, 0.3)
        return tuple(found) if with_sums else found[0]

    assert tt.autograd.gradcheck(attend, (q, k, v, mask))
    assert tt.autograd.gradgradcheck(attend, (q, k, v, mask))


def test_a_mask_that_hooks_pack_has_a_gradient():
    q, mask = tt.tensor(sample(3, 4).numpy()), tt.zeros(3, 3, requires_grad=True)
    with tt.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        F.scaled_dot_product_attention(q, q, q, mask).pow(2).sum().backward()
    packed, mask.grad = mask.grad, None
    F.scaled_dot_product_attention(q, q, q, mask).pow(2).sum().backward()
    assert mask.grad.abs().sum() > 0
    tt.testing.assert_close(packed, mask.grad)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("mask", ["none", "causal", "bools", "numbers", "broadcast numbers"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_attention_of_long_sequences(dtype, mask, grouped):
    arrays = [
        sample(2, n, length, 16, seed=i)
        for i, (n, length) in enumerate(((4, 270), (2 if grouped else 4, 310)))
    ]
    added = {
        "none": None, "causal": None, "bools": sample(270, 310, seed=5) > 0, "numbers": sample(2, 4, 270, 310, seed=5),
        "broadcast numbers": sample(1, 4, 1, 310, seed=5),
    }[mask]  # fmt: skip
    found = []
    for m, kind in ((tt, dtype), (torch, "float64")):
        q, k = (m.from_numpy(t.numpy()).to(getattr(m, dtype)).to(getattr(m, kind)) for t in arrays)
        # Strided, as layers give them.
        q, k = (t.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for t in (q, k))
        part = None if added is None else m.from_numpy(added.numpy())
        if part is not None and mask != "bools":
            part = part.to(getattr(m, dtype)).to(getattr(m, kind))
        result = m.nn.functional.scaled_dot_product_attention(
            q, k, k * 0.5, part, is_causal=mask == "causal", enable_gqa=grouped
        )
        result.sin().sum().backward()
        found.append([t.detach().to(m.float64) for t in (result, q.grad, k.grad)])
    atol = 2e-5 if dtype == "float32" else 0.1
    for one, other in zip(*found, strict=True):
        tt.testing.assert_close(one, tt.from_numpy(other.numpy()), rtol=0, atol=atol)


def test_dropout_of_attention():
    q = tt.ones(1, 2, 3, 4)
    tt.manual_seed(0)
    found = F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    assert found.shape == q.shape
    assert not found.equal(q)
    assert F.scaled_dot_product_attention(q, q, q, dropout_p=1.0).equal(tt.zeros_like(q))


def test_what_attention_refuses(same):
    q, k = sample(2, 4), sample(3, 4)
    same(attention(is_causal=True), q, k, k, torch.ones(2, 3, dtype=torch.bool))
    same(attention(), q, k.double(), k)
    same(attention(), q, k[:, :3], k)
    same(attention(), q, k, k, torch.zeros(2, 3, dtype=torch.int64))


# --- dtypes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "batch_norm", "group_norm"])
def test_integers_and_parameters_of_another_dtype(same, name):
    arguments = {
        "layer_norm": ((4,),), "rms_norm": ((4,),), "batch_norm": (None, None, None, None, True), "group_norm": (2,),
    }[name]  # fmt: skip
    same(lambda m, x: getattr(m.nn.functional, name)(x, *arguments), torch.ones(2, 4, dtype=torch.int64))
    arguments = {"batch_norm": (None, None), "group_norm": (2,)}.get(name, ((4,),))
    options = {"training": True} if name == "batch_norm" else {}
    call = lambda m, x, w: getattr(m.nn.functional, name)(x, *arguments, w, **options)  # noqa: E731
    same(call, sample(2, 4), sample(4).double())
    same(call, sample(2, 4).half(), sample(4))


def test_a_group_of_one_number_has_no_variance(same):
    same(lambda m, x: m.nn.functional.group_norm(x, 4), sample(1, 4))


def test_statistics_of_no_elements_have_gradients():
    x = tt.zeros(0, 2, 3, requires_grad=True)
    output, mean, var = tt.ops._batch_norm(x, None, None, None, None, True, 0.1)
    (output.sum() + mean.sum() + var.sum()).backward()
    assert x.grad.shape == (0, 2, 3)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("normalize", [lambda x: F.group_norm(x, 2), F.instance_norm])
def test_a_result_without_weights_may_be_changed_in_place(normalize, kernels):
    x = tt.arange(24.0).reshape(2, 2, 2, 3).requires_grad_()
    with nullcontext() if kernels else tt.mask_kernels("@non-core"):
        result = normalize(x)
        assert not result._is_view()
        F.relu_(result).sum().backward()
    assert result.min() == 0 and x.grad.abs().sum() > 0
