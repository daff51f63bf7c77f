"""Elements written to places that tensors name, and embeddings."""
