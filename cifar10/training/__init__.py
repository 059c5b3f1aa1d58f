"""What `cifar10.train` and a training run are made of."""
