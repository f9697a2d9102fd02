"""tito/learn/status.py and its input: states, hints and a progress file that may be damaged."""

import json

import commands
import pytest
from small_course import edit, solve, verdict_on

from tito import views
from tito.errors import Notice, TitoError
from tito.learn import progress, runner, status
from tito.lesson import course


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


def tito(root, *words):
    return commands.run(root, *words)


def row(entry):
    return status.rows(entry.root)[entry.number - 1]


def states(root):
    return [one.state for one in status.rows(root)]


def test_a_lesson_goes_from_new_to_passed_to_stale_and_back(entry):
    assert states(entry.root) == ["new", "new"]
    assert tito(entry.root, "start", "numbers").returncode == 0
    assert states(entry.root) == ["started", "new"]
    solve(entry)
    assert verdict_on(entry).passed
    assert (row(entry).state, row(entry).points) == ("passed", 5)
    edit(entry, "twice = x + x", "twice = 2 * x")
    assert (row(entry).state, row(entry).points) == ("stale", 5)
    assert verdict_on(entry).passed
    assert row(entry).state == "passed"
    edit(entry, "twice = 2 * x", "twice = x")
    assert not verdict_on(entry).passed
    assert (row(entry).state, row(entry).points) == ("started", 0)


def test_prose_is_no_edit_and_neither_is_taking_one_back(entry):
    solve(entry)
    verdict_on(entry)
    edit(entry, "größer als zuvor", "kleiner")
    assert row(entry).state == "passed"
    edit(entry, "twice = x + x", "twice = 2 * x")
    edit(entry, "twice = 2 * x", "twice = x + x")
    assert row(entry).state == "passed"


def test_writing_in_a_lesson_begins_it(entry):
    solve(entry, "numbers-double")
    assert states(entry.root) == ["started", "new"]


def test_what_cannot_be_tested_keeps_the_points_of_the_last_run(entry):
    solve(entry, "numbers-double")
    verdict_on(entry)
    before = row(entry)
    assert (before.points, before.edited) == (4, False)
    entry.script.write_bytes(b"")
    assert not verdict_on(entry).passed
    assert (row(entry).state, row(entry).points, row(entry).edited, row(entry).last_run) == (
        "started",
        4,
        True,
        before.last_run,
    )
    assert (
        status.next_step([row(entry)])[1]
        == "Numbers is begun: 4 of 5 points before your last edit."
    )
    assert "edited" not in json.loads(tito(entry.root, "status", "--json").stdout)[0]


def test_a_pass_is_not_kept_when_an_earlier_lesson_stops_the_same_code(entry):
    sums = entry.root.lesson("sums")
    solve(entry)
    solve(sums)
    assert verdict_on(sums).passed
    edit(entry, "def double(x):", "def duble(x):")
    assert not verdict_on(sums).passed
    assert status.row(sums, progress.load(entry.root)["lessons"]["sums"]).state == "started"


def test_points_from_before_a_reset_are_marked(entry):
    solve(entry, "numbers-double")
    verdict_on(entry)
    assert "4 of 5 points so far" in tito(entry.root, "status").stdout
    tito(entry.root, "reset", "numbers")
    output = tito(entry.root, "status").stdout
    assert "4 of 5 points before your last edit" in output and "just now, edited since" in output


def test_a_part_of_the_checks_earns_nothing(entry):
    solve(entry)
    assert verdict_on(entry, keyword="two_is_four").points == 2
    assert (row(entry).state, row(entry).points) == ("started", 0)


def test_hints_come_one_at_a_time_are_counted_and_remembered(entry):
    first, second, again = (status.hint(entry) for _ in range(3))
    assert [(h.exercise, h.level, h.again) for h in (first, second, again)] == [
        ("numbers-double", 1, False),
        ("numbers-double", 2, False),
        ("numbers-double", 2, True),
    ]
    assert first.text == "What is a number\nplus itself?"
    assert row(entry).hints_used == 2
    solve(entry, "numbers-double")
    verdict_on(entry)
    assert status.hint(entry).exercise == "numbers-triple"
    assert row(entry).hints_used == 3


def test_without_a_failing_exercise_a_hint_has_to_be_named(entry):
    solve(entry)
    verdict_on(entry)
    with pytest.raises(TitoError, match="Every exercise of numbers passed"):
        status.hint(entry)
    assert status.hint(entry, entry.declared.exercise("double")).level == 1


def test_start_names_what_is_needed_until_it_has_passed(entry):
    root = entry.root
    needed = (
        "sums needs numbers, which has not passed: tito start numbers, or for now tito skip numbers"
    )
    assert needed in tito(root, "start", "sums").stdout
    solve(root.lesson("sums"))
    tested = tito(root, "test", "sums").stdout
    assert needed in tested and "Next to write" not in tested
    solve(entry)
    verdict_on(entry)
    assert "needs" not in tito(root, "start", "sums").stdout


def test_the_next_step_follows_the_states(entry):
    root, sums = entry.root, entry.root.lesson("sums")

    def step():
        result = status.next_step(status.rows(root))
        return result and result[0]

    assert step() == "tito start numbers"
    tito(root, "start", "numbers")
    assert step() == "tito test numbers"
    solve(entry)
    verdict_on(entry)
    assert step() == "tito start sums"
    edit(entry, "twice = x + x", "twice = 2 * x")
    assert step() == "tito test numbers"
    verdict_on(entry)
    solve(sums)
    assert verdict_on(sums).passed
    assert step() is None
    assert "The course is complete: every lesson has passed." in tito(root, "status").stdout


def test_a_progress_file_cut_off_anywhere_is_set_aside_and_the_command_goes_on(entry):
    solve(entry)
    verdict_on(entry)
    status.hint(entry, entry.declared.exercise("double"))
    path = entry.root.state / "progress.json"
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 10):
        path.write_bytes(whole[:length])
        with pytest.warns(Notice, match="damaged") as notices:
            assert [row.state for row in status.rows(entry.root)] == ["started", "new"]
        copies = list(entry.root.state.glob("progress-damaged-*.json"))
        assert [copy.read_bytes() for copy in copies] == [whole[:length]]
        assert len(notices) == 1 and str(copies[0]) in str(notices[0].message)
        assert not path.exists()
        copies[0].unlink()


def test_the_first_hint_is_of_the_check_that_fails(entry):
    path = entry.declared_path.with_name("hints.md")
    text = path.read_text(encoding="utf-8").replace(
        "2. `x + x`",
        '2. `x + x`\n3. When "double of two is four" fails: no power.\n'
        '4. When "double works on arrays" fails: no\n   list.',
    )
    path.write_text(text, encoding="utf-8")
    entry = course.open_root(entry.root.path).lesson("numbers")
    assert status.hint(entry).text.startswith("What is a number")
    solve(entry)
    edit(entry, "twice = x + x", "twice = 4 if isinstance(x, int) else [x, x]")
    runner.test_lesson(entry, runner.CheckSelection(["numbers-double"]))
    texts = [status.hint(entry, entry.declared.exercise("double")).text for _ in range(4)]
    assert texts == [
        'If the check "double works on arrays" fails: no\nlist.',
        "`x + x`",
        'If the check "double of two is four" fails: no power.',
        'If the check "double of two is four" fails: no power.',
    ]
    assert status.rows(entry.root)[0].hints_used == 4


WRONG = [
    "[]",
    "5",
    "null",
    '"x"',
    "{}",
    '{"lessons": []}',
    '{"lessons": {"numbers": 5}}',
    '{"lessons": {}, "milestones": {"sum": {"measured": 3}}}',
    '{"lessons": {"numbers": {"hints_shown": {"a": "b"}}}}',
    '{"lessons": {"numbers": {"parts": {"numbers-double": 7}}}}',
    '{"lessons": {"numbers": {"last": {"when": "now"}}}}',
    (
        '{"lessons": {"numbers": {"last": {"when": 1, "code": "", "verdict": "passed", "points": 5,'
        ' "checks": {}}}}}'
    ),
    '{"lessons": {"numbers": {"pair": "x"}}}',
    "[" * 100_000,
    "\ufeff{",
    "",
]


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_progress_file_of_another_shape_is_set_aside(entry, text):
    path = entry.root.state / "progress.json"
    path.write_text(text, encoding="utf-8")
    with pytest.warns(Notice, match="damaged") as notices:
        assert [row.state for row in status.rows(entry.root)] == ["new", "new"]
    assert len(notices) == 1
    assert status.hint(entry).level == 1
    assert json.loads(path.read_text(encoding="utf-8"))["lessons"]["numbers"]["hints_shown"] == {
        "numbers-double": [0]
    }


@pytest.mark.parametrize("when", ["2026-01-01T00:00:00+00:00", "yesterday", "9999-01-01T00:00:00"])
def test_an_odd_time_of_the_last_run_is_no_crash(entry, when):
    verdict_on(entry)
    with progress.change(entry.root, "numbers") as record:
        record["last"]["when"] = when
    result = tito(entry.root, "status")
    assert (result.returncode, result.stderr) == (0, "")
    assert "numbers" in result.stdout


def test_the_place_on_the_board_is_one_line(small_workspace):
    assert status.place_on_board(small_workspace) == ""
    path = small_workspace.path / "modules" / "milestones" / "olympics_mine.txt"
    for data, line in [(b"rank 1\n", "rank 1"), (b"\xff", ""), (b"a\x1b[2J\n", "a?[2J")]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        assert status.place_on_board(small_workspace) == line
    path.write_bytes(b"rank 1 of 9")
    assert "\nrank 1 of 9\n" in tito(small_workspace, "status").stdout


def test_status_as_json_has_the_promised_keys(entry):
    verdict_on(entry)
    one = json.loads(tito(entry.root, "status", "--json").stdout)[0]
    assert list(one) == [
        "number",
        "name",
        "title",
        "state",
        "points",
        "max_points",
        "hints_used",
        "last_run",
        "answers",
        "given_up",
    ]
    assert (one["number"], one["title"], one["max_points"]) == (1, "Numbers", 5)
    assert one["last_run"] is not None


def test_a_lesson_below_that_changed_since_is_named(small_workspace):
    for entry in small_workspace.lessons:
        solve(entry)
        verdict_on(entry)
    assert "since" not in tito(small_workspace, "status").stdout
    edit(small_workspace.lesson("numbers"), "    twice = x + x\n", "    twice = 2 * x\n")
    output = tito(small_workspace, "status").stdout
    assert "just now, edited since" in output and "just now, numbers changed since" in output
    verdict_on(small_workspace.lesson("sums"))
    assert "numbers changed" not in tito(small_workspace, "status").stdout


@pytest.mark.parametrize(
    ("tex", "said"),
    [
        (r"\frac{1}{2\sqrt{a}}", "1 / (2√a)"),
        (r"\hat p \pm \bar{x} \ne \beta_1", "p̂ ± x̄ ≠ β_1"),
        (r"\mathrm{relu}(s) - \dots\mathrm{relu}(s)", "relu(s) - …relu(s)"),
        (r"a_{ik} b_{k+1}", "a_ik b_(k+1)"),
        (r"(1 - \tanh^2 u)\,u' \cdot \max(z, 0)", "(1 - tanh^2 u) u' · max(z, 0)"),
    ],
)
def test_a_formula_of_a_hint_reads_as_one_types_it(tex, said):
    assert views.plain(f"So ${tex}$.") == f"So {said}."
