"""One result model, and one explainer of exceptions, for `tito test`, `check()` and `tito
grade`.
"""

import linecache

import pytest

from tito.lesson import outcome

AE = "AttributeError"
NONE = "'NoneType' object has no attribute 'shape'"
POWER = "In Python `**` is the power, and `^` is another operator."
XOR = "unsupported operand type(s) for ^: 'float' and 'int'"
LIST = 'can only concatenate list (not "float") to list'
NO_ARITHMETIC = "A list has no arithmetic: compute with its numbers, one by one."
NOT_USED = "x must not be NoneType"


@pytest.mark.parametrize(
    ("name", "text", "call", "nones", "said"),
    [
        ("ValueError", "no", "", [], "ValueError: no"),
        ("ValueError", "", "", [], "ValueError"),
        ("ValueError", "no", "f(2)", [], "f(2) raised ValueError: no"),
        ("ValueError", "no", "f(2)", ["x"], "f(2) raised ValueError: no"),
        ("ValueError", "no", "f(2)", None, "ValueError: no"),  # it arose in the check itself
        (AE, NONE, "f()", ["x"], f"f() raised {AE}: {NONE}. There `x` is None."),
        (AE, NONE, "", ["x", "y"], f"{AE}: {NONE}. There `x` and `y` are None."),
        (AE, NONE, "", [], f"{AE}: {NONE}. Does a function lack its `return`?"),
        (AE, NONE, "", None, f"{AE}: {NONE}. Does a function lack its `return`?"),
        ("TypeError", NOT_USED, "", [], f"TypeError: {NOT_USED}"),
        ("TypeError", XOR, "", [], f"TypeError: {XOR}. {POWER}"),
        ("TypeError", LIST, "", [], f"TypeError: {LIST}. {NO_ARITHMETIC}"),
        ("ValueError", NONE, "", [], f"ValueError: {NONE}"),
    ],
)  # fmt: skip
def test_an_exception_is_explained_in_the_learners_terms(name, text, call, nones, said):
    assert outcome.explain(name, text, call, nones) == said


@pytest.mark.parametrize(
    "slip",
    [
        lambda none: none.shape,
        lambda none: none[0],
        lambda none: list(none),
        lambda none: none(),
        lambda none: none + 1,
        lambda none: -none,
        lambda none: none.__setitem__,
    ],
)
def test_whatever_uses_a_none_suspects_a_forgotten_return(slip):
    with pytest.raises((TypeError, AttributeError)) as error:
        slip(None)
    output = outcome.explain(error.type.__name__, str(error.value), nones=[])
    assert output.endswith("Does a function lack its `return`?")


def frame_of(error):
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return trace.tb_frame


def test_the_parameters_that_are_none_are_found():
    def broken(a, b=None, *rest, c=None, d=1, **more):
        local = None
        raise ValueError(a, b, rest, c, d, more, local)

    for arguments, result in (
        (((1,), {}), ["b", "c"]),
        (((None, 2), {"d": None}), ["a", "c", "d"]),
    ):
        with pytest.raises(ValueError) as error:  # noqa: PT011
            broken(*arguments[0], **arguments[1])
        assert outcome.none_parameters(frame_of(error.value)) == result


def test_a_list_that_is_no_tensor_is_named():
    weights = [[1, 1], [1, 1]]
    with pytest.raises(AttributeError) as error:
        weights.shape  # noqa: B018
    owner = outcome.owner_of(error.value)
    said = outcome.explain("AttributeError", str(error.value), owner=owner)
    assert said.endswith(
        "has no attribute 'shape'. `weights` is a list: put Tensor(...) around it."
    )
    assert outcome.owner_of(ValueError("no")) == ""
    for text in ("'float' object has no attribute 'data'", "'list' object has no attribute 'x'"):
        assert "Tensor" not in outcome.explain("AttributeError", text)
    assert "`input()` gets no answer" in outcome.explain("EOFError", "EOF when reading a line")


def called(source, **names):
    """What `call_in` tells of an error that this source, a check's file, raises."""
    file = "<a check>"
    linecache.cache[file] = (0, None, source.splitlines(True), file)

    def fail(*arguments, **options):
        raise ValueError("no")

    try:
        exec(compile(source, file, "exec"), names | {"fail": fail})
    except ValueError as error:
        return outcome.call_in(error, file)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("fail(2)", "fail(2)"),
        ("x = (3,)\nfail(x, axis=-1)", "fail((3,), axis=-1)"),
        (
            "x = [1, 2.5, 'a', None, True]\nassert 1 + fail(x) == 2",
            "fail([1, 2.5, 'a', None, True])",
        ),
        ("x = object()\nfail(x)", "fail(x)"),
        ("x = [object()]\nfail(x)", "fail(x)"),
        ("x = float('nan')\nfail(x)", "fail(nan)"),
        ("x = 'a' * 100\nfail(x)", "fail(x)"),
        ("x = list(range(30))\nfail(x)", "fail(x)"),
        ("ß = 2\nassert 'ü' and fail(ß)", "fail(2)"),
        ("fail(1,\n     2)", "fail(1, 2)"),
        ("raise ValueError('no')", ""),
        (f"fail('{'a' * 300}')", ""),
    ],
)  # fmt: skip
def test_the_call_in_a_check_is_shown_with_its_arguments(source, said):
    assert called(source) == said


def test_a_call_elsewhere_is_not_told():
    with pytest.raises(ZeroDivisionError) as error:
        1 / 0  # noqa: B018
    assert outcome.call_in(error.value, "<another file>") == ""


def test_the_repr_of_a_learners_own_value_is_never_asked_for():
    class Mine:
        def __repr__(self):
            raise AssertionError("asked")

    class MyList(list):
        __repr__ = Mine.__repr__

    assert called("fail(x, y)", x=Mine(), y=MyList()) == "fail(x, y)"


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        (["passed", "passed"], "passed"),
        ([], "failed"),
        (["passed", "failed"], "partly right"),
        (["not run", "not run"], "failed"),
        (["unwritten", "passed"], "partly right"),
        (["timeout", "not run"], "timed out"),
        (["timeout", "unwritten"], "timed out"),
        (["timeout", "passed"], "partly right"),
        (["timeout", "error"], "failed"),
        (["memory", "memory"], "out of memory"),
        (["crashed", "not run"], "crashed"),
        (["passed", "tampered"], "tampered"),
    ],
)
def test_a_lessons_verdict_follows_from_its_checks(statuses, verdict):
    assert outcome.verdict_of([check_with(status) for status in statuses]) == verdict
    assert verdict in outcome.VERDICTS and set(statuses) <= set(outcome.STATUSES)


@pytest.mark.parametrize(
    ("polish", "verdict"), [("failed", "passed"), ("timeout", "passed"), ("tampered", "tampered")]
)
def test_a_check_that_earns_no_points_does_not_decide_unless_it_was_forged(polish, verdict):
    assert outcome.verdict_of([check_with("passed"), check_with(polish, 0)]) == verdict
    assert outcome.verdict_of([check_with("failed"), check_with("passed", 0)]) == "failed"


def check_with(status, points=1):
    return outcome.Outcome("c", "e", "c", points * (status == "passed"), points, status)


@pytest.mark.parametrize(
    ("statuses", "behind", "said"),
    [
        (["passed"], [], ""),
        (["failed", "passed"], [], "1 of 2 checks fail."),
        (["failed", "error", "passed"], ["a-b"], "1 of 3 checks fail, 1 waits for a-b."),
        (["error"] * 3, ["a", "b", "a"], "3 wait for a and b."),
        (["timeout", "crashed", "not run"], [], "2 of 3 checks fail, 1 did not run."),
        (["failed", "unwritten"], ["a-b"], "2 wait for a-b and exercises that are not written."),
        (["unwritten"] * 2, [], "2 wait for exercises that are not written."),
    ],
)
def test_what_is_left_to_do_is_one_sentence(statuses, behind, said):
    assert outcome.count_of(statuses, behind) == said


def test_only_the_stubs_own_error_is_unwritten():
    output = "yours to write: tito hint numbers-double"
    assert outcome.unwritten_exercise("NotImplementedError", output) == "numbers-double"
    assert outcome.unwritten_exercise("ValueError", output) is None
    assert outcome.unwritten_exercise("NotImplementedError", "later") is None


def test_a_text_that_is_endless_is_cut():
    assert outcome.cut("a" * 4000) == "a" * 4000
    assert outcome.cut("a" * 4005) == "a" * 4000 + " ... (5 characters more)"


class Thing:
    __slots__ = ("data", "grad")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("length = 1; lenght", ". Did you mean `length`?"),
        ("length = 1; other", ""),
        ("Thing().grda", ". Did you mean `grad`?"),
        ("Thing().inputs", ". It has: data, grad"),
        ("[].shape", ""),
        ("Odd().x", ""),
    ],
)
def test_a_name_that_is_missing_is_named_with_the_one_that_is_meant(code, said):
    class Odd:
        @property
        def __dict__(self):
            raise SystemError

    with pytest.raises((NameError, AttributeError)) as error:
        exec(code, {"Thing": Thing, "Odd": Odd})
    assert outcome.near_name(error.value) == said
