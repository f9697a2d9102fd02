"""A proxy does on the learner's side what a check does with it, and decides nothing: what a check
relies on is plain data, compared here.
"""

import json
import marshal
import math
import socket
import struct
import threading
import time

import numpy as np
import pytest

from tito.grading.jail import proxy, wire
from tito.grading.jail.check_namespace import START
from tito.grading.jail.jail import Jail

LESSON = '''
import numpy as np

class Box:
    """A number, or several."""
    made = 0
    __array_ufunc__ = None

    def __init__(self, *numbers, name="box"):
        self.data, self.name = np.array(numbers, dtype=float), name
        Box.made += 1

    def __add__(self, other): return Box(*(self.data + getattr(other, "data", other)))
    def __radd__(self, other): return Box(*(other + self.data), name="reflected")
    def __neg__(self): return Box(*-self.data)
    def __matmul__(self, other): return Box(self.data @ other.data)
    def __pow__(self, power): return Box(*self.data**power)
    def __iadd__(self, other):
        self.data += other
        return self
    def __gt__(self, other): return Box(*(self.data > other))
    def __len__(self): return len(self.data)
    def __iter__(self): return iter(self.data.tolist())
    def __getitem__(self, index):
        found = self.data[index]
        return found if np.ndim(found) else float(found)
    def __setitem__(self, index, value): self.data[index] = value
    def __delitem__(self, index): self.data = np.delete(self.data, index)
    def __float__(self): return float(self.data[0])
    def __int__(self): return int(self.data[0])
    def __index__(self): return int(self.data[0])
    def __repr__(self): return f"Box{tuple(self.data.tolist())}"
    def __format__(self, spec): return format(self.data[0], spec)
    def __array__(self, dtype=None, copy=None): return self.data
    def __call__(self, x, more=0): return x + more
    def __enter__(self):
        self.name = "entered"
        return self
    def __exit__(self, kind, error, trace):
        self.name = f"left with {kind and kind.__name__}"
        return self.name == "left with ValueError" and self.data.size == 0

class Lid(Box):
    pass

class Yes:
    """Claims to be all that it is compared with. What it answers is set by a check."""
    answer = True
    def __eq__(self, other): return self.answer
    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    def __bool__(self): return True
    def __contains__(self, x): return True
    def all(self, *a, **k): return True
    def any(self, *a, **k): return np.True_
    def item(self): return 1

    __array_ufunc__ = None
    def __iter__(self): return iter([True])
    def __getitem__(self, index): return True
    def __and__(self, other): return True
    __rand__ = __add__ = __and__
    def __invert__(self): return True
    __abs__ = __invert__
    def __float__(self): return 1.0
    def __int__(self): return 1
    __index__ = __len__ = __int__

class Zero:
    """Whatever is computed with it is what a check would like it to be."""
    __array_ufunc__ = None
    def answer_it(self, *others): return self.answer
    __sub__ = __rsub__ = __abs__ = __neg__ = __round__ = __matmul__ = __mod__ = answer_it

class Odd:
    def __str__(self): return type("Text", (str,), {})("x")
    def __repr__(self): return str(self)
    def __format__(self, spec): return str(self)

class Trick(ValueError):
    pass

class Lying(AssertionError):
    pass

def change(x):
    if isinstance(x, dict): x["new"] = 1
    elif isinstance(x, list): x.append(1)
    else: x[...] = 0

def fail(kind, text="on purpose"):
    raise {"Trick": Trick, "Lying": Lying, "Own": type("Own", (Exception,), {}),
           "Base": type("Base", (BaseException,), {}), "LinAlgError": np.linalg.LinAlgError,
           "AxisError": np.exceptions.AxisError,
           }.get(kind, getattr(__import__("builtins"), kind, None))(text)

def apply(function, *arguments, **options): return function(*arguments, **options)
def swallow(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
def give(x): return x
def count(n): yield from range(n)
'''


@pytest.fixture(scope="module")
def jail():
    with Jail("process") as jail:
        yield jail


@pytest.fixture
def there(jail):
    """The lesson, as a check sees it: `there.Box`."""
    fork = jail.fork()
    session = proxy.Session(fork.sock, time.monotonic() + 30)
    session.do(
        "load",
        {"course": None, "course.lesson": marshal.dumps(compile(LESSON, "course.lesson", "exec"))},
        "course.lesson",
        [],
        [],
        START,
        [],
    )
    yield proxy.Module(session, "course.lesson")
    fork.end()


# What is forwarded.


def test_a_class_constructs_and_an_object_has_its_attributes(there):
    box = there.Box(1, 2.5, name="big")
    assert isinstance(box, proxy.Remote) and box.name == "big" and there.Box.made == 1
    assert type(box.data) is np.ndarray and box.data.tolist() == [1, 2.5]
    box.name = "small"
    assert box.name == "small"
    del box.name
    with pytest.raises(AttributeError, match="name"):
        box.name
    assert not hasattr(box, "weight") and getattr(box, "weight", 7) == 7


def test_isinstance_and_issubclass_are_asked_there(there):
    lid = there.Lid(1)
    assert (
        isinstance(lid, there.Box)
        and isinstance(lid, there.Lid)
        and not isinstance(there.Box(1), there.Lid)
    )
    assert issubclass(there.Lid, there.Box) and not issubclass(there.Box, there.Lid)
    assert not isinstance(4, there.Box) and not isinstance(np.ones(2), there.Box)


@pytest.mark.parametrize(("action", "wanted"), [
    (lambda b: (b + b).data, [2, 4]), (lambda b: (b + 1).data, [2, 3]),
    (lambda b: (b + np.array([1.0, 3.0])).data, [2, 5]),
    (lambda b: (np.array([1.0, 3.0]) + b).data, [2, 5]),
    (lambda b: (1 + b).name, "reflected"), (lambda b: (np.ones(2) + b).name, "reflected"),
    (lambda b: (-b).data, [-1, -2]), (lambda b: (b @ b).data, [5]), (lambda b: (b**2).data, [1, 4]),
    (lambda b: len(b), 2), (lambda b: list(b), [1.0, 2.0]), (lambda b: b[1], 2.0),
    (lambda b: b[::-1], [2, 1]), (lambda b: b[np.array([True, False])], [1]),
    (lambda b: b[..., 0], 1.0),
    (lambda b: float(b), 1.0), (lambda b: int(b), 1), (lambda b: [5, 6, 7][b], 6),
    (lambda b: str(b), "Box(1.0, 2.0)"), (lambda b: repr(b), "Box(1.0, 2.0)"),
    (lambda b: f"{b:.2f}", "1.00"),
    (lambda b: b(3, more=4), 7), (lambda b: np.asarray(b), [1, 2]),
    (lambda b: np.asarray(b, dtype="i4"), [1, 2]), (lambda b: (b > 1).data, [0, 1]),
    (lambda b: (b + b + 1).data, [3, 5]), (lambda b: ((b + 1) @ b).data, [8]),
    (lambda b: math.floor(float(b)), 1), (lambda b: (lambda x, y: x + y)(*b), 3.0),
    (lambda b: b.data.dtype, np.dtype("f8")), (lambda b: "made" in dir(b), True),
])  # fmt: skip
def test_what_a_check_does_happens_there(there, action, wanted):
    got = action(there.Box(1, 2))
    assert (
        np.array_equal(got, wanted)
        if isinstance(got, np.ndarray)
        else (type(got), got) == (type(wanted), wanted)
    )


def test_what_is_set_and_deleted_by_index_is_gone_there(there):
    box = there.Box(1, 2, 3)
    box[0] = 9
    del box[1]
    box += 1
    assert box.data.tolist() == [10, 4]


def test_an_iterator_there_can_be_walked_and_ends(there):
    assert list(there.count(3)) == [0, 1, 2]
    assert next(iter(there.count(1))) == 0


def test_one_object_there_is_one_object_here(there):
    box = there.Box(1)
    assert (
        there.give(box) is box
        and there.give([box, box])[1] is box
        and {box: 1}[there.give(box)] == 1
    )
    assert there.give(there.Box) is there.Box


def test_a_function_of_the_check_is_called_back_with_what_it_is_given(there):
    seen = []

    def function(x, y=0):
        seen.append((x, y))
        return there.Box(x + y)

    assert there.apply(function, 1, y=2).data.tolist() == [3] and seen == [(1, 2)]
    assert there.give(function) is function
    # it asks there, while there waits for it
    assert there.apply(lambda box: float(box) + 1, there.Box(4)) == 5.0


def test_an_error_of_the_checks_own_function_comes_back_as_itself(there):
    error = KeyError("mine")

    def function():
        raise error

    with pytest.raises(KeyError) as caught:
        there.apply(function)
    assert caught.value is error


def test_an_assertion_in_the_checks_own_function_counts_though_the_learners_code_swallows_it(there):
    def function():
        raise AssertionError("called with nothing")

    assert there.swallow(function) == "AssertionError: called with nothing"
    assert str(there.swallow._session.assertion) == "called with nothing"


@pytest.mark.parametrize(
    ("kind", "here"),
    [
        ("ValueError", ValueError),
        ("Trick", ValueError),
        ("KeyError", KeyError),
        ("ZeroDivisionError", ZeroDivisionError),
        ("Own", proxy.RemoteError),
        ("LinAlgError", np.linalg.LinAlgError),
        ("AxisError", np.exceptions.AxisError),
        ("RecursionError", RecursionError),
        ("NotImplementedError", NotImplementedError),
    ],
)
def test_an_error_there_is_the_built_in_one_it_derives_from(there, kind, here):
    with pytest.raises(here, match="on purpose") as caught:
        there.fail(kind)
    name, text, frames, _ = caught.value.report
    assert name == kind and "on purpose" in text and frames[-1][0] == "course.lesson"


@pytest.mark.parametrize(
    "kind",
    [
        "AssertionError",
        "Lying",
        "Base",
        "SystemExit",
        "KeyboardInterrupt",
        "GeneratorExit",
        "StopAsyncIteration",
        "Exception",
        "BaseException",
    ],
)
def test_an_error_there_is_never_an_assertion_or_an_exit_here(there, kind):
    with pytest.raises(proxy.RemoteError) as caught:
        there.fail(kind)
    assert caught.value.report.name == kind and not isinstance(caught.value, AssertionError)


def test_a_stop_there_ends_no_loop_here(there):
    with pytest.raises(BaseException) as caught:
        there.fail("StopIteration")
    assert not isinstance(caught.value, StopIteration)


def test_the_end_of_a_with_block_is_forwarded_and_swallows_no_error(there):
    with there.Box(1) as box:
        assert box.name == "entered"
    assert box.name == "left with None"
    with pytest.raises(KeyError, match="inside"), box:
        raise KeyError("inside")
    assert box.name == "left with KeyError"
    with pytest.raises((ValueError, AssertionError)), there.Box():  # its __exit__ returns True
        raise ValueError("skip the rest")


# What is refused.


@pytest.mark.parametrize(
    "answer",
    [
        True,
        False,
        1,
        0,
        "yes",
        [1],
        {1: 1},
        (1,),
        1.0,
        b"x",
        np.float64(1),
        np.True_,
        np.array(True),
        np.array([True]),
        np.ones(3, bool),
        int,
        None,
    ],
    ids=lambda x: f"{type(x).__name__} {x}",
)
def test_a_comparison_cannot_be_decided_there(there, answer):
    yes = there.Yes()
    there.Yes.answer = answer
    for compare in (
        lambda: yes == 4,
        lambda: 4 == yes,
        lambda: yes != 4,
        lambda: yes < 4,
        lambda: 4 >= yes,
        lambda: np.array([4]) == yes,
        lambda: yes == yes,
        lambda: 4 in [yes],
        lambda: 4 in yes,
    ):
        with pytest.raises(proxy.Undecided):
            assert compare()


def test_what_a_comparison_gives_cannot_decide_either(there):
    yes = there.Yes()
    there.Yes.answer = there.Yes()
    for ask in (
        lambda: bool(yes == 4),
        lambda: (yes == 4).all(),
        lambda: np.all(yes == 4),
        lambda: np.any(yes == 4),
        lambda: (yes == 4).any(),
        lambda: (yes == 4).item(),
    ):
        with pytest.raises(proxy.Undecided):
            assert ask()


@pytest.mark.parametrize("ask", [
    lambda c: all(c), lambda c: next(iter(c)), lambda c: c[0], lambda c: c & True,
    lambda c: True & c, lambda c: ~c, lambda c: c + 1, lambda c: abs(c), lambda c: float(c),
    lambda c: int(c), lambda c: len(c), lambda c: [0, 1][c],
])  # fmt: skip
def test_what_a_comparison_gives_cannot_decide_by_other_ways(there, ask):
    there.Yes.answer = there.Yes()
    with pytest.raises(proxy.Undecided):
        assert ask(there.Yes() == 4)


@pytest.mark.parametrize(
    "ask",
    [
        lambda y: y - 4,
        lambda y: 4 - y,
        lambda y: y - np.ones(3),
        lambda y: np.ones(3) - y,
        lambda y: abs(y),
        lambda y: -y,
        lambda y: round(y),
        lambda y: y @ y,
        lambda y: y % 2,
    ],
)
@pytest.mark.parametrize(
    "answer", [0.0, 0, True, np.zeros(3), (0,), "", None], ids=lambda x: type(x).__name__
)
def test_arithmetic_there_gives_no_plain_number_that_a_check_would_believe(there, ask, answer):
    there.Zero.answer = answer
    with pytest.raises(proxy.Undecided):
        ask(there.Zero())


def test_no_object_there_is_true_or_false(there):
    with pytest.raises(proxy.Undecided):
        bool(there.Box(1))
    with pytest.raises(proxy.Undecided):
        assert not there.Yes()


def test_a_subclass_of_str_is_not_plain_text(there):
    for convert in (str, repr, "{}".format):
        with pytest.raises(proxy.Tampered):
            convert(there.Odd())


def test_numpy_finds_nothing_on_a_proxy_but_its_array(there):
    box, asked = there.Box(1, 2), []
    box._session.do = lambda name, *arguments: asked.append((name, *arguments[1:])) or np.ones(2)
    assert (
        np.allclose(box, 1)
        and np.array_equal(np.asarray(box, dtype="f4"), [1, 1])
        and np.array(box).tolist() == [1, 1]
    )
    assert set(asked) == {("array",)}
    del box._session.do
    for name in (
        "__array_interface__",
        "__array_struct__",
        "__length_hint__",
        "__dlpack__",
        "__fspath__",
        "__reduce__x",
    ):
        with pytest.raises(AttributeError):
            getattr(there.Box(1), name)


@pytest.mark.parametrize(
    "value",
    [np.random.default_rng(0), open, {1, 2}, object()],
    ids=["generator", "function", "set", "object"],
)
def test_what_is_neither_data_nor_a_function_is_not_handed_over(there, value):
    if callable(value):
        assert there.give(value) is value
    else:
        with pytest.raises(TypeError, match="cannot hand over"):
            there.give(value)


def test_an_object_of_another_check_is_not_handed_over(there, jail):
    fork = jail.fork()
    other = proxy.Remote(proxy.Session(fork.sock, time.monotonic() + 10), 0)
    with pytest.raises(proxy.Undecided):
        there.give(other)
    fork.end()


def test_a_change_of_what_was_handed_over_is_noticed(there):
    session = there.give._session
    for value in (np.ones(3), [1], {"a": 1}):
        session.changed = False
        there.give(value)
        assert not session.changed
        there.change(value)
        assert session.changed


# What the other side may say. It is played here by the test.


class Other:
    """The far end of a session, which answers each request with the next of some messages."""

    def __init__(self, *answers, seconds=10):
        ours, self.sock = socket.socketpair()
        self.session = proxy.Session(ours, time.monotonic() + seconds)
        self.answers, self.heard = answers, []
        self.thread = threading.Thread(target=self.talk)
        self.thread.start()

    def talk(self):
        for answer in self.answers:
            try:
                self.heard.append(json_of(self.sock))
                self.sock.sendall(answer)
            except (wire.Closed, OSError):
                return

    def __enter__(self):
        return self.session

    def __exit__(self, *error):
        self.session.sock.close()
        self.thread.join()
        self.sock.close()


def json_of(sock):
    return wire.Reader(*wire.receive(sock), lambda parts: parts).body


def message(body, blobs=b""):
    text = json.dumps(body).encode()
    return struct.pack(">II", len(text), len(blobs)) + text + blobs


@pytest.mark.parametrize("answer", [
    ["ok"], ["ok", 4], ["ok", 4, ["l"], 5], ["okay", 4, ["l"]], ["ask"], ["ask", 0, ["t"], ["d"]],
    ["ask", -1, ["t"], ["d"]], ["ask", "0", ["t"], ["d"]], ["ask", True, ["t"], ["d"]], [5],
    ["stop"],
    ["raise"], ["raise", 5, ["l"], "", ["l"], None], ["raise", "E", "ValueError", "", ["l"], None],
    ["raise", "E", ["l"], 5, ["l"], None], ["raise", "E", ["l"], "", ["l", 7], None],
    ["raise", "E", ["l"], "", ["l", ["h", 0, False, False]], None],  # would be asked for its parts
    ["ok", 4, 5], ["ok", 4, ["l", 5]], ["ok", 4, ["l", ["t", 1, ["l"]]]],
    ["ok", 4, ["l", ["t", 99, 5]]], ["ok", 4, ["l", ["t", "0", 5]]],
    ["ok", ["h", -1, False, False], ["l"]],
    ["ok", ["h", True, False, False], ["l"]], ["ok", ["h", 0], ["l"]], ["ok", ["f", 0], ["l"]],
    ["ok", ["f", -1], ["l"]], ["ok", ["x"], ["l"]], {}, [], "ok", None,
], ids=str)  # fmt: skip
def test_an_answer_that_is_not_in_the_agreed_form_is_tampering(answer):
    with Other(message(answer)) as session, pytest.raises(proxy.Tampered):
        session.do("call", proxy.Remote(session, 0), np.ones(3))


def test_an_argument_may_not_come_back_as_something_else():
    for changed in (
        ["t", 1, ["a", "<f8", [4], 32]],
        ["t", 1, ["a", "<f4", [3], 12]],
        ["t", 1, ["d"]],
        ["t", -2, ["a", "<f8", [3], 24]],
    ):
        with (
            Other(
                message(
                    ["ok", 4, ["l", changed]], bytes(changed[2][3] if changed[2][0] == "a" else 0)
                )
            ) as session,
            pytest.raises(proxy.Tampered),
        ):
            session.do("call", proxy.Remote(session, 0), np.ones(3))


@pytest.mark.parametrize("kind", ["a", "n"])
def test_no_distance_is_negative(kind):
    """The least int64 is its own absolute value, and NumPy is silent over it in arrays."""
    value = ["a", "<i8", [1], 8] if kind == "a" else ["n", "<i8", 8]
    with Other(message(["ok", value, ["l"]], struct.pack("<q", -(2**63) + 5))) as session:
        got = session.do("call", proxy.Remote(session, 0))
    assert np.abs(got - 5).max() > 1e18 and got.dtype == np.float64
    with Other(message(["ok", value, ["l"]], struct.pack("<q", -(2**62)))) as session:
        assert session.do("call", proxy.Remote(session, 0)).dtype == np.int64


def test_an_answer_that_comes_before_the_question_is_tampering():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(message(["ok", 4, ["l"]]))
        with pytest.raises(proxy.Tampered, match="not requested"):
            proxy.Session(ours, time.monotonic() + 10).do("call")


def test_more_than_one_answer_is_tampering():
    with Other(message(["ok", 4, ["l"]]) * 2) as session, pytest.raises(proxy.Tampered):
        session.do("call")


def test_a_side_that_is_gone_has_died():
    with Other(b"") as session:
        session.sock.shutdown(socket.SHUT_RDWR)
        with pytest.raises(proxy.Died):
            session.do("call")


def test_a_side_that_answers_too_late_has_run_out_of_time():
    over, answer = threading.Event(), message(["ok", 4, ["l"]])
    ours, theirs = socket.socketpair()
    late = threading.Thread(target=lambda: over.wait(2) or theirs.sendall(answer))
    with ours, theirs:
        late.start()
        with pytest.raises(proxy.OutOfTime):
            proxy.Session(ours, time.monotonic() + 0.05).do("call")
        over.set()
        late.join()


def test_neither_drips_nor_callbacks_move_the_deadline():
    session = None

    def for_ever(sock, part):
        try:
            while True:
                sock.sendall(part)
                time.sleep(0.005)
        except OSError:
            pass

    for part in (b"\0", message(["ask", 0, ["t"], ["d"]])):
        ours, theirs = socket.socketpair()
        session = proxy.Session(ours, time.monotonic() + 0.2)
        session.functions.append(lambda: None)
        thread = threading.Thread(target=for_ever, args=(theirs, part))
        with pytest.raises((proxy.OutOfTime, proxy.Tampered)):
            thread.start()
            time.sleep(0)
            session.early = lambda: False
            session.do("call")
        ours.close()
        thread.join()
        theirs.close()


def test_more_data_than_a_check_needs_is_tampering(monkeypatch):
    monkeypatch.setattr(proxy, "LARGEST", 1 << 16)
    with (
        Other(*[message(["ok", ["b", 40_000], ["l"]], bytes(40_000))] * 3) as session,
        pytest.raises(proxy.Tampered, match="more than"),
    ):
        for _ in range(3):
            session.do("call")


def test_a_helper_may_change_what_it_gets_and_the_judges_own_arrays_stay():
    """And another name that comes with the helper's number is not the helper."""
    zeros = message(["ok", 4, ["l", ["t", 1, ["a", "<f8", [3], 24]]]], bytes(24))
    with Other(zeros, zeros) as session:
        learners, mine = proxy.Remote(session, 0), np.ones(3)
        session.do("call", session.helper(learners), mine)
        assert mine.tolist() == [1, 1, 1] and not session.changed
        session.do("call", learners, mine)
        assert mine.tolist() == [0, 0, 0] and session.changed


@pytest.mark.parametrize(
    "answer",
    [["a", "|b1", [1], 1], True, 0.0, ["l", 0.0], "0.0", ["n", "<f8", 8]],
    ids=str,
)
def test_what_a_method_of_a_result_answers_decides_nothing(answer):
    blob = bytes(answer[-1]) if type(answer) is list and type(answer[-1]) is int else b""
    with Other(message(["ok", answer, ["l"]], blob)) as session, pytest.raises(proxy.Undecided):
        proxy.Result(session, 0)()


def test_of_a_result_attributes_are_read_and_nothing_else(there):
    box = there.Box(1, 2)
    result = box + 1
    assert result.data.tolist() == [2, 3] and result.name == "box" and f"{result}" == "2.0"
    assert isinstance(result, there.Box) and there.give(result) is result
    for ask in (
        lambda: float(result),
        lambda: np.asarray(result),
        lambda: len(result),
        lambda: list(result),
        lambda: result[0],
        lambda: result(1),
        lambda: bool(result),
        lambda: int(-result),
        lambda: float(result + box),
    ):
        with pytest.raises(proxy.Undecided):
            ask()
    assert float(box) == 1 and list(box) == [1, 2]


@pytest.mark.slow
def test_an_object_that_an_operator_gives_back_is_a_result_under_each_of_its_names(there):
    box = there.Box(1, 2)
    same = box
    same += 1  # gives itself
    assert same is box and box.data.tolist() == [2, 3]
    with pytest.raises(proxy.Undecided):
        float(box)
