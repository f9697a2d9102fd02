"""A page in the browser that writes with a trained GPT: a form for the beginning of a text, and
the continuation, token by token, in the colour of its probability.

Two requests are answered, at an address that nobody can guess: GET with the page, and POST with
the tokens for a form in JSON: a line of JSON for each token, as soon as it is drawn. A text
that begins with /look is answered with one line: what the heads do with it, and a picture.
"""

import base64
import copy
import io
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

LONGEST = 100_000  # bytes of a form


class Page(ThreadingHTTPServer):
    """The server of the page, on this machine alone.

    write   write(prompt, settings, rng) yields of each token (text, probability, list of other
            texts with theirs);
            raises ValueError for a prompt that it cannot use
    chosen  the settings that the form shows at first
    check   check(name, value) says what is wrong with a setting, or ""
    look    look(text) returns (lines about the heads, a matplotlib figure or None); ValueError
            for a text that it cannot use
    """

    daemon_threads = True

    def __init__(self, write, chosen, check, look):
        super().__init__(("127.0.0.1", 0), Requests)
        self.write, self.chosen, self.check, self.look = write, chosen, check, look
        self.rng = np.random.default_rng(chosen.seed)
        self.writing = threading.Lock()  # a browser has several connections; the model is one
        self.host = f"127.0.0.1:{self.server_port}"
        self.path = f"/{secrets.token_urlsafe(16)}/"
        self.address = f"http://{self.host}{self.path}"

    def settings(self, form):
        """(prompt, settings) of a form. Raises ValueError for what cannot be used."""
        settings = copy.copy(self.chosen)
        for name, kind in (("temperature", float), ("top_p", float), ("tokens", int)):
            value = form.get(name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{name.replace('_', '-')} needs a number")
            if problem := self.check(name, value):
                raise ValueError(problem)
            setattr(settings, name, kind(value))
        if not isinstance(form.get("prompt"), str):
            raise ValueError("the prompt needs to be a text")
        return form["prompt"], settings


class Requests(BaseHTTPRequestHandler):
    timeout = 30

    def do_GET(self):
        if not self.is_ours():
            return
        values = vars(self.server.chosen)
        page = PAGE
        for name in ("temperature", "top_p", "tokens"):
            page = page.replace(f"@{name}@", f"{values[name]:g}")
        self.reply(200, "text/html; charset=utf-8", page)

    def do_POST(self):
        if not self.is_ours():
            return
        try:
            length = int(self.headers.get("Content-Length", 0))
            if not 0 <= length <= LONGEST:
                raise ValueError(f"the text is longer than {LONGEST:,} bytes")
            form = json.loads(self.rfile.read(length))
            if not isinstance(form, dict):
                raise ValueError("the form needs to be an object")
            prompt, settings = self.server.settings(form)
        except (ValueError, RecursionError) as error:
            self.reply(400, "text/plain; charset=utf-8", str(error))
            return
        with self.server.writing:
            if prompt.startswith("/look"):
                self.look_at(prompt.removeprefix("/look").strip())
            else:
                self.continue_text(prompt, settings)

    def look_at(self, text):
        """Answer with what the heads do with a text."""
        try:
            lines, figure = self.server.look(text)
        except ValueError as error:
            self.reply(400, "text/plain; charset=utf-8", str(error))
            return
        picture = io.BytesIO()
        if figure is not None:
            figure.savefig(picture, format="png", dpi=110)
        found = {"look": lines, "picture": base64.b64encode(picture.getvalue()).decode()}
        self.reply(200, "application/x-ndjson", json.dumps(found) + "\n")

    def continue_text(self, prompt, settings):
        """Answer with the tokens, until they are drawn or the browser goes away."""
        try:
            drawn = self.server.write(prompt, settings, self.server.rng)
        except ValueError as error:  # a character that the tokenizer does not know
            self.reply(400, "text/plain; charset=utf-8", str(error))
            return
        try:
            self.start("application/x-ndjson", 200)
            for text, p, others in drawn:
                likely = [(other, round(share, 4)) for other, share in others]
                line = json.dumps({"text": text, "probability": round(p, 4), "others": likely})
                self.wfile.write(f"{line}\n".encode())
        except OSError:
            pass  # the browser stopped it

    def is_ours(self):
        """Whether the request is for the page; another one is answered here."""
        ours = self.path == self.server.path and self.headers.get("Host") == self.server.host
        if not ours:
            self.reply(404, "text/plain; charset=utf-8", "there is nothing here")
        return ours

    def reply(self, status, kind, text):
        self.start(kind, status)
        self.wfile.write(text.encode())

    def start(self, kind, status):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()

    def log_message(self, *words):
        """Log nothing: the terminal belongs to the learner."""


def serve(write, chosen, check, look):
    """Serve the page until Ctrl-C. The parameters are those of `Page`."""
    with Page(write, chosen, check, look) as server:
        print(f"Open {server.address} in a browser. Ctrl-C ends it.", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Write with your GPT</title>
<style>
body { font: 1.05rem/1.5 system-ui, sans-serif; max-width: 44rem }
body { margin: 2rem auto; padding: 0 1rem }
textarea { box-sizing: border-box; width: 100%; font: inherit; padding: .5rem }
form p { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center }
input { font: inherit; width: 4rem } button { font: inherit; padding: .25rem 1rem }
#out img { max-width: 100%; background: white }
#out { font: 1.1rem/1.7 Georgia, serif; white-space: pre-wrap; overflow-wrap: anywhere }
.a { background: light-dark(#cfe3ff, #1d3f73) } .b { background: light-dark(#d2f1ea, #14504a) }
.c { background: light-dark(#fbefc4, #57480f) } .d { background: light-dark(#ffd9d0, #6b2a1d) }
</style>
<main>
<h1>Write with your GPT</h1>
<form id="form">
<p><label style="flex: 1">The beginning of a text
<textarea id="prompt" rows="3">Emma was</textarea></label></p>
<p><label>temperature
<input id="temperature" type="number" min="0" max="10" step="any" value="@temperature@">
</label>
<label>top-p
<input id="top_p" type="number" min="0.01" max="1" step="any" value="@top_p@"></label>
<label>tokens
<input id="tokens" type="number" min="1" max="10000" value="@tokens@"></label>
<button id="go">Write</button> <button id="stop" type="button" disabled>Stop</button></p>
</form>
<p>The colour of a token is its probability:
<span class="a">from 50 %</span> <span class="b">from 10 %</span>
<span class="c">from 2 %</span> <span class="d">below 2 %</span>. Point at a token to see it,
and what else was likely. <code>/look</code> before a text shows where each head looks in
it.</p>
<div id="out"></div>
</main>
<script>
const at = name => document.getElementById(name);
let stopper;
at("stop").onclick = () => stopper.abort();
at("form").onsubmit = async event => {
  event.preventDefault();
  const prompt = at("prompt").value, out = at("out");
  const form = {prompt};
  for (const name of ["temperature", "top_p", "tokens"]) form[name] = at(name).valueAsNumber;
  stopper = new AbortController();
  at("go").disabled = true; at("stop").disabled = false;
  out.textContent = prompt;
  try {
    const body = JSON.stringify(form), signal = stopper.signal;
    const answer = await fetch("", {method: "POST", body, signal});
    if (!answer.ok) { out.textContent = await answer.text(); return; }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const {value, done} = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\\n");
      rest = lines.pop();
      for (const line of lines) {
        const {text, probability: p, others, look, picture} = JSON.parse(line);
        if (look) {
          out.textContent = look.join("\\n") + "\\n";
          const image = new Image();
          image.alt = "The attention weights of each head, as the lines above tell.";
          if (picture) { image.src = "data:image/png;base64," + picture; out.append(image); }
          continue;
        }
        const span = document.createElement("span");
        const share = p => (100 * p).toFixed(p < 0.1 ? 1 : 0) + " %";
        span.textContent = text;
        span.title = [share(p), ...others.map(([t, q]) => `${share(q)} ${JSON.stringify(t)}`)]
          .join("\\n");
        span.className = p >= .5 ? "a" : p >= .1 ? "b" : p >= .02 ? "c" : "d";
        out.append(span);
      }
    }
  } catch (error) {
    if (error.name !== "AbortError") out.append("\\n\\nThe program does not answer any more.");
  } finally { at("go").disabled = false; at("stop").disabled = true; }
};
</script>
</html>
"""
