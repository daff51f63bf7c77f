"""Conformance: whether a device serves the operators as the schema says.

Every operator runs on its samples, and each call is checked in several ways, each under a name:

- runs: the call succeeds, or raises the error that the sample names;
- inputs: the arguments are unchanged;
- meta: shape, dtype and (for views and row-major inputs) strides are those of the shape rule; what depends on data
  is refused without data;
- device: results and intermediates are where the arguments are, and nothing is read back to the host;
- values: the values are those of a reference;
- view: the result shares its argument's memory;
- alias: a result that is not a view has memory of its own;
- method, inplace, out: these forms agree with the functional form;
- identity: a tensor changed in place stays the same tensor, with its class, gradient and place in the graph;
- seed: a random operator repeats itself for the same seed, and only for the same;
- gradient: the backward pass gives the derivative;
- training: a small network learns as on the CPU;
- composite: without the kernels of non-core operators the result is the same;
- laws: the promises of kind, tags, variants and rules of result hold.
"""

from tt.testing.conformance.checks import CHECKS
from tt.testing.conformance.run import QUICK, Target, check_conformance, check_target, targets
from tt.testing.findings.report import Failure, Report

__all__ = ["CHECKS", "QUICK", "Failure", "Report", "Target", "check_conformance", "check_target", "targets"]
