"""The files of a run: checkpoints, settings, state."""
