"""The page for graders, asked without a browser: who is let in, what it shows, what its forms do.

`test_browser.py` opens it in one.
"""

import html
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from grader_page import EVIL, Grader, Tags, page_of
from some_results import coded, handed_in, remember_roster, result, save, set_comment, set_points

pytest.importorskip("starlette", reason="Starlette is not here: it is in the extra `instructor`")
from tito.grading.gradebook import merging
from tito.grading.jail.sheet import Sheet
from tito.grading.page import access, class_list, lexer
from tito.grading.result import ExerciseCell, packed
from tito.learn.questions import Question

CODE = f'# %% exercise="exercise"\ndef double(x):\n    """{EVIL}"""\n    return 2 * x\n'


@pytest.fixture
def page(book):
    """The page of a class of three, with graders ta1 and ta2."""
    for student, name in (("ada", "Ada Lovelace"), ("bob", ""), ("eve", "Eve")):
        one = result(student, points=(3, 0), sha256=student[0] * 64)
        coded(one, CODE)
        save(book, [one, result(student, "sums", (3, 3), verdict="passed")], None, "me", name)
    return page_of(book)


def fields(response, action):
    """{name: value} of the hidden fields of the first form with this action's last word."""
    forms = re.findall(r"<form[^>]*action=\"([^\"]*)\"[^>]*>(.*?)</form>", response.text, re.S)
    inner = next(inner for address, inner in forms if address.rpartition("/")[2] == action)
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', inner)
    return {name: html.unescape(value) for name, value in hidden}


def points_of(page, student, lesson="numbers"):
    (grade,) = page.book.grades(student, lesson)
    return str(grade.points)


# Who is let in


def test_without_the_token_nothing_is_shown(page):
    right = page.ta1.session.token
    for path in ("/", "/favicon.ico", f"/{right[:-1]}/", f"/{right}x/", "//", f"/x/{right}/"):
        response = page.client.get(path)
        assert response.status_code == 403 and "Ada" not in response.text
        assert right not in response.text
    assert page.client.get(f"/{right}/").status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8801", 200),
        ("localhost:9000", 200),
        ("[::1]:8801", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil.example:127.0.0.1", 403),
        ("192.168.1.7", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_machine_are_answered(page, host, status):
    """A name of another site that points to this machine is not one (DNS rebinding)."""
    assert page.ta1.get(host=host).status_code == status


def test_a_form_needs_its_token_and_this_site(page):
    place = f"/{page.ta1.session.token}/of/{page.of['ada']}/numbers/judge"
    form = {"csrf": page.ta1.session.csrf, "seen": "99", "text": "Well done."}
    ask = page.client.ask
    refused = [
        ask("POST", place, form | {"csrf": "x"}),
        ask("POST", place, form | {"csrf": page.ta2.session.csrf}),
        ask("POST", place, {"seen": "99", "text": "x"}),
        ask("POST", place, form, origin="http://evil.example"),
        ask("POST", place, form, sec_fetch_site="cross-site"),
        ask("POST", place, form, sec_fetch_site="same-site"),
        ask("POST", place, form, kind="application/json"),
        ask("POST", place, form | {"text": "x" * access.BODY}),
        ask("PUT", place, form),
        ask("GET", place),
    ]
    assert [one.status_code for one in refused] == [403] * 6 + [415, 413, 405, 405]
    assert [grade.comments for grade in page.book.grades("ada", "numbers")] == [[]]
    same = {"origin": "http://127.0.0.1:8801", "sec_fetch_site": "same-origin"}
    assert ask("POST", place, form, **same).status_code == 303


def test_every_answer_forbids_scripts_frames_caches_and_cookies(page):
    for path in ("/", "/static/page.css", "/static/page.js", "/nothing", "/of/x/numbers"):
        response = page.ta1.get(path)
        assert response.headers["content-security-policy"] == access.POLICY
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        assert "set-cookie" not in response.headers
    assert page.client.get("/wrong/").headers["content-security-policy"] == access.POLICY
    assert "unsafe" not in access.POLICY


def test_no_page_has_an_inline_script_or_style(page):
    for path in pages_of(page):
        text = page.ta1.get(path).text
        for tag, *attributes in Tags(text).tags:
            assert tag != "style" and (tag != "script" or "src" in attributes), path
            assert not any(name == "style" or name.startswith("on") for name in attributes), path
        assert not re.search(r"<[^>]* (?:src|href|action)=\"(?:https?:)?//", text), "another host"


def pages_of(page):
    here = f"/of/{page.of['ada']}/numbers"
    lists = ["/", "/lesson/numbers", "/lesson/numbers?show=needs"]
    return [*lists, here, here + "/file", "/lesson/nothing"]


def test_markup_in_names_code_messages_and_comments_is_text(page):
    """The page has the same tags whatever learners and graders write."""

    def fill(text):
        book = page.book
        one = result("zoe", points=(0, 0), sha256="f" * 64, reason=text, notes=[text])
        one.checks[0].message = one.checks[1].message = text
        one.checks[0].name = text
        coded(one, f'# %% exercise="exercise"\n{text}\n')
        save(book, [one], None, text, text, regrade=True)
        remember_roster(
            book, [SimpleNamespace(student="zoe", name=text, columns={"section": text})]
        )
        set_comment(book, "zoe", "numbers", text, text)
        set_points(book, "zoe", "numbers", "1", text, text, "c0")

    evil = Grader(page.client, page.sessions.new(EVIL))
    handle = page.page.class_list.handle("zoe")
    fill(EVIL)
    for path in (f"/of/{handle}/numbers", f"/of/{handle}/numbers/file", "/",
                 "/lesson/numbers", f"/lesson/numbers?find={EVIL}&section={EVIL}"):  # fmt: skip
        response = evil.get(path)
        assert response.status_code == 200
        found = Tags(response.text)
        names = {tag[0] for tag in found.tags}
        assert "alert(1)" in found.words and "img" not in names and names.isdisjoint({"iframe"})
        assert [tag for tag in found.tags if tag[0] == "script"] == [("script", "defer", "src")]
        assert "{{7777*7777}}" in found.words and str(7777**2) not in found.words


def test_what_turns_text_around_is_spelled_out(page):
    one = result("mal", sha256="f" * 64)
    coded(one, '# %% exercise="exercise"\nadmin = "\u202e"\x00\x1b\n')
    save(page.book, [one], None, "me", "Mal\u202e")
    text = page.ta1.get(f"/of/{page.page.class_list.handle('mal')}/numbers").text
    assert "\u202e" not in text and "\x1b" not in text and "\\u202e" in text


# What it shows


@pytest.mark.parametrize(
    "points", ["1_0", "\u0661", "\uff11", "1e2", "1e-400", "0x1", "nan", "1,,5"]
)
def test_points_are_a_number_in_plain_digits(page, points):
    here = f"/of/{page.of['ada']}/numbers"
    form = fields(page.ta1.get(here), "judge") | {"points": points, "why": "looked"}
    answer = page.ta1.post(here + "/judge", **form)
    assert answer.status_code == 409 and "is no number of points" in answer.text


def test_the_class_shows_lessons_graders_and_what_needs_a_person(page):
    save(page.book, [result("mal", verdict="crashed")], None, "me", "Mal")
    page.ta1.get(f"/of/{page.of['ada']}/numbers")
    page.ta2.get(f"/of/{page.of['bob']}/numbers")
    text = Tags(page.ta1.get("/").text).spaced
    assert "01 Numbers 4 of 4 3 of 6 2 of 4 1 of lesson numbers need a person" in text
    assert "ta1: 1; ta2: 1" in text and "Mal 01 numbers crashed nobody" in text


def test_lists_follow_the_section_what_is_to_be_shown_and_a_name(page):
    remember_roster(
        page.book,
        [
            SimpleNamespace(student=one, name=one.title(), columns={"section": section})
            for one, section in (("ada", "A"), ("bob", "B"), ("eve", "B"))
        ],
    )
    page.ta2.get(f"/of/{page.of['bob']}/numbers")
    page.ta1.get(f"/of/{page.of['eve']}/numbers")

    def names(query):
        text = page.ta1.get(f"/lesson/numbers{query}").text
        return re.findall(r'class="row"[^>]*>(\w+)<', text)

    assert names("") == ["Ada", "Bob", "Eve"] and names("?section=B") == ["Bob", "Eve"]
    assert names("?show=unopened") == ["Ada"] and names("?show=mine") == ["Eve"]
    assert names("?show=needs") == [] and names("?find=bO") == ["Bob"]
    assert names("?section=C") == [] and names("?show=nonsense") == ["Ada", "Bob", "Eve"]
    remember_roster(
        page.book, [SimpleNamespace(student="bob", name="", columns={"section": "A, B"})]
    )
    assert names("?section=A") == ["Ada", "Bob"] and names("?section=B") == ["Bob", "Eve"]


def test_learners_of_one_name_are_listed_with_their_ids(page):
    twins = [SimpleNamespace(student=one, name="Kim Lee", columns={}) for one in ("bob", "eve")]
    remember_roster(page.book, twins)
    text = page.ta1.get("/lesson/numbers").text
    names = re.findall(r'class="row"[^>]*>([^<]+)<', text)
    assert names == ["Ada Lovelace", "Kim Lee (bob)", "Kim Lee (eve)"]
    page.ta1.session.anonymous = True
    assert "Kim" not in page.ta1.get("/lesson/numbers").text


def test_a_learner_who_is_merged_while_a_page_is_made_is_reported(page, monkeypatch):
    learners = page.book.learners

    def late():
        found = learners()
        monkeypatch.setattr(page.book, "learners", learners)
        merging.merge(page.book, "bob", "ada", "ta2", "two logins")
        return found

    page.ta1.get("/")
    monkeypatch.setattr(page.book, "learners", late)
    assert page.ta1.get(f"/of/{page.of['bob']}/numbers").status_code in (404, 409)


def test_a_submission_shows_its_code_beside_its_checks(page):
    response = page.ta1.get(f"/of/{page.of['ada']}/numbers")
    words = Tags(response.text).words
    assert "return 2 * x" in words and "message 1" in words and "(hidden)" in words
    assert '<li value="2">' in response.text  # the line of the file
    whole = page.ta1.get(f"/of/{page.of['ada']}/numbers/file")
    assert "return 2 * x" in Tags(whole.text).words


def test_every_cell_of_an_exercise_is_shown_and_which_one_counts(page):
    """Otherwise a second cell with the same mark could hide what was graded."""
    one = coded(result(points=(0, 0), sha256="f" * 64), CODE)
    one.code = packed(f"{CODE}# %%\n# SHOWN\n")
    (counts,) = one.cells["exercise"]
    other = ExerciseCell("line 6: not exported, so it does not count", False, 6, 7)
    for cells, words, absent in (
        ([counts], "return 2 * x", "line 1: counts"),
        ([counts, other], "line 1: counts return 2 * x line 6: not exported # SHOWN", "the whole"),
        ([other], "line 6: not exported # SHOWN", "return"),
        ([replace(counts, first=900, last=910)], "lines 900 to 910 are not saved", "return"),
        ([], "see the whole file", "return"),
    ):
        save(page.book, [replace(one, cells={"exercise": cells})], None, "me", regrade=True)
        text = page.ta1.get(f"/of/{page.of['ada']}/numbers").text
        spaced = Tags(re.findall(r"<article.*?</article>", text, re.S)[0]).spaced
        at = 0
        for word in re.split(r" (?=line|return|#)", words):
            at = spaced.index(word, at)
        assert absent not in spaced


@pytest.mark.slow
@pytest.mark.parametrize(
    "slow",
    ["match" + 100_000 * " ", 15_000 * " \n", "'" + 50_000 * r"\N{"],
    ids=["spaces", "blank lines", "names of letters"],
)
def test_code_that_takes_minutes_to_colour_is_shown_without_colours(page, monkeypatch, slow):
    monkeypatch.setattr(lexer, "SECONDS", 0.5)
    one = result("zoe", points=(0, 0), sha256="f" * 64)
    coded(one, f"# %%\n# by zoe\n{slow}\nx = 1\n")
    save(page.book, [one], None, "me")
    address = f"/of/{page.page.class_list.handle('zoe')}/numbers/file"
    began = time.process_time()
    words = Tags(page.ta1.get(address).text).words
    assert time.process_time() - began < 1, "and other graders wait no longer than that"
    assert "x = 1" in words and "by zoe" in words
    page.ta1.post("/anonymous")
    words = Tags(page.ta1.get(address).text).words
    assert "x = 1" in words and "by zoe" not in words


def test_checks_are_shown_with_the_code_of_their_exercise_also_with_a_hyphen(page):
    one = result(points=(0, 0), sha256="f" * 64)
    one.checks[0].exercise, one.checks[1].exercise = "numbers-softmax", "numbers-log-softmax"
    coded(
        one,
        """# %% exercise="softmax"
first = 1
# %% exercise="log-softmax"
second = 2
""",
    )
    save(page.book, [one], None, "me", regrade=True)
    text = page.ta1.get(f"/of/{page.of['ada']}/numbers").text
    first, second = re.findall(r"<article.*?</article>", text, re.S)
    assert "first" in Tags(first).words and "second" not in Tags(first).words
    assert "second" in Tags(second).words and "first" not in Tags(second).words


def test_of_what_could_not_be_read_the_page_says_that_there_was_no_file(page):
    save(page.book, [result("old", sha256="1" * 64)], None, "me")
    response = page.ta1.get(f"/of/{page.page.class_list.handle('old')}/numbers")
    assert "No file could be read" in response.text


def test_a_new_grade_name_or_learner_shows_at_once(page):
    assert "5 of 6" not in page.ta1.get("/lesson/numbers").text
    set_points(page.book, "ada", "numbers", "5", "me", "asked")
    save(page.book, [result("new")], None, "me", "Newcomer")
    remember_roster(
        page.book, [SimpleNamespace(student="bob", name="Robert", columns={"section": "Z"})]
    )
    text = page.ta1.get("/lesson/numbers").text
    assert "5 of 6" in text and "Newcomer" in text and "Robert" in text and ">Z<" in text


def test_in_anonymous_mode_no_page_names_a_learner(page):
    remember_roster(
        page.book,
        [
            SimpleNamespace(
                student="ada",
                name="Ada Lovelace",
                columns={"email": "countess@example.org", "sis_login_id": "1815x"},
            )
        ],
    )
    one = result("ada", points=(0, 0), sha256="f" * 64, notes=["ada_numbers.py counts"])
    one.checks[0].message = "LOVELACE's double"
    coded(one, '# %% exercise="exercise"\n# countess@example.org, 1815x, Lovelace\n')
    save(page.book, [one], None, "me", regrade=True)
    page.ta1.post("/anonymous")
    called = class_list.pseudonym(page.of["ada"])
    for path in (*pages_of(page), f"/of/{page.of['ada']}/numbers?check=c0"):
        text = page.ta1.get(path).text
        for word in ("ada", "lovelace", "countess", "1815x", "bob"):
            assert not re.search(rf"\b{word}", Tags(text).words, re.I), (path, word)
            assert f"/{word}" not in text and f'"{word}' not in text
    assert called in page.ta1.get("/lesson/numbers").text
    assert called not in page.ta2.get("/lesson/numbers").text, "only for who wants it"
    page.ta1.post("/anonymous")
    assert "Ada Lovelace" in page.ta1.get("/lesson/numbers").text


def test_questions_on_the_code_and_their_answers_hide_the_name_and_are_no_markup(book):
    one = result("ada", points=(3, 0), sha256="a" * 64)
    coded(one, CODE)
    save(book, [one], None, "me", "Ada Lovelace")
    text = f"Line 3 is changed by Ada Lovelace {EVIL}"
    asked = Question("exercise", "changed", text, "4", ((3, f"x = {EVIL}"),), 3, ("5", "4"))
    sheets = SimpleNamespace(sheet=lambda student, lesson: Sheet((asked,)))
    page = page_of(book, maker=sheets)
    place = f"/of/{page.of['ada']}/numbers"
    assert f"{place}/sheet" in page.ta1.get(place).text
    page.ta1.post("/anonymous")
    tags = Tags(page.ta1.get(f"{place}/sheet").text)
    assert tags.words.count(EVIL) == 2 and "Lovelace" not in tags.words
    assert "b 4 This value came from the learner's own process" in tags.spaced
    sheets.sheet = lambda student, lesson: Sheet(problem="Too long.")
    assert "Too long." in page.ta1.get(f"{place}/sheet").text
    assert page.ta1.get("/of/nobody/numbers/sheet").status_code == 404


def test_pseudonyms_are_of_the_gradebook_and_names_can_be_hidden_for_all(page):
    again = class_list.ClassList(page.book)
    assert again.handle("ada") == page.of["ada"]
    page.sessions.anonymous = True
    hidden = Grader(page.client, page.sessions.new("ta3"))
    hidden.post("/anonymous")
    text = hidden.get("/lesson/numbers").text
    assert "Lovelace" not in text and "Show names" not in text


# What its forms do


def test_next_gives_each_grader_an_unopened_submission(page):
    def follow(grader, **form):
        response = grader.post("/next", lesson="numbers", show="unopened", **form)
        return response.headers["location"].split("/of/")[-1].split("/")[0]

    first = follow(page.ta1)
    assert first == page.of["ada"] and follow(page.ta2) == page.of["bob"]
    assert follow(page.ta1, after=first) == page.of["eve"]
    assert "also opened by ta1" in page.ta2.get(f"/of/{first}/numbers").text
    left = page.ta1.post("/next", lesson="numbers", show="unopened").headers["location"]
    assert "All of these submissions have been opened" in page.client.get(left).text
    save(page.book, [result("bob", key="new", sha256="f" * 64)], None, "me")
    assert follow(page.ta1) == page.of["bob"], "it is another file now"


def test_next_leads_to_what_needs_a_person_and_says_when_nothing_does(page):
    for student in ("mal", "zed"):
        save(page.book, [result(student, sha256=student[0] * 64, verdict="tampered")], None, "me")
    mal, zed = (page.page.class_list.handle(one) for one in ("mal", "zed"))

    def follow(grader, after=""):
        to = grader.post("/next", lesson="numbers", after=after).headers["location"]
        return to.partition("/numbers")[0].rpartition("/")[2], page.client.get(to).text

    assert [follow(one)[0] for one in (page.ta1, page.ta2)] == [mal, zed]
    set_comment(page.book, "mal", "numbers", "See me.")
    assert follow(page.ta1, mal)[0] == zed, "ta2 may have gone home"
    handle, text = follow(page.ta1, zed)
    assert handle == zed and "Only this one still needs a person." in text
    set_points(page.book, "zed", "numbers", "0")
    _, text = follow(page.ta1, zed)
    assert "Nothing in this list needs a person any more." in text and "Next that" not in text


def test_one_button_saves_and_goes_to_the_next_of_the_list(page):
    here = f"/of/{page.of['ada']}/numbers"
    assert 'name="then"' not in page.ta1.get(here).text, "nothing needs a person"
    form = fields(page.ta1.get(f"{here}?show=unopened"), "judge")
    done = page.ta1.post(f"{here}/judge", then="next", text="See me.", **form)
    assert f"/of/{page.of['bob']}/numbers?show=unopened" in done.headers["location"]
    text = page.client.get(done.headers["location"]).text
    assert 'name="then"' in text and "Ada Lovelace: Comment kept; the learner reads it." in text
    refused = page.ta1.post(f"{here}/judge", then="next", **form)
    assert refused.status_code == 409 and "no points and no comment" in refused.text
    assert [one.text for one in next(page.book.grades("ada", "numbers")).comments] == ["See me."]


def test_an_answer_that_is_to_be_judged_is_next_without_a_detour(page):
    save(page.book, [handed_in("kim")], None, "me")
    to = page.ta1.post("/next").headers["location"]
    assert to.endswith(f"/question/numbers/why/{page.page.class_list.handle('kim')}")


def test_the_list_shows_those_who_fail_an_exercise_and_sorts_and_filters_by_result(page):
    one = result("ada", points=(3, 3), sha256="f" * 64, verdict="passed")
    save(page.book, [one], None, "me", "Ada", regrade=True)
    save(page.book, [result("mal", points=(0, 0), verdict="stub")], None, "me", "Mal")

    def names(query):
        return re.findall(r'class="row"[^>]*>(\w+)<', page.ta1.get(f"/lesson/numbers{query}").text)

    text = page.ta1.get("/lesson/numbers").text
    assert "exercise 33 % 2 fail exercise of 3" in Tags(text).spaced
    (link,) = re.findall(r'href="[^"]*/lesson/numbers([^"]*)">2<span', text)
    assert names(link) == ["bob", "Eve"]
    assert names("?result=stub") == ["Mal"] and names("?result=passed") == ["Ada"]
    assert names("?sort=points") == ["Mal", "bob", "Eve", "Ada"]
    assert names("?sort=most") == ["Ada", "bob", "Eve", "Mal"]
    assert names("?sort=result") == ["Ada", "bob", "Eve", "Mal"]
    opened = page.ta1.get(f"/of/{page.of['bob']}/numbers?sort=most&exercise=exercise").text
    assert "1 of 2" in opened and f"/of/{page.of['eve']}/numbers?exercise" in opened


def test_what_is_right_is_folded_and_the_form_is_at_the_first_failed_check(page):
    one = result("eve", points=(3, 3, 0, 0), sha256="f" * 64)
    for check, name in zip(one.checks, ("a", "b", "b", "c")):
        check.exercise = name
    save(page.book, [one], None, "me", regrade=True)
    here = f"/of/{page.of['eve']}/numbers"
    text = page.ta1.get(here).text
    parts = dict(
        re.findall(r'<article[^>]*aria-label="(\w)".*?(<details.*?)</article>', text, re.S)
    )
    assert [*parts] == ["b", "c", "a"] and "1 exercise all right" in text
    is_open = {name: part.startswith("<details open>") for name, part in parts.items()}
    assert is_open == {"b": True, "c": False, "a": False}
    assert '<details class="judge" open>' in parts["b"] and "<summary" in parts["b"]
    assert '<option value="c2" selected>' in parts["b"] and ">1 passed<" in parts["b"]
    form = fields(page.ta1.get(here), "judge") | {"about": "c", "check": "c3"}
    done = page.ta1.post(here + "/judge", **form, points="1", text="Nearly.")
    (grade,) = page.book.grades("eve", "numbers")
    assert [one.placed for one in grade.comments] == ["c: Nearly."]
    assert grade.check_overrides["c3"].why == "Nearly.", "the comment is the reason"
    assert "exercise=" not in done.headers["location"], "the list stays as it is"
    text = page.client.get(done.headers["location"]).text
    assert re.search(r'aria-label="c" data-here>\s*<details open>', text)
    text = page.ta1.get(f"{here}?exercise=c").text
    assert re.search(r'aria-label="c" data-here>\s*<details open>', text), "of those who fail c"


def test_with_one_grader_the_pages_say_nothing_about_others(page):
    alone = page_of(page.book, graders=[("prof", None)])
    here = f"/of/{page.of['ada']}/numbers"
    form = fields(alone.prof.get(here), "judge") | {"about": "exercise"}
    alone.prof.post(here + "/judge", **form, check="c1", points="1", text="Good.")
    for path in ("/", "/lesson/numbers", here):
        words = Tags(alone.prof.get(path).text).spaced
        assert not re.search(r"prof|Graders|by me|Opened by|You are", words.split("History")[0])
    assert "Set to 1 by prof" in Tags(page.ta1.get(here).text).spaced


def test_many_graders_at_once_are_given_different_submissions(page):
    openings, rows = class_list.Openings(), page.page.class_list.rows()
    with ThreadPoolExecutor(4) as pool:
        given = [*pool.map(lambda n: openings.open_next(rows, f"ta{n % 4}"), range(8))]
    assert {row for row in given if row} == set(rows) and given.count(None) == 8 - len(rows)


def test_points_are_set_and_taken_back_with_who_and_why(page):
    here = f"/of/{page.of['ada']}/numbers"
    form = fields(page.ta1.get(here), "judge")
    done = page.ta1.post(here + "/judge", **form, check="c1", points="2.5", why="close")
    assert done.status_code == 303 and points_of(page, "ada") == "5.5"
    (grade,) = page.book.grades("ada", "numbers")
    assert (grade.check_overrides["c1"].who, grade.check_overrides["c1"].why) == ("ta1", "close")
    text = page.ta2.get(here).text
    assert "Set to <strong>2.5</strong> by ta1" in text and "Written: 3 -&gt; 5.5" not in text
    form = fields(page.ta2.get(here), "lift")
    assert page.ta2.post(here + "/lift", **form, why="not so").status_code == 303
    assert points_of(page, "ada") == "3"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"points": "80", "why": "x"}, "between 0 and 6"),
        ({"points": "x", "why": "x"}, "x"),
        ({"points": "", "why": "x"}, "There are no points and no comment."),
        ({"points": "3", "why": ""}, "Every change of a grade needs an author"),
        ({"points": "3", "why": "x", "check": "no such"}, "has no check no such"),
        ({"points": "3", "why": "x", "seen": "y"}, "This form is damaged."),
    ],
)
def test_a_form_that_cannot_be_done_is_shown_again_with_what_was_typed(page, form, words):
    here = f"/of/{page.of['ada']}/numbers"
    form = fields(page.ta1.get(here), "judge") | {"check": ""} | form
    response = page.ta1.post(here + "/judge", **form)
    assert response.status_code == 409 and words in html.unescape(response.text)
    typed, *others = re.findall(r'name="points"[^>]* value="([^"]*)"', response.text)
    assert typed == form["points"] and set(others) == {""}
    assert points_of(page, "ada") == "3"


@pytest.mark.slow
def test_of_two_graders_who_set_the_same_points_the_second_sees_the_change_of_the_first(page):
    here = f"/of/{page.of['ada']}/numbers"
    first, second = (fields(one.get(here), "judge") for one in (page.ta1, page.ta2))
    page.ta1.post(here + "/judge", **first, check="", points="5", why="talked")
    told = page.ta2.post(here + "/judge", **second, check="", points="2", why="late")
    assert told.status_code == 409 and points_of(page, "ada") == "5"
    words = Tags(told.text).words
    assert "ta1 changed this grade after you had opened it" in words
    assert "override 3 -> 5: talked; the lesson set to 5" in words
    assert 'value="late"' in told.text and 'value="2"' in told.text
    form = fields(told, "judge")
    page.ta2.post(here + "/judge", **form, check="", points="2", why="late")
    assert points_of(page, "ada") == "2"


def test_a_form_that_is_sent_twice_does_its_work_once(page):
    here = f"/of/{page.of['ada']}/numbers"
    for action, more in (
        ("judge", {"text": "Well done.", "about": "exercise"}),
        ("judge", {"check": "c1", "points": "1", "why": "asked"}),
        ("lift", {"check": "c1", "why": "no"}),
    ):
        form = {"seen": str(page.book.last_change("ada", "numbers"))} | more
        codes = [page.ta1.post(f"{here}/{action}", **form).status_code for _ in range(3)]
        assert codes == [303] * 3, action
    (grade,) = page.book.grades("ada", "numbers")
    assert [comment.text for comment in grade.comments] == ["Well done."]
    kinds = [change.kind for change in page.book.history("ada", "numbers")]
    assert kinds == ["graded", "comment", "override", "override"]


def test_a_comment_that_is_sent_again_after_another_change_is_saved_once(page):
    here = f"/of/{page.of['ada']}/numbers"
    seen = str(page.book.last_change("ada", "numbers"))
    page.ta1.post(here + "/judge", seen=seen, text="Well done.")
    page.ta1.post(here + "/judge", seen=str(int(seen) + 1), check="", points="5", why="asked")
    set_points(page.book, "ada", "numbers", "2", "ta2", "copied")
    again = page.ta1.post(here + "/judge", seen=seen, text="Well done.")
    assert again.status_code == 303
    points = page.ta1.post(here + "/judge", seen=seen, check="", points="5", why="asked")
    assert points.status_code == 409 and points_of(page, "ada") == "2"
    (grade,) = page.book.grades("ada", "numbers")
    assert [comment.text for comment in grade.comments] == ["Well done."]


def test_comments_are_said_again_counted_and_taken_back_one_by_one(page):
    for student in ("bob", "eve"):
        set_comment(page.book, student, "numbers", "See me.", "ta9")
    here = f"/of/{page.of['ada']}/numbers"
    response = page.ta1.get(here)
    assert re.search(r"See me\. <span class=\"dim\">used 2 times", response.text)
    again = re.findall(r'data-text="([^"]*)"', response.text)
    form = fields(response, "judge") | {"text": again[0]}
    page.ta1.post(here + "/judge", **form)
    page.ta1.post(here + "/judge", seen=fields(page.ta1.get(here), "judge")["seen"], text="Hm.")
    form = fields(page.ta1.get(here), "uncomment")
    page.ta1.post(here + "/uncomment", **form)
    (grade,) = page.book.grades("ada", "numbers")
    assert [(one.text, one.who) for one in grade.comments] == [("Hm.", "ta1")]


def test_unknown_addresses_and_damaged_forms_are_refused(page):
    for path in ("/of/nobody/numbers", f"/of/{page.of['ada']}/nothing", "/lesson/nothing"):
        assert page.ta1.get(path).status_code == 404
    assert page.ta1.post(f"/of/{page.of['ada']}/numbers/nothing").status_code == 404
    assert page.ta1.get("/static/..%2fapp.py").status_code == 404
    for path, status in (("/lesso", 404), ("/next", 405), ("/of/a/b/c/d", 404)):
        lost = page.ta1.get(path)
        assert lost.status_code == status and "There is no such page." in lost.text
        assert "<h1>Not found</h1>" in lost.text and 'href="/' in lost.text, "with the way back"


def test_a_name_is_hidden_where_it_is_a_name(page):
    """A learner may have the name of a function."""
    one = result("max", sha256="f" * 64)
    one.checks[1].message = "the max of Maximilian should be 3, MAX; yours max_1, Max's"
    coded(one, '# %% exercise="exercise"\n# by Max, max\ny = max(x, "max Sum")\n')
    save(page.book, [one], None, "me", "Max Sum")
    handle = page.page.class_list.handle("max")
    page.ta1.post("/anonymous")
    words = Tags(page.ta1.get(f"/of/{handle}/numbers").text).words
    called = class_list.pseudonym(handle)
    assert f"# by {called}, {called}" in words and f'y = max(x, "{called}")' in words
    save(page.book, [result("li", sha256="0" * 64)], None, "me", "Li Grace")
    hide = class_list.mask(page.book.learners()[3], "0" * 24)
    assert hide("li, Grace, grace, GRACE's") == "li, Learner 22222, grace, Learner 22222's"


def test_a_submission_says_first_why_it_needs_a_person_and_what_is_not_right(page):
    one = result("eve", points=(3, 0, 0), sha256="f" * 64)
    one.checks[1].exercise, one.checks[2].exercise = "numbers-b", "numbers-c"
    one.answers = handed_in("eve").answers
    save(page.book, [one], None, "me", regrade=True)
    text = page.ta1.get(f"/of/{page.of['eve']}/numbers").text
    top, parts = text.split("<h2", 1)
    asked = f'/question/numbers/why/{page.of["eve"]}">an answer to be judged</a>'
    assert "Needs a person</strong>" in top and asked in top
    assert re.findall(r'aria-label="(numbers-.|exercise)"', parts) == [
        "numbers-b",
        "numbers-c",
        "exercise",
    ]
    text = page.ta1.get(f"/of/{page.of['ada']}/numbers").text
    assert "Needs a person</strong>" not in text


def test_a_lesson_that_python_cannot_read_needs_a_person(page):
    words = "numbers_dev.py:3: syntax error: invalid syntax:\n  x = = 1"
    save(page.book, [result("mal", verdict="syntax error", reason=words)], None, "me", "Mal")
    assert "Mal" in page.ta1.get("/lesson/numbers?show=needs").text
    text = page.ta1.get(f"/of/{page.page.class_list.handle('mal')}/numbers").text
    assert "<pre>numbers_dev.py:3: syntax error" in text and "Python cannot read" not in text


@pytest.mark.parametrize("deed", ["points", "comment"])
def test_a_file_at_fault_needs_a_person_until_points_are_set_or_a_comment_is_written(page, deed):
    save(page.book, [result("mal", sha256="f" * 64, verdict="crashed")], None, "me", "Mal")
    assert "Mal" in page.ta1.get("/lesson/numbers?show=needs").text
    form = {"points": {"points": "3", "why": "it ran here"}, "comment": {"text": "See me."}}[deed]
    here = f"/of/{page.page.class_list.handle('mal')}/numbers"
    page.ta1.post(f"{here}/judge", **fields(page.ta1.get(here), "judge"), **form)
    assert "Mal" not in page.ta1.get("/lesson/numbers?show=needs").text


def test_a_comment_says_what_was_typed_whatever_that_is(page):
    """In a table, `lift` takes comments back; on the page it is a word."""
    here = f"/of/{page.of['ada']}/numbers"
    page.ta1.post(here + "/judge", **fields(page.ta1.get(here), "judge"), text="lift")
    (grade,) = page.book.grades("ada", "numbers")
    assert [one.text for one in grade.comments] == ["lift"]
    lift = page.ta1.post(here + "/judge", **fields(page.ta1.get(here), "judge"), points="lift")
    assert lift.status_code == 409
