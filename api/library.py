"""tt.library: the interface for authors of plugins, backends, layers and operators.

Its names keep their meaning within a version of the hooks (`tt.core.hooks`); docs/plugins.md describes them.  What
only the plugins of tt itself need is in `tt.core.library`, which may change at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy import attach

if TYPE_CHECKING:
    from tt.backends.array_api import ArrayApiBackend as ArrayApiBackend
    from tt.backends.cpu.native.checksums import crc32 as crc32
    from tt.backends.cpu.native.reading import empty_bytes as empty_bytes
    from tt.backends.cpu.native.reading import read_into as read_into
    from tt.core.library import *  # noqa: F403
    from tt.testing.opcheck import opcheck as opcheck

# Authors of operators need no backend, programs no checks, and backends no custom operators.
__all__ = attach(
    __name__,
    {
        "tt.core.library": (
            "ALL_DTYPES Backend Carried CompositeTable custom_op CustomOp define DETERMINISM DeviceInterface "
            "DeviceProperties errors from_numpy_dtype get_all_sharing_strategies get_ctx get_kernel "
            "get_sharing_strategy handle_of hookimpl impl impl_abstract infer_schema KernelTable Layer "
            "LazyKernelTable Library Manifest mask_kernels OpDefinition ops overridable PluginRegistry "
            "QUANTIZED reduce_shared register_autocast register_autograd register_fake register_kernel "
            "register_torch_dispatch register_tt_dispatch register_vmap REGISTRY reserve Result scoped "
            "set_sharing_strategy Signature Storage tensor_in_storage to_dtype TTDispatchMode TTFunctionMode "
            "warn_user wrap"
        ),
        "tt.backends.array_api": "ArrayApiBackend",
        "tt.backends.cpu.native.checksums": "crc32",
        "tt.backends.cpu.native.reading": "empty_bytes read_into",
        "tt.testing.opcheck": "opcheck",
    },
)
