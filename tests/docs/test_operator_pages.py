"""The pages of operators are complete, and their links lead somewhere."""

from __future__ import annotations

import copy
import doctest
import re

import pytest

from tests.docs.conftest import Page
from tests.docs.test_links import LINK
from tt.cli.pages.pages import pages, write
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.schema.operator_texts import entries, operator_text
from tt.core.schema.snapshot import definitions


@pytest.fixture(scope="module")
def wanted():
    return pages()


def test_the_indexes_lead_to_every_page_and_no_link_elsewhere(wanted, tmp_path):
    write(tmp_path, wanted)
    linked = [target for name in ("README.md", "internal.md") for target in LINK.findall(wanted[name])]
    assert sorted(linked) == sorted(path.name for path in tmp_path.iterdir() if path.name != "README.md")
    for name, text in wanted.items():
        for target in LINK.findall(Page(tmp_path / name, text).prose):
            assert (tmp_path / target).is_file(), f"{name}: {target}"


def test_the_index_of_users_has_no_operator_that_only_others_call(wanted):
    linked = LINK.findall(wanted["README.md"])
    assert "softmax.md" in linked and not [target for target in linked if target.startswith("_")]
    assert "_foreach_add.md" in LINK.findall(wanted["internal.md"])


def test_the_first_sentence_of_a_page_stands_alone(wanted):
    leaning = re.compile(r"^(Does|As|Like|The same)\b")
    found = [name for name, text in wanted.items() if leaning.match(text.split("\n\n")[2])]
    assert not found, f"these pages begin with a look at another: {found}"


def test_a_page_describes_parameters_results_errors_relatives_and_code(wanted):
    page = Page(None, wanted["softmax.md"])
    assert (
        "tt.softmax(\n    input: Tensor,\n    dim: int,\n    dtype: dtype | None = None,\n    *,\n    out"
        in page.code
    )
    assert page.section("Examples").text.count(">>>") >= 3
    assert "- **dim** (`int`): Along which dimension the results add to 1." in page.section("Parameters").text
    assert "shape: that of the input" in page.section("Result").text
    assert page.section("Errors").mentions("DimensionError")
    assert "[tt.log\\_softmax](log_softmax.md)" in page.section("See also").text
    assert page.section("See also").mentions("tt.nn.Softmax")
    source = page.section("Source").text
    for place in (
        "schema: `ops.yaml:",
        "shape rule: `operators/",
        "composite: `operators/",
        "`backends/cpu/",
    ):
        assert place in source


def test_the_places_in_the_code_exist(wanted, root):
    places = {place for text in wanted.values() for place in re.findall(r"`([\w/]+\.(?:py|yaml)):\d+`", text)}
    assert len(places) > 50 and not [place for place in places if not (root / place).is_file()]


FORMULAS = {
    formula for definition in definitions().values() if (formula := operator_text(definition).formula)
}


def test_braces_of_formulas_match_and_none_is_empty():
    for formula in FORMULAS:
        bare = re.sub(r"\\[{}]", "", formula)
        assert bare.count("{") == bare.count("}") and bare.count(r"\begin") == bare.count(r"\end"), formula


def public_pages(wanted):
    return {file: wanted[file] for file in LINK.findall(wanted["README.md"]) if file != "internal.md"}


def test_a_public_operator_has_a_formula_or_the_texts_say_that_it_needs_none(wanted):
    plain = {name for _, name, fields in entries() if fields.get("formula") == ""}
    said = {name for _, name, fields in entries() if fields.get("formula")}
    assert not plain & said
    without = set()
    for text in public_pages(wanted).values():
        if "```math" not in text:
            schemas = re.search(r"## Schema\n\n```text\n(.*?)```", text, re.S)[1].splitlines()
            without |= {re.match(r"\w+", schema)[0] for schema in schemas}
    assert without == plain


def test_a_public_operator_has_two_examples(wanted):
    few = []
    for file, text in public_pages(wanted).items():
        block = re.search(r"## Examples\n\n```python\n(.*?)```", text, re.S)[1]
        if sum(bool(example.want) for example in doctest.DocTestParser().get_examples(block)) < 2:
            few.append(file)
    assert not few, f"write further examples of these in operators/<family>/examples.yaml: {few}"


# Calls of these fail only for arguments of wrong types, or for want of memory.
RAISE_NOTHING = frozenset({
    "Tensor.T", "atleast_1d", "atleast_2d", "atleast_3d", "conj", "dequantize", "detach", "diagflat", "isfinite",
    "isinf", "isnan", "isreal", "ravel", "real", "resolve_conj", "resolve_neg", "scalar_tensor",
})  # fmt: skip


def test_a_public_operator_names_its_errors(wanted):
    without = {
        file.removesuffix(".md") for file, text in public_pages(wanted).items() if "## Errors" not in text
    }
    assert without == RAISE_NOTHING


def test_families_that_formulas_say_best_have_them():
    for kind in ("activation", "loss", "normalization", "pointwise"):
        names = [
            name for file, name, fields in entries() if file == f"{kind}/texts.yaml" and fields.get("formula")
        ]
        assert len(set(names)) >= 10, kind


def test_no_line_of_a_signature_is_long_where_it_can_be_split(wanted):
    for name, text in wanted.items():
        first = re.search(r"```text\n(.*?)```", text, re.S)
        if name not in ("README.md", "internal.md") and first:
            assert all(len(line) <= 110 for line in first[1].splitlines()), name


def test_a_description_that_another_begins_with_is_left_out(wanted):
    assert wanted["softmax.md"].count("Returns exponentials that add to 1") == 1


def test_the_same_registrations_give_the_same_pages(wanted):
    assert pages() == wanted


def test_the_examples_of_the_pages_are_doctests_that_end(wanted):
    for name, text in wanted.items():
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            examples = doctest.DocTestParser().get_examples(block, name)
            assert examples[0].source == "import tt\n" and block.endswith("\n\n"), name
            assert "```" not in "".join(example.want for example in examples), name


def test_backends_of_others_do_not_change_the_pages_of_tt(wanted):
    elsewhere = copy.copy(REGISTRY.backend("cpu"))
    elsewhere.device_type = "elsewhere"
    with REGISTRY.add_backend(elsewhere, Provider("the test")):
        assert pages() == wanted


def test_every_overload_stands_on_a_page_with_its_signature_and_its_example(wanted):
    everything = "\n".join(wanted.values())
    for definition in definitions().values():
        assert f"\n{definition.signature}\n" in everything
        assert definition.example.strip() in everything


def test_a_page_says_what_an_operator_is(wanted):
    page = wanted["linalg.svd.md"]
    for fact in (
        "# tt.linalg.svd\n", "- function: `tt.linalg.svd`", "`out=`", "| shape rule | `svd` |", "| promotes | `A` |",
        "| gradient | `A`: a formula |", "| `linalg_svd` | cpu | kernel | floating, complex |", ">>> tt.linalg.svd(",
    ):  # fmt: skip
        assert fact in page


def test_writing_brings_a_folder_up_to_date_and_leaves_other_files_alone(tmp_path, wanted):
    few = {name: wanted[name] for name in ("README.md", "exp.md")}
    assert write(tmp_path, few) == ["README.md", "exp.md"]
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "exp.md").write_text("old")
    (tmp_path / "gone.md").write_text(wanted["log.md"])
    assert write(tmp_path, few) == ["exp.md", "gone.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "exp.md", "notes.md"]
    assert (tmp_path / "exp.md").read_text() == wanted["exp.md"]


def test_operators_of_a_namespace_that_has_none_have_no_pages():
    assert "nowhere" not in {d.signature.namespace for d in REGISTRY.definitions()}
    assert pages("nowhere") == {}


def test_a_method_and_an_attribute_are_shown_without_the_tensor_that_they_belong_to(wanted):
    method, attribute = wanted["Tensor.copy_.md"], wanted["Tensor.T.md"]
    assert "tt.Tensor.copy_(src: Tensor, non_blocking: bool = False) -> Tensor\n" in method
    assert "tt.Tensor.T: Tensor\n" in attribute
    assert "**input**" not in method + attribute


def test_what_none_means_for_a_dtype_or_device_is_said_for_the_operator(wanted):
    like, alone, added = wanted["zeros_like.md"], wanted["zeros.md"], wanted["sum.md"]
    assert "The dtype of the result; None takes that of the input.\n" in like
    assert "The dtype of the result; None takes the default dtype.\n" in alone
    assert "None takes that of the input (bools and integers become int64).\n" in added
    assert "None takes the default device.\n" in alone and "None takes that of the input.\n" in like


def test_a_result_that_is_no_tensor_has_no_shape(wanted):
    result = wanted["Tensor.item.md"].partition("## Result\n\n")[2].partition("\n\n")[0]
    assert result == "- a Python number"


def test_prose_about_a_function_names_its_argument_as_its_signature_does(wanted):
    assert "dtype and device of input." in wanted["zeros_like.md"]
