"""Use of a trained model: checkpoints, labels of pictures, exports."""
