"""Exceptions that travel: class, message, cause, and those that cannot be made again."""

from __future__ import annotations

import pickle

import pytest

from tt.utils.data.worker_errors import ExceptionWrapper


class TwoArgumentsError(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


class ForgetsError(Exception):
    def __init__(self, code):
        super().__init__("always the same")


def travelled(error):
    """Return the error that arrives when an exception has travelled."""
    try:
        raise error
    except Exception as caught:
        wrapped = ExceptionWrapper(caught, "somewhere")
    with pytest.raises(Exception) as found:
        pickle.loads(pickle.dumps(wrapped)).reraise()
    return found.value


@pytest.mark.parametrize("error", [ValueError("what"), KeyError("what"), OSError(2, "what")])
def test_the_class_and_the_traceback_stay(error):
    found = travelled(error)
    assert type(found) is type(error)
    assert str(found).startswith(f"Caught {type(error).__name__} somewhere.\nOriginal Traceback (most recent")
    assert "what" in str(found)
    assert type(found.__cause__) is type(error)
    assert found.__cause__.args == error.args


@pytest.mark.parametrize("error", [TwoArgumentsError(1, 2), ForgetsError(3)])
def test_an_exception_that_takes_no_message_has_a_note(error):
    found = travelled(error)
    assert type(found) in (type(error), RuntimeError)
    assert "Original Traceback" in "\n".join([str(found), *getattr(found, "__notes__", ())])


def test_a_class_that_only_the_worker_has_becomes_a_runtime_error():
    class LocalError(Exception):
        pass

    found = travelled(LocalError("what"))
    assert type(found) is RuntimeError
    assert "Caught LocalError somewhere" in str(found)
    assert "what" in str(found)
