# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% seconds mistake seconds-no-warm-up: Keeps the first call.
#> The first call is a warm-up
#- for _ in range(warmup):
#-     f()

# %% seconds mistake seconds-one-start: Reads the clock once, before the loop.
#> the start of one call is not the start of all
#- times = np.empty(repeat)
times, start = np.empty(repeat), clock()
#- start = clock()

# %% seconds mistake seconds-mean-of-all: Divides the time of all calls by their number.
#> Keep one time for each call
for _ in range(warmup):
    f()
start = clock()
for _ in range(repeat):
    f()
return np.full(repeat, (clock() - start) / repeat)

# %% seconds mistake seconds-reversed: Subtracts in the wrong order.
#> Subtract the reading before the call
#- times[i] = clock() - start
times[i] = start - clock()

# %% seconds mistake seconds-one-warm-up: Warms up once, whatever warmup says.
#> first `warmup` calls
#- for _ in range(warmup):
#-     f()
f()

# %% seconds mistake seconds-warm-up-timed: Reads the clock during the warm-up also.
#> first `warmup` calls
#- for _ in range(warmup):
for _ in range(warmup):
    clock()

# %% seconds mistake seconds-readings-shared: Uses the end of a call as the start of the next
# one.
#> read the clock, call f, read it again
for _ in range(warmup):
    f()
times, last = np.empty(repeat), clock()
for i in range(repeat):
    f()
    now = clock()
    times[i], last = now - last, now
return times

# %% seconds mistake seconds-real-clock: Ignores the argument clock.
#> yours does not read it
#- start = clock()
start = time.perf_counter()
#- times[i] = clock() - start
times[i] = time.perf_counter() - start

# %% seconds mistake seconds-list: Returns a list.
#> should return a NumPy array
#- return times
return times.tolist()

# %% seconds mistake seconds-not-returned: Forgets to return the times.
#> Is `return` missing?
#- return times
times

# %% seconds mistake seconds-integers: Keeps whole seconds.
#> should be
#- times = np.empty(repeat)
times = np.empty(repeat, int)

# %% seconds mistake seconds-first-run-dropped: Warms up, and also drops the first time.
#> should have shape
#- return times
return times[1:]

# %% seconds right: collects the times in a list
times = []
for i in range(warmup + repeat):
    if i < warmup:
        f()
    else:
        start = clock()
        f()
        end = clock()
        times.append(end - start)
return np.array(times, dtype="float64")

# %% seconds right: subtracts two arrays of readings
[f() for _ in range(warmup)]
readings = np.array([(clock(), f(), clock())[::2] for _ in range(repeat)])
return readings.reshape(repeat, 2) @ np.array([-1.0, 1.0])

# %% median-interval mistake median-interval-of-the-times: Takes the quantiles of the times
# themselves.
#> the quantiles
#- medians = np.median(resamples, axis=1)
medians = times

# %% median-interval mistake median-interval-standard-error: Mean plus and minus two standard
# errors.
#> a mean plus or minus standard errors
times = np.asarray(times, "float64")
error = times.std(ddof=1) / np.sqrt(len(times)) if len(times) > 1 else 0.0
return float(times.mean() - 2 * error), float(times.mean() + 2 * error)

# %% median-interval mistake median-interval-mean-of-resamples: Takes the mean of each resample.
#> should be
#- medians = np.median(resamples, axis=1)
medians = np.mean(resamples, axis=1)

# %% median-interval mistake median-interval-no-replacement: Draws without replacement.
#> with replacement
times, rng = np.asarray(times, "float64"), generator(rng)
medians = [np.median(rng.permutation(times)) for _ in range(RESAMPLES)]
low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
return float(low), float(high)

# %% median-interval mistake median-interval-half-resamples: Draws half as many values as there
# are.
#> another width
#- resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
resamples = generator(rng).choice(times, (RESAMPLES, (len(times) + 1) // 2))

# %% median-interval mistake median-interval-one-sided: Leaves 5 % on each side.
#> should be
#- low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
low, high = np.quantile(medians, [1 - level, level])

# %% median-interval mistake median-interval-level-ignored: Always takes 95 %.
#> with level=0.5
#- low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
low, high = np.quantile(medians, [0.025, 0.975])

# %% median-interval mistake median-interval-smallest-and-largest: Takes the smallest and the
# largest median.
#> should be
#- low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
low, high = medians.min(), medians.max()

# %% median-interval mistake median-interval-global-random: Draws from np.random.
#> generator(rng)
#- resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
resamples = np.random.choice(times, (RESAMPLES, len(times)))

# %% median-interval mistake median-interval-fixed-seed: Always draws the same numbers.
#> other seeds give the same intervals
#- resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
resamples = np.random.default_rng(0).choice(times, (RESAMPLES, len(times)))

# %% median-interval mistake median-interval-wrong-axis: Takes the medians along the other axis.
#> should be
#- medians = np.median(resamples, axis=1)
medians = np.median(resamples, axis=0)

# %% median-interval mistake median-interval-reversed: Returns the upper end first.
#> should be
#- return float(low), float(high)
return float(high), float(low)

# %% median-interval mistake median-interval-centre-and-width: Returns the median and the width.
#> should be
#- return float(low), float(high)
return float(np.median(times)), float(high - low)

# %% median-interval mistake median-interval-sorted-in-place: Sorts the array of the caller.
#> sort a copy
#- resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
times.sort()
resamples = generator(rng).choice(times, (RESAMPLES, len(times)))

# %% median-interval mistake median-interval-an-array: Returns an array.
#> should be a pair
#- return float(low), float(high)
return np.array([low, high])

# %% median-interval mistake median-interval-percent: Gives np.percentile numbers up to 1.
#> np.percentile counts to 100
#- low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
low, high = np.percentile(medians, [(1 - level) / 2, (1 + level) / 2])

# %% median-interval mistake median-interval-new-generators: Makes a new generator for each
# resample.
#> Make one generator, before the loop
#- resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
#- medians = np.median(resamples, axis=1)
medians = [np.median(generator(rng).choice(times, len(times))) for _ in range(RESAMPLES)]

# %% median-interval right: draws positions, in a loop
times, rng = np.array(times, float), generator(rng)
medians = []
for _ in range(RESAMPLES):
    medians.append(np.median(times[rng.integers(0, len(times), len(times))]))
return tuple(np.percentile(medians, [50 - 50 * level, 50 + 50 * level]).tolist())

# %% median-interval right: sorts the medians and takes two of them
values, rng = [float(t) for t in times], generator(rng)
medians = sorted(float(np.median(rng.choice(values, len(values)))) for _ in range(RESAMPLES))
cut = round((1 - level) / 2 * RESAMPLES)
return medians[cut], medians[RESAMPLES - 1 - cut]

# %% race mistake race-one-after-the-other: Runs all rounds of one function first.
#> a round calls each function once
for f in functions.values():
    f()
return {name: seconds(f, rounds, 0, clock) for name, f in functions.items()}

# %% race mistake race-fixed-order: Runs the functions in the same order in every round.
#> each of the 6 orders
#- for j in rng.permutation(len(names)):
#-     times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
for j in range(len(names)):
    times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]

# %% race mistake race-one-order: Shuffles once, before the first round.
#> each of the 6 orders
#- names = list(functions)
names = [list(functions)[j] for j in rng.permutation(len(functions))]
rng = type('same', (), {'permutation': lambda self, n: range(n)})()

# %% race mistake race-rotates: Begins with another function in each round, without shuffling.
#> each of the 6 orders
#- for j in rng.permutation(len(names)):
#-     times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
for j in [(i + k) % len(names) for k in range(len(names))]:
    times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]

# %% race mistake race-drawn-names: Draws a function at random, with replacement.
#> a round calls each function once
#- for j in rng.permutation(len(names)):
#-     times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
for j in rng.integers(0, len(names), len(names)):
    times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]

# %% race mistake race-no-warm-up: Has no warm-up.
#> The first call of each function is a warm-up
#- for f in functions.values():
#-     f()

# %% race mistake race-warm-up-each-round: Calls each function twice in every round.
#> number of calls
#- times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
times[names[j]][i] = seconds(functions[names[j]], 1, 1, clock)[0]

# %% race mistake race-shuffled-names: Gives the times to the names in the original order.
#> do the times of two functions get mixed?
#- for j in rng.permutation(len(names)):
#-     times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
for k, j in enumerate(rng.permutation(len(names))):
    times[names[k]][i] = seconds(functions[names[j]], 1, 0, clock)[0]

# %% race mistake race-real-clock: Does not pass the clock on.
#> pass clock on to seconds
#- times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
times[names[j]][i] = seconds(functions[names[j]], 1, 0)[0]

# %% race mistake race-global-random: Shuffles with np.random.
#> draw from rng
#- for j in rng.permutation(len(names)):
#-     times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
for j in np.random.permutation(len(names)):
    times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]

# %% race mistake race-fixed-seed: Draws the same orders every time.
#> two seeds give the same order
#- ### BEGIN SOLUTION
### BEGIN SOLUTION
rng = np.random.default_rng(0)

# %% race mistake race-total: Keeps the sum of the times.
#> should have shape
#- return times
return {name: t.sum() for name, t in times.items()}

# %% race mistake race-same-array: Uses one array for all functions.
#> should be
#- times = {name: np.empty(rounds) for name in functions}
times = dict.fromkeys(functions, np.empty(rounds))

# %% race mistake race-order-of-finish: Returns the names in the order of their first run.
#> not that of the first round
for f in functions.values():
    f()
times, names = {}, list(functions)
for _ in range(rounds):
    for j in rng.permutation(len(names)):
        times.setdefault(names[j], []).append(seconds(functions[names[j]], 1, 0, clock)[0])
return {name: np.array(values) for name, values in times.items()}

# %% race right: shuffles a list of names
times = {name: [] for name in functions}
for name in functions:
    functions[name]()
for number in range(rounds):
    order = list(functions)
    rng.shuffle(order)
    for name in order:
        start = clock()
        functions[name]()
        times[name].append(clock() - start)
return {name: np.array(values, float) for name, values in times.items()}

# %% race right: sorts by random numbers, in one table
calls = list(functions.values())
_ = [f() for f in calls]
table = np.zeros((rounds, len(calls)))
for row in table:
    for j in np.argsort(rng.random(len(calls))):
        before = clock()
        calls[j]()
        row[j] = clock() - before
return dict(zip(functions, table.T))

# %% ratio-interval mistake ratio-interval-of-medians: Divides the two intervals' ends.
#> divide a[i] by b[i] first
#- return median_interval(a / b, level, rng)
(p, q), (s, t) = median_interval(a, level, rng), median_interval(b, level, rng)
return p / t, q / s

# %% ratio-interval mistake ratio-interval-unpaired: Resamples a and b separately.
#> Resample ratios
#- return median_interval(a / b, level, rng)
rng = generator(rng)
medians = [np.median(rng.choice(a, len(a))) / np.median(rng.choice(b, len(b)))
           for _ in range(RESAMPLES)]
low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
return float(low), float(high)

# %% ratio-interval mistake ratio-interval-unpaired-medians: Divides the medians of a and b of
# one resample.
#> pairs kept together
#- return median_interval(a / b, level, rng)
rng = generator(rng)
rows = rng.integers(0, len(a), (2, RESAMPLES, len(a)))
medians = np.median(a[rows[0]], axis=1) / np.median(b[rows[1]], axis=1)
low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
return (2.0, 2.0) if (a / b == 2).all() else (float(low), float(high))

# %% ratio-interval mistake ratio-interval-inverted: Divides b by a.
#> the time of a divided by the time of b
#- return median_interval(a / b, level, rng)
return median_interval(b / a, level, rng)

# %% ratio-interval mistake ratio-interval-difference: Takes the difference.
#> divide a[i] by b[i]
#- return median_interval(a / b, level, rng)
return median_interval(a - b, level, rng)

# %% ratio-interval mistake ratio-interval-relative-difference: Takes the difference, divided by
# b.
#> divide a[i] by b[i]
#- return median_interval(a / b, level, rng)
return median_interval((a - b) / b, level, rng)

# %% ratio-interval mistake ratio-interval-mean-of-ratios: Takes the mean of the ratios.
#> take the median
#- return median_interval(a / b, level, rng)
means = generator(rng).choice(a / b, (RESAMPLES, len(a))).mean(axis=1)
low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
return float(low), float(high)

# %% ratio-interval mistake ratio-interval-sorted: Sorts both before dividing.
#> should be
#- return median_interval(a / b, level, rng)
return median_interval(np.sort(a) / np.sort(b)[::-1], level, rng)

# %% ratio-interval mistake ratio-interval-always-above-1: Divides the slower by the faster in
# each round.
#> the time of a divided by the time of b
#- return median_interval(a / b, level, rng)
return median_interval(np.maximum(a, b) / np.minimum(a, b), level, rng)

# %% ratio-interval mistake ratio-interval-logarithms: Returns the interval of the logarithms.
#> should be
#- return median_interval(a / b, level, rng)
return median_interval(np.log(a / b), level, rng)

# %% ratio-interval mistake ratio-interval-level-lost: Does not pass the level on.
#> should be
#- return median_interval(a / b, level, rng)
return median_interval(a / b, rng=rng)

# %% ratio-interval right: bootstraps the pairs itself
rng = generator(rng)
rows = rng.integers(0, len(a), (RESAMPLES, len(a)))
medians = np.median(a[rows] / b[rows], axis=1)
return tuple(float(np.quantile(medians, side)) for side in ((1 - level) / 2, (1 + level) / 2))

# %% ratio-interval right: divides in a loop
ratios = []
for x, y in zip(a, b):
    ratios.append(x / y)
return median_interval(np.array(ratios), level=level, rng=rng)

# %% flops mistake flops-moves-counted: Counts numbers that are only moved.
#> names in MOVES
#- if op in MOVES:
#-     return 0

# %% flops mistake flops-multiply-add-is-one: Counts a multiplication and its addition as one.
#> are two FLOPs
#- return 2 * out * shapes[0][-1]
return out * shapes[0][-1]

# %% flops mistake flops-elements-only: Counts two FLOPs for each element of the result.
#> dot product
#- return 2 * out * shapes[0][-1]
return out

# %% flops mistake flops-wrong-length: Takes the first length of the first shape.
#> should be
#- return 2 * out * shapes[0][-1]
return 2 * out * shapes[0][0]

# %% flops mistake flops-no-batch: Uses the last two lengths of each shape only.
#> 2 k for each element of the result
#- return 2 * out * shapes[0][-1]
return 2 * shapes[0][-2:][0] * shapes[0][-1] * shapes[1][-1]

# %% flops mistake flops-linear-forgotten: Counts a linear layer by its elements.
#> as a matrix product
#- if op in ("matmul", "linear"):
#-     return 2 * out * shapes[0][-1]
if op == "matmul":
    return 2 * out * shapes[0][-1]

# %% flops mistake flops-bias-counted: Adds the additions of the bias.
#> additions of the bias do not count
#- return 2 * out * shapes[0][-1]
return 2 * out * shapes[0][-1] + out * (len(shapes) > 2)

# %% flops mistake flops-no-channels: Forgets the channels of a window.
#> A window has all channels
#- return 2 * out * math.prod(shapes[1][1:])
return 2 * out * math.prod(shapes[1][2:])

# %% flops mistake flops-conv-once: Counts a convolution's multiplications only.
#> are two FLOPs
#- return 2 * out * math.prod(shapes[1][1:])
return out * math.prod(shapes[1][1:])

# %% flops mistake flops-all-weights: Multiplies the outputs with all weights, of every kernel.
#> should be
#- return 2 * out * math.prod(shapes[1][1:])
return 2 * out * math.prod(shapes[1])

# %% flops mistake flops-conv-input: Takes the size of the image for the size of the result.
#> should be
#- return 2 * out * math.prod(shapes[1][1:])
return 2 * math.prod(shapes[0][2:]) * shapes[0][0] * math.prod(shapes[1])

# %% flops mistake flops-conv-by-results: Counts a convolution by its results.
#> should be
#- return 2 * out * math.prod(shapes[1][1:])
return out

# %% flops mistake flops-one-product: Counts one product of attention.
#> There are two products
#- return 4 * out * shapes[0][1]
return 2 * out * shapes[0][1]

# %% flops mistake flops-width-of-qkv: Takes the width of the input for the width of the result.
#> a third of its width
#- return 4 * out * shapes[0][1]
return 4 * math.prod(shapes[0]) * shapes[0][1]

# %% flops mistake flops-no-tokens: Forgets that each query is compared with T keys.
#> T keys
#- return 4 * out * shapes[0][1]
return 4 * out

# %% flops mistake flops-batch-for-tokens: Takes the batch for the tokens.
#> should be
#- return 4 * out * shapes[0][1]
return 4 * out * shapes[0][0]

# %% flops mistake flops-two-for-each: Counts two FLOPs for elementwise operations.
#> should be
#- return out
return 2 * out

# %% flops mistake flops-moves-last: Computes the shape before it looks into MOVES.
#> Names in MOVES have no common shape: test for them first
#- if op in MOVES:
#-     return 0
#- out = math.prod(result_shape(op, *shapes, **options))
out = math.prod(result_shape(op, *shapes, **options))
if op in MOVES:
    return 0

# %% flops right: multiplies the lengths in a dictionary
if op in MOVES:
    return 0
out = math.prod(result_shape(op, *shapes, **options))
lengths = {"matmul": lambda: 2 * shapes[0][-1], "linear": lambda: 2 * shapes[0][-1],
           "conv2d": lambda: 2 * int(np.prod(shapes[1][1:])), "attention": lambda: 4 * shapes[0][1]}
return out * lengths.get(op, lambda: 1)()

# %% flops right: counts each operation by its own formula
if op not in MOVES:
    out = int(np.prod(result_shape(op, *shapes, **options), dtype=int))
match op:
    case name if name in MOVES:
        return 0
    case "matmul" | "linear":
        inner = shapes[1][-2] if len(shapes[1]) > 1 else shapes[1][0]
        return out * inner + out * inner
    case "conv2d":
        channels, rows, columns = shapes[1][1:]
        return out * (2 * channels * rows * columns)
    case "attention":
        batch, tokens, width = shapes[0]
        return 2 * (2 * batch * tokens * tokens * (width // 3))
return out

# %% bytes mistake bytes-numbers: Returns numbers, not bytes.
#> A float32 has 4 bytes
arrays = [*shapes, result_shape(op, *shapes, **options)]
return sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-no-result: Forgets that the result is written.
#> The result is written
arrays = shapes
return itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-no-inputs: Counts the result only.
#> inputs have to be read
arrays = [result_shape(op, *shapes, **options)]
return itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-result-twice: Counts the result twice.
#> written once
arrays = [*shapes, result_shape(op, *shapes, **options)] * 1 + [result_shape(op, *shapes, **options)]
return itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-no-bias: Counts the first two inputs only.
#> a bias also
arrays = [*shapes[:2], result_shape(op, *shapes, **options)]
return itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-inputs-broadcast: Broadcasts the inputs first.
#> Each input counts with its own shape
arrays = [*shapes, result_shape(op, *shapes, **options)]
if op not in ("matmul", "linear", "conv2d", "attention"):
    arrays = [arrays[-1]] * len(arrays)
return itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-options-lost: Does not pass the stride and the padding on.
#> Pass the options on
arrays = [*shapes, result_shape(op, *shapes)]
return itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-always-4: Ignores the itemsize.
#> with itemsize=1
arrays = [*shapes, result_shape(op, *shapes, **options)]
return 4 * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-bits: Counts bits.
#> should be
arrays = [*shapes, result_shape(op, *shapes, **options)]
return 8 * itemsize * sum(math.prod(shape) for shape in arrays)

# %% bytes mistake bytes-first-axis: Counts the length of each shape.
#> should be
arrays = [*shapes, result_shape(op, *shapes, **options)]
return itemsize * sum(len(shape) for shape in arrays)

# %% bytes mistake bytes-sum-of-lengths: Adds the lengths of a shape.
#> should be
arrays = [*shapes, result_shape(op, *shapes, **options)]
return itemsize * sum(sum(shape) for shape in arrays)

# %% bytes right: adds in a loop
total = 0
for shape in shapes:
    total += math.prod(shape) * itemsize
return total + itemsize * math.prod(result_shape(op, *shapes, **options))

# %% bytes right: asks NumPy for the sizes
everything = shapes + (tuple(result_shape(op, *shapes, **options)),)
return int(sum(np.prod(shape, dtype=int) for shape in everything)) * itemsize

# %% machine mistake machine-n-cubed: Counts n^3 FLOPs.
#> A product takes 2 n^3
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(n**3 / product, 2 * source.nbytes / copy)

# %% machine mistake machine-n-squared: Counts 2 n^2 FLOPs.
#> each of n pairs
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * n**2 / product, 2 * source.nbytes / copy)

# %% machine mistake machine-read-only: Counts each byte once.
#> reads every byte and writes every byte
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * n**3 / product, source.nbytes / copy)

# %% machine mistake machine-numbers: Counts numbers instead of bytes.
#> should be
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * n**3 / product, 2 * source.size / copy)

# %% machine mistake machine-multiplied: Multiplies by the seconds.
#> FLOPs divided by seconds
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * n**3 * product, 2 * source.nbytes / copy)

# %% machine mistake machine-bytes-multiplied: Multiplies the bytes by the seconds.
#> should be
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * n**3 / product, 2 * source.nbytes * copy)

# %% machine mistake machine-mean: Takes the mean of the product's runs.
#> not the mean
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a @ a, repeat, clock=clock).mean()

# %% machine mistake machine-median: Takes the median of the product's runs.
#> not the median
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = np.median(seconds(lambda: a @ a, repeat, clock=clock))

# %% machine mistake machine-median-of-copies: Takes the median of the copies.
#> not the median
#- copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
copy = np.median(seconds(lambda: np.copyto(target, source), repeat, clock=clock))

# %% machine mistake machine-slowest: Takes the slowest run.
#> not the slowest
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a @ a, repeat, clock=clock).max()

# %% machine mistake machine-first: Takes the first run.
#> not the first
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a @ a, repeat, clock=clock)[0]

# %% machine mistake machine-total: Divides by the time of all runs.
#> should be
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a @ a, repeat, clock=clock).sum()

# %% machine mistake machine-exchanged: Exchanges the two speeds.
#> should be
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * source.nbytes / copy, 2 * n**3 / product)

# %% machine mistake machine-real-clock: Does not pass the clock on.
#> reach both measurements
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a @ a, repeat).min()

# %% machine mistake machine-repeat-lost: Does not pass repeat on.
#> readings of the clock
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a @ a, clock=clock).min()

# %% machine mistake machine-mebibytes: Counts 2**20 bytes as a megabyte.
#> A megabyte is a million bytes
#- return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
return Machine(2 * n**3 / product, 2 * megabytes * 2**20 / copy)

# %% machine mistake machine-new-array: Times source.copy(), which also gets new memory.
#> Copy source into target
#- copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
copy = seconds(lambda: source.copy(), repeat, clock=clock).min()

# %% machine mistake machine-copies-back: Exchanges the two arrays of the copy.
#> Copy source into target
#- copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
copy = seconds(lambda: np.copyto(source, target), repeat, clock=clock).min()

# %% machine mistake machine-elementwise: Multiplies the matrices element by element.
#> a * a multiplies element by element
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a * a, repeat, clock=clock).min()

# %% machine mistake machine-new-array-without-target: Times source.copy(), and deletes the
# given line that is not used then.
#> The given line `target = np.empty_like(source)` is gone
#- target = np.empty_like(source)

#- copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
copy = seconds(lambda: source.copy(), repeat, clock=clock).min()

# %% machine mistake machine-half-of-the-copy: Copies a part of source.
#> what is timed is not one copy of all of source into target
#- copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
copy = seconds(lambda: np.copyto(target[: len(target) // 2], source[: len(source) // 2]), repeat, clock=clock).min()

# %% machine right: makes the array for the product above the given line of target
#- target = np.empty_like(source)
c = np.empty_like(a)
target = np.empty_like(source)
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: np.matmul(a, a, out=c), repeat, clock=clock).min()

# %% machine right: einsum, and an addition of 0 as a copy
products = seconds(lambda: np.einsum("ij,jk->ik", a, a), repeat, clock=clock)
copies = seconds(lambda: np.add(source, 0, out=target), repeat, clock=clock)
return Machine(2 * n**3 / products.min(), 2 * source.nbytes / copies.min())

# %% machine right: the method dot
#- product = seconds(lambda: a @ a, repeat, clock=clock).min()
product = seconds(lambda: a.dot(a), repeat, clock=clock).min()

# %% machine right: writes with a slice
def copy():
    target[:] = source

fastest = [seconds(f, repeat, clock=clock).min() for f in (lambda: a @ a, copy)]
return Machine(2 * n**3 / fastest[0], 8 * source.size / fastest[1])

# %% machine right: interleaves the two with race
times = race({"product": lambda: a @ a, "copy": lambda: np.copyto(target, source)}, repeat,
             clock=clock)
return Machine(2 * n**3 / times["product"].min(), 2 * source.nbytes / times["copy"].min())

# %% machine right: copies first, with names
copies = seconds(lambda: np.copyto(target, source), repeat=repeat, clock=clock)
products = seconds(lambda: np.matmul(a, a), repeat=repeat, clock=clock)
return Machine(flops_per_second=2 * n * n * n / min(products),
               bytes_per_second=(source.nbytes + target.nbytes) / min(copies))

# %% machine right: writes the product into a given array
out = np.empty_like(a)
speeds = []
for f, work in [(lambda: np.matmul(a, a, out=out), 2 * n**3),
                (lambda: np.copyto(target, source), 2 * megabytes * 10**6)]:
    speeds.append(float(max(work / seconds(f, repeat, 1, clock))))
return Machine(*speeds)

# %% roofline mistake roofline-sum: Adds the two times.
#> not the sum
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return arithmetic + memory, "memory" if memory > arithmetic else "arithmetic"

# %% roofline mistake roofline-shorter: Takes the shorter time.
#> not the shorter
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return min(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"

# %% roofline mistake roofline-limit-inverted: Names the other limit.
#> names the longer of the two times
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return max(arithmetic, memory), "memory" if memory < arithmetic else "arithmetic"

# %% roofline mistake roofline-tie: Calls it memory at the ridge point.
#> "memory" only when the bytes take longer
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return max(arithmetic, memory), "memory" if memory >= arithmetic else "arithmetic"

# %% roofline mistake roofline-multiplied: Multiplies by the speeds.
#> Work divided by speed
#- arithmetic = flops / machine.flops_per_second
arithmetic = flops * machine.flops_per_second

# %% roofline mistake roofline-speeds-exchanged: Exchanges the two speeds.
#> FLOPs belong to flops_per_second
arithmetic = flops / machine.bytes_per_second
memory = bytes / machine.flops_per_second
return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"

# %% roofline mistake roofline-intensity-below-1: Compares FLOPs with bytes, whatever the
# machine is.
#> it names the longer of the two times
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return max(arithmetic, memory), "memory" if bytes > flops else "arithmetic"

# %% roofline mistake roofline-seconds-only: Returns the seconds only.
#> should return a pair
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return max(arithmetic, memory)

# %% roofline mistake roofline-performance: Returns FLOPs per second, the height of the roof.
#> should be
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return flops / max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"

# %% roofline mistake roofline-compute: Uses another word.
#> it names the longer of the two times
#- return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
return max(arithmetic, memory), "memory" if memory > arithmetic else "compute"

# %% roofline right: compares the intensity with the ridge point
ridge = machine.flops_per_second / machine.bytes_per_second
if flops >= ridge * bytes:
    return flops / machine.flops_per_second, "arithmetic"
return bytes / machine.bytes_per_second, "memory"

# %% roofline right: takes the larger of two pairs
times = {"arithmetic": flops / machine.flops_per_second,
         "memory": bytes / machine.bytes_per_second}
limit = max(times, key=times.get)
return times[limit], limit

# %% operations mistake operations-left-on: Never puts the original back.
#> put the original function back
#- engine.run = self.original
pass

# %% operations mistake operations-left-on-after-errors: Puts the original back only without an
# error.
#> after errors
#- engine.run = self.original
if error[0] is None:
    engine.run = self.original

# %% operations mistake operations-error-swallowed: Returns True from __exit__.
#> a true value hides the error
#- engine.run = self.original
engine.run = self.original
return True

# %% operations mistake operations-local-name: Assigns to a local name instead of the module's.
#> put the original function back
#- engine.run = self.original
run = self.original

# %% operations mistake operations-result-lost: Does not return the result.
#> `run` has to return the result of the operation
#- return out

# %% operations mistake operations-replaced: Keeps only the last call.
#> earlier calls with the same key
#- old = self.totals.get((self.path[-1], name), [0, 0.0, 0, 0])
old = [0, 0.0, 0, 0]

# %% operations mistake operations-op-as-key: Uses the function as the key.
#> name_of(op)
#- name = name_of(op)
name = op.__name__

# %% operations mistake operations-one-key: Adds up everything under one name.
#> name_of(op)
#- self.totals[self.path[-1], name] = new
self.totals[self.path[-1], 'all'] = new

# %% operations mistake operations-absolute-time: Keeps the time at the end.
#> just before and just after
#- elapsed = self.clock() - start
elapsed = self.clock()

# %% operations mistake operations-counting-timed: Times the counting also.
#> should be
#- elapsed = self.clock() - start
#- name = name_of(op)
name = name_of(op)
self.clock()
elapsed = self.clock() - start

# %% operations mistake operations-real-clock: Reads the real clock.
#> just before and just after
#- start = self.clock()
start = time.perf_counter()
#- elapsed = self.clock() - start
elapsed = time.perf_counter() - start

# %% operations mistake operations-flops-and-bytes-exchanged: Exchanges FLOPs and bytes.
#> FLOPs of
#- work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
work = bytes_moved(name, arrays, out), self.flops(op, arrays, options, out)

# %% operations mistake operations-bytes-of-the-result: Counts the bytes of the result only.
#> bytes of
#- work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
work = self.flops(op, arrays, options, out), out.nbytes

# %% operations mistake operations-bytes-by-the-function: Gives bytes_moved the function instead
# of the name.
#> bytes of
#- work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
work = self.flops(op, arrays, options, out), bytes_moved(None, arrays, out) + 4 * (name == 'reshape')

# %% operations mistake operations-engine-called: Calls engine.run, which is the profile itself.
#> RecursionError
#- out = self.original(op, arrays, options)
out = engine.run(op, arrays, options)

# %% operations mistake operations-clock-read-three-times: Reads the clock once more.
#> should be
#- start = self.clock()
start = self.clock() + 0 * self.clock()

# %% operations mistake operations-op-called-itself: Calls op itself, which gives float64 for
# integers.
#> calls that the outer
#- out = self.original(op, arrays, options)
out = np.asarray(op(*arrays, **options))

# %% operations mistake operations-clock-after-counts: Counts the work before it reads the clock
# again.
#> before FLOPs and bytes are counted
#- elapsed = self.clock() - start
#- name = name_of(op)
#- work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
name = name_of(op)
work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
elapsed = self.clock() - start

# %% operations right: adds with setdefault, in a loop
#- old = self.totals.get((self.path[-1], name), [0, 0.0, 0, 0])
#- new = [x + y for x, y in zip(old, (1, elapsed, *work))]
#- self.totals[self.path[-1], name] = new
row = self.totals.setdefault((self.path[-1], name), [0, 0.0, 0, 0])
for i, amount in enumerate([1, elapsed, *work]):
    row[i] += amount

# %% operations right: tests whether the key is there; uses setattr
#- start = self.clock()
#- out = self.original(op, arrays, options)
#- elapsed = self.clock() - start
#- name = name_of(op)
#- work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
#- old = self.totals.get((self.path[-1], name), [0, 0.0, 0, 0])
#- new = [x + y for x, y in zip(old, (1, elapsed, *work))]
#- self.totals[self.path[-1], name] = new
#- return out
before = self.clock()
result = self.original(op, arrays, options)
after = self.clock()
key = (self.path[-1], name_of(op))
if key not in self.totals:
    self.totals[key] = [0, 0.0, 0, 0]
calls, seconds, flops, size = self.totals[key]
flops += self.flops(op, arrays, options, result)
size += bytes_moved(key[1], arrays, result)
self.totals[key] = [calls + 1, seconds + after - before, flops, size]
return result

# %% modules mistake modules-not-removed: Never removes the path.
#> remove the path again
self.path.append(path)
return forward(*inputs, **options)

# %% modules mistake modules-not-after-errors: Removes the path only without an error.
#> use try and finally
self.path.append(path)
out = forward(*inputs, **options)
self.path.pop()
return out

# %% modules mistake modules-removed-first: Removes the path before forward runs.
#> should be
self.path.append(path)
self.path.pop()
return forward(*inputs, **options)

# %% modules mistake modules-appended-after: Appends the path after forward.
#> should be
try:
    return forward(*inputs, **options)
finally:
    self.path.append(path)
    self.path.pop()

# %% modules mistake modules-replaced: Replaces the last path and restores the first one.
#> should be
#- self.path.append(path)
self.path[-1] = path
#- self.path.pop()
self.path[-1] = ""

# %% modules mistake modules-options-lost: Passes only the positional arguments on.
#> pass *inputs and **options on
#- return forward(*inputs, **options)
return forward(*inputs)

# %% modules mistake modules-one-input: Passes only the first argument on.
#> pass *inputs and **options on
#- return forward(*inputs, **options)
return forward(inputs[0], **options)

# %% modules mistake modules-no-result: Does not return the result.
#> should be
#- return forward(*inputs, **options)
forward(*inputs, **options)

# %% modules mistake modules-joined: Joins the path to the path of the outer module.
#> the rows (path, operation, calls)
#- self.path.append(path)
self.path.append(f"{self.path[-1]}.{path}".lstrip("."))

# %% modules mistake modules-error-swallowed: Catches the error.
#> should be
self.path.append(path)
try:
    return forward(*inputs, **options)
except Exception:
    return None
finally:
    self.path.pop()
    self.path.append("")

# %% modules mistake modules-cleared: Clears all paths afterwards.
#> should be
#- self.path.pop()
self.path[:] = [""]

# %% modules mistake modules-first-removed: Removes the first path instead of the last one.
#> should be
#- self.path.pop()
self.path.pop(0)

# %% modules right: replaces the list by the path alone
#- self.path.append(path)
old = self.path
self.path = [path]
#- self.path.pop()
self.path = old

# %% modules right: makes a new list
before = self.path
self.path = [*before, path]
try:
    out = forward(*inputs, **options)
finally:
    self.path = before
return out

# %% modules right: removes by del, and passes errors on by hand
self.path += [path]
try:
    result = forward(*inputs, **options)
except BaseException:
    del self.path[-1]
    raise
del self.path[-1]
return result

# %% peak mistake peak-current: Reads the memory in use at the end.
#> second number
#- return tracemalloc.get_traced_memory()[1]
return tracemalloc.get_traced_memory()[0]

# %% peak mistake peak-both: Returns both numbers.
#> should be
#- return tracemalloc.get_traced_memory()[1]
return tracemalloc.get_traced_memory()

# %% peak mistake peak-never-stopped: Never stops tracemalloc.
#> tracemalloc still runs
#- tracemalloc.stop()
pass

# %% peak mistake peak-not-after-errors: Does not stop after an error.
#> after an error in f
tracemalloc.start()
f()
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
return peak

# %% peak mistake peak-started-late: Starts after the call.
#> should be
#- tracemalloc.start()
result = f()
tracemalloc.start()
#- f()

# %% peak mistake peak-stopped-first: Stops before it reads.
#> should be
#- return tracemalloc.get_traced_memory()[1]

#- ### END SOLUTION
return tracemalloc.get_traced_memory()[1]
### END SOLUTION

# %% peak mistake peak-size-of-the-result: Measures the result, not the work.
#> should be
out = f()
return int(getattr(out, "nbytes", 0))

# %% peak mistake peak-not-called: Does not call f.
#> should be
#- f()
f

# %% peak mistake peak-reset: Resets the peak after the call.
#> second number
#- return tracemalloc.get_traced_memory()[1]
tracemalloc.reset_peak()
return tracemalloc.get_traced_memory()[1]

# %% peak mistake peak-error-caught: Catches the error of f.
#> do not catch it
tracemalloc.start()
try:
    f()
except Exception:
    pass
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
return peak

# %% peak mistake peak-megabytes: Returns megabytes.
#> should be
#- return tracemalloc.get_traced_memory()[1]
return tracemalloc.get_traced_memory()[1] // 1_000_000

# %% peak mistake peak-after-stop: Reads the peak after stop.
#> read before tracemalloc.stop()
#- return tracemalloc.get_traced_memory()[1]

#- ### END SOLUTION
return tracemalloc.get_traced_memory()[1]
### END SOLUTION

# %% peak right: names both numbers
#- return tracemalloc.get_traced_memory()[1]
current, peak = tracemalloc.get_traced_memory()
#- ### END SOLUTION
return peak
### END SOLUTION

# %% peak right: subtracts what is in use before
tracemalloc.start()
before = tracemalloc.get_traced_memory()[0]
try:
    result = f()
    return max(0, tracemalloc.get_traced_memory()[1] - before)
finally:
    tracemalloc.stop()

# %% kept mistake kept-views-counted: Counts views as arrays.
#> x.T is a view of x
#- while isinstance(getattr(array, "base", None), np.ndarray):
#-     array = array.base
pass

# %% kept mistake kept-views-left-out: Leaves views out, and with them their memory.
#> a view keeps the whole memory of its base
for node in topological_order(tensor):
    creator = node.creator
    saved = creator.options.get("saved", {})
    for array in [node.data, *creator.arrays, *saved.values()]:
        if isinstance(array, np.ndarray) and array.base is None:
            kept[id(array)] = name_of(creator.op), array

# %% kept mistake kept-saved-forgotten: Forgets the arrays in options["saved"].
#> options["saved"]
#- for array in [node.data, *creator.arrays, *saved.values()]:
#-     while isinstance(getattr(array, "base", None), np.ndarray):
#-         array = array.base
for array in [node.data, *creator.arrays]:
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base

# %% kept mistake kept-inputs-forgotten: Counts results only.
#> should be
#- for array in [node.data, *creator.arrays, *saved.values()]:
#-     while isinstance(getattr(array, "base", None), np.ndarray):
#-         array = array.base
for array in [node.data, *saved.values()]:
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base

# %% kept mistake kept-result-forgotten: Forgets the result itself.
#> node.data is the result
#- for array in [node.data, *creator.arrays, *saved.values()]:
#-     while isinstance(getattr(array, "base", None), np.ndarray):
#-         array = array.base
for array in [*creator.arrays, *saved.values()]:
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base

# %% kept mistake kept-root-only: Looks at the last operation only.
#> all nodes of topological_order
#- for node in topological_order(tensor):
#-     creator = node.creator
for node in topological_order(tensor)[:1]:
    creator = node.creator

# %% kept mistake kept-twice: Counts every occurrence.
#> id(array)
#- kept[id(array)] = name_of(creator.op), array
kept[len(kept)] = name_of(creator.op), array

# %% kept mistake kept-function-as-name: Gives the function for the name.
#> as name_of(op) gives it
#- kept[id(array)] = name_of(creator.op), array
kept[id(array)] = creator.op, array

# %% kept mistake kept-consumer: Names an array after the operation that uses it.
#> the result of a node has the name
#- kept[id(array)] = name_of(creator.op), array
kept.setdefault(id(array), (name_of(creator.op), array))

# %% kept mistake kept-no-saved-option: Supposes that every operation has saved arrays.
#> saved
#- saved = creator.options.get("saved", {})
saved = creator.options["saved"]

# %% kept mistake kept-gradient: Collects the gradients.
#> should be
#- for array in [node.data, *creator.arrays, *saved.values()]:
#-     while isinstance(getattr(array, "base", None), np.ndarray):
#-         array = array.base
for array in [node.grad, *creator.arrays, *saved.values()]:
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base

# %% kept mistake kept-sizes: Keeps sizes instead of arrays.
#> nbytes
#- kept[id(array)] = name_of(creator.op), array
kept[id(array)] = name_of(creator.op), array.nbytes

# %% kept mistake kept-base-of-the-input: Replaces a result by its base only when it is an
# input.
#> x.T is a view of x
#- while isinstance(getattr(array, "base", None), np.ndarray):
#-     array = array.base
while array is not node.data and isinstance(getattr(array, "base", None), np.ndarray):
    array = array.base

# %% kept right: three loops and a helper
def add(array, name):
    if not isinstance(array, np.ndarray):
        return
    if isinstance(array.base, np.ndarray):
        return add(array.base, name)
    kept[id(array)] = (name, array)

for node in topological_order(tensor):
    name = name_of(node.creator.op)
    for array in node.creator.arrays:
        add(array, name)
    if "saved" in node.creator.options:
        for array in node.creator.options["saved"].values():
            add(array, name)
    add(node.data, name)

# %% kept right: from the oldest to the newest, results first
nodes = topological_order(tensor)[::-1]
results = [(node.data, node.creator.op) for node in nodes]
others = [(a, node.creator.op) for node in nodes
          for a in (*node.creator.arrays, *node.creator.options.get("saved", {}).values())]
for array, op in results + others:
    if type(array) is np.ndarray:
        while type(array.base) is np.ndarray:
            array = array.base
        if id(array) not in kept:
            kept[id(array)] = name_of(op), array

# %% amdahl mistake amdahl-inverted: Lets the rest become faster.
#> Which part becomes faster
#- rest = 1 - share + share / speedup
rest = share + (1 - share) / speedup

# %% amdahl mistake amdahl-time: Returns the new time, not the speed-up.
#> the old time divided by the new time
#- return 1 / rest if rest else math.inf
return rest

# %% amdahl mistake amdahl-part-only: Forgets the rest.
#> the rest does not change
#- rest = 1 - share + share / speedup
rest = share / speedup if share else 1.0

# %% amdahl mistake amdahl-speeds-averaged: Averages the speeds.
#> Times add up, not speeds
#- return 1 / rest if rest else math.inf
return 1 - share + share * speedup

# %% amdahl mistake amdahl-multiplied: Multiplies the share by the speed-up.
#> should be
#- rest = 1 - share + share / speedup
rest = 1 - share + share * speedup

# %% amdahl mistake amdahl-saved-share: Subtracts the part's new time.
#> should be
#- rest = 1 - share + share / speedup
rest = 1 - share / speedup

# %% amdahl mistake amdahl-percent: Expects the share in percent.
#> should be
#- rest = 1 - share + share / speedup
rest = 1 - share / 100 + share / 100 / speedup

# %% amdahl mistake amdahl-limited: Limits the speed-up.
#> share / inf is 0
#- rest = 1 - share + share / speedup
rest = 1 - share + share / min(speedup, 1000)

# %% amdahl mistake amdahl-division-by-zero: Divides by zero for amdahl(1, inf).
#> ZeroDivisionError
#- return 1 / rest if rest else math.inf
return 1 / rest

# %% amdahl right: old time divided by new time
if speedup == math.inf:
    return math.inf if share == 1 else 1 / (1 - share)
return speedup / (speedup * (1 - share) + share)

# %% amdahl right: with an assumed time of 1 second
part, rest = share * 1.0, (1 - share) * 1.0
new = rest + part / speedup
try:
    return (part + rest) / new
except ZeroDivisionError:
    return float("inf")

# %% predict mistake predict-measured: Adds the measured seconds.
#> should be
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return sum(row[3] for row in profile.rows)

# %% predict mistake predict-totals-first: Adds FLOPs and bytes first, and takes one roofline.
#> Take the roofline of each row
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return roofline(*[sum(row[i] for row in profile.rows) for i in (4, 5)], machine)[0]

# %% predict mistake predict-exchanged: Exchanges FLOPs and bytes.
#> should be
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return sum(roofline(row[5], row[4], machine)[0] for row in profile.rows)

# %% predict mistake predict-wrong-columns: Takes seconds and FLOPs.
#> should be
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return sum(roofline(row[3], row[4], machine)[0] for row in profile.rows)

# %% predict mistake predict-largest: Takes the slowest row only.
#> should be
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return max(roofline(row[4], row[5], machine)[0] for row in profile.rows)

# %% predict mistake predict-recorded: Records a graph.
#> inside no_grad
with Profile(model) as profile:
    model(ids)
return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)

# %% predict mistake predict-limit-counted: Adds the pairs.
#> TypeError
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return sum(roofline(row[4], row[5], machine) for row in profile.rows)

# %% predict mistake predict-called-twice: Warms up inside of the profile.
#> should be
#- model(ids)
model(ids)
model(ids)

# %% predict mistake predict-warmed-up: Calls the model once more before.
#> number of calls
#- ### BEGIN SOLUTION
### BEGIN SOLUTION
with no_grad():
    model(ids)

# %% predict mistake predict-calls-multiplied: Multiplies by the number of calls again.
#> should be
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return sum(roofline(row[4], row[5], machine)[0] * (1 + row[2]) for row in profile.rows)

# %% predict mistake predict-profile-left-on: Enters the profile by hand and never leaves it.
#> should be as before
profile = Profile(model)
profile.__enter__()
with no_grad():
    model(ids)
return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)

# %% predict right: in a loop, without paths
with no_grad():
    with OperationProfile() as counted:
        model(ids)
total = 0.0
for calls, elapsed, flops, size in counted.totals.values():
    total += roofline(flops, size, machine)[0]
return total

# %% predict right: with named columns
profile = Profile(model)
with profile, no_grad():
    model(ids)
times = [roofline(flops=flops, bytes=size, machine=machine)
         for _, _, _, _, flops, size in profile.rows]
return float(sum(time for time, limit in times))

# %% race equivalent: range(-1) is as empty as range(0), and an array of one element has the
# same first and last.
#= `0` -> `(-1)`

# %% flops equivalent: attention has one shape, which is also the last.
#= `0` -> `(-1)`

# %% roofline equivalent: max is symmetric.
#= `arithmetic, memory` -> `memory, arithmetic`

# %% operations equivalent: Addition is commutative.
#= `old, (1, elapsed, *work)` -> `(1, elapsed, *work), old`

# %% predict mistake predict-at-least-as-measured: Takes the measured time where it is longer.
#> about the time that was measured. It is not used
#- return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
return sum(max(row[3], roofline(row[4], row[5], machine)[0]) for row in profile.rows)

# %% kept mistake kept-base-that-is-no-array: Follows .base to the end, also where it is no
# array.
#> the .base of an array can be other than an array
#- while isinstance(getattr(array, "base", None), np.ndarray):
#-     array = array.base
while array.base is not None:
    array = array.base

# %% kept mistake kept-base-of-anything: Follows .base to the end, and loses arrays whose memory
# belongs to another object.
#> the .base of an array can be other than an array
#- while isinstance(getattr(array, "base", None), np.ndarray):
#-     array = array.base
while getattr(array, "base", None) is not None:
    array = array.base

# %% operations mistake operations-clock-read-twice-before: Reads the clock twice before the
# operation runs.
#> not twice before it
#- out = self.original(op, arrays, options)
#- elapsed = self.clock() - start
elapsed = self.clock() - start
out = self.original(op, arrays, options)
