"""Docstrings in the module are short; the code around them is unchanged."""

import ast
import textwrap

import pytest

from tito.lesson.docstrings import DROPPED, shorten

WHOLE = '''
def scores(query, key, scale=None):
    """How well each query fits each key:
    their dot products.

    query    Tensor of shape (..., Tq, d). It is not changed; NaN stays
    key      Tensor of shape (..., Tk, d); TypeError for a list; (a; b) is free
    scale    the factor; None for 1 / sqrt(d)
    mask     a list, ValueError for others
    saved    two arrays. They are:
               "weights"  of shape (Tq, Tk)
               "sum"      a number

    It is fast. Raises IndexError for -1; the message contains -1. Then forward takes
    x of shape (T, d). Nothing else.

    >>> scores(Tensor([[1.0]]), Tensor([[4.0]]))
    Tensor([[4.]])
    >>> scores([], [])
    Tensor([])

    Source: Vaswani et al. (2017).
    """
    return query @ key.T
'''
SHORT = '''
def scores(query, key, scale=None):
    """How well each query fits each key:
    their dot products.

    query    Tensor of shape (..., Tq, d)
    key      Tensor of shape (..., Tk, d); TypeError for a list
    mask     a list, ValueError for others
    saved    two arrays. They are:
               "weights"  of shape (Tq, Tk)
               "sum"      a number

    Raises IndexError for -1. Then forward takes x of shape (T, d).

    >>> scores(Tensor([[1.0]]), Tensor([[4.0]]))
    Tensor([[4.]])
    """
    return query @ key.T
'''


def shortened(text):
    lines = text.split("\n")
    new = shorten(ast.parse(text).body, lines)
    texts = [new.get(n, line) for n, line in enumerate(lines)]
    return "\n".join(line for line in texts if line != DROPPED)


def test_first_paragraph_shapes_errors_and_an_example_remain():
    assert shortened(WHOLE) == SHORT
    assert shortened(SHORT) == SHORT


def test_methods_and_inner_functions_are_shortened_too():
    inside, short = (
        f"class A:\n{textwrap.indent(text.strip(), '    ')}" for text in (WHOLE, SHORT)
    )
    assert shortened(inside) == short


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("First.\n\n    More.\n    ", "First."),
        ("First.\n\n    More.", "First."),
        ("First\n    second.", "First\n    second."),
        ("First:\n\n    - a\n\n    More.\n    ", "First:\n\n    - a\n    "),
        ("First.\n\n    >>> x = f()\n    >>> x\n    3\n    ", "First."),
        ("First.\n\n    >>> f()\n    3\n\n    More.", "First.\n\n    >>> f()\n    3\n    "),
    ],
)
def test_the_closing_quotes_follow_a_single_line_and_are_alone_after_an_example(whole, short):
    for quotes in ('"""', "'''"):
        text = f"def f():\n    {quotes}{{}}{quotes}\n    return 3"
        assert shortened(text.format(whole)) == text.format(short)


@pytest.mark.parametrize(
    "code",
    [
        'def f(): """First.\n\n    More.\n    """',
        'def f():\n    """First.\n\n    More.""" """More."""',
        'def f():\n    """First.\n\n    More."""; return 3',
        'def f():\n    """First.\n\n    Mo\\\nre."""',
        'def f():\n    f"""First.\n\n    More."""',
        'def f():\n    x = """First.\n\n    More."""',
        'def f():\n    """First.\n\n    >>> f()\n    3"""\n    return 3',
        'def f():\n    """Say "hi"\n\n    More.\n    """\n    return 3',
        f'def f():\n    """First.\n\n    ValueError{" word" * 30}. More."""\n    return 3',
    ],
)
def test_what_is_not_in_the_usual_form_or_would_be_longer_is_unchanged(code):
    assert shortened(code) == code
