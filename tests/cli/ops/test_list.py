"""`tt ops list`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.processes import printed_by
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import KernelTable
from tt.core.schema.snapshot import definitions

Run = Callable[..., Any]


def names(run: Run, *words: str) -> list[str]:
    """Return the operators that a command lists."""
    return [row["name"] for row in json.loads(run("ops", "list", "--json", *words).out)]


def test_every_operator_is_listed(run: Run) -> None:
    assert set(definitions()) <= set(names(run))


def test_operators_of_plugins_are_listed_without_their_kernels() -> None:
    program = (
        "import sys, io; sys.argv = ['tt', 'ops', 'list', '--json']\nfrom tt.cli.main import main\n"
        "sys.stdout, out = io.StringIO(), sys.stdout\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.stdout, text = out, sys.stdout.getvalue()\n"
        "import json, tt\n"
        "print({r['name'].split('::')[0] for r in json.loads(text) if '::' in r['name']} == {'sparse', 'nested'})\n"
        "print([m for m in sys.modules if m.startswith(('tt.plugins', 'tt.backends')) and m.count('.') > 3])\n"
        "print('tt.plugins.sparse.backend' in sys.modules, 'tt.plugins.nested.backend' in sys.modules)\n"
        # What was listed can be used: the plugin registers then.
        "x = tt.ops.sparse.coo(tt.tensor([[1]]), tt.ones(1), [2])\n"
        "print(x.layout, tt.ops.sparse.to_dense(x).tolist())\n"
    )
    assert printed_by(program) == "True\n[]\nFalse False\ntt.sparse_coo [0.0, 1.0]\n"


def test_the_table_has_a_line_for_each(run: Run) -> None:
    lines = run("ops", "list", "--kind", "view").out.splitlines()
    assert lines[0].split() == ["operator", "kind", "core", "description"]
    assert len(lines) - 1 == len(names(run, "--kind", "view"))
    assert all(" view " in line for line in lines[1:])


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        (("--kind", "factory"), lambda d: d.kind == "factory"),
        (("--tag", "random"), lambda d: "random" in d.tags),
        (("--core",), lambda d: d.core),
        (("--core", "--kind", "reduction"), lambda d: d.core and d.kind == "reduction"),
    ],
)
def test_filters_keep_what_passes_all_of_them(run: Run, words: tuple[str, ...], passes: object) -> None:
    expected = {name for name, d in definitions().items() if passes(d)}  # type: ignore[operator]  # a lambda
    assert expected
    assert {name for name in names(run, *words) if name in definitions()} == expected


@pytest.mark.usefixtures("acme")
def test_a_plugin_is_listed_by_what_it_brings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from tt.core.host import host

    acme = host.PluginState("acme", "tt-acme", "1.2", "active")
    found = (*host.plugins(), acme)
    monkeypatch.setattr(host, "plugins", lambda: found)
    assert names(run, "--plugin", "acme") == ["acme::twice", "acme::thrice"]


def test_a_plugin_is_listed_by_the_rules_of_its_layers(run: Run) -> None:
    found = names(run, "--plugin", "autograd")
    assert {"add", "exp", "sum"} <= set(found)
    assert "arange" not in found


@pytest.mark.usefixtures("acme")
def test_a_backend_is_listed_by_how_it_serves(run: Run) -> None:
    found = {row["name"]: row for row in json.loads(run("ops", "list", "--backend", "cpu", "--json").out)}
    assert found["acme::twice"]["served_by"] == "kernel"
    assert found["acme::twice"]["dtypes"] == ["float16", "bfloat16", "float32", "float64"]
    assert found["acme::thrice"]["served_by"] == "kernel"
    assert found["add"]["backend"] == "cpu"
    line = next(
        x for x in run("ops", "list", "--backend", "cpu").out.splitlines() if x.startswith("acme::twice")
    )
    assert line.split("  ")[0] == "acme::twice"
    assert "kernel" in line
    assert "floating" in line


@pytest.mark.usefixtures("acme")
def test_what_a_backend_lacks_is_missing(run: Run) -> None:
    missing = names(run, "--backend", "cuda", "--missing")
    assert "acme::twice" in missing, "it has a kernel for the CPU only, and no composite"
    assert "acme::thrice" not in missing, "it has a composite"


def test_nothing_is_missing_on_the_cpu(run: Run) -> None:
    ran = run("ops", "list", "--missing")
    assert (ran.out, ran.err, ran.code) == ("", "no operator passes the filters\n", 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kind", "poinwise"), "unknown kind 'poinwise'; did you mean 'pointwise'?"),
        (("--tag", "randm"), "unknown tag 'randm'; did you mean 'random'?"),
        (("--plugin", "autogrd"), "unknown plugin 'autogrd'; did you mean 'autograd'?"),
        (("--backend", "cudaa"), "unknown device 'cudaa'; did you mean 'cuda'?"),
        (("--backend", "cpu/sparse_coa"), "unknown backend 'cpu/sparse_coa'; did you mean 'cpu/sparse_coo'"),
    ],
)
def test_a_wrong_name_exits_with_2_and_names_the_nearest(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    ran = run("ops", "list", *words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"error: {message}")


# --- who computes ----------------------------------------------------------------------------------------------

EQUAL = "Returns whether two tensors have the same shape and the same elements."
ALLCLOSE = "Returns whether self and other differ nowhere by more than atol + rtol * abs(other)."
ITEM = "Returns the only element of a tensor as a Python number."


@pytest.fixture
def gadget(acme: None) -> Iterator[None]:
    """A device whose kernels say in every way what computes."""
    from tt.backends.array_api import ArrayApiBackend

    backend = ArrayApiBackend(np, "gadget", mutable=True, has_views=True)
    own, library = KernelTable(device="gadget"), KernelTable(device="gadget")
    own.kernel("acme::twice", lambda self: self + self, dtypes="floating")
    own.kernel("acme::twice", lambda self: self + self, dtypes="floating", native=True)
    lacking: Any = {
        "dtypes": ("float32",),
        "priority": 2,
        "by": "gadgetBLAS",
        "available": lambda: "it is not there",
    }
    library.kernel("acme::twice", lambda self: self + self, **lacking)
    plugin = REGISTRY.for_plugin(Provider("tt-gadget", "1.0", "gadget"))
    try:
        plugin.add_backend(backend)
        for table in (own, library, backend.kernels()):
            plugin.add(table)
        yield
    finally:
        plugin.remove()


@pytest.mark.usefixtures("gadget")
def test_a_backend_says_who_computes_in_the_order_in_which_kernels_are_tried(
    run: Run, normalised: Callable[[str], str], text: Callable[[str], str]
) -> None:
    words = ("ops", "list", "--backend", "gadget", "--tag", "data_dependent")
    assert normalised(run(*words).out) == text(f"""
        operator  kind  core  served by  computed by  dtypes  description
        equal  other  kernel  numpy  all  {EQUAL}
        allclose  composite  composite  other operators  {ALLCLOSE}
        item  other  core  kernel  numpy  all  {ITEM}
    """)
    found = {row["name"]: row for row in json.loads(run("ops", "list", "--backend", "gadget", "--json").out)}
    computed = {
        op: found[op]["computed_by"] for op in ("acme::twice", "acme::thrice", "exp", "permute", "gcd")
    }
    assert computed == {
        "acme::twice": ["gadgetBLAS", "compiled kernel", "own kernel"], "acme::thrice": ["other operators"],
        "exp": ["numpy"], "permute": ["view"], "gcd": ["other operators"],
    }  # fmt: skip


def test_cuda_says_who_computes_without_a_driver(run: Run, text: Callable[[str], str]) -> None:
    assert run("ops", "list", "--backend", "cuda", "--tag", "data_dependent").out == text(f"""
        operator  kind       core  served by  computed by      dtypes  description
        equal     other            kernel     CuPy             all     {EQUAL}
        allclose  composite        composite  other operators          {ALLCLOSE}
        item      other      core  kernel     CuPy             all     {ITEM}
    """)
    found = {row["name"]: row for row in json.loads(run("ops", "list", "--backend", "cuda", "--json").out)}
    computed = {op: found[op]["computed_by"] for op in ("add", "sort", "conv2d", "linear", "permute")}
    assert computed == {
        "add": ["own kernel", "CuPy"], "sort": ["CuPy"], "conv2d": ["cuDNN", "own kernel"],
        "linear": ["cuBLASLt", "CuPy"], "permute": ["view"],
    }  # fmt: skip
