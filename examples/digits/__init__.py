"""Trains a classifier of handwritten digits; `tt demo` runs it."""
