"""What `hyphc` is made of."""
