# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% dominates mistake dominates-lets-equal-points-dominate-each-other: Lets equal points
# dominate each other.
#> At least one goal must be better
#- return any(better) and not any(worse)
return not any(worse)

# %% dominates mistake dominates-asks-for-a-better-number-in: Asks for a better number in every
# goal.
#> One better goal is enough
#- return any(better) and not any(worse)
return all(better)

# %% dominates mistake dominates-forgets-that-no-goal-may-be: Forgets that no goal may be worse.
#> No goal may be worse
#- return any(better) and not any(worse)
return any(better)

# %% dominates mistake dominates-treats-lower-as-better-in-every: Treats lower as better in
# every goal.
#> in both goals
better = [x < y for x, y in zip(a, b)]
worse = [x > y for x, y in zip(a, b)]
return any(better) and not any(worse)

# %% dominates mistake dominates-reads-the-directions-the-wrong-way: Reads the directions the
# wrong way round.
#> in both goals
better = [x > y if small else x < y for x, y, small in zip(a, b, lower)]
worse = [x < y if small else x > y for x, y, small in zip(a, b, lower)]
return any(better) and not any(worse)

# %% dominates mistake dominates-exchanges-the-two-points: Exchanges the two points.
#> in both goals
#- return any(better) and not any(worse)
return any(worse) and not any(better)

# %% dominates mistake dominates-compares-the-tuples-as-a-whole: Compares the tuples as a whole.
#> in both goals
#- return any(better) and not any(worse)
return tuple(a) < tuple(b)

# %% dominates mistake dominates-counts-the-better-goals: Counts the better goals.
#> No goal may be worse
#- return any(better) and not any(worse)
return sum(better) >= sum(worse) and any(better)

# %% dominates mistake dominates-looks-at-two-goals-only: Looks at two goals only.
#> does it look at all goals?
#- return any(better) and not any(worse)
return any(better[:2]) and not any(worse[:2])

# %% dominates mistake dominates-returns-the-number-of-better-goals: Returns the number of
# better goals.
#> dominates should be
#- return any(better) and not any(worse)
return sum(better) if not any(worse) else 0

# %% dominates mistake dominates-uses-the-first-direction-for-all: Uses the first direction for
# all goals.
#> in both goals
better = [x < y if lower[0] else x > y for x, y in zip(a, b)]
worse = [x > y if lower[0] else x < y for x, y in zip(a, b)]
return any(better) and not any(worse)

# %% dominates right dominates with signs: with signs
signs = [1 if small else -1 for small in lower]
gains = [sign * (y - x) for sign, x, y in zip(signs, a, b)]
return min(gains) >= 0 and max(gains) > 0

# %% dominates right dominates in a loop with early exits: in a loop with early exits
better = False
for i in range(len(a)):
    x, y = (a[i], b[i]) if lower[i] else (b[i], a[i])
    if x > y:
        return False
    if x < y:
        better = True
return better

# %% dominates right dominates with NumPy: with NumPy
sign = np.where(lower, 1, -1)
x, y = sign * np.array(a), sign * np.array(b)
return bool((x <= y).all() and (x < y).any())

# %% front mistake front-keeps-the-points-that-dominate-others: Keeps the points that dominate
# others.
#> MLP is dominated by small
return [name for name, point in points.items()
        if any(dominates(point, other, lower) for other in points.values())]

# %% front mistake front-asks-whether-a-point-dominates-not: Asks whether a point dominates, not
# whether it is dominated.
#> MLP is dominated by small
return [name for name, point in points.items()
        if not any(dominates(point, other, lower) for other in points.values())]

# %% front mistake front-keeps-the-points-that-are-dominated: Keeps the points that are
# dominated.
#> MLP is dominated by small
return [name for name, point in points.items()
        if any(dominates(other, point, lower) for other in points.values())]

# %% front mistake front-keeps-a-point-only-if-it: Keeps a point only if it dominates all
# others.
#> nothing else is dominated
return [name for name, point in points.items()
        if all(other is point or dominates(point, other, lower) for other in points.values())]

# %% front mistake front-removes-points-that-are-at-most: Removes points that are at most as
# good as another one, so that equal points both go.
#> equal points do not dominate
return [name for name, point in points.items()
        if not any(key != name and (other == point or dominates(other, point, lower))
                   for key, other in points.items())]

# %% front mistake front-keeps-only-the-first-of-equal: Keeps only the first of equal points.
#> equal points do not dominate
kept = {}
for name, point in points.items():
    if not any(dominates(other, point, lower) for other in points.values()):
        if point not in kept.values():
            kept[name] = point
return list(kept)

# %% front mistake front-compares-each-point-with-the-earlier: Compares each point with the
# earlier ones only.
#> also with later ones
kept = []
for name, point in points.items():
    if not any(dominates(points[other], point, lower) for other in kept):
        kept.append(name)
return kept

# %% front mistake front-sorts-the-names: Sorts the names.
#> in the order of the dict
return sorted(name for name, point in points.items()
        if not any(dominates(other, point, lower) for other in points.values()))

# %% front mistake front-ignores-the-directions: Ignores the directions.
#> the front of
return [name for name, point in points.items()
        if not any(dominates(other, point, (True,) * len(point)) for other in points.values())]

# %% front mistake front-returns-the-points-in-place-of: Returns the points in place of their
# names.
#> the front of
return [point for name, point in points.items()
        if not any(dominates(other, point, lower) for other in points.values())]

# %% front mistake front-returns-a-set: Returns a set.
#> the front of
return {name for name, point in points.items()
        if not any(dominates(other, point, lower) for other in points.values())}

# %% front right front in two loops: in two loops
names = []
for name in points:
    beaten = False
    for other in points:
        if dominates(points[other], points[name], lower):
            beaten = True
    if not beaten:
        names.append(name)
return names

# %% front right front removes the dominated names: removes the dominated names
left = dict(points)
for a in points.values():
    left = {name: b for name, b in left.items() if not dominates(a, b, lower)}
return list(left)

# %% interval mistake interval-uses-the-usual-interval: Uses the usual interval.
#> 10 right answers do not prove
#- low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
half = z * (share * (1 - share) / n) ** 0.5
low, high = share - half, share + half

# %% interval mistake interval-uses-the-usual-spread-around-the: Uses the usual spread around
# the shifted middle.
#> is below the root, too
#- half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
half = z * (share * (1 - share) / n) ** 0.5

# %% interval mistake interval-forgets-the-denominator: Forgets the denominator.
#> Divide by 1 + z
#- low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
low, high = middle - half, middle + half

# %% interval mistake interval-forgets-to-shift-the-middle: Forgets to shift the middle.
#> is missing in the middle
#- middle = share + z * z / (2 * n)
middle = share

# %% interval mistake interval-takes-invcdf-of-the-level-one: Takes inv_cdf of the level: one
# side only.
#> half of 1 - level lies on each side
#- z = NormalDist().inv_cdf((1 + level) / 2)
z = NormalDist().inv_cdf(level)

# %% interval mistake interval-always-uses-196: Always uses 1.96.
#> compute z from `level`
#- z = NormalDist().inv_cdf((1 + level) / 2)
z = 1.959964

# %% interval mistake interval-uses-a-rounded-z-for-95: Uses the rounded z of 95 %.
#> z is rounded
#- z = NormalDist().inv_cdf((1 + level) / 2)
z = 1.96 if level == 0.95 else NormalDist().inv_cdf((1 + level) / 2)

# %% interval mistake interval-leaves-a-term-outside-of-the: Leaves a term outside of the root.
#> belongs below the square root
#- half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
half = z * (share * (1 - share) / n) ** 0.5 + z * z / (4 * n * n)

# %% interval mistake interval-divides-the-middle-only: Divides only the middle by 1 + z squared
# / n.
#> divide both parts
#- low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
low, high = middle / (1 + z * z / n) - half, middle / (1 + z * z / n) + half

# %% interval mistake interval-divides-by-n-in-place-of: Divides by n in place of 2 n in the
# middle.
#> the interval for
#- middle = share + z * z / (2 * n)
middle = share + z * z / n

# %% interval mistake interval-writes-4-n-in-place-of: Writes 4 n in place of 4 n squared.
#> the interval for
#- half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
half = z * (share * (1 - share) / n + z * z / (4 * n)) ** 0.5

# %% interval mistake interval-forgets-the-factor-z: Forgets the factor z.
#> The factor z of the square root is missing
#- half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
half = (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5

# %% interval mistake interval-forgets-the-square-root: Forgets the square root.
#> the interval for
#- half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
half = z * (share * (1 - share) / n + z * z / (4 * n * n))

# %% interval mistake interval-forgets-to-divide-the-spread-by: Forgets to divide the spread by
# n.
#> the interval for
#- half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
half = z * (share * (1 - share) + z * z / (4 * n * n)) ** 0.5

# %% interval mistake interval-uses-the-share-of-wrong-answers: Uses the share of wrong answers.
#> the interval for
#- share = right / n
share = 1 - right / n

# %% interval mistake interval-exchanges-the-ends: Exchanges the ends.
#> the interval for
#- low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
high, low = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)

# %% interval mistake interval-takes-z-from-the-wrong-tail: Takes z from the wrong tail.
#> the interval for
#- z = NormalDist().inv_cdf((1 + level) / 2)
z = NormalDist().inv_cdf((1 - level) / 2)

# %% interval right interval multiplied by n: multiplied by n
z = NormalDist().inv_cdf(0.5 + level / 2)
middle = right + z**2 / 2
half = z * np.sqrt(right * (n - right) / n + z**2 / 4)
low = float((middle - half) / (n + z**2))
high = float((middle + half) / (n + z**2))
return max(0.0, low), min(1.0, high)

# %% interval right interval solves the quadratic equation: solves the quadratic equation
z = -NormalDist().inv_cdf((1 - level) / 2)
share = right / n
a, b, c = 1 + z * z / n, -(2 * share + z * z / n), share * share
root = max(0.0, b * b - 4 * a * c) ** 0.5
return max(0.0, (-b - root) / (2 * a)), min(1.0, (-b + root) / (2 * a))

# %% ranks mistake ranks-counts-the-intervals-below: Counts the intervals below.
#> 1 plus the number of intervals wholly above
return {name: 1 + sum(high < low for _, high in intervals.values())
        for name, (low, _) in intervals.items()}

# %% ranks mistake ranks-counts-from-0: Counts from 0.
#> 1 plus the number of intervals wholly above
return {name: sum(low > high for low, _ in intervals.values())
        for name, (_, high) in intervals.items()}

# %% ranks mistake ranks-ranks-by-the-middle-of-the: Ranks by the middle of the interval.
#> a meets b
middle = {name: sum(pair) / 2 for name, pair in intervals.items()}
return {name: 1 + sum(other > middle[name] for other in middle.values())
        for name in intervals}

# %% ranks mistake ranks-ranks-by-the-low-end: Ranks by the low end.
#> a meets b
return {name: 1 + sum(other > low for other, _ in intervals.values())
        for name, (low, _) in intervals.items()}

# %% ranks mistake ranks-also-counts-intervals-that-touch: Also counts intervals that touch.
#> not equal
return {name: 1 + sum(low >= high for low, _ in intervals.values())
        for name, (_, high) in intervals.items()}

# %% ranks mistake ranks-numbers-the-distinct-ranks-without-gaps: Numbers the distinct ranks
# without gaps.
#> two intervals lie above c
ranks = {name: 1 + sum(low > high for low, _ in intervals.values())
         for name, (_, high) in intervals.items()}
order = sorted(set(ranks.values()))
return {name: order.index(rank) + 1 for name, rank in ranks.items()}

# %% ranks mistake ranks-compares-with-the-best-entry-only: Compares with the best entry only.
#> two intervals lie above c
best = max(low for low, _ in intervals.values())
return {name: 1 if high >= best else 2 for name, (_, high) in intervals.items()}

# %% ranks mistake ranks-gives-different-ranks-by-sorting: Gives different ranks by sorting.
#> a meets b
order = sorted(intervals, key=lambda name: -intervals[name][1])
return {name: order.index(name) + 1 for name in intervals}

# %% ranks mistake ranks-sorts-the-names-by-rank: Sorts the names by rank.
#> keep the order of the dict
return {name: 1 + sum(low > high for low, _ in intervals.values())
        for name, (_, high) in sorted(intervals.items())}

# %% ranks mistake ranks-lets-ranks-spread-from-neighbour-to: Lets ranks spread from neighbour
# to neighbour.
#> a meets b
ranks = {name: 1 + sum(low > high for low, _ in intervals.values())
         for name, (_, high) in intervals.items()}
return {name: min(ranks[other] for other, (low, high) in intervals.items()
                  if high >= intervals[name][0] and low <= intervals[name][1])
        for name in intervals}

# %% ranks right ranks in a loop: in a loop
ranks = {}
for name in intervals:
    above = [other for other in intervals if intervals[other][0] > intervals[name][1]]
    ranks[name] = len(above) + 1
return ranks

# %% ranks right ranks with NumPy: with NumPy
ends = np.array(list(intervals.values())).reshape(-1, 2)
above = (ends[:, 0] > ends[:, 1:]).sum(axis=1)
return {name: 1 + int(k) for name, k in zip(intervals, above)}

# %% digest mistake digest-counts-numbers-not-bytes: Counts numbers, not bytes.
#> Each array has .nbytes
#- return sum(a.nbytes for a in weights.values())
return sum(a.size for a in weights.values())

# %% digest mistake digest-counts-4-bytes-for-each-number: Counts 4 bytes for each number.
#> Each array has .nbytes
#- return sum(a.nbytes for a in weights.values())
return sum(4 * a.size for a in weights.values())

# %% digest mistake digest-leaves-out-the-scales: Leaves out the scales.
#> scales count, too
#- return sum(a.nbytes for a in weights.values())
return sum(a.nbytes for name, a in weights.items() if not name.endswith(':scale'))

# %% digest mistake digest-counts-the-first-axis-only: Counts the first axis only.
#> Each array has .nbytes
#- return sum(a.nbytes for a in weights.values())
return sum(len(a) * a.itemsize for a in weights.values())

# %% digest mistake digest-leaves-the-values-out: Leaves the values out.
#> differ in one value
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str, a.shape]).encode())

# %% digest mistake digest-digests-the-printed-array-which-has: Digests the printed array, which
# has dots in it.
#> not a text with dots in it
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + str(a).encode())

# %% digest mistake digest-digests-the-sum-of-each-array: Digests the sum of each array.
#> differ in one value
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str, a.shape, round(float(a.sum()), 6)]).encode())

# %% digest mistake digest-leaves-the-names-out: Leaves the names out.
#> only in names
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([a.dtype.str, a.shape]).encode() + a.tobytes())

# %% digest mistake digest-leaves-the-dtypes-out: Leaves the dtypes out.
#> only in dtypes
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.shape]).encode() + a.tobytes())

# %% digest mistake digest-leaves-the-shapes-out: Leaves the shapes out.
#> only in shapes
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str]).encode() + a.tobytes())

# %% digest mistake digest-joins-all-names-then-all-arrays: Joins all names, then all arrays.
#> names and where they end
#- for name in sorted(weights):
#-     a = weights[name]
#-     sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
names = sorted(weights)
sha.update(''.join(names).encode())
for name in names:
    a = weights[name]
    sha.update(json.dumps([a.dtype.str, a.shape]).encode() + a.tobytes())

# %% digest mistake digest-joins-name-dtype-and-shape: Joins the texts of name, dtype and shape.
#> where the name ends and the dtype begins
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update((name + str(a.dtype) + str(a.shape)).encode() + a.tobytes())

# %% digest mistake digest-uses-the-order-of-the-dict: Uses the order of the dict.
#> sort the names
#- for name in sorted(weights):
#-     a = weights[name]
for name in weights:
    a = weights[name]

# %% digest mistake digest-uses-the-memory-layout-of-the: Uses the memory layout of the array.
#> tobytes() always
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes(order='A'))

# %% digest mistake digest-uses-pythons-hash: Uses Python's hash.
#> 64 hexadecimal digits
#- return sha.hexdigest()
return hash(sha.digest())

# %% digest mistake digest-returns-bytes: Returns bytes.
#> return hexdigest()
#- return sha.hexdigest()
return sha.digest()

# %% digest mistake digest-shortens-the-digest: Shortens the digest.
#> 64 hexadecimal digits
#- return sha.hexdigest()
return sha.hexdigest()[:12]

# %% digest mistake digest-uses-another-hash-function: Uses another hash function.
#> 64 hexadecimal digits
#- sha = hashlib.sha256()
sha = hashlib.md5()

# %% digest mistake digest-digests-only-the-last-array: Digests only the last array.
#> should count
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha = hashlib.sha256(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())

# %% digest mistake digest-hashes-the-names: Digests Python's hash of the names.
#> in another process, where Python's hash() and id() give other numbers
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([hash(name), a.dtype.str, a.shape]).encode() + a.tobytes())

# %% digest mistake digest-hashes-the-bytes: Digests Python's hash of the bytes.
#> in another process, where Python's hash() and id() give other numbers
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + str(hash(a.tobytes())).encode())

# %% digest mistake digest-contains-the-id: Digests the id of each array.
#> should have the same digest
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes() + str(id(a)).encode())

# %% digest right: one header for all arrays, then all bytes
#- sha = hashlib.sha256()
#- for name in sorted(weights):
#-     a = weights[name]
#-     sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
#- return sha.hexdigest()
names = sorted(weights)
header = json.dumps([[n, weights[n].dtype.str, list(weights[n].shape)] for n in names]).encode()
return hashlib.sha256(header + b"".join(weights[n].tobytes() for n in names)).hexdigest()

# %% digest right: the digest of one digest for each array
#- sha = hashlib.sha256()
#- for name in sorted(weights):
#-     a = weights[name]
#-     sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
#- return sha.hexdigest()
def one(name, a):
    parts = [name.encode(), a.dtype.str.encode(), repr(a.shape).encode(), a.tobytes()]
    return "".join(hashlib.sha256(part).hexdigest() for part in parts)

text = ",".join(one(*pair) for pair in sorted(weights.items(), key=lambda pair: pair[0]))
return hashlib.sha256(f"{len(weights)} arrays: {text}".encode()).hexdigest()

# %% digest right: writes a file with np.save for each array
#- sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
import io
file = io.BytesIO()
np.save(file, np.ascontiguousarray(a))
sha.update(json.dumps([name, a.shape]).encode() + file.getvalue())

# %% digest right digest digests one long text: digests one long text
#- sha = hashlib.sha256()
#- for name in sorted(weights):
#-     a = weights[name]
#-     sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
#- return sha.hexdigest()
parts = [[name, a.dtype.name, list(a.shape), a.tobytes().hex()]
         for name, a in sorted(weights.items(), key=lambda item: item[0])]
return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

# %% digest right digest with digests of digests: with digests of digests
#- for name in sorted(weights):
#-     a = weights[name]
#-     sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
for name, a in sorted(weights.items(), key=lambda item: item[0]):
    for part in (name.encode(), a.dtype.str.encode(), str(a.shape).encode(),
                 np.ascontiguousarray(a).tobytes()):
        sha.update(hashlib.sha256(part).digest())

# %% read mistake read-opens-pickles: Opens pickles.
#> allow_pickle=False
#- with np.load(file, allow_pickle=False) as arrays:
#-     return {name: arrays[name] for name in arrays.files}
with np.load(file, allow_pickle=True) as arrays:
    return {name: arrays[name] for name in arrays.files}

# %% read mistake read-does-not-check-the-size: Does not check the size.
#> compare the stated sizes with `most`
#- if stated > most:
#-     raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
pass

# %% read mistake read-checks-the-size-of-the-file: Checks the size of the file on the disk,
# which is compressed.
#> compare the stated sizes with `most`
#- stated = sum(info.file_size for info in archive.infolist())
stated = sum(info.compress_size for info in archive.infolist())

# %% read mistake read-checks-the-largest-array-only: Checks the largest array only.
#> add the sizes of all files
#- stated = sum(info.file_size for info in archive.infolist())
stated = max(info.file_size for info in archive.infolist())

# %% read mistake read-checks-the-first-array-only: Checks the first array only.
#> add the sizes of all files
#- stated = sum(info.file_size for info in archive.infolist())
stated = archive.infolist()[0].file_size

# %% read mistake read-checks-the-size-after-reading: Checks the size after reading.
#> before the size was checked
with zipfile.ZipFile(file) as archive:
    stated = sum(info.file_size for info in archive.infolist())
file.seek(0)
with np.load(file, allow_pickle=False) as arrays:
    read = {name: arrays[name] for name in arrays.files}
if stated > most:
    raise ValueError(f'the file unpacks to {stated} bytes, the limit is {most}')
return read

# %% read mistake read-always-allows-a-million-bytes: Always allows a million bytes.
#> compare with `most`
#- if stated > most:
#-     raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
if stated > 1_000_000:
    raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")

# %% read mistake read-refuses-exactly-the-limit: Refuses exactly the limit.
#> only more than `most` is refused
#- if stated > most:
#-     raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
if stated >= most:
    raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")

# %% read mistake read-counts-the-files-not-their-bytes: Counts the files, not their bytes.
#> compare the stated sizes with `most`
#- stated = sum(info.file_size for info in archive.infolist())
stated = len(archive.infolist())

# %% read mistake read-returns-numpys-open-file: Returns NumPy's open file.
#> not a dict
#- with np.load(file, allow_pickle=False) as arrays:
#-     return {name: arrays[name] for name in arrays.files}
return np.load(file, allow_pickle=False)

# %% read mistake read-returns-a-list-of-arrays: Returns a list of arrays.
#> not a dict
#- return {name: arrays[name] for name in arrays.files}
return [arrays[name] for name in arrays.files]

# %% read mistake read-turns-all-arrays-into-float32: Turns all arrays into float32.
#> float64
#- return {name: arrays[name] for name in arrays.files}
return {name: arrays[name].astype(np.float32) for name in arrays.files}

# %% read mistake read-leaves-the-numbers-out-of-the: Leaves the numbers out of the message.
#> should contain both numbers
#- raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
raise ValueError('the file is too large')

# %% read mistake read-returns-no-arrays-in-place-of: Returns no arrays in place of an error.
#> should raise ValueError
#- raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
return {}

# %% read mistake read-drops-what-follows-a-dot-in: Drops what follows a dot in a name.
#> the names
#- return {name: arrays[name] for name in arrays.files}
return {name.split('.')[-1]: arrays[name] for name in arrays.files}

# %% read right read reads each file of the archive itself: reads each file of the archive
# itself
with zipfile.ZipFile(file) as archive:
    total = 0
    for info in archive.infolist():
        total += info.file_size
    if total > most:
        raise ValueError(f'{total} bytes are more than {most}')
    arrays = {}
    for name in archive.namelist():
        with archive.open(name) as part:
            array = np.lib.format.read_array(part, allow_pickle=False)
        arrays[name.removesuffix('.npy')] = array
return arrays

# %% read right read copies the file into memory: copies the file into memory
import io
content = file.read()
sizes = [info.file_size for info in zipfile.ZipFile(io.BytesIO(content)).infolist()]
if sum(sizes) > most:
    raise ValueError(f'at most {most} bytes, not {sum(sizes)}')
arrays = np.load(io.BytesIO(content))
return dict(arrays.items())

# %% read equivalent: False is NumPy's default since version 1.16.3.
#= `np.load(file, allow_pickle=False)` -> `np.load(file)`

# %% read equivalent: np.load also recognizes the end of an archive, where zipfile leaves the
# file.
#= `file.seek(0)` -> `pass`

# %% model mistake model-does-not-decode: Does not decode.
#> call decoded(weights, shapes)
#- arrays = decoded(weights, shapes)
arrays = weights

# %% model mistake model-gives-arrays-in-place-of-shapes: Gives arrays in place of shapes.
#> `shapes` is {name: shape}
#- arrays = decoded(weights, shapes)
arrays = decoded(weights, model.state_dict())

# %% model mistake model-gives-the-stored-shapes: Gives the shapes of the stored arrays.
#> `shapes` is {name: shape}
#- arrays = decoded(weights, shapes)
arrays = decoded(weights, {name: a.shape for name, a in weights.items()})

# %% model mistake model-does-not-look-for-nan: Does not look for nan.
#> check each array with np.isfinite
#- for name, a in arrays.items():
#-     if not np.isfinite(a).all():
#-         raise ValueError(f"{name} contains nan or infinity")
pass

# %% model mistake model-looks-for-nan-only: Looks for nan only.
#> check each array with np.isfinite
#- if not np.isfinite(a).all():
#-     raise ValueError(f"{name} contains nan or infinity")
if np.isnan(a).any():
    raise ValueError(f"{name} contains nan or infinity")

# %% model mistake model-accepts-an-array-in-which-some: Accepts an array in which some number
# is finite.
#> check each array with np.isfinite
#- if not np.isfinite(a).all():
#-     raise ValueError(f"{name} contains nan or infinity")
if not np.isfinite(a).any():
    raise ValueError(f"{name} contains nan or infinity")

# %% model mistake model-does-not-name-the-array: Does not name the array.
#> 0.bias
#- raise ValueError(f"{name} contains nan or infinity")
raise ValueError(f"an array contains nan or infinity")

# %% model mistake model-looks-at-the-stored-arrays-of: Looks at the stored arrays of floats,
# without the scales.
#> check the decoded arrays
#- for name, a in arrays.items():
#-     if not np.isfinite(a).all():
#-         raise ValueError(f"{name} contains nan or infinity")
for name, a in weights.items():
    if a.dtype.kind == "f" and ":" not in name and not np.isfinite(a).all():
        raise ValueError(f"{name} contains nan or infinity")

# %% model mistake model-looks-at-all-stored-arrays-only: Looks at all stored arrays, and not at
# the decoded ones.
#> in which it is infinite
#- for name, a in arrays.items():
#-     if not np.isfinite(a).all():
#-         raise ValueError(f"{name} contains nan or infinity")
for name, a in weights.items():
    if not np.isfinite(a).all():
        raise ValueError(f"{name} contains nan or infinity")

# %% model mistake model-does-not-load-the-arrays: Does not load the arrays.
#> load the entry's arrays
#- model.load_state_dict(arrays)
pass

# %% model mistake model-stays-in-training-mode: Stays in training mode.
#> call model.eval()
#- return model.eval()
return model.train()

# %% model mistake model-returns-the-model-before-eval: Returns the model before eval.
#> call model.eval()
#- return model.eval()
return model

# %% model mistake model-copies-only-the-arrays-that-fit: Copies only the arrays that fit.
#> load_state_dict compares names and shapes
#- model.load_state_dict(arrays)
own = model.state_dict()
own.update({name: a for name, a in arrays.items()
            if name in own and own[name].shape == a.shape})
model.load_state_dict(own)

# %% model mistake model-copies-by-order-not-by-name: Copies by order, not by name.
#> load_state_dict compares names and shapes
#- model.load_state_dict(arrays)
for p, a in zip(model.parameters(), arrays.values()):
    p.data = a.reshape(p.shape) if a.size == p.data.size else p.data

# %% model mistake model-replaces-nan-by-0: Replaces nan by 0.
#> check each array with np.isfinite
#- for name, a in arrays.items():
#-     if not np.isfinite(a).all():
#-         raise ValueError(f"{name} contains nan or infinity")
arrays = {name: np.nan_to_num(a) for name, a in arrays.items()}

# %% model mistake model-returns-none: Returns None.
#> should return a Module
#- return model.eval()
model.eval()

# %% model mistake model-loads-into-one-model-and-returns: Loads into one model and returns
# another one.
#> load the entry's arrays
#- return model.eval()
return build().eval()

# %% model mistake model-fills-up-missing-arrays-with-random: Fills up missing arrays with
# random ones.
#> load_state_dict compares names and shapes
#- model.load_state_dict(arrays)
model.load_state_dict(model.state_dict() | arrays)

# %% model right model checks after loading: checks after loading
model = build()
state = model.state_dict()
arrays = decoded(weights, {name: state[name].shape for name in state})
model.load_state_dict(arrays)
bad = [name for name in arrays if np.isnan(arrays[name]).any() or np.isinf(arrays[name]).any()]
if bad:
    raise ValueError('not finite: ' + ', '.join(bad))
model.eval()
return model

# %% model right model sums to find nan: sums to find nan
network = build()
arrays = decoded(weights, {k: v.shape for k, v in network.state_dict().items()})
for name in arrays:
    if not np.isfinite(np.abs(arrays[name].astype('float64')).sum()):
        raise ValueError(name)
network.load_state_dict(arrays)
return network.eval()

# %% work mistake work-adds-calls-in-place-of-flops: Adds calls in place of FLOPs.
#> flops are at index 4
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, sum(row[2] for row in profile.rows), sum(row[5] for row in profile.rows)

# %% work mistake work-multiplies-by-calls: Multiplies the FLOPs of a row by its calls.
#> do not multiply by calls
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return (scores, sum(row[2] * row[4] for row in profile.rows),
        sum(row[2] * row[5] for row in profile.rows))

# %% work mistake work-adds-bytes-in-place-of-flops: Adds bytes in place of FLOPs.
#> flops are at index 4
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, sum(row[5] for row in profile.rows), sum(row[5] for row in profile.rows)

# %% work mistake work-exchanges-flops-and-bytes: Exchanges FLOPs and bytes.
#> flops are at index 4
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, sum(row[5] for row in profile.rows), sum(row[4] for row in profile.rows)

# %% work mistake work-counts-flops-as-bytes: Counts FLOPs as bytes.
#> bytes are at index 5
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, sum(row[4] for row in profile.rows), sum(row[4] for row in profile.rows)

# %% work mistake work-takes-the-last-row-only: Takes the last row only.
#> add the rows of all operations
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, profile.rows[-1][4], profile.rows[-1][5]

# %% work mistake work-takes-the-largest-row: Takes the largest row.
#> add the rows of all operations
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, max(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)

# %% work mistake work-counts-elements-of-the-result: Counts elements of the result.
#> 2 for each of the
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return scores, scores.size, sum(row[5] for row in profile.rows)

# %% work mistake work-counts-matrix-products-only: Counts matrix products only.
#> add the rows of all operations
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return (scores, sum(row[4] for row in profile.rows if row[1] == 'matmul'),
        sum(row[5] for row in profile.rows))

# %% work mistake work-counts-a-convolution-by-its-results: Counts a convolution by its results.
#> do not count elements of results
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
flops = sum(scores.size if row[1] == 'conv2d' else row[4] for row in profile.rows)
return scores, flops, sum(row[5] for row in profile.rows)

# %% work mistake work-counts-two-for-each-weight-and: Counts two for each weight and row, also
# in convolutions.
#> the FLOPs
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
flops = 2 * len(x) * sum(p.data.size for p in model.parameters())
return scores, flops, sum(row[5] for row in profile.rows)

# %% work mistake work-records-a-graph: Records a graph.
#> use no_grad()
with Profile(model) as profile:
    scores = model(Tensor(x)).data
return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)

# %% work mistake work-calls-the-model-once-more-outside: Calls the model once more outside of
# the block.
#> call it once
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
scores = model(Tensor(x)).data
return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)

# %% work mistake work-calls-the-model-with-an-array: Calls the model with an array.
#> with Tensor(x)
#- scores = model(Tensor(x)).data
scores = model(x).data

# %% work mistake work-returns-the-tensor: Returns the Tensor.
#> return the array inside the Tensor
#- scores = model(Tensor(x)).data
scores = model(Tensor(x))

# %% work mistake work-calls-the-model-once-for-each: Calls the model once for each row.
#> call it once
#- scores = model(Tensor(x)).data
scores = np.stack([model(Tensor(row[None])).data[0] for row in x])

# %% work mistake work-divides-by-the-number-of-rows: Divides by the number of rows.
#> the FLOPs
#- return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
return (scores, sum(row[4] for row in profile.rows) // len(x),
        sum(row[5] for row in profile.rows))

# %% work right work in a loop: in a loop
flops = moved = 0
with Profile(model) as profile:
    with no_grad():
        out = model(Tensor(x))
for _, _, _, _, f, b in profile.rows:
    flops, moved = flops + f, moved + b
return np.array(out.data), flops, moved

# %% work right work without paths of modules: without paths of modules
with no_grad(), Profile(None) as p:
    scores = model(Tensor(x)).numpy()
totals = [sum(row[at] for row in p.rows) for at in (4, 5)]
return scores, *totals

# %% limits mistake limits-treats-accuracy-like-the-others: Treats accuracy like the others.
#> a higher one is better
values = row | {"accuracy": row["right"] / row["n"]}
return [name for name, limit in limits.items() if values[name] > limit]

# %% limits mistake limits-treats-all-limits-as-least-values: Treats all limits as least values.
#> the broken limits
values = row | {"accuracy": row["right"] / row["n"]}
return [name for name, limit in limits.items() if values[name] < limit]

# %% limits mistake limits-refuses-the-limit-itself: Refuses the limit itself.
#> a value equal to its limit is allowed
values = row | {"accuracy": row["right"] / row["n"]}
return [name for name, limit in limits.items()
        if (values[name] <= limit if name == "accuracy" else values[name] >= limit)]

# %% limits mistake limits-refuses-the-largest-size-itself: Refuses the largest size itself.
#> a value equal to its limit is allowed
values = row | {"accuracy": row["right"] / row["n"]}
return [name for name, limit in limits.items()
        if (values[name] < limit if name == "accuracy" else values[name] >= limit)]

# %% limits mistake limits-refuses-exactly-the-least-accuracy: Refuses exactly the least
# accuracy.
#> a value equal to its limit is allowed
values = row | {"accuracy": row["right"] / row["n"]}
return [name for name, limit in limits.items()
        if (values[name] <= limit if name == "accuracy" else values[name] > limit)]

# %% limits mistake limits-names-only-the-first-broken-limit: Names only the first broken limit.
#> a list of all names
values = row | {"accuracy": row["right"] / row["n"]}
broken = [name for name, limit in limits.items()
        if (values[name] < limit if name == "accuracy" else values[name] > limit)]
return broken[:1]

# %% limits mistake limits-sorts-the-names: Sorts the names.
#> a list of all names
values = row | {"accuracy": row["right"] / row["n"]}
return sorted(name for name, limit in limits.items()
        if (values[name] < limit if name == "accuracy" else values[name] > limit))

# %% limits mistake limits-compares-the-number-of-right-answers: Compares the number of right
# answers with the share.
#> accuracy is right / n
#- values = row | {"accuracy": row["right"] / row["n"]}
values = row | {"accuracy": row["right"]}

# %% limits mistake limits-rounds-the-accuracy: Rounds the accuracy.
#> the broken limits
#- values = row | {"accuracy": row["right"] / row["n"]}
values = row | {"accuracy": round(row["right"] / row["n"])}

# %% limits mistake limits-returns-whether-a-limit-is-broken: Returns whether a limit is broken.
#> the broken limits
values = row | {"accuracy": row["right"] / row["n"]}
return bool([name for name, limit in limits.items()
        if (values[name] < limit if name == "accuracy" else values[name] > limit)])

# %% limits mistake limits-returns-the-limits-that-are-kept: Returns the limits that are kept.
#> the broken limits
values = row | {"accuracy": row["right"] / row["n"]}
return [name for name, limit in limits.items()
        if not (values[name] < limit if name == "accuracy" else values[name] > limit)]

# %% limits mistake limits-writes-the-accuracy-into-the-row: Writes the accuracy into the row.
#> it should not change
#- values = row | {"accuracy": row["right"] / row["n"]}
row["accuracy"] = row["right"] / row["n"]
values = row

# %% limits mistake limits-returns-a-text: Returns a text.
#> the broken limits
values = row | {"accuracy": row["right"] / row["n"]}
return ', '.join(name for name, limit in limits.items()
        if (values[name] < limit if name == "accuracy" else values[name] > limit))

# %% limits mistake limits-compares-every-value-with-the-first: Compares every value with the
# first limit.
#> with its own number
values = row | {"accuracy": row["right"] / row["n"]}
first = next(iter(limits.values()), 0)
return [name for name in limits
        if (values[name] < first if name == "accuracy" else values[name] > first)]

# %% limits right limits in a loop: in a loop
names = []
for name in limits:
    if name == 'accuracy':
        broken = row['right'] / row['n'] < limits[name]
    else:
        broken = row[name] > limits[name]
    if broken:
        names.append(name)
return names

# %% limits right limits with a sign: with a sign
share = row['right'] / row['n']
have = {'bytes': row['bytes'], 'flops': row['flops'], 'accuracy': -share}
most = {name: -x if name == 'accuracy' else x for name, x in limits.items()}
return list(filter(lambda name: have[name] > most[name], limits))

# %% judge mistake judge-lets-the-error-of-an-entry: Lets the error of an entry pass.
#> Catch the entry's Exception
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except ZeroDivisionError:
    return row | {'reason': ''}
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-catches-valueerror-only: Catches ValueError only.
#> Catch the entry's Exception
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except ValueError as error:
    return row | {"reason": f"{type(error).__name__}: {error}"}
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-catches-ctrl-c-too: Catches Ctrl-C, too.
#> a KeyboardInterrupt is none
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except BaseException as error:
    return row | {"reason": f"{type(error).__name__}: {error}"}
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-catches-everything: Catches everything with a bare except.
#> a KeyboardInterrupt is none
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except:
    import sys
    return row | {"reason": repr(sys.exc_info()[1])}
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-gives-no-reason-for-an-error: Gives no reason for an error.
#> should contain the message of the error
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except Exception:
    return row | {'reason': 'error'}
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-leaves-the-reason-of-a-failed: Leaves the reason of a failed entry out.
#> the reason should contain
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except Exception:
    return row | {'reason': ''}
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-returns-none-for-a-failed-entry: Returns None for a failed entry.
#> a row is a dict
try:
    scores, flops, _ = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except Exception:
    return None
row |= {"flops": flops, "right": right}
row["interval"] = list(accuracy_interval(right, len(labels)))
broken = broken_limits(row, limits)
return row | {"valid": not broken, "reason": ", ".join(broken)}

# %% judge mistake judge-counts-the-answers-outside-of-the: Counts the answers outside of the
# try block.
#> Catch the entry's Exception
#- right = right_answers(scores, labels)

#- row |= {"flops": flops, "right": right}
right = right_answers(scores, labels)
row |= {"flops": flops, "right": right}

# %% judge mistake judge-keeps-the-flops-of-a-failed: Keeps the FLOPs of a failed entry.
#> nothing that a failed entry computed counts
#- right = right_answers(scores, labels)
row['flops'] = flops
right = right_answers(scores, labels)

# %% judge mistake judge-only-prints-the-limits: Only prints the limits.
#> A row that breaks a limit is not valid
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": True, "reason": ", ".join(broken)}

# %% judge mistake judge-forgets-the-limits: Forgets the limits.
#> A row that breaks a limit is not valid
#- broken = broken_limits(row, limits)
broken = []

# %% judge mistake judge-compares-the-limits-before-the-results: Compares the limits before the
# results are in the row.
#> the reason should name the broken limit
#- row |= {"flops": flops, "right": right}
broken = broken_limits(row, limits)
row |= {"flops": flops, "right": right}
#- broken = broken_limits(row, limits)
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": not broken and not limits, "reason": ", ".join(broken)}

# %% judge mistake judge-names-only-the-first-broken-limit: Names only the first broken limit.
#> name all broken limits
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": not broken, "reason": "".join(broken[:1])}

# %% judge mistake judge-erases-the-numbers-of-an-entry: Erases the numbers of an entry that
# breaks a limit.
#> its numbers stay
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": not broken, "reason": ", ".join(broken)} | ({"right": 0} if broken else {})

# %% judge mistake judge-takes-the-moved-bytes-for-the: Takes the moved bytes for the size.
#> 'bytes' should be
#- scores, flops, _ = work_of(entry.model(), x)
scores, flops, row['bytes'] = work_of(entry.model(), x)

# %% judge mistake judge-takes-the-moved-bytes-for-the-2: Takes the moved bytes for the FLOPs.
#> 'flops' should be
#- scores, flops, _ = work_of(entry.model(), x)
scores, _, flops = work_of(entry.model(), x)

# %% judge mistake judge-leaves-the-interval-as-a-tuple: Leaves the interval as a tuple.
#> JSON knows lists
#- row["interval"] = list(accuracy_interval(right, len(labels)))
row["interval"] = accuracy_interval(right, len(labels))

# %% judge mistake judge-forgets-the-interval: Forgets the interval.
#> its interval
#- row["interval"] = list(accuracy_interval(right, len(labels)))
pass

# %% judge mistake judge-computes-the-interval-of-the-wrong: Computes the interval of the wrong
# answers.
#> its interval
#- row["interval"] = list(accuracy_interval(right, len(labels)))
row["interval"] = list(accuracy_interval(len(labels) - right, len(labels)))

# %% judge mistake judge-forgets-the-reason-of-a-valid: Forgets the reason of a valid row.
#> should have the key 'reason'
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": not broken} | ({"reason": ", ".join(broken)} if broken else {})

# %% judge mistake judge-says-valid-in-every-case-of: Says valid in every case of an answer
# above 0.
#> A row that breaks a limit is not valid
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": right > 0, "reason": ", ".join(broken)}

# %% judge mistake judge-stores-the-share-in-place-of: Stores the share in place of the count.
#> 'right' should be
#- row |= {"flops": flops, "right": right}
row |= {"flops": flops, "right": right / len(labels)}

# %% judge mistake judge-stores-the-broken-limits-as-valid: Stores the broken limits as valid.
#> 'valid' should be
#- return row | {"valid": not broken, "reason": ", ".join(broken)}
return row | {"valid": bool(broken), "reason": ", ".join(broken)}

# %% judge right judge builds the row at the end: builds the row at the end
reason, right, flops, interval, valid = '', 0, 0, [0.0, 0.0], False
try:
    out, work, _ = work_of(entry.model(), np.array(x))
    right, flops = right_answers(out, labels), work
    low, high = accuracy_interval(right, len(labels))
    interval = [low, high]
except Exception as error:
    reason = str(error) or repr(error)
else:
    names = broken_limits({**row, 'flops': flops, 'right': right}, limits)
    valid, reason = len(names) == 0, ' and '.join(names)
row.update(flops=flops, right=right, interval=interval, valid=valid, reason=reason)
return row

# %% judge right judge returns early: returns early
try:
    scores, flops, moved = work_of(entry.model(), x)
    right = right_answers(scores, labels)
except Exception as error:
    row['reason'] = repr(error)
    return row
row['flops'], row['right'] = flops, right
row['interval'] = [*accuracy_interval(right, row['n'])]
row['reason'] = '; '.join(broken_limits(row, limits))
row['valid'] = row['reason'] == ''
return row

# %% report mistake report-does-not-sort-the-rows: Does not sort the rows.
#> sort by event and then by entry
#- rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
rows = self.rows

# %% report mistake report-sorts-by-entry-first: Sorts by entry first.
#> sort by event and then by entry
#- rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
rows = sorted(self.rows, key=lambda row: (row["entry"], row["event"]))

# %% report mistake report-sorts-by-entry-only: Sorts by entry only.
#> sort by event and then by entry
#- rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
rows = sorted(self.rows, key=lambda row: row["entry"])

# %% report mistake report-sorts-the-report-itself: Sorts the report itself.
#> do not sort the report itself
#- rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
self.rows.sort(key=lambda row: (row["event"], row["entry"]))
rows = self.rows

# %% report mistake report-does-not-sort-the-keys: Does not sort the keys.
#> sort_keys
#- return json.dumps(rows, sort_keys=True)
return json.dumps(rows)

# %% report mistake report-writes-python-not-json: Writes Python, not JSON.
#> Expecting
#- return json.dumps(rows, sort_keys=True)
return str(rows)

# %% report mistake report-writes-the-date: Writes the date.
#> the rows read from the JSON
#- return json.dumps(rows, sort_keys=True)
import time
return json.dumps([*rows, {'date': time.time()}], sort_keys=True)

# %% report mistake report-returns-bytes: Returns bytes.
#> to_json should return a str
#- return json.dumps(rows, sort_keys=True)
return json.dumps(rows, sort_keys=True).encode()

# %% report mistake report-leaves-some-keys-out: Leaves some keys out.
#> the rows read from the JSON
#- return json.dumps(rows, sort_keys=True)
return json.dumps([{k: row[k] for k in row if k != 'reason'} for row in rows],
                  sort_keys=True)

# %% report mistake report-gives-medals-over-all-events: Gives medals over all events.
#> only the rows of this event
#- return shared_ranks({row["entry"]: row["interval"] for row in self.rows
#-                      if row["event"] == event and row["valid"]})
return shared_ranks({row["entry"]: row["interval"] for row in self.rows
                     if row["valid"]})

# %% report mistake report-gives-medals-to-invalid-rows: Gives medals to invalid rows.
#> invalid rows neither get a rank
#- return shared_ranks({row["entry"]: row["interval"] for row in self.rows
#-                      if row["event"] == event and row["valid"]})
return shared_ranks({row["entry"]: row["interval"] for row in self.rows
                     if row["event"] == event})

# %% report mistake report-lets-invalid-rows-lie-above-others: Lets invalid rows lie above
# others.
#> invalid rows neither get a rank
#- return shared_ranks({row["entry"]: row["interval"] for row in self.rows
#-                      if row["event"] == event and row["valid"]})
ranks = shared_ranks({row["entry"]: row["interval"] for row in self.rows
                      if row["event"] == event})
return {row["entry"]: ranks[row["entry"]] for row in self.rows
        if row["event"] == event and row["valid"]}

# %% report mistake report-ranks-by-the-number-of-right: Ranks by the number of right answers.
#> the medals
#- return shared_ranks({row["entry"]: row["interval"] for row in self.rows
#-                      if row["event"] == event and row["valid"]})
rows = [row for row in self.rows if row["event"] == event and row["valid"]]
return {row["entry"]: 1 + sum(other["right"] / other["n"] > row["right"] / row["n"]
                              for other in rows) for row in rows}

# %% report mistake report-returns-only-the-winners: Returns only the winners.
#> the medals
#- return shared_ranks({row["entry"]: row["interval"] for row in self.rows
#-                      if row["event"] == event and row["valid"]})
ranks = shared_ranks({row["entry"]: row["interval"] for row in self.rows
                         if row["event"] == event and row["valid"]})
return {name: rank for name, rank in ranks.items() if rank == 1}

# %% report mistake report-judges-all-entries-in-the-first: Judges all entries in the first
# event only.
#> two entries, two events
#- return Report([judge(entry, event, *rules) for event, rules in events.items()
#-                for entry in entries])
event, rules = next(iter(events.items()))
return Report([judge(entry, event, *rules) for entry in entries])

# %% report mistake report-judges-each-entry-in-one-event: Judges each entry in one event.
#> two entries, two events
#- return Report([judge(entry, event, *rules) for event, rules in events.items()
#-                for entry in entries])
return Report([judge(entry, event, *events[event]) for event, entry in zip(events, entries)])

# %% report mistake report-forgets-the-limits: Forgets the limits.
#> labels and limits to judge
#- return Report([judge(entry, event, *rules) for event, rules in events.items()
#-                for entry in entries])
return Report([judge(entry, event, *rules[:2], {}) for event, rules in events.items()
               for entry in entries])

# %% report mistake report-leaves-invalid-rows-out: Leaves invalid rows out.
#> two entries, two events
#- return Report([judge(entry, event, *rules) for event, rules in events.items()
#-                for entry in entries])
rows = [judge(entry, event, *rules) for event, rules in events.items() for entry in entries]
return Report([row for row in rows if row["valid"]])

# %% report mistake report-returns-a-list: Returns a list.
#> referee should return a Report
#- return Report([judge(entry, event, *rules) for event, rules in events.items()
#-                for entry in entries])
return [judge(entry, event, *rules) for event, rules in events.items() for entry in entries]

# %% report right report writes each row by itself: writes each row by itself
#- rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
#- return json.dumps(rows, sort_keys=True)
texts = {(row['event'], row['entry']): json.dumps(row, sort_keys=True) for row in self.rows}
return '[' + ', '.join(texts[key] for key in sorted(texts)) + ']'

# %% report right report collects intervals in a loop: collects intervals in a loop
#- return shared_ranks({row["entry"]: row["interval"] for row in self.rows
#-                      if row["event"] == event and row["valid"]})
intervals = {}
for row in self.rows:
    if row['valid'] and row['event'] == event:
        intervals[row['entry']] = tuple(row['interval'])
return shared_ranks(intervals)

# %% report right report judges in two loops: judges in two loops
#- return Report([judge(entry, event, *rules) for event, rules in events.items()
#-                for entry in entries])
rows = []
for entry in entries:
    for event in events:
        x, labels, limits = events[event]
        rows.append(judge(entry, event, x, labels, limits))
return Report(rows)

# %% verify mistake verify-compares-only-the-right-answers: Compares only the right answers.
#> compare whole rows
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
def part(rows):
    return rows and [row["right"] for row in rows]
return [key for key in claimed | true if part(claimed.get(key)) != part(true.get(key))]

# %% verify mistake verify-compares-only-the-flops: Compares only the FLOPs.
#> compare whole rows
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
def part(rows):
    return rows and [row["flops"] for row in rows]
return [key for key in claimed | true if part(claimed.get(key)) != part(true.get(key))]

# %% verify mistake verify-compares-everything-except-the-reason: Compares everything except the
# reason.
#> compare whole rows
#- found.setdefault((row["entry"], row["event"]), []).append(row)
row = {name: row[name] for name in row if name != "reason"}
found.setdefault((row["entry"], row["event"]), []).append(row)

# %% verify mistake verify-compares-everything-except-the-digest: Compares everything except the
# digest.
#> compare whole rows
#- found.setdefault((row["entry"], row["event"]), []).append(row)
row = {name: row[name] for name in row if name != "digest"}
found.setdefault((row["entry"], row["event"]), []).append(row)

# %% verify mistake verify-looks-only-at-the-rows-that: Looks only at the rows that are given.
#> go through the true rows
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key for key in claimed if claimed.get(key) != true.get(key)]

# %% verify mistake verify-looks-only-at-the-true-rows: Looks only at the true rows.
#> go through the rows of the report
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key for key in true if claimed.get(key) != true.get(key)]

# %% verify mistake verify-keeps-only-the-last-row-of: Keeps only the last row of a key.
#> each row may occur only once
#- found.setdefault((row["entry"], row["event"]), []).append(row)
found[row["entry"], row["event"]] = row

# %% verify mistake verify-keeps-only-the-first-row-of: Keeps only the first row of a key.
#> each row may occur only once
#- found.setdefault((row["entry"], row["event"]), []).append(row)
found.setdefault((row["entry"], row["event"]), row)

# %% verify mistake verify-accepts-a-key-if-one-of: Accepts a key if one of its rows is true.
#> each row may occur only once
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key for key in claimed | true
        if key not in claimed or key not in true or true[key][0] not in claimed[key]]

# %% verify mistake verify-compares-rows-by-their-place: Compares rows by their place.
#> not by their place
true = referee(entries, events).rows
return [(row["entry"], row["event"]) for row, claim in zip(true, report.rows) if row != claim]

# %% verify mistake verify-returns-whether-the-report-is-true: Returns whether the report is
# true.
#> a true report should be
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return claimed == true

# %% verify mistake verify-returns-names-of-entries-only: Returns names of entries only.
#> a report with
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key[0] for key in claimed | true if claimed.get(key) != true.get(key)]

# %% verify mistake verify-returns-the-pairs-the-wrong-way: Returns the pairs the wrong way
# round.
#> a report with
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key[::-1] for key in claimed | true if claimed.get(key) != true.get(key)]

# %% verify mistake verify-compares-by-identity: Compares by identity.
#> a true report should be
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key for key in claimed | true
        if [*map(id, claimed.get(key, []))] != [*map(id, true.get(key, []))]]

# %% verify mistake verify-believes-the-report: Believes the report.
#> a report with a forged
return []

# %% verify mistake verify-stops-at-the-first-difference: Stops at the first difference.
#> a report with two forged rows
#- return [key for key in claimed | true if claimed.get(key) != true.get(key)]
return [key for key in claimed | true if claimed.get(key) != true.get(key)][:1]

# %% verify mistake verify-names-a-key-once-for-each: Names a key once for each of its rows.
#> a report with the row of ada in open twice
true = {(row["entry"], row["event"]): row for row in referee(entries, events).rows}
keys = [(row["entry"], row["event"]) for row in report.rows]
wrong = [key for key, row in zip(keys, report.rows)
         if row != true.get(key) or keys.count(key) > 1]
return wrong + [key for key in true if key not in keys]

# %% verify right verify with lists: with lists
true = referee(entries, events).rows
keys = []
for row in [*true, *report.rows]:
    key = row['entry'], row['event']
    if key not in keys:
        keys.append(key)
def pick(rows, key):
    return [row for row in rows if (row['entry'], row['event']) == key]
return [key for key in keys if pick(true, key) != pick(report.rows, key)]

# %% verify right verify by the JSON of each row: by the JSON of each row
def texts(rows):
    return sorted((row['entry'], row['event'], json.dumps(row, sort_keys=True)) for row in rows)
mine, theirs = texts(referee(entries, events).rows), texts(report.rows)
wrong = [row for row in set(mine + theirs) if mine.count(row) != theirs.count(row)]
return sorted({row[:2] for row in wrong})

# %% leaderboard mistake leaderboard-keeps-all-rows: Keeps all rows.
#> the last report is the newest
#- return Report(list(last.values()))
return Report(rows)

# %% leaderboard mistake leaderboard-keeps-the-newest-row-of-each: Keeps the newest row of each
# event, whatever its version.
#> of the old version in another event
#- last = {(row["entry"], row["event"]): row for row in rows
#-         if row["digest"] == newest[row["entry"]]}
last = {(row["entry"], row["event"]): row for row in rows}

# %% leaderboard mistake leaderboard-keeps-the-last-report-only: Keeps the last report only.
#> an entry stays until it has a new version
#- rows = [row for report in reports for row in report.rows]
rows = list(reports[-1].rows) if reports else []

# %% leaderboard mistake leaderboard-keeps-the-first-version: Keeps the first version.
#> the last report is the newest
#- newest = {row["entry"]: row["digest"] for row in rows}
newest = {row["entry"]: row["digest"] for row in reversed(rows)}

# %% leaderboard mistake leaderboard-keeps-the-best-version: Keeps the best version.
#> not the best one
#- newest = {row["entry"]: row["digest"] for row in rows}
best = {}
for row in rows:
    best.setdefault(row["entry"], row)
    if row["right"] >= best[row["entry"]]["right"]:
        best[row["entry"]] = row
newest = {name: row["digest"] for name, row in best.items()}

# %% leaderboard mistake leaderboard-keeps-the-first-row-of-an: Keeps the first row of an event.
#> one row for each entry and event
#- last = {(row["entry"], row["event"]): row for row in rows
#-         if row["digest"] == newest[row["entry"]]}
last = {(row["entry"], row["event"]): row for row in reversed(rows)
        if row["digest"] == newest[row["entry"]]}

# %% leaderboard mistake leaderboard-keeps-several-rows-of-one-event: Keeps several rows of one
# event.
#> one row for each entry and event
#- return Report(list(last.values()))
return Report([row for row in rows if row["digest"] == newest[row["entry"]]])

# %% leaderboard mistake leaderboard-keeps-one-row-for-each-entry: Keeps one row for each entry.
#> the rows
#- last = {(row["entry"], row["event"]): row for row in rows
#-         if row["digest"] == newest[row["entry"]]}
last = {row["entry"]: row for row in rows
        if row["digest"] == newest[row["entry"]]}

# %% leaderboard mistake leaderboard-ignores-which-entry-a-row-belongs: Ignores which entry a
# row belongs to.
#> the rows
#- last = {(row["entry"], row["event"]): row for row in rows
#-         if row["digest"] == newest[row["entry"]]}
last = {row["event"]: row for row in rows
        if row["digest"] == newest[row["entry"]]}

# %% leaderboard mistake leaderboard-returns-a-list: Returns a list.
#> leaderboard should return a Report
#- return Report(list(last.values()))
return list(last.values())

# %% leaderboard mistake leaderboard-changes-the-first-report: Changes the first report.
#> the reports should not change
#- rows = [row for report in reports for row in report.rows]
rows = reports[0].rows if reports else []
for report in reports[1:]:
    rows.extend(report.rows)

# %% leaderboard mistake leaderboard-takes-the-rows-of-the-last: Takes the rows of the last
# report of each entry only, not those of its digest.
#> from all reports
#- last = {(row["entry"], row["event"]): row for row in rows
#-         if row["digest"] == newest[row["entry"]]}
day = {row["entry"]: n for n, report in enumerate(reports) for row in report.rows}
last = {(row["entry"], row["event"]): row for n, report in enumerate(reports)
        for row in report.rows if day[row["entry"]] == n}

# %% leaderboard mistake leaderboard-reads-the-reports-from-the-newest: Reads the reports from
# the newest to the oldest.
#> the last report is the newest
#- rows = [row for report in reports for row in report.rows]
rows = [row for report in reports[::-1] for row in report.rows]

# %% leaderboard mistake leaderboard-keeps-the-first-place-of-a: Keeps the first place of a
# digest in time: a version that comes back is old.
#> from all reports
#- newest = {row["entry"]: row["digest"] for row in rows}
order = list(dict.fromkeys((row["entry"], row["digest"]) for row in rows))
newest = dict(order)

# %% leaderboard mistake leaderboard-sorts-digests-and-takes-the-largest: Sorts digests and
# takes the largest.
#> the rows
#- newest = {row["entry"]: row["digest"] for row in rows}
newest = {row["entry"]: max(r["digest"] for r in rows if r["entry"] == row["entry"])
          for row in rows}

# %% leaderboard right leaderboard in loops: in loops
newest, table = {}, {}
for report in reports:
    for row in report.rows:
        newest[row['entry']] = row['digest']
for report in reports:
    for row in report.rows:
        if newest[row['entry']] == row['digest']:
            table[row['event'], row['entry']] = row
return Report([table[key] for key in sorted(table)])

# %% leaderboard right leaderboard backwards: backwards
seen, digest, kept = set(), {}, []
for report in reversed(reports):
    for row in reversed(report.rows):
        name = row['entry']
        if digest.setdefault(name, row['digest']) == row['digest']:
            if (name, row['event']) not in seen:
                seen.add((name, row['event']))
                kept.append(row)
return Report(kept[::-1])

# %% interval mistake given-lines-for-no-questions-gone: Writes over the given lines for n = 0.
#> the given first lines return (0.0, 1.0) for n = 0
#- if n == 0:
#-     return 0.0, 1.0
