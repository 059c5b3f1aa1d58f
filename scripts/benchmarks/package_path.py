"""Makes the package importable for the programs here, installed or not."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
