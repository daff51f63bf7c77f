import doctest

import pytest

import tt
from tt.core.schema.operator_texts import further_examples
from tt.core.schema.snapshot import definitions

SEEDS = 10
RANDOM = {d.signature.name for d in definitions().values() if "random" in d.tags}


@pytest.mark.parametrize("name", list(definitions()))
def test_the_example_of_every_operator_runs(name):
    assert run(definitions()[name]) == ""


@pytest.mark.parametrize("name", list(further_examples()))
def test_further_examples_run_and_show_what_any_seed_gives(name):
    state = tt.get_rng_state()
    try:
        for seed in range(SEEDS if name in RANDOM else 1):
            tt.manual_seed(seed)
            assert run_text(further_examples()[name], name) == "", f"with the seed {seed}"
    finally:
        tt.set_rng_state(state)


def test_further_examples_are_of_operators_and_repeat_none_of_theirs():
    first = {}
    for definition in definitions().values():
        first[definition.signature.name] = first.get(definition.signature.name, "") + definition.example
    assert set(further_examples()) <= set(first)
    for name, text in further_examples().items():
        shown = [e for e in doctest.DocTestParser().get_examples(text) if e.want]
        assert shown and not [e.source for e in shown if e.source.strip() in first[name].split("\n>>> ")], (
            name
        )


@pytest.mark.parametrize(
    "name", [name for name, definition in definitions().items() if "random" in definition.tags]
)
def test_the_example_of_a_random_operator_shows_what_any_seed_gives(name):
    state = tt.get_rng_state()
    try:
        for seed in range(SEEDS):
            tt.manual_seed(seed)
            assert run(definitions()[name]) == "", f"with the seed {seed}"
    finally:
        tt.set_rng_state(state)


def run(definition):
    return run_text(definition.example, definition.name, definition.location[1])


def run_text(text, name, line=0):
    test = doctest.DocTestParser().get_doctest(text, {"tt": tt}, name, "ops.yaml", line)
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    outcome = runner.run(test, out=report.append)
    assert outcome.attempted > 0
    return "".join(report)
