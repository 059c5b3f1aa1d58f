"""What `cifar10.inference` is made of."""
