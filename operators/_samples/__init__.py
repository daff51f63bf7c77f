"""The kit with which families make their samples."""
