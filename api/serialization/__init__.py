"""tt.serialization: saving and loading, and what files may do.

`tt.save` and `tt.load` are what programs need; see docs/saving.md.  What saves is imported
when it is used: programs that only load files start faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy import attach
from tt.serialization.allow_list import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from tt.serialization.loading import load
from tt.serialization.locations import MAP_LOCATION, default_restore_location, location_tag, register_package
from tt.serialization.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from tt.serialization.storages import LoadedStorage

if TYPE_CHECKING:
    from tt.serialization.rebuilding import _get_layout as _get_layout
    from tt.serialization.saving import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
    from tt.serialization.saving import save as save
    from tt.serialization.unsafe_globals import (
        get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint,
    )

__all__ = [
    "MAP_LOCATION",
    "LoadEndianness",
    "LoadedStorage",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    *(
        name
        for name in attach(
            __name__,
            {
                ".rebuilding": "_get_layout",  # which pickles name
                ".saving": "DEFAULT_PROTOCOL save",
                ".unsafe_globals": "get_unsafe_globals_in_checkpoint",
            },
        )
        if not name.startswith("_")
    ),
]
