"""Broken packages, installed: `import tt` goes on, and `tt plugins list` names the faults."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.exhaustive


def test_everything_else_works_beside_five_broken_plugins(run):
    run(
        """
        import tt
        assert (tt.tensor([1.0, 2.0]) + 1).tolist() == [2.0, 3.0]
        x = tt.tensor([3.0], requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.tolist() == [6.0]
        """,
        "tt-broken",
    )


def test_each_is_listed_with_its_reason(run):
    output = run(
        """
        from tt.core.host import host
        host.activate_all()
        for plugin in host.plugins():
            if plugin.distribution == "tt-broken":
                print(plugin.name, plugin.version, plugin.state, plugin.reason.splitlines()[0], sep=" | ")
        """,
        "tt-broken",
    )
    assert output.splitlines() == [
        "broken_exit | 0.0.1 | failed | SystemExit: this plugin needs Python 2",
        "broken_import | 0.0.1 | failed | ModuleNotFoundError: No module named 'a_library_that_nobody_has'",
        "broken_manifest | 0.0.1 | failed | PluginError: manifest 'broken_manifest': devices is a tuple of names, not "
        "'npu'",
        "broken_register | 0.0.1 | failed | OSError: libnpu.so: wrong ELF class",
        "broken_version | 0.0.1 | failed | PluginError: it was made for version 99 of the plugin interface and this tt "
        "offers version 1.0",
    ]


def test_the_command_lists_them(run):
    output = run(["plugins", "list"], "tt-broken")
    assert "broken_import" in output and "a_library_that_nobody_has" in output


def test_using_what_a_broken_plugin_declares_gives_its_reason_at_every_use(run):
    run(
        """
        import tt
        from tt.core.errors import PluginFailedError
        for _ in range(2):
            try:
                tt.zeros(2, device="npu")
            except PluginFailedError as error:
                assert "libnpu.so: wrong ELF class" in str(error), error
                assert "tt-broken 0.0.1" in str(error), error
                assert "tt_register" in error.__notes__[0]
            else:
                raise SystemExit("no error")
        """,
        "tt-broken",
    )


def test_a_list_in_the_environment_that_names_nothing_is_an_error_at_the_first_tensor(run):
    output = run("import tt; tt.zeros(2)", environ={"TT_DISABLE_PLUGINS": "autogard"}, fails=True)
    assert "UnknownNameError: unknown plugin 'autogard'; did you mean 'autograd'?" in output


def test_a_blocked_cpu_says_so(run):
    output = run("import tt; tt.zeros(2)", environ={"TT_DISABLE_PLUGINS": "cpu"}, fails=True)
    assert "which is blocked: listed in TT_DISABLE_PLUGINS" in output
