"""Asking a language model for a verdict: one async client, guards around what is judged, one reader of verdicts."""
