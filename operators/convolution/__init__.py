"""Convolutions, and what moves windows."""
