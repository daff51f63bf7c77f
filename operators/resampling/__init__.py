"""Interpolation, and samples at the points of a grid."""
