"""The commands for learners, in the order in which `tito --help` lists them.

Each command imports its modules itself.
"""

from tito.cli.learner import lesson, milestone, review, workspace  # noqa: F401  each adds its commands
