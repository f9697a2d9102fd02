"""The commands for instructors. Like all modules of `cli`, these parse arguments and return exit
codes; each command imports its modules itself.

release.py     `tito release`
grade.py       `tito grade`
gradebook.py   `tito gradebook`: show, set, roster, export
page.py        `tito gradebook page`
feedback.py    `tito feedback`
similar.py     `tito similar`
options.py     the options that they share, and functions that interpret these
"""

# Each import adds its commands, in the order in which `tito --help` lists them.
# isort: off
from tito.cli.instructor import release  # noqa: F401
from tito.cli.instructor import grade  # noqa: F401
from tito.cli.instructor import gradebook  # noqa: F401
from tito.cli.instructor import page  # noqa: F401
from tito.cli.instructor import feedback  # noqa: F401
from tito.cli.instructor import similar  # noqa: F401
