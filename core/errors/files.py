"""Files: what cannot be read, and what must not be."""

from __future__ import annotations

import pickle

from tt.core.errors.base import TTError


class CorruptFileError(TTError, RuntimeError, pickle.UnpicklingError):
    """A file that is cut off, damaged, hostile, or of no format that `tt.load` reads.

    Attributes
    ----------
    path : str
        Its name, or "<file object>".
    problem : str
        The fault, in words.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}")


class EmptyFileError(CorruptFileError, EOFError):
    """A file without contents."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the file is empty")


class UnsafeGlobalError(TTError, pickle.UnpicklingError):
    """A file that needs a class or function that loading with `weights_only=True` does not allow.

    Attributes
    ----------
    name : str
        The class or function, with its module.
    path : str
        The file.
    action : str
        Its use in the file.
    blocked : str or None
        The module because of which it is refused even if it is in the list of safe globals.
    """

    def __init__(self, name: str, path: str, action: str = "uses", *, blocked: str | None = None) -> None:
        self.name, self.path, self.action, self.blocked = name, path, action, blocked
        if blocked is not None:
            super().__init__(
                f"{path} {action} {name}, whose module {blocked} is blocked: it runs code, and is refused whatever "
                "tt.serialization.safe_globals lists; nothing of it was run\n"
                "  try: weights_only=False, which runs whatever the file says, if you trust its source"
            )
            return
        super().__init__(
            f"{path} {action} {name}, which loading with weights_only=True does not allow; nothing of it was run\n"
            f"  try: tt.serialization.add_safe_globals([{name.rpartition('.')[2]}]), if calling it with any arguments "
            "is harmless\n"
            "  or: weights_only=False, which runs whatever the file says, if you trust its source"
        )


class UntrustedSourceError(TTError, RuntimeError):
    """Code of a repository that the user did not agree to run."""

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(
            f"{source} is not trusted: tt.hub would run its code\n"
            "  try: trust_repo=True, after a look at the repository"
        )
