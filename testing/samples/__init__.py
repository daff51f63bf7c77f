"""Conformance samples: for every family that ops.yaml names, the calls on which an operator is checked."""

from tt.operators._samples.base import Family, FamilyTable, Inputs, Sample
from tt.operators._samples.registry import families, samples

__all__ = ["Family", "FamilyTable", "Inputs", "Sample", "families", "samples"]
