"""`python -m tito` is `tito`."""

from tito.cli.run import run

run()
