"""The layers that `cifar10.inference` is built from."""
