"""The conformance check on the emulated device: what operators compute agrees with the CPU."""

from __future__ import annotations

import os

import pytest

import tt
from tests.backends.cuda.emulation import KERNELS
from tt.core.library import REGISTRY
from tt.testing.conformance import CHECKS, check_target, targets
from tt.testing.conformance.run import Target

# A few of each family with kernels or composites of its own; the sweep has all.
OPS = """
    add remainder pow where clamp gelu sum.dim max.dim var_mean cumsum softmax linalg_solve linalg_cholesky_ex
    linalg_eigh _fft_c2c sort _unique2 gather scatter_add index_put index masked_fill nonzero matmul cat unfold
    view_as_real randn randint.low randperm arange.start_step layer_norm conv2d _embedding bitwise_left_shift
    tril copy eye
"""


# CuPy's own sums, copies and choices give the row-major order, where tt's kernels, which serve wherever a device is,
# keep the order of the operands. The values are the same.
CHECKED = [check for check in CHECKS if check != "format" or os.environ.get(KERNELS) != "0"]


def _check(target: Target) -> None:
    report = check_target(target, "cuda", checks=CHECKED)
    assert not report.missing
    assert not report.failures, "\n\n".join(map(str, report.failures[:5]))


def _chosen() -> list[Target]:
    return targets("cuda", OPS.split(), ["float32"])


@pytest.mark.parametrize("target", _chosen(), ids=str)
def test_an_operator_does_what_it_does_on_the_cpu(target):
    _check(target)


# Composites whose parts are sums and copies in such an order.
ORDERED = {"bilinear", "triangular_solve"}


def _swept() -> list[Target]:
    """Return all operators; with kernels of programs those that have one or need their order."""
    if os.environ.get(KERNELS) == "0":
        return [t for t in targets("cuda", dtypes=["float32", "int64"]) if t.op not in ORDERED]
    tt.zeros(1, device="cuda")
    own = [
        op
        for op, found in REGISTRY.kernels.items()
        if any(r.device == "cuda" and r.layouts == ("strided",) and r.kernel.priority for r in found)
    ]
    return targets("cuda", [*own, *ORDERED], ["float32"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", _swept(), ids=str)
def test_every_operator_does_what_it_does_on_the_cpu(target):
    _check(target)
