"""Softmax and its gradients in CUDA C++, run on the host behind the shim, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.cases import BFLOAT16, FLOATS, Case, check, kernels_of, launched, rows, strided
from tt.backends.cuda.activation.softmax import PROGRAM, tables

pytestmark = pytest.mark.sampled(20)


def softmax(x, dim):
    if not x.size or not x.ndim:
        return np.ones_like(x)
    top = x.max(dim, keepdims=True)
    e = np.exp(x - top)
    return e / e.sum(dim, keepdims=True)


def log_softmax(x, dim):
    if not x.size or not x.ndim:
        return np.zeros_like(x)
    top = x.max(dim, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(dim, keepdims=True))


def softmax_backward(g, y, dim):
    return (g - (g * y).sum(dim, keepdims=True)) * y


def log_softmax_backward(g, y, dim):
    return g - np.exp(y) * g.sum(dim, keepdims=True)


OPS = {"softmax": softmax, "log_softmax": log_softmax}
BACKWARD = {"_softmax_backward": softmax_backward, "_log_softmax_backward": log_softmax_backward}
LENGTHS = (1, 31, 32, 33, 1000, 2000, 4097)


def forward_cases(op, dtype):
    for n in LENGTHS:
        yield Case(op, (rows((3, n), dtype), -1), OPS[op], f"{n}", 16)
    yield Case(op, (rows((0, 5), dtype), 1), OPS[op], "no lines")
    yield Case(op, (rows((5, 0), dtype), 1), OPS[op], "no elements")
    yield Case(op, (np.asarray(rows((), dtype)), 0), OPS[op], "number")
    yield Case(op, (rows((5, 8), dtype, scale=3, offset=1e4), 1), OPS[op], "large", 16)
    yield Case(op, (rows((300, 33), dtype), 0), OPS[op], "columns", 16)
    yield Case(op, (rows((2, 40, 3, 5), dtype), 1), OPS[op], "middle", 16)
    yield Case(op, (strided(rows((4, 33, 9), dtype)), 1), OPS[op], "strided", 16)
    yield Case(op, (rows((6, 5, 4), dtype).transpose(2, 0, 1), 2), OPS[op], "permuted", 16)
    yield Case(op, (rows((4, 2000), dtype)[:, 1::2], 1), OPS[op], "gaps", 16)
    yield Case(op, (rows((4, 1025), dtype)[:, 1:], 1), OPS[op], "unaligned", 16)
    special = rows((6, 40), dtype)
    special[0, 3], special[1, 7], special[2, 9] = np.nan, np.inf, -np.inf
    special[3, :], special[4, 1:3] = -np.inf, np.inf
    yield Case(op, (special, 1), OPS[op], "special", 16)
    yield Case(op, (np.asfortranarray(special), 1), OPS[op], "special columns", 16)


def backward_cases(op, dtype):
    forward = OPS[op.removeprefix("_").removesuffix("_backward")]
    for shape, dim in (((3, 33), 1), ((3, 1000), -1), ((2, 4097), 1), ((70, 33), 0), ((2, 9, 5), 1)):
        y = forward(rows(shape, np.float64), dim).astype(dtype)
        yield Case(op, (rows(shape, dtype, 1), y, dim), BACKWARD[op], f"{dim}", 32)
    y = forward(rows((33, 6), np.float64), 0).astype(dtype)
    yield Case(op, (rows((33, 6), dtype, 1), strided(y), 0), BACKWARD[op], "strides differ", 32)
    yield Case(op, (rows((0, 5), dtype), rows((0, 5), dtype), 1), BACKWARD[op], "no lines")


def cases(dtypes, ops=(*OPS, *BACKWARD)):
    return [c for op in ops for t in dtypes for c in (forward_cases if op in OPS else backward_cases)(op, t)]


CASES = [
    *cases([np.float32], ("softmax", "_softmax_backward")),
    *[c for c in cases([BFLOAT16], ("log_softmax", "_log_softmax_backward")) if c.name in
      ("33", "2000", "4097", "columns", "special", "strided", "large")],
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_agree_with_float64(kernels, case):
    check(kernels, case)


def test_lines_of_all_sizes_take_their_own_kernel():
    names = {k.name.split("<")[0] + ":" + k.name.split(", ")[-2] for k in launched(tables, CASES)}
    assert {"softmax_lines:32", "softmax_lines:64"} <= names
    assert any(k.name.startswith("softmax_columns") for k in launched(tables, CASES))


def test_what_does_not_fit_is_refused(kernels):
    with pytest.raises(ValueError, match="do not fit"):
        check(
            kernels, Case("_softmax_backward", (rows((3, 4), "f4"), rows((3, 5), "f4"), 1), softmax_backward)
        )
    with pytest.raises(IndexError):
        check(kernels, Case("softmax", (rows((3, 4), "f4"), 2), softmax))


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_90"])
def test_kernels_compile_for_a_gpu(nvrtc, arch):
    names = [kernel.name for kernel in launched(tables, CASES)][::7]
    assert len(nvrtc.compile_source(PROGRAM.source, names, arch).code) > 1000


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
def test_all_kernels_compile_for_gpus(nvrtc, arch, dtype):
    names = [kernel.name for kernel in launched(tables, cases([dtype]))]
    assert set(nvrtc.compile_source(PROGRAM.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
def test_all_dtypes_agree_with_float64(host_engine, dtype):
    everything = cases([dtype])
    host_engine.prepare(launched(tables, everything))
    for case in everything:
        check(kernels_of(tables, host_engine), case)
