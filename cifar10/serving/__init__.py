"""Using a trained model: restoring, predicting, exporting."""
