"""Optimizers, schedules, clipping, averages and towers for trainers."""
