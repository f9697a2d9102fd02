"""The words of `tito` for an instructor: release, grade, gradebook, feedback, similar. As `cli.py`, it turns words into values
and values into exit codes; what a command needs is imported inside it."""

from tito.cli import app  # noqa: F401
