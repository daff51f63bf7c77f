"""The page of the conformance check lists what there is: checks, laws, options, exit codes."""

from __future__ import annotations

import argparse

import pytest

from tt.testing import pytest_plugin
from tt.testing.conformance import CHECKS
from tt.testing.conformance.laws import LAWS


@pytest.fixture
def page(pages):
    return pages["docs/conformance.md"]


def test_every_check_is_described_in_its_order(page):
    assert page.section("The checks").first_cells() == list(CHECKS)


def test_every_law_is_stated_word_for_word(page):
    stated = {}
    for row in page.section("The laws").rows():
        word, statement = (cell.strip() for cell in row.strip("| ").split(" | ", 1))
        stated[word.strip("`")] = statement
    assert stated == {word: law.statement for laws in LAWS.values() for word, law in laws.items()}


def test_every_option_of_the_pytest_plugin_is_described(page):
    class Options(argparse.ArgumentParser):
        addoption = argparse.ArgumentParser.add_argument

        def getgroup(self, name, description):
            return self

    parser = Options(add_help=False)
    pytest_plugin.pytest_addoption(parser)
    options = [option for action in parser._actions for option in action.option_strings]
    listed = [cell.split()[0] for cell in page.section("In pytest").first_cells()]
    assert listed == options


def test_every_exit_code_is_described(page):
    codes = [row.split("|")[1].strip() for row in page.rows() if row.split("|")[1].strip().isdigit()]
    assert codes == ["0", "1", "2"]
