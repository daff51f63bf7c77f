"""Colours of the page: every text is readable."""

from __future__ import annotations

import re

import pytest

from tt.testing.coverage import HOWS
from tt.testing.coverage.page import DARK, LIGHT, STYLE

pytestmark = pytest.mark.exhaustive


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_is_readable_on_its_ground(colours):
    pairs = [("text", "ground"), ("faint", "ground"), ("link", "head"), ("text", "head"), ("link", "ground")]
    pairs += [(f"{name}-text", name) for name in colours if f"{name}-text" in colours]
    assert len(pairs) == 5 + len(HOWS)
    for text, ground in pairs:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_both_grounds_have_the_same_colours():
    assert LIGHT.keys() == DARK.keys()
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    assert used <= LIGHT.keys()
