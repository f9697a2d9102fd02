"""The one error that users see: two lines, what is wrong and what to do.

Caught once, in `cli.run`.
"""


class TitoError(Exception):
    """Something the user can mend.

    what    what is wrong, with the values
    remedy  what to do about it
    code    exit code of the command: 1 the work fails, 2 wrong usage, 3 the machine's failure

    `excerpt`, where there is one, is the line of code that it is about, and a line
    with a mark under the place.
    """

    excerpt = ""

    def __init__(self, what, remedy="", code=2):
        super().__init__(what)
        self.what, self.remedy, self.code = what, remedy, code
