"""Calls in other dtypes, and kernels that are wrong in one."""

from __future__ import annotations

import numpy as np

import tt
from tests.testing.checks.planted import faults_of
from tests.testing.opcheck.made import Made
from tt.testing.checks.call import tensors_in
from tt.testing.checks.dtypes import converted, doubled, dtypes
from tt.testing.findings.log import Log
from tt.testing.opcheck.call import bind


def test_only_tensors_of_the_main_dtype_are_converted():
    call = bind("gather", (tt.ones(2, 2), 0, tt.zeros(1, 1, dtype=tt.int64)))
    found = converted(call, tt.float64)
    assert [t.dtype for t in tensors_in(found.args)] == [tt.float64, tt.int64] and found.on == "float64"
    assert doubled(tt.complex64) is tt.complex128 and doubled(tt.float16) is tt.float64


def test_the_call_is_made_in_every_dtype_that_is_registered():
    with Made(dtypes=("float16", "float32", "int32")) as op:
        assert {c.on for c in dtypes(bind(op, (tt.ones(2),)), Log())} == {"float16", "int32"}


def test_a_kernel_that_is_wrong_in_one_dtype_is_named():
    wrong = {"kernel": lambda x: x + x if x.dtype != np.float16 else x}
    assert faults_of("test_devices", **wrong) == {"dtype_wrong"}
    assert faults_of("test_devices") == set()
