"""The layers of networks, and networks besides the tutorial's."""
