"""The commands for instructors. As every file of `cli`, these turn words into values and values
into exit codes; what a command needs is imported inside it.

release.py     `tito release`
grade.py       `tito grade`
run_progress.py  how far a run of it is
gradebook.py   `tito gradebook`: show, set, history, roster, export
page.py        `tito gradebook page`
feedback.py    `tito feedback`
similar.py     `tito similar`
options.py     what they share: options, and what these name
"""

# Each import adds its commands, in the order in which `tito --help` lists them.
# isort: off
from tito.cli.instructor import release  # noqa: F401
from tito.cli.instructor import grade  # noqa: F401
from tito.cli.instructor import gradebook  # noqa: F401
from tito.cli.instructor import page  # noqa: F401
from tito.cli.instructor import feedback  # noqa: F401
from tito.cli.instructor import similar  # noqa: F401
