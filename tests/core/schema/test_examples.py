import doctest

import pytest

import tt
from tt.core.schema.snapshot import definitions


@pytest.mark.parametrize("name", list(definitions()))
def test_the_example_of_every_operator_runs(name):
    definition = definitions()[name]
    test = doctest.DocTestParser().get_doctest(
        definition.example, {"tt": tt}, name, "ops.yaml", definition.location[1]
    )
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    outcome = runner.run(test, out=report.append)
    assert outcome.attempted > 0
    assert outcome.failed == 0, "".join(report)
