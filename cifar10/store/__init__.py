"""What a run leaves on disk: checkpoints, settings, state."""
