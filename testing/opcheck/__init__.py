"""opcheck: whether an operator does what its registrations say, all failures in one report."""

from tt.testing.opcheck.check import TESTS, opcheck
from tt.testing.opcheck.report import FAULTS, OpCheckFailure, OpCheckReport

__all__ = ["FAULTS", "TESTS", "OpCheckFailure", "OpCheckReport", "opcheck"]
