"""The built-in rewards, one family a file. None imports another."""
