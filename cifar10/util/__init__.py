"""Files, session settings, logs, optional packages: shared by all wings."""
