"""Directions from means and spreads of known clusters: `fisher`."""
