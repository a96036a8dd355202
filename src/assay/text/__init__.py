"""Pure text in, a value out; knows no reward."""
