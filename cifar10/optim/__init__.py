"""What `cifar10.train` may call besides the tutorial's own lines."""
