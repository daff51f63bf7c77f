"""What tt is without any backend or plugin."""
