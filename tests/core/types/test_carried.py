"""State that goes along into another thread."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Final

from tests.threads import in_threads
from tt.core.types.carried import Carried, state_of_thread

ROOT: Final = Path(__file__).parents[3]
MODULE: Final = ROOT / "core/types/carried.py"


class Settings(Carried):
    level = 0


SETTINGS: Final = Settings()


def test_another_thread_gets_the_state_and_what_it_sets_comes_back():
    seen = []

    def other():
        SETTINGS.level, SETTINGS.unknown = 5, 1  # of a thread that was there before
        given()
        seen.append((SETTINGS.level, hasattr(SETTINGS, "unknown")))
        SETTINGS.level = 2
        seen.append(state_of_thread())

    SETTINGS.level = 1
    given = state_of_thread()
    in_threads(other)
    assert (seen[0], SETTINGS.level) == ((1, False), 1)
    seen[1]()
    assert SETTINGS.level == 2
    in_threads(lambda: seen.append(SETTINGS.level))
    assert seen[-1] == 0


def test_an_instance_that_nothing_holds_is_gone():
    made = weakref.ref(Settings())
    gc.collect()
    assert made() is None


def test_all_state_of_threads_in_the_tree_is_carried():
    """A `threading.local` that is no `Carried` would be lost where a backward pass goes on in another thread."""
    pattern = re.compile(r"threading\.local\b|_thread\._local|from threading import .*\blocal\b|ContextVar\(")
    files = [
        path for name in ("core", "plugins", "backends", "api", "cli") for path in (ROOT / name).rglob("*.py")
    ]
    found = [
        str(path.relative_to(ROOT)) for path in files if pattern.search(path.read_text(encoding="utf-8"))
    ]
    # That of `state` goes with its thread by design: it marks the thread's end.
    assert len(files) > 900 and found == [str(MODULE.relative_to(ROOT)), "core/types/state.py"]
