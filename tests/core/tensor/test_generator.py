"""Generators: each type of device has its own."""

from __future__ import annotations

import tt


def test_random_numbers_of_one_type_are_seeded_alone() -> None:
    before = tt.get_device_module("meta").get_rng_state()
    tt.cpu.manual_seed_all(5)
    first = tt.rand(3)
    state = tt.cpu.get_rng_state()
    second = tt.rand(3)
    tt.cpu.set_rng_state(state)
    assert tt.rand(3).tolist() == second.tolist() and tt.cpu.initial_seed() == 5
    tt.cpu.manual_seed(5)
    assert tt.rand(3).tolist() == first.tolist()
    assert tt.get_device_module("meta").get_rng_state().tolist() == before.tolist()
    tt.cpu.seed()
    assert tt.cpu.initial_seed() != 5
