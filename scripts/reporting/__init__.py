"""What scripts/report.py is made of."""
