# The checks of lesson 12, by exercise. `check("split")` in the chapter runs the visible ones.

# %% setup
import json
import math
import string

import numpy as np

from checking import equal, expect, refused


def blame(name, call, got, right):
    """Blame the function that train_bpe calls, before train_bpe itself."""
    case = f"train_bpe calls {name}, and {call}"
    equal(got, right, case, f"the fault is in {name}, so fix that first")


def best_pair_breaks_ties():
    """Blame best_pair for a wrong choice, before train_bpe."""
    for counts, right in (
        ({(2, 1): 3, (1, 2): 3, (1, 1): 2}, (1, 2)),
        ({(10, 2): 3, (9, 2): 3}, (9, 2)),  # numbers and not texts are compared
    ):
        blame("best_pair", f"best_pair({counts})", best_pair(counts), right)


def ended(got):
    """Blame a loop that went on with the pair None."""
    assert None not in got, (
        f"None is a key of your merges {got}: best_pair returns None when no pair is left, so "
        "end the loop before None becomes a merge"
    )


# %% learner-side
from checking import refusal


def counted(words):
    """What pair_counts returns, as a plain dict."""
    return {tuple(map(int, pair)): int(count) for pair, count in pair_counts(words).items()}


def plain(ids):
    """Ids as a list of plain integers."""
    return np.asarray(ids).tolist()


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
    got = plain(CharTokenizer("banana split").encode("nab a"))
    case = 'the characters of "banana split", sorted, are " abilnpst": the ids of "nab a"'
    equal(got, [5, 1, 2, 0, 1], case)


def test_the_ids_are_an_int64_array():
    tokenizer = CharTokenizer("abc")
    for text in ("cab", "b", ""):
        ids = np.asarray(tokenizer.encode(text))
        assert ids.dtype == np.int64 and ids.shape == (len(text),), (
            f"encode({text!r}) should be an int64 array of shape ({len(text)},), yours has "
            f"dtype {ids.dtype} and shape {ids.shape}"
        )
    equal(plain(tokenizer.encode("cab")), [2, 0, 1], "the ids of 'cab'")


# %% characters hidden points=1
def test_other_characters():
    text = "the quick brown fox\n\tjumps — é猫🙂"
    tokenizer = CharTokenizer(text)
    yield [plain(tokenizer.encode(sample)) for sample in (text, text[::-1], "🙂", "\n\t")]
    yield plain(tokenizer.encode(text="fox", allowed_special=["x"]))


# %% to-bytes points=2
def test_a_text_becomes_its_utf8_bytes():
    for text, right, cause in [
        ("Hi!", [72, 105, 33], "ASCII characters are one byte each"),
        ("é", [195, 169], "233 is the code point, UTF-8 stores it as two bytes"),
        ("€a", [226, 130, 172, 97], "the euro sign is three bytes"),
        ("🙂", [240, 159, 153, 130], "an emoji is four bytes"),
        ("", [], "the empty text has no bytes"),
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
    for text in ("", "\x00\n\r\n", "naïve — ½", "猫が好き", "Здравствуй", "é", "ÿ"):
        yield to_bytes(text)


# %% from-bytes points=4
def test_bytes_become_their_text():
    for ids, right in [
        ([72, 105], "Hi"),
        ([195, 169], "é"),
        ([240, 159, 153, 130], "🙂"),
        ([], ""),
    ]:
        equal(from_bytes(ids), right, f"the text of the bytes {ids}", "decode them as UTF-8")


def test_half_a_character_becomes_the_replacement_character():
    for ids, right in [([128], "�"), ([110, 195], "n�"), ([255, 97], "�a"), ([226, 130], "�")]:
        kind, message = refusal(from_bytes, ids)
        assert not kind, (
            f"from_bytes({ids}) should return {right!r}, yours raises {kind} ({message}): a "
            'model may produce half a character. Decode with errors="replace"'
        )
        cause = "only the bytes that do not form a complete character become U+FFFD"
        equal(from_bytes(ids), right, f"the text of {ids}", cause)


# %% from-bytes hidden points=1
def test_texts_of_other_bytes():
    rng = np.random.default_rng(5)
    for size in (0, 1, 5, 60):
        yield from_bytes(rng.integers(0, 256, size).tolist())
    yield from_bytes([13, 10, 32, 9, 32])


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
    cause = "go from left to right, and after a merge continue after both ids"
    for ids, right in [
        ((7, 7, 7), (9, 7)),
        ((7, 7, 7, 7), (9, 9)),
        ((7, 7, 7, 7, 7, 4), (9, 9, 7, 4)),
    ]:
        equal(merged(ids, (7, 7), 9), right, f"{ids} with (7, 7) merged to 9", cause)


def test_ids_without_the_pair_stay_as_they_are():
    for ids in ((), (1,), (2, 1), (1, 3, 2), (21, 2, 1, 23)):
        got = merged(ids, (1, 2), 9)
        assert got == ids, (
            f"{ids} does not contain the pair (1, 2) and should stay as it is, your result is "
            f"{got}"
        )
    equal(merged((1, 2), (1, 2), 300), (300,), "(1, 2) with that pair merged to 300")


# %% merged hidden points=1
def test_other_merges():
    rng = np.random.default_rng(8)
    for size in (2, 3, 10, 200):
        ids = tuple(rng.integers(0, 3, size).tolist())
        yield [merged(ids, pair, 77) for pair in ((0, 0), (1, 2), (2, 1), (5, 0))]
    yield merged(ids=(1, 1, 12, 11, 1), pair=(1, 12), new=112)


# %% pair-counts points=4
def test_pairs_of_neighbours_are_counted():
    got = counted({(1, 2, 3, 2): 1})
    assert got == {(1, 2): 1, (2, 3): 1, (3, 2): 1}, (
        "the word (1, 2, 3, 2) contains (1, 2), (2, 3) and (3, 2) once each; your counts are "
        f"{got}. The order within a pair matters"
    )


def test_pairs_are_weighed_by_the_frequency_of_the_word():
    got = counted({(1, 2): 1, (3, 4, 5): 6})
    assert got == {(1, 2): 1, (3, 4): 6, (4, 5): 6}, (
        "the word (1, 2) occurs once and (3, 4, 5) six times; your counts are "
        f"{got}: each pair of a word counts as often as the word occurs"
    )


def test_a_pair_that_occurs_twice_in_a_word_counts_twice():
    got = counted({(1, 2, 1, 2, 1, 2, 1, 2): 1, (3, 4): 2})
    assert got.get((1, 2)) == 4, (
        "(1, 2) occurs four times in the word (1, 2, 1, 2, 1, 2, 1, 2), your count is "
        f"{got.get((1, 2))}: every position counts, so do not collect the pairs in a set"
    )
    case = "that word once and (3, 4) twice: the counts"
    equal(got, {(1, 2): 4, (2, 1): 3, (3, 4): 2}, case)
    for word, right in [((7, 7, 7), {(7, 7): 2}), ((7, 7, 7, 7, 4), {(7, 7): 3, (7, 4): 1})]:
        got = counted({word: 1})
        assert got == right, (
            f"the counts of the pairs of {word} should be {right}, yours are {got}: "
            "overlapping pairs all count; only `merged` skips them"
        )


def test_counts_of_several_words_add_up():
    words = {(1, 2, 3): 10, (4, 2, 3): 5, (2, 3): 7, (9,): 100}
    case = "(2, 3) is in words that occur 10, 5 and 7 times, so its count is 22, and a word of "
    case += "one id has no pair. The counts"
    equal(counted(words), {(1, 2): 10, (2, 3): 22, (4, 2): 5}, case)


# %% pair-counts hidden points=1
def test_other_counts():
    rng, words = np.random.default_rng(3), {(7, 7, 7): 2}
    for _ in range(30):
        word = tuple(rng.integers(0, 4, rng.integers(1, 9)).tolist())
        words[word] = int(rng.integers(1, 50))
    yield sorted(counted(words).items())


# %% best-pair points=3
def test_the_highest_count_wins():
    for counts, right in [
        ({(5, 6): 2, (9, 9): 7, (1, 2): 3}, (9, 9)),
        ({(1, 2): 30, (0, 0): 29}, (1, 2)),
        ({(8, 1): 1}, (8, 1)),
    ]:
        got = best_pair(counts)
        assert got == right, f"in {counts}, {right} has the highest count; yours is {got}"


def test_of_equal_counts_the_smallest_pair_wins():
    for pairs in (
        [(98, 97), (97, 99), (97, 98)],
        [(97, 98), (98, 97), (97, 99)],
        [(97, 99), (97, 98), (98, 97)],
    ):
        counts = {pair: 4 for pair in pairs} | {(1, 1): 3}
        got = best_pair(counts)
        assert got == (97, 98), (
            f"in {counts}, the three with count 4 are tied, and (97, 98) is the smallest; "
            f"yours is {got}. Without a rule for ties, the order of the dictionary decides"
        )


def test_without_pairs_there_is_no_best():
    equal(best_pair({}), None, "without any pair, the result")
    got = best_pair({(3, 4): 1})
    assert got == (3, 4), (
        f"the only pair (3, 4) has the highest count; yours is {got}. A count of 1 can be the "
        "highest"
    )


# %% best-pair hidden points=1
def test_other_ties():
    rng = np.random.default_rng(4)
    for size in (1, 2, 30, 200):
        pairs = map(tuple, rng.integers(0, 300, (size, 2)).tolist())
        yield best_pair(dict(zip(pairs, rng.integers(1, 6, size).tolist())))
    yield best_pair({(2, 300): 5, (10, 1): 5, (1, 400): 4})


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
        case = f"the pieces of {text!r}, joined,"
        equal("".join(split(text)), text, case, "white space and marks are also pieces")
    equal(split("a  b"), ["a", " ", " b"], 'the pieces of "a  b"')


def test_what_the_pattern_does_not_match_is_kept():
    cause = "each match is a piece, and so is the text between two matches"
    for text, pattern, right in [
        ("ab1cd22!", r"\d", ["ab", "1", "cd", "2", "2", "!"]),
        ("one two", r"[a-z]+", ["one", " ", "two"]),
        ("xyz", r"q", ["xyz"]),
        ("kitten", r"(t)t", ["ki", "tt", "en"]),
        ("abc", "b*", ["a", "b", "c"]),
    ]:
        equal(split(text, pattern), right, f"split({text!r}, {pattern!r})", cause)


# %% split hidden points=1
def test_other_splits():
    for text, pattern in [("aXbX", "X"), ("abc", "b*"), ("", r"\w"), ("12", r"(\d)(\d)")]:
        yield split(text, pattern=pattern)
    letters = string.printable + "àéîõü\u2003\x00" + string.printable[::-1]
    yield split("don't  stop\n\n go"), split(letters)


# %% train points=6
def test_the_most_frequent_pair_is_merged_first():
    best_pair_breaks_ties()
    got = counted({(1, 2, 1, 2): 3})
    blame("pair_counts", "pair_counts({(1, 2, 1, 2): 3})", got, {(1, 2): 6, (2, 1): 3})
    case = 'in "ab ab abc" the pair a b, (97, 98), occurs three times; one merge'
    equal(train_bpe("ab ab abc", 257), {(97, 98): 256}, case)


def test_later_merges_use_the_tokens_of_earlier_ones():
    best_pair_breaks_ties()
    for text, pairs in [
        ("low lower lowest low", [(108, 111), (256, 119), (32, 257), (258, 101)]),
        ("low low low newer newest", [(108, 111), (256, 119), (32, 110), (32, 257)]),
    ]:
        got = train_bpe(text, 260)
        right = {pair: 256 + rank for rank, pair in enumerate(pairs)}
        assert got == right and list(got) == pairs, (
            f"{text!r} with 260 tokens should give the merges {right}, in this order, yours "
            f"are {got}: merge the pair in all words before you count again, and "
            "keep the frequency of each word"
        )


def test_the_order_of_the_text_does_not_decide_ties():
    best_pair_breaks_ties()
    for text in ("bbb aaa", "aaa bbb"):
        case = f"in {text!r}, (97, 97) and (98, 98) occur twice each, and the smaller pair "
        equal(train_bpe(text, 257), {(97, 97): 256}, case + "wins: the merges")


def test_training_stops_when_no_pair_is_left():
    for size in (258, 1000):
        got = train_bpe("aa", size)
        ended(got)
        case = '"aa" contains one pair, so training should stop after one merge: the merges'
        equal(got, {(97, 97): 256}, case, "a pair that occurs once is merged, too" * (not got))


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
        ids = list(range(256, 256 + wanted))
        equal(
            list(merges.values()), ids, "the new ids, 256, 257, ... in the order of training,"
        )


def test_no_merge_is_learned_from_special_tokens():
    got = train_bpe("<|x|>ab<|x|><|x|>", 259, ["<|x|>"])
    ended(got)
    assert got == {(97, 98): 256}, (
        'without the special token "<|x|>", the text "<|x|>ab<|x|><|x|>" contains only the '
        f"pair (97, 98); your merges are {got}: pass special_tokens on to count_words"
    )


# %% train hidden points=1
def test_other_trainings():
    for text in ("abababab cd cd", "mississippi missing miss", "été été 猫猫"):
        yield [*train_bpe(text=text, vocab_size=270).items()]
    call = lambda: train_bpe("ab", 257, ["<a>", "<b>"])
    refused(call, "train_bpe with vocab_size 257 and two special tokens", contains=["257"])


# %% token-bytes points=4
def test_the_first_256_tokens_are_the_bytes():
    tokens = token_bytes({})
    assert len(tokens) == 256, f"without merges there are 256 tokens, yours has {len(tokens)}"
    for id in (0, 97, 255):
        assert tokens[id] == bytes([id]), (
            f"token {id} is one byte, {bytes([id])!r}; yours is {tokens[id]!r:.60}: bytes([5]) "
            "is a byte of value 5, bytes(5) are five zeros"
        )


def test_a_merged_token_is_its_parts_joined():
    tokens = token_bytes({(104, 101): 256, (116, 256): 257, (257, 257): 258, (195, 169): 259})
    for id, right in [(256, b"he"), (257, b"the"), (258, b"thethe"), (259, b"\xc3\xa9")]:
        assert id in tokens, (
            f"token {id} is a merged token and should have bytes; your result has no token {id}"
        )
        assert tokens[id] == right, (
            f"token {id} consists of the bytes {right!r}, yours of {tokens[id]!r:.60}: "
            "join the bytes of its two parts, the first part before the second"
        )


# %% token-bytes hidden points=1
def test_bytes_of_other_tokens():
    merges = {(120, 121): 256, (256, 256): 257, (257, 122): 258, (0, 258): 259}
    yield sorted(token_bytes(merges).items())


# %% encode-word points=4
def test_the_pair_of_lowest_rank_is_merged_first():
    got = tuple(encode_word([97, 98, 99], {(98, 99): 256, (97, 98): 257}))
    again = tuple(encode_word([97, 98, 99], {(97, 98): 257, (98, 99): 256}))
    case = "the ids for the same merges in another order of the dict"
    equal(again, got, case, "the smallest new id is merged first")
    case = 'the merge (98, 99), "bc", was learned first: the ids of "abc"'
    cause = "of all pairs in the word, apply the one with the smallest new id"
    equal(got, (97, 256), case, cause)


def test_merged_tokens_are_merged_again():
    merges = {(116, 104): 256, (256, 101): 257, (32, 257): 258}
    cause = "go on until no pair of the word has a merge"
    for word, right in [(b" the", (258,)), (b"then", (257, 110)), (b"a th", (97, 32, 256))]:
        got = tuple(encode_word(list(word), merges))
        equal(got, right, f"{word!r} with the merges {merges}", cause)


def test_every_occurrence_is_merged():
    ids = [97] * 5
    got = tuple(encode_word(ids, {(97, 97): 256, (256, 256): 257}))
    equal(got, (257, 97), '"aaaaa" with (97, 97): 256 and (256, 256): 257')
    equal(ids, [97] * 5, "the list of ids after encode_word", "work on a copy, `tuple(ids)`")


def test_a_word_without_merges_stays():
    for ids in ([], [97], [98, 97]):
        got = encode_word(ids, {(97, 98): 256})
        assert isinstance(got, tuple), f"encode_word should return a tuple, yours is {got!r}"
        assert got == tuple(ids), f"no pair of {ids} has a merge; your result is {got}"
    got = tuple(encode_word((97, 98), {(97, 98): 256}))
    equal(got, (256,), "the ids may also be a tuple: (97, 98)")


# %% encode-word hidden points=1
def test_other_words():
    merges = {(97, 98): 256, (98, 97): 257, (256, 97): 258, (257, 257): 259, (258, 258): 260}
    for word in (b"ababab", b"bababa", b"aabbaabb", b"baab", b"abaaba", b"xabyabz"):
        given = list(word)
        yield encode_word(given, merges), given, len(merges)


# %% split-special points=4
def test_special_tokens_are_pieces_of_their_own():
    cause = "each special token is a piece, no piece is empty, and the characters of a special "
    cause += "token have no meaning as a regular expression"
    for text, special, right in [
        ("one<end>two", ["<end>"], ["one", "<end>", "two"]),
        ("<end>", ["<end>"], ["<end>"]),
        ("<a><b>c<a>", ["<a>", "<b>"], ["<a>", "<b>", "c", "<a>"]),
        ("a|b.c", ["|", "."], ["a", "|", "b", ".", "c"]),
        ("-axb-", ["a.b"], ["-axb-"]),
    ]:
        equal(split_special(text, special), right, f"{text!r} cut at {special}", cause)


def test_the_longest_special_token_wins():
    for special in (["<e>", "<e><e>"], ["<e><e>", "<e>"], {"<e>": 1, "<e><e>": 2}):
        case = f"with the special tokens {special}, the pieces of 'a<e><e>b<e>'"
        got, cause = split_special("a<e><e>b<e>", special), "where several fit, the longest is "
        equal(got, ["a", "<e><e>", "b", "<e>"], case, cause + "taken")


def test_without_special_tokens_the_text_is_one_piece():
    text, case = (
        "one <end>\n two",
        "without special tokens the text stays one piece: the pieces",
    )
    for special in ([], {}, ()):
        equal(split_special(text, special), [text], case)


def test_an_empty_text_has_no_pieces():
    for special in (["<end>"], []):
        case = f"split_special('', {special})"
        equal(split_special("", special), [], case, "no piece is empty")
    equal(split_special("a", ["<end>"]), ["a"], "split_special('a', ['<end>'])")


# %% split-special hidden points=1
def test_other_special_tokens():
    special = {"<|end|>": 300, "<|end|>x": 301, "(*)": 302, "\n": 303}
    for text in ("(*)(*)\n\n", "a<|end|>y<|end|>x", "<|end|", " é<|end|> "):
        yield split_special(text=text, special_tokens=special)


# %% tokenizer points=7
def test_a_text_is_encoded_word_by_word():
    tokenizer = Tokenizer({(97, 98): 256, (32, 256): 257, (98, 32): 258})
    cause = "cut the text with split, then encode each word"
    for text, right in [
        ("ab cab", [256, 32, 99, 256]),
        ("ab ab", [256, 257]),
        ("b b", [98, 32, 98]),
    ]:
        case = f"with the merges {tokenizer.merges}, the ids of {text!r}"
        equal(plain(tokenizer.encode(text)), right, case, cause)


def test_the_ids_of_a_text_are_an_int64_array():
    tokenizer = Tokenizer({(97, 98): 256})
    for text, right in [("", []), ("é", [195, 169]), ("abab", [256, 256])]:
        expect(tokenizer.encode(text), right, f"encode({text!r})", dtype="int64")


def test_special_tokens_count_only_where_they_are_allowed():
    tokenizer = Tokenizer({(62, 60): 256}, {"<e>": 257, "<s>": 258})
    cause = "an allowed special token is one id, any other is text"
    for allowed, right in [
        ((), [60, 101, 256, 115, 62, 97]),
        (["<e>"], [257, 60, 115, 62, 97]),
        (("<s>", "<e>"), [257, 258, 97]),
        ("all", [257, 258, 97]),
    ]:
        got = plain(tokenizer.encode("<e><s>a", allowed_special=allowed))
        equal(got, right, f"encode('<e><s>a', allowed_special={allowed!r})", cause)
    cause = "a piece that is the name of a special token is text unless it is allowed, so "
    cause += "compare it with allowed_special"
    for allowed in ((), ["<s>"]):
        got = plain(tokenizer.encode("<e>", allowed_special=allowed))
        equal(got, [60, 101, 62], f"encode('<e>', allowed_special={allowed!r})", cause)


def test_the_bytes_are_joined_before_they_are_decoded():
    tokenizer = Tokenizer({(169, 33): 256}, {"<end>": 257})
    cause = "join the bytes of all tokens, then decode them once"
    for ids, right in [
        ([195, 169], "é"),
        ([195, 256], "é!"),
        ([104, 105, 257, 195], "hi<end>�"),
        ([], ""),
    ]:
        got = tokenizer.decode(np.array(ids, dtype=np.int64))
        equal(got, right, f"decode({ids})", cause)


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
    cause = "no character may be lost, not even white space"
    for text in ("a  b\n", "  ab \r\n\tab", "été ab<end>", "猫🙂 ½", "x" * 30):
        for allowed in ((), "all"):
            ids = plain(tokenizer.encode(text, allowed_special=allowed))
            assert isinstance(ids, list), (
                f"encode should return an array of ids, yours is {ids!r}"
            )
            equal(tokenizer.decode(ids), text, f"decode(encode({text!r}))", cause)


def test_the_ids_of_a_word_are_remembered():
    tokenizer = Tokenizer({(97, 98): 256})
    first = plain(tokenizer.encode("ab ab cab"))
    remembered = {word: plain(ids) for word, ids in tokenizer.memory.items()}
    case = 'after encode("ab ab cab"), the ids of "ab", " ab" and " cab" in memory'
    equal(remembered, {"ab": [256], " ab": [32, 256], " cab": [32, 99, 256]}, case)
    remember(tokenizer, " ab", (1, 2, 3))
    case = 'the ids of " ab" were changed in memory to (1, 2, 3), so encode("ab ab")'
    cause = "take the ids of a known word from memory"
    equal(plain(tokenizer.encode("ab ab")), [256, 1, 2, 3], case, cause)
    equal(first, [256, 32, 256, 32, 99, 256], 'the ids that encode("ab ab cab") returned first')
    calls = calls_of_encode_word(tokenizer, "ab ab cab")
    assert calls == 0, (
        f'encode("ab ab cab") a second time calls encode_word {calls} times: each word is '
        "computed again although it is in memory. Call encode_word only for other words"
    )


# %% tokenizer hidden points=2
def test_other_texts():
    merges = {(116, 104): 256, (256, 101): 257, (32, 257): 258, (101, 110): 259}
    tokenizer = Tokenizer(merges, {"<|end|>": 260, "<|end|>!": 261, "then": 262})
    for text, allowed in [
        ("the then", ()),
        ("the then", ["then"]),
        ("<|end|>!<|end|>", "all"),
        ("<|end|>!", ["<|end|>"]),
        ("en\n", ["<|end|>!"]),
    ]:
        ids, again = [plain(tokenizer.encode(text, allowed)) for _ in range(2)]
        yield ids, again, tokenizer.decode(ids)
    yield refusal(tokenizer.encode, "a", allowed_special=["<x>"])[0]
    yield refusal(tokenizer.decode, [97, 263])[0]
    yield plain(Tokenizer(merges).encode("then"))


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
        f"from_json({text!r}) raises TypeError ({message}): JSON has lists but no tuples, and "
        "a list cannot be the key of a dictionary, so turn the pairs into tuples"
    )
    again = from_json(text)
    got, special = dict(again.merges), dict(again.special_tokens)
    assert got == merges and list(got) == list(merges), (
        f"the merges {merges} came back as {got}: keys are pairs, as tuples, and ids are "
        "counted from 256 in the order of the list"
    )
    assert special == {"<é>": 260, "<s>": 261}, f"the special tokens came back as {special}"
    special = {"<s>": 300, "<é>": 299}
    other = from_json(to_json(Tokenizer({(97, 98): 256}, special)))
    equal(
        dict(other.special_tokens),
        special,
        "special tokens with these ids, after to_json and from_json",
    )
    text = "abé é!! <é>"
    wanted, ids = [plain(tokenizer.encode(text, "all")) for tokenizer in (first, again)]
    equal(ids, wanted, f"the ids of {text!r} from from_json(to_json(tokenizer))")


# %% json hidden points=1
def test_other_tokenizers_come_back():
    pairs = map(tuple, np.random.default_rng(6).integers(0, 256, (60, 2)).tolist())
    merges = {pair: 256 + rank for rank, pair in enumerate(dict.fromkeys(pairs))}
    again = from_json(to_json(Tokenizer(merges, {'"\\\n': 400, "猫": 399, "<b>": 500})))
    yield dict(again.merges), sorted(dict(again.special_tokens).items())
    yield plain(again.encode('a猫"\\\n', allowed_special="all"))


# %% compression points=2
def test_characters_are_divided_by_tokens():
    for text, right in [("abab cab", 1.6), ("ab", 2.0), ("xyz", 1.0)]:
        got = rate(text)
        assert math.isclose(got, right), (
            f"{text!r} has {len(text)} characters in {len(text) / right:.0f} tokens: {right} "
            f"characters per token, yours gives {got}"
            f"{': did // round it down?' * (got == right // 1)}"
        )


def test_characters_are_counted_not_bytes():
    got = rate("éé")
    assert math.isclose(got, 0.5), (
        f'"éé" has two characters in four tokens: 0.5 characters per token, yours gives {got}'
    )


# %% compression hidden points=1
def test_other_compressions():
    yield rate("ab" * 15 + "c"), rate("猫")
    yield float(compression(text="zab", tokenizer=CharTokenizer("abz")))


# %% bits points=3
def test_the_entropy_of_equally_frequent_tokens():
    for ids, right in [([1, 2], 1.0), ([0, 1, 2, 3, 0, 1, 2, 3], 2.0), (list(range(32)), 5.0)]:
        got = float(bits_per_token(ids))
        cause = ""
        if math.isclose(got, right * math.log(2)):
            cause = ": this is in nats, use the logarithm to base 2"
        elif math.isclose(got, -right):
            cause = ": the sign is wrong, log2(1 / p) is positive"
        elif math.isclose(got, right * len(ids)):
            cause = ": this is the sum over the text, divide by the number of tokens"
        assert math.isclose(got, right), (
            f"{len(set(ids))} equally frequent tokens have {right} bits each, yours gives "
            f"{got:.4f}{cause}"
        )


def test_frequent_tokens_cost_less():
    for ids, right in [([5, 7, 5, 9], 1.5), ([7] * 3 + [900], 0.8112781244591328)]:
        got = float(bits_per_token(np.array(ids)))
        assert math.isclose(got, right), (
            f"the tokens {ids} have {right:.4f} bits on average, yours gives {got:.4f}: a "
            "token costs log2(1 / p) bits, and the mean weights each id by its relative "
            "frequency p"
        )


def test_one_token_alone_has_no_information():
    got = float(bits_per_token([4, 4, 4]))
    assert got == 0, f"when all tokens are the same the entropy is 0, yours gives {got}"
    got = float(bits_per_token([4, 5]))
    assert math.isclose(got, 1), f"two different tokens have 1 bit each, yours gives {got}"


# %% bits hidden points=1
def test_other_entropies():
    rng = np.random.default_rng(2)
    for size in (1, 2, 50, 1000):
        ids = rng.integers(0, 9, size) ** 2
        yield float(bits_per_token(ids)), float(bits_per_token(ids.tolist()))


# %% replace-pair points=10
def test_only_words_that_contain_the_pair_are_changed():
    words, _, _ = after_replacing((1, 2), 9, [(1, 2, 3), (4, 5), (1, 2, 1, 2)], [10, 7, 1])
    case = "(1, 2) merged to 9 in (1, 2, 3), (4, 5), (1, 2, 1, 2): the words"
    equal([tuple(word) for word in words], [(9, 3), (4, 5), (9, 9)], case)


def test_no_other_word_is_visited():
    words = [(1, 2, 3), (4, 5), (3, 1, 2), (5, 4, 5), (2, 1)]
    got = visited((1, 2), 9, words, [10, 7, 2, 1, 3])
    case = f"(1, 2) is in two of the words {words}; the indices of the words that were visited"
    cause = "visit only the words with an index in holders[pair]: this makes training fast"
    equal(got, [0, 2], case, cause)


def test_counts_are_those_of_the_new_words():
    cause = (
        "subtract the pairs of the old word and add the pairs of the new word, each as often "
        "as the word occurs"
    )
    for words, frequencies, right in [
        ([(1, 2, 3), (4, 5), (3, 1, 2)], [10, 7, 2], {(9, 3): 10, (4, 5): 7, (3, 9): 2}),
        ([(1, 2, 1, 2), (2, 1)], [3, 5], {(9, 9): 3, (2, 1): 5}),
    ]:
        _, counts, _ = after_replacing((1, 2), 9, words, frequencies)
        zeros = [pair for pair, count in counts.items() if count == 0]
        assert not zeros, (
            f"the pairs {zeros} no longer occur and should be removed from the counts, yours "
            f"are {counts}"
        )
        case = f"after merging (1, 2) in {words}, which occur {frequencies} times, the counts"
        equal(counts, right, case, cause)


def test_holders_know_the_words_of_the_new_pairs():
    _, _, holders = after_replacing((1, 2), 9, [(1, 2, 3), (8, 1, 2), (1, 2, 3, 5)], [1, 1, 1])
    assert (1, 2) not in holders, (
        f"the pair (1, 2) was merged everywhere and should be removed from holders, yours are "
        f"{holders}"
    )
    for pair, right in [((9, 3), [0, 2]), ((8, 9), [1]), ((3, 5), [2])]:
        assert pair in holders and holders[pair] == right, (
            f"the new pair {pair} is in the words {right}, but in your holders it has "
            f"{holders[pair] if pair in holders else 'nothing'}"
        )


def test_fast_training_gives_the_same_merges():
    right = {(108, 111): 256, (256, 119): 257, (32, 257): 258, (258, 101): 259}
    got = train_bpe_fast("low lower lowest low", 260)
    assert got == right and list(got) == list(right), (
        f'"low lower lowest low" with 260 tokens should give the merges {right}, '
        f"train_bpe_fast gives {got}"
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
        words = [tuple(rng.integers(0, 3, rng.integers(1, 12)).tolist()) for _ in range(20)]
        pairs = sorted({pair for word in words for pair in zip(word[:-1], word[1:])})
        pair = pairs[int(rng.integers(len(pairs)))]
        frequencies = rng.integers(1, 9, len(words)).tolist()
        got, counts, holders = after_replacing(pair, 50, words, frequencies)
        yield got, sorted(counts.items()), pair in holders and pair not in counts
        for index, word in enumerate(got):
            yield all(index in holders[both] for both in zip(word[:-1], word[1:]))
