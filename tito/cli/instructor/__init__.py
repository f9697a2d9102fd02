"""The commands for instructors: release, grade, gradebook, feedback, similar; a file for each, and
`options.py`, what they share.

As every file of `cli`, they turn words into values and values into exit codes; what a command needs
is imported inside it.
"""

# Each import adds its commands, in the order in which `tito --help` lists them.
# isort: off
from tito.cli.instructor import release  # noqa: F401
from tito.cli.instructor import grade  # noqa: F401
from tito.cli.instructor import gradebook  # noqa: F401
from tito.cli.instructor import claim  # noqa: F401
from tito.cli.instructor import appeals  # noqa: F401
from tito.cli.instructor import items  # noqa: F401
from tito.cli.instructor import answers  # noqa: F401
from tito.cli.instructor import serve  # noqa: F401
from tito.cli.instructor import feedback  # noqa: F401
from tito.cli.instructor import similar  # noqa: F401
