"""Attention by own kernels, run on the host, against PyTorch in float64."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, contents, served, values
from tt.backends.cuda import attention
from tt.backends.cuda.libraries.cudnn import Cudnn

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

TOLERANCE = {"float16": 3e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(attention.tables(backend, Cudnn(backend)))[0]


def expected_of(q, k, v, g, mask, causal, scale):
    """Return the result, the logarithms of its sums and its gradients by PyTorch; rows without any key give zeros."""
    wide = [torch.from_numpy(a.astype(np.float64)).requires_grad_() for a in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(-1, -2) * scale
    selects = mask is not None and mask.dtype == bool
    if mask is not None and not selects:
        scores = scores + torch.from_numpy(mask.astype(np.float64))
    part = torch.from_numpy(mask.copy()) if selects else torch.ones(scores.shape, dtype=bool)
    part = part.tril() if causal else part
    shifted = scores.masked_fill(~part, -torch.inf)
    greatest = shifted.amax(-1, True).clamp(min=-1e300) if scores.shape[-1] else shifted.sum(-1, True)
    found = torch.exp(shifted - greatest)
    total = found.sum(-1, True)
    result = found / torch.where(total == 0, 1.0, total) @ wide[2]
    result.backward(torch.from_numpy(g.astype(np.float64)))
    sums = torch.logsumexp(shifted, -1).detach().numpy()
    return result.detach().numpy(), sums, [w.grad.numpy() for w in wide]


def check(own, q, k, v, *, mask=None, causal=False, scale=0.3, tolerance=2e-5):
    backend, kernels = own
    g = values(9, (*q.shape[:-1], v.shape[-1]), q.dtype.name)
    handles = [backend.normalise(a) for a in (q, k, v)]
    m = None if mask is None else backend.normalise(mask)
    expected, expected_sums, grads = expected_of(q, k, v, g, mask, causal, scale)
    result, sums = kernels["_attention"](*handles, m, causal, scale)
    assert result.dtype == q.dtype
    assert sums.dtype.name == ("float64" if q.dtype.name == "float64" else "float32")
    np.testing.assert_allclose(contents(result), expected, atol=tolerance)
    np.testing.assert_allclose(contents(sums), expected_sums, atol=tolerance)
    found = kernels["_attention_backward"](backend.normalise(g), *handles, m, result, sums, causal, scale)
    for one, gradient in zip(found, grads, strict=True):
        bound = tolerance * max(1, np.abs(gradient).max() if gradient.size else 1)
        np.testing.assert_allclose(contents(one), gradient, atol=bound)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "value_width"), [(5, 7, 8, 8), (40, 33, 16, 24), (9, 40, 64, 8), (13, 6, 3, 5)]
)  # fmt: skip
def test_results_and_gradients(own, queries, keys, width, value_width, causal):
    q, k, v = (
        values(i, (2, 2, n, w))
        for i, (n, w) in enumerate([(queries, width), (keys, width), (keys, value_width)])
    )
    check(own, q, k, v, causal=causal)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64"])
def test_half_precision_is_summed_in_float32(own, name):
    q, k, v = (values(i, (3, 12, 16), name) for i in range(3))
    check(own, q, k, v, causal=True, tolerance=TOLERANCE[name])


def test_a_mask_may_repeat_itself_and_leave_rows_empty(own):
    q, k, v = (values(i, (2, 3, 10, 8)) for i in range(3))
    mask = np.random.default_rng(4).random((2, 1, 10, 10)) < 0.6
    mask[0, 0, 4] = False
    check(own, q, k, v, mask=np.broadcast_to(mask, (2, 3, 10, 10)))
    check(own, q, k, v, mask=np.broadcast_to(mask, (2, 3, 10, 10)), causal=True)


def test_the_largest_scores_of_later_tiles_do_not_overflow(own):
    q, k, v = (values(i, (1, 70, 4), "float64") * 30 for i in range(3))
    k[0, 50:] *= 5
    check(own, q, k, v, scale=1.0, tolerance=1e-9)


def test_layouts_are_read_in_place(own):
    q, k, v = (values(i, (2, 11, 3, 8)).transpose(0, 2, 1, 3) for i in range(3))
    backend, _ = own
    assert not backend.normalise(q).is_contiguous
    check(own, q, k, v)
    expanded = np.broadcast_to(values(5, (1, 1, 11, 8)), (2, 3, 11, 8))
    check(own, q, expanded, v)
    check(own, *(values(i, (2, 1, 2, 3, 5, 4)) for i in range(3)))
    check(own, *(values(i, (5, 4)) for i in range(3)))


def test_rows_wider_than_the_kernels_take_the_weights_to_memory(own):
    q, k, v = (values(i, (1, 6, 300)) for i in range(3))
    backend, _ = own
    mask = np.random.default_rng(4).random((1, 6, 6)) < 0.6
    mask[0, 2] = False
    before = len(backend.engine.launches)
    check(own, q, k, v, mask=mask, causal=True, scale=0.05)
    assert not any(name.startswith("attention_") for name, *_ in backend.engine.launches[before:])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_masks_of_numbers_take_the_weights_to_memory(own, name, causal):
    q, k, v = (values(i, (2, 6, 8), name) for i in range(3))
    mask = np.broadcast_to(values(4, (1, 6, 6), name), (2, 6, 6))
    before = len(own[0].engine.launches)
    check(own, q, k, v, mask=mask, causal=causal, tolerance=TOLERANCE.get(name, 2e-5))
    assert not any(launch.startswith("attention_") for launch, *_ in own[0].engine.launches[before:])


def test_numbers_that_are_none_stay_so_in_their_row_only(own):
    backend, kernels = own
    q, k, v = (values(i, (9, 4)) for i in range(3))
    q[3, 1] = np.nan
    result = kernels["_attention"](*(backend.normalise(a) for a in (q, k, v)), None, False, 0.5)
    for found in map(contents, result):
        assert np.isnan(found[3]).all() and np.isfinite(np.delete(found, 3, 0)).all()


def test_without_keys_the_result_is_zero(own):
    q, k, v = values(1, (2, 3, 4)), values(2, (2, 0, 4)), values(3, (2, 0, 4))
    check(own, q, k, v)


@pytest.mark.parametrize("name", ["bfloat16", pytest.param("float64", marks=pytest.mark.exhaustive)])
def test_nvrtc_compiles_every_kernel(nvrtc, name, request):
    names = attention.kernel_names(name)
    if name == "bfloat16":  # the others take as long, and differ in a number
        names = [n for n in names if ", 64, 32>" in n]
    assert set(nvrtc.compile_source(attention.PROGRAM.source, names, "sm_90").names) == set(names)
