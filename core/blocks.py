"""Context managers that an interrupt (Ctrl-C, a signal's handler that raises) does not leave half entered or half left.

Note [Blocks and interrupts]
----------------------------
Python runs the handlers of signals when a Python function begins and after calls of C functions.  So an exception can
begin within `__enter__` after its effect, when `__exit__` will not be called, and at the first instruction of
`__exit__`, which then does nothing at all.  The methods of `Block` are compiled: no handler runs in them.  What a
subclass adds in Python may be interrupted, so they undo a half entered block, and leave again if leaving was
interrupted: `_end` has to do the same when it is called twice.

Interpreted, this module leaves one gap: the first instruction of `__exit__`.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType
from typing import Any

__all__ = ["Block", "swapped", "together"]


class Block:
    """A context manager that a subclass describes by three methods: how it was, what changes, and how to go back."""

    _befores: list[Any]

    def _look(self) -> Any:
        """Return the state to restore at the end; changes nothing."""

    def _begin(self) -> Any:
        """Begin the block; the result is the target of `with`."""
        return self

    def _end(self, before: Any) -> None:
        """Go back to what `_look` returned, also from half of the way, and also when this was done already."""

    def _leave(self, stack: list[Any]) -> None:
        """End the block by the last of its entries, which are dropped from the stack afterwards; also a second time."""
        self._end(stack[-1])

    def __enter__(self) -> Any:
        before = self._look()
        stack = getattr(self, "_befores", None)
        if stack is None:
            stack = self._befores = []
        depth = len(stack)
        try:
            stack.append(before)
            return self._begin()
        except BaseException:
            try:
                # Once more if that is interrupted, too; see Note [Blocks and interrupts].
                self._end(before)
            except BaseException:
                self._end(before)
                raise
            finally:
                del stack[depth:]
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        stack = getattr(self, "_befores", None)
        if not stack:
            return  # left already, by a hook of its own or by hand
        try:
            self._leave(stack)
        except BaseException:
            self._leave(stack)
            raise
        finally:
            # Also when leaving raised: an entry that stays would be taken for that of a later `with`.
            del stack[-1:]


class swapped(Block, ContextDecorator):  # noqa: N801 - reads as a statement: with swapped(owner, "name", value)
    """Gives an attribute another value inside a `with` block.

    Parameters
    ----------
    owner : object
        Whose attribute it is.
    name : str
        Its name.
    value : object
        The value in the block.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from tt.core.blocks import swapped
    >>> options = SimpleNamespace(width=80)
    >>> with swapped(options, "width", 40):
    ...     options.width
    40
    >>> options.width
    80
    """

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self._owner = owner
        self._name = name
        self._value = value

    def _look(self) -> Any:
        return getattr(self._owner, self._name)

    def _begin(self) -> None:
        setattr(self._owner, self._name, self._value)

    def _end(self, before: Any) -> None:
        setattr(self._owner, self._name, before)


class together(Block):  # noqa: N801 - reads as a statement: with together(first, second)
    """Enters several blocks as one, and leaves them in the reverse order."""

    def __init__(self, *blocks: Block) -> None:
        self._blocks = blocks

    def _look(self) -> list[Any]:
        return [block._look() for block in self._blocks]

    def _begin(self) -> None:
        for block in self._blocks:
            block._begin()

    def _end(self, before: list[Any]) -> None:
        # In reverse, as nested blocks end.
        for block, its in zip(reversed(self._blocks), reversed(before), strict=True):
            block._end(its)
