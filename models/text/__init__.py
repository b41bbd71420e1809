"""Documents as words: tokens, vocabularies, and what is counted of them."""
