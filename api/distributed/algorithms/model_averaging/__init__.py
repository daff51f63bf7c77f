"""Averages of parameters between ranks that have trained alone for some steps."""
