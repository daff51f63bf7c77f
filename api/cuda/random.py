"""tt.cuda.random: the generators of CUDA devices, whose functions are those of `tt.cuda`."""

from tt.core.host.lazy_names import lazy_names

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

__getattr__, __dir__ = lazy_names("tt.cuda.random", dict.fromkeys(_SHARED, "tt.cuda"))
