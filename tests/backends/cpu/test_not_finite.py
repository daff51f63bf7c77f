"""Decompositions of matrices with infinite elements or NaN, some of which never end in LAPACK: in other processes."""

from __future__ import annotations

import pytest

from tests.processes import printed_by

PROGRAM = """
import tt

calls = {
    "svd": lambda a: tt.linalg.svd(a),
    "svd, thin": lambda a: tt.linalg.svd(a[..., :2], full_matrices=False),
    "svdvals": tt.linalg.svdvals,
    "pinv": tt.linalg.pinv,
    "matrix_rank": tt.linalg.matrix_rank,
    "cond": tt.linalg.cond,
    "norm": lambda a: tt.linalg.matrix_norm(a, 2),
    "nuclear": lambda a: tt.linalg.matrix_norm(a, "nuc"),
    "eigh": tt.linalg.eigh,
    "eigvalsh": tt.linalg.eigvalsh,
    "eig": tt.linalg.eig,
    "eigvals": tt.linalg.eigvals,
    "lstsq, gelsd": lambda a: tt.linalg.lstsq(a, a, driver="gelsd"),
    "lstsq, gelss": lambda a: tt.linalg.lstsq(a, a, driver="gelss"),
}
for dtype in (tt.float32, tt.float64, tt.complex64):
    for order in (3, 40):
        for batch in ((), (2,)):
            a = tt.eye(order, dtype=dtype).expand(*batch, order, order).clone()
            a[..., 1, 0] = VALUE
            a[..., 0, 1] = VALUE
            for name, call in calls.items():
                try:
                    call(a)
                except tt.errors.LinAlgError as error:
                    assert "infinite elements or NaN" in str(error), (name, error)
                else:
                    raise SystemExit(f"{name} of {dtype}, {order}")
print("done")
"""


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_decompositions_of_what_is_not_finite_are_refused(value):
    assert printed_by(PROGRAM.replace("VALUE", f"float('{value}')")) == "done\n"


def test_eigh_reads_one_triangle():
    program = """
import tt
a = tt.eye(3)
a[0, 2] = float("nan")
assert tt.linalg.eigvalsh(a).tolist() == [1, 1, 1]
assert tt.linalg.eigh(a.T, UPLO="U").eigenvalues.tolist() == [1, 1, 1]
print("done")
"""
    assert printed_by(program) == "done\n"
