"""Parts of the site beyond the pages: pictures, the first page, locations in the code."""

from __future__ import annotations

import re
import sys
import tomllib
from xml.etree import ElementTree

import pytest

import tt
from benchmarks.records import write_report


@pytest.fixture(scope="module")
def pictures(root):
    sys.path.insert(0, str(root / "docs" / "site"))
    try:
        import pictures
    finally:
        sys.path.pop(0)
    return pictures


def words(svg):
    return " ".join(ElementTree.fromstring(svg).itertext())


def test_every_marker_of_a_page_has_a_picture_and_every_picture_a_place(pages, pictures, root):
    asked = {name for page in pages.values() for name in pictures.MARKER.findall(page.text)}
    template = (root / "docs" / "site" / "landing.html").read_text()
    assert asked == set(pictures.PICTURES) - {"speed"} and "landing.speed" in template


def test_a_page_gets_its_pictures_as_html(pictures):
    text = pictures.with_pictures("Before.\n\n<!-- picture: layers -->\n\nAfter.\n")
    assert text.startswith("Before.\n\n```{raw} html\n<figure><svg ") and text.endswith(
        "</figure>\n```\n\nAfter.\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "call", "backward", "layers", "plugin", "speed",
        "training", "served", "explained", "gradient", "optimizers",
    ],
)  # fmt: skip
def test_a_picture_is_xml_with_a_title_and_needs_nothing_from_elsewhere(pictures, name):
    svg = str(pictures.PICTURES[name]())
    parsed = ElementTree.fromstring(svg)
    assert parsed.find("{http://www.w3.org/2000/svg}title").text
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "") and "<script" not in svg


@pytest.mark.parametrize("name", ["backward", "gradient"])
def test_a_drawing_of_autograd_has_the_colours_of_the_page(pictures, name):
    svg = str(pictures.PICTURES[name]())
    texts = [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("}text")]
    assert texts and {e.get("fill") for e in texts} == {"currentColor"}
    assert set(re.findall(r'(?:fill|stroke)="(.*?)"', svg)) == {"currentColor", "none", "#3b8fd9"}


def test_the_picture_of_a_call_shows_both_levels_and_the_kernel_that_explain_names(pictures):
    import tt

    shown = words(str(pictures.call()))
    explained = tt.explain("add", ["cpu:float32+autograd", "cpu:int64"]).to_dict()
    taken = [c["source"].split()[-1] for c in explained["candidates"] if c["taken"]]
    assert "cpu strided autograd" in shown and "int64 float32 -> float32" in shown
    assert taken and all(f"{source}" in shown for source in taken)


def test_the_picture_of_layers_has_every_layer_of_the_contracts(pictures, root):
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {
        name
        for c in contracts
        if c["type"] == "layers"
        for row in c["layers"]
        for name in re.split(r" [|:] ", row)
    }
    assert layers - {"tt.core"} <= set(words(str(pictures.layers())).split())


def test_the_picture_of_a_plugin_has_every_state(pictures):
    from typing import get_args

    from tt.core.host.plugin import State

    assert set(get_args(State)) <= set(words(str(pictures.plugin())).split())


def test_the_picture_of_training_has_a_loss_and_a_rate_for_every_epoch(pictures):
    svg = ElementTree.fromstring(str(pictures.PICTURES["training"]()))
    loss, rate = (
        [float(point.split()[1]) for point in path.get("d").removeprefix("M").split(" L")]
        for path in svg.iter("{http://www.w3.org/2000/svg}path")
        if " L" in path.get("d") and "dasharray" in path.get("style", "")
    )
    assert len(loss) == len(rate) == 30
    # Down is large: the loss begins at the top and ends at the bottom, the rate is at the top in between.
    assert loss[0] == 0 and loss[-1] > 150 and min(rate) == 0 and rate[-1] > 150 and rate[0] > 150


def test_the_picture_of_a_backend_counts_every_operator_of_a_family(pictures):
    from tt.testing.coverage import Place, matrix

    shown = words(str(pictures.PICTURES["served"]()))
    families = [row.family for row in matrix([Place("cpu", "strided")]).rows]
    found = re.findall(r"(\w+) (\d+) kernels, (\d+) composed(?:, (\d+) missing)?", shown)
    counted = {family: sum(int(n) for n in numbers if n) for family, *numbers in found}
    assert len(counted) == 8 and counted == {family: families.count(family) for family in counted}
    with pytest.raises(ValueError, match="unknown device"):
        tt.ones(2, device="drawn")


def test_the_picture_of_an_explanation_takes_the_composite(pictures):
    assert re.search(r"kernel .* masked -> composite ", words(str(pictures.PICTURES["explained"]())))


def test_the_picture_of_optimizers_has_the_fewest_calls_for_the_fused_form(pictures):
    found = dict(
        re.findall(r"(one by one|lists|fused) (\d+) calls", words(str(pictures.PICTURES["optimizers"]())))
    )
    assert int(found["fused"]) * 5 < int(found["one by one"])


def test_a_picture_without_a_place_in_its_page_is_an_error(pictures):
    with pytest.raises(ValueError, match=r"training\.md has no place for the picture loss"):
        pictures.tutorials.names_of("training.md", "loss")


def test_the_picture_of_speed_has_the_figures_of_the_readme(pictures, pages):
    figures = re.findall(r"^\| ([a-z ]+) \| \**(\d\.\d+)\** \|", pages["README.md"].text, re.M)
    shown = str(pictures.speed())
    assert len(figures) >= 5 and all(f"{name} {figure}" in shown for name, figure in figures)


def test_the_picture_of_speed_has_a_bar_for_each_instruction_set_that_is_measured(pictures, tmp_path):
    def report(level, ratio, **environment):
        group = {
            "aim": 1.0,
            "geometric_mean": {"torch": ratio},
            "noise": 0.0,
            "worst": None,
            "worst_allowed": None,
        }
        suite = {"title": "small", "cases": {}, "groups": {"small calls": group}}
        write_report(tmp_path / level, {"environment": environment, "suites": {"small": suite}})

    report("avx512", 0.25, **{"form in detail": "native kernels: running as x86-64-v4"})
    report(
        "avx2",
        0.5,
        **{"form in detail": "native kernels: running as avx2", "instruction set": "avx2"},
    )
    svg = str(pictures.speed(tmp_path))
    bars = re.findall(r'class="taken"[^>]*width="([\d.]+)"', svg)
    assert [float(width) for width in sorted(bars)] == [105, 210]
    assert "AVX-512: small calls 0.25; AVX2: small calls 0.50" in svg


def test_the_first_page_shows_what_tests_run(root):
    sys.path.insert(0, str(root / "docs" / "site"))
    try:
        from landing import BACKEND, landing, without_prompts
    finally:
        sys.path.pop(0)
    found = landing()
    bare = {name: re.sub(r"<[^>]+>", "", html) for name, html in found.items()}
    assert found["sentence"].startswith("tt is ") and found["sentence"].endswith(".")
    assert (
        "pip install" in bare["install"]
        and "custom_op" in bare["operator"]
        and "tt_manifest" in bare["backend"]
    )
    assert BACKEND.is_file() and len(BACKEND.read_text().splitlines()) <= 25
    assert (
        without_prompts(">>> x = 1\n>>> def f():\n...     return x\n>>> f()\n1\n")
        == "x = 1\ndef f():\n    return x\nf()"
    )


def test_links_of_the_first_page_lead_to_pages(pages, root):
    template = (root / "docs" / "site" / "landing.html").read_text()
    linked = [target.removesuffix(".html") + ".md" for target in re.findall(r'href="([^"#]+)"', template)]
    made = {"docs/operators/README.md", "docs/reference/README.md"}
    assert len(linked) > 10 and not [
        target for target in linked if target not in pages and target not in made
    ]
