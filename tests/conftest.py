"""What all tests share: Hypothesis profiles, tiers, a header that names the form, a watch over global settings."""

from __future__ import annotations

import builtins
import gc
import os
import random
import sys
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# The entry point of tt's plugin makes pytest rewrite the assertions of every module of tt, of which there are hundreds
# and which have none to show: it takes longer than importing them.
for finder in sys.meta_path:
    getattr(finder, "_must_rewrite", set()).discard("tt")

import tt
from tests.seeds import drawn_seed
from tests.tiers import (
    LONG,
    ROOT,
    SLICES,
    Slice,
    changed_paths,
    families,
    family_of,
    is_in_slice,
    mark_tiers,
    scope_of,
)
from tt.backends.cpu.native import loading
from tt.core import compiled

# Whatever the user of this machine prefers, read at the first tensor.
os.environ["TT_CONFIG"] = os.environ["TT_PREFER"] = ""

# No deadline: the first example of a test also resolves its kernels, and the machines of a CI service stall at times.
# A CI service judges every change by the same examples; everywhere else each run draws new ones.
SAME_EXAMPLES = bool(os.environ.get("CI"))
hypothesis.settings.register_profile("default", deadline=None, max_examples=25, derandomize=SAME_EXAMPLES)
hypothesis.settings.register_profile(
    "exhaustive", deadline=None, max_examples=1000, derandomize=SAME_EXAMPLES
)
hypothesis.settings.load_profile("default")


SEED = pytest.StashKey[int]()
"""Where a run keeps its seed."""

NEEDED = ("torch", "cupy", "mpi4py")
"""Libraries whose tests have a marker of the same name, by which continuous integration chooses them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what chooses a slice of the exhaustive tier."""
    group = parser.getgroup("tiers of tests")
    group.addoption(
        "--slice", metavar="K/N", help=f"run a slice of the exhaustive tier and nothing else, e.g. 3/{SLICES}"
    )
    group.addoption(
        "--changed-since",
        metavar="COMMIT",
        help="with --slice: also its tests at paths that have changed since",
    )
    group.addoption(
        "--family", metavar="NAME", help="run the tests of a family of operators and nothing else"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse wrong options before any process of pytest-xdist starts: there they would be internal errors."""
    if config.getoption("--slice"):
        Slice.parse(config.getoption("--slice"))
    if config.getoption("--changed-since"):
        changed_paths(config.getoption("--changed-since"))
    family = config.getoption("--family")
    if family and family not in families():
        raise pytest.UsageError(f"--family={family}: the families are {', '.join(families())}")
    given = getattr(
        config, "workerinput", {}
    )  # the processes of pytest-xdist have the seed of the one that starts them
    config.stash[SEED] = given["seed"] if "seed" in given else drawn_seed()


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    """Hand the seed to a process that runs tests."""
    node.workerinput["seed"] = node.config.stash[SEED]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say in which form the hot modules and the kernels of the CPU run, and why."""
    found, native = compiled.status(), loading.status()
    return [
        f"tt {tt.__version__}, {'compiled' if found.active else 'interpreted'}: {found.reason}",
        f"kernels of the CPU, {'native' if native.active else 'NumPy'}: {native.reason}",
        *warnings_of_fallbacks(found.reason, native.reason),
        f"random numbers: TT_TEST_SEED={config.stash[SEED]} draws the same",
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Warn once more where the results are read, and with -q, which leaves out the header."""
    for line in warnings_of_fallbacks(compiled.status().reason, loading.status().reason):
        terminalreporter.write_line(line, yellow=True)


def warnings_of_fallbacks(hot_modules: str, native: str) -> list[str]:
    """Return a line for each kind of compiled libraries that serves no more: the tests judge what replaces it."""
    unfit = ("stale", "incomplete")
    return [
        f"WARNING: the compiled {what} are not used; try: {remedy}"
        for what, reason, remedy in (
            ("hot modules", hot_modules, "make develop"),
            ("kernels of the CPU", native, "make native"),
        )
        if reason.startswith(unfit)
    ]


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, as --dist=loadfile does, but for the files that are divided.

    Files of many tests come first there: long ones of few tests would be left for the end, and for one process.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler.loadfile import LoadFileScheduling

    class LoadFilesAndParts(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            for scope in [scope for scope in LONG if scope in self.workqueue]:
                self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return LoadFilesAndParts(config, log)


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set the markers of tiers, and keep a slice if one was asked for."""
    mark_tiers(items)
    for item in items:
        # Examples of functions of `tt` see that module's names, among which are `float` and `sum` once they were used.
        if isinstance(item, pytest.DoctestItem) and item.dtest.globs.get("__name__") == "tt":
            item.dtest.globs.update(vars(builtins))
    if config.getoption("--slice"):
        part = Slice.parse(config.getoption("--slice"))
        since = config.getoption("--changed-since")
        changed = changed_paths(since) if since else frozenset()
        kept = [item for item in items if is_in_slice(item, part, changed)]
        chosen = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of other families before they are imported, which takes longer than many of their tests."""
    family = config.getoption("--family")
    if not family or collection_path.is_dir() or not collection_path.is_relative_to(ROOT):
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    return True if family_of(path, families()) != family else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the tests themselves, which live until the end: it would walk them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before the fixtures draw
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose library is not installed; begin the random numbers of the others.

    They follow from the name of the test and the seed of the run, whatever ran before it in its process.
    """
    for name in NEEDED:
        if item.get_closest_marker(name) is not None:
            pytest.importorskip(name)
    seed = item.config.stash[SEED] + zlib.crc32(item.nodeid.encode())
    tt.manual_seed(seed)
    random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips for want of a library and does not have its marker: no job would ever run it."""
    report = yield
    if report.skipped:
        for name in NEEDED:
            if skipped_for(name, report.longrepr) and item.get_closest_marker(name) is None:
                report.outcome = "failed"
                report.longrepr = f"{item.nodeid} needs {name} and has no marker {name!r}"
    return report


def skipped_for(library: str, longrepr: object) -> bool:
    """Return whether the reason of a skip is that a library cannot be imported."""
    reason = str(longrepr[2]) if isinstance(longrepr, tuple) else ""
    return f"could not import '{library}'" in reason or f"No module named '{library}'" in reason


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Forget a module that skipped itself while it was imported.

    pytest leaves it in `sys.modules` as far as it came, and the next file that imports it would find names missing
    instead of being skipped for the same reason.
    """
    report = yield
    if report.outcome == "skipped":
        for name, module in list(sys.modules.items()):
            if name.startswith("tests.") and getattr(module, "__file__", None) == str(collector.path):
                del sys.modules[name]
        for library in NEEDED:
            # Only tests need the marker: of their imports, doctests alone are collected.
            wanted = collector.path.name.startswith("test_") and skipped_for(library, report.longrepr)
            if wanted and f"mark.{library}" not in collector.path.read_text(encoding="utf-8"):
                report.outcome = "failed"
                report.longrepr = (
                    f"{collector.nodeid} needs {library}: set pytestmark = pytest.mark.{library}"
                )
    return report


@pytest.fixture(autouse=True)
def settings_are_left_as_found() -> Iterator[None]:
    """Fail a test that changes a global setting and does not change it back."""
    before = tt.get_default_dtype(), tt.get_default_device()
    yield
    after = tt.get_default_dtype(), tt.get_default_device()
    tt.set_default_dtype(before[0])
    tt.set_default_device(before[1])
    assert after == before, f"the test left the default dtype and device at {after}, they were {before}"
