"""torch._VF: functions of PyTorch's C++ by name: the operators, the older forms of recurrent layers among them."""

from __future__ import annotations

from typing import Any

import tt

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(tt, name)
