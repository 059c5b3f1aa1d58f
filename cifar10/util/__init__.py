"""Files, sessions, logs and optional packages: what every wing may use."""
