"""`tt.backends`: what lies below it is loaded when it is first used."""

from __future__ import annotations

import pytest

import tt
from tests.processes import printed_by


def test_backends_are_loaded_when_they_are_used():
    code = (
        "import sys, tt\n"
        "assert not any(name.startswith('tt.backends') for name in sys.modules)\n"
        "tt.backends\n"
        "assert 'tt.backends.cuda' not in sys.modules and 'cuda' in dir(tt.backends)\n"
        "tt.backends.cuda.matmul.allow_tf32 = True\n"
        "assert tt.backends.cuda.cudnn.enabled and 'cupy' not in sys.modules\n"
        "print('tt.backends is there')\n"
    )
    assert printed_by(code) == "tt.backends is there\n"


def test_there_are_no_others():
    with pytest.raises(AttributeError, match="has no attribute 'tpu'"):
        tt.backends.tpu  # noqa: B018
