"""Every parameter of a public operator has a meaning, and the texts name what there is."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

import tt
from tt.core.schema.grammar import parse
from tt.core.schema.model import OpDefinition
from tt.core.schema.operator_texts import (
    FIELDS,
    FOLDER,
    common_meanings,
    dtypes,
    entries,
    groups,
    meaning,
    operator_text,
    result_shape,
    shapes,
)
from tt.core.schema.snapshot import definitions

PUBLIC = [
    d for d in definitions().values() if "internal" not in d.tags and not d.signature.name.startswith("_")
]
NAMES = {name for d in definitions().values() for name in (d.name, d.signature.name)}


def arguments_of(name):
    return {
        a.name
        for d in definitions().values()
        if name in (d.name, d.signature.name)
        for a in d.signature.arguments
    }


def test_every_parameter_of_a_public_operator_has_a_meaning():
    without = [
        f"{d.name}: {a.name} ({a.type})" for d in PUBLIC for a in d.signature.arguments if not meaning(d, a)
    ]
    assert not without, "write what these mean in operators/<family>/texts.yaml:\n" + "\n".join(without)


def test_meanings_are_sentences():
    wrong = {
        text
        for d in PUBLIC
        for a in d.signature.arguments
        if not (text := meaning(d, a)).endswith(".") or text[:1].islower()
    }
    assert not wrong


def test_the_texts_name_operators_parameters_and_errors_that_exist():
    for file, name, fields in entries():
        assert name in NAMES, f"{file}: unknown operator {name}"
        assert set(fields) <= set(FIELDS), f"{file}: {name}: unknown keys {set(fields) - set(FIELDS)}"
        assert set(fields.get("parameters", ())) <= arguments_of(name), f"{file}: {name}: unknown parameters"
        for error in fields.get("errors", ()):
            assert hasattr(tt.errors, error) or error == "IndexError", f"{file}: {name}: no error {error}"


def test_what_is_related_exists():
    related_of = [(file, name, fields.get("see", ())) for file, name, fields in entries()]
    related_of += [("related.yaml", group[0], group) for group in groups()]
    for file, name, relatives in related_of:
        for related in relatives:
            if not related.startswith("tt."):
                assert related in NAMES, f"{file}: {name}: unknown operator {related}"
                continue
            found = tt
            for word in related.split(".")[1:]:
                assert hasattr(found, word), f"{file}: {name}: there is no {related}"
                found = getattr(found, word)


def test_every_public_operator_has_relatives():
    assert not [d.name for d in PUBLIC if not operator_text(d).see]


def test_the_members_of_a_group_name_each_other():
    floor = operator_text(definitions()["floor"]).see
    assert {"ceil", "trunc", "round"} <= set(floor) and "floor" not in floor


def test_every_result_has_a_shape_in_words():
    tensors = [d for d in PUBLIC if d.signature.returns and d.signature.returns[0].type.base == "Tensor"]
    without = [d.name for d in tensors if not result_shape(d)]
    assert len(tensors) > 700 and not without, (
        f"write their shapes in core/schema/texts/shapes.yaml: {without}"
    )


def test_shapes_are_of_shape_rules_and_operators_that_exist():
    rules = {d.meta for d in definitions().values() if isinstance(d.meta, str)}
    assert not set(shapes()) - rules - NAMES
    assert not [text for text in shapes().values() if text.endswith(".") or text[:1].isupper()]


def test_dtypes_are_of_composites_that_exist():
    promised = {
        name
        for d in definitions().values()
        if d.kind == "composite" and not d.promote
        for name in (d.name, d.signature.name)
    }
    assert not set(dtypes()) - promised
    assert not [text for text in dtypes().values() if text.endswith(".") or text[:1].isupper()]


def test_an_overload_has_the_shape_of_its_own_entry_first():
    assert result_shape(definitions()["var.unbiased"]) == "no dimensions"
    assert "`dim`" in result_shape(definitions()["var.unbiased_dim"])


def test_every_common_meaning_is_used():
    used = {a.name for d in PUBLIC for a in d.signature.arguments} | {"out", "requires_grad", "pin_memory"}
    assert not set(common_meanings()) - used


FILES = sorted([*FOLDER.rglob("*.yaml"), *FOLDER.parents[2].joinpath("operators").rglob("*.yaml")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_key_is_written_twice(file):
    def keys(node):
        if isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value]
            assert len(names) == len(set(names)), f"{file.name}:{node.start_mark.line + 1}: {names}"
            for _, value in node.value:
                keys(value)

    keys(yaml.compose(file.read_text(encoding="utf-8")))


def test_an_overload_has_the_entry_of_its_operator_and_its_own():
    softmax, implicit = definitions()["softmax"], definitions()["softmax.implicit"]
    assert operator_text(implicit).formula == operator_text(softmax).formula != ""
    assert "None warns" in meaning(implicit, implicit.signature.argument("dim"))
    assert "None" not in meaning(softmax, softmax.signature.argument("dim"))


def test_a_common_meaning_may_depend_on_the_type():
    total = definitions()["sum.dim"]
    assert "None reduces all" in meaning(total, total.signature.argument("dim"))
    select = definitions()["select"]
    assert "None" not in meaning(select, select.signature.argument("dim"))


def test_of_operators_of_plugins_only_what_is_the_same_everywhere_is_said():
    other = OpDefinition(parse("acme::f(Tensor x, int n, *, dtype? dtype=None) -> Tensor"), "other")
    assert [bool(meaning(other, a)) for a in other.signature.arguments] == [False, False, True]
    assert operator_text(other).formula == "" and result_shape(other) == ""


def test_help_says_what_parameters_mean():
    text = tt.exp2.__doc__
    assert "Parameters\n----------\nself : Tensor\n    The input tensor." in text
    assert "dim : int\n    Along which dimension the results add to 1." in tt.softmax.__doc__
    assert "rtol : float, default 1e-05\n    The relative tolerance." in tt.isclose.__doc__


def test_help_lists_no_parameters_where_one_is_not_known():
    text = tt.ops._foreach_add.__doc__
    assert "Parameters" not in text and ">>>" in text


def test_import_reads_no_texts():
    program = "import sys, tt; tt.ones(2) + 1; sys.exit('tt.core.schema.operator_texts' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
