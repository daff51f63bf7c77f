"""Every operator is documented where it is defined, and its example runs."""

from __future__ import annotations

import doctest

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.host import host
from tt.core.schema.snapshot import definitions


def of_plugins():
    """Return the operators that the plugins of this distribution define."""
    host.activate_all()
    return [d for d in REGISTRY.definitions() if REGISTRY.definition_source(d.name).distribution == "tt-tensor"
            and d.name not in definitions()]  # fmt: skip


@pytest.mark.parametrize("field", ["doc", "example", "samples"])
def test_every_operator_has(field):
    without = [d.name for d in definitions().values() if not getattr(d, field)]
    assert not without, f"operators without {field}: {', '.join(without)}"


def test_every_operator_of_a_plugin_has_a_doc_and_an_example():
    without = [d.name for d in of_plugins() if not d.doc or not d.example]
    assert not without, f"operators without doc or example: {', '.join(without)}"


# Those of ops.yaml run in tests/core/schema/test_examples.py.
@pytest.mark.parametrize("definition", of_plugins(), ids=lambda d: d.name)
def test_the_example_of_every_operator_of_a_plugin_runs(definition):
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(
        definition.example, {"tt": tt}, definition.name, *definition.location
    )
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    outcome = runner.run(test, out=report.append)
    assert outcome.attempted and not outcome.failed, f"{definition.name}\n{''.join(report)}"


def test_docs_are_sentences():
    wrong = [
        d.name for d in definitions().values() if not d.doc[:1].isupper() or not d.doc.strip().endswith(".")
    ]
    assert not wrong, f"no sentence: {', '.join(wrong)}"
