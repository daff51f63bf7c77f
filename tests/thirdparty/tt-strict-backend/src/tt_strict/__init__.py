"""array-api-strict as a device of tt."""
