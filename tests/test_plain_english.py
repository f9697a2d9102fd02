"""How often our texts use phrases that English authors hardly use: no group is above its limit.

`python tests/test_plain_english.py` prints the counts, `python tests/test_plain_english.py tito`
lists the places of a group. For comparison, per 1,000 words: PyTorch's docs 0.2, NumPy's 0.3.

A match is a place to read again: "stands" is right for a chair. Rewrite the sentence, do not only
replace its word. A change that removes such phrases also lowers the limit of its group.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# {group: (phrases per 1,000 words: limit, goal; files)}
GROUPS = {
    "README and book pages": (0.2, 0.5, ["README.md", "CONTRIBUTING.md", "book/*.md"]),
    "chapters": (0.1, 1.0, ["modules/source/*/*_dev.py"]),
    "hints": (0.4, 1.0, ["modules/source/*/hints.md"]),
    "messages of checks": (0.1, 1.0, ["modules/source/*/checks.py"]),
    "tito": (0.1, 0.5, ["tito/**/*.py"]),
    "support and tests": (0.3, 1.0, ["tinytorch/support/**/*.py", "tests/**/*.py"]),
}

PHRASES = {
    "stands (is, are)": r"\b(?:stands?|stood|standing) (?!up\b|for\b|out\b)",
    "all that (everything)": r"\ball (?:that|else|of what|of them that)\b",
    "somebody, nobody (you, the learner)": (
        r"\b(?:somebody|nobody|whoever|anybody|one who|those who)\b"
    ),
    "is told, tells whether, says so": (
        r"\b(?:says? so|said so|(?:is|are|was|be) told|tells? (?:whether|how|which|what))\b"
    ),
    "too, as well at the end (also)": r",? (?:too|as well|either)[.;:)]",
    "that of the (repeat the noun)": (
        r"\b(?:that|those) of (?:the|a|an|each|all|its|another|every)\b"
    ),
    "of its own (a separate, its own)": r"\b(?:in kind|of (?:its|their|your|our) own)\b",
    "counts for nothing (is not counted)": r"\bcounts? for (?:nothing|little)\b",
    "what is X (a noun)": (
        r"\bwhat (?:is|was|are|stands|comes|came|has|had) (?:not|there|given|kept|shown|meant|left"
        r"|missing|new|in|on|asked|written|below|above|behind)\b"
    ),
    "from which on (after, since)": r"\bfrom (?:which|then|there|here) on\b",
    "nothing but, no more than (only)": (
        r"\b(?:nothing but|no more than|by far not|not even one)\b"
    ),
    "lets it (so that it can)": (
        r"\b(?:lets?) (?:it|them|her|him|nobody|no one|somebody|nothing)\b"
    ),
    "makes one of many (turns into)": r"\bmakes? (?:one|two|a|an) [\w ]{1,20} of\b",
}
PATTERNS = {name: re.compile(phrase, re.IGNORECASE) for name, phrase in PHRASES.items()}
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
STRING_OR_COMMENT = re.compile(
    r"""(?P<quote>"{3}|'{3}|"|')(?:\\.|[^\\])*?(?P=quote)|#(?P<comment>[^\n]*)""", re.DOTALL
)


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_has_no_more_of_the_phrases_than_its_limit(name):
    limit, _, globs = GROUPS[name]
    words, places = find_phrases(globs)
    assert words > 1000
    rate = 1000 * len(places) / words
    assert rate <= limit, "\n".join(
        [f"{len(places)} phrases, {rate:.2f} per 1,000 words, limit {limit}", *places]
    )


def test_phrases_are_found_in_docstrings_messages_and_comments_with_their_lines(tmp_path):
    path = tmp_path / "page.py"
    path.write_text(
        '"""First line.\n\nWhat stands here."""\n'
        'print("a message that is told #1")  # nobody reads this\n',
        encoding="utf-8",
    )
    lines = [line for line, text in read_texts(path) if any(find_matches(text))]
    assert lines == [1, 4, 4]


def find_phrases(globs):
    """The number of words in the files, and the place of every phrase."""
    words, places = 0, []
    paths = {path for pattern in globs for path in REPOSITORY.glob(pattern)}
    for path in sorted(paths - {Path(__file__).resolve()}):  # this file holds the phrases
        for line, text in read_texts(path):
            words += len(WORD.findall(text))
            for phrase, match in find_matches(text):
                start = max(0, match.start() - 50)
                around = " ".join(text[start : match.end() + 40].split())
                places.append(f"{path.relative_to(REPOSITORY)}:{line}: {phrase}: ...{around}...")
    return words, places


def find_matches(text):
    for phrase, pattern in PATTERNS.items():
        for match in pattern.finditer(text):
            yield phrase, match


def read_texts(path):
    """(line, text) of what people read: strings of three spaces or more and comments of a Python
    file, lines of a Markdown file outside its code blocks."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from strings(source)
        yield from comments(source)
    else:
        yield from prose(source)


def strings(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.count(" ") > 2:
                yield node.lineno, node.value


def comments(source):
    for match in STRING_OR_COMMENT.finditer(source):
        if match["comment"] is not None:
            yield source.count("\n", 0, match.start()) + 1, match["comment"].lstrip("# ")


def prose(source):
    is_code = False
    for number, line in enumerate(source.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            yield number, line


def print_counts():
    for name, (limit, goal, globs) in GROUPS.items():
        words, places = find_phrases(globs)
        rate = f"{1000 * len(places) / words:.2f} per 1,000"
        print(f"{name}: {len(places)} in {words:,} words, {rate}; limit {limit}, goal {goal}")
        for phrase, n in Counter(place.split(": ")[1] for place in places).most_common(6):
            print(f"{n:8}  {phrase}")


if __name__ == "__main__":
    if group := " ".join(sys.argv[1:]):
        print(*find_phrases(GROUPS[group][2])[1], sep="\n")
    else:
        print_counts()
