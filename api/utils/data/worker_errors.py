"""Exceptions on their way from a worker to the loader's process."""

from __future__ import annotations

import pickle
import traceback

__all__ = ["ExceptionWrapper", "Verbatim"]


class Verbatim(str):
    """A text that is shown as it is where an exception shows the repr of its argument, as KeyError does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with the text of its traceback, which another process raises again.

    Parameters
    ----------
    error : BaseException
        The exception.
    where : str
        Where it was raised, for the message.

    Examples
    --------
    >>> from tt.utils.data.worker_errors import ExceptionWrapper
    >>> try:
    ...     {}["key"]
    ... except KeyError as error:
    ...     wrapped = ExceptionWrapper(error, "in DataLoader worker process 0")
    >>> wrapped.reraise()
    Traceback (most recent call last):
        ...
    KeyError: Caught KeyError in DataLoader worker process 0.
    Original Traceback (most recent call last):
        ...
    """

    def __init__(self, error: BaseException, where: str) -> None:
        self.name = type(error).__name__
        self.where = where
        self.text = "".join(traceback.format_exception(error))
        # A class that is defined in the worker, or an exception that does not survive pickling, has to stay there.
        try:
            self.kind: bytes | None = pickle.dumps(type(error))
        except Exception:
            self.kind = None
        try:
            self.original: bytes | None = pickle.dumps(error)
            pickle.loads(self.original)
        except Exception:
            self.original = None

    def message(self) -> str:
        """Return the text of the exception: what was caught, and the worker's traceback."""
        return f"Caught {self.name} {self.where}.\nOriginal {self.text}"

    def reraise(self) -> None:
        """Raise an exception of the same class, caused by the original one.

        If the class is not made from a message, the exception is raised unchanged, with the traceback as a note; an
        unknown class becomes a RuntimeError.
        """
        message = self.message()
        original = _unpickled(self.original)
        cause = original if isinstance(original, BaseException) else None
        kind = _unpickled(self.kind)
        if isinstance(kind, type) and issubclass(kind, BaseException):
            try:
                new = kind(Verbatim(message) if issubclass(kind, KeyError) else message)
            except Exception:
                new = None
            # Some constructors take a text as something else, and say nothing of it.
            if type(new) is kind and message in str(new):
                raise new from cause
            if isinstance(original, BaseException) and type(original) is kind:
                original.add_note(message)
                raise original
        raise RuntimeError(message)


def _unpickled(data: bytes | None) -> object:
    """Return what was pickled, or None where this process cannot."""
    if data is None:
        return None
    try:
        return pickle.loads(data)
    except Exception:
        return None
