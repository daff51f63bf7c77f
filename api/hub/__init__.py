"""tt.hub: models of GitHub repositories and of local folders, through the `hubconf.py` that they hold.

A `hubconf.py` is a Python program: using a repository runs its code.  So tt asks the
user about a repository that was never trusted, and runs nothing without a terminal to ask on.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlparse as urlparse

from tt.hub.files import HASH_REGEX as HASH_REGEX
from tt.hub.files import _get_torch_home as _get_torch_home
from tt.hub.files import download_url_to_file, get_dir, load_state_dict_from_url, set_dir
from tt.hub.models import help, list, load

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'tt.hub' has no attribute {name!r}")
    # Not when tt.hub is imported: the package loads much.
    from tt.hub.progress import bar

    return bar()
