"""Automatic mixed precision: operators choose the precision in which they compute."""
