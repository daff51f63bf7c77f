"""Writes to places on CUDA, and embeddings."""
