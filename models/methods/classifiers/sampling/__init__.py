"""Draws from the posterior of class weights by Markov chains.

Start at `chain`.

- `branches`: the model, whose class weights are sums along paths: densities and precisions.
- `hamiltonian`: steps along trajectories, and the adaptation of their length.
- `chain`: a chain from its start through burn-in to the kept draws.
- `diagnostics`: whether chains have mixed.
"""
