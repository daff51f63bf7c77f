"""Jobs are run by `python -m tests.ecosystem`: they import libraries that need not be installed."""

from __future__ import annotations

collect_ignore_glob = ["jobs/*", "programs/*", "runner.py"]
