"""A package of operators outside of this repository's tree, installed from its wheel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive

ACME = "tt-acme-ops"
HERE = Path(__file__).parent


@pytest.fixture
def acme(run):
    """Run a program with the package installed."""

    def run_with_acme(program, **options):
        return run(program, ACME, **options)

    return run_with_acme


def test_nothing_of_the_package_is_imported_before_its_namespace_is_used(acme):
    acme("""
        import sys
        import tt
        tt.tensor([1.0]) + 1
        assert "tt_acme_ops.plugin" in sys.modules
        assert "tt_acme_ops.operators" not in sys.modules
        tt.ops.acme.twice
        assert "tt_acme_ops.operators" in sys.modules
    """)


def test_its_operators_run_on_tensors_and_promote_like_any_other(acme):
    acme("""
        import tt
        x = tt.tensor([1.0, 2.0])
        assert tt.ops.acme.twice(x).tolist() == [2.0, 4.0]
        assert tt.ops.acme.scaled_add(x, x, scale=3).tolist() == [4.0, 8.0]
        assert tt.ops.acme.scaled_add(x, tt.tensor([1, 2]), scale=3).dtype == tt.float32
        # The kernel serves floating dtypes only; integers take the composite.
        assert tt.ops.acme.scaled_add(tt.tensor([1, 2]), tt.tensor([10, 20]), scale=3).tolist() == [31, 62]
    """)


def test_they_run_without_data(acme):
    acme("""
        import tt
        x = tt.empty(2, 3, device="meta")
        assert tt.ops.acme.twice(x).shape == (2, 3)
        assert tt.ops.acme.twice(x).device.type == "meta"
        assert tt.ops.acme.scaled_add(x, tt.empty(3, device="meta")).shape == (2, 3)
        with tt.fake_mode():
            x = tt.empty(2, 3, device="cuda")
            for made in (tt.ops.acme.twice(x), tt.ops.acme.scaled_add(x, x)):
                assert (made.shape, made.device.type) == ((2, 3), "cuda")
    """)


def test_they_are_differentiated_by_the_formula_or_through_their_parts(acme):
    acme("""
        import tt
        x = tt.tensor([1.0, 2.0], requires_grad=True)
        tt.ops.acme.twice(tt.ops.acme.twice(x)).sum().backward()
        assert x.grad.tolist() == [4.0, 4.0]

        a = tt.tensor([1.0, 2.0], requires_grad=True)
        b = tt.tensor([3.0, 4.0], requires_grad=True)
        tt.ops.acme.scaled_add(a, b, scale=5).sum().backward()
        assert (a.grad.tolist(), b.grad.tolist()) == ([1.0, 1.0], [5.0, 5.0])
    """)


def test_explain_names_the_distribution_its_version_and_the_line(acme):
    output = acme("""
        import tt
        print(tt.explain("acme::scaled_add", ["cpu:float32", "cpu:float32"]))
    """)
    assert "tt-acme-ops 1.2.3" in output and "tt_acme_ops.operators:" in output


def test_the_command_lists_shows_and_explains_them(acme):
    listed = acme(["ops", "list"])
    assert "acme::twice" in listed and "acme::scaled_add" in listed
    assert "Adds other times scale to self." in acme(["ops", "show", "acme::scaled_add"])
    assert "tt-acme-ops 1.2.3" in acme(["ops", "explain", "acme::twice", "cpu:float32"])
    assert "acme" in acme(["plugins", "list"])


def test_importing_the_module_first_registers_its_operator_once(acme):
    acme("""
        import tt
        from tt_acme_ops.operators import twice
        x = tt.tensor([3.0])
        assert twice(x).item() == 6
        assert tt.ops.acme.twice(x).item() == 6
        assert tt.ops.acme.scaled_add(x, x).item() == 6
    """)


def test_a_blocked_package_is_as_if_it_were_not_there(acme):
    output = acme(
        """
        import tt
        tt.ops.acme.twice
        """,
        environ={"TT_DISABLE_PLUGINS": "acme"},
        fails=True,
    )
    assert "UnknownOpError: no operator is named 'acme'" in output


def test_the_checks_find_nothing_wrong_with_it(acme):
    assert "no problems" in acme(["ops", "check"])


# --- the command that it brings --------------------------------------------------------------------------------


def test_its_command_is_one_of_tt(acme, run):
    assert "Check the operators of acme with opcheck" in acme(["--help"])
    assert "acme" not in run(["--help"])
    assert "Check the operators of acme with opcheck; exit with 1" in acme(["acme", "--help"])


def test_its_command_checks_its_operators(acme):
    assert acme(["acme"]).splitlines() == [
        f"acme::{name}: 9 tests passed"
        for name in ("twice", "soft_clip", "decay_", "scaled_add", "moving_average")
    ]
    assert acme(["acme", "acme::twice"]) == "acme::twice: 9 tests passed\n"


def test_its_command_refuses_an_operator_that_it_does_not_have(acme):
    output = acme(["acme", "acme::twyce"], fails=True)
    assert output.startswith("error: unknown operator of acme 'acme::twyce'; did you mean 'acme::twice'")


def test_its_command_goes_with_the_plugin(run):
    output = run(["acme"], ACME, environ={"TT_DISABLE_PLUGINS": "acme"}, fails=True)
    assert "No such command 'acme'" in output


# --- its own tests, and the checks of tt -----------------------------------------------------------------------


def test_its_own_tests_pass_against_the_wheel(acme, tmp_path):
    tests = shutil.copytree(
        HERE / ACME / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__")
    )
    output = acme(f"""
        import sys
        import pytest
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", {str(tests)!r}, {str(tests)!r}]))
    """)
    assert " passed" in output and "failed" not in output and "skipped" not in output


def test_its_examples_run(acme):
    acme("""
        import doctest
        import tt
        text = tt.ops.acme.moving_average.__doc__
        examples = doctest.DocTestParser().get_examples(text)
        assert len(examples) == 2
        for example in examples:
            exec(example.source) if example.want == "" else None
        assert repr(eval(examples[-1].source)) + "\\n" == examples[-1].want
    """)


def test_opcheck_finds_what_is_wrong_with_it_once_it_is_broken(acme):
    acme("""
        import tt
        from tt.library import KernelTable, REGISTRY, opcheck
        table = KernelTable(device="cpu")
        table.kernel("acme::moving_average", lambda x, size: x[..., size - 1:], dtypes=("float32",), override=True)
        x = tt.tensor([1.0, 2.0, 4.0])
        with REGISTRY.add(table):
            report = opcheck("acme::moving_average", (x, 2), raise_exception=False)
        assert {f.fault for f in report.failures} >= {"aliased_input", "dtype_wrong"}, report
        assert opcheck("acme::moving_average", (x, 2)).ok
    """)


def test_its_operators_are_checked_on_every_device_that_is_installed(run):
    run(
        """
        from tt.testing.opcheck import TESTS, opcheck
        import tt
        x = tt.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]])
        report = opcheck("acme::moving_average", (x, 2))  # on strict, its composite serves
        assert report.ok and not [n for n in report.notes.get("test_devices", ()) if "strict" in n], report
        report = opcheck("acme::twice", (x,))  # there is neither kernel nor composite for strict
        assert report.ok and not [n for n in report.notes.get("test_devices", ()) if "strict" in n], report
        moved = x.to("strict")
        report = opcheck("acme::scaled_add", (moved, moved), {"scale": 2})
        assert report.ok and list(report) == list(TESTS), report
        """,
        ACME,
        "tt-strict-backend",
    )


def test_a_kernel_that_is_wrong_on_one_device_is_found(run):
    run(
        """
        import tt
        from tt.library import KernelTable, REGISTRY, opcheck
        table = KernelTable(device="strict")
        table.kernel("acme::twice", lambda x: x + x + x, half="native")
        x = tt.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]])
        with REGISTRY.add(table):
            report = opcheck("acme::twice", (x,), raise_exception=False)
        (failure,) = report.failures
        assert (failure.fault, failure.on) == ("device_wrong", "device strict"), report
        assert "device='strict'" in failure.snippet

        def raises(x):
            raise TypeError("not yet")

        table = KernelTable(device="strict")
        table.kernel("acme::twice", raises, half="native")
        with REGISTRY.add(table):
            report = opcheck("acme::twice", (x,), raise_exception=False)
        (failure,) = report.failures
        said, where = failure.message.splitlines()
        assert (failure.fault, said) == ("device_fails", "TypeError: not yet"), report
        assert where.startswith("  while the kernel by") and "on strict served acme::twice(x=float32" in where, report
        """,
        ACME,
        "tt-strict-backend",
    )
