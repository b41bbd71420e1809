"""Words as points of the Poincaré ball, learned with a tree over them. Start at `fit`.

- `parameters`: the parameters of words in the ball.
- `pairs`: counts of words that occur together, also in documents.
- `vectors`, `loops`: GloVe's vectors, before there is a tree.
- `words_torch`: words that are learned along with the tree.
- `placing`: new rows of counts and new documents in the tree.
- `fit`: the whole fit, which calls the rest in order, with one checkpoint for both stages and a
  leaf for each word.
"""
