"""tt.cuda.random: the generators of CUDA devices, whose functions are those of `tt.cuda`."""

from typing import Any

_SHARED = (
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
)

__all__ = [*_SHARED]


def __getattr__(name: str) -> Any:
    import tt.cuda

    if name not in __all__:
        raise AttributeError(f"module 'tt.cuda.random' has no attribute {name!r}")
    return getattr(tt.cuda, name)


def __dir__() -> list[str]:
    return __all__
