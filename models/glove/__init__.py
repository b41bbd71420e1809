"""Word vectors from counts of words that occur together, alone and along with a tree over them."""
