"""A training run as one HTML page."""
