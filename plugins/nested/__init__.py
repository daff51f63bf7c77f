"""Nested tensors: batches of rows of different lengths, in the layout jagged."""
