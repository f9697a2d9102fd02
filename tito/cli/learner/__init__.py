"""The words of `tito` for a learner, in the order in which `tito --help` lists them.

What a command needs is imported inside it.
"""

from tito.cli.learner import lesson, milestone, workspace  # noqa: F401  each adds its commands
