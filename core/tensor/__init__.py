"""A tensor's data: storage, fields, and what a backend says of its arrays."""
