"""tt.utils.dlpack: exchange of tensors with other libraries, without a copy."""

from __future__ import annotations

from enum import IntEnum

from tt import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The numbers of device types, as the first item of `x.__dlpack_device__()` has them.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.dlpack import DLDeviceType
    >>> DLDeviceType(tt.ones(1).__dlpack_device__()[0]).name
    'kDLCPU'
    """

    kDLCPU = 1  # noqa: N815
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
    kDLOpenCL = 4  # noqa: N815
    kDLVulkan = 7  # noqa: N815
    kDLMetal = 8  # noqa: N815
    kDLVPI = 9  # noqa: N815
    kDLROCM = 10  # noqa: N815
    kDLROCMHost = 11  # noqa: N815
    kDLExtDev = 12  # noqa: N815
    kDLCUDAManaged = 13  # noqa: N815
    kDLOneAPI = 14  # noqa: N815
    kDLWebGPU = 15  # noqa: N815
    kDLHexagon = 16  # noqa: N815
    kDLMAIA = 17  # noqa: N815
