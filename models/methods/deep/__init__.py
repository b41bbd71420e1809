"""Hierarchies learned together with a representation: deep networks for vectors and images."""
