"""tt.utils.benchmark: how long statements take, measured often enough to be trusted, and tables that compare."""

from __future__ import annotations

from tt.utils.benchmark.compare import Colorize, Compare
from tt.utils.benchmark.measurement import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from tt.utils.benchmark.timer import Language, Timer, set_threads, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "select_unit",
    "set_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
