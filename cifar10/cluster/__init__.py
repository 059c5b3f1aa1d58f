"""What training on several machines needs."""
