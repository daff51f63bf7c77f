"""Two packages that bring the same: whatever the order, nothing is decided unasked, and all else works."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

pytestmark = pytest.mark.exhaustive

ONE, TWO, STRICT = "tt-rival-one", "tt-rival-two", "tt-strict-backend"


@pytest.fixture
def both(run):
    """Run a program with both installed, in a random order on the path."""

    def run_with_both(program, **options):
        return run(program, *random.sample([ONE, TWO], 2), **options)

    return run_with_both


@pytest.mark.parametrize("order", list(permutations(["npu_one", "npu_two", "strict"])), ids=" ".join)
def test_what_is_not_contested_works_side_by_side_in_every_order_of_use_and_of_installation(run, order):
    pytest.importorskip("array_api_strict")
    run(
        f"""
            import tt
            for device in {order}:
                x = tt.ones(2, device=device)
                assert (x + x).tolist() == [2.0, 2.0] and x.exp().device.type == device
            x = tt.tensor([1.0])
            assert tt.ops.rival_one.who(x).item() == 101 and tt.ops.rival_two.who(x).item() == 201
            assert abs(x.exp().item() - 2.7182817) < 1e-6  # neither takes part on the CPU
            assert tt.nn.functional.relu6(x).item() == 1
        """,
        *random.sample([ONE, TWO, STRICT], 3),
    )


def test_what_is_contested_is_refused_naming_both_distributions_and_how_to_choose(both):
    output = both("""
        import tt
        uses = [lambda: tt.ones(2, device="npu"), lambda: tt.device("npu"), lambda: tt.ops.shared.who(tt.ones(1))]
        for use in uses:
            for _ in range(2):
                try:
                    use()
                except tt.errors.PluginConflictError as error:
                    print(error)
                else:
                    raise SystemExit("no error")
            tt.ones(2, device="npu_one"), tt.ones(2, device="npu_two")  # activating them decides nothing
    """)
    device = (
        "the device 'npu' is brought by 2 plugins, and nothing says which one is meant:\n"
        "  plugin 'rival_one' (tt-rival-one 1.0)\n"
        "  plugin 'rival_two' (tt-rival-two 2.0)\n"
        "  try: TT_PREFER=rival_one or TT_PREFER=rival_two; in a program: with tt.prefer('rival_one')\n"
        "  see: tt plugins list\n"
    )
    assert output == 4 * device + 2 * device.replace("device 'npu'", "namespace 'shared'")


CHOSEN = """
    import tt
    x = tt.tensor([1.0])
    print(tt.library.REGISTRY.backend("npu").brought_by, tt.ops.shared.who(x).item(), x.exp().item(), x.exp_().item())
"""


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TT_PREFER": "rival_one"}, "one 101.0 101.0 101.0"),
        ({"TT_PREFER": "tt-rival-two"}, "two 201.0 201.0 201.0"),
        ({"TT_PREFER": "rival_two,rival_one"}, "two 201.0 201.0 201.0"),
        ({"TT_PREFER": "cpu:exp=rival_two; rival_one"}, "one 101.0 201.0 201.0"),
    ],
    ids=str,
)
def test_the_environment_chooses(both, environ, expected):
    assert both(CHOSEN, environ=environ) == expected + "\n"


def test_a_file_chooses_and_the_environment_goes_before_it(both, tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.tt.prefer]\n"*" = ["rival_one"]\ncpu = ["rival_two"]\n')
    assert both(CHOSEN, environ={"TT_CONFIG": str(file)}) == "one 101.0 201.0 201.0\n"
    environ = {"TT_CONFIG": str(file), "TT_PREFER": "rival_two"}
    assert both(CHOSEN, environ=environ) == "two 201.0 201.0 201.0\n"
    folder = tmp_path / "tt"
    folder.mkdir()
    (folder / "config.toml").write_text('prefer = ["rival_two"]\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)}
    assert both(
        "import os; os.environ.pop('TT_CONFIG', None)\n" + CHOSEN.replace("\n    ", "\n"), environ=environ
    ) == ("two 201.0 201.0 201.0\n")


def test_blocks_choose_between_kernels_of_a_call_that_was_made_before(both):
    both("""
        import tt
        x = tt.tensor([1.0])
        plain = x.exp().item()
        for _ in range(2):
            with tt.prefer("rival_one"):
                assert x.exp().item() == 101 and tt.nn.functional.relu6(x).item() == 101
                with tt.prefer("rival_two", ops="e*", device="cpu"):
                    assert x.exp().item() == 201
                    assert tt.nn.functional.relu6(x).item() == 101  # a composite is on no device
                    assert x.double().exp().item() == 201 and x.half().exp().item() == 201
                    with tt.prefer("*", "rival_two"):  # the outer blocks order its ties
                        assert x.exp().item() == 101
                    with tt.prefer("cpu", "*"):
                        assert x.exp().item() == plain
                assert x.exp().item() == 101
                assert tt.tensor([1j]).exp().dtype == tt.complex64  # the CPU's kernel serves the rest
            assert x.exp().item() == plain and tt.nn.functional.relu6(x).item() == 1
        tt.set_preference("rival_two", ops="exp")
        assert x.exp().item() == 201 and tt.nn.functional.relu6(x).item() == 1
        tt.set_preference(ops="exp")
        assert x.exp().item() == plain
    """)


def test_explain_says_why_a_kernel_is_taken_or_passed_over(both):
    idle = "a plugin serves cpu only where it is preferred: TT_PREFER=rival_two or tt.prefer('rival_two')"
    output = both(["ops", "explain", "exp", "cpu:float32"])
    assert idle in output and "-> kernel tt-tensor" in output
    output = both(["ops", "explain", "exp", "cpu:float32"], environ={"TT_PREFER": "rival_two"})
    assert "-> kernel tt-rival-two 2.0 (rival_two)" in output and "; preferred by TT_PREFER" in output
    assert "TT_PREFER=rival_one or tt.prefer('rival_one')" in output


def test_list_and_show_tell_what_is_passed_over(both):
    import json

    (row,) = [
        r for r in json.loads(both(["ops", "list", "--backend", "cpu", "--json"])) if r["name"] == "exp"
    ]
    assert (
        len(row["passed_over"]) == 2
        and "TT_PREFER=rival_one" in row["passed_over"][0] + row["passed_over"][1]
    )
    assert not any("rival" in source for source in row["sources"])
    shown = both(["ops", "show", "exp"])
    assert "kernel, functional, passed over" in shown and "TT_PREFER=rival_two" in shown


def test_a_command_of_both_says_so_and_those_of_one_work(both):
    assert both(["who-one"]) == "one\n" and both(["who-two"]) == "two\n"
    assert "the command 'who' is brought by 2 plugins" in both(["who"], fails=True)
    assert both(["who"], environ={"TT_PREFER": "rival_two"}) == "two\n"


def test_the_checks_find_nothing_wrong_with_both(both):
    assert "no problems" in both(["ops", "check"])
