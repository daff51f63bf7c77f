"""Types, signatures, results and errors in words."""

from __future__ import annotations

import contextlib
import functools
import itertools
import warnings

import pytest

import tt
from tt.core.reports.operator_words import errors, parameters, python_signature, results
from tt.core.schema.model import OpDefinition, Signature
from tt.core.schema.snapshot import definitions
from tt.core.testing.samples import samples


def definition(func, **fields):
    return OpDefinition(Signature.parse(func), "other", **fields)


def test_signatures_are_written_as_in_python():
    assert python_signature("tt.add", definitions()["add"]) == (
        "tt.add(input: Tensor, other: Tensor | number, *, alpha: number = 1, out: Tensor | None = None) -> Tensor"
    )
    found = definition("f(Tensor[] tensors, int[2] size=1, float? p=None) -> (Tensor values, Tensor indices)")
    assert python_signature("tt.f", found) == (
        "tt.f(tensors: Sequence[Tensor], size: int | Sequence[int] = 1, p: float | None = None)"
        " -> tuple[Tensor, Tensor]"
    )


def test_parameters_end_with_out_where_there_is_one():
    assert [p[0] for p in parameters(definitions()["exp"])] == ["input", "out"]
    assert [p[0] for p in parameters(definitions()["max.dim"])] == ["input", "dim", "keepdim", "out"]


@pytest.mark.parametrize(("name", "said"), [
    ("max.dim", "a named tuple: `values`, `indices`"), ("max.dim", "dtype of `indices`: int64"),
    ("zeros", "shape: `size`"), ("transpose", "memory: a view, which shares that of the input"),
    ("sum.dim", "`keepdim`"), ("eq", "dtype: bool"),
])  # fmt: skip
def test_results_in_words(name, said):
    assert said in "; ".join(results(definitions()[name]))


# Calls behave as the pages promise.
@pytest.mark.parametrize(("name", "error", "call"), [
    ("softmax", "DimensionError", lambda: tt.softmax(tt.ones(2), 3)),
    ("softmax", "DtypeNotServedError", lambda: tt.softmax(tt.ones(2, dtype=tt.int64), 0)),
    ("softmax", "TargetDtypeError", lambda: tt.softmax(tt.ones(2), 0, out=tt.ones(2, dtype=tt.float64))),
    ("add", "BroadcastError", lambda: tt.ones(2) + tt.ones(3)),
    ("add", "DeviceMismatchError", lambda: tt.ones(2) + tt.ones(2, device="meta")),
    ("add", "CastError", lambda: tt.add(tt.ones(2), 1, out=tt.ones(2, dtype=tt.int32))),
    ("mm", "DtypeError", lambda: tt.mm(tt.ones(2, 2), tt.ones(2, 2, dtype=tt.float64))),
    ("mm", "ShapeError", lambda: tt.mm(tt.ones(2, 2), tt.ones(3, 2))),
    ("nonzero", "DataDependentError", lambda: tt.nonzero(tt.ones(2, device="meta"))),
    ("linalg_inv", "LinAlgError", lambda: tt.linalg.inv(tt.zeros(2, 2))),
    ("linalg_cholesky", "LinAlgError", lambda: tt.linalg.cholesky(-tt.eye(2))),
    ("linalg_eigh", "LinAlgError", lambda: tt.linalg.eigh(tt.full((2, 2), tt.nan))),
    ("gather", "IndexError", lambda: tt.gather(tt.ones(2), 0, tt.tensor([5]))),
    ("nll_loss", "IndexValueError", lambda: tt.nn.functional.nll_loss(tt.ones(1, 2), tt.tensor([5]))),
    ("kl_div", "ValueRangeError", lambda: tt.nn.functional.kl_div(tt.ones(1), tt.ones(1), reduction="most")),
    ("view", "ShapeError", lambda: tt.ones(4).view(3)),
])  # fmt: skip
def test_errors_are_those_that_calls_raise(name, error, call):
    assert error in errors(definitions()[name])
    with pytest.raises(getattr(tt.errors, error, IndexError)):
        call()


LIKE_THE_INPUT = [
    name
    for name, definition in definitions().items()
    if definition.kind == "composite"
    and not name.startswith("_")
    and "internal" not in definition.tags
    and "dtype: that of the input" in results(definition)
]


def first_tensor(found):
    if isinstance(found, list | tuple):
        return next((tensor for each in found if (tensor := first_tensor(each)) is not None), None)
    return found if isinstance(found, tt.Tensor) else None


@pytest.mark.parametrize("dtype", [tt.float32, tt.int64, tt.bool], ids=str)
def test_a_composite_has_the_dtype_of_its_input_where_the_page_says_so(dtype):
    wrong, checked = [], 0
    for name in LIKE_THE_INPUT:
        operator = functools.reduce(getattr, name.split("."), tt.ops)
        for sample in itertools.islice(samples(definitions()[name], "cpu", dtype), 3):
            given = first_tensor(sample.args)
            if sample.error is not None or given is None:
                continue
            with warnings.catch_warnings(action="ignore"), contextlib.suppress(tt.errors.TTError):
                found = first_tensor(operator(*sample.args, **sample.kwargs))
                checked += 1
                if found is not None and found.dtype is not given.dtype:
                    wrong.append(f"{name}: {given.dtype} gives {found.dtype}")
    assert checked > 50 and not wrong
