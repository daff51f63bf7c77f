"""The laws behind the words of the schema: every word has one, and a law finds what breaks it."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import KernelTable
from tt.core.schema.model import KINDS, RESULTS, TAGS, VARIANTS
from tt.testing.checks.case import Case
from tt.testing.conformance import CHECKS, check_conformance
from tt.testing.conformance.laws import LAWS, check_laws, laws_of
from tt.testing.samples import Sample

# --- there is one for each word ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "words"), [("kind", KINDS), ("result", RESULTS), ("variants", VARIANTS), ("tags", TAGS)]
)
def test_every_word_of_the_schema_has_a_law(key, words):
    assert list(LAWS[key]) == list(words)


def test_a_law_is_a_function_or_a_check_that_exists():
    for laws in LAWS.values():
        for law in laws.values():
            assert law.statement.endswith(".")
            assert callable(law.check) or law.check in CHECKS


def test_an_operator_is_bound_by_the_words_of_its_entry():
    assert set(laws_of(REGISTRY.operator("randn").definition)) >= {"factory", "dtype", "random", "function"}
    assert "default" not in laws_of(
        REGISTRY.operator("softmin").definition
    )  # a composite of no rule of its own


# --- they find what breaks them ----------------------------------------------------------------------------------


def broken(op, kernel, dtype="float32", **options):
    """Return which laws of an operator are broken while the CPU has another kernel for it."""
    table = KernelTable(device="cpu")
    table.kernel(op, kernel, override=True, priority=100, **options)
    with REGISTRY.add(table, Provider("the test")):
        failures = check_conformance("cpu", ops=[op], dtypes=[dtype], checks=["laws"]).failures
    return {f.message.split("'")[1] for f in failures if f.message.startswith("law ")}


def test_pointwise_each_element_depends_on_its_place_only():
    assert broken("neg", lambda self: -self + self.sum(), takes=("self",)) == {"pointwise"}


def test_pointwise_the_shape_is_the_broadcast_one():
    assert "pointwise" in broken("neg", lambda self: (-self).reshape(-1), takes=("self",))


def test_reduction_slices_do_not_depend_on_each_other():
    def kernel(self, dim, keepdim):
        found = self.max(axis=tuple(dim), keepdims=keepdim)
        return np.asarray(found + self.shape[0] if self.size else found)

    assert broken("amax", kernel) >= {"reduction"}


def test_reduction_the_dimensions_are_gone():
    assert "reduction" in broken(
        "amax", lambda self, dim, keepdim: np.asarray(self.max(axis=tuple(dim), keepdims=True))
    )


def test_view_nothing_is_copied():
    assert "view" in broken("t", lambda self: self.T.copy(), takes=("self",))


def test_factory_the_dtype_is_the_one_that_was_asked_for():
    case = case_of("zeros", (2,), dtype=tt.int64)
    case.result = tt.zeros(2, dtype=tt.float32)
    assert "law 'factory': tt.int64 was requested, and the result has tt.float32" in messages(case)


def test_composite_no_kernel_may_be_registered():
    assert broken("softmin", lambda self, dim, dtype: self, takes=("self", "dim", "dtype")) >= {"composite"}


def test_composite_a_kernel_that_gets_tensors_is_one_too():
    def kernel(self):
        return [x.sqrt() for x in self]

    assert "composite" not in broken("_foreach_sqrt", kernel, tensors=True)


def test_result_the_dtype_follows_from_the_arguments():
    case = case_of("eq", tt.ones(2), tt.ones(2))
    case.result = tt.ones(2)
    assert "law 'bool': the result has the dtype tt.float32 instead of tt.bool" in messages(case)


def test_nondifferentiable_no_result_has_a_gradient():
    case = tagged("neg", "nondifferentiable", tt.ones(2))
    assert messages(case) == ["law 'nondifferentiable': the result requires a gradient"]


def test_no_derivative_backward_raises():
    case = tagged("neg", "no_derivative", tt.ones(2))
    assert messages(case) == ["law 'no_derivative': backward does not raise"]
    case = tagged("detach", "no_derivative", tt.ones(2))
    assert "law 'no_derivative': a result does not require a gradient" in messages(case)


def test_same_dtype_other_dtypes_are_refused():
    case = tagged("add", "same_dtype", tt.ones(2), tt.ones(2))
    assert messages(case) == ["law 'same_dtype': tt.float64 with tt.float32 is not refused"]


def test_no_bool_bools_are_refused():
    assert messages(tagged("add", "no_bool", tt.ones(2), tt.ones(2))) == [
        "law 'no_bool': a tensor of bools is not refused"
    ]


def test_exact_target_other_dtypes_are_refused():
    case = tagged("add", "exact_target", tt.ones(2), tt.ones(2))
    assert messages(case) == [
        "law 'exact_target': out= of tt.float64 for a result of tt.float32 is not refused"
    ]


def test_internal_there_is_no_public_name():
    definition = REGISTRY.operator("neg").definition._replace(tags=("internal",))
    case = tagged("neg", "internal", tt.ones(2))
    assert messages(case) == [] and definition.public_names == ()  # the tag takes the name away
    assert LAWS["tags"]["internal"].check is not None


def test_inplace_only_there_is_no_other_form():
    found = messages(tagged("neg", "inplace_only", tt.ones(2)))
    assert "law 'inplace_only': the functional form has a public name" in found


def test_random_a_given_generator_is_the_only_one_that_moves():
    def kernel(size, generator, dtype):
        from tt.core.tensor.generator import reserve

        reserve(None, 4)
        return np.zeros(size, np.float32)

    assert broken("rand", kernel) == {"random"}


@pytest.mark.filterwarnings("ignore:meshgrid:UserWarning")  # the law gives no indexing
def test_variadic_the_tensors_may_be_given_one_by_one():
    case = case_of("meshgrid", [tt.ones(2), tt.ones(3)])
    case.result = case.run()
    assert messages(case) == []
    case = case_of("meshgrid", [tt.ones(2), tt.ones(3)])
    case.result = [t + 1 for t in case.run()]
    assert any(
        m.startswith("law 'variadic': given one by one, the tensors give something else")
        for m in messages(case)
    )


def case_of(op, *args, **kwargs):
    """Return a call that no family of inputs makes."""
    return Case(REGISTRY.operator(op), "cpu", tt.float32, Sample(args, kwargs), None)


def tagged(op, tag, *args):
    """Return a call of an operator as if its entry had a tag that it does not keep."""
    from tt.core.dispatch.resolve.operators import make_operator

    operator = REGISTRY.operator(op)
    other = make_operator(operator.definition._replace(tags=(tag,), variants=("function", "out")), REGISTRY)
    other.overload = operator.overload
    case = Case(other, "cpu", tt.float32, Sample(args), None)
    case.result = operator.overload()(*args)
    return case


def messages(case):
    """Return the faults that the laws find."""
    return list(check_laws(case))
