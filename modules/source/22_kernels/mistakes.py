# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% add mistake add-no-guard: Lets every thread read and write.
#> must keep them from reading and writing
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
out[i] = a[i] + b[i]

# %% add mistake add-guard-off-by-one: Lets one thread too many read.
#> must keep them from reading and writing
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
if i <= out.shape[0]:
    out[i] = a[i] + b[i]

# %% add mistake add-block-not-scaled: Adds the block's number without the size of a block.
#> multiply block.x by the number
#- i = SIZE * block.x + thread.x
i = block.x + thread.x

# %% add mistake add-thread-forgotten: Uses the place of the block only.
#> does the index contain thread.x?
#- i = SIZE * block.x + thread.x
i = SIZE * block.x

# %% add mistake add-block-forgotten: Uses the place in the block only.
#> multiply block.x by the number
#- i = SIZE * block.x + thread.x
i = thread.x

# %% add mistake add-block-size-missing: Exchanges the block and the thread.
#> add of 64 elements, 1 blocks
#- i = SIZE * block.x + thread.x
i = SIZE * thread.x + block.x

# %% add mistake add-minus-one: Counts from 1.
#> index -1 is outside a
#- i = SIZE * block.x + thread.x
i = SIZE * block.x + thread.x - 1

# %% add mistake add-last-block-skipped: Lets only full blocks work.
#> not written
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
if SIZE * (block.x + 1) <= out.shape[0]:
    out[i] = a[i] + b[i]

# %% add mistake add-last-element-skipped: Leaves the last element out.
#> not written
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
if i < out.shape[0] - 1:
    out[i] = a[i] + b[i]

# %% add mistake add-loop-in-one-thread: Lets the first thread of a block do all.
#> neighbouring threads neighbouring elements
#- i = SIZE * block.x + thread.x
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
if thread.x == 0:
    for i in range(SIZE * block.x, min(SIZE * block.x + SIZE, out.shape[0])):
        out[i] = a[i] + b[i]

# %% add mistake add-whole-arrays: Adds the arrays as NumPy does.
#> yours raises TypeError
#- i = SIZE * block.x + thread.x
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
out = a + b

# %% add mistake add-returned: Returns the sum in place of writing it into out.
#> not written
#- out[i] = a[i] + b[i]
return a[i] + b[i]

# %% add mistake add-difference: Subtracts.
#> not the difference
#- out[i] = a[i] + b[i]
out[i] = a[i] - b[i]

# %% add mistake add-len: Uses len, which arrays of a kernel do not have.
#> has no len()
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
if i < len(out):
    out[i] = a[i] + b[i]

# %% add mistake blocks-rounded-down: Rounds the number of blocks down.
#> Round up, not down
#- return -(-n // size)
return n // size

# %% add mistake blocks-one-more: Always adds a block.
#> A multiple of the size needs no further block
#- return -(-n // size)
return n // size + 1

# %% add mistake blocks-float: Divides with /.
#> should be 2
#- return -(-n // size)
return n / size

# %% add mistake blocks-ceil-of-float: Returns a float that is whole.
#> whole numbers, as int
#- return -(-n // size)
return float(-(-n // size))

# %% add mistake blocks-at-least-one: Needs a block for no elements.
#> no elements need no blocks
#- return -(-n // size)
return max(1, -(-n // size))

# %% add right add the other order: the other order, and math.ceil
#- i = SIZE * block.x + thread.x
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
i = thread.x + block.x * SIZE
if i >= a.shape[0]:
    return
out[i] = b[i] + a[i]
#- return -(-n // size)
return math.ceil(n / size)

# %% add right add within a while: one more block for a rest
#- if i < out.shape[0]:
#-     out[i] = a[i] + b[i]
while i < out.shape[0]:
    out[i] = a[i] + b[i]
    break
#- return -(-n // size)
full, rest = divmod(n, size)
return full + (rest > 0)

# %% add-row mistake row-exchanged: Lets x count rows.
#> x counts columns
#- i = TILE * block.y + thread.y
#- j = TILE * block.x + thread.x
i = TILE * block.x + thread.x
j = TILE * block.y + thread.y

# %% add-row mistake row-bias-by-row: Uses the bias of the row's index.
#> bias has one number for each column
#- out[i, j] = x[i, j] + bias[j]
out[i, j] = x[i, j] + bias[i]

# %% add-row mistake row-no-guard: Lets every thread read and write.
#> in both directions
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
out[i, j] = x[i, j] + bias[j]

# %% add-row mistake row-guards-rows-only: Checks the rows only.
#> in both directions
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
if i < x.shape[0]:
    out[i, j] = x[i, j] + bias[j]

# %% add-row mistake row-guards-columns-only: Checks the columns only.
#> in both directions
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
if j < x.shape[1]:
    out[i, j] = x[i, j] + bias[j]

# %% add-row mistake row-or: Needs one condition only.
#> in both directions
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
if i < x.shape[0] or j < x.shape[1]:
    out[i, j] = x[i, j] + bias[j]

# %% add-row mistake row-shapes-exchanged: Compares the row with the number of columns.
#> in both directions
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
if i < x.shape[1] and j < x.shape[0]:
    out[i, j] = x[i, j] + bias[j]

# %% add-row mistake row-block-y-forgotten: Uses the place in the block for the row.
#> multiply block.x by the number
#- i = TILE * block.y + thread.y
i = thread.y

# %% add-row mistake row-thread-y-forgotten: Leaves thread.y out.
#> does the index contain thread.x?
#- i = TILE * block.y + thread.y
i = TILE * block.y

# %% add-row mistake row-wrong-size: Uses the size of blocks with one axis.
#> not written
#- j = TILE * block.x + thread.x
j = SIZE * block.x + thread.x

# %% add-row mistake row-two-brackets: Writes x[i][j].
#> x has 2 axes
#- out[i, j] = x[i, j] + bias[j]
out[i, j] = x[i][j] + bias[j]

# %% add-row mistake row-transposed: Writes into the transposed place.
#> is outside x
#- out[i, j] = x[i, j] + bias[j]
out[j, i] = x[j, i] + bias[i]

# %% add-row mistake row-no-bias: Copies the matrix.
#> should be
#- out[i, j] = x[i, j] + bias[j]
out[i, j] = x[i, j]

# %% add-row right add-row early return: an early return
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
if i >= out.shape[0] or j >= bias.shape[0]:
    return
out[i, j] = bias[j] + x[i, j]

# %% add-row right add-row two ifs: one condition inside the other
#- if i < x.shape[0] and j < x.shape[1]:
#-     out[i, j] = x[i, j] + bias[j]
rows, columns = x.shape[0], x.shape[1]
if i < rows:
    if j < columns:
        value = x[i, j]
        value += bias[j]
        out[i, j] = value

# %% transactions mistake count-addresses: Counts addresses instead of pieces.
#> All threads in one piece are one transaction
#- return len({address * itemsize // 128 for address in addresses})
return len(addresses)

# %% transactions mistake count-different-addresses: Counts the different addresses.
#> should be 1
#- return len({address * itemsize // 128 for address in addresses})
return len(set(addresses))

# %% transactions mistake count-span: Counts all pieces from the first to the last.
#> Pieces in between, without an address, do not move
#- return len({address * itemsize // 128 for address in addresses})
if not addresses:
    return 0
pieces = [address * itemsize // 128 for address in addresses]
return max(pieces) - min(pieces) + 1

# %% transactions mistake count-no-itemsize: Takes places for bytes.
#> multiply by itemsize
#- return len({address * itemsize // 128 for address in addresses})
return len({address // 128 for address in addresses})

# %% transactions mistake count-four-bytes: Takes every element for 4 bytes.
#> its place times itemsize
#- return len({address * itemsize // 128 for address in addresses})
return len({address // 32 for address in addresses})

# %% transactions mistake count-remainder: Takes the place in a piece for the piece.
#> should be 1
#- return len({address * itemsize // 128 for address in addresses})
return len({address * itemsize % 128 for address in addresses})

# %% transactions mistake count-not-once: Counts a piece for each of its addresses.
#> All threads in one piece are one transaction
#- return len({address * itemsize // 128 for address in addresses})
return len([address * itemsize // 128 for address in addresses])

# %% transactions mistake count-bytes: Divides the bytes of all addresses by 128.
#> should be 2
#- return len({address * itemsize // 128 for address in addresses})
return -(-len(set(addresses)) * itemsize // 128)

# %% transactions mistake count-at-least-one: Needs a transaction without addresses.
#> transactions([]) should be 0
#- return len({address * itemsize // 128 for address in addresses})
return max(1, len({address * itemsize // 128 for address in addresses}))

# %% transactions mistake count-64-bytes: Takes pieces of 64 bytes.
#> should be 1
#- return len({address * itemsize // 128 for address in addresses})
return len({address * itemsize // 64 for address in addresses})

# %% transactions mistake banks-first-step: Counts the first step as a conflict.
#> subtract 1
#- return max(banks.count(bank) for bank in banks) - 1
return max(banks.count(bank) for bank in banks)

# %% transactions mistake banks-same-address: Counts equal addresses as conflicts.
#> do not wait for each other
#- banks = [address % 32 for address in set(addresses)]
banks = [address % 32 for address in addresses]

# %% transactions mistake banks-all: Adds the conflicts of all banks.
#> not the sum over all banks
#- return max(banks.count(bank) for bank in banks) - 1
return len(banks) - len(set(banks))

# %% transactions mistake banks-by-row: Takes the row of 32 places for the bank.
#> Address a is in bank a % 32
#- banks = [address % 32 for address in set(addresses)]
banks = [address // 32 for address in set(addresses)]

# %% transactions mistake banks-set-of-banks: Counts each bank once.
#> should be 1
#- banks = [address % 32 for address in set(addresses)]
banks = list({address % 32 for address in addresses})

# %% transactions mistake banks-bytes: Multiplies the place by 4 first.
#> should be 0
#- banks = [address % 32 for address in set(addresses)]
banks = [4 * address % 32 for address in set(addresses)]

# %% transactions mistake banks-16: Takes 16 banks.
#> should be 0
#- banks = [address % 32 for address in set(addresses)]
banks = [address % 16 for address in set(addresses)]

# %% transactions mistake banks-how-many: Returns the number of banks that are used.
#> should be 0
#- return max(banks.count(bank) for bank in banks) - 1
return len(set(banks)) - 1

# %% transactions mistake count-from-first: Takes pieces that begin at the first address.
#> begin at multiples of 128 bytes
#- return len({address * itemsize // 128 for address in addresses})
return (max(addresses) - min(addresses)) * itemsize // 128 + 1

# %% transactions right transactions by NumPy: NumPy
#- return len({address * itemsize // 128 for address in addresses})
return int(np.unique(np.asarray(addresses, "int64") * itemsize // 128).size)
#- banks = [address % 32 for address in set(addresses)]
#- return max(banks.count(bank) for bank in banks) - 1
return int(np.bincount(np.unique(addresses) % 32).max()) - 1

# %% transactions right transactions by loops: loops
#- return len({address * itemsize // 128 for address in addresses})
pieces = []
for address in addresses:
    piece = address * itemsize // 128
    if piece not in pieces:
        pieces.append(piece)
return len(pieces)
#- banks = [address % 32 for address in set(addresses)]
#- return max(banks.count(bank) for bank in banks) - 1
in_bank = {}
for address in addresses:
    in_bank.setdefault(address % 32, set()).add(address)
return max(map(len, in_bank.values())) - 1

# %% races mistake races-of-readers: Forgets that one of the threads must write.
#> threads that only read do not race
#- return {address for address in written if len(users[address]) > 1}
return {address for address in users if len(users[address]) > 1}

# %% races mistake races-all-written: Counts every address that is written.
#> a thread does not race with itself
#- return {address for address in written if len(users[address]) > 1}
return written

# %% races mistake races-accesses-counted: Counts accesses instead of threads.
#> a thread does not race with itself
users, written = {}, set()
for thread, address, writes in accesses:
    users.setdefault(address, []).append(thread)
    if writes:
        written.add(address)
return {address for address in written if len(users[address]) > 1}

# %% races mistake races-last-access: Looks at the last access only.
#> as a list, should be
#- written.add(address)
written = written | {address} if len(users[address]) > 1 else written

# %% races mistake races-two-writers: Needs two threads that write.
#> one thread writes, another reads
users = {}
for thread, address, writes in accesses:
    if writes:
        users.setdefault(address, set()).add(thread)
return {address for address in users if len(users[address]) > 1}

# %% races mistake races-write-then-read: Sees only reads after the write.
#> the order of the list does not matter
writer, found = {}, set()
for thread, address, writes in accesses:
    if address in writer and writer[address] != thread:
        found.add(address)
    if writes:
        writer[address] = thread
return found

# %% races mistake races-a-list: Returns a list.
#> should be a set of addresses
#- return {address for address in written if len(users[address]) > 1}
return [address for address in written if len(users[address]) > 1]

# %% races mistake races-threads: Returns the threads.
#> as a list, should be
#- return {address for address in written if len(users[address]) > 1}
return {t for address in written if len(users[address]) > 1 for t in users[address]}

# %% races mistake races-neighbours: Compares neighbouring accesses only.
#> as a list, should be
found = set()
for (t, a, w), (u, b, v) in zip(accesses, accesses[1:]):
    if a == b and t != u and (w or v):
        found.add(a)
return found

# %% races mistake races-returns-in-loop: Returns after the first race.
#> two addresses
#- return {address for address in written if len(users[address]) > 1}
for address in written:
    if len(users[address]) > 1:
        return {address}
return set()

# %% races mistake races-three: Needs three threads.
#> as a list, should be
#- return {address for address in written if len(users[address]) > 1}
return {address for address in written if len(users[address]) > 2}

# %% races mistake races-of-neighbours: Compares an access only with the one before it.
#> not only neighbours in the list
last, found = {}, set()
for thread, address, writes in accesses:
    before = last.get(address, (thread, False))
    if before[0] != thread and (writes or before[1]):
        found.add(address)
    last[address] = thread, writes
return found

# %% races right races by pairs: all pairs
return {a for t, a, w in accesses for u, b, v in accesses if a == b and t != u and (w or v)}

# %% races right races by groups: one address after the other
found = set()
for address in {address for _, address, _ in accesses}:
    threads = {thread for thread, a, _ in accesses if a == address}
    if len(threads) > 1 and any(writes for _, a, writes in accesses if a == address):
        found.add(address)
return found

# %% transpose mistake transpose-no-barrier: Forgets the barrier.
#> does a `yield` come before the first read
#- yield
pass

# %% transpose mistake transpose-rows-of-tile: Reads the tile as it was written.
#> their rows are still rows
#- out[column + y, row + x] = tile[x, y]
out[column + y, row + x] = tile[y, x]

# %% transpose mistake transpose-place-kept: Leaves the tile at its old place.
#> but at its old place
#- if column + y < out.shape[0] and row + x < out.shape[1]:
#-     out[column + y, row + x] = tile[x, y]
if row + y < out.shape[0] and column + x < out.shape[1]:
    out[row + y, column + x] = tile[x, y]

# %% transpose mistake transpose-columns-written: Writes columns of the result.
#> write rows of `out`
#- if column + y < out.shape[0] and row + x < out.shape[1]:
#-     out[column + y, row + x] = tile[x, y]
if column + x < out.shape[0] and row + y < out.shape[1]:
    out[column + x, row + y] = tile[y, x]

# %% transpose mistake transpose-columns-read: Reads columns of the matrix.
#> write rows of `out`
#- if row + y < a.shape[0] and column + x < a.shape[1]:
#-     tile[y, x] = a[row + y, column + x]
if row + x < a.shape[0] and column + y < a.shape[1]:
    tile[x, y] = a[row + x, column + y]

# %% transpose mistake transpose-without-tile: Writes into the result directly.
#> write rows of `out`
#- for y in range(thread.y, 32, 8):
#-     if row + y < a.shape[0] and column + x < a.shape[1]:
#-         tile[y, x] = a[row + y, column + x]
#- yield
#- for y in range(thread.y, 32, 8):
#-     if column + y < out.shape[0] and row + x < out.shape[1]:
#-         out[column + y, row + x] = tile[x, y]
for y in range(thread.y, 32, 8):
    if row + y < a.shape[0] and column + x < a.shape[1]:
        out[column + x, row + y] = a[row + y, column + x]

# %% transpose mistake transpose-no-guard-read: Reads beyond the matrix.
#> a tile reaches beyond the matrix
#- if row + y < a.shape[0] and column + x < a.shape[1]:
#-     tile[y, x] = a[row + y, column + x]
tile[y, x] = a[row + y, column + x]

# %% transpose mistake transpose-no-guard-write: Writes beyond the result.
#> is read before a thread writes it
#- if column + y < out.shape[0] and row + x < out.shape[1]:
#-     out[column + y, row + x] = tile[x, y]
out[column + y, row + x] = tile[x, y]

# %% transpose mistake transpose-same-guard: Uses the first condition for the writes.
#> the transpose of a matrix
#- if column + y < out.shape[0] and row + x < out.shape[1]:
#-     out[column + y, row + x] = tile[x, y]
if row + y < a.shape[0] and column + x < a.shape[1]:
    out[column + y, row + x] = tile[x, y]

# %% transpose mistake transpose-one-row: Handles one row per thread instead of four.
#> not written
#- for y in range(thread.y, 32, 8):
#-     if row + y < a.shape[0] and column + x < a.shape[1]:
#-         tile[y, x] = a[row + y, column + x]
#- yield
#- for y in range(thread.y, 32, 8):
#-     if column + y < out.shape[0] and row + x < out.shape[1]:
#-         out[column + y, row + x] = tile[x, y]
y = thread.y
if row + y < a.shape[0] and column + x < a.shape[1]:
    tile[y, x] = a[row + y, column + x]
yield
if column + x < out.shape[0] and row + y < out.shape[1]:
    out[column + x, row + y] = tile[y, x]

# %% transpose mistake transpose-every-row: Lets each thread handle all rows.
#> a `yield`
#- for y in range(thread.y, 32, 8):
#-     if row + y < a.shape[0] and column + x < a.shape[1]:
#-         tile[y, x] = a[row + y, column + x]
for y in range(32):
    if row + y < a.shape[0] and column + x < a.shape[1]:
        tile[y, x] = a[row + y, column + x]

# %% transpose mistake transpose-barrier-in-if: Puts the barrier into the condition.
#> the transpose of a matrix
#- for y in range(thread.y, 32, 8):
#-     if row + y < a.shape[0] and column + x < a.shape[1]:
#-         tile[y, x] = a[row + y, column + x]
#- yield
for y in range(thread.y, 32, 8):
    if row + y < a.shape[0] and column + x < a.shape[1]:
        tile[y, x] = a[row + y, column + x]
        yield

# %% transpose mistake transpose-whole-index-tile: Uses the place in the matrix for the tile.
#> is outside tile
#- tile[y, x] = a[row + y, column + x]
tile[row + y, column + x] = a[row + y, column + x]

# %% transpose mistake transpose-rows-columns-exchanged: Exchanges the first row and column.
#> the transpose of a matrix
#- if row + y < a.shape[0] and column + x < a.shape[1]:
#-     tile[y, x] = a[row + y, column + x]
if column + y < a.shape[0] and row + x < a.shape[1]:
    tile[y, x] = a[column + y, row + x]

# %% transpose mistake transpose-stored-transposed: Stores columns into the tile and reads
# columns.
#> their rows are still rows
#- tile[y, x] = a[row + y, column + x]
tile[x, y] = a[row + y, column + x]

# %% transpose mistake transpose-tile-not-full: Writes 8 of the 32 rows of the tile.
#> 32 rows of the tile, 4 each
#- for y in range(thread.y, 32, 8):
#-     if row + y < a.shape[0] and column + x < a.shape[1]:
#-         tile[y, x] = a[row + y, column + x]
y = thread.y
if row + y < a.shape[0] and column + x < a.shape[1]:
    tile[y, x] = a[row + y, column + x]

# %% transpose right transpose stored transposed: transposed on the way into the tile
#- tile[y, x] = a[row + y, column + x]
tile[x, y] = a[row + y, column + x]
#- out[column + y, row + x] = tile[x, y]
out[column + y, row + x] = tile[y, x]

# %% transpose right transpose by steps: counts the four rows
#- for y in range(thread.y, 32, 8):
#-     if row + y < a.shape[0] and column + x < a.shape[1]:
#-         tile[y, x] = a[row + y, column + x]
#- yield
#- for y in range(thread.y, 32, 8):
#-     if column + y < out.shape[0] and row + x < out.shape[1]:
#-         out[column + y, row + x] = tile[x, y]
for step in range(4):
    y = thread.y + 8 * step
    i, j = row + y, column + x
    if i < a.shape[0]:
        if j < a.shape[1]:
            tile[y, x] = a[i, j]
yield
y = thread.y
while y < 32:
    if column + y < a.shape[1] and row + x < a.shape[0]:
        out[column + y, row + x] = tile[x, y]
    y += 8

# %% block-sum mistake sum-first-barrier: Forgets the barrier after the first writes.
#> and a `yield` comes before the first reads
#- yield
#- step = SIZE // 2
step = SIZE // 2

# %% block-sum mistake sum-barrier-in-phases: Forgets the barrier between phases.
#> a `yield` is needed between two phases
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
while step > 0:
    if x < step:
        tile[x] += tile[x + step]
    step //= 2

# %% block-sum mistake sum-barrier-in-if: Puts the barrier into the condition.
#> all threads of a block must reach
#- if x < step:
#-     tile[x] += tile[x + step]
#- yield
if x < step:
    tile[x] += tile[x + step]
    yield

# %% block-sum mistake sum-all-threads: Lets all threads add.
#> x < step
#- if x < step:
#-     tile[x] += tile[x + step]
tile[x] += tile[x + step]

# %% block-sum mistake sum-no-zeros: Leaves places without an element as they are.
#> threads without an element 0.0
#- tile[x] = a[i] if i < a.shape[0] else 0.0
if i < a.shape[0]:
    tile[x] = a[i]

# %% block-sum mistake sum-no-guard: Reads beyond the array.
#> the last block has threads without an element
#- tile[x] = a[i] if i < a.shape[0] else 0.0
tile[x] = a[i]

# %% block-sum mistake sum-by-thread: Reads the element with the thread's number.
#> block_sum of 256 elements
#- tile[x] = a[i] if i < a.shape[0] else 0.0
tile[x] = a[x] if i < a.shape[0] else 0.0

# %% block-sum mistake sum-stops-at-1: Stops before the phase with step 1.
#> with step 1, is missing
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
while step > 1:
    if x < step:
        tile[x] += tile[x + step]
    yield
    step //= 2

# %% block-sum mistake sum-starts-late: Begins with a quarter.
#> with step 32, is missing
#- step = SIZE // 2
step = SIZE // 4

# %% block-sum mistake sum-one-thread: Lets one thread add all numbers.
#> 7 for each block
#- step = SIZE // 2
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
if x == 0:
    for k in range(1, SIZE):
        tile[0] += tile[k]

# %% block-sum mistake sum-into-zero: Lets all threads add to the first place.
#> race
#- tile[x] += tile[x + step]
tile[0] += tile[x + step]

# %% block-sum mistake sum-replaced: Replaces instead of adding.
#> should be
#- tile[x] += tile[x + step]
tile[x] = tile[x + step]

# %% block-sum mistake sum-neighbours-first: Adds neighbours first.
#> numbers that are `step` apart
#- step = SIZE // 2
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
step = 1
while step < SIZE:
    if x < SIZE // (2 * step):
        tile[2 * step * x] += tile[2 * step * x + step]
    yield
    step *= 2

# %% block-sum mistake sum-never-halved: Does not halve the step.
#> loop
#- step //= 2
pass

# %% block-sum mistake sum-halved-as-float: Halves the step with /.
#> is not a whole number
#- step //= 2
step = step / 2

# %% block-sum mistake sum-doubled: Doubles the step.
#> is outside tile
#- step //= 2
step *= 2

# %% block-sum mistake sum-of-python: Calls Python's sum.
#> works with single elements, and not with tile
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
if x == 0:
    tile[0] = sum(tile)

# %% block-sum right block-sum by even threads: adds neighbours first, by threads far apart
#- step = SIZE // 2
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
step = 1
while step < SIZE:
    if x % (2 * step) == 0:
        tile[x] += tile[x + step]
    yield
    step *= 2

# %% block-sum right block-sum with a for: phases with a for
#- step = SIZE // 2
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
for phase in range(6):
    step = 32 >> phase
    if x < step:
        tile[x] = tile[x] + tile[x + step]
    yield

# %% block-sum right block-sum barrier first: the barrier at the beginning of a phase
#- tile[x] = a[i] if i < a.shape[0] else 0.0
#- yield
#- step = SIZE // 2
#- while step > 0:
#-     if x < step:
#-         tile[x] += tile[x + step]
#-     yield
#-     step //= 2
total = 0.0
if i < a.shape[0]:
    total = a[i]
tile[x] = total
step = SIZE
while step > 1:
    step //= 2
    yield
    if x < step:
        total += tile[x + step]
        tile[x] = total

# %% online-softmax mistake online-not-rescaled: Does not correct the old sum.
#> The old sum must be multiplied
#- total = total * math.exp(before - largest) + math.exp(score - largest)
total = total + math.exp(score - largest)

# %% online-softmax mistake online-inverse-factor: Divides new by old.
#> the right way round
#- total = total * math.exp(before - largest) + math.exp(score - largest)
total = total * math.exp(largest - before) + math.exp(score - largest)

# %% online-softmax mistake online-from-zero: Begins with 0 as the maximum.
#> smaller than every score
#- largest, total = -1e30, 0.0
largest, total = 0.0, 0.0

# %% online-softmax mistake online-from-minus-100: Begins with -100 as the maximum.
#> smaller than every score
#- largest, total = -1e30, 0.0
largest, total = -100.0, 0.0

# %% online-softmax mistake online-old-maximum: Subtracts the old maximum.
#> online_softmax of the row
#- total = total * math.exp(before - largest) + math.exp(score - largest)
total = total * math.exp(before - largest) + math.exp(score - before)

# %% online-softmax mistake online-before-late: Remembers the maximum after it has changed.
#> The old sum must be multiplied
#- score, before = a[row, j], largest
#- largest = max(largest, score)
score = a[row, j]
largest = max(largest, score)
before = largest

# %% online-softmax mistake online-not-divided: Does not divide by the sum.
#> not yet divided by the sum
#- out[row, j] = math.exp(a[row, j] - largest) / total
out[row, j] = math.exp(a[row, j] - largest)

# %% online-softmax mistake online-no-maximum: Leaves the maximum out at the end.
#> In the last loop, too, subtract the maximum
#- out[row, j] = math.exp(a[row, j] - largest) / total
out[row, j] = math.exp(a[row, j]) / total

# %% online-softmax mistake online-three-passes: Finds the maximum first.
#> one pass finds both
#- for j in range(a.shape[1]):
#-     score, before = a[row, j], largest
#-     largest = max(largest, score)
#-     total = total * math.exp(before - largest) + math.exp(score - largest)
for j in range(a.shape[1]):
    largest = max(largest, a[row, j])
for j in range(a.shape[1]):
    total += math.exp(a[row, j] - largest)

# %% online-softmax mistake online-read-again: Reads the score twice in the first pass.
#> Keep a score that you read
#- score, before = a[row, j], largest
#- largest = max(largest, score)
#- total = total * math.exp(before - largest) + math.exp(score - largest)
before = largest
largest = max(largest, a[row, j])
total = total * math.exp(before - largest) + math.exp(a[row, j] - largest)

# %% online-softmax mistake online-no-guard: Lets threads without a row read.
#> the last block has threads without a row
#- if row < a.shape[0]:
#-     largest, total = -1e30, 0.0
#-     for j in range(a.shape[1]):
#-         score, before = a[row, j], largest
#-         largest = max(largest, score)
#-         total = total * math.exp(before - largest) + math.exp(score - largest)
#-     for j in range(a.shape[1]):
#-         out[row, j] = math.exp(a[row, j] - largest) / total
if True:
    largest, total = -1e30, 0.0
    for j in range(a.shape[1]):
        score, before = a[row, j], largest
        largest = max(largest, score)
        total = total * math.exp(before - largest) + math.exp(score - largest)
    for j in range(a.shape[1]):
        out[row, j] = math.exp(a[row, j] - largest) / total

# %% online-softmax mistake online-columns: Takes the softmax of a column.
#> online_softmax of the row
#- for j in range(a.shape[1]):
#-     out[row, j] = math.exp(a[row, j] - largest) / total
for j in range(a.shape[0]):
    out[row, j] = math.exp(a[row, j] - largest) / total

# %% online-softmax mistake online-last-score-missing: Leaves the last score out.
#> online_softmax of the row
#- for j in range(a.shape[1]):
#-     score, before = a[row, j], largest
for j in range(a.shape[1] - 1):
    score, before = a[row, j], largest

# %% online-softmax mistake online-total-per-score: Begins the sum again for each score.
#> online_softmax of the row
#- total = total * math.exp(before - largest) + math.exp(score - largest)
total = math.exp(score - largest)

# %% online-softmax mistake online-divided-each-time: Divides while the sum is not complete.
#> should be
#- total = total * math.exp(before - largest) + math.exp(score - largest)
total = total * math.exp(before - largest) + math.exp(score - largest)
out[row, j] = math.exp(score - largest) / total
#- for j in range(a.shape[1]):
#-     out[row, j] = math.exp(a[row, j] - largest) / total
pass

# %% online-softmax right online-softmax with if: a case for a new maximum
#- score, before = a[row, j], largest
#- largest = max(largest, score)
#- total = total * math.exp(before - largest) + math.exp(score - largest)
score = a[row, j]
if score > largest:
    total = total * math.exp(largest - score) + 1.0
    largest = score
else:
    total += math.exp(score - largest)

# %% online-softmax right online-softmax log-sum-exp: returns by an early return, and adds the
# logarithm of the sum to the maximum
#- if row < a.shape[0]:
#-     largest, total = -1e30, 0.0
#-     for j in range(a.shape[1]):
#-         score, before = a[row, j], largest
#-         largest = max(largest, score)
#-         total = total * math.exp(before - largest) + math.exp(score - largest)
#-     for j in range(a.shape[1]):
#-         out[row, j] = math.exp(a[row, j] - largest) / total
if row >= a.shape[0]:
    return
m, t = a[row, 0], 1.0
for j in range(1, a.shape[1]):
    s = a[row, j]
    new = max(m, s)
    t *= math.exp(m - new)
    t += math.exp(s - new)
    m = new
m += math.log(t)
for j in range(a.shape[1]):
    out[row, j] = math.exp(a[row, j] - m)

# %% add equivalent: The array has one axis, which is also the last one.
#= `0` -> `(-1)`

# %% online-softmax equivalent: At the first score the sum is multiplied by exp(-1e30), which is 0.
#= `0.0` -> `1.0`

# %% online-softmax equivalent: At the first score the sum is multiplied by exp(-1e30), which is 0.
#= `0.0` -> `(-1.0)`

# %% online-softmax equivalent: max is symmetric.
#= `largest, score` -> `score, largest`

# %% online-softmax equivalent: Scores are above -1e30.
#= `1e30` -> `2e+30`

# %% layer-norm mistake norm-no-second-barrier: Uses the tile again without a barrier.
#> A `yield` must come before
#- mean = tile[0] / n
#- yield
mean = tile[0] / n

# %% layer-norm mistake norm-barrier-first: Has the barrier before all threads have read.
#> A `yield` must come before
#- mean = tile[0] / n
#- yield
yield
mean = tile[0] / n

# %% layer-norm mistake norm-divided-by-size: Divides by the number of threads.
#> layer_norm of 2 rows of 32 numbers
#- mean = tile[0] / n
mean = tile[0] / SIZE

# %% layer-norm mistake norm-own-sum: Takes the own sum for the sum of the row.
#> layer_norm of
#- mean = tile[0] / n
mean = total / n

# %% layer-norm mistake norm-mean-kept: Does not subtract the mean.
#> The mean must be subtracted
#- out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
out[row, j] = a[row, j] * scale * weight[j] + bias[j]

# %% layer-norm mistake norm-n-minus-1: Divides the squares by n - 1.
#> not by n - 1
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
scale = 1.0 / math.sqrt(tile[0] / max(1, n - 1) + 1e-5)

# %% layer-norm mistake norm-no-eps: Forgets eps.
#> eps, 1e-5, is added
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
scale = 1.0 / math.sqrt(tile[0] / n)

# %% layer-norm mistake norm-eps-outside: Adds eps to the standard deviation.
#> inside the square root
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
scale = 1.0 / (math.sqrt(tile[0] / n) + 1e-5)

# %% layer-norm mistake norm-other-eps: Takes 1e-6.
#> eps is 1e-5
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
scale = 1.0 / math.sqrt(tile[0] / n + 1e-6)

# %% layer-norm mistake norm-variance-not-divided: Takes the sum of the squares.
#> layer_norm of
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
scale = 1.0 / math.sqrt(tile[0] + 1e-5)

# %% layer-norm mistake norm-no-root: Divides by the variance.
#> layer_norm of
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
scale = 1.0 / (tile[0] / n + 1e-5)

# %% layer-norm mistake norm-no-weight: Forgets the weight.
#> weight is missing
#- out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
out[row, j] = (a[row, j] - mean) * scale + bias[j]

# %% layer-norm mistake norm-no-bias: Forgets the bias.
#> bias is missing
#- out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
out[row, j] = (a[row, j] - mean) * scale * weight[j]

# %% layer-norm mistake norm-one-element: Handles one element per thread.
#> is outside a
#- total = 0.0
#- for j in range(x, n, SIZE):
#-     total += a[row, j]
#- tile[x] = total
tile[x] = a[row, x]

# %% layer-norm mistake norm-chunks: Gives each thread elements that follow each other.
#> thread x handles the elements x, x + SIZE
#- for j in range(x, n, SIZE):
#-     total += a[row, j]
chunk = (n + SIZE - 1) // SIZE
for j in range(x * chunk, min(n, x * chunk + chunk)):
    total += a[row, j]

# %% layer-norm mistake norm-whole-row: Lets each thread add the whole row.
#> layer_norm of
#- for j in range(x, n, SIZE):
#-     total += a[row, j]
for j in range(n):
    total += a[row, j]

# %% layer-norm mistake norm-all-write-all: Lets each thread write the whole row.
#> race: this thread writes out
#- for j in range(x, n, SIZE):
#-     out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
for j in range(n):
    out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]

# %% layer-norm mistake norm-squares-go-on: Goes on with the sum of the elements.
#> layer_norm of
#- squares = 0.0
squares = total

# %% layer-norm mistake norm-squares-not-squared: Adds the differences.
#> layer_norm of
#- squares += difference * difference
squares += difference

# %% layer-norm mistake norm-weight-by-thread: Uses the weight of the thread's number.
#> layer_norm of 2 rows of 100
#- out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
out[row, j] = (a[row, j] - mean) * scale * weight[x] + bias[x]

# %% layer-norm right layer-norm by powers: powers, and a division at the end
#- difference = a[row, j] - mean
#- squares += difference * difference
squares += (a[row, j] - mean) ** 2
#- scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
#- for j in range(x, n, SIZE):
#-     out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
deviation = math.sqrt(tile[0] / n + 1e-5)
for j in range(x, n, SIZE):
    out[row, j] = bias[j] + weight[j] * (a[row, j] - mean) / deviation

# %% layer-norm right layer-norm with while: while loops
#- total = 0.0
#- for j in range(x, n, SIZE):
#-     total += a[row, j]
#- tile[x] = total
tile[x] = 0.0
j = x
while j < n:
    tile[x] += a[row, j]
    j += SIZE
#- squares = 0.0
squares, own = 0.0, 0.0

# %% matmul mistake product-first-barrier: Forgets the barrier before the tiles are read.
#> a `yield` comes before the tiles are read
#- yield
#- for s in range(TILE):
#-     total += left[y, s] * right[s, x]
for s in range(TILE):
    total += left[y, s] * right[s, x]

# %% matmul mistake product-second-barrier: Forgets the barrier after the tiles are read.
#> before the next tiles overwrite
#- for s in range(TILE):
#-     total += left[y, s] * right[s, x]
#- yield
for s in range(TILE):
    total += left[y, s] * right[s, x]

# %% matmul mistake product-early-return: Ends threads without a result at the beginning.
#> threads without a result must also load and wait
#- total = 0.0
if i >= out.shape[0] or j >= out.shape[1]:
    return
total = 0.0

# %% matmul mistake product-no-zeros: Leaves the tile as it is beyond the matrix.
#> zeros beyond the matrices
#- left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
if i < a.shape[0] and k + x < a.shape[1]:
    left[y, x] = a[i, k + x]

# %% matmul mistake product-no-guard-left: Reads beyond the first matrix.
#> a tile reaches beyond the matrices
#- left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
left[y, x] = a[i, k + x]

# %% matmul mistake product-no-guard-right: Reads beyond the second matrix.
#> a tile reaches beyond the matrices
#- right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
right[y, x] = b[k + y, j]

# %% matmul mistake product-guards-rows: Compares only the rows of the first matrix.
#> a tile reaches beyond the matrices
#- left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
left[y, x] = a[i, k + x] if i < a.shape[0] else 0.0

# %% matmul mistake product-no-guard-result: Writes beyond the result.
#> a tile reaches beyond the matrices
#- if i < out.shape[0] and j < out.shape[1]:
#-     out[i, j] = total
out[i, j] = total

# %% matmul mistake product-total-per-tile: Begins the total again for each tile.
#> Only the last tiles along k count
#- for k in range(0, a.shape[1], TILE):
#-     left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
for k in range(0, a.shape[1], TILE):
    total = 0.0
    left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
    right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
    yield
    for s in range(TILE):
        total += left[y, s] * right[s, x]
    yield
#-     right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
#-     yield
#-     for s in range(TILE):
#-         total += left[y, s] * right[s, x]
#-     yield
pass

# %% matmul mistake product-one-tile: Multiplies the first tiles only.
#> Only the first tiles along k count
#- for k in range(0, a.shape[1], TILE):
#-     left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
#-     right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
#-     yield
#-     for s in range(TILE):
#-         total += left[y, s] * right[s, x]
#-     yield
left[y, x] = a[i, x] if i < a.shape[0] and x < a.shape[1] else 0.0
right[y, x] = b[y, j] if y < b.shape[0] and j < b.shape[1] else 0.0
yield
for s in range(TILE):
    total += left[y, s] * right[s, x]

# %% matmul mistake product-full-tiles: Leaves out the last, smaller tiles along k.
#> matmul of shapes
#- for k in range(0, a.shape[1], TILE):
#-     left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
#-     right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
#-     yield
#-     for s in range(TILE):
#-         total += left[y, s] * right[s, x]
#-     yield
for k in range(0, a.shape[1] // TILE * TILE, TILE):
    left[y, x] = a[i, k + x] if i < a.shape[0] else 0.0
    right[y, x] = b[k + y, j] if j < b.shape[1] else 0.0
    yield
    for s in range(TILE):
        total += left[y, s] * right[s, x]
    yield

# %% matmul mistake product-naive: Reads from global memory only.
#> load each element of a tile once
#- total = 0.0
#- for k in range(0, a.shape[1], TILE):
#-     left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
#-     right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
#-     yield
#-     for s in range(TILE):
#-         total += left[y, s] * right[s, x]
#-     yield
#- if i < out.shape[0] and j < out.shape[1]:
#-     out[i, j] = total
if i < out.shape[0] and j < out.shape[1]:
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    out[i, j] = total

# %% matmul mistake product-left-from-global: Multiplies numbers of the first matrix itself.
#> multiply numbers of shared memory
#- total += left[y, s] * right[s, x]
total += (a[i, k + s] if i < a.shape[0] and k + s < a.shape[1] else 0.0) * right[s, x]

# %% matmul mistake product-row-times-row: Multiplies rows with rows.
#> The products are left[y, n] * right[n, x]
#- total += left[y, s] * right[s, x]
total += left[y, s] * right[x, s]

# %% matmul mistake product-elementwise: Multiplies element by element.
#> elementwise product
#- for s in range(TILE):
#-     total += left[y, s] * right[s, x]
total += left[y, x] * right[y, x]

# %% matmul mistake product-x-y-exchanged: Loads the tile of the first matrix transposed.
#> matmul of shapes
#- left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
left[x, y] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0

# %% matmul mistake product-k-missing: Loads the first tile of the first matrix each time.
#> matmul of shapes
#- left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
left[y, x] = a[i, x] if i < a.shape[0] and x < a.shape[1] else 0.0

# %% matmul mistake product-last-tile-no-barrier: Has a barrier only while there are more tiles.
#> a `yield` comes before the tiles are read
#- yield
#- for s in range(TILE):
#-     total += left[y, s] * right[s, x]
if k > 0:
    yield
for s in range(TILE):
    total += left[y, s] * right[s, x]

# %% matmul mistake product-total-an-int-tile: Counts tiles instead of elements.
#> matmul of shapes
#- for k in range(0, a.shape[1], TILE):
#-     left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
#-     right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
#-     yield
#-     for s in range(TILE):
#-         total += left[y, s] * right[s, x]
#-     yield
for k in range((a.shape[1] + TILE - 1) // TILE):
    left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
    right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
    yield
    for s in range(TILE):
        total += left[y, s] * right[s, x]
    yield

# %% matmul right matmul with ifs: ifs for the edges
#- left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
#- right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
left[y, x] = 0.0
right[y, x] = 0.0
if i < a.shape[0] and k + x < a.shape[1]:
    left[y, x] = a[i, k + x]
if k + y < b.shape[0] and j < b.shape[1]:
    right[y, x] = b[k + y, j]

# %% matmul right matmul by tile numbers: tiles that are counted
#- for k in range(0, a.shape[1], TILE):
#-     left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
#-     right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
#-     yield
#-     for s in range(TILE):
#-         total += left[y, s] * right[s, x]
#-     yield
t = 0
while t * TILE < b.shape[0]:
    column, line = TILE * t + x, TILE * t + y
    left[y, x] = a[i, column] if i < a.shape[0] and column < a.shape[1] else 0.0
    right[y, x] = b[line, j] if line < b.shape[0] and j < b.shape[1] else 0.0
    yield
    part = 0.0
    for s in range(min(TILE, a.shape[1] - TILE * t)):
        part += left[y, s] * right[s, x]
    total += part
    yield
    t += 1

# %% attention mistake attention-sums-not-rescaled: Does not correct the old sums.
#> `sums` must also be multiplied
#- sums[d] = sums[d] * scale + p * values[j, d]
sums[d] += p * values[j, d]

# %% attention mistake attention-total-not-rescaled: Does not correct the old total.
#> `total` must be multiplied
#- total = total * scale + p
total += p

# %% attention mistake attention-not-causal: Looks at all keys of a tile.
#> that key does not exist in this tile
#- for j in range(min(32, i - start + 1)):
#-     score, before = 0.0, largest
#-     for d in range(HEAD):
#-         score += query[d] * keys[j, d]
#-     largest = max(largest, score)
#-     p, scale = math.exp(score - largest), math.exp(before - largest)
#-     total = total * scale + p
#-     for d in range(HEAD):
#-         sums[d] = sums[d] * scale + p * values[j, d]
for j in range(32):
    score, before = 0.0, largest
    for d in range(HEAD):
        score += query[d] * keys[j, d]
    largest = max(largest, score)
    p, scale = math.exp(score - largest), math.exp(before - largest)
    total = total * scale + p
    for d in range(HEAD):
        sums[d] = sums[d] * scale + p * values[j, d]

# %% attention mistake attention-last-key-missing: Looks at the keys before the own one.
#> `total` is 0 at the end
#- for j in range(min(32, i - start + 1)):
#-     score, before = 0.0, largest
#-     for d in range(HEAD):
#-         score += query[d] * keys[j, d]
#-     largest = max(largest, score)
#-     p, scale = math.exp(score - largest), math.exp(before - largest)
#-     total = total * scale + p
#-     for d in range(HEAD):
#-         sums[d] = sums[d] * scale + p * values[j, d]
for j in range(min(32, i - start)):
    score, before = 0.0, largest
    for d in range(HEAD):
        score += query[d] * keys[j, d]
    largest = max(largest, score)
    p, scale = math.exp(score - largest), math.exp(before - largest)
    total = total * scale + p
    for d in range(HEAD):
        sums[d] = sums[d] * scale + p * values[j, d]

# %% attention mistake attention-scaled-twice: Divides by the root again.
#> The scores are scaled already
#- largest = max(largest, score)
score /= math.sqrt(HEAD)
largest = max(largest, score)

# %% attention mistake attention-inverse-scale: Divides new by old.
#> which maximum is subtracted from which
#- p, scale = math.exp(score - largest), math.exp(before - largest)
p, scale = math.exp(score - largest), math.exp(largest - before)

# %% attention mistake attention-power-of-score: Does not subtract the maximum.
#> attention of
#- p, scale = math.exp(score - largest), math.exp(before - largest)
p, scale = math.exp(score), math.exp(before - largest)

# %% attention mistake attention-old-maximum: Subtracts the old maximum.
#> which maximum is subtracted from which
#- p, scale = math.exp(score - largest), math.exp(before - largest)
p, scale = math.exp(score - before), math.exp(before - largest)

# %% attention mistake attention-score-not-begun: Adds the scores of all keys.
#> attention of
#- for j in range(min(32, i - start + 1)):
#-     score, before = 0.0, largest
#-     for d in range(HEAD):
#-         score += query[d] * keys[j, d]
#-     largest = max(largest, score)
#-     p, scale = math.exp(score - largest), math.exp(before - largest)
#-     total = total * scale + p
#-     for d in range(HEAD):
#-         sums[d] = sums[d] * scale + p * values[j, d]
score = 0.0
for j in range(min(32, i - start + 1)):
    before = largest
    for d in range(HEAD):
        score += query[d] * keys[j, d]
    largest = max(largest, score)
    p, scale = math.exp(score - largest), math.exp(before - largest)
    total = total * scale + p
    for d in range(HEAD):
        sums[d] = sums[d] * scale + p * values[j, d]

# %% attention mistake attention-keys-for-values: Adds the keys instead of the values.
#> attention of
#- sums[d] = sums[d] * scale + p * values[j, d]
sums[d] = sums[d] * scale + p * keys[j, d]

# %% attention mistake attention-not-weighted: Adds the values without their weight.
#> attention of
#- sums[d] = sums[d] * scale + p * values[j, d]
sums[d] = sums[d] * scale + values[j, d]

# %% attention mistake attention-sums-replaced: Keeps the last value only.
#> attention of
#- sums[d] = sums[d] * scale + p * values[j, d]
sums[d] = p * values[j, d]

# %% attention mistake attention-no-total: Does not add the powers.
#> `total` is 0 at the end
#- total = total * scale + p
pass

# %% attention mistake attention-thread-key: Uses the thread's own key.
#> All keys have the same weight
#- score += query[d] * keys[j, d]
score += query[d] * keys[x, d]

# %% attention mistake attention-global-keys: Reads the keys from global memory.
#> from shared memory
#- score += query[d] * keys[j, d]
score += query[d] * k[start + j, d]

# %% attention mistake attention-key-of-text: Uses the number of the key in the text.
#> the numbers 0 to 31 in the tile
#- score += query[d] * keys[j, d]
score += query[d] * keys[start + j, d]

# %% attention mistake attention-head-of-keys: Goes along the wrong axis of the keys.
#> attention of
#- score += query[d] * keys[j, d]
score += query[d] * keys[d, j]

# %% attention mistake attention-maximum-late: Updates the maximum at the end.
#> attention of
#- largest = max(largest, score)
#- p, scale = math.exp(score - largest), math.exp(before - largest)
p, scale = math.exp(min(700, score - largest)), math.exp(before - largest)
largest = max(largest, score)

# %% attention mistake attention-maximum-kept: Never changes the largest score.
#> does `largest` become the new maximum?
#- largest = max(largest, score)
#- p, scale = math.exp(score - largest), math.exp(before - largest)
new = max(largest, score)
p, scale = math.exp(score - new), math.exp(before - new)

# %% attention right attention with a case: a case for a new maximum
#- largest = max(largest, score)
#- p, scale = math.exp(score - largest), math.exp(before - largest)
#- total = total * scale + p
#- for d in range(HEAD):
#-     sums[d] = sums[d] * scale + p * values[j, d]
if score > before:
    scale = math.exp(before - score)
    largest = score
    total *= scale
    for d in range(HEAD):
        sums[d] = sums[d] * scale
p = math.exp(score - largest)
total += p
for d in range(HEAD):
    sums[d] += p * values[j, d]

# %% attention right attention by keys of the text: counts the keys of the text
#- for j in range(min(32, i - start + 1)):
#-     score, before = 0.0, largest
#-     for d in range(HEAD):
#-         score += query[d] * keys[j, d]
#-     largest = max(largest, score)
#-     p, scale = math.exp(score - largest), math.exp(before - largest)
#-     total = total * scale + p
#-     for d in range(HEAD):
#-         sums[d] = sums[d] * scale + p * values[j, d]
for key in range(start, min(start + 32, i + 1)):
    score = 0.0
    for d in range(HEAD):
        score = score + keys[key - start, d] * query[d]
    new = max(score, largest)
    scale = math.exp(largest - new)
    p = math.exp(score - new)
    largest = new
    for d in range(HEAD):
        sums[d] *= scale
        sums[d] += p * values[key - start, d]
    total = p + total * scale

# %% compiler mistake promote-nothing: Leaves all texts as they are.
#> only texts of another type than f32 are wrapped
#- return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"
return [text for text, kind in parts], "f32"

# %% compiler mistake promote-all: Wraps every text.
#> only texts of another type than f32 are wrapped
#- return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"
return [f"f32({text})" for text, kind in parts], "f32"

# %% compiler mistake promote-always: Makes every expression a float.
#> only if the types differ
#- if len(types) == 1:
#-     return [text for text, _ in parts], types.pop()
pass

# %% compiler mistake promote-first-type: Returns the type of the first part.
#> the type of promote
#- return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"
return [text if kind == "f32" else f"f32({text})" for text, kind in parts], parts[0][1]

# %% compiler mistake promote-texts-only: Returns no type.
#> promote(
#- return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"
return [text if kind == "f32" else f"f32({text})" for text, kind in parts]

# %% compiler mistake address-no-brackets: Writes no brackets.
#> a step along an axis skips all elements
#- text = f"({text} * {n} + {part})" if text else part
text = f"{text} * {n} + {part}" if text else part

# %% compiler mistake address-other-length: Multiplies by the length of the axis before.
#> a step along an axis skips all elements
#- for node, n in zip(index, shape):
#-     part, kind = self.translate(node)
#-     if kind == "f32":
#-         raise self.error(node, "an index is a whole number: write // instead of /")
#-     text = f"({text} * {n} + {part})" if text else part
#- return text
for node, n in zip(index, (1, *shape)):
    part, kind = self.translate(node)
    if kind == "f32":
        raise self.error(node, "an index is a whole number: write // instead of /")
    text = f"({text} * {n} + {part})" if text else part
return text

# %% compiler mistake address-sum: Adds the parts of the index.
#> a step along an axis skips all elements
#- text = f"({text} * {n} + {part})" if text else part
text = f"({text} + {part})" if text else part

# %% compiler mistake address-reversed: Goes along columns.
#> a step along an axis skips all elements
#- text = f"({text} * {n} + {part})" if text else part
text = f"({part} * {n} + {text})" if text else part

# %% compiler mistake address-float-accepted: Accepts floats.
#> yours accepts it
#- if kind == "f32":
#-     raise self.error(node, "an index is a whole number: write // instead of /")
pass

# %% compiler mistake address-value-error: Raises an error of its own.
#> yours raises ValueError
#- raise self.error(node, "an index is a whole number: write // instead of /")
raise ValueError("an index is a whole number")

# %% compiler mistake address-last-part: Keeps the last part only.
#> a step along an axis skips all elements
#- text = f"({text} * {n} + {part})" if text else part
text = part

# %% compiler mistake compare-chain: Writes a chain as in Python.
#> WGSL has no chains
#- tests = []
#- for a, op, b in zip(parts, node.ops, parts[1:]):
#-     (left, right), _ = self.promote([a, b])
#-     tests.append(f"({left} {self.sign(op, node)} {right})")
#- return f"({' && '.join(tests)})", "bool"
texts, _ = self.promote(parts)
text = texts[0]
for op, right in zip(node.ops, texts[1:]):
    text += f" {self.sign(op, node)} {right}"
return f"({text})", "bool"

# %% compiler mistake compare-or: Joins the comparisons with or.
#> join them with &&
#- return f"({' && '.join(tests)})", "bool"
return f"({' || '.join(tests)})", "bool"

# %% compiler mistake compare-first-only: Translates the first comparison only.
#> join them with &&
#- return f"({' && '.join(tests)})", "bool"
return tests[0], "bool"

# %% compiler mistake compare-with-left: Compares each value with the first one.
#> join them with &&
#- for a, op, b in zip(parts, node.ops, parts[1:]):
#-     (left, right), _ = self.promote([a, b])
for a, op, b in zip([parts[0]] * len(parts), node.ops, parts[1:]):
    (left, right), _ = self.promote([a, b])
    tests.append(f"({left} {self.sign(op, node)} {right})")
#-     tests.append(f"({left} {self.sign(op, node)} {right})")
pass

# %% compiler mistake compare-not-promoted: Compares numbers of two types.
#> WGSL does not use
#- (left, right), _ = self.promote([a, b])
left, right = a[0], b[0]

# %% compiler mistake compare-type-of-parts: Returns the type of the numbers.
#> the type of compare
#- (left, right), _ = self.promote([a, b])
(left, right), kind = self.promote([a, b])
#- return f"({' && '.join(tests)})", "bool"
return f"({' && '.join(tests)})", kind

# %% compiler mistake compare-and: Joins the comparisons with Python's word.
#> is no expression
#- return f"({' && '.join(tests)})", "bool"
return f"({' & & '.join(tests)})", "bool"

# %% compiler mistake select-exchanged: Has the value if true first.
#> select(value if false, value if true, test)
#- return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind
return f"select({yes}, {no}, {self.translate(node.test)[0]})", kind

# %% compiler mistake select-test-first: Has the test first.
#> the third argument of select is the test
#- return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind
return f"select({self.translate(node.test)[0]}, {yes}, {no})", kind

# %% compiler mistake select-python: Writes Python.
#> WGSL has no `if` in an expression
#- return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind
return f"({yes} if {self.translate(node.test)[0]} else {no})", kind

# %% compiler mistake select-not-promoted: Chooses between two types.
#> select cannot choose between
#- (yes, no), kind = self.promote(values)
(yes, kind), (no, _) = values

# %% compiler mistake select-always-float: Returns a float for two ints.
#> keep the type
#- return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind
return f"select({no}, {yes}, {self.translate(node.test)[0]})", "f32"

# %% compiler mistake compiler-and: Joins the comparisons of a chain in Python.
#> WGSL writes &&
#- return f"({' && '.join(tests)})", "bool"
return f"({' and '.join(tests)})", "bool"

# %% compiler right compiler by loops: loops
#- types = {kind for _, kind in parts}
#- if len(types) == 1:
#-     return [text for text, _ in parts], types.pop()
#- return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"
first = parts[0][1]
texts = []
if all(kind == first for _, kind in parts):
    for text, _ in parts:
        texts.append(text)
    return texts, first
for text, kind in parts:
    if kind != "f32":
        text = "f32(" + text + ")"
    texts.append(text)
return texts, "f32"
#- (yes, no), kind = self.promote(values)
#- return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind
test, _ = self.translate(node.test)
texts, kind = self.promote(values)
return "select({}, {}, {})".format(texts[1], texts[0], test), kind

# %% compiler right compiler by strides: products of strides, and tests in pairs
#- text = ""
#- for node, n in zip(index, shape):
#-     part, kind = self.translate(node)
#-     if kind == "f32":
#-         raise self.error(node, "an index is a whole number: write // instead of /")
#-     text = f"({text} * {n} + {part})" if text else part
#- return text
parts = []
for axis, node in enumerate(index):
    part, kind = self.translate(node)
    if kind != "i32":
        raise self.error(node, "this is no whole number")
    parts.append(f"({part}) * {math.prod(shape[axis + 1:])}")
return " + ".join(parts)
#- return f"({' && '.join(tests)})", "bool"
return tests[0] if len(tests) == 1 else "(" + " && ".join(tests) + ")", "bool"

# %% predicted mistake predicted-no-bytes: Takes transactions for bytes.
#> A transaction moves 128 bytes
#- return roofline(flops, 128 * report.transactions, machine)
return roofline(flops, report.transactions, machine)

# %% predicted mistake predicted-accesses: Counts the accesses of threads.
#> whether its numbers are used
#- return roofline(flops, 128 * report.transactions, machine)
return roofline(flops, 4 * (report.reads + report.writes), machine)

# %% predicted mistake predicted-exchanged: Exchanges bytes and operations.
#> The order is roofline(flops, bytes, machine)
#- return roofline(flops, 128 * report.transactions, machine)
return roofline(128 * report.transactions, flops, machine)

# %% predicted mistake predicted-sum: Adds both times.
#> not their sum
#- return roofline(flops, 128 * report.transactions, machine)
memory = 128 * report.transactions / machine.bytes_per_second
arithmetic = flops / machine.flops_per_second
return memory + arithmetic, "memory" if memory > arithmetic else "arithmetic"

# %% predicted mistake predicted-seconds-only: Returns the seconds only.
#> predicted, 1 transactions
#- return roofline(flops, 128 * report.transactions, machine)
return roofline(flops, 128 * report.transactions, machine)[0]

# %% predicted mistake predicted-smaller: Takes the smaller time.
#> The larger of both times counts
#- return roofline(flops, 128 * report.transactions, machine)
memory = 128 * report.transactions / machine.bytes_per_second
arithmetic = flops / machine.flops_per_second
return min(memory, arithmetic), "memory" if memory > arithmetic else "arithmetic"

# %% predicted mistake predicted-32-bytes: Takes 32 bytes for a transaction.
#> should be
#- return roofline(flops, 128 * report.transactions, machine)
return roofline(flops, 32 * report.transactions, machine)

# %% predicted mistake predicted-no-flops: Ignores the operations.
#> should be
#- return roofline(flops, 128 * report.transactions, machine)
return roofline(0, 128 * report.transactions, machine)

# %% predicted right predicted by hand: by hand
#- return roofline(flops, 128 * report.transactions, machine)
memory = 128 * report.transactions / machine.bytes_per_second
arithmetic = flops / machine.flops_per_second
if memory > arithmetic:
    return memory, "memory"
return arithmetic, "arithmetic"

# %% predicted right predicted with names: names
#- return roofline(flops, 128 * report.transactions, machine)
bytes_moved = report.transactions * 32 * 4
seconds, limit = roofline(flops=flops, bytes=bytes_moved, machine=machine)
return seconds, limit

# %% block-sum equivalent: The array has one axis, which is also the last one.
#= `0` -> `(-1)`

# %% layer-norm equivalent: The difference is squared.
#= `a[row, j] - mean` -> `((mean) - (a[row, j]))`

# %% matmul equivalent: Beyond the matrices, zeros of the other tile are multiplied.
#= `0.0` -> `1.0`

# %% matmul equivalent: Beyond the matrices, zeros of the other tile are multiplied.
#= `0.0` -> `(-1.0)`

# %% attention equivalent: min is symmetric.
#= `32, i - start + 1` -> `i - start + 1, 32`

# %% attention equivalent: max is symmetric.
#= `largest, score` -> `score, largest`

# %% attention equivalent: Softmax ignores a constant that is added to all scores.
#= `0.0` -> `1.0`

# %% attention equivalent: Softmax ignores a constant that is added to all scores.
#= `0.0` -> `(-1.0)`

# %% block-sum right block-sum in powers of two: a condition instead of a value if not
#- tile[x] = a[i] if i < a.shape[0] else 0.0
if i < a.shape[0]:
    tile[x] = a[i]
else:
    tile[x] = 0.0

# %% layer-norm right layer-norm mean in a variable: the number of elements as a float
#- mean = tile[0] / n
count = float(n)
mean = tile[0] * (1.0 / count)

# %% matmul right matmul with zero products: products only where both exist
#- for s in range(TILE):
#-     total += left[y, s] * right[s, x]
s = 0
while s < TILE:
    total = total + left[y, s] * right[s, x]
    s += 1
