"""The words of `tito`: `app.py` what commands share, a file for each of the three who use it,
`run.py` the command itself.
"""
