"""The words of `tito`: `app.py` what commands share, a file or folder for each of the three who use
it, `run.py` the command itself.
"""
