"""tt.utils.model_zoo: the older name of `tt.hub.load_state_dict_from_url`."""

from __future__ import annotations

from typing import Any

from tt import hub
from tt.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'tt.utils.model_zoo' has no attribute {name!r}")
    return hub.tqdm
