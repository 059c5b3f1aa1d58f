"""What every test needs."""

from cifar10 import sessions
from cifar10.config import Config

# As every program does at its start.
sessions.start(Config())
