"""Networks that represent rows, and the scale on which they see them; start with `autoencoder`.

- `autoencoder`: fully connected layers to an embedding and back, trained by torch; the same as
  plain arrays, for models that predict.
- `scaling`: rows about their mean, on one scale; images turned and moved at random.
"""
