"""Kernels and composites of several plugins for one call: which serve, and what happens where nothing says which."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.dispatch.registry.preference import SETTING, PreferenceRule
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import PluginConflictError
from tt.core.types.state import STATE
from tt.library import CompositeTable, KernelTable, OpDefinition, Signature


@pytest.fixture
def preferring():
    """Return a function that puts rules into force; they are taken back afterwards."""
    before = STATE.get(SETTING)
    yield lambda *rules: STATE.change(SETTING, rules or None)
    STATE.change(SETTING, before)


def kernels(value, op="exp", **options):
    table = KernelTable(device="cpu")
    table.kernel(op, lambda self: np.full_like(self, value), takes=("self",), dtypes="floating", **options)
    return table


X = tt.zeros(1)


def test_a_kernel_for_others_takes_part_only_while_its_plugin_is_preferred(plugin, preferring):
    plugin("fast").add(kernels(7, priority=100, override=True))
    assert X.exp().item() == 1
    preferring(PreferenceRule(("fast",)))
    assert X.exp().item() == 7
    preferring(PreferenceRule(("fast",), "cuda"), PreferenceRule(("fast",), ops="sin"))
    assert X.exp().item() == 1
    preferring(PreferenceRule(("tt-fast",), "cpu", "e*"))
    assert X.exp().item() == 7
    preferring()
    assert X.exp().item() == 1


def test_the_order_of_the_list_decides_before_any_priority_whatever_was_registered_first(plugin, preferring):
    for names in (("one", "two"), ("two", "one")):
        registries = [plugin(name) for name in names]
        for name, registry in zip(names, registries, strict=True):
            registry.add(kernels({"one": 1000, "two": 2000}[name], priority={"one": 0, "two": 50}[name]))
        preferring(PreferenceRule(("one", "two")))
        assert X.exp().item() == 1000
        preferring(PreferenceRule(("two", "one")))
        assert X.exp().item() == 2000
        preferring(PreferenceRule(("one",), ops="exp"), PreferenceRule(("two",)))
        assert X.exp().item() == 1000
        preferring(PreferenceRule(("*", "two", "one")))
        assert X.exp().item() == 1
        preferring(
            PreferenceRule(("*", "one")), PreferenceRule(("two",))
        )  # the second rule orders those that the first leaves together
        assert X.exp().item() == 2000
        for registry in registries:
            registry.remove()


def test_the_dtypes_and_arguments_that_the_preferred_one_does_not_serve_are_served_by_the_next(
    plugin, preferring
):
    table = KernelTable(device="cpu")
    table.kernel("add", lambda self, other: self * 0 + 9, takes=("self", "other"), dtypes=("float32",))
    plugin("fast").add(table)
    preferring(PreferenceRule(("fast",)))
    assert (X + X).item() == 9
    assert (X.double() + 1).item() == 1
    assert tt.add(X, 1, alpha=3).item() == 3
    y = X.clone()
    assert y.add_(1).item() == 9 and y.item() == 9
    assert tt.add(X, X, out=tt.empty(1)).item() == 9


def test_what_the_program_registers_counts_as_preferred_first(plugin, preferring):
    plugin("fast").add(kernels(7))
    preferring(PreferenceRule(("fast",)))
    with REGISTRY.add(kernels(8, override=True)):
        assert X.exp().item() == 8
    assert X.exp().item() == 7


def test_a_composite_for_others_takes_part_only_while_its_plugin_is_preferred(plugin, preferring):
    table = CompositeTable()
    table.composite("relu6", lambda self, inplace: self + 5)
    plugin("fast").add(table)
    relu6 = tt.nn.functional.relu6
    assert relu6(X).item() == 0
    preferring(PreferenceRule(("fast",)))
    assert relu6(X).item() == 5
    preferring(PreferenceRule(("fast",), "cpu"))  # a composite is on no device
    assert relu6(X).item() == 0


# --- conflicts -----------------------------------------------------------------------------------------------------


@pytest.fixture
def operator(plugin):
    """An operator of a plugin's namespace."""
    owner = plugin("owner", ("namespace", "choice"))
    owner.add_definitions(
        OpDefinition(Signature.parse("choice::f(Tensor self) -> Tensor"), "other", meta="like")
    )
    return owner


def test_two_that_serve_rightly_with_one_priority_are_an_error_at_the_call_in_either_order(
    operator, plugin, preferring
):
    other = plugin("other", ("device", "cpu"))
    for first, second in ((operator, other), (other, operator)):
        handles = [first.add(kernels(1, "choice::f")), second.add(kernels(2, "choice::f"))]
        for _ in range(2):
            with pytest.raises(PluginConflictError) as caught:
                tt.ops.choice.f(X)
        assert caught.value.plugins == ("other", "owner")
        text = str(caught.value)
        assert text.startswith(
            "the kernel of choice::f for cpu {bfloat16, float16, float32, float64} is brought by 2 plugins"
        )
        assert "tt-owner 1.0 (owner)" in text and "tt-other 1.0 (other)" in text and "TT_PREFER=other" in text
        preferring(PreferenceRule(("other",)))
        assert tt.ops.choice.f(X).item() in (1, 2)
        preferring()
        for handle in handles:
            handle.remove()


def test_a_priority_or_an_override_decides_whatever_the_order(operator, plugin):
    other = plugin("other", ("device", "cpu"))
    for option in ({"priority": 1}, {"override": True}):
        for first, second in ((operator, other), (other, operator)):
            with second.add(kernels(2, "choice::f", **option)), first.add(kernels(1, "choice::f")):
                assert tt.ops.choice.f(X).item() == 2


def test_the_program_and_a_plugin_are_not_put_in_an_order_either(operator):
    operator.add(kernels(1, "choice::f"))
    with REGISTRY.add(kernels(2, "choice::f")), pytest.raises(PluginConflictError, match="this program"):
        tt.ops.choice.f(X)
    with REGISTRY.add(kernels(2, "choice::f", override=True)):
        assert tt.ops.choice.f(X).item() == 2


def test_kernels_for_a_name_that_went_to_another_take_no_part_even_if_preferred(plugin, preferring):
    plugin("loser", lost=[("device", "cpu")]).add(kernels(7))
    preferring(PreferenceRule(("loser",)))
    assert X.exp().item() == 1
    steps = tt.explain("exp", ["cpu:float32"]).steps()
    assert [s["reason"] for s in steps if "loser" in s["source"]] == ["device cpu is another's"]


@pytest.mark.parametrize("first", ["direct", "wide"])
def test_a_kernel_that_takes_a_half_dtype_serves_before_one_that_needs_float32_whatever_was_registered_first(
    plugin, preferring, first
):
    table = KernelTable(device="cpu")
    value = {"direct": 1000, "wide": 2000}
    for name in (first, *(each for each in value if each != first)):
        table.kernel(
            "exp",
            lambda self, name=name: np.full_like(self, value[name]),
            takes=("self",),
            dtypes=("bfloat16",) if name == "direct" else ("float32",),
            half="same" if name == "direct" else "float32",
        )
    plugin("fast").add(table)
    preferring(PreferenceRule(("fast",)))
    assert X.bfloat16().exp().item() == 1000
    assert X.exp().item() == 2000


def test_a_kernel_that_takes_the_place_of_others_serves_half_dtypes_through_float32_too(plugin, preferring):
    plugin("direct").add(kernels(1000, half="native"))
    table = KernelTable(device="cpu")
    table.kernel(
        "exp", lambda self: np.full_like(self, 2000), takes=("self",), dtypes=("float32",), override=True
    )
    plugin("wide").add(table)
    preferring(PreferenceRule(("direct", "wide"), "cuda"))
    assert X.bfloat16().exp().item() == 1
    preferring(PreferenceRule(("*",)), PreferenceRule(("wide",)))
    assert X.bfloat16().exp().item() == 2000
