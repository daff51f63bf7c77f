"""tt.jit.annotations: the types that older programs import from here for their scripts."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - the names that programs import

from tt.futures import Future

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006 - as PyTorch's

__all__ = ["Any", "Dict", "Future", "List", "Optional", "Tuple", "Union"]
