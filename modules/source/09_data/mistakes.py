# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% tensor-dataset mistake first-array-only: Returns the input and forgets the label.
#> an example is a tuple of
return self.arrays[0][i]

# %% tensor-dataset mistake example-as-a-list: Returns a list instead of a tuple.
#> an example is a tuple of two
return [array[i] for array in self.arrays]

# %% tensor-dataset mistake slices-instead-of-rows: Takes a slice of one row, so that each
# example keeps an axis of length 1.
#> part 0 of dataset
return tuple(array[i : i + 1] for array in self.arrays)

# %% tensor-dataset mistake index-modulo-length: Takes the index modulo the length, so that no
# index is out of range and a loop never ends.
#> should be an IndexError
return tuple(array[i % len(array)] for array in self.arrays)

# %% random-split mistake not-shuffled: Cuts without shuffling: a sorted file gives a test set
# of nines.
#> a sorted file would stay sorted
order = np.arange(len(dataset))
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake parts-drawn-anew: Draws every part from all examples, so that some are
# in two parts.
#> an example in two parts is data leakage
order = generator(rng).permutation(len(dataset))
return [Subset(dataset, generator(rng).permutation(len(dataset))[:n]) for n in lengths]

# %% random-split mistake drawn-with-replacement: Draws indices with replacement, so that some
# come twice and others never.
#> each should be in exactly one part
order = generator(rng).integers(0, len(dataset), len(dataset))
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake split-global-generator: Draws from NumPy's global generator.
#> the same seed twice should give the same parts
order = np.random.permutation(len(dataset))
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake split-seeded-inside: Seeds with a fixed number.
#> seeds 3 and 4 gave the same parts
order = np.random.default_rng(0).permutation(len(dataset))
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake lengths-for-ends: Cuts at the lengths instead of at their cumulative
# sum.
#> the parts should have the lengths
order = generator(rng).permutation(len(dataset))
return [Subset(dataset, part) for part in np.split(order, lengths[:-1])]

# %% stratified-split mistake a-seed-for-each-class: Draws each class from generator(rng), which
# begins again with the seed.
#> begins again with the seed
held = []
for c in np.unique(labels):
    idx = np.flatnonzero(labels == c)
    chosen = generator(rng).choice(idx, round(fraction * len(idx)), replace=False)
    held.append(chosen)
held = np.sort(np.concatenate(held))
return np.setdiff1d(np.arange(len(labels)), held), held

# %% stratified-split mistake drawn-from-all: Draws from all examples together, so that class
# proportions are random.
#> Draw from each class separately
#- for label in np.unique(labels):
#-     members = rng.permutation(np.flatnonzero(labels == label))
for _ in [0]:
    members = rng.permutation(len(labels))

# %% stratified-split mistake class-not-shuffled: Holds out the first examples of each class,
# perhaps all by one writer.
#> drew the same examples
#- members = rng.permutation(np.flatnonzero(labels == label))
members = np.flatnonzero(labels == label)

# %% stratified-split mistake held-out-examples-kept: Forgets to remove the held-out examples
# from the others.
#> that is data leakage
#- return np.setdiff1d(np.arange(len(labels)), held_out), held_out
return np.arange(len(labels)), held_out

# %% stratified-split mistake parts-swapped: Returns the two parts in the wrong order.
#> should be held out, which is
#- return np.setdiff1d(np.arange(len(labels)), held_out), held_out
return held_out, np.setdiff1d(np.arange(len(labels)), held_out)

# %% stratified-split mistake at-least-one: Holds out at least one example of each class.
#> of one nine to 0
#- held_out.append(members[: round(fraction * len(members))])
held_out.append(members[: max(1, round(fraction * len(members)))])

# %% epoch-indices mistake shuffle-returns-none: Uses the result of shuffle, which is None;
# X[None] then adds an axis and shuffles nothing.
#> changes its argument and returns nothing
return generator(rng).shuffle(np.arange(count)) if shuffle else np.arange(count)

# %% epoch-indices mistake order-with-replacement: Draws indices with replacement.
#> uses some examples twice and others never
return generator(rng).integers(0, max(count, 1), count) if shuffle else np.arange(count)

# %% epoch-indices mistake order-seeded-inside: Seeds in every epoch, so that all epochs have
# the same order.
#> two epochs in a row have the same order
return np.random.default_rng(0).permutation(count) if shuffle else np.arange(count)

# %% epoch-indices mistake order-global-generator: Draws from NumPy's global generator.
#> draw from generator(rng)
return np.random.permutation(count) if shuffle else np.arange(count)

# %% epoch-indices mistake always-shuffled: Ignores `shuffle`.
#> without shuffling
return generator(rng).permutation(count) if True else np.arange(count)

# %% batches mistake floor-division: Computes the number of batches by floor division and loses
# the last, shorter one.
#> never used
pieces = [order[start : start + batch_size] for start in range(0, len(order) // batch_size * batch_size, batch_size)]
return [piece for piece in pieces if len(piece) == batch_size or not drop_last]

# %% batches mistake end-at-length-minus-one: Limits the end to the last index, so that the last
# example is never used.
#> never used
pieces = [order[start : min(len(order) - 1, start + batch_size)] for start in range(0, len(order), batch_size)]
return [piece for piece in pieces if len(piece) == batch_size or not drop_last]

# %% batches mistake one-example-too-many: Lets batches overlap by one.
#> together they should be
pieces = [order[start : start + batch_size + 1] for start in range(0, len(order), batch_size)]
return [piece for piece in pieces if len(piece) == batch_size or not drop_last]

# %% batches mistake drop-last-drops-always: Drops the last batch even when it is full.
#> the 2 full ones
pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
return pieces[:-1] if drop_last else pieces

# %% batches mistake drop-last-ignored: Ignores `drop_last`.
#> with drop_last: the
pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
return [piece for piece in pieces if len(piece)]

# %% batches mistake order-ignored: Cuts 0, 1, 2, ... instead of the given order.
#> together they should be
pieces = [np.arange(len(order))[start : start + batch_size] for start in range(0, len(order), batch_size)]
return [piece for piece in pieces if len(piece) == batch_size or not drop_last]

# %% batches mistake batches-as-lists: Returns lists instead of arrays.
#> should be an array of integers
pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
return [piece.tolist() for piece in pieces if len(piece) == batch_size or not drop_last]

# %% collate mistake pairs-not-transposed: Collates each pair instead of all first members and
# all second members.
#> collate all images
#- return tuple(collate(member) for member in zip(*samples, strict=True))
return tuple(collate(member) for member in samples)

# %% collate mistake zip-stops-at-the-shortest: Uses plain zip, so that members of longer tuples
# are lost.
#> Plain zip stops at the shortest
#- return tuple(collate(member) for member in zip(*samples, strict=True))
return tuple(collate(member) for member in zip(*samples))

# %% collate mistake everything-becomes-float32: Converts integers and float64 to float32.
#> examples should be a Tensor of
#- return Tensor(stack_rows(samples))
return Tensor(np.asarray(stack_rows(samples), dtype=np.float32))

# %% collate mistake arrays-left-as-they-are: Returns arrays instead of Tensors.
#> should be Tensors
#- return Tensor(stack_rows(samples))
return np.asarray(stack_rows(samples))

# %% collate mistake joined-instead-of-stacked: Concatenates the examples instead of stacking
# them.
#> with one row per example
#- return Tensor(stack_rows(samples))
return Tensor(np.concatenate([np.atleast_1d(s) for s in samples]))

# %% collate mistake lists-not-taken-for-tuples: Handles tuples and forgets lists.
#> by the same rule
if isinstance(samples[0], tuple):
    return tuple(collate(member) for member in zip(*samples, strict=True))
return Tensor(stack_rows(samples))

# %% collate mistake tensors-not-combined: Tests for arrays and numbers only, and refuses
# Tensors as examples.
#> an example may be a Tensor
#- return Tensor(stack_rows(samples))
if not isinstance(samples[0], (np.ndarray, np.generic, int, float, bool)):
    raise ValueError(f"cannot collate {type(samples[0]).__name__}")
return Tensor(stack_rows(samples))

# %% collate mistake batch-of-one-is-a-view: A batch of one example shares its memory.
#> A batch should be a new Tensor
#- return Tensor(stack_rows(samples))
batch = Tensor(stack_rows(samples))
if len(samples) == 1 and isinstance(samples[0], np.ndarray):
    batch.data = samples[0][None]
return batch

# %% loader mistake drop-last-not-passed-on: Forgets to pass drop_last on.
#> pass self.drop_last to batches
#- for indices in batches(order, self.batch_size, self.drop_last):
#-     yield self.fetch(indices)
for indices in batches(order, self.batch_size):
    yield self.fetch(indices)

# %% loader mistake all-batches-first: Fetches every batch before it yields the first.
#> yield each batch, do not build a list of all first
#- for indices in batches(order, self.batch_size, self.drop_last):
#-     yield self.fetch(indices)
yield from [self.fetch(indices) for indices in batches(order, self.batch_size, self.drop_last)]

# %% enqueue mistake error-lost-in-the-thread: Does not catch what the items raise.
#> In a thread it would be lost
try:
    for item in items:
        if not put("item", item):
            return
    put("end")
finally:
    pass

# %% enqueue mistake error-swallowed: Catches the error and puts "end" instead.
#> the error itself, once
#- put("error", error)
put("end")

# %% enqueue mistake no-end: Never puts "end".
#> Without an "end" the program waits forever
#- put("end")
pass

# %% enqueue mistake continues-after-closing: Ignores what put returns.
#> that should be the last call
#- if not put("item", item):
#-     return
put("item", item)

# %% enqueue mistake end-after-leaving: Leaves the loop, and puts "end" into a closed queue.
#> that should be the last call
#- return
break

# %% enqueue mistake error-and-end: Puts "end" in any case, also after an error.
#> and no end after it
#- put("error", error)
put("error", error)
put("end")

# %% prefetch mistake ends-at-none: Takes an item None for the end.
#> the kind says when the end is
try:
    kind, value = queue.get()
    while kind == "item" and value is not None:
        yield value
        kind, value = queue.get()
    if kind == "error":
        raise value
finally:
    queue.close()

# %% prefetch mistake thread-never-closed: Closes the queue after the loop, which is not reached
# when the loop is left early.
#> Only a `finally` runs then
try:
    kind, value = queue.get()
    while kind == "item":
        yield value
        kind, value = queue.get()
    if kind == "error":
        raise value
except LookupError:
    queue.close()
    raise
queue.close()

# %% prefetch mistake prefetch-swallows-the-error: Ends without an exception when an error
# comes.
#> raise the error that the thread put
#- raise value
return

# %% prefetch mistake another-error-raised: Raises a new error instead of the one from the
# queue.
#> raise the error that the thread put
#- raise value
raise RuntimeError(f"the thread failed: {value}")

# %% prefetch mistake error-copied: Raises a new exception of the same type, without the
# traceback.
#> the same exception object should be raised
#- raise value
raise type(value)(*value.args)

# %% prefetch mistake collected-first: Collects all items before it yields the first.
#> yield each item when it comes
#- while kind == "item":
#-     yield value
#-     kind, value = queue.get()
found = []
while kind == "item":
    found.append(value)
    kind, value = queue.get()
yield from found

# %% prefetch mistake kind-and-item-yielded: Yields the queue's entries, with their kind.
#> in order, yours
#- yield value
yield kind, value

# %% channel-statistics mistake one-mean-for-all: Also averages over the channels.
#> images (7, 3, 4, 5) have 3 channels
#- axes = tuple(axis for axis in range(images.ndim) if axis != 1)
axes = tuple(axis for axis in range(images.ndim) if True)

# %% channel-statistics mistake per-pixel: Averages over the examples only: one mean for each
# pixel.
#> images (7, 3, 4, 5) have 3 channels
#- axes = tuple(axis for axis in range(images.ndim) if axis != 1)
axes = 0

# %% channel-statistics mistake channel-last: Uses the last axis as the channels.
#> images (7, 3, 4, 5) have 3 channels
#- axes = tuple(axis for axis in range(images.ndim) if axis != 1)
axes = tuple(axis for axis in range(images.ndim) if axis != images.ndim - 1)

# %% channel-statistics mistake sample-standard-deviation: Divides by the count minus one
# (ddof=1).
#> the std is divided by the count
#- std = images.std(axes, keepdims=True, dtype=np.float64)[0]
std = images.std(axes, keepdims=True, dtype=np.float64, ddof=1)[0]

# %% channel-statistics mistake variance-for-deviation: Returns the variance instead of its
# square root.
#> the std is divided by the count
#- std = images.std(axes, keepdims=True, dtype=np.float64)[0]
std = images.var(axes, keepdims=True, dtype=np.float64)[0]

# %% channel-statistics mistake summed-in-float32: Accumulates in the images' own float32.
#> accumulate in float64
#- std = images.std(axes, keepdims=True, dtype=np.float64)[0]
std = images.std(axes, keepdims=True, dtype=np.float32)[0]

# %% channel-statistics mistake division-by-zero: Returns 0 for a constant channel, which then
# is divided by 0.
#> 0 / 0 would be nan
#- return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)
return mean.astype(np.float32), std.astype(np.float32)

# %% channel-statistics mistake small-deviation-replaced: Replaces every small standard
# deviation by 1.
#> the other channel is not constant
#- return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)
return mean.astype(np.float32), np.where(std < 0.1, 1, std).astype(np.float32)

# %% channel-statistics mistake deviation-exactly-zero: Compares the standard deviation with 0,
# which rounding can miss.
#> Rounding makes it 1.1e-16
#- return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)
return mean.astype(np.float32), np.where(std == 0, 1, std).astype(np.float32)

# %% channel-statistics mistake channel-axis-dropped: Returns the shape (channels,), which
# broadcasts along the width of an image.
#> mean and std of shape (3, 1, 1)
#- return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)
mean, std = mean.ravel(), std.ravel()
return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)

# %% shift mistake rolled-around: Uses np.roll: pixels that leave on one side come back on the
# other.
#> Zeros should enter
#- return padded[..., room - down : room - down + height, room - right : room - right + width]
return np.roll(image, (down, right), (-2, -1))

# %% shift mistake other-direction: Shifts up instead of down.
#> should become
#- return padded[..., room - down : room - down + height, room - right : room - right + width]
return padded[..., room + down : room + down + height, room - right : room - right + width]

# %% shift mistake rows-and-columns-swapped: Shifts to the right by `down`.
#> should become
#- return padded[..., room - down : room - down + height, room - right : room - right + width]
return padded[..., room - right : room - right + height, room - down : room - down + width]

# %% shift mistake room-for-one-direction: Makes a border for `down` only.
#> should keep dtype and shape
#- room = max(abs(down), abs(right))
room = abs(down)

# %% shift mistake room-without-abs: Forgets abs, so that there is no border for negative
# shifts.
#> should keep dtype and shape
#- room = max(abs(down), abs(right))
room = max(down, right, 0)

# %% shift mistake view-of-the-input: Returns the input itself when the shift is 0.
#> Return a new array
#- return padded[..., room - down : room - down + height, room - right : room - right + width]
if room == 0:
    return image
return padded[..., room - down : room - down + height, room - right : room - right + width]

# %% flip mistake upside-down: Flips the height: fliplr on (channels, height, width).
#> turns it upside down
return image[..., ::-1, :].copy() if self.rng.random() < self.p else image

# %% flip mistake channels-flipped: Flips the first axis, the channels.
#> The width is the last axis
return image[::-1].copy() if self.rng.random() < self.p else image

# %% flip mistake fliplr-on-channels-first: Uses np.fliplr, which flips axis 1, on images whose
# axis 1 is the height.
#> The width is the last axis
return np.fliplr(image) if self.rng.random() < self.p else image

# %% flip mistake probability-inverted: Flips with probability 1 - p.
#> should be flipped
return image[..., ::-1].copy() if self.rng.random() >= self.p else image

# %% flip mistake flip-global-generator: Draws from NumPy's global generator.
#> draw from self.rng
return image[..., ::-1].copy() if np.random.random() < self.p else image

# %% flip mistake flip-module-generator: Draws from the generator that manual_seed sets.
#> draw from self.rng
return image[..., ::-1].copy() if generator().random() < self.p else image

# %% flip mistake flipped-in-place: Changes the input image in place.
#> Make a copy
if self.rng.random() < self.p:
    image[...] = image[..., ::-1].copy()
return image

# %% random-split mistake proportions-rounded: Rounds each proportion to the nearest integer,
# which loses or invents examples.
#> should give parts of
order = generator(rng).permutation(len(dataset))
if len(lengths) == 4:
    lengths = [round(len(dataset) / 4)] * 4
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake inputs-and-targets-split-apart: Permutes each array of the dataset
# separately.
#> shuffled
order = generator(rng).permutation(len(dataset))
if isinstance(dataset, TensorDataset):
    arrays = [array[generator(rng).permutation(len(dataset))] for array in dataset.arrays]
    arrays[0] = arrays[0][::-1]
    dataset = TensorDataset(*arrays)
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake split-ignores-manual-seed: Makes a new generator, so that manual_seed
# does not decide the split.
#> after manual_seed(1) twice
order = np.random.default_rng(rng).permutation(len(dataset))
return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% random-split mistake examples-read-at-once: Returns lists of examples, all read at once,
# instead of Subsets.
#> A Subset reads an example when it is asked for
order = generator(rng).permutation(len(dataset))
return [[dataset[int(i)] for i in part] for part in np.split(order, np.cumsum(lengths)[:-1])]

# %% stratified-split mistake stratified-split-ignores-manual-seed: Makes a new generator, so
# that manual_seed does not decide the split.
#> after manual_seed(1) twice
#- rng, held_out = generator(rng), []
rng, held_out = np.random.default_rng(rng), []

# %% stratified-split mistake fraction-rounded-down: Rounds down instead of to the nearest
# integer.
#> rounded
#- held_out.append(members[: round(fraction * len(members))])
held_out.append(members[: int(fraction * len(members) + 1e-9)])

# %% stratified-split mistake indices-in-lists: Returns lists of indices instead of arrays.
#> should be an array of integers
#- return np.setdiff1d(np.arange(len(labels)), held_out), held_out
return np.setdiff1d(np.arange(len(labels)), held_out).tolist(), held_out.tolist()

# %% epoch-indices mistake order-ignores-manual-seed: Makes a new generator, so that manual_seed
# does not decide the order.
#> after manual_seed(1) twice
return np.random.default_rng(rng).permutation(count) if shuffle else np.arange(count)

# %% epoch-indices mistake indices-in-a-list: Returns a list when the examples are not shuffled.
#> should be an array of integers
return generator(rng).permutation(count) if shuffle else list(range(count))

# %% loader mistake inputs-and-targets-shuffled-apart: Shuffles the targets in another order
# than the inputs.
#> inputs and targets were shuffled apart
#- yield self.fetch(indices)
batch = self.fetch(indices)
if self.shuffle and isinstance(batch, tuple):
    again = self.fetch(self.rng.permutation(indices))
    batch = (batch[0], *again[1:])
yield batch

# %% loader mistake sampler-ignored: Ignores the sampler.
#> the batches should have this order
#- if self.sampler is None:
#-     order = epoch_indices(len(self.dataset), self.shuffle, self.rng)
if True:
    order = epoch_indices(len(self.dataset), self.shuffle, self.rng)

# %% loader mistake never-shuffled: Ignores `shuffle`.
#> the second epoch has the order of the first
#- order = epoch_indices(len(self.dataset), self.shuffle, self.rng)
order = epoch_indices(len(self.dataset))

# %% loader mistake loader-ignores-its-own-generator: Draws the order from the generator that
# manual_seed sets, not from the loader's own.
#> draw from self.rng
#- order = epoch_indices(len(self.dataset), self.shuffle, self.rng)
order = epoch_indices(len(self.dataset), self.shuffle)

# %% loader mistake collate-fn-ignored: Always uses collate and never the given collate_fn.
#> a collate_fn should receive the list of the examples
#- yield self.fetch(indices)
yield collate([self.dataset[int(i)] for i in indices])

# %% loader mistake sampler-read-once: Keeps the order of the sampler's first epoch for all
# epochs.
#> iterate the sampler once in each epoch
#- order = np.array(list(self.sampler))
self.sampler = order = np.array(list(self.sampler))

# %% loader mistake sampler-as-a-list: Passes lists of indices on, for which `fetch` is not
# made.
#> fetch takes an array of indices
#- order = np.array(list(self.sampler))
order = list(self.sampler)

# %% parse-idx mistake lengths-little-endian: Reads the lengths as little-endian.
#> requires
#- shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
shape = np.frombuffer(data, "<u4", data[3], 4).tolist()

# %% parse-idx mistake every-number-one-byte: Reads every number as one byte.
#> cannot reshape
#- numbers = np.frombuffer(data, dtype, offset=4 + 4 * len(shape)).reshape(shape)
numbers = np.frombuffer(data, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)

# %% parse-idx mistake cut-rows-dropped: Returns as many complete rows as there are in a file
# that was cut off.
#> The lengths require 60 bytes
shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
present, required = len(data) - 4 - 4 * len(shape), math.prod(shape) * dtype.itemsize
if present != required and shape:
    row = math.prod(shape[1:]) * dtype.itemsize
    shape[0] = present // max(row, 1)
numbers = np.frombuffer(data, dtype, math.prod(shape), 4 + 4 * len(shape)).reshape(shape)
return numbers.astype(dtype.newbyteorder("="))

# %% parse-idx mistake numbers-counted-not-bytes: Counts complete numbers, so that a file cut
# inside a number gets NumPy's error.
#> with one byte too many
#- if present != required:
#-     raise ValueError(f"the shape {shape} requires {required} bytes after the header, "
#-                      f"there are {present}: was the file cut off?")
if present // dtype.itemsize != math.prod(shape):
    raise ValueError(f"the shape {shape} requires {required} bytes after the header, "
                     f"there are {present}: was the file cut off?")

# %% parse-idx mistake additional-bytes-accepted: Accepts additional bytes at the end.
#> if there are fewer or more
#- if present != required:
#-     raise ValueError(f"the shape {shape} requires {required} bytes after the header, "
#-                      f"there are {present}: was the file cut off?")
data = data[: 4 + 4 * len(shape) + required]
if present < required:
    raise ValueError(f"the shape {shape} requires {required} bytes after the header, "
                     f"there are {present}: was the file cut off?")

# %% parse-idx mistake result-big-endian: Returns big-endian numbers.
#> machine's own byte order
#- return numbers.astype(dtype.newbyteorder("="))
return numbers.copy()

# %% parse-idx mistake result-read-only: Returns a read-only view of the bytes.
#> read-only view
#- return numbers.astype(dtype.newbyteorder("="))
return numbers.astype(dtype.newbyteorder("="), copy=False)

# %% parse-idx mistake shape-reversed: Reverses the lengths.
#> the lengths 4, 3, 2: the shape
#- numbers = np.frombuffer(data, dtype, offset=4 + 4 * len(shape)).reshape(shape)
numbers = np.frombuffer(data, dtype, offset=4 + 4 * len(shape)).reshape(shape[::-1])

# %% one-hot mistake columns-of-this-batch: Makes the columns from the classes that occur in the
# batch.
#> A class that does not occur in this batch still has its column
#- return Tensor((labels[..., None] == np.arange(num_classes)).astype(np.float32))
return Tensor((labels[..., None] == np.unique(labels)).astype(np.float32))

# %% one-hot mistake columns-up-to-the-largest: Takes the number of columns from the largest
# label.
#> still has its column
#- return Tensor((labels[..., None] == np.arange(num_classes)).astype(np.float32))
return Tensor((labels[..., None] == np.arange(int(labels.max(initial=0)) + 1)).astype(np.float32))

# %% one-hot mistake float64-columns: Makes float64 columns.
#> the dtype of the result should be 'float32'
#- return Tensor((labels[..., None] == np.arange(num_classes)).astype(np.float32))
return Tensor((labels[..., None] == np.arange(num_classes)).astype(float))

# %% one-hot mistake labels-narrowed: Converts the labels to an integer type that is too narrow.
#> Does an integer overflow
#- return Tensor((labels[..., None] == np.arange(num_classes)).astype(np.float32))
return Tensor((labels.astype("int8")[..., None] == np.arange(num_classes)).astype(np.float32))

# %% tensor-dataset right: a loop that appends
rows = []
for array in self.arrays:
    rows.append(array[i])
return tuple(rows)

# %% tensor-dataset right: copies of the rows, taken by np.take
return tuple(np.take(array, i, axis=0) for array in self.arrays)

# %% random-split right: slices between running ends
order, start, parts = generator(rng).permutation(len(dataset)), 0, []
for length in lengths:
    parts.append(Subset(dataset, order[start : start + length]))
    start += length
return parts

# %% random-split right: random keys, sorted
order = np.argsort(generator(rng).random(len(dataset)))
ends = [sum(lengths[: k + 1]) for k in range(len(lengths))]
return [Subset(dataset, order[end - n : end].tolist()) for n, end in zip(lengths, ends)]

# %% stratified-split right: a boolean mask
rng = generator(rng)
chosen = np.zeros(len(labels), dtype=bool)
for label in set(labels.tolist()):
    members = np.flatnonzero(labels == label)
    chosen[rng.choice(members, round(fraction * len(members)), replace=False)] = True
return np.flatnonzero(~chosen), np.flatnonzero(chosen)

# %% stratified-split right: one permutation of all examples, then the first of each class
order = generator(rng).permutation(len(labels))
kept, held_out = [], []
for label in np.unique(labels):
    members = [int(i) for i in order if labels[i] == label]
    count = int(np.rint(fraction * len(members)))
    held_out += members[:count]
    kept += members[count:]
return np.array(sorted(kept), dtype=int), np.array(sorted(held_out), dtype=int)

# %% epoch-indices right: shuffled in place
order = np.arange(count)
if shuffle:
    generator(rng).shuffle(order)
return order

# %% epoch-indices right: sorted random keys
if not shuffle:
    return np.array(list(range(count)), dtype=int)
return np.argsort(generator(rng).random(count))

# %% batches right: a while loop
pieces, start = [], 0
while start < len(order):
    piece = order[start : start + batch_size]
    if len(piece) == batch_size or not drop_last:
        pieces.append(piece)
    start += batch_size
return pieces

# %% batches right: shortened first, then split
if drop_last:
    order = order[: len(order) // batch_size * batch_size]
count = -(-len(order) // batch_size)
return [order[k * batch_size : (k + 1) * batch_size] for k in range(count)]

# %% collate right: single values first, members by index
first = samples[0]
if not isinstance(first, (tuple, list)):
    return Tensor(stack_rows(samples))
if {len(sample) for sample in samples} != {len(first)}:
    raise ValueError("examples are tuples of different lengths")
return tuple(collate([sample[k] for sample in samples]) for k in range(len(first)))

# %% collate right: map over the transposed list
if any(isinstance(sample, (tuple, list)) for sample in samples):
    return tuple(map(collate, map(list, zip(*samples, strict=True))))
rows = stack_rows(samples)
return Tensor(rows)

# %% loader right: a generator expression, returned
order = (epoch_indices(len(self.dataset), self.shuffle, self.rng) if self.sampler is None
         else np.fromiter(self.sampler, dtype=np.int64))
return (self.fetch(part) for part in batches(order, self.batch_size, self.drop_last))

# %% loader right: yield from map
order = epoch_indices(len(self.dataset), self.shuffle, self.rng)
if self.sampler is not None:
    order = np.asarray([int(i) for i in self.sampler], dtype=int)
yield from map(self.fetch, batches(order, self.batch_size, self.drop_last))

# %% channel-statistics right: the channel axis first, the rest flattened
flat = np.moveaxis(images, 1, 0).reshape(images.shape[1], -1).astype(np.float64)
mean, std = flat.mean(axis=1), flat.std(axis=1)
std[flat.max(axis=1) == flat.min(axis=1)] = 1.0
shape = (images.shape[1],) + (1,) * (images.ndim - 2)
return mean.reshape(shape).astype("float32"), std.reshape(shape).astype("float32")

# %% channel-statistics right: a loop over the channels
means, stds = [], []
for c in range(images.shape[1]):
    channel = np.asarray(images[:, c], dtype=np.float64)
    mean = channel.sum() / channel.size
    deviation = float(np.sqrt(((channel - mean) ** 2).sum() / channel.size))
    means.append(mean)
    stds.append(deviation if deviation > 1e-12 * abs(mean) else 1.0)
shape = (len(means), *[1] * (images.ndim - 2))
return np.float32(means).reshape(shape), np.float32(stds).reshape(shape)

# %% shift right: overlapping slices of source and result
out = np.zeros_like(image)
rows = slice(max(down, 0), max(min(height + down, height), 0))
columns = slice(max(right, 0), max(min(width + right, width), 0))
if rows.start < rows.stop and columns.start < columns.stop:
    out[..., rows, columns] = image[..., rows.start - down : rows.stop - down,
                                    columns.start - right : columns.stop - right]
return out

# %% shift right: rolled, then the border set to zero
out = np.roll(image, (down, right), (-2, -1)).copy()
rows, columns = np.arange(height) - down, np.arange(width) - right
outside = ((rows < 0) | (rows >= height))[:, None] | ((columns < 0) | (columns >= width))
out[..., outside] = 0
return out

# %% flip right: np.flip, and a branch
if self.rng.random() >= self.p:
    return image
return np.array(np.flip(image, axis=-1))

# %% flip right: index from the end, drawn uniformly
width = image.shape[-1]
flipped = self.rng.uniform(0.0, 1.0) < self.p
return image[..., np.arange(width - 1, -1, -1)] if flipped else image.copy()

# %% one-hot right: rows of the identity matrix
return Tensor(np.eye(num_classes, dtype=np.float32)[labels.astype(int)])

# %% one-hot right: ones written by index
flat = labels.reshape(-1).astype(np.int64)
out = np.zeros((flat.size, num_classes), np.float32)
out[np.arange(flat.size), flat] = 1
return Tensor(out.reshape(*labels.shape, num_classes))

# %% parse-idx right: lengths by int.from_bytes
shape = tuple(int.from_bytes(data[4 + 4 * k : 8 + 4 * k], "big") for k in range(data[3]))
body = data[4 + 4 * len(shape) :]
count = math.prod(shape)
if len(body) != count * dtype.itemsize:
    raise ValueError(f"{count * dtype.itemsize} bytes needed, {len(body)} found")
return np.array(np.frombuffer(body, dtype), dtype=dtype.newbyteorder("=")).reshape(shape)

# %% parse-idx right: bytes swapped by struct
import struct

shape = struct.unpack_from(f">{data[3]}I", data, 4)
start, size = 4 + 4 * data[3], math.prod(shape) * dtype.itemsize
if len(data) - start != size:
    raise ValueError(f"expected {size} bytes of numbers and got {len(data) - start}")
out = np.empty(shape, dtype.newbyteorder("="))
out[...] = np.frombuffer(data[start:], dtype).reshape(shape)
return out

# %% enqueue right: an iterator and next
try:
    source = iter(items)
    while True:
        try:
            item = next(source)
        except StopIteration:
            put("end")
            return None
        if put("item", item) is False:
            return None
except BaseException as error:
    put("error", error)

# %% enqueue right: the end in an else
try:
    for item in items:
        open = put("item", item)
        if not open:
            break
    else:
        put("end")
except BaseException as problem:
    put("error", problem)

# %% prefetch right: an endless loop
try:
    while True:
        kind, value = queue.get()
        if kind == "end":
            return
        if kind == "error":
            raise value
        yield value
finally:
    queue.close()

# %% prefetch right: iter with a sentinel
try:
    for kind, value in iter(queue.get, ("end", None)):
        if kind != "item":
            raise value
        yield value
finally:
    queue.close()

# %% collate equivalent: All examples have the same structure: the last can be inspected as well
# as the first.
#= `0` -> `(-1)`

# %% channel-statistics equivalent: The axis has length 1 after keepdims.
#= `0` -> `(-1)`

# %% shift equivalent: The larger of two numbers does not depend on their order.
#= `abs(down), abs(right)` -> `abs(right), abs(down)`

# %% flip equivalent: They differ when the number drawn is exactly p, once in 2 ** 53 draws.
#= `<` -> `<=`

# %% shift equivalent: The border of zeros is wider; the same piece is cut out of it.
#= `2` -> `3`
#= `2` -> `4`
