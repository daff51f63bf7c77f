"""Conformance: whether a device serves the operators as the schema says.

Every operator runs on its samples.  Each call is checked in several ways, each under a name:

- runs: the call succeeds, or raises the error that the sample names;
- meta: shape, dtype and (for views and row-major inputs) strides are those of the shape rule; what depends on data
  is refused without data;
- values: the values are those of a reference;
- inputs: the arguments are unchanged;
- view: the result shares its argument's memory;
- inplace, out: these forms do what the functional form does;
- seed: a random operator repeats itself for the same seed;
- composite: without the kernels of non-core operators the result is the same.
"""

from tt.core.testing.conformance.checks import CHECKS
from tt.core.testing.conformance.report import Failure, Report
from tt.core.testing.conformance.run import QUICK, check_conformance

__all__ = ["CHECKS", "QUICK", "Failure", "Report", "check_conformance"]
