# %% [markdown]
# # 12. Tokenization
#
# A language model computes with numbers. How does a text become numbers, and how do the numbers
# become text again? The picture shows the end of a famous first sentence, cut by four
# tokenizers. They were trained on two novels by Jane Austen, *Pride and Prejudice* and *Emma*,
# and know 256 to 1,024 pieces of text. A dot is a space. Although the text stays the same, the
# number of pieces falls from 26 to 8.

# %% tags=["payoff"]
#| default_exp core.tokenization
#| export
import json
import math
import re
from collections import Counter, defaultdict

import numpy as np

# Given: those that begin with check_ refuse arguments that cannot be right, such as a text
# without UTF-8 bytes. one_row turns ids into a list of int, the others read and write files.
from tinytorch.support.arguments import check_counts
from tinytorch.support.token_ids import (check_str, check_text, check_vocabulary, one_row,
                                         read_file, write_file)

# %% tags=["payoff"]
from tinytorch.pictures.tokenization import PIECES, draw_tokens

draw_tokens(PIECES)
# caption: A larger vocabulary cuts the same text into fewer pieces.
# alt: The text " must be in want of a wife", in boxes, one for each token, cut by four
# tokenizers. With a vocabulary of 256 each letter and space has its own box, 26 in all; with
# 300 there are 15 boxes, with 512 there are 10, with 1,024 there are 8, most of them whole
# words.

# %% [markdown]
# Because a model reads one piece per step, fewer pieces mean fewer steps, or more text in the
# same number of steps. The method is *byte-pair encoding*, which GPT-2 and most language models
# after it use. In this chapter you write it, from the first byte to a tokenizer that can be
# saved. Then you measure it on its training text, on another text and on other languages.
#
# **You need** only the words *training set* and *test set* of 09 (Data); no tensors. **You
# build** small tokenizers, the training of byte-pair encoding, slow and fast, encoding and
# decoding, special tokens, a file format and measures of a tokenizer.

# %% [markdown] page="Characters, bytes and pairs"
# ## Characters as tokens
#
# We begin with the simplest pieces of text. A **token** is a piece of text that a model treats
# as one symbol. The **vocabulary** is the set of all tokens that a model knows. A **token id**
# is the number of a token in the vocabulary; the first one is 0. A **tokenizer** turns text
# into a list of token ids, and ids back into text.
#
# In the simplest tokenizer every character is a token. Its vocabulary is the sorted set of the
# characters in some training text.
#
# **Task.** Write `encode` of `CharTokenizer`. The given lines refuse a character that is not in
# the vocabulary.

# %% A tokenizer of characters exercise="characters"
#| export
class CharTokenizer:
    """A tokenizer whose tokens are the characters of a text.

    text         str; its different characters, sorted, are the tokens 0, 1, 2, ...

    .characters  the sorted characters, a str
    .ids         {character: its id}

    >>> CharTokenizer("banana").encode("nab")
    array([2, 0, 1])
    """

    def __init__(self, text):
        check_str(text)
        self.characters = "".join(sorted(set(text)))
        self.ids = {character: id for id, character in enumerate(self.characters)}

    @property
    def vocab_size(self):
        return len(self.characters)

    def token(self, id):
        """The UTF-8 bytes of one token. (The next section explains UTF-8.)"""
        return self.decode([id]).encode()

    def encode(self, text, allowed_special=()):
        """The ids of the characters of `text`.

        allowed_special  ignored; a later section explains it for the class `Tokenizer`
        returns          int64 array of shape (n,), n the number of characters

        Raises ValueError if a character is not in the vocabulary; the message contains the
        first such character.
        """
        check_str(text)
        for character in text:
            if character not in self.ids:
                raise ValueError(f"the vocabulary has no {character!r}")
        ### BEGIN SOLUTION
        return np.array([self.ids[character] for character in text], dtype=np.int64)
        ### END SOLUTION

    def decode(self, ids):
        """The text with these ids. Raises IndexError if an id is not in the vocabulary."""
        ids = one_row(ids)
        if wrong := [id for id in ids if not 0 <= id < self.vocab_size]:
            raise IndexError(f"id {wrong[0]} is not in the vocabulary; its ids are 0 to "
                             f"{self.vocab_size - 1}")
        return "".join(self.characters[id] for id in ids)

    def save(self, path):
        write_file(path, json.dumps({"characters": self.characters}))

    @classmethod
    def load(cls, path):
        return cls(json.loads(read_file(path, "characters"))["characters"])

# %% checks="characters"
check("characters")

# %% [markdown]
# The course includes two novels with 1.6 million characters, *Pride and Prejudice* first, then
# *Emma*. The first 95 % of the characters are the training set, the rest is the test set.

# %% tags=["demonstration"]
from tinytorch.pictures.tokenization import TEN_LINES
from tinytorch.data.texts import load_names, load_text

novels = load_text("train")
letters = CharTokenizer(novels)
print(letters.vocab_size, "tokens:", repr(letters.characters))
print(letters.encode("It is a truth"))
try:
    letters.encode("a café")
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# This tokenizer has two weaknesses. It refuses every character that the training text did not
# contain, and its sequences are long: because a language model reads and writes one token at a
# time, each letter costs one step.
#
# ## Bytes and UTF-8
#
# A tokenizer of characters cannot encode a character that it does not know. A **code point** is
# the number that Unicode gives to a character; about 150,000 characters, from all writing
# systems, have one. A vocabulary of that size would be too large, and mostly unused. **UTF-8**
# is the encoding that stores a code point in one to four bytes: one for ASCII, two for most
# letters of Greek, Cyrillic and Arabic, three for most other writing systems, four for emoji. A
# byte has 256 values. With bytes as tokens, a vocabulary of 256 is enough for every text.

# %%
from tinytorch.pictures.tokenization import draw_utf8

draw_utf8("naïve π")
# alt: The seven characters of "naïve π" above their nine bytes: 110 97 195 175 118 101 32 207
# 128. The i with two dots and the Greek letter pi have two bytes each, the others one.

# %% [markdown]
# **Task.** Write `to_bytes`. Use the method of `str` that returns a `bytes` object, which is a
# sequence of integers.

# %% Text to bytes exercise="to-bytes"
#| export
def to_bytes(text):
    """The UTF-8 bytes of a text.

    text     str
    returns  list of int from 0 to 255

    >>> to_bytes("né")
    [110, 195, 169]

    Source: Yergeau, UTF-8, RFC 3629 (2003), section 3.
    """
    check_text(text)
    ### BEGIN SOLUTION
    return list(text.encode("utf-8"))
    ### END SOLUTION

# %% checks="to-bytes"
check("to-bytes")

# %% [markdown]
# `TEN_LINES` contains two sentences in five languages: 63 characters in English and in Greek,
# 52 in Russian and in Hindi, 21 in Chinese. Predict: which language takes the most bytes, and
# which the most bytes per character?

# %% tags=["answer", "explained"]
for language, lines in TEN_LINES.items():
    size = len(to_bytes(lines))
    print(f"{language:8} {len(lines)} characters, {size:3} bytes,"
          f" {size / len(lines):.2f} bytes per character")

# %% [markdown]
# Hindi takes the most bytes, Chinese the most per character. Although both need three bytes for
# a letter, the Hindi text has more characters, and its spaces take only one byte each.
#
# Decoding is more difficult, because every text is a sequence of bytes, but not every sequence
# of bytes is a text: 195 alone is the first half of a character. A model produces one token
# after another, and it may stop in the middle of a character. Decoding must not raise an
# exception then. The **replacement character** `"�"`, code point U+FFFD, replaces bytes that
# could not be decoded.
#
# **Task.** Write `from_bytes`.

# %% Bytes to text exercise="from-bytes"
#| export
def from_bytes(ids):
    """The text with these UTF-8 bytes.

    ids      list of int from 0 to 255
    returns  str; bytes that do not form a complete character become U+FFFD, as in
             `bytes.decode` with errors="replace"

    >>> from_bytes([110, 195, 169])
    'né'
    >>> from_bytes([110, 195])
    'n�'

    Source: The Unicode Standard 15.0, section 3.9, "U+FFFD Substitution of Maximal Subparts".
    """
    ### BEGIN SOLUTION
    return bytes(ids).decode("utf-8", errors="replace")
    ### END SOLUTION

# %% checks="from-bytes"
check("from-bytes")

# %% tags=["demonstration"]
print(to_bytes("π€"))
for length in range(2, 6):
    print(f"the first {length} bytes:", repr(from_bytes(to_bytes("π€")[:length])))

# %% [markdown]
# ## Byte-pair encoding
#
# Bytes can represent every text, but a text has even more bytes than characters. **Byte-pair
# encoding** (BPE) shortens a sequence of tokens: it finds the most frequent pair of neighbours,
# replaces it by a new token, and repeats this. A **merge** is one step of byte-pair encoding: a
# pair of token ids, and the id of the token that replaces the pair. The new ids are 256, 257,
# and so on, in the order of the merges.

# %%
from tinytorch.pictures.tokenization import draw_merging

draw_merging([("aaabdaaabac", list("aaabdaaabac"), ()),
              ("merge a a", ["aa", "a", "b", "d", "aa", "a", "b", "a", "c"], ("aa",)),
              ("merge a b", ["aa", "ab", "d", "aa", "ab", "a", "c"], ("ab",)),
              ("merge aa ab", ["aaab", "d", "aaab", "a", "c"], ("aaab",))])
# alt: Eleven letters, aaabdaaabac, one box each. Below, three merges one after the other: a a
# becomes one box in two places, nine boxes are left; a b in two places, seven are left; aa ab
# in two places, five are left: aaab, d, aaab, a, c.

# %% [markdown]
# After the first merge, the pairs (aa, a) and (a, b) both occur twice. "Counting pairs" gives
# the rule that chooses (a, b).
#
# Pairs can overlap: in `aaa`, the pair (a, a) occurs twice, and both occurrences use the middle
# letter. We merge from left to right, so `aaa` becomes `(aa)a`.
#
# **Task.** Write `merged`. We store ids in tuples, because tuples can be keys of a dictionary.
# It is harder than it looks: try `aaaa` and `abab` on paper first.

# %% Applying one merge exercise="merged"
#| export
def merged(ids, pair, new):
    """Replace each occurrence of a pair by one id, from left to right.

    ids      tuple of int
    pair     (int, int)
    new      int: the id of the merged token
    returns  tuple of int

    >>> merged((97, 97, 97, 98), (97, 97), 256)
    (256, 97, 98)

    Source: Gage, A new algorithm for data compression, The C Users Journal 12(2) (1994).
    """
    ### BEGIN SOLUTION
    out, i = [], 0
    while i < len(ids):
        if ids[i : i + 2] == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return tuple(out)
    ### END SOLUTION

# %% checks="merged"
check("merged")

# %% [markdown]
# Start with 16 letters `a` and merge (a, a), then (aa, aa), and so on, four times. Predict how
# many tokens remain. And with 15 letters?

# %% tags=["answer", "explained"]
for length in (16, 15):
    ids, pair = (97,) * length, (97, 97)
    for new in range(256, 260):
        ids = merged(ids, pair, new)
        pair = (new, new)
    print(length, "letters:", ids)

# %% [markdown]
# The 16 letters become one token. The 15 letters become tokens of 8, 4, 2 and 1 letters.
#
# ## Counting pairs
#
# To find the most frequent pair, we count. Before that, the text is cut into words (the next
# section shows how; a punctuation mark is then also a word). The 1.5 million characters of the
# training set contain only about 11,000 different words. We therefore visit each different word
# once, and multiply the counts of its pairs by the number of times that the word occurs.

# %%
from tinytorch.pictures.tokenization import draw_pair_counts

draw_pair_counts([("hug", 10), ("pug", 5), ("hugs", 6), ("pupu", 1)])
# alt: Four words with how often they occur: hug 10 times, pug 5, hugs 6, pupu once. The number
# below each pair of neighbouring letters is how often its word occurs; pupu has "pu" twice. On
# the right, the sums of the pairs, the highest first: ug 21, hu 16, pu 7, gs 6, up 1.

# %% [markdown]
# **Task.** Write `pair_counts`. In the picture, the word `pug` occurs 5 times and adds 5 to the
# count of `pu`; the word `pupu` occurs once and adds 2. Overlapping pairs are all counted:
# `aaa` adds 2 to the count of (a, a).

# %% Counting pairs exercise="pair-counts"
#| export
def pair_counts(words):
    """How often each pair of neighbouring ids occurs in a text.

    words    {tuple of ids: how often this word occurs}
    returns  {(id, id): count}, a dict or a Counter; pairs that do not occur are not in it

    >>> pair_counts({(1, 2, 1, 2): 3, (1,): 5})
    Counter({(1, 2): 6, (2, 1): 3})

    Source: Sennrich, Haddow, Birch, Neural machine translation of rare words with subword units
    (2016), section 3.2.
    """
    ### BEGIN SOLUTION
    counts = Counter()
    for word, frequency in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += frequency
    return counts
    ### END SOLUTION

# %% checks="pair-counts"
check("pair-counts")

# %% [markdown]
# Two pairs can have the same count. Without a rule for this case, the order of a dictionary
# would decide, and two programs could train two different tokenizers on the same text. A model
# that was trained with one of them could not use the ids of the other. We follow the rule of
# the library *tokenizers* by Hugging Face: among the pairs with the highest count, take the
# smallest, as Python compares tuples.
#
# **Task.** Write `best_pair`.

# %% The most frequent pair exercise="best-pair"
#| export
def best_pair(counts):
    """The pair with the highest count; if several have it, the smallest of them.

    counts   {(id, id): count}; not changed
    returns  (id, id), or None when there is no pair

    >>> best_pair({(98, 97): 4, (97, 99): 4, (97, 98): 1})
    (97, 99)
    """
    ### BEGIN SOLUTION
    if not counts:
        return None
    highest = max(counts.values())
    return min(pair for pair, count in counts.items() if count == highest)
    ### END SOLUTION

# %% checks="best-pair"
check("best-pair")

# %% [markdown]
# The algorithm only counts, chooses and merges. Here it runs on a whole line, ten times:

# %% tags=["demonstration"]
ids = tuple(to_bytes("how much wood would a woodchuck chuck if a woodchuck could chuck wood"))
texts = {id: chr(id) for id in ids}
print(len(ids), "tokens")
for new in range(256, 266):
    pair = best_pair(pair_counts({ids: 1}))
    ids = merged(ids, pair, new)
    texts[new] = texts[pair[0]] + texts[pair[1]]
    print(f"{new} = {pair} = {texts[new]!r} leaves {len(ids)} tokens")

# %% tags=["demonstration"]
draw_tokens({"after ten merges": [texts[id] for id in ids]})
# alt: The line cut into 29 boxes: wood, with the space before it, is one box each time, and so
# is chuck, mostly with the space behind it. Words that occur once, such as could, stay in
# letters or small parts.

# %% [markdown] page="Training and encoding"
# ## Pre-tokenization
#
# If merges run over a whole text, they learn tokens such as `chuck `, and on a longer text
# `dog.` and `dog!` and `of the`: words together with whatever happens to be next to them.
# **Pre-tokenization** first cuts the text into words and other small pieces, and merges never
# cross the border of a piece. From now on we call each piece a word. These are the words that
# `pair_counts` receives.

# %%
draw_tokens({"a line of text": ["It", " is", " ", "123", "45", ",", " ", " no", " less", "!"]})
# alt: The text "It is 12345,  no less!" cut into ten boxes: It; is with the space before it; a
# space; 123; 45; the comma; the first of two spaces; no with the second space; less with the
# space before it; the exclamation mark.

# %% [markdown]
# The regular expression `WORDS` is similar to the one that GPT-2 uses, but it cuts numbers
# after three digits, as the one of GPT-4 does. You can write `split` without understanding it.
# It has five alternatives, separated by `|`, which are tried in this order:
#
# - ` ?[^\W\d_]+` is letters, with a space before them if there is one. (A letter is a *word
#   character*, `\w`, that is neither a digit nor `_`.)
# - `\d{1,3}` is one to three digits, so that `12345` becomes `123` and `45`.
# - ` ?(?:[^\w\s]|_)+` is punctuation marks, with a space before them if there is one.
# - `\s+(?!\S)` is white space that is not directly followed by a visible character. Of two
#   spaces before a word it matches only the first; the second belongs to the word.
# - `\s` is one character of white space, such as the space before a number.

# %%
#| export
WORDS = r" ?[^\W\d_]+|\d{1,3}| ?(?:[^\w\s]|_)+|\s+(?!\S)|\s"

# %% [markdown]
# A tokenizer must not lose any character. If a user passes a pattern that leaves some
# characters unmatched, the text between two matches also becomes a piece.
#
# **Task.** Write `split`. `re.finditer` gives each match with its `start()` and `end()`.

# %% Splitting a text into words exercise="split"
#| export
def split(text, pattern=WORDS):
    """Cut a text into words, numbers, marks and white space.

    text     str
    pattern  regular expression: each match is a piece, and so is the text between two matches,
             before the first and after the last
    returns  list of str, none of them empty; joined, they give the whole text

    >>> split("It is 12345,  no less!")
    ['It', ' is', ' ', '123', '45', ',', ' ', ' no', ' less', '!']

    Source: Radford et al., Language models are unsupervised multitask learners (2019), section
    2.2.
    """
    check_str(text)
    ### BEGIN SOLUTION
    pieces, end = [], 0
    for match in re.finditer(pattern, text):
        pieces += [text[end : match.start()], match.group()]
        end = match.end()
    return [piece for piece in [*pieces, text[end:]] if piece]
    ### END SOLUTION

# %% checks="split"
check("split")

# %% tags=["demonstration"]
pieces = split(novels)
print(f"{len(pieces):,} pieces, {len(set(pieces)):,} different ones; the most frequent:")
print(Counter(pieces).most_common(8))

# %% [markdown]
# ## Training byte-pair encoding
#
# Training a tokenizer means finding its merges. It needs no gradient: count the pairs, merge
# the best one in all words, and repeat until the vocabulary has the desired size. The given
# function `count_words` counts the words of a text.

# %%
#| export
def count_words(text, special_tokens=()):
    """{the bytes of a word, as a tuple: how often it occurs}, without special tokens."""
    check_text(text)
    parts = [text]
    for special in sorted(special_tokens, key=len, reverse=True):
        # part.split is the method of str, not our function `split`
        parts = [piece for part in parts for piece in part.split(special)]
    counts = Counter(word for part in parts for word in split(part))
    return {tuple(to_bytes(word)): count for word, count in counts.items()}

# %% [markdown]
# A vocabulary consists of the 256 bytes, the merged tokens and the *special tokens* of a later
# section. The given function `merges_wanted` subtracts the bytes and the special tokens from
# the desired size. Its result, `count`, is the largest number of merges that the loop may
# learn. In a short text, training may run out of pairs before that.
#
# **Task.** Write the loop of `train_bpe`.

# %% Training byte-pair encoding exercise="train"
#| export
def train_bpe(text, vocab_size, special_tokens=()):
    """Train byte-pair encoding: find the merges.

    text            str
    vocab_size      int: the number of tokens, special tokens included
    special_tokens  list of str: no merge is learned from them, and an id is reserved for each
    returns         {(id, id): id of the merged token}, in the order of training; the new ids
                    are 256, 257, ... When no pair is left, there are fewer merges than
                    requested

    Raises ValueError if vocab_size is less than 256 plus the number of special tokens.

    >>> train_bpe("ab ab abc", 258)
    {(97, 98): 256, (32, 256): 257}

    Source: Sennrich, Haddow, Birch (2016), algorithm 1; on bytes as in Radford et al. (2019).
    """
    count = merges_wanted(vocab_size, special_tokens)
    ### BEGIN SOLUTION
    words, merges = count_words(text, special_tokens), {}
    while len(merges) < count:
        pair = best_pair(pair_counts(words))
        if pair is None:
            break
        new = merges[pair] = 256 + len(merges)
        words = {merged(word, pair, new): n for word, n in words.items()}
    return merges
    ### END SOLUTION


def merges_wanted(vocab_size, special_tokens):
    """The number of merges that gives a vocabulary of this size."""
    check_counts(vocab_size=vocab_size)
    count = vocab_size - 256 - len(special_tokens)
    if count < 0:
        raise ValueError(f"vocab_size {vocab_size} is too small for 256 bytes and "
                         f"{len(special_tokens)} special tokens")
    return count

# %% checks="train"
check("train")

# %% [markdown]
# Now train on the first chapters of *Pride and Prejudice*. Predict: which two characters form
# the first token that is learned?

# %% tags=["answer"]
sample = novels[:30_000]
merges = train_bpe(sample, 512)
first = next(iter(merges))
print(len(merges), "merges, the first:", first, "is", repr(from_bytes(list(first))))

# %% [markdown]
# ## The bytes of a token
#
# To decode an id, we need the bytes of its token. A merge names the two tokens that form a new
# one, and each of these two may itself be the result of a merge.
#
# **Task.** Write `token_bytes`. The parts of a token have smaller ids than the token.

# %% The bytes of a token exercise="token-bytes"
#| export
def token_bytes(merges):
    """The bytes that each token stands for.

    merges   {(id, id): id}, in the order of training
    returns  {id: bytes}, for the 256 single bytes and all merged tokens

    >>> token_bytes({(104, 101): 256, (116, 256): 257})[257]
    b'the'
    """
    ### BEGIN SOLUTION
    tokens = {id: bytes([id]) for id in range(256)}
    for (first, second), id in merges.items():
        tokens[id] = tokens[first] + tokens[second]
    return tokens
    ### END SOLUTION

# %% checks="token-bytes"
check("token-bytes")

# %% tags=["demonstration"]
tokens = token_bytes(merges)
print("first:  ", [tokens[id].decode() for id in range(256, 276)])
print("longest:", [token.decode() for token in sorted(tokens.values(), key=len)[-10:]])

# %% [markdown]
# Darcy, Bennet and Bingley are among the longest tokens, although the algorithm has never heard
# of them and only counted pairs.
#
# ## Encoding a word
#
# Encoding must apply the merges to new text in the order of training: among all pairs of the
# word that have a merge, choose the one whose merge was learned first, merge it, and repeat.
# The **merge rank** is the position of a merge in the order of training; the first merge has
# the lowest rank. A different method, such as taking the longest token that fits, from left to
# right, gives different tokens. A model that was trained on the tokens `a`, `bc` knows nothing
# about the tokens `ab`, `c`. In the example below, (b, c) was learned before (a, b):

# %%
draw_merging([("abc, merges: b c, then a b", list("abc"), ()),
              ("lowest rank first: b c", ["a", "bc"], ("bc",)),
              ("longest token first: not what training did", ["ab", "c"], "wrong")])
# alt: The word abc in three boxes. Merging the pair of lowest rank gives the boxes a and bc. A
# third row, in red, shows the boxes ab and c, which come from taking the longest token first.

# %% [markdown]
# **Task.** Write `encode_word`. New ids are numbered in the order of training, so the merge
# with the lowest rank is the one with the smallest new id.

# %% Encoding a word exercise="encode-word"
#| export
def encode_word(ids, merges):
    """Apply merges to the bytes of one word, lowest rank first, until no pair has a merge.

    ids      list or tuple of int: the bytes of the word; not changed
    merges   {(id, id): id of the merged token}; a smaller id means a lower rank
    returns  tuple of int

    >>> encode_word([97, 98, 99], {(98, 99): 256, (97, 98): 257})
    (97, 256)

    Source: Sennrich, Haddow, Birch (2016), section 3.2.
    """
    ### BEGIN SOLUTION
    ids = tuple(ids)
    while True:
        pairs = [pair for pair in zip(ids, ids[1:]) if pair in merges]
        if not pairs:
            return ids
        pair = min(pairs, key=merges.get)
        ids = merged(ids, pair, merges[pair])
    ### END SOLUTION

# %% checks="encode-word"
check("encode-word")

# %% tags=["demonstration"]
for word in (" the", " daughters", " tokenization", "π"):
    ids = encode_word(to_bytes(word), merges)
    print(f"{word!r:16} {[tokens[id] for id in ids]}")

# %% [markdown] page="A complete tokenizer"
# ## Special tokens
#
# A model also needs markers that are not text. A **special token** is a token that does not
# represent text but marks something, such as the end of a document, or who speaks in a
# dialogue. It has a name, such as `<|endoftext|>`, and a separate id.
#
# A user may type the characters of this name as ordinary text. Because every user could end the
# document if they always became the special token, the caller says which special tokens are
# recognised.
#
# **Task.** Write `split_special`. When one name begins with another one, the longer name wins.

# %% Splitting at special tokens exercise="split-special"
#| export
def split_special(text, special_tokens):
    """Cut a text at special tokens.

    text            str
    special_tokens  collection of str, none of them empty
    returns         list of str, none of them empty; each special token in the text is a piece.
                    Joined, the pieces are the text. Where several special tokens fit, take the
                    longest. Without special tokens the text is one piece; the empty text has no
                    piece

    >>> split_special("one<end>two", ["<end>"])
    ['one', '<end>', 'two']

    Source: OpenAI's library tiktoken, which does this with one regular expression.
    """
    ### BEGIN SOLUTION
    if not special_tokens:
        return [text] if text else []
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
    return [piece for piece in re.split(pattern, text) if piece]
    ### END SOLUTION

# %% checks="split-special"
check("split-special")

# %% [markdown]
# ## The tokenizer
#
# The class `Tokenizer` combines all these functions. `encode` cuts the text at special tokens
# and the rest into words, and applies the merges to each word. Because the same words occur
# again and again, `self.memory` stores the ids of each word.
#
# `decode` must join the bytes of *all* tokens before it decodes them. The two bytes of `é` may
# be two tokens, and neither of them alone is a character.
#
# **Task.** Write `encode` and `decode`.

# %% The tokenizer exercise="tokenizer"
#| export
class Tokenizer:
    """A byte-level byte-pair tokenizer.

    merges          {(id, id): id of the merged token}, as `train_bpe` returns them
    special_tokens  {name: id}; the ids usually begin at 256 + len(merges)

    .tokens         {id: bytes}, special tokens included
    .memory         {word: its ids}: what `encode` has computed already

    >>> tokenizer = Tokenizer({(97, 98): 256}, {"<end>": 257})
    >>> tokenizer.encode("cab<end>", allowed_special=["<end>"])
    array([ 99, 256, 257])

    Source: Radford et al., Language models are unsupervised multitask learners (2019), section
    2.2.
    """

    def __init__(self, merges, special_tokens={}):
        check_vocabulary(merges, special_tokens)  # ValueError if an id is used twice
        self.merges, self.special_tokens = dict(merges), dict(special_tokens)
        names = {id: name.encode() for name, id in special_tokens.items()}
        self.tokens, self.memory = token_bytes(self.merges) | names, {}

    @property
    def vocab_size(self):
        """The largest id plus 1."""
        return max(self.tokens) + 1

    def token(self, id):
        """The bytes of one token. Raises IndexError if there is no token with this id."""
        if id not in self.tokens:
            raise IndexError(f"id {id} is not in the vocabulary of {self.vocab_size} ids")
        return self.tokens[id]

    def encode(self, text, allowed_special=()):
        """The ids of a text.

        allowed_special  the special tokens that are recognised in `text`: the name of one, a
                         collection of names, or "all". Special tokens that are not allowed are
                         encoded as ordinary text
        returns          int64 array of shape (n,)

        Raises ValueError if `allowed_special` contains a name that this tokenizer does not
        have; the message contains the name.
        """
        check_text(text)
        if allowed_special == "all":
            allowed_special = self.special_tokens
        elif isinstance(allowed_special, str):
            allowed_special = [allowed_special]
        for name in allowed_special:
            if name not in self.special_tokens:
                raise ValueError(f"this tokenizer has no special token {name!r}")
        ids = []
        ### BEGIN SOLUTION
        for piece in split_special(text, allowed_special):
            if piece in allowed_special:
                ids.append(self.special_tokens[piece])
                continue
            for word in split(piece):
                if word not in self.memory:
                    self.memory[word] = encode_word(to_bytes(word), self.merges)
                ids.extend(self.memory[word])
        ### END SOLUTION
        return np.array(ids, dtype=np.int64)

    def decode(self, ids):
        """The text of token ids: their bytes joined, then decoded as `from_bytes` does.

        ids      array or list of int; IndexError when no token has one of these ids
        returns  str
        """
        ids = one_row(ids)
        ### BEGIN SOLUTION
        return from_bytes(b"".join(self.token(id) for id in ids))
        ### END SOLUTION

    def __call__(self, text):
        raise TypeError("a Tokenizer is not a function\nwrite tokenizer.encode(text)")

    def save(self, path):
        """Write the tokenizer to a file; see `to_json`."""
        write_file(path, to_json(self))

    @classmethod
    def load(cls, path):
        """The tokenizer that `save` wrote. Raises ValueError if the file is something else."""
        return from_json(read_file(path, "merges"))

# %% checks="tokenizer"
check("tokenizer")

# %% tags=["demonstration"]
tokenizer = Tokenizer(merges, {"<|endoftext|>": 512})
text = "The café — naïve π, 猫 🙂\n\n  <|endoftext|>"
print("the same text back:", tokenizer.decode(tokenizer.encode(text)) == text)
print(len(text), "characters,", len(tokenizer.encode(text)), "tokens; with the special token",
      len(tokenizer.encode(text, allowed_special="all")))

# %% [markdown]
# The text has more tokens than characters. `é`, `猫` and some others do not occur in the
# novels, so each of their two to four bytes stays a token. Here is a sentence of the novel, as
# bytes and with the tokenizer:

# %% tags=["demonstration", "payoff"]
line = "Mr. Bennet was among the earliest of those who waited on Mr. Bingley."
draw_tokens({name: [one.token(id).decode() for id in one.encode(line).tolist()]
             for name, one in [("bytes", Tokenizer({})), ("vocabulary of 512", tokenizer)]})
# alt: A sentence of Pride and Prejudice, twice: as bytes one box for each letter, with a
# vocabulary of 512 less than half as many boxes; Bennet and Bingley are one box each. The first
# Mr, without a space before it, is two boxes; the second, with its space, is one.

# %% [markdown]
# The first `Mr` is at the beginning of the line. Without a space before it, it is a different
# word from ` Mr`, and a rare one.
#
# ## Saving a tokenizer
#
# A model is useless without the tokenizer it was trained with, so the tokenizer is saved
# together with the weights. Because JSON is a text format, and a token may be half a character,
# which is not text, the *tokens* cannot be stored as strings. The *merges*, however, can be
# stored as pairs of numbers, and everything else follows from them.
#
# The format is `{"merges": [[97, 98], ...], "special_tokens": {"<end>": 257}}`, with the pairs
# in the order of training. Keys of a JSON object must be strings, so a dictionary with tuples
# as keys cannot be stored directly.
#
# **Task.** Write `to_json` and `from_json`.

# %% Saving as JSON exercise="json"
#| export
def to_json(tokenizer):
    """A Tokenizer as JSON text: an object with "merges", a list of pairs in the order of
    training, and "special_tokens", an object {name: id}.

    returns  str

    >>> to_json(Tokenizer({(97, 98): 256}, {"<end>": 257}))
    '{"merges": [[97, 98]], "special_tokens": {"<end>": 257}}'
    """
    ### BEGIN SOLUTION
    return json.dumps({"merges": list(tokenizer.merges),
                       "special_tokens": tokenizer.special_tokens})
    ### END SOLUTION


def from_json(text):
    """The Tokenizer that `to_json` wrote as `text`: the same merges and special tokens."""
    ### BEGIN SOLUTION
    content = json.loads(text)
    pairs = map(tuple, content["merges"])
    return Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)},
                     content["special_tokens"])
    ### END SOLUTION

# %% checks="json"
check("json")

# %% [markdown] page="Measuring a tokenizer"
# ## Characters per token
#
# How good is a tokenizer? We measure two things. The number of **characters per token**
# measures how much a tokenizer compresses: the characters of a text divided by the number of
# its tokens. It is measured on text that the tokenizer was not trained on.
#
# **Task.** Write `compression`.

# %% Characters per token exercise="compression"
#| export
def compression(text, tokenizer):
    """The average number of characters of `text` per token.

    text       str, not empty
    tokenizer  an object with `encode`
    returns    float

    >>> compression("abab cab", Tokenizer({(97, 98): 256}))
    1.6
    """
    check_str(text)
    if not text:
        raise ValueError("an empty text has no tokens")
    ### BEGIN SOLUTION
    return len(text) / len(tokenizer.encode(text))
    ### END SOLUTION

# %% checks="compression"
check("compression")

# %% [markdown]
# A tokenizer is a model of the text it was trained on. Ours was trained on 30,000 characters of
# *Pride and Prejudice*. Predict its characters per token on the test set, which is the end of
# *Emma*, and on Greek.

# %% tags=["answer"]
test_text = load_text("test")
print(f"training text {compression(sample, tokenizer):.2f}, "
      f"test text {compression(test_text, tokenizer):.2f}")
for language, lines in TEN_LINES.items():
    rate = compression(lines, tokenizer)
    print(f"{language:8} {rate:.2f}, which is {1 / rate:.2f} tokens per character")

# %% [markdown]
# Why do the English sentences have fewer characters per token than the test text? The words
# ` cat`, ` sleeps` and `Tomorrow` occur in neither novel, and take 12 of the 33 tokens. The
# other 44 characters take 21 tokens, which is 2.1 characters per token.
#
# In the other languages no merge applies. Each token is a byte, and the numbers are the bytes
# per character from the section "Bytes and UTF-8". (In Hindi, `split` also cuts words into
# parts, because the vowel signs of Hindi are not letters for Python.) Users of such languages
# get less text into the same number of tokens, and where tokens are sold they pay more.

# %% [markdown]
# ## Unigram entropy
#
# Longer tokens have a price: choosing one of 512 tokens takes more information than choosing
# one of 256 bytes. Information is measured in *bits*. Choosing one of two equally frequent
# tokens takes one bit, one of four takes two bits.
#
# In general, a token takes $\log_2 (1 / p)$ bits. Here $p$ is its *relative frequency*: how
# often it occurs, divided by the number of all tokens of the text. For the ids 5, 7, 5, 9:
#
# | id | relative frequency | bits |
# | --- | --- | --- |
# | 5 | 1/2 | 1 |
# | 7 | 1/4 | 2 |
# | 9 | 1/4 | 2 |
#
# The mean over the four tokens is (1 + 2 + 1 + 2) / 4 = 1.5.
#
# The **unigram entropy** is the mean number of bits per token when each token is predicted from
# its frequency alone, without the tokens before it. The sum runs over the different tokens $i$:
#
# $$H = \sum_i p_i \log_2 \frac{1}{p_i}$$
#
# **Task.** Write `bits_per_token`.

# %% Bits per token exercise="bits"
#| export
def bits_per_token(ids):
    """The unigram entropy of a sequence of token ids, with the frequencies in this sequence.

    ids      array or list of one or more int
    returns  float: bits per token; 0 when all tokens are the same

    >>> bits_per_token([5, 7, 5, 9])
    1.5

    Source: Shannon, A mathematical theory of communication (1948), section 6.
    """
    ### BEGIN SOLUTION
    counts = np.unique(ids, return_counts=True)[1]
    p = counts / counts.sum()
    return float((p * np.log2(1 / p)).sum())
    ### END SOLUTION

# %% checks="bits"
check("bits")

# %% tags=["demonstration"]
for name, one in [("bytes", Tokenizer({})), ("512 tokens", tokenizer)]:
    bits, characters = bits_per_token(one.encode(test_text)), compression(test_text, one)
    print(f"{name:10} {bits:.2f} bits per token / {characters:.2f} characters per token"
          f" = {bits / characters:.2f} bits per character")

# %% [markdown]
# *Bits per character* can compare models with different tokenizers, and the coming lessons use
# this measure. It is lower with 512 tokens, although in both cases only the frequencies of
# single tokens are used. The reason is that the merges already record which letters often occur
# together.
#
# ## Fast training
#
# For every merge, `train_bpe` counts all pairs of all words again, although a merge changes
# only a few words. The last and hardest exercise finds the same merges, about 20 times as fast
# for 1,024 tokens on both novels.
#
# The trainer keeps three things up to date: the words, the counts of pairs, and for each pair
# the *holders*, the indices of the words that contain it. A merge visits only these words. It
# subtracts the pairs of the old word from the counts and adds the pairs of the new word. In
# this example, the pair (l, o) is merged:
#
# | | before | after |
# | --- | --- | --- |
# | word 0, occurs 5 times | l o w | lo w |
# | word 1, occurs twice | s l o w | s lo w |
# | word 2, occurs 3 times | n e w | not visited |
# | count of (o, w) | 7 | 0, so it is removed |
# | count of (lo, w) | none | 7 |
# | holders of (lo, w) | none | words 0 and 1 |
#
# **Task.** Write `replace_pair`.

# %% A faster replacement exercise="replace-pair"
#| export
def replace_pair(pair, new, words, frequencies, counts, holders):
    """Merge a pair in the words that contain it, and update counts and holders.

    pair         (id, id), a key of `holders`
    new          int: the id of the merged token
    words        list of tuples of ids; changed in place
    frequencies  list of int: how often each word occurs
    counts       Counter {(id, id): count}, of all words; changed in place. Pairs whose count
                 falls to 0 are removed
    holders      defaultdict(set) {(id, id): the indices of the words that contain the pair};
                 changed in place: `pair` is removed, the new pairs are added. When a word no
                 longer contains some other pair, you may leave its index in that pair's set
    returns      None

    Only the words with an index in `holders[pair]` are read.

    >>> words, counts = [(1, 2, 3), (3, 4)], Counter({(1, 2): 5, (2, 3): 5, (3, 4): 8})
    >>> holders = defaultdict(set, {(1, 2): {0}, (2, 3): {0}, (3, 4): {1}})
    >>> replace_pair((1, 2), 9, words, [5, 8], counts, holders)
    >>> words, counts, holders[9, 3], (1, 2) in holders
    ([(9, 3), (3, 4)], Counter({(3, 4): 8, (9, 3): 5}), {0}, False)
    """
    ### BEGIN SOLUTION
    for i in holders.pop(pair):
        old, words[i] = words[i], merged(words[i], pair, new)
        for neighbours in zip(old, old[1:]):
            counts[neighbours] -= frequencies[i]
        for neighbours in zip(words[i], words[i][1:]):
            counts[neighbours] += frequencies[i]
            holders[neighbours].add(i)
        for neighbours in zip(old, old[1:]):
            if counts[neighbours] == 0:
                del counts[neighbours]
    ### END SOLUTION


def train_bpe_fast(text, vocab_size, special_tokens=()):
    """The merges of `train_bpe`, found in a fraction of the time."""
    wanted, word_counts, merges = (merges_wanted(vocab_size, special_tokens),
                                   count_words(text, special_tokens), {})
    counts, holders = Counter(pair_counts(word_counts)), defaultdict(set)
    words, frequencies = list(word_counts), list(word_counts.values())
    for i, word in enumerate(words):
        for neighbours in zip(word, word[1:]):
            holders[neighbours].add(i)
    while len(merges) < wanted and (pair := best_pair(counts)):
        merges[pair] = 256 + len(merges)
        replace_pair(pair, merges[pair], words, frequencies, counts, holders)
    return merges

# %% checks="replace-pair"
check("replace-pair")

# %% [markdown]
# Now train on the whole training set. The first `k` merges of a large vocabulary are the merges
# of a smaller one, so one training gives a whole curve:

# %% tags=["demonstration"]
from tinytorch.pictures.tokenization import draw_compression, draw_token_lengths

merges = train_bpe_fast(novels, 1024)
pairs = list(merges.items())
sizes = [256, 288, 320, 384, 512, 768, 1024]
names = "\n".join(load_names()[:1000])
texts = {"test text": test_text, "names": names, "Greek": TEN_LINES["Greek"]}
curves = {name: [compression(text, Tokenizer(dict(pairs[: size - 256]))) for size in sizes]
          for name, text in texts.items()}
figure = draw_compression(sizes, curves)
# caption: Merges shorten the text that they come from most, and text in another script not at
# all.
# alt: Characters per token over the size of the vocabulary, from 256 to 1,024. The test text
# rises from 1 to almost 3, steeply at first; the list of names reaches 1.5; Greek stays at 0.6,
# below the dashed line at one character per token.

# %% [markdown]
# The first merges help most. The list of 1,000 first names gains less, because its words differ
# from a novel's; Greek gains nothing. A larger vocabulary has a price: in the next lesson, each
# token needs a row of weights. How long are the 1,024 tokens?

# %% tags=["demonstration"]
figure = draw_token_lengths([len(token) for token in token_bytes(merges).values()])
# alt: Bars: 256 tokens have one byte, 154 two, 210 three, 170 four, 124 five; from there the
# number falls to four tokens of ten bytes.

# %% [markdown]
# ## Look back
#
# 1. How much of the vocabulary is used? Encode the test text with `large = Tokenizer(merges)`,
#    which has 1,024 tokens, and count the ids that never occur. Which of them are bytes, and
#    which are merges?
# 2. Train 512 tokens on 20,000 characters and measure the characters per token of the test
#    text. Then set `WORDS` to `r"(?s).+"` and run the cell of `split` again, because the
#    default of `pattern` was stored when `split` was defined. Now a whole text is one piece.
#    Train and measure again. With which pattern has the test text fewer tokens? Look at the
#    longest tokens: what has been learned? (Afterwards, restore `WORDS` and `split`.)
# 3. Encode "very", " very" and "Very" with `large`. They share no token. Why can a model that
#    has often seen one of them know little about another? What would be lost if a tokenizer
#    treated all three as equal?
# 4. PyTorch itself has no tokenizer. `tokenizers.models.BPE` with `trainers.BpeTrainer`
#    (Hugging Face) finds the same merges. `tiktoken.Encoding` has our `encode(text,
#    allowed_special=...)`, but raises a ValueError when a text contains a special token that is
#    not allowed. Ours encodes it as text. Which is safer, and for whom?

# %% [markdown] tags=["answer"]
# 3. The ids are different, and so are the vectors that a model learns for them. If all three
#    were one token, a decoded text would have neither capital letters nor the right spaces.
# 4. An error is safer for a program that passes on what strangers type, because a special token
#    could end their part of the text. Text is safer for a program that must never stop.
