"""A Run in, small findings out."""
