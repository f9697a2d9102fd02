"""Highlight Python code in a separate process. For some texts, such as a word and 100,000 spaces,
Pygments works for minutes, and cannot be interrupted from the same process.
"""

import json
import subprocess
import sys

SECONDS = 3  # until code is shown without colours; a lesson takes 0.2
CLASSES = {  # the first part of a Pygments token type that has a colour -> its class
    "Keyword": "k",
    "Operator.Word": "k",
    "Literal.String": "s",
    "Literal.Number": "m",
    "Comment": "c",
    "Name.Function": "f",
    "Name.Class": "f",
    "Name.Decorator": "f",
}
PLAIN = ""  # the class of a word without a colour
UNKNOWN = "?"  # the class of code that was not read: it may be a comment

Words = list[tuple[str, str]]  # [(class, text)]


def words_of(code: str) -> Words:
    """The words of Python code, which may be invalid. If finding them takes longer than so many
    seconds, the whole code is one UNKNOWN word.
    """
    command = [sys.executable, "-P", "-X", "utf8", "-m", __name__]
    try:
        done = subprocess.run(
            command, input=code.encode(), capture_output=True, timeout=SECONDS, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return [(UNKNOWN, code)]
    return [(kind, text) for kind, text in json.loads(done.stdout)]


def read_words(code: str) -> Words:
    """Like `words_of`, in this process and without a time limit."""
    from pygments.lexers.python import PythonLexer
    from pygments.token import string_to_tokentype

    kinds = [(string_to_tokentype(f"Token.{name}"), short) for name, short in CLASSES.items()]
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return [
        (next((short for kind, short in kinds if token in kind), PLAIN), text)  # type: ignore[comparison-overlap]
        for token, text in lexer.get_tokens(code)
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(read_words(sys.stdin.buffer.read().decode())))
