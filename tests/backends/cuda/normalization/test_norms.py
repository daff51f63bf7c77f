"""Normalisation and its gradients in CUDA C++, run on the host behind the shim, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.cases import BFLOAT16, FLOATS, Case, check, kernels_of, launched, rows, strided
from tt.backends.cuda.normalization.norms import PROGRAM, tables

# --- references ------------------------------------------------------------------------------------------------


def standard(x, axis, eps, centred=True):
    x = x.astype(np.longdouble)  # in float64 the mean of numbers far from 0 is less exact than the kernel's
    mean = x.mean(axis, keepdims=True) if centred else 0.0
    scale = 1 / np.sqrt(((x - mean) ** 2).mean(axis, keepdims=True) + eps)
    return (x - mean) * scale, scale


def through(slope, x, scale, axis, centred=True):
    rest = x * (slope * x).mean(axis, keepdims=True)
    return scale * (slope - rest - (slope.mean(axis, keepdims=True) if centred else 0.0))


def affine(x, weight, bias=None):
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def last(shape):
    return tuple(range(-len(shape), 0))


def layer_norm(x, shape, weight, bias, eps):
    return affine(standard(x, last(shape), eps)[0], weight, bias)


def rms_norm(x, shape, weight, eps):
    return affine(standard(x, last(shape), 1.1920929e-07 if eps is None else eps, False)[0], weight)


def last_backward(g, x, shape, weight, eps, centred):
    found, scale = standard(x, last(shape), eps, centred)
    before = tuple(range(x.ndim - len(shape)))
    result = through(affine(g, weight), found, scale, last(shape), centred)
    return result, (g * found).sum(before), g.sum(before)


def layer_norm_backward(g, x, shape, weight, eps):
    return last_backward(g, x, shape, weight, eps, True)


def rms_norm_backward(g, x, shape, weight, eps):
    return last_backward(g, x, shape, weight, eps, False)[:2]


def by_channel(value, x):
    return None if value is None else value.reshape(1, -1, *(1,) * (x.ndim - 2))


def group_norm(x, groups, weight, bias, eps):
    found = standard(x.reshape(x.shape[0], groups, -1), 2, eps)[0].reshape(x.shape)
    return affine(found, by_channel(weight, x), by_channel(bias, x))


def group_norm_backward(g, x, groups, weight, eps):
    lines = (x.shape[0], groups, -1)
    found, scale = standard(x.reshape(lines), 2, eps)
    slope = affine(g, by_channel(weight, x)).reshape(lines)
    rest = (0, *range(2, x.ndim))
    return (
        through(slope, found, scale, 2).reshape(x.shape),
        (g * found.reshape(x.shape)).sum(rest),
        g.sum(rest),
    )


def batch_norm(x, weight, bias, mean, var, training, eps):
    rest = (0, *range(2, x.ndim))
    mean, var = (x.mean(rest), x.var(rest)) if training else (mean, var)
    found = (x - by_channel(mean, x)) / np.sqrt(by_channel(var, x) + eps)
    return affine(found, by_channel(weight, x), by_channel(bias, x)), mean, var


def batch_norm_backward(g, x, weight, mean, var, training, eps):
    rest = (0, *range(2, x.ndim))
    scale = 1 / np.sqrt(by_channel(var, x) + eps)
    found, slope = (x - by_channel(mean, x)) * scale, affine(g, by_channel(weight, x))
    result = through(slope, found, scale, rest) if training else slope * scale
    return result, (g * found).sum(rest), g.sum(rest)


# --- cases -----------------------------------------------------------------------------------------------------


def line_cases(dtype):
    for lines, n in ((3, 1), (3, 31), (5, 32), (40, 33), (3, 1000), (2, 1999), (2, 4097), (3, 4096)):
        x, g = rows((lines, n), dtype, offset=2), rows((lines, n), dtype, 1)
        w, b = rows((n,), dtype, 2), rows((n,), dtype, 3)
        yield Case("layer_norm", (x, (n,), w, b, 1e-5), layer_norm, f"{n}", 32)
        yield Case("rms_norm", (x, (n,), w, 1e-5), rms_norm, f"{n}", 32)
        if n > 1:
            yield Case("_layer_norm_backward", (g, x, (n,), w, 1e-5), layer_norm_backward, f"{n}", 128)
            yield Case("_rms_norm_backward", (g, x, (n,), w, 1e-5), rms_norm_backward, f"{n}", 128)
    x, g, w = rows((300, 5, 6), dtype), rows((300, 5, 6), dtype, 1), rows((5, 6), "f4", 2)
    yield Case("layer_norm", (x, (5, 6), None, None, 0.1), layer_norm, "plain", 32)
    yield Case("_layer_norm_backward", (g, x, (5, 6), None, 0.1), layer_norm_backward, "plain", 128)
    yield Case("_layer_norm_backward", (strided(g), x, (6,), None, 0.1), layer_norm_backward, "strided", 128)
    yield Case("_rms_norm_backward", (g, strided(x), (5, 6), None, 0.1), rms_norm_backward, "plain", 128)
    yield Case("rms_norm", (x, (6,), None, 0.5), rms_norm, "plain", 32)
    if np.dtype(dtype).itemsize == 2:
        yield Case("layer_norm", (x, (5, 6), w, w, 0.1), layer_norm, "wide parameters", 32)
        yield Case(
            "_layer_norm_backward", (g, x, (5, 6), w, 0.1), layer_norm_backward, "wide parameters", 128
        )
    if np.dtype(dtype).itemsize > 2:
        far = rows((4, 700), "f8", offset=1e4).astype(dtype)
        yield Case("layer_norm", (far, (700,), None, None, 1e-5), layer_norm, "far from 0", 64)
    odd = rows((3, 40), dtype)
    odd[0, 3], odd[1, 4] = np.nan, np.inf
    yield Case("layer_norm", (odd, (40,), None, None, 1e-5), layer_norm, "special", 32)
    yield Case("layer_norm", (rows((0, 4), dtype), (4,), None, None, 1e-5), layer_norm, "no lines")
    yield Case(
        "_layer_norm_backward", (rows((0, 4), dtype), rows((0, 4), dtype), (4,), None, 1e-5), layer_norm_backward,
        "no lines",
    )  # fmt: skip


def channel_cases(dtype):
    for shape, groups in (
        ((3, 6, 5, 4), 3),
        ((2, 4, 33), 4),
        ((5, 8), 2),
        ((2, 2, 40, 41), 1),
        ((70, 4, 9), 2),
    ):
        x, g = rows(shape, dtype, offset=2), rows(shape, dtype, 1)
        w, b, name = rows(shape[1:2], dtype, 2), rows(shape[1:2], dtype, 3), f"{groups} groups"
        yield Case("group_norm", (x, groups, w, b, 1e-5), group_norm, name, 32)
        yield Case("group_norm", (x, groups, None, None, 1e-5), group_norm, f"{name} plain", 32)
        yield Case("_group_norm_backward", (g, x, groups, w, 1e-5), group_norm_backward, name, 128)
        yield Case(
            "_group_norm_backward", (g, strided(x), groups, None, 1e-5), group_norm_backward, "strided", 128
        )
    if np.dtype(dtype).itemsize == 2:
        return  # batches are normalised in float32 at least
    for shape in ((3, 6, 5, 4), (2, 5, 33), (50, 33), (3, 2, 50, 41)):
        x, g = rows(shape, dtype, offset=2), rows(shape, dtype, 1)
        w, b = rows(shape[1:2], dtype, 2), rows(shape[1:2], dtype, 3)
        mean, var = (
            rows(shape[1:2], dtype, 4, offset=2),
            np.abs(rows(shape[1:2], dtype, 5)) + np.asarray(1, dtype),
        )
        for name, change in (("rows", np.asarray), ("channels last", channels_last), ("strided", strided)):
            yield Case("_batch_norm", (change(x), w, b, None, None, True, 1e-5), batch_norm, name, 64)
            yield Case(
                "_batch_norm",
                (change(x), None, None, mean, var, False, 1e-5),
                batch_norm,
                f"{name} known",
                64,
            )
            rest = (0, *range(2, x.ndim))
            own = [s(x.astype("f8"), rest).astype(dtype) for s in (np.mean, np.var)]
            args: tuple = (change(g), change(x), w, *own, True, 1e-5)
            yield Case("_batch_norm_backward", args, batch_norm_backward, name, 128)
            args = (g, change(x), None, mean, var, False, 1e-5)
            yield Case("_batch_norm_backward", args, batch_norm_backward, f"{name} known", 128)


def channels_last(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


CASES = [
    *line_cases(np.float32),
    *[c for c in line_cases(BFLOAT16) if c.name in ("33", "1000", "4096", "wide parameters", "plain")],
    *channel_cases(np.float32),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_agree_with_numpy(kernels, case):
    found = check(kernels, case)
    inputs = [a for a in case.args if isinstance(a, np.ndarray) and a.ndim > 2]
    if case.name.startswith("channels last") and inputs:
        # Channels stay last where all inputs have them there.
        assert found[0].is_contiguous == any(a.flags.c_contiguous for a in inputs)


def test_what_does_not_fit_is_refused(kernels):
    x, w = rows((3, 4), "f4"), rows((3,), "f4")
    for op, args in (
        ("layer_norm", (x, (3,), None, None, 1e-5)),
        ("layer_norm", (x, (4,), w, None, 1e-5)),
        ("group_norm", (x, 3, None, None, 1e-5)),
        ("_layer_norm_backward", (w, x, (4,), None, 1e-5)),
        ("_batch_norm", (x, w, None, None, None, True, 1e-5)),
        ("_batch_norm", (x, None, None, None, None, False, 1e-5)),
    ):
        with pytest.raises(ValueError, match=r"fit|needed"):
            check(kernels, Case(op, args, layer_norm))


@pytest.mark.cupy
def test_kernels_compile_for_a_gpu(nvrtc):
    names = [k.name for k in launched(tables, CASES) if k.program is PROGRAM][::9]
    assert set(nvrtc.compile_source(PROGRAM.source, names, "sm_90").names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_kernels_compile_for_gpus(nvrtc, arch, dtype):
    wanted = launched(tables, [*line_cases(dtype), *channel_cases(dtype)])
    names = [k.name for k in wanted if k.program is PROGRAM]
    assert set(nvrtc.compile_source(PROGRAM.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
def test_all_dtypes_agree_with_numpy(host_engine, dtype):
    everything = [*line_cases(dtype), *channel_cases(dtype)]
    host_engine.prepare(launched(tables, everything))
    for case in everything:
        check(kernels_of(tables, host_engine), case)
