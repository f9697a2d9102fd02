# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% characters mistake code-points-for-ids: Takes code points for ids.
#> are " abilnpst"
#- return np.array([self.ids[character] for character in text], dtype=np.int64)
return np.array([ord(character) for character in text], dtype=np.int64)

# %% characters mistake empty-text-is-float: Leaves the dtype to NumPy, so that no ids are
# float64.
#> should be an int64 array of shape (0,)
#- return np.array([self.ids[character] for character in text], dtype=np.int64)
return np.array([self.ids[character] for character in text])

# %% to-bytes mistake code-points-for-bytes: Takes characters for bytes.
#> 233 is the code point
return [ord(character) for character in text]

# %% to-bytes mistake latin-1-bytes: Encodes as Latin-1 and replaces the characters that it does
# not have.
#> UTF-8 stores it as two bytes
return list(text.encode("latin-1", errors="replace"))

# %% to-bytes mistake utf-16-bytes: Encodes as UTF-16.
#> ASCII characters are one byte each
return list(text.encode("utf-16-le"))

# %% to-bytes mistake bytes-not-a-list: Returns the bytes object.
#> should be a list of int
return text.encode("utf-8")

# %% from-bytes mistake strict-decoding: Decodes strictly, so that half a character is an
# exception.
#> a model may produce half a character
return bytes(ids).decode("utf-8")

# %% from-bytes mistake errors-ignored: Leaves out bytes that cannot be decoded.
#> become U+FFFD
return bytes(ids).decode("utf-8", errors="ignore")

# %% from-bytes mistake chr-of-each-byte: Makes a character of each byte.
#> decode them as UTF-8
return "".join(map(chr, ids))

# %% from-bytes mistake each-byte-decoded-alone: Decodes byte by byte.
#> decode them as UTF-8
return "".join(bytes([b]).decode("utf-8", errors="replace") for b in ids)

# %% merged mistake overlaps-merged-at-once: Decides for all positions at once, so that
# overlapping pairs are merged twice.
#> go from left to right
out = []
for i in range(len(ids)):
    if ids[i : i + 2] == pair:
        out.append(new)
    elif i == 0 or ids[i - 1 : i + 1] != pair:
        out.append(ids[i])
return tuple(out)

# %% merged mistake advances-by-one: Advances by one after a merge and keeps the second id.
#> merged to 9 should be
#- i += 2
i += 1

# %% merged mistake first-occurrence-only: Merges only the first occurrence.
#> merged to 9 should be
for i in range(len(ids) - 1):
    if ids[i : i + 2] == pair:
        return ids[:i] + (new,) + ids[i + 2 :]
return ids

# %% merged mistake last-id-lost: Ends the loop before the last id.
#> merged to 9 should be
#- while i < len(ids):
#-     if ids[i : i + 2] == pair:
#-         out.append(new)
while i < len(ids) - 1:
    if ids[i : i + 2] == pair:
        out.append(new)

# %% merged mistake merged-returns-a-list: Returns a list, which cannot be a key.
#> should return a tuple
#- return tuple(out)
return out

# %% merged mistake merged-from-the-right: Goes from right to left.
#> go from left to right
out, i = [], len(ids)
while i > 0:
    if ids[max(0, i - 2) : i] == pair:
        out.append(new)
        i -= 2
    else:
        out.append(ids[i - 1])
        i -= 1
return tuple(out[::-1])

# %% merged mistake merged-as-text: Replaces in a text, where the pair 1 2 also occurs in the
# ids 21 2.
#> does not contain the pair
text = " ".join(map(str, ids)).replace(f"{pair[0]} {pair[1]}", str(new))
return tuple(map(int, text.split()))

# %% pair-counts mistake pairs-as-a-set: Keeps the pairs of a word in a set, so that a pair
# counts once per word.
#> do not collect the pairs in a set
#- for pair in zip(word, word[1:]):
#-     counts[pair] += frequency
for pair in set(zip(word, word[1:])):
    counts[pair] += frequency

# %% pair-counts mistake frequency-forgotten: Counts each word once, however often it occurs.
#> counts as often as the word occurs
#- counts[pair] += frequency
counts[pair] += 1

# %% pair-counts mistake count-replaced: Replaces the count instead of adding to it.
#> every position counts
#- counts[pair] += frequency
counts[pair] = frequency

# %% pair-counts mistake pairs-of-the-whole-text: Joins the words first, so that pairs cross
# their borders.
#> (2, 3) is in words that occur
whole = [id for word, frequency in words.items() for id in word * frequency]
return Counter(zip(whole, whole[1:]))

# %% pair-counts mistake pairs-without-order: Sorts the two ids of a pair.
#> The order within a pair matters
#- counts[pair] += frequency
counts[tuple(sorted(pair))] += frequency

# %% pair-counts mistake overlaps-counted-once: Counts pairs as they will be merged, so that a
# pair that overlaps itself is left out.
#> overlapping pairs all count
#- for pair in zip(word, word[1:]):
#-     counts[pair] += frequency
last = None
for pair in zip(word, word[1:]):
    if pair == last:
        last = None
    else:
        counts[pair] += frequency
        last = pair

# %% pair-counts mistake first-two-only: Cuts a word into pairs that do not overlap.
#> the word (1, 2, 3, 2) contains
#- for pair in zip(word, word[1:]):
#-     counts[pair] += frequency
for pair in zip(word[::2], word[1::2]):
    counts[pair] += frequency

# %% best-pair mistake ties-by-dictionary-order: Takes the first of the most frequent pairs in
# the order of the dictionary.
#> the order of the dictionary decides
return max(counts, key=counts.get) if counts else None

# %% best-pair mistake ties-largest-pair: Takes the largest of the most frequent pairs.
#> (97, 98) is the smallest
return max(counts, key=lambda pair: (counts[pair], pair)) if counts else None

# %% best-pair mistake no-pair-crashes: Does not think of an empty dictionary.
#> max()
return min(counts, key=lambda pair: (-counts[pair], pair)) if counts else max(counts)

# %% best-pair mistake best-count-not-pair: Returns the count with the pair.
#> has the highest count; yours is
#- return min(pair for pair, count in counts.items() if count == highest)
return min((pair, count) for pair, count in counts.items() if count == highest)

# %% best-pair mistake once-is-not-enough: Refuses a pair that occurs only once.
#> has the highest count; yours is None
#- return min(pair for pair, count in counts.items() if count == highest)
if highest < 2:
    return None
return min(pair for pair, count in counts.items() if count == highest)

# %% best-pair mistake only-the-smallest-pair: Forgets the counts.
#> has the highest count
#- return min(pair for pair, count in counts.items() if count == highest)
return min(pair for pair, count in counts.items() if count <= highest)

# %% split mistake white-space-lost: Splits at white space, which is lost.
#> should be cut into
return text.split()

# %% split mistake findall-loses-the-rest: Uses findall, which leaves out text that the pattern
# does not match.
#> so is the text between two matches
return [piece for piece in re.findall(pattern, text) if piece]

# %% split mistake rest-forgotten: Forgets the text after the last match.
#> so is the text between two matches
#- return [piece for piece in [*pieces, text[end:]] if piece]
return [piece for piece in pieces if piece]

# %% split mistake empty-pieces-kept: Keeps the empty pieces between neighbouring matches.
#> should be cut into
#- return [piece for piece in [*pieces, text[end:]] if piece]
return [piece for piece in [*pieces, text[end:]]]

# %% split mistake stripped: Strips the text first.
#> should be cut into
#- for match in re.finditer(pattern, text):
#-     pieces += [text[end : match.start()], match.group()]
for match in re.finditer(pattern, text := text.strip()):
    pieces += [text[end : match.start()], match.group()]

# %% split mistake pattern-ignored: Uses WORDS whatever pattern is given.
#> each match is a piece
#- for match in re.finditer(pattern, text):
#-     pieces += [text[end : match.start()], match.group()]
for match in re.finditer(WORDS, text):
    pieces += [text[end : match.start()], match.group()]

# %% split mistake end-not-moved: Forgets to move the end of the last match.
#> should be cut into
#- end = match.end()
end = 0

# %% train mistake words-not-merged: Counts the first words again and again, without merging.
#> merge the pair in all words before you count again
#- words = {merged(word, pair, new): n for word, n in words.items()}
words.pop((), None)
words = {tuple(i for i in w if i != pair[0]): n for w, n in words.items()}

# %% train mistake no-pair-left-crashes: Does not stop when no pair is left.
#> contains one pair, so training should stop
#- if pair is None:
#-     break
pair = pair or (len(merges), 0)

# %% train mistake none-as-a-merge: Makes a merge of the None that best_pair returns when no
# pair is left.
#> None is a key of your merges
words, merges = count_words(text, special_tokens), {}
for new in range(256, 256 + count):
    pair = best_pair(pair_counts(words))
    merges[pair] = new
    words = {merged(word, pair, new): n for word, n in words.items()}
return merges

# %% train mistake specials-off-by-one: Reserves one id too many.
#> one merge should be
#- while len(merges) < count:
#-     pair = best_pair(pair_counts(words))
while len(merges) < count - 1:
    pair = best_pair(pair_counts(words))

# %% train mistake one-merge-too-many: Makes one merge too many.
#> merges, yours has
#- while len(merges) < count:
#-     pair = best_pair(pair_counts(words))
while len(merges) <= count:
    pair = best_pair(pair_counts(words))

# %% train mistake vocabulary-counts-merges: Takes the size of the vocabulary without room for
# special tokens.
#> special tokens and
#- while len(merges) < count:
#-     pair = best_pair(pair_counts(words))
while len(merges) < vocab_size - 256:
    pair = best_pair(pair_counts(words))

# %% train mistake ids-from-257: Begins with the id 257.
#> one merge should be
#- new = merges[pair] = 256 + len(merges)
new = merges[pair] = 257 + len(merges)

# %% train mistake specials-not-passed-on: Learns merges from the letters of special tokens.
#> pass special_tokens on to count_words
#- words, merges = count_words(text, special_tokens), {}
words, merges = count_words(text), {}

# %% train mistake frequencies-lost: Forgets how often a word occurs after the first merge.
#> in this order, yours
#- words = {merged(word, pair, new): n for word, n in words.items()}
words = {merged(word, pair, new): 1 for word, n in words.items()}

# %% train mistake whole-text-one-word: Trains on the text without words.
#> in this order, yours
#- words, merges = count_words(text, special_tokens), {}
words, merges = {tuple(to_bytes(text)): 1}, {}

# %% token-bytes mistake bytes-of-a-number: Writes bytes(id), which are so many zeros.
#> bytes(5) are five zeros
#- tokens = {id: bytes([id]) for id in range(256)}
tokens = {id: bytes(id) for id in range(256)}

# %% token-bytes mistake parts-exchanged: Joins the parts in the wrong order.
#> the first part before the second
#- tokens[id] = tokens[first] + tokens[second]
tokens[id] = tokens[second] + tokens[first]

# %% token-bytes mistake parts-as-bytes: Takes the ids of the parts for bytes.
#> join the bytes of its two parts
#- tokens[id] = tokens[first] + tokens[second]
tokens[id] = bytes([first % 256, second % 256])

# %% token-bytes mistake utf-8-of-each-byte: Takes the UTF-8 bytes of the character with this
# number for the byte.
#> token 255 is one byte
#- tokens = {id: bytes([id]) for id in range(256)}
tokens = {id: chr(id).encode() for id in range(256)}

# %% token-bytes mistake only-merged-tokens: Returns the merged tokens without the bytes.
#> without merges there are 256 tokens
#- return tokens
return {id: tokens[id] for id in merges.values()}

# %% encode-word mistake leftmost-pair-first: Merges the leftmost pair, whatever its rank.
#> apply the one with the smallest new id
#- pair = min(pairs, key=merges.get)
pair = pairs[0]

# %% encode-word mistake highest-rank-first: Merges the pair that was learned last.
#> apply the one with the smallest new id
#- pair = min(pairs, key=merges.get)
pair = max(pairs, key=merges.get)

# %% encode-word mistake longest-token-first: Takes the longest token that fits, from left to
# right.
#> was learned first
tokens = {id: (id,) for id in range(256)}
for (first, second), id in merges.items():
    tokens[id] = tokens[first] + tokens[second]
out, ids = [], tuple(ids)
while ids:
    fits = [id for id, parts in tokens.items() if ids[: len(parts)] == parts]
    best = max(fits, key=lambda id: len(tokens[id]))
    out.append(best)
    ids = ids[len(tokens[best]) :]
return tuple(out)

# %% encode-word mistake one-merge-only: Stops after the first merge.
#> go on until no pair of the word has a merge
ids = tuple(ids)
pairs = [pair for pair in zip(ids, ids[1:]) if pair in merges]
if not pairs:
    return ids
pair = min(pairs, key=merges.get)
return merged(ids, pair, merges[pair])

# %% encode-word mistake smallest-pair-not-rank: Compares the pairs instead of their ranks.
#> apply the one with the smallest new id
#- pair = min(pairs, key=merges.get)
pair = min(pairs)

# %% encode-word mistake encode-word-list: Returns a list.
#> should return a tuple
#- return ids
return list(ids)

# %% split-special mistake special-token-lost: Splits without brackets, so that the special
# tokens are lost.
#> each special token is a piece
#- pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
pattern = "|".join(map(re.escape, longest_first))

# %% split-special mistake not-escaped: Does not escape the characters that have a meaning in a
# regular expression.
#> no meaning as a regular expression
#- pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
pattern = "(" + "|".join(longest_first) + ")"

# %% split-special mistake shortest-special-first: Tries the special tokens in the given order.
#> the longest is taken
#- longest_first = sorted(special_tokens, key=len, reverse=True)
longest_first = list(special_tokens)

# %% split-special mistake empty-special-pieces: Keeps empty pieces.
#> no piece is empty
#- return [piece for piece in re.split(pattern, text) if piece]
return [piece for piece in re.split(pattern, text)]

# %% split-special mistake no-special-splits-letters: Without special tokens the pattern is
# empty and cuts between all letters.
#> without special tokens the text stays one piece
#- if not special_tokens:
#-     return [text] if text else []
pass

# %% split-special mistake alphabetical-specials: Sorts the special tokens by the alphabet.
#> the longest is taken
#- longest_first = sorted(special_tokens, key=len, reverse=True)
longest_first = sorted(special_tokens)

# %% tokenizer mistake special-always-honoured: Recognises every special token, allowed or not.
#> any other is text
#- for piece in split_special(text, allowed_special):
#-     if piece in allowed_special:
#-         ids.append(self.special_tokens[piece])
for piece in split_special(text, self.special_tokens):
    if piece in self.special_tokens:
        ids.append(self.special_tokens[piece])

# %% tokenizer mistake special-compared-with-all: Takes a text that is the name of a special
# token for that token, allowed or not.
#> so compare it with allowed_special
#- if piece in allowed_special:
#-     ids.append(self.special_tokens[piece])
if piece in self.special_tokens:
    ids.append(self.special_tokens[piece])

# %% tokenizer mistake special-encoded-as-letters: Encodes special tokens as text.
#> an allowed special token is one id
#- if piece in allowed_special:
#-     ids.append(self.special_tokens[piece])
#-     continue
# special tokens are text, too

# %% tokenizer mistake not-cut-into-words: Applies the merges to the whole text.
#> cut the text with split
#- for word in split(piece):
#-     if word not in self.memory:
#-         self.memory[word] = encode_word(to_bytes(word), self.merges)
for word in [piece]:
    if word not in self.memory:
        self.memory[word] = encode_word(to_bytes(word), self.merges)

# %% tokenizer mistake split-at-spaces: Splits at white space, which is lost.
#> cut the text with split
#- for word in split(piece):
#-     if word not in self.memory:
#-         self.memory[word] = encode_word(to_bytes(word), self.merges)
for word in piece.split():
    if word not in self.memory:
        self.memory[word] = encode_word(to_bytes(word), self.merges)

# %% tokenizer mistake words-not-remembered: Computes the ids of each word anew.
#> the ids of "ab", " ab" and " cab" in memory
#- if word not in self.memory:
#-     self.memory[word] = encode_word(to_bytes(word), self.merges)
#- ids.extend(self.memory[word])
ids.extend(encode_word(to_bytes(word), self.merges))

# %% tokenizer mistake memory-not-used: Fills the memory and does not use it.
#> take the ids of a known word from memory
#- if word not in self.memory:
#-     self.memory[word] = encode_word(to_bytes(word), self.merges)
if True:
    self.memory[word] = encode_word(to_bytes(word), self.merges)

# %% tokenizer mistake memory-by-setdefault: Uses setdefault, whose second argument is computed
# for each word, known or not.
#> computed again although it is in memory
#- if word not in self.memory:
#-     self.memory[word] = encode_word(to_bytes(word), self.merges)
#- ids.extend(self.memory[word])
known = encode_word(to_bytes(word), self.merges)
ids.extend(self.memory.setdefault(word, known))

# %% tokenizer mistake words-appended: Forgets the merges.
#> should be
#- self.memory[word] = encode_word(to_bytes(word), self.merges)
self.memory[word] = tuple(to_bytes(word))

# %% tokenizer mistake token-by-token: Decodes each token alone, so that a character of two
# tokens is lost.
#> join the bytes of all tokens
#- return from_bytes(b"".join(self.token(id) for id in ids))
return "".join(from_bytes(self.token(id)) for id in ids)

# %% tokenizer mistake key-error-for-no-token: Looks ids up in the dictionary, so that an
# unknown one is a KeyError.
#> raises KeyError
#- return from_bytes(b"".join(self.token(id) for id in ids))
return from_bytes(b"".join(self.tokens[id] for id in ids))

# %% tokenizer mistake unknown-ids-left-out: Leaves out ids that are no token.
#> should raise an IndexError, yours raises nothing
#- return from_bytes(b"".join(self.token(id) for id in ids))
return from_bytes(b"".join(self.tokens.get(id, b"") for id in ids))

# %% tokenizer mistake decoded-strictly: Decodes strictly.
#> can't decode byte
#- return from_bytes(b"".join(self.token(id) for id in ids))
return b"".join(self.token(id) for id in ids).decode("utf-8")

# %% tokenizer mistake white-space-normalised: Joins the decoded words with single spaces.
#> not even white space
#- return from_bytes(b"".join(self.token(id) for id in ids))
return " ".join(from_bytes(b"".join(self.token(id) for id in ids)).split(" "))\
    .replace("  ", " ")

# %% json mistake pairs-stay-lists: Leaves the pairs lists, which cannot be keys.
#> so turn the pairs into tuples
#- pairs = map(tuple, content["merges"])
pairs = content["merges"]

# %% json mistake merges-as-text: Stores the pairs as strings.
#> should be stored as the pairs
#- return json.dumps({"merges": list(tokenizer.merges),
#-                    "special_tokens": tokenizer.special_tokens})
return json.dumps({"merges": [str(pair) for pair in tokenizer.merges],
                   "special_tokens": tokenizer.special_tokens})

# %% json mistake merges-sorted: Sorts the pairs, so that their ranks are lost.
#> keys are pairs, as tuples, and ids are counted
#- return json.dumps({"merges": list(tokenizer.merges),
#-                    "special_tokens": tokenizer.special_tokens})
return json.dumps({"merges": sorted(tokenizer.merges),
                   "special_tokens": tokenizer.special_tokens})

# %% json mistake specials-forgotten: Forgets the special tokens on the way back.
#> the special tokens came back as
#- return Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)},
#-                  content["special_tokens"])
return Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)},
                 {})

# %% json mistake tokens-as-text: Stores the merged ids beside the pairs.
#> should be stored as the pairs
#- return json.dumps({"merges": list(tokenizer.merges),
#-                    "special_tokens": tokenizer.special_tokens})
return json.dumps({"merges": [[*pair, id] for pair, id in tokenizer.merges.items()],
                   "special_tokens": tokenizer.special_tokens})

# %% json mistake ids-from-zero: Counts the ids from 0.
#> it should be 256
#- return Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)},
#-                  content["special_tokens"])
return Tokenizer({pair: rank for rank, pair in enumerate(pairs)},
                 content["special_tokens"])

# %% compression mistake tokens-per-character: Divides tokens by characters.
#> characters per token, yours gives
return len(tokenizer.encode(text)) / len(text)

# %% compression mistake bytes-per-token: Counts bytes instead of characters.
#> has two characters in four tokens
return len(to_bytes(text)) / len(tokenizer.encode(text))

# %% compression mistake whole-division: Rounds down.
#> characters per token, yours gives 1.0
return len(text) // len(tokenizer.encode(text))

# %% compression mistake different-tokens: Counts different tokens.
#> characters per token, yours gives
return len(text) / len(np.unique(tokenizer.encode(text)))

# %% bits mistake nats: Uses the natural logarithm.
#> this is in nats
#- return float((p * np.log2(1 / p)).sum())
return float((p * np.log(1 / p)).sum())

# %% bits mistake sign-turned: Forgets the sign.
#> the sign is wrong
#- return float((p * np.log2(1 / p)).sum())
return float((p * np.log2(p)).sum())

# %% bits mistake mean-over-kinds: Averages over the different tokens instead of weighing them
# by their relative frequencies.
#> weights each id by its relative frequency p
#- return float((p * np.log2(1 / p)).sum())
return float(np.log2(1 / p).mean())

# %% bits mistake total-bits: Returns the bits of the whole text.
#> divide by the number of tokens
#- return float((p * np.log2(1 / p)).sum())
return float((counts * np.log2(1 / p)).sum())

# %% bits mistake log-of-vocabulary: Takes all tokens as equally frequent.
#> weights each id by its relative frequency p
#- return float((p * np.log2(1 / p)).sum())
return float(np.log2(len(p)))

# %% replace-pair mistake zeros-left: Leaves pairs with the count 0.
#> should be removed from the counts
#- if counts[neighbours] == 0:
#-     del counts[neighbours]
pass

# %% replace-pair mistake old-pairs-stay: Does not subtract the pairs of the old word.
#> subtract the pairs of the old word
#- counts[neighbours] -= frequencies[i]
pass

# %% replace-pair mistake new-pairs-not-counted: Does not count the pairs of the new word.
#> add the pairs of the new word
#- counts[neighbours] += frequencies[i]

# %% replace-pair mistake by-one-not-frequency: Counts each word once.
#> each as often as the word occurs
#- counts[neighbours] += frequencies[i]
counts[neighbours] += 1

# %% replace-pair mistake holders-not-told: Does not tell holders of the new pairs.
#> in your holders it has nothing
#- counts[neighbours] += frequencies[i]
#- holders[neighbours].add(i)
counts[neighbours] += frequencies[i]

# %% replace-pair mistake pair-stays-in-holders: Leaves the merged pair in holders.
#> should be removed from holders
#- for i in holders.pop(pair):
#-     old, words[i] = words[i], merged(words[i], pair, new)
for i in list(holders[pair]):
    old, words[i] = words[i], merged(words[i], pair, new)

# %% replace-pair mistake words-not-changed: Changes the counts and not the words.
#> the words
#- old, words[i] = words[i], merged(words[i], pair, new)
old, word = words[i], merged(words[i], pair, new)

# %% replace-pair mistake all-words-anew: Merges all words and counts everything anew, as slowly
# as train_bpe.
#> visit only the words with an index in holders[pair]
words[:] = [merged(word, pair, new) for word in words]
counts.clear()
holders.clear()
for i, word in enumerate(words):
    for neighbours in zip(word, word[1:]):
        counts[neighbours] += frequencies[i]
        holders[neighbours].add(i)

# %% replace-pair mistake all-words-asked: Searches all words for the pair.
#> visit only the words with an index in holders[pair]
#- for i in holders.pop(pair):
#-     old, words[i] = words[i], merged(words[i], pair, new)
held = holders.pop(pair)
for i in (i for i, word in enumerate(words) if i in held):
    old, words[i] = words[i], merged(words[i], pair, new)

# %% best-pair mistake counts-emptied-by-the-search: Empties the counts in the search for the
# highest one.
#> best_pair changes its argument counts
best = None
while counts:
    pair, count = counts.popitem()
    if best is None or (-count, pair) < best:
        best = -count, pair
return best[1] if best else None

# %% encode-word mistake word-merged-in-place: Merges in the list that it was given.
#> work on a copy
while pairs := [pair for pair in zip(ids, ids[1:]) if pair in merges]:
    pair = min(pairs, key=merges.get)
    new = merged(tuple(ids), pair, merges[pair])
    if isinstance(ids, list):
        ids[:] = new
    else:
        ids = new
return tuple(ids)

# %% characters right: places in the string of characters
return np.array([self.characters.index(c) for c in text], np.int64)

# %% characters right: an array filled in a loop
out = np.zeros(len(text), dtype=np.int64)
for place, character in enumerate(text):
    out[place] = self.ids[character]
return out

# %% to-bytes right: a comprehension over bytes
return [byte for byte in bytes(text, "utf8")]

# %% to-bytes right: through NumPy
return np.frombuffer(text.encode(), dtype=np.uint8).tolist()

# %% from-bytes right: str with an encoding
return str(bytes(ids), encoding="utf-8", errors="replace")

# %% from-bytes right: a bytearray filled in a loop
buffer = bytearray()
for id in ids:
    buffer.append(id)
return buffer.decode(errors="replace")

# %% merged right: a flag instead of an index
out = []
for id in ids:
    if out and out[-1] == pair[0] and id == pair[1] and not fresh:
        out[-1], fresh = new, True
    else:
        out.append(id)
        fresh = False
return tuple(out)

# %% merged right: changes a list in place
ids = list(ids)
i = 0
while i + 1 < len(ids):
    if (ids[i], ids[i + 1]) == tuple(pair):
        ids[i : i + 2] = [new]
    i += 1
return tuple(ids)

# %% pair-counts right: an ordinary dictionary and indices
counts = {}
for word in words:
    for i in range(len(word) - 1):
        pair = (word[i], word[i + 1])
        counts[pair] = counts.get(pair, 0) + words[word]
return counts

# %% pair-counts right: a Counter of each word, multiplied
total = defaultdict(int)
for word, times in words.items():
    for pair, here in Counter(zip(word[:-1], word[1:])).items():
        total[pair] += here * times
return dict(total)

# %% best-pair right: one key for both
return min(counts, key=lambda pair: (-counts[pair], pair), default=None)

# %% best-pair right: sorted twice
order = sorted(sorted(counts), key=lambda pair: counts[pair], reverse=True)
return order[0] if order else None

# %% best-pair right: a loop
best = None
for pair, count in counts.items():
    if best is None or count > counts[best] or (count == counts[best] and pair < best):
        best = pair
return best

# %% split right: appends only pieces that are not empty
pieces, position = [], 0
for found in re.compile(pattern).finditer(text):
    start, stop = found.span()
    if start > position:
        pieces.append(text[position:start])
    if stop > start:
        pieces.append(text[start:stop])
    position = stop
if position < len(text):
    pieces.append(text[position:])
return pieces

# %% split right: cuts at all borders
borders = {0, len(text)}
for found in re.finditer(pattern, text):
    borders |= {found.start(), found.end()}
borders = sorted(borders)
return [text[a:b] for a, b in zip(borders, borders[1:])]

# %% train right: a for loop over the new ids
merges = {}
words = count_words(text, special_tokens)
for new in range(256, 256 + count):
    counts = pair_counts(words)
    if not counts:
        return merges
    pair = best_pair(counts)
    merges[pair] = new
    words = dict(zip((merged(word, pair, new) for word in words), words.values()))
return merges

# %% train right: only words that hold the pair
words, merges = count_words(text, special_tokens), {}
while len(merges) != count and (pair := best_pair(pair_counts(words))) is not None:
    merges[pair] = len(merges) + 256
    for word in [w for w in words if pair in zip(w, w[1:])]:
        words[merged(word, pair, merges[pair])] = words.pop(word)
return merges

# %% token-bytes right: a list first
tokens = [i.to_bytes(1, "big") for i in range(256)]
for first, second in merges:
    tokens.append(tokens[first] + tokens[second])
return dict(enumerate(tokens))

# %% token-bytes right: recursion
parts = {id: pair for pair, id in merges.items()}


def expand(id):
    return b"".join(map(expand, parts[id])) if id in parts else bytes((id,))


return {id: expand(id) for id in [*range(256), *parts]}

# %% encode-word mistake: Applies the merges in the order of the dict.
#> in another order of the dict
ids = tuple(ids)
for pair, new in merges.items():
    ids = merged(ids, pair, new)
return ids

# %% encode-word right: all merges in order of their ids
ids = tuple(ids)
for pair, new in sorted(merges.items(), key=lambda item: item[1]):
    ids = merged(ids, pair, new)
return ids

# %% encode-word right: one occurrence at a time
ids = list(ids)
while True:
    ranked = [(merges[ids[i], ids[i + 1]], i) for i in range(len(ids) - 1)
              if (ids[i], ids[i + 1]) in merges]
    if not ranked:
        return tuple(ids)
    new, i = min(ranked)
    ids[i : i + 2] = [new]

# %% encode-word right: infinity for pairs without a merge
ids = tuple(ids)
while len(ids) > 1:
    pair = min(zip(ids, ids[1:]), key=lambda p: merges.get(p, math.inf))
    if pair not in merges:
        break
    ids = merged(ids, pair, merges[pair])
return ids

# %% split-special right: a loop over positions
pieces, start, i = [], 0, 0
order = sorted(special_tokens, key=lambda name: -len(name))
while i < len(text):
    name = next((name for name in order if text.startswith(name, i)), None)
    if name is None:
        i += 1
        continue
    pieces += [text[start:i], name]
    start = i = i + len(name)
return [piece for piece in pieces + [text[start:]] if piece]

# %% split-special right: finditer
names = sorted(map(re.escape, special_tokens), key=len)[::-1]
if len(names) == 0:
    return [text][: len(text)]
return split(text, "|".join(names))

# %% tokenizer right: get from memory, and a bytearray
#- if word not in self.memory:
#-     self.memory[word] = encode_word(to_bytes(word), self.merges)
#- ids.extend(self.memory[word])
known = self.memory.get(word)
if known is None:
    known = np.array(encode_word(to_bytes(word), self.merges))
    self.memory[word] = known
ids += known.tolist() if hasattr(known, "tolist") else known

# %% tokenizer right: decodes with the standard library
#- return from_bytes(b"".join(self.token(id) for id in ids))
data = bytearray()
for id in ids:
    data += self.token(id)
return data.decode("utf-8", "replace")

# %% tokenizer right: special pieces by else
#- if piece in allowed_special:
#-     ids.append(self.special_tokens[piece])
#-     continue
#- for word in split(piece):
#-     if word not in self.memory:
#-         self.memory[word] = encode_word(to_bytes(word), self.merges)
if piece in allowed_special:
    ids += [self.special_tokens[piece]]
for word in [] if piece in allowed_special else split(piece):
    if word not in self.memory:
        self.memory[word] = encode_word(to_bytes(word), self.merges)

# %% json right: a loop and unpacking
#- pairs = map(tuple, content["merges"])
#- return Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)},
#-                  content["special_tokens"])
merges = {}
for first, second in content["merges"]:
    merges[first, second] = 256 + len(merges)
return Tokenizer(merges=merges, special_tokens=content["special_tokens"])

# %% json right: pairs as lists, indented
#- return json.dumps({"merges": list(tokenizer.merges),
#-                    "special_tokens": tokenizer.special_tokens})
pairs = [[int(a), int(b)] for a, b in tokenizer.merges.keys()]
content = dict(special_tokens=dict(tokenizer.special_tokens), merges=pairs)
return json.dumps(content, indent=1, ensure_ascii=False)

# %% compression right: the size of the array
ids = np.asarray(tokenizer.encode(text))
return float(len(text)) / ids.size

# %% compression right: the mean over tokens
tokens = len(list(tokenizer.encode(text)))
return np.mean([len(text) / tokens])

# %% bits right: a Counter and math.log2
counts = Counter(np.asarray(ids).tolist())
total = sum(counts.values())
return -sum(n / total * math.log2(n / total) for n in counts.values()) + 0.0

# %% bits right: the mean of each token's cost
_, which, counts = np.unique(ids, return_inverse=True, return_counts=True)
return float(np.mean(-np.log2(counts[which] / len(which))))

# %% replace-pair right: updates by Counter
for i in sorted(holders[pair]):
    before, after = words[i], merged(words[i], pair, new)
    gone, come = Counter(zip(before, before[1:])), Counter(zip(after, after[1:]))
    for p in set(gone) | set(come):
        counts[p] += (come[p] - gone[p]) * frequencies[i]
        if counts[p] <= 0:
            del counts[p]
        if come[p]:
            holders[p].add(i)
        else:
            holders[p].discard(i)
    words[i] = after
holders.pop(pair, None)

# %% replace-pair right: zeros removed at once, before the new pairs are counted
for i in list(holders[pair]):
    old = words[i]
    words[i] = merged(old, pair, new)
    for p in zip(old, old[1:]):
        counts[p] -= frequencies[i]
        if not counts[p]:
            del counts[p]
    for p in zip(words[i], words[i][1:]):
        counts[p] += frequencies[i]
        holders[p].add(i)
del holders[pair]

# %% replace-pair right: zeros removed at the end
lowered = set()
for i in holders.pop(pair):
    word, n = words[i], frequencies[i]
    for k in range(len(word) - 1):
        counts[word[k], word[k + 1]] -= n
        lowered.add((word[k], word[k + 1]))
    word = words[i] = merged(word, pair, new)
    for k in range(len(word) - 1):
        counts[word[k], word[k + 1]] += n
        holders[word[k], word[k + 1]].add(i)
for p in lowered:
    if not counts[p]:
        counts.pop(p)

# %% split-special equivalent: Names that fit at one position begin alike, and alphabetical
# order puts the longer of them last.
#= `sorted(special_tokens, key=len, reverse=True)` -> `sorted(special_tokens, reverse=True)`

