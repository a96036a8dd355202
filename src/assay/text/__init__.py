"""Pure functions of text: what it holds, how long it is, what it repeats. Nothing here knows a reward."""
