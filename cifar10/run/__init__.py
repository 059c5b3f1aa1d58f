"""Takes the steps of a training run, and watches over them."""
