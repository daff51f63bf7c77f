"""Products of groups of matrices and of scaled matrices, against torch and NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tt
from tt.errors import DtypeError, ShapeError, UnsupportedError, ValueRangeError

F = tt.nn.functional


def whole(library, *shape):
    total = int(np.prod(shape))
    return library.arange(float(total)).reshape(shape) / 50 - 1


def ends(library, *places):
    return library.tensor(places, dtype=library.int32)


CASES = {
    "rows": lambda t: t.nn.functional.grouped_mm(whole(t, 8, 16), whole(t, 2, 16, 8), offs=ends(t, 3, 8)),
    "columns": lambda t: t.nn.functional.grouped_mm(whole(t, 2, 8, 16), whole(t, 16, 8), offs=ends(t, 3, 8)),
    "inner": lambda t: t.nn.functional.grouped_mm(whole(t, 8, 16), whole(t, 16, 8), offs=ends(t, 4, 16)),
    "inner, not all": lambda t: t.nn.functional.grouped_mm(
        whole(t, 8, 16), whole(t, 16, 8), offs=ends(t, 4, 12)
    ),
    "an empty group": lambda t: t.nn.functional.grouped_mm(
        whole(t, 8, 16), whole(t, 2, 16, 8), offs=ends(t, 0, 8)
    ),
    "batches": lambda t: t.nn.functional.grouped_mm(whole(t, 2, 8, 16), whole(t, 2, 16, 8)),
}


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES)
def test_groups_are_multiplied_as_in_torch(case):
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(CASES[case](tt).numpy(), CASES[case](torch).numpy(), rtol=1e-5, atol=1e-4)


def test_each_group_has_the_gradient_of_its_product():
    x, experts = whole(tt, 5, 3).requires_grad_(), whole(tt, 2, 3, 4).requires_grad_()
    F.grouped_mm(x, experts, offs=ends(tt, 2, 5)).square().sum().backward()
    a, b = whole(tt, 5, 3).requires_grad_(), whole(tt, 2, 3, 4).requires_grad_()
    tt.cat([a[:2] @ b[0], a[2:] @ b[1]]).square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), a.grad.numpy(), rtol=1e-6)
    np.testing.assert_allclose(experts.grad.numpy(), b.grad.numpy(), rtol=1e-6)


def test_rows_and_columns_behind_the_last_group_are_zero():
    assert F.grouped_mm(tt.ones(4, 2), tt.ones(1, 2, 3), offs=ends(tt, 3))[3].tolist() == [0, 0, 0]
    assert F.grouped_mm(tt.ones(1, 4, 2), tt.ones(2, 3), offs=ends(tt, 2))[:, 2].tolist() == [0] * 4


REFUSED = [
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(1, 2, 3)), ShapeError),
    (lambda: F.grouped_mm(tt.ones(1, 4, 2), tt.ones(1, 2, 3), offs=ends(tt, 4)), ShapeError),
    (lambda: F.grouped_mm(tt.ones(4), tt.ones(1, 2, 3), offs=ends(tt, 4)), ShapeError),
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(1, 3, 3), offs=ends(tt, 4)), ShapeError),
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(1, 2, 3), offs=ends(tt, 2, 4)), ShapeError),
    (lambda: F.grouped_mm(tt.ones(2, 4, 2), tt.ones(1, 2, 3)), ShapeError),
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(1, 2, 3), offs=tt.tensor([4])), DtypeError),
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(1, 2, 3).half(), offs=ends(tt, 4)), DtypeError),
    (lambda: F.grouped_mm(tt.ones(1, 4, 2).double(), tt.ones(1, 2, 3).double()), DtypeError),
    (lambda: F.grouped_mm(tt.ones(1, 4, 2), tt.ones(1, 2, 3), out_dtype=tt.float16), DtypeError),
    (lambda: F.grouped_mm(tt.ones(1, 4, 2), tt.ones(1, 2, 3), bias=tt.ones(3)), UnsupportedError),
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(2, 2, 3), offs=ends(tt, 3, 2)), ValueRangeError),
    (lambda: F.grouped_mm(tt.ones(4, 2), tt.ones(1, 2, 3), offs=ends(tt, 5)), ValueRangeError),
]


@pytest.mark.parametrize(("call", "kind"), REFUSED)
def test_what_forms_no_groups_is_refused(call, kind):
    with pytest.raises(kind, match="grouped_mm"):
        call()


def scaled(library, recipe, size=16):
    kind = getattr(library.nn.functional.ScalingType, recipe)
    a = (whole(library, size, size) / 2).to(library.float8_e4m3fn)
    b = (whole(library, size, size) / 3).to(library.float8_e4m3fn).t().contiguous().t()
    steps = library.arange(1.0, size + 1)
    pair = (
        (library.tensor(0.5), library.tensor(2.0))
        if recipe == "TensorWise"
        else (steps.reshape(size, 1), steps.reshape(1, size))
    )
    return library.nn.functional.scaled_mm(
        a, b, pair[0], kind, [pair[1]], [kind], output_dtype=library.float32
    )


@pytest.mark.torch
@pytest.mark.parametrize("recipe", ["TensorWise", "RowWise"])
def test_scaled_matrices_are_multiplied_as_in_torch(recipe):
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(
        scaled(tt, recipe).numpy(), scaled(torch, recipe).numpy(), rtol=1e-5, atol=1e-4
    )


@pytest.mark.torch
@pytest.mark.parametrize("name", ["ScalingType", "SwizzleType"])
def test_the_kinds_of_scales_have_the_names_and_numbers_of_torch(name):
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.functional, name).__members__
    assert {m.name: m.value for m in getattr(F, name)} == {key: int(m) for key, m in theirs.items()}


def test_other_scales_are_refused():
    x, one = tt.eye(16).to(tt.float8_e4m3fn), tt.tensor(1.0)
    whole_, rows, blocks = (F.ScalingType[n] for n in ("TensorWise", "RowWise", "BlockWise1x32"))
    for first, second in ((blocks, blocks), (whole_, rows)):
        with pytest.raises(UnsupportedError, match="recipe"):
            F.scaled_mm(x, x, one, first, one, second)
    with pytest.raises(UnsupportedError, match="swizzle_b"):
        F.scaled_mm(x, x, one, whole_, one, whole_, swizzle_b=F.SwizzleType.SWIZZLE_32_4_4)
    with pytest.raises(UnsupportedError, match="one level"):
        F.scaled_mm(x, x, [one, one], whole_, one, whole_)
    with pytest.raises(UnsupportedError, match="contraction_dim"):
        F.scaled_mm(x, x, one, whole_, one, whole_, contraction_dim=(1, 0))
    with pytest.raises(ShapeError, match="scale_a"):
        F.scaled_mm(x, x, tt.ones(3), whole_, one, whole_)


# --- groups of scaled matrices -------------------------------------------------------------------------------------

ROW = F.ScalingType.RowWise


def scaled_group(shape, groups, dim, flat, random):
    """Return a matrix of float8 in small numbers, and its scales in the given form."""
    x = tt.from_numpy(random.integers(-4, 5, shape).astype(np.float32)).to(tt.float8_e4m3fn)
    size = shape[dim]
    form = (groups, size) if len(shape) == 3 else (size,) if not flat else (groups * size,)
    return x, tt.from_numpy(random.uniform(0.5, 2, form).astype(np.float32))


@pytest.mark.parametrize("shapes", [
    ((6, 8), (2, 8, 5)), ((2, 6, 8), (8, 5)), ((6, 8), (8, 5)), ((2, 6, 8), (2, 8, 5)),
], ids=str)  # fmt: skip
def test_scaled_groups_are_products_of_the_numbers_that_they_stand_for(shapes):
    random, (one, other) = np.random.default_rng(0), shapes
    flat = len(one) == len(other) == 2
    a, rows = scaled_group(one, 2, -2, flat, random)
    b, columns = scaled_group(other, 2, -1, flat, random)
    limit = 8 if flat else 6 if len(one) == 2 else 5
    cuts = [0, 2, limit - 1]
    offs = None if len(one) == len(other) == 3 else ends(tt, *cuts[1:])
    found = F.scaled_grouped_mm(a, b, rows, ROW, [columns], [ROW], offs=offs, output_dtype=tt.float32).numpy()
    x, y, r, c = (t.float().numpy() for t in (a, b, rows, columns))
    parts = []
    for k in range(2):
        span = slice(cuts[k], cuts[k + 1])
        left = x[k] if x.ndim == 3 else x[:, span] if flat else x[span]
        right = y[k] if y.ndim == 3 else y[span] if flat else y[:, span]
        down = r[k] if r.ndim == 2 else r[6 * k : 6 * k + 6] if flat else r[span]
        along = c[k] if c.ndim == 2 else c[5 * k : 5 * k + 5] if flat else c[span]
        parts.append((down[:, None] * left) @ (right * along))
    if flat or offs is None:
        wanted = np.stack(parts)
    else:
        axis = 0 if len(one) == 2 else 1
        wanted = np.concatenate([*parts, np.zeros_like(found).take([-1], axis)], axis)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_scaled_groups_refuse_what_they_cannot_multiply():
    a, b = tt.ones(4, 2).to(tt.float8_e4m3fn), tt.ones(1, 2, 3).to(tt.float8_e4m3fn)
    one, other = tt.ones(4), tt.ones(1, 3)
    call = functools.partial(F.scaled_grouped_mm, offs=ends(tt, 4))
    assert call(a, b, one, ROW, other, ROW).dtype is tt.bfloat16
    for error, match, arguments, options in (
        (
            tt.errors.ShapeError,
            r"scale_a has the shape \[4\], not \[1\]",
            (a, b, one[:1], ROW, other, ROW),
            {},
        ),
        (tt.errors.DtypeError, "scale_b is of float32", (a, b, one, ROW, other.half(), ROW), {}),
        (tt.errors.DtypeError, "mat_a is of float8", (a.float(), b, one, ROW, other, ROW), {}),
        (tt.errors.UnsupportedError, "differ", (a, b, one, ROW, other, F.ScalingType.TensorWise), {}),
        (tt.errors.UnsupportedError, "bias", (a, b, one, ROW, other, ROW), {"bias": tt.ones(3)}),
        (tt.errors.ValueRangeError, "up to 4", (a, b, one, ROW, other, ROW), {"offs": ends(tt, 5)}),
        (tt.errors.DtypeError, "output_dtype", (a, b, one, ROW, other, ROW), {"output_dtype": tt.int32}),
    ):
        with pytest.raises(error, match=match):
            call(*arguments, **options)
