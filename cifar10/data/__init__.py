"""Data on disk: records, data sets and pictures; reading and making them."""
