import cifar10  # noqa: F401 First: it imports TensorFlow without chatter.
