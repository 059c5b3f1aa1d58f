"""A search for good settings."""
