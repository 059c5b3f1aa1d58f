"""What all trainers share: session, hooks, directory, validation, recipes."""
