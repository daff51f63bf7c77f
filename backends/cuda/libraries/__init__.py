"""NVIDIA's libraries behind own doors: whether each can be used, and calls with plans that are made once."""
