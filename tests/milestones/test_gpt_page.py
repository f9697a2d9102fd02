"""`tito milestone run gpt --page`: the form in the browser that writes with a GPT."""

import argparse
import json
import threading
from http.client import HTTPConnection

import pytest
from programs import program

program("05_2018_gpt")
import gpt_page  # noqa: E402  beside the program
import gpt_play  # noqa: E402

TOKEN = {"text": "Emma 0.5", "probability": 0.25, "others": [["s", 0.5]]}
FORM = {"prompt": "Emma", "temperature": 1, "top_p": 0.5, "tokens": 2}


def write(prompt, settings, rng):
    if prompt == "Ω":
        raise ValueError("'Ω' is not in the vocabulary")
    return ((f"{prompt} {settings.top_p}", 0.25, [("s", 0.5)]) for _ in range(settings.tokens))


def look(text):
    if not text:
        raise ValueError("write a few words")
    return [f"head 0 looks at {text}"], None


@pytest.fixture
def ask():
    """ask(method, path, body, host): (status, text) of the answer of a page."""
    chosen = argparse.Namespace(temperature=0.8, top_p=0.95, tokens=100, seed=0)
    with gpt_page.Page(write, chosen, gpt_play.out_of_range, look) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()

        def ask(method, path=page.path, body=None, host=page.host):
            connection = HTTPConnection(*page.server_address, timeout=20)
            connection.request(method, path, body, {"Host": host})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        yield ask
        page.shutdown()


def test_each_token_is_a_line_and_the_form_shows_the_settings(ask):
    status, text = ask("POST", body=json.dumps(FORM))
    lines = [json.loads(line) for line in text.splitlines()]
    assert (status, lines) == (200, [TOKEN] * 2)
    status, page = ask("GET")
    assert status == 200 and 'value="0.95"' in page and "@" not in page


def test_a_text_after_look_is_answered_with_where_the_heads_look(ask):
    status, text = ask("POST", body=json.dumps(FORM | {"prompt": "/look at it"}))
    assert (status, json.loads(text)) == (200, {"look": ["head 0 looks at at it"], "picture": ""})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"top_p": 7}, "top-p is a number from 0.01 to 1, not 7"),
        ({"tokens": None}, "tokens needs a number"),
        ({"prompt": "/look "}, "write a few words"),
        ({"prompt": 3}, "the prompt needs to be a text"),
        ({"prompt": "Ω"}, "'Ω' is not in the vocabulary"),
        ({"prompt": "a" * gpt_page.LONGEST}, "the text is longer than 100,000 bytes"),
    ],
)
def test_a_form_that_cannot_be_used_is_explained(ask, wrong, said):
    assert ask("POST", body=json.dumps(FORM | wrong)) == (400, said)


@pytest.mark.parametrize("other", [{"path": "/"}, {"host": "example.org"}])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_else_reaches_the_model(ask, method, other):
    assert ask(method, body=json.dumps(FORM), **other)[0] == 404
