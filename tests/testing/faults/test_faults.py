"""The conformance check is checked itself: it names every fault, and reports nothing of a backend without one.

Each run draws other operators and values; a failure says with which seed they come again.  A CI service judges every
change by the same ones.  The exhaustive sweep spoils everything that can be spoilt, in every way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.seeds import drawn_seed
from tests.testing.faults.apply import FAULTS, Outcome, Target, judge, targets
from tests.testing.faults.fault import Fault
from tests.testing.faults.twin import TWIN, TwinBackend, twin
from tt.core.dispatch.registry.registry import REGISTRY
from tt.testing.conformance import CHECKS, check_conformance

SEED = drawn_seed()
AGAIN = f"TT_TEST_SEED={SEED} repeats it"
ENOUGH = 5
"""On how many operators each fault is tried at least."""


@pytest.fixture(scope="module")
def backend() -> Iterator[TwinBackend]:
    """The twin, for as long as these tests run."""
    with twin() as found:
        yield found


def problem(fault: Fault, target: Target, outcome: Outcome) -> str:
    """Return the check's omission; nothing if it named the fault, or the fault did no harm for a known reason."""
    if outcome.named:
        return ""
    if outcome.altered and outcome.calls:
        others = "; ".join(f"{f.check}: {f.message}" for f in outcome.others[:3]) or "nothing"
        return f"{target} {fault.name}, and was not named by {' or '.join(fault.checks)}; reported: {others}"
    if fault.inert:
        return ""
    return f"{target}: no sample shows whether it {fault.name} ({outcome.calls} calls)"


# --- the table -----------------------------------------------------------------------------------------------------


def test_there_are_faults_of_every_kind_and_each_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40
    named = {check for fault in FAULTS for check in fault.checks}
    assert named <= set(CHECKS)
    # `composite` compares composites with kernels, and both are the CPU's here; `laws` repeats for the words of the
    # schema what other checks see, too, and has tests of its own.  What `identity` and `training` see goes wrong above
    # the kernels, in the values that a layer hands on; `absent` runs no kernel.  They have tests of their own.
    assert set(CHECKS) - named == {"absent", "composite", "identity", "laws", "training"}


@pytest.mark.usefixtures("backend")
def test_every_exception_has_a_reason_and_names_something() -> None:
    for fault in FAULTS:
        for name, reason in fault.excluded.items():
            assert reason
            assert name.partition("(")[0] in REGISTRY.names(), (
                f"{fault.name} leaves out {name}, which there is not"
            )


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.usefixtures("backend")
def test_every_fault_applies_to_at_least_five_operators(fault: Fault) -> None:
    assert len({target.op for target in targets(fault)}) >= ENOUGH


# --- faults are named ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_operators_drawn_at_random_is_named(fault: Fault, backend: TwinBackend) -> None:
    draw = random.Random(f"{SEED} {fault.name}")
    drawn = targets(fault)
    draw.shuffle(drawn)
    named: list[str] = []
    for target in drawn:
        outcome = judge(fault, target, backend, SEED & 0xFFFF)
        found = problem(fault, target, outcome)
        assert not found, f"{found} ({AGAIN})"
        if outcome.named:
            assert all(failure.op == target.op and failure.snippet for failure in outcome.named)
            named.append(target.op)
        if len(set(named)) == ENOUGH:
            return
    pytest.fail(f"only {named} can show whether an operator {fault.name}")


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_of_every_operator_is_named(fault: Fault, backend: TwinBackend) -> None:
    found = [problem(fault, t, judge(fault, t, backend, SEED & 0xFFFF)) for t in targets(fault)]
    missed = [text for text in found if text]
    assert not missed, "\n".join([AGAIN, *missed])


@pytest.mark.exhaustive
def test_everything_is_as_before_when_a_fault_is_gone(backend: TwinBackend) -> None:
    draw = random.Random(SEED)
    for fault in FAULTS:
        target = draw.choice(targets(fault))
        judge(fault, target, backend, 0)
        for device in (TWIN, "cpu"):
            report = check_conformance(device, ops=[target.op], dtypes=["float32"], checks=fault.checks)
            assert not report.failures, f"{target} after {fault.name} ({AGAIN}): {report.failures[0]}"


# --- a backend without a fault -------------------------------------------------------------------------------------


def reports(seed: int, ops: list[str], dtypes: list[str]) -> list[str]:
    """Return all that is reported of the twin."""
    report = check_conformance(TWIN, ops=ops, dtypes=dtypes, seed=seed)
    assert report.checks["runs"]
    return [str(failure) for failure in report.failures] + [f"missing: {m}" for m in report.missing]


def checked_operators() -> list[str]:
    return [d.name for d in REGISTRY.definitions() if d.samples and "::" not in d.name]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("number", range(3))
def test_nothing_is_reported_of_a_sound_backend(number: int) -> None:
    draw = random.Random(f"{SEED} {number}")
    ops = draw.sample(checked_operators(), 30)
    dtype = ("float32", "int64", "complex64")[number]
    assert not reports(draw.randrange(1 << 16), ops, [dtype]), AGAIN


@pytest.mark.exhaustive
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("number", range(7))
def test_nothing_is_reported_of_a_sound_backend_whatever_the_seed(number: int) -> None:
    draw = random.Random(f"{SEED} all {number}")
    dtypes = (
        "float32",
        ("bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64")[number % 7],
    )
    assert not reports(draw.randrange(1 << 16), checked_operators(), list(dtypes)), AGAIN
