"""tt.utils.model_zoo: the older name of `tt.hub.load_state_dict_from_url`."""

from __future__ import annotations

from tt.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
