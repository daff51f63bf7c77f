"""What opcheck does not report: what follows from another fault, and choices among equal values."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.testing.opcheck.faulty import FAULTY
from tests.testing.opcheck.made import Made, X
from tt.library import opcheck


def test_an_undeclared_mutation_is_all_that_is_reported():
    with FAULTY["an_input_that_is_changed"][1]() as op:
        report = opcheck(op, (X,), raise_exception=False)
        alone = opcheck(op, (X,), raise_exception=False, test_utils="test_gradients")
    assert [(f.test, f.fault) for f in report.failures] == [("test_schema", "mutated_input")]
    assert "the call changes argument 'x' undeclared" in report.notes["test_gradients"][0]
    assert [(f.test, f.fault) for f in alone.failures] == [("test_gradients", "mutated_input")]


def test_a_composite_that_changes_its_argument_has_no_fault_of_gradients():
    def composite(x):
        x.mul_(2)
        return x + 0

    with Made(kernel=None, fake=None, backward=None, composite=composite) as op:
        report = opcheck(op, (X,), raise_exception=False)
    assert {f.fault for f in report.failures} == {"mutated_input"}


TIES = tt.tensor([[1.0, 3.0, 3.0], [3.0, 2.0, 1.0]])


def in_memory_order(x):
    """Return the elements in the order of memory, and the flat indices of them."""
    order = np.argsort([-s for s in x.strides], kind="stable")
    indices = np.arange(x.size).reshape(x.shape).transpose(order).ravel()
    return x.transpose(order).ravel(), indices


def largest(x):
    elements, indices = in_memory_order(x)
    return np.asarray(indices[np.argmax(elements)])


def mode(x):
    elements, indices = in_memory_order(x)
    known = elements.tolist()
    place = max(range(len(known)), key=lambda i: (known.count(known[i]), -i))
    return np.asarray(known[place], dtype=x.dtype), np.asarray(indices[place])


def mode_values(x):
    return mode(x)[0]


CHOOSE = {
    "argmax": ("(Tensor x) -> Tensor", largest, "int64", lambda x: tt.empty((), dtype=tt.int64, device=x.device)),
    "mode": ("(Tensor x) -> Tensor", mode_values, "same", lambda x: x.new_empty(())),
    "mode with indices": (
        "(Tensor x) -> (Tensor, Tensor)", mode, ["same", "int64"],
        lambda x: (x.new_empty(()), tt.empty((), dtype=tt.int64, device=x.device)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", CHOOSE)
@pytest.mark.parametrize("x", [TIES, X, TIES.to(tt.int32)], ids=["ties", "no ties", "integers"])
def test_which_of_equal_values_an_operator_chooses_is_no_fault(which, x):
    schema, kernel, result, fake = CHOOSE[which]
    with Made(schema, kernel, fake=fake, backward=None, result=result, tags=("nondifferentiable",),
              dtypes=("float16", "float32", "float64", "int32")) as op:  # fmt: skip
        report = opcheck(op, (x,), raise_exception=False)
    assert report.ok, str(report)


@pytest.mark.parametrize("x", [TIES, tt.ones(3, 4), TIES.to(tt.int32)], ids=["ties", "ones", "integers"])
@pytest.mark.parametrize("kind", ["pointwise", "moved", "count", "argmin"])
def test_ties_hide_no_fault_of_layouts(x, kind):
    def kernel(x):
        right = x.flags.c_contiguous
        if kind == "pointwise":
            return x if right else x + x.dtype.type(1)
        if kind == "moved":  # the values of the argument, in other places
            return x.copy() if right else np.roll(x, 1).copy()
        if kind == "argmin":
            return np.asarray(np.argmax(x) if right else np.argmin(x))
        return np.asarray(x.size if right else x.size - 1)

    of_numbers = kind in ("count", "argmin")
    fake = (lambda x: tt.empty((), dtype=tt.int64, device=x.device)) if of_numbers else tt.empty_like
    with Made(kernel=kernel, fake=fake, backward=None, tags=("nondifferentiable",),
              result="int64" if of_numbers else "same", dtypes=("float32", "float64", "int32")) as op:  # fmt: skip
        report = opcheck(op, (x,), raise_exception=False, test_utils="test_layouts")
    unseen = kind in ("moved", "argmin") and bool((x == x.reshape(-1)[0]).all())
    assert [f.fault for f in report.failures] == ([] if unseen else ["layout_wrong"]), str(report)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sort", (TIES,)), ("topk", (TIES, 2)), ("amax", (TIES,)), ("max", (TIES, 1)),
        ("maximum", (TIES, TIES.clone())), ("kthvalue", (TIES, 2)),
    ],
)  # fmt: skip
def test_a_kink_at_equal_values_is_no_wrong_gradient(name, args):
    report = opcheck(name, args)
    assert any("at equal values" in note for note in report.notes["test_gradients"])


def test_a_gradient_that_is_wrong_everywhere_is_found_at_ties_too():
    with Made(backward=lambda ctx, g: 3 * g) as op:
        assert [f.fault for f in opcheck(op, (TIES,), raise_exception=False).failures] == ["gradient_wrong"]
