"""Mixture models and their fits; start with `gaussian`.

- `gaussian`: Gaussians, by scikit-learn's EM.
- `gaussian_rows`: their EM over rows that need not fit in memory.
- `of_labels`: the Gaussians that are likeliest for a given labelling.
- `multinomial`: multinomials, by EM to a mode of the posterior.
- `multinomial_rows`: their EM over rows that need not fit in memory.
- `topics`: latent Dirichlet allocation, by scikit-learn.
- `topic_rows`: their passes over rows that need not fit in memory; `loops`: compiled.
"""
