"""Installing packages changes nothing in programs that do not name them, however hostile the packages are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seeds import drawn_seed

pytestmark = pytest.mark.exhaustive

PROGRAM = (Path(__file__).parent / "unchanged_program.py").read_text()
PACKAGES = ("tt-hostile", "tt-rival-one", "tt-rival-two", "tt-acme-ops", "tt-strict-backend", "tt-broken")
SEED = drawn_seed()


@pytest.fixture(scope="module")
def alone(run):
    """The output of the program where nothing else is installed."""
    found = run(PROGRAM, arguments=[str(SEED)])
    assert found.count("\n") > 500
    return found


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "reversed"])
@pytest.mark.parametrize("activate", [[], ["activate"]], ids=["idle", "all activated"])
def test_a_program_gives_the_same_bytes_with_and_without_other_packages(run, alone, order, activate):
    found = run(PROGRAM, *PACKAGES[::order], arguments=[str(SEED), *activate])
    assert found.splitlines() == alone.splitlines(), f"repeat with TT_TEST_SEED={SEED}"


def test_the_program_notices_what_changes_results(run, alone):
    """The comparison above can fail: with a preference, the hostile kernels do take part."""
    found = run(PROGRAM, "tt-rival-one", arguments=[str(SEED)], environ={"TT_PREFER": "rival_one"})
    changed = [a for a, b in zip(alone.splitlines(), found.splitlines(), strict=True) if a != b]
    assert any(line.startswith("gradients") for line in changed)


@pytest.fixture(scope="module")
def listed(run):
    """What `tt plugins list` says, after every plugin had the chance to do its worst."""
    import json

    output = run(["plugins", "list", "--activate", "--json"], "tt-hostile")
    return {plugin["name"]: plugin for plugin in json.JSONDecoder().raw_decode(output)[0]}


def test_what_was_put_back_is_told(listed):
    assert listed["hostile_state"]["state"] == "active"
    assert sorted(listed["hostile_state"]["undone"]) == [
        "active modes",
        "how NumPy prints",
        "how NumPy reports errors",
        "how tensors are printed",
        "settings of the dispatcher",
        "the default device",
        "the default dtype",
        "the filters of warnings",
        "the random numbers of NumPy",
        "the random numbers of Python",
        "the random numbers of tt",
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "hostile_unannounced",
            "PluginError: the 'hostile_unannounced' plugin brings a kernel of add for cpu, both of others, which its "
            "manifest does not announce",
        ),
        (
            "hostile_gradient",
            "PluginError: the 'hostile_gradient' plugin brings the rule of the layer 'autograd' for softplus: that is "
            "for whoever brings the operator or the layer to say",
        ),
        (
            "hostile_early",
            "PluginError: the plugin 'hostile_early' (tt-hostile 6.6.6) registers when it is not asked to; hand tables "
            "over in tt_register",
        ),
        (
            "hostile_future",
            "PluginError: it was made for version 9 of the plugin interface and this tt offers version 1.0",
        ),
    ],
)
def test_what_a_plugin_may_not_do_puts_it_aside(listed, name, reason):
    assert listed[name]["state"] == "failed"
    assert listed[name]["reason"].splitlines()[0] == reason


def test_names_of_tt_stay_its_own_and_the_plugin_is_not_put_aside(listed):
    assert listed["hostile_names"]["state"] == "active"
    own = [note for note in listed["hostile_names"]["contested"] if "tt-tensor" in note and "has it" in note]
    for name in (
        "'cpu'",
        "'cuda'",
        "'sparse_coo'",
        "'autograd'",
        "'transform'",
        "'sparse'",
        "'requires_grad'",
    ):
        assert sum(name in note.split(" is declared")[0] for note in own) == 1, name


def test_kernels_for_others_are_passed_over_with_the_reason(run):
    output = run(["ops", "explain", "add", "cpu:float32", "cpu:float32"], "tt-hostile")
    assert "TT_PREFER=hostile_kernels or tt.prefer('hostile_kernels')" in output
    assert "-> kernel tt-tensor" in output


def test_the_commands_of_tt_stay_its_own(run):
    assert "tt-hostile 6.6.6" in run(["env"], "tt-hostile")
