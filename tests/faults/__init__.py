"""The fault campaign: random faults, real processes, the same checks."""
