"""What the CPU of this machine can do."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

__all__ = ["get_capabilities"]

_X86: Final = """
sse sse2 sse3=pni ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx_vnni_int8 avx_vnni_int16 avx_ne_convert avx10_1
avx10_2
avx512_f=avx512f avx512_cd=avx512cd avx512_dq=avx512dq avx512_bw=avx512bw avx512_vl=avx512vl avx512_ifma=avx512ifma
avx512_vbmi=avx512vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 avx512_fp16
avx512_vp2intersect avx512_4vnniw avx512_4fmaps amx_bf16 amx_tile amx_int8 amx_fp16 fma3=fma fma4 f16c bmi=bmi1 bmi2
popcnt lzcnt=abm aes sha=sha_ni clflush clflushopt clwb
"""
_ARM: Final = """
neon=asimd fp16_arith=asimdhp bf16 i8mm dot=asimddp sve sve2 sve_bf16=svebf16 sme sme2 atomics fhm=asimdfhm rdm=asimdrdm
crc32 aes sha1 sha2 pmull
"""
"""PyTorch's names of the instruction sets, and those of Linux where they differ."""


@cache
def get_capabilities() -> Mapping[str, bool | int | str]:
    """Return what the CPU can do: names of instruction sets as PyTorch has them, and whether they are there.

    "architecture" is the name of the architecture, "num_logical_cores" the number of cores.  Instruction sets are
    listed on Linux for x86-64 and ARM64.

    Examples
    --------
    >>> import tt
    >>> tt.cpu.get_capabilities().get("avx2", False) in (True, False)
    True
    """
    machine = platform.machine()
    capabilities: dict[str, bool | int | str] = {}
    table = {"x86_64": _X86, "aarch64": _ARM}.get(machine, "")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            words = re.search(r"^(?:flags|Features)\s*:(.*)", file.read(), re.MULTILINE)
    except OSError:
        words = None
    if words is not None:
        there = set(words[1].split())
        for entry in table.split():
            name, _, linux = entry.partition("=")
            capabilities[name] = (linux or name) in there
    capabilities["architecture"] = machine
    capabilities["num_logical_cores"] = os.cpu_count() or 1
    return MappingProxyType(capabilities)
