"""The benchmarks are programs of the repository, not part of the package: they are found from its root."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
