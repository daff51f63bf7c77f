"""tt.__config__: how tt runs on this machine, as texts."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return versions, libraries and settings, as `tt env` prints them.

    Examples
    --------
    >>> import tt.__config__
    >>> tt.__config__.show().splitlines()[0]
    'tt'
    """
    from tt.utils.collect_env import get_pretty_env_info

    return get_pretty_env_info()


def parallel_info() -> str:
    """Return how many threads kernels use, and which variables say so.

    Examples
    --------
    >>> import tt.__config__
    >>> "tt.get_num_threads()" in tt.__config__.parallel_info()
    True
    """
    import os

    import tt

    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    lines = [
        f"tt.get_num_threads() : {tt.get_num_threads()}",
        f"tt.get_num_interop_threads() : {tt.get_num_interop_threads()}",
        f"os.cpu_count() : {os.cpu_count()}",
        *(f"{name} : {os.environ.get(name, '[not set]')}" for name in names),
    ]
    return "\n".join(lines) + "\n"
