"""The process that judges one entry of a class: `python -I olympics_judge.py REQUEST ANSWER`.

It sets its own limits of time and memory before it opens anything of the entry, and runs none
of the entry's code: the entry consists of arrays, and of sizes for a model from a fixed list.
"""

import json
import os
import sys

from tito import import_hook

BYTES = 3 * 2**30  # address space of one entry
MOST = 1_000_000  # bytes of all arrays of an entry
BLOCKS = 40  # of a text, for the interval
OWN = {"lesson", "build", "event", "seed"}  # keys of an entry's file that are no sizes


def set_limits(seconds):
    """Limit CPU seconds and memory where the operating system can do it."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is the only limit
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def judge_digits(entry, seed, events):
    """The rows of an entry that reads digits, {event: row}."""
    from tinytorch.core.olympics import judge
    from tinytorch.data.olympics import fresh_digits

    x, labels = fresh_digits(seed)
    return {name: judge(entry, name, x, labels, limits) for name, limits in events.items()}


def judge_text(entry, texts, events):
    """The rows of a GPT: its bits per character in place of right answers."""
    import numpy as np

    from tinytorch.core.autograd import no_grad
    from tinytorch.core.profiling import Profile

    model = entry.model()
    if str(model.vocab_size) not in texts:
        raise ValueError(f"vocab_size is {model.vocab_size}, it must be {' or '.join(texts)}")
    ids, characters = (np.array(part) for part in texts[str(model.vocab_size)])
    bits = bits_of_parts(model, ids, characters)
    window = ids[None, : model.context]
    with no_grad(), Profile(model) as profile:
        model(window)
    work = sum(row[4] for row in profile.rows) / characters[window].sum()
    row = {"entry": entry.name, "digest": entry.digest, "bytes": entry.nbytes,
           "flops": round(float(work)), "bits": float(bits.mean()),
           "interval": interval_of(bits)}  # fmt: skip
    rows = {}
    for name, limits in events.items():
        broken = [key for key, limit in limits.items() if row[key] > limit]
        rows[name] = row | {"event": name, "valid": not broken, "reason": ", ".join(broken)}
    return rows


def bits_of_parts(model, ids, characters):
    """The bits per character of each of BLOCKS parts of a text.

    ValueError for a text that is too short, and for scores that are not finite.
    """
    import numpy as np

    from tinytorch.core.transformers import held_out_bits

    if len(ids) < BLOCKS * (model.context + 1):
        raise ValueError(f"the text is too short for a context of {model.context}")
    parts = np.array_split(ids, BLOCKS)
    bits = np.array([held_out_bits(model, part, characters) for part in parts])
    if not np.isfinite(bits).all():
        raise ValueError("its scores are not finite")
    return bits


def interval_of(values):
    """The 95 % interval of the mean of values (n,), by the bootstrap: [low, high]."""
    import numpy as np

    means = np.random.default_rng(0).choice(values, (1000, len(values))).mean(axis=1)
    return np.quantile(means, [0.025, 0.975]).tolist()


def judge_entry(request):
    """{"rows": {event: row}} of an entry."""
    import tomllib

    from tinytorch.core.olympics import Entry, read_arrays
    from tinytorch.data.olympics import builder

    facts = tomllib.loads(request["toml"])
    if facts.get("lesson") != "olympics":
        raise ValueError(f'lesson is {facts.get("lesson")!r}, it must be "olympics"')
    build = builder(facts.get("build"), {k: v for k, v in facts.items() if k not in OWN})
    kind = "text" if facts["build"] == "gpt" else "digits"
    events = request["events"][kind]
    if wish := facts.get("event"):
        wish = wish if isinstance(wish, list) else [wish]
        events = {name: limits for name, limits in events.items() if name in wish}
        if not events:
            raise ValueError(f"there is no event {wish} for {facts['build']}")
    with open(request["npz"], "rb") as file:
        weights = read_arrays(file, MOST)
    for name, a in weights.items():
        if not hasattr(a, "nbytes"):
            raise ValueError(f"{name} in the archive is not an array")
    entry = Entry(request["name"], build, weights)
    if kind == "text":
        return judge_text(entry, request["texts"], events)
    return judge_digits(entry, request["seed"], events)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    set_limits(request["seconds"])
    import_hook.install(request["root"])
    try:
        answer = {"rows": judge_entry(request)}
    except Exception as error:
        answer = {"reason": f"{type(error).__name__}: {error}"[:300]}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
