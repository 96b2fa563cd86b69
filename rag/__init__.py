"""Documents in, right passages out, only for those who may read them."""
