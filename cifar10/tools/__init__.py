"""Programs around runs: report, search, sparse and imported weights."""
