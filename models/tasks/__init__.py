"""Regression and classification of several tasks, each of which has its own regressor."""
