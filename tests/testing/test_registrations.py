"""Each check of `tt ops check` finds its faults, and nothing in sound registrations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import printed_by
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.errors import UnknownNameError, UnknownOpError
from tt.core.host import host
from tt.core.host.host import PluginState
from tt.core.library import CompositeTable, KernelTable
from tt.core.schema import snapshot
from tt.core.schema.load import loads
from tt.core.schema.model import OpDefinition
from tt.testing import registrations
from tt.testing.coverage import (
    Place,
    brought_by,
    coverage,
    definitions_of,
    dtypes_in_words,
    kernel_dtypes,
    parse_place,
)
from tt.testing.registrations import Problem, check_backend, check_files

Define = Callable[..., OpDefinition]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def plugin() -> Iterator[Any]:
    """The argument of a plugin's tt_register; additions are taken out after the test."""
    host.load()
    registry = REGISTRY.for_plugin(Provider("tt-acme", "1.2", "acme"))
    yield registry
    registry.remove()


@pytest.fixture
def define(plugin: Any) -> Define:
    """Return a function that registers an operator acme::op with some fields changed."""

    def add(func: str = "acme::op(Tensor self) -> Tensor", **fields: object) -> OpDefinition:
        entry = {"kind": "pointwise", "meta": "like", "promote": ["self"], "doc": "Something."} | fields
        lines = [f"  {key}: {value}" for key, value in entry.items() if value is not None]
        definitions = loads("\n".join(["schema_version: 1", "ops:", f"- func: {func}", *lines]))
        plugin.add_definitions(definitions)
        return next(iter(definitions.values()))

    return add


def messages(problems: Any) -> list[str]:
    return [f"{problem.subject}: {problem.message}" for problem in problems]


# --- the schema as a whole -------------------------------------------------------------------------------------


def test_the_schema_of_tt_has_no_mistakes() -> None:
    assert registrations.check_own_schema() == []


def test_mistakes_in_the_schema_of_tt_hide_all_other_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "ops.yaml"
    broken.write_text("schema_version: 2\nops: []\n", encoding="utf-8")
    monkeypatch.setattr(snapshot, "source_path", lambda: str(broken))
    (problem,) = registrations.check_all()
    assert (problem.check, problem.line) == ("schema", 1)


def test_a_core_set_that_is_too_large_is_found(define: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = [define(core="true")]
    assert list(registrations.check_core_size(definitions)) == []
    monkeypatch.setattr(registrations, "MAX_CORE", 0)
    assert messages(registrations.check_core_size(definitions)) == [
        "core: 1 operators are core; a new backend may need at most 0"
    ]


def test_a_third_party_owes_a_description_and_nothing_more(define: Define) -> None:
    assert list(registrations.check_description(define())) == []


def test_a_missing_description_is_found(define: Define) -> None:
    (problem,) = registrations.check_description(define(doc=None))
    assert problem == Problem(
        "description", "acme::op", "has no description", hint="write `doc:` in its entry"
    )


def test_an_operator_of_tt_also_needs_an_example_and_samples(define: Define) -> None:
    definition = define("check_me(Tensor self) -> Tensor")
    assert messages(registrations.check_description(definition)) == [
        "check_me: has no example",
        "check_me: has no samples for the checks",
    ]


def test_an_unknown_shape_rule_is_found(define: Define) -> None:
    assert list(registrations.check_shape_rule(define())) == []
    (problem,) = registrations.check_shape_rule(define("acme::other(Tensor self) -> Tensor", meta="likee"))
    assert problem.message.startswith("unknown shape rule 'likee'; did you mean 'like'")


def test_an_unknown_shape_rule_of_an_operator_of_tt_is_said_once() -> None:
    definition = REGISTRY.definition("softmax")._replace(meta="softmaxes")
    assert list(registrations.check_families([definition])) == []
    (problem,) = registrations.check_shape_rule(definition)
    assert "did you mean 'softmax'" in problem.message and "known: " not in problem.message


def test_a_shape_rule_in_a_module_that_is_not_there_is_found(define: Define) -> None:
    (problem,) = registrations.check_shape_rule(define(meta="tt_no_such_module:rule"))
    assert "tt_no_such_module" in problem.message


def test_a_shape_rule_whose_arguments_the_operator_lacks_is_found(define: Define) -> None:
    (problem,) = registrations.check_shape_rule(define(meta="transpose"))
    assert problem.message == "its rule 'transpose' needs dim0, dim1"


def test_an_operator_with_neither_shape_rule_nor_composite_is_found(define: Define, plugin: Any) -> None:
    definition = define(meta=None)
    assert messages(registrations.check_shape_rule(definition)) == [
        "acme::op: has neither a shape rule nor a composite"
    ]
    table = CompositeTable()
    table.composite("acme::op", lambda self: self)
    plugin.add(table)
    assert list(registrations.check_shape_rule(definition)) == []


# --- registrations ---------------------------------------------------------------------------------------------


def test_kernels_and_composites_of_unknown_operators_are_found(plugin: Any) -> None:
    kernels = KernelTable(device="cpu")
    kernels.kernel("addd", lambda self: self)
    composites = CompositeTable()
    composites.composite("mull", lambda self: self)
    plugin.add(kernels)
    plugin.add(composites)
    found = [p for p in registrations.check_unknown_operators() if p.subject in ("addd", "mull")]
    assert [p.check for p in found] == ["registrations", "registrations"]
    assert found[0].message.startswith("kernel by tt-acme 1.2")
    assert "unknown operator 'addd'; did you mean 'add'" in found[0].message
    assert found[1].message.startswith("composite by tt-acme 1.2")
    assert "did you mean 'mul'" in found[1].message


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (lambda self, factor: self, {}, "has parameters that the schema lacks: factor"),
        (lambda: None, {}, "does not take self, which has no default"),
        (max, {}, "cannot be read"),
    ],
)
def test_kernels_that_do_not_fit_the_schema_are_found(
    define: Define, plugin: Any, kernel: Any, options: dict[str, Any], message: str
) -> None:
    definition = define()
    table = KernelTable(device="cpu")
    table.kernel("acme::op", kernel, **options)
    plugin.add(table)
    (problem,) = registrations.check_kernel_signatures(definition)
    assert problem.check == "kernel signature"
    assert message in problem.message


def test_kernels_that_fit_are_not(define: Define, plugin: Any) -> None:
    definition = define()
    table = KernelTable(device="cpu")
    table.kernel("acme::op", lambda self: self)
    plugin.add(table)
    assert list(registrations.check_kernel_signatures(definition)) == []


@pytest.mark.parametrize(
    ("composite", "fits"),
    [
        (lambda self: self, True),
        (lambda *args: args[0], True),
        (lambda other: other, True),
        (lambda: None, False),
        (lambda self, other: self, False),
        (lambda *, self: self, False),
    ],
)
def test_composites_take_as_many_arguments_as_the_schema_has(
    define: Define, plugin: Any, composite: Any, fits: bool
) -> None:
    definition = define()
    table = CompositeTable()
    table.composite("acme::op", composite)
    plugin.add(table)
    assert (list(registrations.check_composite_signature(definition)) == []) is fits


def test_a_promised_gradient_without_formula_is_found(define: Define) -> None:
    host.activate("layer", "autograd")
    definition = define(grad=["self"])
    found = [p for p in registrations.check_layers([definition]) if p.subject == "acme::op"]
    assert [(p.check, p.message) for p in found] == [
        ("layer autograd", "promises a gradient of 'self' and has neither a formula for it nor a composite")
    ]


def test_a_plugin_that_failed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = PluginState("broken", "tt-broken", "0.1", "failed", "ValueError: no good\nat all")
    monkeypatch.setattr(host, "plugins", lambda: (failed, PluginState("fine", "tt-fine", "1", "loaded")))
    assert messages(registrations.check_plugins()) == ["broken: ValueError: no good"]


# --- files -----------------------------------------------------------------------------------------------------


def test_files_are_checked_on_their_own_with_all_mistakes(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(
        "schema_version: 1\nops:\n- func: acme::op(Tensor self) -> Tensor\n  kind: other\n", encoding="utf-8"
    )
    bad.write_text(
        "schema_version: 2\nops:\n- func: acme::op(Tensr self) -> Tensor\n  kind: other\n", encoding="utf-8"
    )
    found = check_files([str(good), str(bad)])
    assert [(Path(p.file).name, p.line) for p in found] == [("bad.yaml", 1), ("bad.yaml", 3)]
    assert str(found[0]).startswith(f"{bad}:1:17: ")
    assert "acme::op" not in REGISTRY.names(), "checking registers nothing"


# --- backends --------------------------------------------------------------------------------------------------


def test_what_the_cpu_lacks_is_found(define: Define, plugin: Any) -> None:
    host.activate("device", "cpu")
    define("check_me(Tensor self) -> Tensor", dtypes="all", core="true")

    def found() -> list[str]:
        return [p.message for p in check_backend(Place("cpu")) if p.subject == "check_me"]

    assert found() == ["has no kernel and no composite"]
    kernels = KernelTable(device="cpu")
    kernels.kernel("check_me", lambda self: self, dtypes="floating")
    plugin.add(kernels)
    assert found() == ["promises dtypes that no kernel serves: bool, integers, complex"]
    more = KernelTable(device="cpu")
    more.kernel("check_me", lambda self: self, dtypes=("bool", "complex64", "complex128"))
    plugin.add(more)
    assert found() == ["promises dtypes that no kernel serves: integers"]


def test_an_operator_of_a_plugin_need_not_be_served_by_every_backend(define: Define, plugin: Any) -> None:
    host.activate("device", "cpu")
    definition = define()
    assert [p for p in check_backend(Place("cpu")) if p.subject == "acme::op"] == []
    assert messages(registrations.check_served(definition)) == [
        "acme::op: has no kernel on any backend and no composite"
    ]
    table = KernelTable(device="toy")
    table.kernel("acme::op", lambda self: self)
    plugin.add(table)
    assert list(registrations.check_served(definition)) == []


def test_a_core_operator_needs_a_kernel_even_with_a_composite(define: Define, plugin: Any) -> None:
    host.activate("device", "cpu")
    define(core="true")
    composites = CompositeTable()
    composites.composite("acme::op", lambda self: self)
    plugin.add(composites)
    found = [p.message for p in check_backend(Place("cpu")) if p.subject == "acme::op"]
    assert found == ["is core and has no kernel"]


# --- coverage --------------------------------------------------------------------------------------------------


def test_names_of_users_lead_to_operators() -> None:
    assert [d.name for d in definitions_of("max")] == ["max", "max.dim", "max.other"]
    assert [d.name for d in definitions_of("max.dim")] == ["max.dim"]
    assert [d.name for d in definitions_of("add_")] == ["add"]
    with pytest.raises(UnknownOpError, match="did you mean 'add'"):
        definitions_of("addd")


def test_places_are_written_with_their_layout_unless_it_is_strided() -> None:
    assert parse_place("cpu") == parse_place("cpu/strided") == Place("cpu")
    assert str(parse_place("cpu/sparse_coo")) == "cpu/sparse_coo"
    with pytest.raises(UnknownNameError, match="did you mean 'cpu'"):
        parse_place("cpuu")


def test_half_precision_counts_where_the_dispatcher_computes_in_float32(define: Define, plugin: Any) -> None:
    definition = define()
    table = KernelTable(device="cpu")
    table.kernel("acme::op", lambda self: self, dtypes=("float32",))
    table.kernel("acme::op", lambda self: self, dtypes=("float64", "float16"), half="native")
    plugin.add(table)
    native, upcast = REGISTRY.kernels["acme::op"]
    assert kernel_dtypes(native, definition) == {"float64", "float16"}
    assert kernel_dtypes(upcast, definition) == {"float32", "float16", "bfloat16"}
    found = coverage(definition, Place("cpu"))
    assert (found.how, found.dtypes) == ("kernel", ("float16", "bfloat16", "float32", "float64"))
    assert brought_by("acme", definition) == ["definition", "kernel cpu"]
    assert brought_by("cpu", definition) == []


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["float32"], "float32"),
        (["complex64", "complex128", "bool"], "bool, complex"),
        (["float16", "bfloat16", "float32", "float64"], "floating"),
    ],
)
def test_sets_of_dtypes_are_named_in_few_words(names: list[str], words: str) -> None:
    assert dtypes_in_words(names) == words


def test_all_dtypes_are_named_all() -> None:
    from tt.core.types.dtype import DTYPES

    assert dtypes_in_words(d.name for d in DTYPES) == "all"


def test_an_operator_of_a_plugin_for_another_layout_is_not_missing(define: Define, plugin: Any) -> None:
    definition = define()
    assert coverage(definition, Place("cpu")).missing
    table = KernelTable(device="cpu", layout="sparse_coo")
    table.kernel("acme::op", lambda self: self)
    plugin.add(table)
    assert coverage(definition, Place("cpu")).how == "other layout"
    assert coverage(definition, Place("cpu", "sparse_coo")).how == "kernel"


# --- families ---


def test_every_implementation_lies_in_a_module_of_its_family():
    assert list(registrations.check_families(REGISTRY.definitions())) == []


def test_an_operator_under_another_family_is_found_in_every_layer():
    moved = REGISTRY.definition("softmax")._replace(family="fft")
    found = list(registrations.check_families([moved]))
    assert {p.check for p in found} == {"family"} and {p.subject for p in found} == {"softmax"}
    assert {p.message.partition(" lies in ")[0] for p in found} >= {
        "its composite", "its formula", "its batching rule", "its CPU kernel", "its kernel over the array API",
        "its CUDA kernel", "its shape rule", "its sample family", "its text",
    }  # fmt: skip
    assert all(p.message.endswith("whose path has not its family, fft") for p in found)


def test_a_family_without_a_folder_is_found():
    found = list(registrations.check_families([REGISTRY.definition("softmax")._replace(family="softmaxes")]))
    assert found[0].message == "ops.yaml has it under 'softmaxes', which is no folder of operators/"
    assert "activation, attention" in found[0].hint


def test_rules_and_samples_that_families_share_lie_where_they_are():
    shared = [REGISTRY.definition(name) for name in ("neg", "relu")]
    assert {d.samples for d in shared} == {"unary_pointwise"} and len({d.family for d in shared}) == 2
    assert list(registrations.check_families(shared)) == []
    assert [p.subject for p in registrations.check_families(shared[1:])] == ["same", "unary_pointwise"]


def test_an_operator_without_a_text_in_its_family_is_found():
    definition = REGISTRY.definition("softmax")
    renamed = definition._replace(signature=definition.signature._replace(name="soften"))
    (problem,) = registrations.check_families([renamed])
    assert str(problem).startswith(
        "soften: has no text in operators/activation/texts.yaml\n    write its formula"
    )
    # Pages are written for users: of what is called by other operators only there is none.
    internal = renamed._replace(tags=("internal",))
    private = definition._replace(signature=definition.signature._replace(name="_soften"))
    assert list(registrations.check_families([internal, private])) == []


def test_an_operator_without_samples_in_a_family_is_found():
    (problem,) = registrations.check_families([REGISTRY.definition("softmax")._replace(samples="softmaxes")])
    assert str(problem) == (
        "softmax: unknown sample family 'softmaxes'; did you mean 'softmax'?\n"
        "    write it in operators/activation/samples.py"
    )


def test_families_are_checked_without_cupy_though_it_may_be_installed():
    program = """
import sys
sys.modules["cupy"] = None
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.host import host
from tt.testing import registrations
host.load()
print(*registrations.check_families(list(REGISTRY.definitions())), len(registrations.object_named(
    registrations.INDICES["CUDA kernel"]).homes()) > 300)
"""
    assert printed_by(program, os.environ) == "True\n"


def test_every_index_of_families_is_checked():
    rooms = ("core", "operators", "testing", "backends", "plugins")
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    made = {
        f"tt.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}:{name}"
        for path in files
        for name in re.findall(r"^(\w+): Final = FamilyIndex\(", path.read_text(encoding="utf-8"), re.M)
    }
    text = (ROOT / "testing" / "registrations.py").read_text(encoding="utf-8")
    assert {reference for reference in made if reference not in text} == set()
