"""tt without any backend or plugin: schema, dispatcher, tensors, plugin host."""
