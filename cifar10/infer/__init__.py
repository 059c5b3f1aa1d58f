"""Uses trained models: evaluates, predicts, exports."""
