"""tt.cuda.random: the generators of CUDA devices, whose functions are those of `tt.cuda`."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.cuda": (
            "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all "
            "set_rng_state set_rng_state_all"
        ),
    },
)
