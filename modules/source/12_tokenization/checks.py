# The checks of lesson 12, by exercise. `check("split")` in the chapter runs the visible ones.

# %% setup
import json
import math
import string

import numpy as np


def blame(name, call, got, right):
    """Blame the function that train_bpe calls, before train_bpe itself."""
    assert got == right, (
        f"train_bpe calls {name}, and {call} should be {right}, yours is {got}: the fault "
        f"is in {name}, so mend that first"
    )


def ended(got):
    """Blame a loop that went on with the pair None."""
    assert None not in got, (
        f"None is a key of your merges {got}: best_pair returns None when no pair is left, so "
        "stop the loop then, before it becomes a merge"
    )


# %% learner-side
def counted(words):
    """What pair_counts returns, as a plain dict."""
    return {tuple(map(int, pair)): int(count) for pair, count in pair_counts(words).items()}


def plain(ids):
    """Ids as a list of plain integers."""
    return np.asarray(ids).tolist()


def refusal(action, *given, **named):
    """The name of the error that a call raises, and its message, or two empty texts."""
    try:
        action(*given, **named)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def remember(tokenizer, word, ids):
    """Put ids of a word into the tokenizer's memory."""
    tokenizer.memory[word] = ids


def calls_of_encode_word(tokenizer, text):
    """How often `encode` calls the function encode_word for a text."""
    names, calls = Tokenizer.encode.__globals__, []
    original = names["encode_word"]

    def counting(*given, **named):
        calls.append(given)
        return original(*given, **named)

    names["encode_word"] = counting
    try:
        tokenizer.encode(text)
    finally:
        names["encode_word"] = original
    return len(calls)


class Fixed:
    """A tokenizer for the checks of `compression`, so that a fault in Tokenizer fails none:
    "ab" is one token, and so is each other byte.
    """

    def encode(self, text, allowed_special=()):
        parts = text.split("ab")
        ids = [*parts[0].encode()]
        for part in parts[1:]:
            ids += [256, *part.encode()]
        return np.array(ids, dtype=np.int64)


def rate(text):
    """What compression returns with that tokenizer."""
    return float(compression(text, Fixed()))


def pairs_of(words, frequencies):
    """Counts and holders of all pairs of these words, set up here, pair by pair."""
    from collections import Counter, defaultdict

    counts, holders = Counter(), defaultdict(set)
    for index, word in enumerate(words):
        for at in range(len(word) - 1):
            counts[word[at], word[at + 1]] += frequencies[index]
            holders[word[at], word[at + 1]].add(index)
    return counts, holders


def after_replacing(pair, new, words, frequencies):
    """Words, counts and holders after replace_pair, as plain data."""
    words, (counts, holders) = [tuple(word) for word in words], pairs_of(words, frequencies)
    replace_pair(pair, new, words, list(frequencies), counts, holders)
    return words, dict(counts), {key: sorted(value) for key, value in holders.items()}


class Watched(list):
    """A list that remembers the indices of the items that were read or changed."""

    def __init__(self, items):
        super().__init__(items)
        self.visited = set()

    def visit(self, index):
        places = range(len(self))[index]
        self.visited |= set(places) if isinstance(index, slice) else {places}

    def __getitem__(self, index):
        self.visit(index)
        return super().__getitem__(index)

    def __setitem__(self, index, item):
        self.visit(index)
        super().__setitem__(index, item)

    def __iter__(self):
        self.visit(slice(None))
        return super().__iter__()


def visited(pair, new, words, frequencies):
    """The indices of the words that replace_pair reads or changes."""
    watched = Watched(tuple(word) for word in words)
    replace_pair(pair, new, watched, list(frequencies), *pairs_of(words, frequencies))
    return sorted(watched.visited)


# %% characters points=3
def test_each_character_becomes_its_id():
    tokenizer = CharTokenizer("banana split")
    got = plain(tokenizer.encode("nab a"))
    assert got == [5, 1, 2, 0, 1], (
        'the characters of "banana split", sorted, are " abilnpst": "nab a" should be '
        f"[5, 1, 2, 0, 1], yours is {got}"
    )


def test_the_ids_are_an_int64_array():
    tokenizer = CharTokenizer("abc")
    for text in ("cab", "b", ""):
        ids = np.asarray(tokenizer.encode(text))
        assert ids.dtype == np.int64 and ids.shape == (len(text),), (
            f"encode({text!r}) should be an int64 array of shape ({len(text)},), yours has "
            "dtype "
            f"{ids.dtype} and shape {ids.shape}"
        )
    assert np.asarray(tokenizer.encode("cab")).tolist() == [2, 0, 1]


def test_an_unknown_character_is_refused():
    tokenizer = CharTokenizer("abc")
    kind, message = refusal(tokenizer.encode, "abéaж")
    assert kind == "ValueError", (
        '"é" is not in the vocabulary "abc": encode should raise a ValueError, yours '
        + (f"raises {kind}" if kind else "raises nothing: a character was lost or made up")
    )
    assert "é" in message and "ж" not in message, (
        'in "abéaж" the first unknown character is "é", and the message should contain it; '
        "yours "
        f"is {message!r}"
    )


# %% characters hidden points=1
def test_other_characters():
    text = "the quick brown fox\n\tjumps — é猫🙂"
    tokenizer = CharTokenizer(text)
    order = sorted(set(text))
    for sample in (text, text[::-1], "🙂", "\n\t"):
        assert plain(tokenizer.encode(sample)) == [order.index(c) for c in sample]
    assert plain(tokenizer.encode(text="fox", allowed_special=["x"])) == [
        order.index(c) for c in "fox"
    ]
    assert refusal(tokenizer.encode, "A") == refusal(tokenizer.encode, "AZ")
    assert refusal(tokenizer.encode, "oZ")[0] == "ValueError"


# %% to-bytes points=2
def test_a_text_becomes_its_utf8_bytes():
    for text, right, cause in [
        ("Hi!", [72, 105, 33], "ASCII characters are one byte each"),
        ("é", [195, 169], "233 is the code point, UTF-8 stores it as two bytes"),
        ("€a", [226, 130, 172, 97], "the euro sign is three bytes"),
        ("🙂", [240, 159, 153, 130], "an emoji is four bytes"),
    ]:
        got = list(to_bytes(text))
        assert got == right, f"the bytes of {text!r} are {right}, yours are {got}: {cause}"


def test_to_bytes_returns_a_list():
    for text in ("abc", "π"):
        got = to_bytes(text)
        assert isinstance(got, list) and got and all(isinstance(b, int) for b in got), (
            f"to_bytes({text!r}) should be a list of int, yours is {got!r}"
        )


# %% to-bytes hidden points=1
def test_bytes_of_other_texts():
    for text in ("", "\x00\n\r\n", "naïve — ½", "猫が好き", "Здравствуй", "é"):
        wanted = [byte for byte in text.encode()]
        assert to_bytes(text) == wanted, f"{text!r}"
    assert to_bytes("ÿ") == [195, 191]


# %% from-bytes points=4
def test_bytes_become_their_text():
    for ids, right in [([72, 105], "Hi"), ([195, 169], "é"), ([240, 159, 153, 130], "🙂")]:
        got = from_bytes(ids)
        assert got == right, (
            f"the bytes {ids} are the text {right!r}, yours is {got!r}: decode them as UTF-8"
        )


def test_half_a_character_becomes_the_replacement_character():
    for ids, right in [([128], "�"), ([110, 195], "n�"), ([255, 97], "�a"), ([226, 130], "�")]:
        kind, message = refusal(from_bytes, ids)
        assert not kind, (
            f"{ids} is not UTF-8, and yours raises {kind} ({message}): a model may produce "
            'half a character. Decode with errors="replace"'
        )
        got = from_bytes(ids)
        assert got == right, (
            f"{ids} should become {right!r}, yours is {got!r}: bytes that are no part of a "
            "character become U+FFFD"
        )


# %% from-bytes hidden points=1
def test_texts_of_other_bytes():
    rng = np.random.default_rng(5)
    for size in (0, 1, 5, 60):
        ids = [int(b) for b in rng.integers(0, 256, size)]
        wanted = b"".join(b.to_bytes() for b in ids).decode(errors="replace")
        assert from_bytes(ids) == wanted, f"{ids}"
    assert from_bytes([13, 10, 32, 9, 32]) == "\r\n \t "


# %% merged points=3
def test_each_occurrence_of_a_pair_is_merged():
    for ids, pair, right in [
        ((1, 2, 3, 1, 2), (1, 2), (9, 3, 9)),
        ((5, 1, 2), (1, 2), (5, 9)),
        ((1, 2, 1, 2), (1, 2), (9, 9)),
        ((2, 1, 2, 2), (1, 2), (2, 9, 2)),
    ]:
        got = merged(ids, pair, 9)
        assert isinstance(got, tuple), f"merged should return a tuple, yours is {got!r}"
        assert got == right, f"{ids} with {pair} merged to 9 should be {right}, yours is {got}"


def test_overlapping_pairs_are_merged_from_left_to_right():
    for ids, right in [
        ((7, 7, 7), (9, 7)),
        ((7, 7, 7, 7), (9, 9)),
        ((7, 7, 7, 7, 7, 4), (9, 9, 7, 4)),
    ]:
        got = merged(ids, (7, 7), 9)
        assert got == right, (
            f"{ids} with (7, 7) merged to 9 should be {right}, yours is {got}: go from left to "
            "right, and after a merge continue behind both ids"
        )


def test_what_holds_no_pair_stays():
    for ids in ((), (1,), (2, 1), (1, 3, 2), (21, 2, 1, 23)):
        got = merged(ids, (1, 2), 9)
        assert got == ids, f"{ids} does not hold the pair (1, 2); yours became {got}"
    assert merged((1, 2), (1, 2), 300) == (300,), (
        f"(1, 2) with that pair merged to 300 is (300,), yours is {merged((1, 2), (1, 2), 300)}"
    )


# %% merged hidden points=1
def test_other_merges():
    rng = np.random.default_rng(8)
    for size in (2, 3, 10, 200):
        ids = tuple(int(k) for k in rng.integers(0, 3, size))
        for pair in ((0, 0), (1, 2), (2, 1), (5, 0)):
            # the same with letters, where str.replace goes from left to right, too
            letters = "".join("abc"[k] for k in ids)
            pattern = "".join("abcdef"[k] for k in pair)
            wanted = tuple(
                77 if c == "X" else "abc".index(c) for c in letters.replace(pattern, "X")
            )
            assert merged(ids, pair, 77) == wanted, f"{ids}, {pair}"
    assert merged(ids=(1, 1, 12, 11, 1), pair=(1, 12), new=112) == (1, 112, 11, 1)


# %% pair-counts points=4
def test_pairs_of_neighbours_are_counted():
    got = counted({(1, 2, 3, 2): 1})
    assert got == {(1, 2): 1, (2, 3): 1, (3, 2): 1}, (
        f"the word (1, 2, 3, 2) holds (1, 2), (2, 3) and (3, 2) once each; yours counts {got}. "
        "The order within a pair matters"
    )


def test_pairs_are_weighed_by_the_frequency_of_the_word():
    got = counted({(1, 2): 1, (3, 4, 5): 6})
    assert got == {(1, 2): 1, (3, 4): 6, (4, 5): 6}, (
        "the word (1, 2) occurs once and (3, 4, 5) six times; yours counts "
        f"{got}: each pair of a word counts as often as the word occurs"
    )


def test_a_pair_that_occurs_twice_in_a_word_counts_twice():
    got = counted({(1, 2, 1, 2, 1, 2, 1, 2): 1, (3, 4): 2})
    assert got.get((1, 2)) == 4, (
        "(1, 2) occurs four times in the word (1, 2, 1, 2, 1, 2, 1, 2), yours counts "
        f"{got.get((1, 2))}: every position counts, so do not make a set of the pairs"
    )
    assert got == {(1, 2): 4, (2, 1): 3, (3, 4): 2}, f"yours counts {got}"
    for word, right in [((7, 7, 7), {(7, 7): 2}), ((7, 7, 7, 7, 4), {(7, 7): 3, (7, 4): 1})]:
        got = counted({word: 1})
        assert got == right, (
            f"the pairs of {word} are {right}, also where two of them share an id; yours "
            f"counts {got}: overlapping pairs all count; only merging goes from left to right"
        )


def test_counts_of_several_words_add_up():
    words = {(1, 2, 3): 10, (4, 2, 3): 5, (2, 3): 7, (9,): 100}
    got = counted(words)
    assert got == {(1, 2): 10, (2, 3): 22, (4, 2): 5}, (
        "(2, 3) stands in words that occur 10, 5 and 7 times, and a word of one id has no "
        "pair: "
        f"{{(1, 2): 10, (2, 3): 22, (4, 2): 5}} is due, yours is {got}"
    )


# %% pair-counts hidden points=1
def test_other_counts():
    rng = np.random.default_rng(3)
    words = {}
    for _ in range(30):
        word = tuple(int(k) for k in rng.integers(0, 4, rng.integers(1, 9)))
        words[word] = int(rng.integers(1, 50))
    table = np.zeros((4, 4), int)
    for word, frequency in words.items():
        np.add.at(table, (np.array(word[:-1], int), np.array(word[1:], int)), frequency)
    wanted = {(int(i), int(j)): int(table[i, j]) for i, j in np.argwhere(table)}
    assert counted(words) == wanted
    assert counted({(7, 7, 7): 2}) == {(7, 7): 4}


# %% best-pair points=3
def test_the_highest_count_wins():
    for counts, right in [
        ({(5, 6): 2, (9, 9): 7, (1, 2): 3}, (9, 9)),
        ({(1, 2): 30, (0, 0): 29}, (1, 2)),
        ({(8, 1): 1}, (8, 1)),
    ]:
        got = best_pair(counts)
        assert got == right, f"of {counts}, {right} has the highest count; yours is {got}"


def test_of_equal_counts_the_smallest_pair_wins():
    for pairs in (
        [(98, 97), (97, 99), (97, 98)],
        [(97, 98), (98, 97), (97, 99)],
        [(97, 99), (97, 98), (98, 97)],
    ):
        counts = {pair: 4 for pair in pairs} | {(1, 1): 3}
        got = best_pair(counts)
        assert got == (97, 98), (
            f"of {counts} the three with count 4 are tied, and (97, 98) is the smallest; yours "
            "is "
            f"{got}. Without a rule for ties, the order of the dictionary decides"
        )


def test_without_pairs_there_is_no_best():
    got = best_pair({})
    assert got is None, f"without any pair the result is None, yours is {got!r}"
    assert best_pair({(3, 4): 1}) == (3, 4), (
        "the only pair (3, 4) is the best one, even when it occurs once; yours is "
        f"{best_pair({(3, 4): 1})}"
    )


# %% best-pair hidden points=1
def test_other_ties():
    rng = np.random.default_rng(4)
    for size in (1, 2, 30, 200):
        counts = {
            (int(a), int(b)): int(n)
            for a, b, n in zip(
                rng.integers(0, 300, size), rng.integers(0, 300, size), rng.integers(1, 6, size)
            )
        }
        wanted = sorted(counts, key=lambda pair: (-counts[pair], pair[0], pair[1]))[0]
        before = dict(counts)
        assert best_pair(counts) == wanted, f"{counts}"
        assert counts == before, "best_pair changed the counts"
    assert best_pair({(2, 300): 5, (10, 1): 5, (1, 400): 4}) == (2, 300)


# %% split points=3
def test_words_numbers_marks_and_white_space_are_pieces():
    for text, right in [
        ("It is late.", ["It", " is", " late", "."]),
        ("in 12345 days", ["in", " ", "123", "45", " days"]),
        ('"Oh!" --he', ['"', "Oh", '!"', " --", "he"]),
        ("a  b\n", ["a", " ", " b", "\n"]),
        ("été_x", ["été", "_", "x"]),
    ]:
        got = split(text)
        assert got == right, f"{text!r} should be cut into {right}, yours is {got}"


def test_nothing_is_lost():
    for text in ("a  b\n", "  \n\tend ", "x = [1, 2]\r\n", "", "猫 🙂\u00a0π"):
        got = split(text)
        assert "".join(got) == text, (
            f"the pieces of {text!r} joined should be the text again, yours are {got}: white "
            "space and marks are pieces, too"
        )
    got = split("a  b")
    assert got == ["a", " ", " b"], f'"a  b" has the pieces "a", " ", " b", yours are {got}'


def test_what_the_pattern_does_not_match_is_kept():
    for text, pattern, right in [
        ("ab1cd22!", r"\d", ["ab", "1", "cd", "2", "2", "!"]),
        ("one two", r"[a-z]+", ["one", " ", "two"]),
        ("xyz", r"q", ["xyz"]),
        ("kitten", r"(t)t", ["ki", "tt", "en"]),
    ]:
        got = split(text, pattern)
        assert got == right, (
            f"split({text!r}, {pattern!r}) should be {right}, yours is {got}: each match is a "
            "piece, and so is what stands between two matches"
        )


# %% split hidden points=1
def test_other_splits():
    for text, pattern, right in [
        ("aXbX", "X", ["a", "X", "b", "X"]),
        ("abc", "b*", ["a", "b", "c"]),
        ("", r"\w", []),
        ("12", r"(\d)(\d)", ["12"]),
    ]:
        got = split(text, pattern=pattern)
        assert got == right, f"{text!r}, {pattern!r}: {got}"
    assert split("don't  stop\n\n go") == ["don", "'", "t", " ", " stop", "\n\n", " go"]
    letters = string.printable + "àéîõü\u2003\x00" + string.printable[::-1]
    assert "".join(split(letters)) == letters and all(split(letters))


# %% train points=6
def test_the_most_frequent_pair_is_merged_first():
    counts = {(2, 1): 3, (1, 2): 3, (1, 1): 2}
    blame("best_pair", f"best_pair({counts})", best_pair(counts), (1, 2))
    got = counted({(1, 2, 1, 2): 3})
    blame("pair_counts", "pair_counts({(1, 2, 1, 2): 3})", got, {(1, 2): 6, (2, 1): 3})
    got = train_bpe("ab ab abc", 257)
    assert got == {(97, 98): 256}, (
        'in "ab ab abc" the pair a b, (97, 98), occurs three times; one merge should be '
        f"{{(97, 98): 256}}, yours is {got}"
    )


def test_later_merges_use_the_tokens_of_earlier_ones():
    counts = {(2, 1): 3, (1, 2): 3, (1, 1): 2}
    blame("best_pair", f"best_pair({counts})", best_pair(counts), (1, 2))
    for text, pairs in [
        ("low lower lowest low", [(108, 111), (256, 119), (32, 257), (258, 101)]),
        ("low low low newer newest", [(108, 111), (256, 119), (32, 110), (32, 257)]),
    ]:
        got = train_bpe(text, 260)
        right = {pair: 256 + rank for rank, pair in enumerate(pairs)}
        assert got == right and list(got) == pairs, (
            f"{text!r} with 260 tokens should give the merges {right}, in this order, yours "
            f"are {got}: merge the pair in all words before you count again, keep their counts"
        )


def test_the_order_of_the_text_does_not_decide_ties():
    counts = {(2, 1): 3, (1, 2): 3, (1, 1): 2}
    blame("best_pair", f"best_pair({counts})", best_pair(counts), (1, 2))
    for text in ("bbb aaa", "aaa bbb"):
        got = train_bpe(text, 257)
        assert got == {(97, 97): 256}, (
            f"in {text!r}, (97, 97) and (98, 98) occur twice each, and the smaller pair wins: "
            f"{{(97, 97): 256}}, yours is {got}"
        )


def test_training_stops_when_no_pair_is_left():
    for size in (258, 1000):
        got = train_bpe("aa", size)
        ended(got)
        assert got == {(97, 97): 256}, (
            f'"aa" holds one pair, so training should stop after one merge, yours is {got}'
        )


def test_the_vocabulary_has_the_wanted_size():
    text = "the cat and the hat and the bat"
    both = ["<a>", "<b>"]
    for size, special_tokens in ((256, []), (260, []), (262, both), (258, both)):
        merges = train_bpe(text, size, special_tokens)
        assert isinstance(merges, dict), f"train_bpe should return a dict, yours is {merges!r}"
        wanted = size - 256 - len(special_tokens)
        assert len(merges) == wanted, (
            f"{size} tokens are 256 bytes, {len(special_tokens)} special tokens and {wanted} "
            f"merges, yours has {len(merges)} merges"
        )
        assert list(merges.values()) == list(range(256, 256 + wanted)), (
            f"the new ids should be 256, 257, ... in the order of training, yours are "
            f"{list(merges.values())}"
        )


def test_no_merge_is_learned_from_special_tokens():
    got = train_bpe("<|x|>ab<|x|><|x|>", 259, ["<|x|>"])
    ended(got)
    assert got == {(97, 98): 256}, (
        'without the special token "<|x|>", the text "<|x|>ab<|x|><|x|>" holds only the pair '
        f"(97, 98); yours are {got}: pass special_tokens on to count_words"
    )


# %% train hidden points=1
def test_other_trainings():
    for text in ("abababab cd cd", "mississippi missing miss", "été été 猫猫"):
        merges = train_bpe(text=text, vocab_size=270)
        tokens = [bytes([b]) for b in range(256)]
        words = text.replace(" ", "\n ").split("\n")
        words = [[b.to_bytes() for b in word.encode()] for word in words]
        for (first, second), new in merges.items():
            pairs = [(a, b) for w in words for a, b in zip(w[:-1], w[1:])]
            most = max(map(pairs.count, pairs))
            due = min(
                (tokens.index(a), tokens.index(b))
                for a, b in pairs
                if pairs.count((a, b)) == most
            )
            assert (first, second) == due, f"{text!r}: {due} is due, not {first, second}"
            assert new == len(tokens), f"{text!r}: id {new}"
            tokens.append(tokens[first] + tokens[second])
            for w in words:
                at = 0
                while at < len(w) - 1:
                    if w[at] == tokens[first] and w[at + 1] == tokens[second]:
                        w[at : at + 2] = [tokens[new]]
                    at += 1
        assert merges and (len(merges) == 14 or all(len(w) == 1 for w in words)), f"{text!r}"
    kind, message = refusal(train_bpe, "ab", 257, ["<a>", "<b>"])
    assert kind == "ValueError" and "257" in message


# %% token-bytes points=4
def test_the_first_256_tokens_are_the_bytes():
    tokens = token_bytes({})
    assert len(tokens) == 256, f"without merges there are 256 tokens, yours has {len(tokens)}"
    for id in (0, 97, 255):
        assert tokens[id] == bytes([id]), (
            f"token {id} is one byte, {bytes([id])!r}; yours is {tokens[id]!r:.60}: bytes([5]) "
            "is "
            "a byte of value 5, bytes(5) are five zeros"
        )


def test_a_merged_token_is_its_parts_joined():
    tokens = token_bytes({(104, 101): 256, (116, 256): 257, (257, 257): 258, (195, 169): 259})
    for id, right in [(256, b"he"), (257, b"the"), (258, b"thethe"), (259, b"\xc3\xa9")]:
        assert id in tokens, (
            f"token {id} was merged and has bytes, too; yours has no token {id}"
        )
        assert tokens[id] == right, (
            f"token {id} consists of the bytes {right!r}, yours of {tokens[id]!r:.60}: look "
            "its two parts up, first part first"
        )


# %% token-bytes hidden points=1
def test_bytes_of_other_tokens():
    merges = {(120, 121): 256, (256, 256): 257, (257, 122): 258, (0, 258): 259}
    tokens = token_bytes(merges)
    assert sorted(tokens) == list(range(260))
    assert b"".join(tokens[id] for id in range(256)) == bytes(range(256))
    assert [tokens[id] for id in range(256, 260)] == [
        b"xy",
        b"xyxy",
        b"xyxyz",
        b"\x00xyxyz",
    ]
    assert len(merges) == 4, "token_bytes changed the merges"


# %% encode-word points=4
def test_the_pair_of_lowest_rank_is_merged_first():
    merges = {(98, 99): 256, (97, 98): 257}
    got = tuple(encode_word([97, 98, 99], merges))
    assert got == (97, 256), (
        'the merge (98, 99), "bc", was learned first, so "abc" becomes (97, 256); yours is '
        f"{got}: of all pairs in the word, apply the one with the smallest new id"
    )


def test_merged_tokens_are_merged_again():
    merges = {(116, 104): 256, (256, 101): 257, (32, 257): 258}
    for word, right in [(b" the", (258,)), (b"then", (257, 110)), (b"a th", (97, 32, 256))]:
        got = tuple(encode_word(list(word), merges))
        assert got == right, (
            f"{word!r} with the merges {merges} should be {right}, yours is {got}: go on until "
            "no "
            "pair of the word has a merge"
        )


def test_every_occurrence_is_merged():
    got = tuple(encode_word([97] * 5, {(97, 97): 256, (256, 256): 257}))
    assert got == (257, 97), (
        f'"aaaaa" with (97, 97): 256 and (256, 256): 257 should be (257, 97), yours is {got}'
    )


def test_a_word_without_merges_stays():
    for ids in ([], [97], [98, 97]):
        got = encode_word(ids, {(97, 98): 256})
        assert isinstance(got, tuple), f"encode_word should return a tuple, yours is {got!r}"
        assert got == tuple(ids), f"no pair of {ids} has a merge, yours became {got}"
    assert tuple(encode_word((97, 98), {(97, 98): 256})) == (256,), (
        "a tuple of ids can be given, too: (97, 98) becomes (256,)"
    )


# %% encode-word hidden points=1
def test_other_words():
    merges = {(97, 98): 256, (98, 97): 257, (256, 97): 258, (257, 257): 259, (258, 258): 260}
    for word in (b"ababab", b"bababa", b"aabbaabb", b"baab", b"abaaba", b"xabyabz"):
        wanted = list(word)
        for (first, second), new in merges.items():
            at = 0
            while at < len(wanted) - 1:
                if wanted[at : at + 2] == [first, second]:
                    wanted[at : at + 2] = [new]
                at += 1
        given = list(word)
        assert tuple(encode_word(given, merges)) == tuple(wanted), f"{word}"
        assert given == list(word), "encode_word changed the list it was given"
    assert len(merges) == 5


# %% split-special points=4
def test_special_tokens_are_pieces_of_their_own():
    for text, special, right in [
        ("one<end>two", ["<end>"], ["one", "<end>", "two"]),
        ("<end>", ["<end>"], ["<end>"]),
        ("<a><b>c<a>", ["<a>", "<b>"], ["<a>", "<b>", "c", "<a>"]),
        ("a|b.c", ["|", "."], ["a", "|", "b", ".", "c"]),
        ("-axb-", ["a.b"], ["-axb-"]),
    ]:
        got = split_special(text, special)
        assert got == right, (
            f"{text!r} cut at {special} should be {right}, yours is {got}: each special token "
            "is a "
            "piece, no piece is empty, and its characters have no meaning as a regular "
            "expression"
        )


def test_the_longest_special_token_wins():
    for special in (["<e>", "<e><e>"], ["<e><e>", "<e>"]):
        got = split_special("a<e><e>b<e>", special)
        assert got == ["a", "<e><e>", "b", "<e>"], (
            f"with the special tokens {special}, 'a<e><e>b<e>' should be ['a', '<e><e>', 'b', "
            f"'<e>'], yours is {got}: where several fit, the longest is taken"
        )


def test_without_special_tokens_the_text_is_one_piece():
    for special in ([], {}, ()):
        got = split_special("one <end>\n two", special)
        assert got == ["one <end>\n two"], (
            f"without special tokens the text stays one piece, yours is {got}"
        )


def test_an_empty_text_has_no_pieces():
    for special in (["<end>"], []):
        got = split_special("", special)
        assert got == [], (
            f"split_special('', {special}) should be [], because no piece is empty; yours is "
            f"{got}"
        )
    got = split_special("a", ["<end>"])
    assert got == ["a"], f"split_special('a', ['<end>']) should be ['a'], yours is {got}"


# %% split-special hidden points=1
def test_other_special_tokens():
    special = {"<|end|>": 300, "<|end|>x": 301, "(*)": 302, "\n": 303}
    for text, right in [
        ("(*)(*)\n\n", ["(*)", "(*)", "\n", "\n"]),
        ("a<|end|>y<|end|>x", ["a", "<|end|>", "y", "<|end|>x"]),
        ("<|end|", ["<|end|"]),
        (" é<|end|> ", [" é", "<|end|>", " "]),
    ]:
        assert split_special(text=text, special_tokens=special) == right, f"{text!r}"


# %% tokenizer points=7
def test_a_text_is_encoded_word_by_word():
    tokenizer = Tokenizer({(97, 98): 256, (32, 256): 257, (98, 32): 258})
    for text, right in [
        ("ab cab", [256, 32, 99, 256]),
        ("ab ab", [256, 257]),
        ("b b", [98, 32, 98]),
    ]:
        got = plain(tokenizer.encode(text))
        assert got == right, (
            f"{text!r} with the merges a b, then ' ' ab, then b ' ' should be {right}, yours "
            "is "
            f"{got}: cut the text with split, then encode each word"
        )


def test_the_ids_of_a_text_are_an_int64_array():
    tokenizer = Tokenizer({(97, 98): 256})
    for text, right in [("", []), ("é", [195, 169]), ("abab", [256, 256])]:
        ids = np.asarray(tokenizer.encode(text))
        assert ids.dtype == np.int64 and ids.tolist() == right, (
            f"encode({text!r}) should be the int64 array {right}, yours is {ids.tolist()} of "
            "dtype "
            f"{ids.dtype}"
        )


def test_special_tokens_count_only_where_they_are_allowed():
    tokenizer = Tokenizer({(62, 60): 256}, {"<e>": 257, "<s>": 258})
    for allowed, right in [
        ((), [60, 101, 256, 115, 62, 97]),
        (["<e>"], [257, 60, 115, 62, 97]),
        (("<s>", "<e>"), [257, 258, 97]),
        ("all", [257, 258, 97]),
    ]:
        got = plain(tokenizer.encode("<e><s>a", allowed_special=allowed))
        assert got == right, (
            f"encode('<e><s>a', allowed_special={allowed!r}) should be {right}, yours is "
            f"{got}: an "
            "allowed special token is one id, any other is text"
        )
    for allowed in ((), ["<s>"]):
        got = plain(tokenizer.encode("<e>", allowed_special=allowed))
        assert got == [60, 101, 62], (
            f"encode('<e>', allowed_special={allowed!r}) should be [60, 101, 62], yours is "
            f"{got}: a piece that is the name of a special token is text unless it is allowed, "
            "so compare it with allowed_special"
        )


def test_the_bytes_are_joined_before_they_are_decoded():
    tokenizer = Tokenizer({(169, 33): 256}, {"<end>": 257})
    for ids, right in [
        ([195, 169], "é"),
        ([195, 256], "é!"),
        ([104, 105, 257, 195], "hi<end>�"),
        ([], ""),
    ]:
        got = tokenizer.decode(np.array(ids, dtype=np.int64))
        assert got == right, (
            f"decode({ids}) should be {right!r}, yours is {got!r}: join the bytes of all "
            "tokens, "
            "then decode them once"
        )


def test_an_id_that_is_no_token_is_refused():
    tokenizer = Tokenizer({(97, 98): 256})
    for ids in ([97, 257], [-1]):
        kind, message = refusal(tokenizer.decode, ids)
        assert kind == "IndexError", (
            f"with 257 tokens, decode({ids}) should raise an IndexError, yours "
            + (f"raises {kind} ({message})" if kind else "raises nothing")
            + ": self.token(id) gives the bytes of a token, or that error"
        )


def test_encoding_and_decoding_gives_the_text_back():
    tokenizer = Tokenizer({(97, 98): 256, (32, 32): 257, (195, 169): 258}, {"<end>": 259})
    for text in ("a  b\n", "  ab \r\n\tab", "été ab<end>", "猫🙂 ½", "x" * 30):
        for allowed in ((), "all"):
            ids = plain(tokenizer.encode(text, allowed_special=allowed))
            assert isinstance(ids, list), (
                f"encode should return an array of ids, yours is {ids!r}"
            )
            got = tokenizer.decode(ids)
            assert got == text, (
                f"decode(encode({text!r})) should be the same text, yours is {got!r}: nothing "
                "may "
                "be lost, white space least of all"
            )


def test_the_ids_of_a_word_are_remembered():
    tokenizer = Tokenizer({(97, 98): 256})
    first = plain(tokenizer.encode("ab ab cab"))
    remembered = {word: plain(ids) for word, ids in tokenizer.memory.items()}
    assert remembered == {"ab": [256], " ab": [32, 256], " cab": [32, 99, 256]}, (
        'after encode("ab ab cab"), memory should hold the ids of "ab", " ab" and " cab", '
        "yours "
        f"holds {remembered}"
    )
    remember(tokenizer, " ab", (1, 2, 3))
    got = plain(tokenizer.encode("ab ab"))
    assert got == [256, 1, 2, 3], (
        'the ids of " ab" were changed in memory to (1, 2, 3), so encode("ab ab") should be '
        "[256, "
        f"1, 2, 3], yours is {got}: take the ids of a known word from memory"
    )
    assert first == [256, 32, 256, 32, 99, 256], f"the first time you returned {first}"
    calls = calls_of_encode_word(tokenizer, "ab ab cab")
    assert calls == 0, (
        f'encode("ab ab cab") a second time calls encode_word {calls} times: each word is '
        "computed again although it is in memory. Call encode_word only for other words"
    )


# %% tokenizer hidden points=2
def test_other_texts():
    merges = {(116, 104): 256, (256, 101): 257, (32, 257): 258, (101, 110): 259}
    tokenizer = Tokenizer(merges, {"<|end|>": 260, "<|end|>!": 261, "then": 262})
    for text, allowed, right in [
        ("the then", (), [257, 258, 110]),
        ("the then", ["then"], [257, 32, 262]),
        ("<|end|>!<|end|>", "all", [261, 260]),
        ("<|end|>!", ["<|end|>"], [260, 33]),
        ("en\n", ["<|end|>!"], [259, 10]),
    ]:
        assert plain(tokenizer.encode(text, allowed)) == right, f"{text!r}, {allowed}"
        assert plain(tokenizer.encode(text, allowed)) == right, f"{text!r}, a second time"
        assert tokenizer.decode(right) == text, f"{right}"
    assert refusal(tokenizer.encode, "a", allowed_special=["<x>"])[0] == "ValueError"
    assert refusal(tokenizer.decode, [97, 263])[0] == "IndexError"
    assert plain(Tokenizer(merges).encode("then")) == [257, 110]


# %% json points=4
def test_the_json_text_has_the_agreed_form():
    for merges, special, right in [
        ({(97, 98): 256, (256, 99): 257}, {"<end>": 258}, [[97, 98], [256, 99]]),
        ({}, {}, []),
    ]:
        text = to_json(Tokenizer(merges, special))
        assert isinstance(text, str), (
            f"to_json should return a str, yours returns {text!r:.200}"
        )
        content = json.loads(text)
        assert isinstance(content, dict) and set(content) == {"merges", "special_tokens"}, (
            'the JSON text should be an object with "merges" and "special_tokens", yours is '
            f"{content}"
        )
        assert content["merges"] == right, (
            f"the merges {merges} should be stored as the pairs {right}, yours as "
            f"{content['merges']}"
        )
        assert content["special_tokens"] == special, (
            f"the special tokens should be stored as {special}, yours as "
            f"{content['special_tokens']}"
        )


def test_a_tokenizer_comes_back_as_it_was():
    merges = {(195, 169): 256, (98, 256): 257, (97, 98): 258, (33, 33): 259}
    first = Tokenizer(merges, {"<é>": 260, "<s>": 261})
    text = to_json(first)
    kind, message = refusal(from_json, text)
    assert kind != "TypeError", (
        f"from_json({text!r}) raises TypeError ({message}): JSON has lists and no tuples, and "
        "a list cannot be the key of a dictionary, so make tuples of the pairs"
    )
    again = from_json(text)
    got = dict(again.merges)
    assert got == merges and list(got) == list(merges), (
        f"the merges {merges} came back as {got}: keys are pairs, as tuples, and ids are "
        "counted "
        "from 256 in the order of the list"
    )
    assert dict(again.special_tokens) == {"<é>": 260, "<s>": 261}, (
        f"the special tokens came back as {dict(again.special_tokens)}"
    )
    text = "abé é!! <é>"
    wanted, found = [plain(one.encode(text, "all")) for one in (first, again)]
    assert wanted == found, (
        f"the tokenizer encodes {text!r} as {wanted}, and from_json(to_json(tokenizer)) "
        f"encodes it as {found}"
    )


# %% json hidden points=1
def test_other_tokenizers_come_back():
    rng = np.random.default_rng(6)
    pairs = dict.fromkeys((int(a), int(b)) for a, b in rng.integers(0, 256, (60, 2)))
    merges = {pair: 256 + rank for rank, pair in enumerate(pairs)}
    special = {'"\\\n': 400, "猫": 399, "<b>": 500}
    again = from_json(to_json(Tokenizer(merges, special)))
    assert dict(again.merges) == merges and list(dict(again.merges)) == list(merges)
    assert dict(again.special_tokens) == special
    assert plain(again.encode('a猫"\\\n', allowed_special="all")) == [97, 399, 400]


# %% compression points=2
def test_characters_are_divided_by_tokens():
    for text, right in [("abab cab", 1.6), ("ab", 2.0), ("xyz", 1.0)]:
        got = rate(text)
        assert math.isclose(got, right), (
            f"{text!r} has {len(text)} characters in {len(text) / right:.0f} tokens: {right} "
            f"characters per token, yours says {got}"
        )


def test_characters_are_counted_not_bytes():
    got = rate("éé")
    assert math.isclose(got, 0.5), (
        f'"éé" has two characters in four tokens: 0.5 characters per token, yours says {got}'
    )


# %% compression hidden points=1
def test_other_compressions():
    assert math.isclose(rate("ab" * 15 + "c"), 31 / 16)
    assert math.isclose(rate("猫"), 1 / 3)
    assert math.isclose(float(compression(text="zab", tokenizer=CharTokenizer("abz"))), 1)


# %% bits points=3
def test_the_entropy_of_equally_frequent_tokens():
    for ids, right in [([1, 2], 1.0), ([0, 1, 2, 3, 0, 1, 2, 3], 2.0), (list(range(32)), 5.0)]:
        got = float(bits_per_token(ids))
        cause = ""
        if math.isclose(got, right * math.log(2)):
            cause = ": this is in nats, use the logarithm to base 2"
        elif math.isclose(got, -right):
            cause = ": the sign is turned, log2(1 / p) is positive"
        elif math.isclose(got, right * len(ids)):
            cause = ": this is the sum over the text, divide by the number of tokens"
        assert math.isclose(got, right), (
            f"{len(set(ids))} equally frequent tokens have {right} bits each, yours says "
            f"{got:.4f}{cause}"
        )


def test_frequent_tokens_cost_less():
    for ids, right in [([5, 7, 5, 9], 1.5), ([7] * 3 + [900], 0.8112781244591328)]:
        got = float(bits_per_token(np.array(ids)))
        assert math.isclose(got, right), (
            f"the tokens {ids} have {right:.4f} bits on average, yours says {got:.4f}: each "
            "token "
            "id costs log2(1 / p), weighed by its relative frequency p"
        )


def test_one_token_alone_has_no_information():
    got = float(bits_per_token([4, 4, 4]))
    assert got == 0, f"when all tokens are the same the entropy is 0, yours says {got}"
    got = float(bits_per_token([4, 5]))
    assert math.isclose(got, 1), f"two different tokens have 1 bit each, yours says {got}"


# %% bits hidden points=1
def test_other_entropies():
    rng = np.random.default_rng(2)
    for size in (1, 2, 50, 1000):
        ids = rng.integers(0, 9, size) ** 2
        shares = [float((ids == id).mean()) for id in {int(k) for k in ids}]
        wanted = -sum(p * math.log2(p) for p in shares)
        assert math.isclose(float(bits_per_token(ids)), wanted, abs_tol=1e-9), f"{size} ids"
        assert math.isclose(float(bits_per_token(ids.tolist())), wanted, abs_tol=1e-9)


# %% replace-pair points=10
def test_only_words_that_hold_the_pair_are_changed():
    words, _, _ = after_replacing((1, 2), 9, [(1, 2, 3), (4, 5), (1, 2, 1, 2)], [10, 7, 1])
    right = [(9, 3), (4, 5), (9, 9)]
    assert [tuple(word) for word in words] == right, (
        f"(1, 2) merged to 9 makes of (1, 2, 3), (4, 5), (1, 2, 1, 2) the words {right}, yours "
        "are "
        f"{words}"
    )


def test_no_other_word_is_visited():
    words = [(1, 2, 3), (4, 5), (3, 1, 2), (5, 4, 5), (2, 1)]
    got = visited((1, 2), 9, words, [10, 7, 2, 1, 3])
    assert got == [0, 2], (
        f"(1, 2) stands in the words [0, 2] of {words}, and yours reads or changes the words "
        f"{got}: visit only the words with an index in holders[pair], that is why training is "
        "fast"
    )


def test_counts_are_those_of_the_new_words():
    for words, frequencies, right in [
        ([(1, 2, 3), (4, 5), (3, 1, 2)], [10, 7, 2], {(9, 3): 10, (4, 5): 7, (3, 9): 2}),
        ([(1, 2, 1, 2), (2, 1)], [3, 5], {(9, 9): 3, (2, 1): 5}),
    ]:
        _, counts, _ = after_replacing((1, 2), 9, words, frequencies)
        zeros = [pair for pair, count in counts.items() if count == 0]
        assert not zeros, (
            f"the pairs {zeros} occur no more and should be removed from the counts, yours are "
            f"{counts}"
        )
        assert counts == right, (
            f"after merging (1, 2) in {words}, which occur {frequencies} times, the counts "
            "should "
            f"be {right}, yours are {counts}: take the pairs of the old word out, put those of "
            "the "
            "new word in, each as often as the word occurs"
        )


def test_holders_know_the_words_of_the_new_pairs():
    _, _, holders = after_replacing((1, 2), 9, [(1, 2, 3), (8, 1, 2), (1, 2, 3, 5)], [1, 1, 1])
    assert (1, 2) not in holders, (
        f"the pair (1, 2) was merged everywhere and should be removed from holders, yours are "
        f"{holders}"
    )
    for pair, right in [((9, 3), [0, 2]), ((8, 9), [1]), ((3, 5), [2])]:
        assert pair in holders and holders[pair] == right, (
            f"the new pair {pair} stands in the words {right}, your holders say "
            f"{holders[pair] if pair in holders else 'nothing'}"
        )


def test_fast_training_gives_the_same_merges():
    right = {(108, 111): 256, (256, 119): 257, (32, 257): 258, (258, 101): 259}
    got = train_bpe_fast("low lower lowest low", 260)
    assert got == right and list(got) == list(right), (
        f'"low lower lowest low" with 260 tokens should give the merges {right}, '
        "train_bpe_fast "
        f"gives {got}"
    )
    text = "aaaa aaa banana bandana ban an and" * 2
    slow, fast = train_bpe(text, 290), train_bpe_fast(text, 290)
    assert fast == slow and list(fast) == list(slow), (
        f"on {text!r}, train_bpe finds {slow} and train_bpe_fast {fast}"
    )


# %% replace-pair hidden points=1
def test_other_replacements():
    rng = np.random.default_rng(9)
    for _ in range(6):
        words = [
            tuple(int(k) for k in rng.integers(0, 3, rng.integers(1, 12))) for _ in range(20)
        ]
        frequencies = [int(n) for n in rng.integers(1, 9, len(words))]
        held = sorted({pair for word in words for pair in zip(word[:-1], word[1:])})
        pair = held[int(rng.integers(len(held)))]
        got, counts, holders = after_replacing(pair, 50, words, frequencies)
        wanted, wanted_counts = [], {}
        for word, frequency in zip(words, frequencies):
            left, new = list(word), []
            while left:
                if tuple(left[:2]) == pair:
                    left, new = left[2:], [*new, 50]
                else:
                    left, new = left[1:], [*new, left[0]]
            wanted.append(tuple(new))
            for at in range(len(new) - 1):
                both = new[at], new[at + 1]
                wanted_counts[both] = wanted_counts.get(both, 0) + frequency
        assert [tuple(word) for word in got] == wanted and counts == wanted_counts, f"{pair}"
        for index, word in enumerate(wanted):
            for both in zip(word[:-1], word[1:]):
                assert index in holders[both], f"word {index} holds {both}"
        assert pair not in holders or pair in wanted_counts
