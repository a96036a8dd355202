"""The rewards, one family a file; none imports another."""
