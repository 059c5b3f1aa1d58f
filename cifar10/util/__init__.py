"""Files, session settings, logs, optional packages: for all other packages."""
