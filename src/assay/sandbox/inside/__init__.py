"""What runs inside the sandbox: the fork server, and after the fork the candidate and the tester.

Standard library only, and never imported as part of `assay` there: the fork server is a clean `python -I -S` that sees
this one folder. The trainer's side imports `wire` from here, because both sides must agree on it.
"""
