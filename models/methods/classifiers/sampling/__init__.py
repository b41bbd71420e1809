"""Draws from the posterior of class weights by Markov chains.

Start at `chain`.

- `branches`: the model, whose class weights are sums along paths: densities and precisions.
- `chain`: a chain from its start through burn-in to the kept draws, by steps along trajectories of
  adapted length; whether chains have mixed.
"""
