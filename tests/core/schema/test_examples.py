import doctest

import pytest

import tt
from tt.core.schema.snapshot import definitions

SEEDS = 10


@pytest.mark.parametrize("name", list(definitions()))
def test_the_example_of_every_operator_runs(name):
    assert run(definitions()[name]) == ""


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
    test = doctest.DocTestParser().get_doctest(
        definition.example, {"tt": tt}, definition.name, "ops.yaml", definition.location[1]
    )
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    outcome = runner.run(test, out=report.append)
    assert outcome.attempted > 0
    return "".join(report)
