"""What all tests share: Hypothesis profiles, a header that says which form runs, and a watch over global settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator

import hypothesis
import pytest

import tt
from tt.core import compiled

# Whatever the user of this machine prefers, read at the first tensor.
os.environ["TT_CONFIG"] = os.environ["TT_PREFER"] = ""

# No deadline: the first example of a test also resolves its kernels, and the machines of a CI service stall at times.
# A CI service judges every change by the same examples; everywhere else each run draws new ones.
SAME_EXAMPLES = bool(os.environ.get("CI"))
hypothesis.settings.register_profile("default", deadline=None, max_examples=50, derandomize=SAME_EXAMPLES)
hypothesis.settings.register_profile(
    "exhaustive", deadline=None, max_examples=1000, derandomize=SAME_EXAMPLES
)
hypothesis.settings.load_profile("default")


def pytest_report_header() -> str:
    """Say whether the hot modules run compiled or interpreted, and why."""
    found = compiled.status()
    return f"tt {tt.__version__}, {'compiled' if found.active else 'interpreted'}: {found.reason}"


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
