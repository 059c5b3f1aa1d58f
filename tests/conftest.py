"""What every test needs."""

from cifar10.util import session_settings
from cifar10.config import Config

# As every program does at its start.
session_settings.start(Config())
