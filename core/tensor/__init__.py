"""A tensor's data: storage, fields, and the backend's interface to its arrays."""
