"""Plots of functions of one variable, as the site draws them."""

from __future__ import annotations

import math
import sys
from functools import reduce
from xml.etree import ElementTree

import pytest

import tt
from tt.core.schema.operator_texts import operator_text
from tt.core.schema.snapshot import definitions

DRAWN = [d for d in definitions().values() if operator_text(d).plot and not d.signature.overload]


@pytest.fixture(scope="module")
def plots(root):
    sys.path.insert(0, str(root / "docs" / "site"))
    try:
        import plots
    finally:
        sys.path.pop(0)
    return plots


def paths(svg, kind):
    return [path.get("d") for path in ElementTree.fromstring(svg).iter() if path.get("class") == kind]


@pytest.mark.parametrize("definition", DRAWN, ids=lambda definition: definition.name)
def test_every_range_of_the_texts_can_be_drawn(plots, definition):
    name = definition.public_names[0]
    bounds = operator_text(definition).plot
    assert len(bounds) in (2, 4) and bounds[0] < bounds[1]
    svg = plots.plot(f"tt.{name}", reduce(getattr, name.split("."), tt), bounds)
    assert paths(svg, "value") and "nan" not in svg and "inf" not in svg
    assert f"<title>tt.{name} from" in svg


def test_values_and_derivatives_are_those_of_the_function(plots):
    x, y, slopes = plots.values(tt.sin, 0.0, 3.0)
    assert y == pytest.approx([math.sin(place) for place in x])
    assert slopes == pytest.approx([math.cos(place) for place in x])
    assert plots.values(tt.signbit, -1.0, 1.0)[2] == []


def test_a_line_is_cut_at_poles_steps_and_the_edge(plots):
    pole = plots.plot("tt.reciprocal", tt.reciprocal, (-4, 4, -6, 6))
    assert len(paths(pole, "value")) == 2
    steps = plots.plot("tt.floor", tt.floor, (-3, 3))
    assert len(paths(steps, "value")) == 6
    assert len(paths(plots.plot("tt.tanh", tt.tanh, (-4, 4)), "value")) == 1


def test_ticks_are_round_numbers_in_the_range(plots):
    assert plots.ticks(-4, 4) == [-4, -2, 0, 2, 4]
    assert plots.ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
