"""Conformance samples: for every family that ops.yaml names, the calls on which an operator is checked."""

from tt.core.testing.samples.base import Family, FamilyTable, Inputs, Sample
from tt.core.testing.samples.registry import families, samples

__all__ = ["Family", "FamilyTable", "Inputs", "Sample", "families", "samples"]
