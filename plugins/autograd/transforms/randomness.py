"""Random operators inside `vmap`: refused, the same numbers for all examples, or others for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import (
    DrawHandler,
    Generator,
    TensorBase,
    default_states,
    errors,
    ops,
    set_default_states,
)
from tt.plugins.autograd.transforms.levels import Level, batched, unwrap

__all__ = ["Randomness", "check_randomness"]


def check_randomness(function: str, randomness: str) -> None:
    """Refuse an unknown kind of randomness."""
    if randomness not in ("error", "different", "same"):
        raise errors.GradientError(
            f"{function}: Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )


class Randomness(DrawHandler):
    """The behaviour of random operators while a level runs.

    Parameters
    ----------
    level : Level
        The level.
    randomness : str
        "error", "different" or "same".
    """

    def __init__(self, level: Level, randomness: str) -> None:
        self.level, self.randomness = level, randomness

    def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
        """Run a call of a random operator by the level's setting."""
        operator = caller.operator
        if _draws_nothing(operator, args):
            return caller.dispatch(args)
        if self.randomness == "error":
            raise errors.UnsupportedError(
                f"vmap: called random operation {operator.name}() while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        differs = any(unwrap(item, self.level)[1] is not None for item in _flat(args))
        if not differs:
            if self.randomness == "same":
                return caller.dispatch(args)
            if caller.form != "functional":
                raise errors.InplaceError(
                    f"vmap: {operator.name} changes a tensor that is the same for all examples to numbers that differ "
                    "by example\n  try: randomness='same', or the operation that returns a new tensor"
                )
        elif caller.form == "inplace" and unwrap(args[0], self.level)[1] is None:
            raise errors.InplaceError(
                f"vmap: {operator.definition.inplace_name}() changes a tensor that is the same for all examples by one "
                "that differs by example\n  try: the operation that returns a new tensor"
            )
        return self._one_by_one(caller, args)

    def _one_by_one(self, caller: Any, args: tuple[Any, ...]) -> Any:
        """Draw for each example; for the same numbers, from the same state each time."""
        generators = [value for value in args if isinstance(value, Generator)]
        states = [generator.get_state() for generator in generators]
        defaults = default_states()
        results = []
        for number in range(self.level.size):
            # The first example draws as one call would, so that the generator ends up as after one call, too.
            if number and self.randomness == "same":
                set_default_states(defaults)
                for generator, state in zip(generators, states, strict=True):
                    generator.set_state(state)
            results.append(caller.dispatch(tuple(self._example(value, number) for value in args)))
        if caller.form == "inplace":
            return args[0]
        return batched(ops.stack(results), 0, self.level)

    def _example(self, value: Any, number: int) -> Any:
        inside, dim = unwrap(value, self.level)
        return inside if dim is None else ops.select(inside, dim, number)


def _flat(args: Sequence[Any]) -> list[Any]:
    return [value for value in args if isinstance(value, TensorBase)]


def _draws_nothing(operator: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a random operator passes its input on: dropout in evaluation, or of nothing."""
    arguments = {name: args[position] for name, position in operator.positions.items()}
    if arguments.get("training", arguments.get("train")) is False:
        return True
    return "dropout" in operator.name and arguments.get("p") == 0
