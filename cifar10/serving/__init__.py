"""What uses a trained model: checkpoints restored, pictures labelled, exports."""
