"""Types, signatures, results and errors in words."""

from __future__ import annotations

import contextlib
import functools
import itertools
import warnings

import pytest

import tt
from tt.cli.pages.operator_words import errors, parameters, python_signature, results
from tt.core.schema.model import OpDefinition, Signature
from tt.core.schema.snapshot import definitions
from tt.testing.samples import samples


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


F = tt.nn.functional
ONE, TWO, THREE = tt.ones(2), tt.ones(2, 3), tt.ones(2, 3, 3)


@pytest.mark.parametrize(("name", "error", "calls"), [
    ("new_empty", "ShapeError", [lambda: ONE.new_empty((-1,))]),
    ("new_full", "ShapeError", [lambda: ONE.new_full((-1,), 1)]),
    ("new_ones", "ShapeError", [lambda: ONE.new_ones((-1,))]),
    ("new_zeros", "ShapeError", [lambda: ONE.new_zeros((-1,))]),
    ("new_empty_strided", "ShapeError", [
        lambda: ONE.new_empty_strided((2,), (-1,)),
        lambda: ONE.new_empty_strided((2,), (1, 1)),
    ]),
    ("empty_strided", "ShapeError", [lambda: tt.empty_strided((-2,), (1,)), lambda: tt.empty_strided((2,), (1, 1))]),
    ("empty_permuted", "ShapeError", [
        lambda: tt.empty_permuted((-2, 3), (0, 1)),
        lambda: tt.empty_permuted((2, 3), (0, 0)),
    ]),
    ("resize", "ShapeError", [lambda: tt.ones(2).resize_(-1)]),
    ("tril_indices", "ShapeError", [lambda: tt.tril_indices(-1, 2), lambda: tt.tril_indices(2, -1)]),
    ("triu_indices", "ShapeError", [lambda: tt.triu_indices(-1, 2), lambda: tt.triu_indices(2, -1)]),
    ("tril_indices", "DispatchError", [lambda: tt.tril_indices(2, 2, dtype=tt.bool)]),
    ("triu_indices", "DispatchError", [lambda: tt.triu_indices(2, 2, dtype=tt.bool)]),
    ("as_strided", "ShapeError", [
        lambda: ONE.as_strided((9,), (9,)),
        lambda: ONE.as_strided((2,), (-1,)),
        lambda: ONE.as_strided((2,), (1, 1)),
    ]),
    ("repeat", "ShapeError", [lambda: TWO.repeat(2), lambda: TWO.repeat(2, -1)]),
    ("sum_to_size", "ShapeError", [lambda: TWO.sum_to_size(4)]),
    ("fill_diagonal", "ShapeError", [lambda: tt.ones(2).fill_diagonal_(1), lambda: tt.ones(2, 3, 3).fill_diagonal_(1)]),
    ("zero", "InplaceError", [lambda: tt.ones(2, requires_grad=True).zero_()]),
    ("H", "ShapeError", [lambda: ONE.H, lambda: THREE.H]),
    ("mT", "ShapeError", [lambda: ONE.mT]),
    ("mH", "ShapeError", [lambda: ONE.mH]),
    ("adjoint", "ShapeError", [lambda: tt.adjoint(ONE)]),
    ("t", "ShapeError", [lambda: tt.t(THREE)]),
    ("block_diag", "ShapeError", [lambda: tt.block_diag(THREE)]),
    ("broadcast_shapes", "BroadcastError", [lambda: tt.broadcast_shapes((2,), (3,))]),
    ("broadcast_tensors", "BroadcastError", [lambda: tt.broadcast_tensors(tt.ones(2), tt.ones(3))]),
    ("cartesian_prod", "ShapeError", [lambda: tt.cartesian_prod(TWO)]),
    ("cartesian_prod", "DtypeError", [lambda: tt.cartesian_prod(ONE, tt.arange(2))]),
    ("combinations", "ShapeError", [lambda: tt.combinations(TWO), lambda: tt.combinations(ONE, r=-1)]),
    ("meshgrid", "ShapeError", [lambda: tt.meshgrid(TWO, indexing="ij"), lambda: tt.meshgrid(ONE, indexing="ji")]),
    ("meshgrid", "DtypeError", [lambda: tt.meshgrid(ONE, tt.arange(2), indexing="ij")]),
    ("movedim.int", "DimensionError", [lambda: tt.movedim(TWO, 5, 0)]),
    ("movedim", "ShapeError", [lambda: tt.movedim(TWO, (0, 0), (0, 1)), lambda: tt.movedim(TWO, (0, 1), (0,))]),
    ("constant_pad_nd", "ShapeError", [
        lambda: tt.constant_pad_nd(TWO, (1,)),
        lambda: tt.constant_pad_nd(TWO, (1,) * 6),
        lambda: tt.constant_pad_nd(TWO, (-4, 0)),
    ]),
    ("pad", "ShapeError", [
        lambda: F.pad(TWO, (1,)),
        lambda: F.pad(TWO, (5, 5), "reflect"),
        lambda: F.pad(TWO, (1, 1), "reflect", 2.0),
    ]),
    ("pad", "UnsupportedError", [lambda: F.pad(TWO, (1, 1), "mirror")]),
    ("hsplit", "ShapeError", [lambda: tt.hsplit(tt.ones(()), 2), lambda: tt.hsplit(TWO, 2)]),
    ("vsplit", "ShapeError", [lambda: tt.vsplit(ONE, 2), lambda: tt.vsplit(TWO, 3)]),
    ("dsplit", "ShapeError", [lambda: tt.dsplit(TWO, 2), lambda: tt.dsplit(THREE, 2)]),
    ("fliplr", "ShapeError", [lambda: tt.fliplr(ONE)]),
    ("flipud", "ShapeError", [lambda: tt.flipud(tt.ones(()))]),
    ("channel_shuffle", "ShapeError", [lambda: F.channel_shuffle(TWO, 3), lambda: F.channel_shuffle(THREE, 2)]),
    ("native_channel_shuffle", "ShapeError", [
        lambda: F.native_channel_shuffle(TWO, 3),
        lambda: F.native_channel_shuffle(THREE, 2),
    ]),
    ("pixel_shuffle", "ShapeError", [
        lambda: F.pixel_shuffle(TWO, 2),
        lambda: F.pixel_shuffle(THREE, 2),
        lambda: F.pixel_shuffle(THREE, 0),
    ]),
    ("pixel_unshuffle", "ShapeError", [
        lambda: F.pixel_unshuffle(TWO, 2),
        lambda: F.pixel_unshuffle(THREE, 2),
        lambda: F.pixel_unshuffle(THREE, 0),
    ]),
    ("functional_fold", "ShapeError", [
        lambda: F.fold(ONE, (3, 3), (2, 2)),
        lambda: F.fold(tt.ones(1, 4, 5), (3, 3), (2, 2)),
    ]),
    ("functional_unfold", "ShapeError", [lambda: F.unfold(TWO, (2, 2)), lambda: F.unfold(THREE[None], (5, 5))]),
    ("clone", "ShapeError", [lambda: TWO.clone(memory_format=tt.channels_last)]),
    ("contiguous", "ShapeError", [lambda: TWO.contiguous(memory_format=tt.channels_last)]),
    ("double", "ShapeError", [lambda: TWO.double(memory_format=tt.channels_last)]),
    ("ones_like", "ShapeError", [lambda: tt.ones_like(TWO, memory_format=tt.channels_last)]),
])  # fmt: skip
def test_every_case_of_an_error_in_the_texts_is_raised(name, error, calls):
    assert error in errors(definitions()[name])
    for call in calls:
        with pytest.raises(getattr(tt.errors, error)):
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
