# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% scale mistake scale-takes-the-largest-number-instead-of: Takes the largest number instead
# of the largest absolute value.
#> take absolute values first
#- largest = np.abs(x).max(axis, keepdims=axis is not None)
largest = np.asarray(x).max(axis, keepdims=axis is not None)

# %% scale mistake scale-divides-by-2bits-1-the-number: Divides by 2^(bits - 1), the number of
# negative integers.
#> not by 2^(bits - 1)
#- scale = largest / (2 ** (bits - 1) - 1)
scale = largest / 2 ** (bits - 1)

# %% scale mistake scale-divides-by-2bits-1-the-number-2: Divides by 2^bits - 1, the number of
# steps.
#> There are integers on both sides of 0
#- scale = largest / (2 ** (bits - 1) - 1)
scale = largest / (2**bits - 1)

# %% scale mistake scale-always-computes-the-scale-for-8: Always computes the scale for 8 bits.
#> The number of bits is an argument
#- scale = largest / (2 ** (bits - 1) - 1)
scale = largest / 127

# %% scale mistake scale-divides-the-range-between-the-smallest: Divides the range between the
# smallest and the largest number.
#> the range is symmetric
largest = np.max(x, axis, keepdims=axis is not None) - np.min(x, axis, keepdims=axis is not None)
scale = largest / (2**bits - 1)
return np.where(largest > 0, scale, 1).astype(np.float32)

# %% scale mistake scale-returns-how-many-integers-there-are: Returns how many integers there
# are per unit.
#> the scale of
#- scale = largest / (2 ** (bits - 1) - 1)
scale = (2 ** (bits - 1) - 1) / largest

# %% scale mistake scale-loses-the-reduced-axis: Loses the reduced axis.
#> keepdims=True
#- largest = np.abs(x).max(axis, keepdims=axis is not None)
largest = np.abs(x).max(axis, keepdims=False)

# %% scale mistake scale-ignores-the-axis: Ignores the axis.
#> with 4 bits and axis
#- largest = np.abs(x).max(axis, keepdims=axis is not None)
largest = np.abs(x).max()

# %% scale mistake scale-keeps-all-axes-even-for-one: Keeps all axes even for one scale.
#> should have shape ()
#- largest = np.abs(x).max(axis, keepdims=axis is not None)
largest = np.abs(x).max(axis, keepdims=True)

# %% scale mistake scale-returns-0-for-zeros: Returns 0 for zeros.
#> A scale of 0 makes x / scale nan
#- return np.where(largest > 0, scale, 1).astype(np.float32)
return np.float32(scale)

# %% scale mistake scale-avoids-0-with-a-small-number: Avoids 0 with a small number instead of
# 1.
#> the scale is 1
#- return np.where(largest > 0, scale, 1).astype(np.float32)
return np.maximum(scale, 1e-8).astype(np.float32)

# %% scale mistake scale-returns-float64: Returns float64.
#> should be float32
#- return np.where(largest > 0, scale, 1).astype(np.float32)
return np.where(largest > 0, scale, 1) * np.float64(1)

# %% scale mistake scale-uses-1-everywhere-if-there-is: Uses 1 everywhere if there is a zero
# somewhere.
#> A scale of 0
#- return np.where(largest > 0, scale, 1).astype(np.float32)
return np.float32(scale if np.all(largest > 0) else np.ones_like(scale))

# %% scale mistake scale-takes-the-root-mean-square-instead: Takes the root mean square instead
# of the maximum.
#> the scale of
#- largest = np.abs(x).max(axis, keepdims=axis is not None)
largest = np.sqrt(np.mean(np.square(x), axis, keepdims=axis is not None))

# %% scale right scale-right-with-a-condition-for-zeros: with a condition for zeros
#- return np.where(largest > 0, scale, 1).astype(np.float32)
return np.float32(scale + (largest == 0))

# %% scale right scale-right-from-maximum-and-minimum: from maximum and minimum
#- largest = np.abs(x).max(axis, keepdims=axis is not None)
keep = axis is not None
largest = np.maximum(np.max(x, axis, keepdims=keep), -np.min(x, axis, keepdims=keep))

# %% scale right scale-right-with-npdivide-and-its-condition: with np.divide and its condition
largest = np.abs(x).max(axis, keepdims=axis is not None)
one = np.ones(np.shape(largest), np.float32)
return np.divide(largest, 2 ** (bits - 1) - 1, out=one, where=np.asarray(largest) > 0, casting="unsafe")

# %% quantize mistake quantize-cuts-the-decimals-off: Cuts the decimals off.
#> cuts off the decimals
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.trunc(x / scale) + zero_point, low, high)

# %% quantize mistake quantize-rounds-down: Rounds down.
#> np.floor goes down
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.floor(x / scale) + zero_point, low, high)

# %% quantize mistake quantize-rounds-halves-up: Rounds halves up.
#> halves are rounded to the even integer
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.floor(x / scale + 0.5) + zero_point, low, high)

# %% quantize mistake quantize-multiplies-by-the-scale: Multiplies by the scale.
#> Divide by the scale
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x * scale) + zero_point, low, high)

# %% quantize mistake quantize-uses-128: Uses -128.
#> -128 is not used
#- low, high = (-largest, largest) if signed else (0, 2**bits - 1)
low, high = (-largest - 1, largest) if signed else (0, 2**bits - 1)

# %% quantize mistake quantize-converts-without-clipping: Converts without clipping.
#> clip before the conversion
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.rint(x / scale) + zero_point
q = q.astype(np.int64)

# %% quantize mistake quantize-clips-after-the-conversion: Clips after the conversion.
#> Clip before the conversion
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
#- return q.astype(np.int8 if signed else np.uint8)
q = (np.rint(x / scale) + zero_point).astype(np.int64).astype(np.int8 if signed else np.uint8)
return np.clip(q, low, high)

# %% quantize mistake quantize-clips-to-8-bits-always: Clips to 8 bits always.
#> with 4 bits the signed integers go from
#- largest = 2 ** (bits - 1) - 1
largest = 127

# %% quantize mistake quantize-forgets-the-zero-point: Forgets the zero point.
#> The zero point stands for 0
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x / scale), low, high)

# %% quantize mistake quantize-adds-the-zero-point-after-clipping: Adds the zero point after
# clipping.
#> and before clipping
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x / scale), low, high) + zero_point

# %% quantize mistake quantize-adds-the-zero-point-before-rounding: Adds the zero point before
# rounding.
#> Round first
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x / scale + zero_point), low, high)

# %% quantize mistake quantize-adds-the-zero-point-before-dividing: Adds the zero point before
# dividing.
#> divide x alone
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint((x + zero_point) / scale), low, high)

# %% quantize mistake quantize-uses-the-signed-range-for-unsigned: Uses the signed range for
# unsigned integers.
#> 2^bits - 1
#- low, high = (-largest, largest) if signed else (0, 2**bits - 1)
low, high = (-largest, largest) if signed else (-largest, largest)

# %% quantize mistake quantize-uses-half-of-the-unsigned-range: Uses half of the unsigned range.
#> Unsigned integers go up to
#- low, high = (-largest, largest) if signed else (0, 2**bits - 1)
low, high = (-largest, largest) if signed else (0, largest)

# %% quantize mistake quantize-uses-2bits-as-the-largest-unsigned: Uses 2^bits as the largest
# unsigned integer.
#> quantize([
#- low, high = (-largest, largest) if signed else (0, 2**bits - 1)
low, high = (-largest, largest) if signed else (0, 2**bits)

# %% quantize mistake quantize-returns-int8-for-unsigned-integers: Returns int8 for unsigned
# integers.
#> uint8
#- return q.astype(np.int8 if signed else np.uint8)
return q.astype(np.int8)

# %% quantize mistake quantize-returns-floats: Returns floats.
#> should be int8
#- return q.astype(np.int8 if signed else np.uint8)
return q

# %% quantize mistake quantize-takes-the-first-scale-for-all: Takes the first scale for all
# columns.
#> each column has its own scale
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x / np.ravel(scale)[0]) + zero_point, low, high)

# %% quantize mistake quantize-dequantizes-without-the-zero-point: Dequantizes without the zero
# point.
#> dequantize([7, 13, 23]
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
return np.float32(q) * np.float32(scale)

# %% quantize mistake quantize-subtracts-the-zero-point-in-the: Subtracts the zero point in the
# small integer type.
#> is not in the range of
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
return (q - q.dtype.type(zero_point)) * np.float32(scale)

# %% quantize mistake quantize-subtracts-the-zero-point-after-multiplying: Subtracts the zero
# point after multiplying.
#> before multiplying
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
return np.float32(q) * np.float32(scale) - np.float32(zero_point)

# %% quantize mistake quantize-divides-by-the-scale-when-dequantizing: Divides by the scale when
# dequantizing.
#> dequantize
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
return (np.float32(q) - np.float32(zero_point)) / np.float32(scale)

# %% quantize mistake quantize-returns-float64-for-a-float64-scale: Returns float64 for a
# float64 scale.
#> should be float32
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
return (np.float32(q) - np.float32(zero_point)) * np.float64(scale)

# %% quantize mistake quantize-adds-the-zero-point-when-dequantizing: Adds the zero point when
# dequantizing.
#> dequantize
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
return (np.float32(q) + np.float32(zero_point)) * np.float32(scale)

# %% quantize right quantize-right-with-npround-minimum-and-maximum: with np.round, minimum and
# maximum
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.minimum(np.maximum(np.round(x / scale) + zero_point, low), high)

# %% quantize right quantize-right-clips-to-shifted-limits-before: clips to shifted limits
# before adding the zero point
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(np.divide(x, scale)), low - zero_point, high - zero_point) + zero_point

# %% quantize right quantize-right-dequantizes-with-astype-and-wide: dequantizes with astype and
# wide integers
#- return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
steps = np.asarray(q).astype(np.int64) - zero_point
return (steps * np.asarray(scale, np.float32)).astype(np.float32)

# %% groups mistake groups-computes-one-scale-for-each-row: Computes one scale for each row.
#> scales belong to columns
#- scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
scales = [symmetric_scale(w[i : i + group], bits, axis=1) for i in range(0, len(w), group)]

# %% groups mistake groups-computes-one-scale-for-each-group: Computes one scale for each group.
#> group_scales([[1, 70], [7, 7], [-14, 0]], bits=4)
#- scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
scales = [symmetric_scale(w[i : i + group], bits)[None, None] for i in range(0, len(w), group)]

# %% groups mistake groups-takes-every-groupth-row-instead-of: Takes every group-th row instead
# of neighbouring rows.
#> rows that follow each other
#- scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
parts = -(-len(w) // group)
scales = [symmetric_scale(w[i::parts], bits, axis=0) for i in range(parts)]

# %% groups mistake groups-drops-an-incomplete-group: Drops an incomplete group.
#> groups of 2
#- scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w) - group + 1, group)]

# %% groups mistake groups-reshapes-which-needs-a-divisor: Reshapes, which needs a divisor.
#> 5 is 2 + 2 + 1
#- scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
scales = symmetric_scale(w.reshape(-1, group, w.shape[1]), bits, axis=1)
scales = list(scales)

# %% groups mistake groups-returns-float32: Returns float32.
#> should be float16
#- return np.maximum(np.concatenate(scales), SMALLEST).astype(np.float16)
return np.maximum(np.concatenate(scales), SMALLEST)

# %% groups mistake groups-lets-tiny-scales-become-0: Lets tiny scales become 0.
#> below 2^-24
#- return np.maximum(np.concatenate(scales), SMALLEST).astype(np.float16)
return np.concatenate(scales).astype(np.float16)

# %% groups mistake groups-ignores-the-number-of-bits: Ignores the number of bits.
#> The number of bits is an argument
#- scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
scales = [symmetric_scale(w[i : i + group], axis=0) for i in range(0, len(w), group)]

# %% groups mistake groups-ignores-group: Ignores group.
#> the scales of 5 rows in groups of 2
#- group = len(w) if group is None else group
group = len(w)

# %% groups mistake groups-treats-the-group-as-a-number: Treats the group as a number of groups.
#> the scales of 5 rows in groups of 2
#- group = len(w) if group is None else group
group = len(w) if group is None else -(-len(w) // group)

# %% groups mistake groups-repeats-each-scale-for-each-of: Repeats each scale for each of its
# rows.
#> group_scales([[1, 70], [7, 7], [-14, 0]], bits=4)
#- return np.maximum(np.concatenate(scales), SMALLEST).astype(np.float16)
return np.maximum(np.repeat(np.concatenate(scales), group, axis=0), SMALLEST).astype(np.float16)

# %% groups right groups-right-fills-an-array-in-a: fills an array in a loop
group = len(w) if group is None else group
count = (len(w) + group - 1) // group
out = np.zeros((count, w.shape[1]), np.float16)
for i in range(count):
    part = symmetric_scale(w[i * group : (i + 1) * group], bits, axis=0)
    out[i] = np.maximum(part[0], SMALLEST)
return out

# %% groups right groups-right-pads-with-zeros-and-reshapes: pads with zeros and reshapes
group = len(w) if group is None else group
padded = np.pad(w, ((0, -len(w) % group), (0, 0)))
scales = symmetric_scale(padded.reshape(-1, group, w.shape[1]), bits, axis=1)[:, 0]
return np.float16(np.maximum(scales, SMALLEST))

# %% pack4 mistake pack4-puts-the-first-number-into-the: Puts the first number into the upper
# half.
#> belongs into the lower four bits
#- return nibbles[0::2] | nibbles[1::2] << 4
return nibbles[1::2] | nibbles[0::2] << 4

# %% pack4 mistake pack4-forgets-to-keep-only-four-bits: Forgets to keep only four bits of
# negative numbers.
#> keep the last four
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.int8).view(np.uint8)

# %% pack4 mistake pack4-changes-the-numbers-in-place: Changes the numbers that it was given.
#> pack4 changes its argument q
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
q &= 15
nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8)

# %% pack4 mistake pack4-pairs-the-first-half-of-the: Pairs the first half of the numbers with
# the second half.
#> which follow each other
#- return nibbles[0::2] | nibbles[1::2] << 4
half = len(nibbles) // 2
return nibbles[:half] | nibbles[half:] << 4

# %% pack4 mistake pack4-fails-for-an-odd-number-of: Fails for an odd number of values.
#> without a partner
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
nibbles = q.astype(np.uint8) & 15

# %% pack4 mistake pack4-drops-the-last-of-an-odd: Drops the last of an odd number of values.
#> pack4([5, -3, 7])
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
nibbles = q[: len(q) // 2 * 2].astype(np.uint8) & 15

# %% pack4 mistake pack4-shifts-by-3: Shifts by 3.
#> pack4([5, -3])
#- return nibbles[0::2] | nibbles[1::2] << 4
return nibbles[0::2] | nibbles[1::2] << 3

# %% pack4 mistake pack4-adds-an-offset-of-8-instead: Adds an offset of 8 instead of two's
# complement.
#> pack4([5, -3])
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
nibbles = np.append(q + 8, [8] * (len(q) % 2)).astype(np.uint8)

# %% pack4 mistake pack4-writes-the-sign-into-the-highest: Writes the sign into the highest bit.
#> pack4([5, -3])
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
q = np.append(q, np.zeros(len(q) % 2, np.int8))
nibbles = (np.abs(q) + (q < 0) * 8).astype(np.uint8) & 15

# %% pack4 mistake pack4-unpacks-without-the-sign: Unpacks without the sign.
#> subtract 16
#- return np.where(nibbles > 7, nibbles - 16, nibbles)
return nibbles

# %% pack4 mistake pack4-unpacks-the-upper-half-first: Unpacks the upper half first.
#> is in the lower four bits
#- nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
nibbles = np.stack([p >> 4, p & 15], axis=1).ravel()[:n].astype(np.int8)

# %% pack4 mistake pack4-unpacks-all-lower-halves-first: Unpacks all lower halves first.
#> unpack4([143, 7], 4)
#- nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
nibbles = np.stack([p & 15, p >> 4], axis=0).ravel()[:n].astype(np.int8)

# %% pack4 mistake pack4-returns-the-last-number-of-an: Returns the last number of an odd count
# too.
#> Return the first n numbers
#- nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
nibbles = np.stack([p & 15, p >> 4], axis=1).ravel().astype(np.int8)

# %% pack4 mistake pack4-returns-uint8-so-that-3-becomes: Returns uint8, so that -3 becomes 253.
#> unpack4
#- return np.where(nibbles > 7, nibbles - 16, nibbles)
return np.where(nibbles > 7, nibbles - 16, nibbles).astype(np.uint8)

# %% pack4 mistake pack4-unpacks-with-an-offset-of-8: Unpacks with an offset of 8.
#> unpack4
#- return np.where(nibbles > 7, nibbles - 16, nibbles)
return nibbles - 8

# %% pack4 mistake pack4-treats-8-as-a-positive-number: Treats 8 as a positive number.
#> 8 stands for -8
#- return np.where(nibbles > 7, nibbles - 16, nibbles)
return np.where(nibbles > 8, nibbles - 16, nibbles)

# %% pack4 right pack4-right-multiplies-by-16-and-adds: multiplies by 16 and adds
#- return nibbles[0::2] | nibbles[1::2] << 4
return (nibbles[1::2] * 16 + nibbles[0::2]).astype(np.uint8)

# %% pack4 right pack4-right-packs-in-a-python-loop: packs in a Python loop
#- nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
#- return nibbles[0::2] | nibbles[1::2] << 4
out = np.zeros((len(q) + 1) // 2, np.uint8)
for i, value in enumerate(q.tolist()):
    out[i // 2] += (value % 16) << 4 * (i % 2)
return out

# %% pack4 right pack4-right-unpacks-into-an-array-by: unpacks into an array by strides
#- nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
#- return np.where(nibbles > 7, nibbles - 16, nibbles)
out = np.zeros(2 * len(p), np.int8)
out[0::2], out[1::2] = p % 16, p // 16
out[out >= 8] -= 16
return out[:n]

# %% pack4 right pack4-right-extends-the-sign-by-shifting: extends the sign by shifting left and
# right
#- nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
#- return np.where(nibbles > 7, nibbles - 16, nibbles)
low = (p << 4).view(np.int8) >> 4
high = p.view(np.int8) >> 4
return np.stack([low, high], axis=-1).reshape(-1)[:n]

# %% matrix mistake matrix-packs-the-integers-column-by-column: Packs the integers column by
# column.
#> packed row by row
#- self.register_buffer("packed", pack(q.ravel(), bits))
self.register_buffer("packed", pack(q.T.ravel(), bits))

# %% matrix mistake matrix-stores-the-integers-unpacked: Stores the integers unpacked.
#> pack(q, bits)
#- self.register_buffer("packed", pack(q.ravel(), bits))
self.register_buffer("packed", q.ravel().view(np.uint8))

# %% matrix mistake matrix-rounds-to-8-bits: Rounds to 8 bits.
#> round with the number of bits
#- q = quantize(w, per_row(scale, group, len(w)), bits=bits)
q = quantize(w, per_row(scale, group, len(w)))

# %% matrix mistake matrix-stores-the-scales-as-float32: Stores the scales as float32.
#> should be 'float16'
#- self.register_buffer("scale", scale)
self.register_buffer("scale", np.float32(scale))

# %% matrix mistake matrix-stores-plain-attributes-which-are-not: Stores plain attributes, which
# are not saved.
#> register_buffer
#- self.register_buffer("packed", pack(q.ravel(), bits))
#- self.register_buffer("scale", scale)
self.packed, self.scale = pack(q.ravel(), bits), scale

# %% matrix mistake matrix-keeps-the-float-matrix-as-well: Keeps the float matrix as well.
#> the names in the state dict
#- self.register_buffer("scale", scale)
self.register_buffer("original", w)
self.register_buffer("scale", scale)

# %% matrix mistake matrix-keeps-the-unpacked-integers: Keeps the unpacked integers, and
# dequantizes them.
#> the new scales with the old integers
#- self.register_buffer("scale", scale)
#- ### END SOLUTION
self.register_buffer("scale", scale)
self.q = q
#- """The rounded matrix, a float32 array (k, n), computed from .packed and .scale."""

#- ### BEGIN SOLUTION
#- q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
q = self.q

# %% matrix mistake matrix-computes-the-matrix-only-once: Computes the rounded matrix only once.
#> keep nothing else
#- q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
#- return dequantize(q, per_row(self.scale.data, self.group, k))
if not hasattr(self, "cache"):
    q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
    self.cache = dequantize(q, per_row(self.scale.data, self.group, k))
return self.cache

# %% matrix mistake matrix-packs-a-matrix: Packs the matrix without making it flat.
#> pack takes an array (n,)
#- self.register_buffer("packed", pack(q.ravel(), bits))
self.register_buffer("packed", pack(q, bits))

# %% matrix mistake matrix-makes-the-scales-a-parameter: Makes the scales a parameter.
#> buffers do not learn
#- self.register_buffer("scale", scale)
self.scale = Tensor(scale, requires_grad=True)

# %% matrix mistake matrix-rounds-with-exact-scales-and-stores: Rounds with exact scales and
# stores float16 ones.
#> the float16 scales that are stored
#- q = quantize(w, per_row(scale, group, len(w)), bits=bits)
exact = [symmetric_scale(w[i : i + (group or len(w))], bits, axis=0) for i in range(0, len(w), group or len(w))]
q = quantize(w, per_row(np.concatenate(exact), group, len(w)), bits=bits)

# %% matrix mistake matrix-ignores-the-inputs: Ignores the inputs.
#> use gptq for given inputs
#- if inputs is not None:
#-     w = gptq(w, inputs, bits, group)
pass

# %% matrix mistake matrix-computes-the-scales-after-gptq: Computes the scales after gptq.
#> The scales are those of the original w
#- scale = group_scales(w, bits, group)
#- if inputs is not None:
#-     w = gptq(w, inputs, bits, group)
if inputs is not None:
    w = gptq(w, inputs, bits, group)
scale = group_scales(w, bits, group)

# %% matrix mistake matrix-calls-gptq-and-does-not-use: Calls gptq and does not use its result.
#> gptq's result should be rounded
#- w = gptq(w, inputs, bits, group)
gptq(w, inputs, bits, group)

# %% matrix mistake matrix-calls-gptq-without-the-group: Calls gptq without the group.
#> bits and group that
#- w = gptq(w, inputs, bits, group)
w = gptq(w, inputs, bits)

# %% matrix mistake matrix-calls-gptq-also-without-inputs: Calls gptq also without inputs.
#> without inputs, round
#- if inputs is not None:
#-     w = gptq(w, inputs, bits, group)
w = gptq(w, inputs, bits, group)

# %% matrix mistake matrix-dequantizes-without-the-scales-of-the: Dequantizes without the scales
# of the groups.
#> dequantize of QuantizedMatrix
#- return dequantize(q, per_row(self.scale.data, self.group, k))
return dequantize(q, np.float32(self.scale.data[:1]))

# %% matrix mistake matrix-reshapes-to-n-k: Reshapes to (n, k).
#> dequantize of QuantizedMatrix
#- q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
q = unpack(self.packed.data, k * n, self.bits).reshape(n, k).T

# %% matrix mistake matrix-ignores-the-group-when-computing-scales: Ignores the group when
# computing scales.
#> pass the group to group_scales
#- scale = group_scales(w, bits, group)
scale = group_scales(w, bits)

# %% matrix mistake matrix-returns-the-integers: Returns the integers.
#> dequantize of QuantizedMatrix
#- return dequantize(q, per_row(self.scale.data, self.group, k))
return np.float32(q)

# %% matrix right matrix-right-with-a-list-of-layers: with a list of layers' steps in one
# expression
#- q = quantize(w, per_row(scale, group, len(w)), bits=bits)
#- self.register_buffer("packed", pack(q.ravel(), bits))
#- self.register_buffer("scale", scale)
each = per_row(scale, group, self.shape[0])
integers = quantize(w, each, bits=bits).flatten()
self.register_buffer("scale", Tensor(scale))
self.register_buffer("packed", Tensor(pack(integers, bits)))

# %% matrix right matrix-right-multiplies-the-reshaped-integers-itself: multiplies the reshaped
# integers itself
#- q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
#- return dequantize(q, per_row(self.scale.data, self.group, k))
scale = self.scale.numpy().astype(np.float32)
group = self.group or k
q = unpack(self.packed.numpy(), k * n, self.bits)
out = q.reshape(k, n).astype(np.float32)
for i in range(k):
    out[i] *= scale[i // group]
return out

# %% layer mistake layer-leaves-out-the-bias: Leaves out the bias.
#> The bias is missing
#- return linear(as_float_tensor(x), self.weights, self.bias)
return linear(as_float_tensor(x), self.weights)

# %% layer mistake layer-ignores-the-bits: Ignores the bits.
#> of x (
#- layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)
layer.matrix = QuantizedMatrix(dense.weights.data, 8, group, inputs)

# %% layer mistake layer-ignores-the-group: Ignores the group.
#> of x (
#- layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)
layer.matrix = QuantizedMatrix(dense.weights.data, bits, None, inputs)

# %% layer mistake layer-ignores-the-inputs: Ignores the inputs.
#> pass the inputs on
#- layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)
layer.matrix = QuantizedMatrix(dense.weights.data, bits, group)

# %% layer mistake layer-shares-the-bias-with-the-original: Shares the bias with the original.
#> copy the bias
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
layer.bias = dense.bias

# %% layer mistake layer-fails-without-a-bias: Fails without a bias.
#> dense.bias may be None
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
layer.bias = Tensor(dense.bias.data)

# %% layer mistake layer-keeps-the-bias-learnable: Keeps the bias learnable.
#> requires no gradient
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
layer.bias = None if dense.bias is None else Tensor(dense.bias, requires_grad=True)

# %% layer mistake layer-keeps-the-bias-as-an-array: Keeps the bias as an array, which is not
# saved.
#> the type of .bias
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
layer.bias = None if dense.bias is None else dense.bias.data.copy()

# %% layer mistake layer-returns-the-original-layer: Returns the original layer.
#> what from_float returns
#- layer = cls()
#- layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)
return dense
layer = cls()
layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)

# %% layer mistake layer-forgets-to-return-the-layer: Forgets to return the layer.
#> what from_float returns
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
#- return layer
layer.bias = None if dense.bias is None else Tensor(dense.bias)

# %% layer mistake layer-uses-arrays-so-that-no-gradient: Uses arrays, so that no gradient
# reaches x.
#> gets no gradient
#- return linear(as_float_tensor(x), self.weights, self.bias)
out = np.asarray(x) @ self.weights.data
return Tensor(out if self.bias is None else out + self.bias.data)

# %% layer mistake layer-transposes-the-weights: Transposes the weights.
#> of x (
#- return linear(as_float_tensor(x), self.weights, self.bias)
return linear(as_float_tensor(x), self.weights.T, self.bias)

# %% layer mistake layer-changes-the-layer-it-was-given: Changes the layer it was given.
#> changed the weights
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
dense.weights.data = layer.matrix.dequantize()
layer.bias = None if dense.bias is None else Tensor(dense.bias)

# %% layer mistake layer-adds-the-bias-twice: Adds the bias twice.
#> of x (
#- return linear(as_float_tensor(x), self.weights, self.bias)
out = linear(as_float_tensor(x), self.weights, self.bias)
return out if self.bias is None else out + self.bias

# %% layer right layer-right-computes-x-weights-itself: computes x @ weights itself
#- return linear(as_float_tensor(x), self.weights, self.bias)
out = as_float_tensor(x) @ self.weights
if self.bias is not None:
    out = out + self.bias
return out

# %% layer right layer-right-copies-the-bias-as-an: copies the bias as an array
#- layer.bias = None if dense.bias is None else Tensor(dense.bias)
layer.bias = None
if dense.bias is not None:
    layer.register_buffer("offset", dense.bias.numpy())
    layer.bias = layer.offset

# %% quantize-model mistake quantize-model-replaces-attributes-of-the-model-which: Replaces
# attributes of the model, which misses lists, dicts and nested layers.
#> Layers can be in lists
inputs = {} if calibration is None else recorded_inputs(model, calibration)
replaced = {}
for path, layer in quantizable(model).items():
    if path not in skip:
        new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
        replaced[path] = new
model = copy.deepcopy(model)
for path, new in replaced.items():
    if "." not in path:
        setattr(model, path, new)
return model

# %% quantize-model mistake quantize-model-uses-the-path-as-the-key: Uses the path as the key of
# the dictionary.
#> Layers can be in lists
#- replaced[id(layer)] = new
replaced[path] = new

# %% quantize-model mistake quantize-model-changes-the-original-model: Changes the original
# model.
#> was changed
inputs = {} if calibration is None else recorded_inputs(model, calibration)
replaced = {}
for path, layer in quantizable(model).items():
    if path not in skip:
        new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
        layer.__class__, layer.__dict__ = type(new), vars(new)
return copy.deepcopy(model)

# %% quantize-model mistake quantize-model-returns-the-model-itself: Returns the model itself.
#> return a copy
inputs = {} if calibration is None else recorded_inputs(model, calibration)
replaced = {}
for path, layer in quantizable(model).items():
    if path not in skip:
        new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
        layer.__class__, layer.__dict__ = type(new), vars(new)
return model

# %% quantize-model mistake quantize-model-ignores-skip: Ignores skip.
#> leave out the paths in skip
#- if path not in skip:
#-     new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
if True:
    new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))

# %% quantize-model mistake quantize-model-quantizes-only-the-layers-in-skip: Quantizes only the
# layers in skip.
#> Layers can be in lists
#- if path not in skip:
#-     new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
if path in skip:
    new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))

# %% quantize-model mistake quantize-model-skips-every-layer-whose-path-begins: Skips every
# layer whose path begins with a path in skip.
#> the whole path of one layer
#- if path not in skip:
#-     new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
if not path.startswith(tuple(skip) or ("?",)):
    new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))

# %% quantize-model mistake quantize-model-puts-the-skipped-layers-themselves-into: Puts the
# skipped layers themselves into the copy.
#> should be copied
#- if path not in skip:
#-     new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
if path in skip:
    replaced[id(layer)] = layer
else:
    new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))

# %% quantize-model mistake quantize-model-ignores-the-group: Ignores the group.
#> pass it on
#- new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
new = QUANTIZED[type(layer)].from_float(layer, bits, None, inputs.get(path))

# %% quantize-model mistake quantize-model-ignores-the-bits: Ignores the bits.
#> the bits of the layers
#- new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
new = QUANTIZED[type(layer)].from_float(layer, 8, group, inputs.get(path))

# %% quantize-model mistake quantize-model-ignores-the-calibration: Ignores the calibration.
#> for which gptq is used
#- inputs = {} if calibration is None else recorded_inputs(model, calibration)
inputs = {}

# %% quantize-model mistake quantize-model-gives-the-calibration-data-itself-to: Gives the
# calibration data itself to each layer.
#> gptq
#- new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
new = QUANTIZED[type(layer)].from_float(layer, bits, group, calibration)

# %% quantize-model mistake quantize-model-gives-every-layer-the-inputs-of: Gives every layer
# the inputs of the first one.
#> inputs of
#- new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
first = next(iter(inputs.values()), None)
x = first if path in inputs else None
x = x if x is None or x.shape[1] == layer.in_features else inputs[path] * 0 + 1
new = QUANTIZED[type(layer)].from_float(layer, bits, group, x)

# %% quantize-model mistake quantize-model-makes-each-layer-a-quantizedlinear: Makes each layer
# a QuantizedLinear.
#> quantize_model of
#- new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
new = QuantizedLinear.from_float(layer, bits, group, inputs.get(path))

# %% quantize-model mistake quantize-model-leaves-embeddings-out: Leaves embeddings out.
#> the types of the layers
#- if path not in skip:
#-     new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
if path not in skip and isinstance(layer, Dense):
    new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))

# %% quantize-model right quantize-model-right-builds-the-dictionary-in-one: builds the
# dictionary in one expression
inputs = {} if calibration is None else recorded_inputs(model, calibration)
layers = {path: layer for path, layer in quantizable(model).items() if path not in set(skip)}
return copy.deepcopy(model, {
    id(layer): QUANTIZED[type(layer)].from_float(layer, bits, group=group, inputs=inputs.get(path))
    for path, layer in layers.items()
})

# %% quantize-model right quantize-model-right-records-inputs-only-if-they: records inputs only
# if they are needed, and skips with continue
#- inputs = {} if calibration is None else recorded_inputs(model, calibration)
inputs = dict.fromkeys(quantizable(model))
if calibration is not None:
    inputs.update(recorded_inputs(model, calibration))
#- if path not in skip:
#-     new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
if path in skip:
    continue
else:
    kind = QUANTIZED[type(layer)]
    new = kind.from_float(layer, bits, group, inputs[path])

# %% size mistake size-counts-4-bytes-for-each-number: Counts 4 bytes for each number.
#> 8 bytes
return sum(4 * part.data.size for _, part in traverse(model) if isinstance(part, Tensor))

# %% size mistake size-counts-numbers-not-bytes: Counts numbers, not bytes.
#> 650 numbers of 4 bytes
return sum(part.data.size for _, part in traverse(model) if isinstance(part, Tensor))

# %% size mistake size-counts-parameters-only: Counts parameters only.
#> count buffers
return sum(p.data.nbytes for p in model.parameters())

# %% size mistake size-counts-buffers-only: Counts buffers only.
#> 650 numbers of 4 bytes
return sum(p.data.nbytes for p in model.buffers())

# %% size mistake size-counts-a-layer-that-is-used: Counts a layer that is used twice twice.
#> is stored once
def walk(thing):
    if isinstance(thing, Tensor):
        return thing.data.nbytes
    if isinstance(thing, Module):
        thing = vars(thing)
    if isinstance(thing, dict):
        thing = list(thing.values())
    return sum(walk(part) for part in thing) if isinstance(thing, (list, tuple)) else 0
return walk(model)

# %% size mistake size-counts-matrices-only: Counts matrices only.
#> 650 numbers of 4 bytes
return sum(part.data.nbytes for _, part in traverse(model) if isinstance(part, Tensor) and part.ndim > 1)

# %% size mistake size-counts-the-integers-without-scales-and: Counts the integers without
# scales and biases.
#> Scales and biases are stored
packed = [part.packed.data.nbytes for _, part in traverse(model) if isinstance(part, QuantizedMatrix)]
return sum(packed) or sum(part.data.nbytes for _, part in traverse(model) if isinstance(part, Tensor))

# %% size mistake size-counts-the-dequantized-matrix: Counts the dequantized matrix.
#> 320 bytes of integers
total = sum(part.data.nbytes for _, part in traverse(model) if isinstance(part, Tensor))
return total + sum(part.dequantize().nbytes for _, part in traverse(model) if isinstance(part, QuantizedMatrix))

# %% size right size-right-adds-up-the-state-dict: adds up the state dict
return sum(array.nbytes for array in model.state_dict().values())

# %% size right size-right-multiplies-size-and-itemsize-in: multiplies size and itemsize in a
# loop
total = 0
for _, part in traverse(model):
    if isinstance(part, Tensor):
        total += part.size * part.dtype.itemsize
return total

# %% sensitivity mistake sensitivity-quantizes-all-layers-but-one: Quantizes all layers but one.
#> That quantizes all other layers
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = score(quantize_model(model, bits, skip=[path], group=group)) - before

# %% sensitivity mistake sensitivity-quantizes-all-layers-each-time: Quantizes all layers each
# time.
#> Quantize this layer alone
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = score(quantize_model(model, bits, group=group)) - before

# %% sensitivity mistake sensitivity-forgets-to-subtract-the-score-of: Forgets to subtract the
# score of the original.
#> Subtract the score
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = score(quantize_model(model, bits, skip=others, group=group))

# %% sensitivity mistake sensitivity-subtracts-the-other-way-round: Subtracts the other way
# round.
#> the other way round
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = before - score(quantize_model(model, bits, skip=others, group=group))

# %% sensitivity mistake sensitivity-skips-the-layer-itself-as-well: Skips the layer itself as
# well.
#> This layer was not quantized
#- others = [other for other in paths if other != path]
others = paths

# %% sensitivity mistake sensitivity-ignores-the-bits: Ignores the bits.
#> with bits=4
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = score(quantize_model(model, 8, skip=others, group=group)) - before

# %% sensitivity mistake sensitivity-ignores-the-group: Ignores the group.
#> with bits=3 and group=2
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = score(quantize_model(model, bits, skip=others)) - before

# %% sensitivity mistake sensitivity-divides-by-the-score-of-the: Divides by the score of the
# original.
#> for a score of 5
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
changes[path] = score(quantize_model(model, bits, skip=others, group=group)) / before - 1

# %% sensitivity mistake sensitivity-sorts-the-paths-by-their-sensitivity: Sorts the paths by
# their sensitivity.
#> the order of the paths
#- return changes
return dict(sorted(changes.items(), key=lambda item: -item[1]))

# %% sensitivity mistake sensitivity-quantizes-one-more-layer-in-each: Quantizes one more layer
# in each step.
#> the sensitivity of
#- others = [other for other in paths if other != path]
others = paths[paths.index(path) + 1 :]

# %% sensitivity right sensitivity-right-in-one-expression-with-sets: in one expression with
# sets
layers, before = quantizable(model), score(model)
return {path: score(quantize_model(model, bits, None, set(layers) - {path}, group)) - before
        for path in layers}

# %% sensitivity right sensitivity-right-calls-the-score-of-the: calls the score of the original
# for each layer
#- changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
small = quantize_model(model, bits, skip=tuple(others), group=group)
changes[path] = score(small) - score(model)

# %% inverse-factor mistake inverse-factor-takes-the-factor-of-h-not: Takes the factor of H, not
# of its inverse.
#> the factor of its inverse is needed
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.cholesky(h).T

# %% inverse-factor mistake inverse-factor-returns-the-inverse: Returns the inverse.
#> take its Cholesky factor
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.inv(h)

# %% inverse-factor mistake inverse-factor-returns-the-lower-triangle: Returns the lower
# triangle.
#> transpose it
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.cholesky(np.linalg.inv(h))

# %% inverse-factor mistake inverse-factor-inverts-the-factor-of-h-which: Inverts the factor of
# H, which is a lower triangle.
#> Invert H first
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.inv(np.linalg.cholesky(h))

# %% inverse-factor mistake inverse-factor-inverts-the-upper-factor-of-h: Inverts the upper
# factor of H, which factorizes the wrong product.
#> Invert H first
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.inv(np.linalg.cholesky(h).T)

# %% inverse-factor mistake inverse-factor-inverts-and-transposes: Inverts the factor of H and
# transposes the result.
#> Invert H first
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.inv(np.linalg.cholesky(h)).T

# %% inverse-factor mistake inverse-factor-averages-over-the-inputs: Averages over the inputs.
#> not the mean
#- h = x.T @ x
h = x.T @ x / len(x)

# %% inverse-factor mistake inverse-factor-multiplies-the-inputs-in-the-wrong: Multiplies the
# inputs in the wrong order.
#> has the shape (k, k)
#- h = x.T @ x
h = x @ x.T

# %% inverse-factor mistake inverse-factor-adds-the-damping-to-every-entry: Adds the damping to
# every entry.
#> on the diagonal only
#- h += damping * np.diag(h).mean() * np.eye(len(h))
h += damping * np.diag(h).mean()

# %% inverse-factor mistake inverse-factor-adds-the-damping-itself: Adds the damping itself.
#> Damping is relative
#- h += damping * np.diag(h).mean() * np.eye(len(h))
h += damping * np.eye(len(h))

# %% inverse-factor mistake inverse-factor-uses-the-mean-of-the-whole: Uses the mean of the
# whole H.
#> not of the whole H
#- h += damping * np.diag(h).mean() * np.eye(len(h))
h += damping * h.mean() * np.eye(len(h))

# %% inverse-factor mistake inverse-factor-leaves-the-damping-out: Leaves the damping out.
#> Add the damping
#- h += damping * np.diag(h).mean() * np.eye(len(h))
pass

# %% inverse-factor mistake inverse-factor-computes-h-in-float32: Computes H in float32.
#> Convert the inputs to float64
h = (x.T @ x).astype(np.float64)
h += damping * np.diag(h).mean() * np.eye(len(h))
return np.linalg.cholesky(np.linalg.inv(h)).T

# %% inverse-factor mistake inverse-factor-returns-float32: Returns float32.
#> should be float64
#- return np.linalg.cholesky(np.linalg.inv(h)).T
return np.linalg.cholesky(np.linalg.inv(h)).T.astype(np.float32)

# %% inverse-factor mistake inverse-factor-uses-the-sum-of-the-diagonal: Uses the sum of the
# diagonal.
#> U.T @ U of
#- h += damping * np.diag(h).mean() * np.eye(len(h))
h += damping * np.trace(h) * np.eye(len(h))

# %% inverse-factor right inverse-factor-right-by-the-reversed-factor-of: by the reversed factor
# of H, without inverting H
#- return np.linalg.cholesky(np.linalg.inv(h)).T
lower = np.linalg.cholesky(h[::-1, ::-1])
return np.linalg.inv(lower[::-1, ::-1])

# %% inverse-factor right inverse-factor-right-adds-to-the-diagonal-by: adds to the diagonal by
# its indices
#- h += damping * np.diag(h).mean() * np.eye(len(h))
at = np.arange(len(h))
h[at, at] += damping * np.trace(h) / len(h)

# %% gptq mistake gptq-rounds-without-moving-the-other-rows: Rounds without moving the other
# rows.
#> plain rounding
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
pass

# %% gptq mistake gptq-rounds-the-original-rows: Rounds the original rows.
#> plain rounding
#- out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
out[i] = dequantize(quantize(w[i], scale[i], bits=bits), scale[i])

# %% gptq mistake gptq-adds-instead-of-subtracting: Adds instead of subtracting.
#> the wrong direction
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
rest[i + 1 :] += np.outer(u[i, i + 1 :], error)

# %% gptq mistake gptq-takes-the-error-the-wrong-way: Takes the error the wrong way round.
#> the wrong direction
#- error = (rest[i] - out[i]) / u[i, i]
error = (out[i] - rest[i]) / u[i, i]

# %% gptq mistake gptq-uses-the-inverse-of-the-whole: Uses the inverse of the whole H in all
# steps.
#> one inverse of the whole H
#- error = (rest[i] - out[i]) / u[i, i]
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
inverse = u.T @ u
error = (rest[i] - out[i]) / inverse[i, i]
rest[i + 1 :] -= np.outer(inverse[i, i + 1 :], error)

# %% gptq mistake gptq-forgets-to-divide-by-the-diagonal: Forgets to divide by the diagonal.
#> Divide the error by U_ii
#- error = (rest[i] - out[i]) / u[i, i]
error = rest[i] - out[i]

# %% gptq mistake gptq-divides-by-the-square-of-the: Divides by the square of the diagonal.
#> gptq(
#- error = (rest[i] - out[i]) / u[i, i]
error = (rest[i] - out[i]) / u[i, i] ** 2

# %% gptq mistake gptq-uses-a-column-of-u-instead: Uses a column of U instead of a row.
#> gptq(
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
rest[i + 1 :] -= np.outer(u[i + 1 :, i], error)

# %% gptq mistake gptq-returns-the-rows-before-they-are: Returns the rows before they are
# rounded.
#> The rounded row must be kept
#- return out
return np.float32(rest)

# %% gptq mistake gptq-computes-new-scales-from-the-moved: Computes new scales from the moved
# rows.
#> computed once
#- out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
scale = per_row(group_scales(rest, bits, group), group, len(w))
out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])

# %% gptq mistake gptq-ignores-the-bits-when-rounding: Ignores the bits when rounding.
#> Pass the number of bits to quantize
#- out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
out[i] = dequantize(quantize(rest[i], scale[i]), scale[i])

# %% gptq mistake gptq-ignores-the-group: Ignores the group.
#> gptq(w (
#- scale = per_row(group_scales(w, bits, group), group, len(w))
scale = per_row(group_scales(w, bits), None, len(w))

# %% gptq mistake gptq-ignores-the-damping: Ignores the damping.
#> damping=3
#- u, rest = inverse_factor(x, damping), np.array(w, np.float64)
u, rest = inverse_factor(x), np.array(w, np.float64)

# %% gptq mistake gptq-changes-the-weights-it-was-given: Changes the weights it was given.
#> gptq changes its argument w
#- u, rest = inverse_factor(x, damping), np.array(w, np.float64)
u, rest = inverse_factor(x, damping), w

# %% gptq mistake gptq-changes-float64-weights-in-place: Takes np.asarray for a copy, and
# changes float64 weights.
#> gptq changes its argument w
#- u, rest = inverse_factor(x, damping), np.array(w, np.float64)
u, rest = inverse_factor(x, damping), np.asarray(w, np.float64)

# %% gptq mistake gptq-keeps-the-rows-in-float32: Keeps the rows in float32.
#> Keep the rows in float64
#- u, rest = inverse_factor(x, damping), np.array(w, np.float64)
u, rest = inverse_factor(x, damping), np.array(w, np.float32)

# %% gptq mistake gptq-returns-float64: Returns float64.
#> should be float32
#- out = np.zeros(rest.shape, np.float32)
out = np.zeros(rest.shape)

# %% gptq mistake gptq-returns-the-integers: Returns the integers.
#> Multiply the integers by their scales
#- out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
out[i] = quantize(rest[i], scale[i], bits=bits)

# %% gptq mistake gptq-goes-through-columns-instead-of-rows: Goes through columns instead of
# rows.
#> gptq(
#- for i in range(len(rest)):
#-     out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
for i in range(min(rest.shape)):
    out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])

# %% gptq mistake gptq-spreads-the-error-evenly-over-the: Spreads the error evenly over the
# later rows.
#> gptq(
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
rest[i + 1 :] -= (out[i] - rest[i]) / max(1, len(rest) - i - 1)

# %% gptq mistake gptq-moves-the-rows-from-the-current: Moves the rows from the current one on,
# and rounds one too late.
#> gptq(
#- out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
#- error = (rest[i] - out[i]) / u[i, i]
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
error = (rest[i] - dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])) / u[i, i]
rest[i:] -= np.outer(u[i, i:], error)
out[i] = dequantize(quantize(w[i], scale[i], bits=bits), scale[i])

# %% gptq right gptq-right-moves-the-later-rows-in: moves the later rows in a loop
#- error = (rest[i] - out[i]) / u[i, i]
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
error = rest[i] - out[i]
for j in range(i + 1, len(rest)):
    rest[j] -= u[i, j] / u[i, i] * error

# %% gptq right gptq-right-moves-all-rows-from-the: moves all rows from the current one on,
# which becomes the rounded row
#- error = (rest[i] - out[i]) / u[i, i]
#- rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
rest[i:] -= u[i, i:, None] / u[i, i] * (rest[i] - out[i])

# %% gptq right gptq-right-normalizes-the-factor-before-the: normalizes the factor before the
# loop
#- out = np.zeros(rest.shape, np.float32)
u = u / np.diag(u)[:, None]
out = np.empty_like(rest, dtype=np.float32)

# %% affine mistake affine-does-not-extend-the-range-to: Does not extend the range to 0.
#> extend the range
#- low, high = min(float(low), 0.0), max(float(high), 0.0)
low, high = float(low), float(high)

# %% affine mistake affine-extends-only-at-the-lower-end: Extends only at the lower end.
#> extend the range
#- low, high = min(float(low), 0.0), max(float(high), 0.0)
low, high = min(float(low), 0.0), float(high)

# %% affine mistake affine-extends-only-at-the-upper-end: Extends only at the upper end.
#> extend the range
#- low, high = min(float(low), 0.0), max(float(high), 0.0)
low, high = float(low), max(float(high), 0.0)

# %% affine mistake affine-divides-by-2bits: Divides by 2^bits.
#> 2^bits - 1 steps
#- scale = (high - low) / (2**bits - 1) or 1.0
scale = (high - low) / 2**bits or 1.0

# %% affine mistake affine-divides-by-the-largest-signed-integer: Divides by the largest signed
# integer.
#> 2^bits - 1 steps
#- scale = (high - low) / (2**bits - 1) or 1.0
scale = (high - low) / (2 ** (bits - 1) - 1) or 1.0

# %% affine mistake affine-divides-by-0-for-a-range: Divides by 0 for a range of zeros.
#> the scale is 1
#- scale = (high - low) / (2**bits - 1) or 1.0
scale = (high - low) / (2**bits - 1) or 0.0

# %% affine mistake affine-rounds-the-zero-point-down: Rounds the zero point down.
#> round to the nearest integer
#- return scale, round(-low / scale)
return scale, int(-low / scale)

# %% affine mistake affine-returns-the-zero-point-as-a: Returns the zero point as a float.
#> should be an int
#- return scale, round(-low / scale)
return scale, -low / scale

# %% affine mistake affine-gives-the-zero-point-the-wrong: Gives the zero point the wrong sign.
#> the zero point of
#- return scale, round(-low / scale)
return scale, round(low / scale)

# %% affine mistake affine-computes-the-zero-point-from-the: Computes the zero point from the
# upper end.
#> the zero point of
#- return scale, round(-low / scale)
return scale, round(high / scale)

# %% affine mistake affine-returns-the-zero-point-first: Returns the zero point first.
#> the scale of
#- return scale, round(-low / scale)
return round(-low / scale), scale

# %% affine mistake affine-makes-the-range-symmetric: Makes the range symmetric.
#> affine_range(-1, 4, bits=4)
#- low, high = min(float(low), 0.0), max(float(high), 0.0)
high = max(abs(float(low)), abs(float(high)))
low = -high

# %% affine right affine-right-with-conditions: with conditions
low, high = min(float(low), 0.0), max(float(high), 0.0)
steps = 2**bits - 1
if high == low:
    return 1.0, 0
return (high - low) / steps, int(np.rint(steps * -low / (high - low)))

# %% affine right affine-right-with-numpy: with numpy
low, high = np.minimum(np.float64(low), 0), np.maximum(np.float64(high), 0)
scale = float(high - low) / (2**bits - 1)
scale = 1.0 if scale == 0 else scale
return scale, int(round(float(-low) / scale))

# %% observer mistake observer-keeps-the-range-of-the-last: Keeps the range of the last array.
#> not of the last one
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
self.low, self.high = float(low), float(high)

# %% observer mistake observer-keeps-the-range-of-the-first: Keeps the range of the first array.
#> of all arrays
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
if self.low > self.high:
    self.low, self.high = float(low), float(high)

# %% observer mistake observer-averages-the-ranges: Averages the ranges.
#> [low, high] after
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
first = self.low > self.high
self.low = float(low) if first else (self.low + float(low)) / 2
self.high = float(high) if first else (self.high + float(high)) / 2

# %% observer mistake observer-ignores-the-percentile: Ignores the percentile.
#> of Observer(99.0)
#- low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
low, high = np.min(np.asarray(x)), np.max(np.asarray(x))

# %% observer mistake observer-clips-at-one-end-only: Clips at one end only.
#> of Observer(99.0)
#- low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
low, high = np.percentile(np.asarray(x), [0, self.percentile])

# %% observer mistake observer-halves-the-rest-of-the-percentile: Halves the rest of the
# percentile.
#> from the (100 - percentile)th
#- low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
low, high = np.percentile(np.asarray(x), [(100 - self.percentile) / 2, 100 - (100 - self.percentile) / 2])

# %% observer mistake observer-swaps-low-and-high: Swaps low and high.
#> [low, high] after
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
self.low, self.high = min(self.low, float(high)), max(self.high, float(low))

# %% observer mistake observer-makes-the-range-symmetric: Makes the range symmetric.
#> [low, high] after
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
self.high = max(self.high, abs(float(low)), abs(float(high)))
self.low = -self.high

# %% observer mistake observer-takes-the-smallest-beginning-and-the: Takes the smallest
# beginning and the smallest end.
#> [low, high] after
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
self.low, self.high = min(self.low, float(low)), min(abs(self.high), float(high))

# %% observer mistake observer-does-not-pass-the-bits-on: Does not pass the bits on.
#> range(4) after
#- return affine_range(self.low, self.high, bits)
return affine_range(self.low, self.high)

# %% observer mistake observer-returns-the-range-itself: Returns the range itself.
#> affine_range(low, high, bits)
#- return affine_range(self.low, self.high, bits)
return self.low, self.high

# %% observer right: quantiles of shares from 0 to 1
#- low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
share = self.percentile / 100
low, high = np.quantile(np.asarray(x), [1 - share, share]).tolist()
if low < self.low:
    self.low = low
if high > self.high:
    self.high = high

# %% observer right observer-right-keeps-two-calls-of-nppercentile: keeps two calls of
# np.percentile
#- low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
#- self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
x = np.asarray(x, np.float64).ravel()
self.low = float(np.minimum(self.low, np.percentile(x, 100 - self.percentile)))
self.high = float(np.maximum(self.high, np.percentile(x, self.percentile)))

# %% int-matmul mistake int-matmul-multiplies-as-int8: Multiplies as int8.
#> int8 has no 292
return (a @ b).astype(np.int32)

# %% int-matmul mistake int-matmul-multiplies-everything-at-once-as-float32: Multiplies
# everything at once as float32.
#> float32 counts only to 2^24
#- terms = 2**24 // 128**2
terms = len(b)

# %% int-matmul mistake int-matmul-adds-the-blocks-as-float32: Adds the blocks as float32.
#> float32 counts only to 2^24
terms = 2**24 // 128**2
out = np.zeros((len(a), b.shape[1]), np.float32)
for i in range(0, len(b), terms):
    block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])
    out += block
return out.astype(np.int32)

# %% int-matmul mistake int-matmul-counts-with-127-instead-of-128: Counts with 127 instead of
# 128.
#> blocks of 1,024 terms
#- terms = 2**24 // 128**2
terms = 2**24 // 127**2

# %% int-matmul mistake int-matmul-counts-with-127-times-128-of: Counts with 127 times 128 of
# the inner axis too much.
#> float32 counts only to 2^24
#- terms = 2**24 // 128**2
terms = 2**24 // 128

# %% int-matmul mistake int-matmul-drops-the-last-shorter-block: Drops the last, shorter block.
#> every block counts
#- for i in range(0, len(b), terms):
#-     block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])
for i in range(0, len(b) // terms * terms, terms):
    block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])

# %% int-matmul mistake int-matmul-keeps-the-last-block-only: Keeps the last block only.
#> every block
#- out += block.astype(np.int32)
out = block.astype(np.int32)

# %% int-matmul mistake int-matmul-cuts-the-rows-of-a-into: Cuts the rows of a into blocks, not
# its columns.
#> the product of
#- block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])
block = np.float32(a[i : i + terms]) @ np.float32(b[i : i + terms])

# %% int-matmul mistake int-matmul-returns-floats: Returns floats.
#> should be int32
#- return out
return np.float32(out)

# %% int-matmul mistake int-matmul-returns-int64: Returns int64.
#> should be int32
#- out = np.zeros((len(a), b.shape[1]), np.int32)
out = np.zeros((len(a), b.shape[1]), np.int64)

# %% int-matmul mistake int-matmul-adds-the-blocks-as-int16: Adds the blocks as int16.
#> the product of
#- out += block.astype(np.int32)
out += block.astype(np.int16)

# %% int-matmul mistake int-matmul-multiplies-as-float16: Multiplies as float16.
#> the product of
#- block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])
block = np.float16(a[:, i : i + terms]) @ np.float16(b[i : i + terms])

# %% int-matmul right int-matmul-right-with-shorter-blocks-and-a: with shorter blocks and a list
# of results
blocks = [(a[:, i : i + 512].astype(np.float32) @ b[i : i + 512].astype(np.float32)).astype(np.int32)
          for i in range(0, max(1, a.shape[1]), 512)]
return np.sum(blocks, axis=0, dtype=np.int32)

# %% int-matmul mistake int-matmul-multiplies-int32-matrices: Multiplies int32 matrices, which
# is exact and slow.
#> convert each block to float32
return a.astype(np.int32) @ b.astype(np.int32)

# %% int-matmul mistake int-matmul-multiplies-float64-matrices: Multiplies float64 matrices,
# which needs no blocks.
#> convert each block to float32
return np.rint(np.float64(a) @ np.float64(b)).astype(np.int32)

# %% int-matmul mistake int-matmul-calls-dot-of-int32: Calls np.dot of int32 matrices.
#> convert each block to float32
return np.dot(a.astype(np.int32), b.astype(np.int32))

# %% int-matmul right int-matmul-right-with-split-matrices: with matrices split into equal parts
parts = len(b) // 1000 + 1
out = np.zeros((len(a), b.shape[1]), np.int32)
for left, right in zip(np.array_split(a, parts, axis=1), np.array_split(b, parts)):
    out += np.int32(np.matmul(left.astype(np.float32), right.astype(np.float32)))
return out

# %% fake-quantize mistake fake-quantize-returns-the-integers: Returns the integers.
#> multiply by the scale again
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
#- return ((q - zero_point) * scale).astype(x.dtype)
return (np.clip(np.rint(x / scale) + zero_point, low, high) - zero_point).astype(x.dtype)

# %% fake-quantize mistake fake-quantize-does-not-clip: Does not clip.
#> Clip to low ... high
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
#- return ((q - zero_point) * scale).astype(x.dtype)
return (np.rint(x / scale) * scale).astype(x.dtype)

# %% fake-quantize mistake fake-quantize-clips-the-numbers-instead-of-the: Clips the numbers
# instead of the integers.
#> limits of the integers
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
#- return ((q - zero_point) * scale).astype(x.dtype)
q = np.rint(np.clip(x, low, high) / scale) + zero_point
return np.clip((q - zero_point) * scale, low, high).astype(x.dtype)

# %% fake-quantize mistake fake-quantize-does-not-subtract-the-zero-point: Does not subtract the
# zero point.
#> Subtract the zero point
#- return ((q - zero_point) * scale).astype(x.dtype)
return (q * scale).astype(x.dtype)

# %% fake-quantize mistake fake-quantize-adds-the-zero-point-after-clipping: Adds the zero point
# after clipping.
#> before clipping
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x / scale), low, high) + zero_point

# %% fake-quantize mistake fake-quantize-adds-the-zero-point-before-rounding: Adds the zero
# point before rounding in the forward function.
#> round before adding the zero point
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
q = np.clip(np.rint(x / scale + zero_point), low, high)

# %% fake-quantize mistake fake-quantize-widens-float32-to-float64: Widens float32 to float64.
#> should be float32
#- return ((q - zero_point) * scale).astype(x.dtype)
return (q - zero_point) * scale

# %% fake-quantize mistake fake-quantize-uses-quantize-with-8-bits-whatever: Uses quantize with
# 8 bits, whatever low and high are.
#> fake_quantize_forward
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
#- return ((q - zero_point) * scale).astype(x.dtype)
q = quantize(x, scale, zero_point)
return dequantize(q, scale, zero_point).astype(x.dtype)

# %% fake-quantize mistake fake-quantize-returns-a-gradient-of-0-the: Returns a gradient of 0,
# the true derivative.
#> but then nothing is learned
#- q = np.rint(x / scale) + zero_point
#- return g * ((q >= low) & (q <= high))
return g * 0

# %% fake-quantize mistake fake-quantize-passes-the-gradient-everywhere: Passes the gradient
# everywhere.
#> Where a number was clipped
#- q = np.rint(x / scale) + zero_point
#- return g * ((q >= low) & (q <= high))
return g

# %% fake-quantize mistake fake-quantize-compares-the-number-before-rounding: Compares the
# number before rounding.
#> after rounding
#- q = np.rint(x / scale) + zero_point
q = x / scale + zero_point

# %% fake-quantize mistake fake-quantize-treats-the-limits-as-clipped: Treats the limits as
# clipped.
#> is not clipped
#- return g * ((q >= low) & (q <= high))
return g * ((q > low) & (q < high))

# %% fake-quantize mistake fake-quantize-forgets-the-upstream-gradient: Forgets the upstream
# gradient.
#> upstream gradient g
#- return g * ((q >= low) & (q <= high))
return ((q >= low) & (q <= high)) * np.ones_like(g)

# %% fake-quantize mistake fake-quantize-multiplies-the-gradient-by-the-scale: Multiplies the
# gradient by the scale.
#> its factors cancel
#- return g * ((q >= low) & (q <= high))
return g * scale * ((q >= low) & (q <= high))

# %% fake-quantize mistake fake-quantize-divides-the-gradient-by-the-scale: Divides the gradient
# by the scale.
#> Do not divide by the scale
#- return g * ((q >= low) & (q <= high))
return g / scale * ((q >= low) & (q <= high))

# %% fake-quantize mistake fake-quantize-forgets-the-zero-point-in-the: Forgets the zero point
# in the rule.
#> the zero point shifts the range
#- q = np.rint(x / scale) + zero_point
q = np.rint(x / scale)

# %% fake-quantize mistake fake-quantize-writes-into-the-upstream-gradient: Writes into the
# upstream gradient.
#> fake_quantize_rule changes its argument g
#- return g * ((q >= low) & (q <= high))
g[(q < low) | (q > high)] = 0
return g

# %% fake-quantize mistake fake-quantize-compares-the-numbers-themselves-with-the: Compares the
# numbers themselves with the limits.
#> fake_quantize_rule
#- q = np.rint(x / scale) + zero_point
#- return g * ((q >= low) & (q <= high))
return g * ((x >= low) & (x <= high))

# %% fake-quantize mistake fake-quantize-zeroes-the-gradient-at-one-end: Zeroes the gradient at
# one end only.
#> fake_quantize_rule
#- return g * ((q >= low) & (q <= high))
return g * (q <= high)

# %% fake-quantize right fake-quantize-right-with-minimum-and-maximum-and: with minimum and
# maximum, and np.where
#- q = np.clip(np.rint(x / scale) + zero_point, low, high)
#- return ((q - zero_point) * scale).astype(x.dtype)
q = np.minimum(np.maximum(np.round(x / scale), low - zero_point), high - zero_point)
return np.asarray(q * scale, dtype=x.dtype)

# %% fake-quantize right fake-quantize-right-compares-with-the-clipped-integer: compares with
# the clipped integer in the rule
#- return g * ((q >= low) & (q <= high))
return np.where(np.clip(q, low, high) == q, g, 0)

# %% train-quantized mistake train-quantized-trains-the-original-model: Trains the original
# model.
#> copy the model first
#- model = copy.deepcopy(model)

# %% train-quantized mistake train-quantized-does-not-train: Does not train.
#> nothing was trained
#- for inputs, targets in batches:
#-     train_step(model, loss, optimizer, inputs, targets)
pass

# %% train-quantized mistake train-quantized-gives-the-optimizer-the-parameters-of: Gives the
# optimizer the parameters of another copy.
#> nothing was trained
#- optimizer = Adam(model.parameters(), lr=lr)
optimizer = Adam(copy.deepcopy(model).parameters(), lr=lr)

# %% train-quantized mistake train-quantized-trains-without-rounding-and-rounds-at: Trains
# without rounding, and rounds at the end.
#> training without rounded weights
#- model = copy.deepcopy(model, replaced)
pass

# %% train-quantized mistake train-quantized-leaves-linear-layers-out: Replaces each layer of
# the type Dense, and no Linear.
#> a Linear is one, too
#- replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
#-             for layer in quantizable(model).values() if isinstance(layer, Dense)}
replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
            for layer in quantizable(model).values() if type(layer) is Dense}

# %% train-quantized mistake train-quantized-returns-the-trained-model-without-quantizing:
# Returns the trained model without quantizing it.
#> return quantize_model(trained
#- return quantize_model(model, bits, group=group)
return model

# %% train-quantized mistake train-quantized-ignores-the-learning-rate: Ignores the learning
# rate.
#> pass lr to Adam
#- optimizer = Adam(model.parameters(), lr=lr)
optimizer = Adam(model.parameters(), lr=1e-3)

# %% train-quantized mistake train-quantized-ignores-the-group-in-training: Ignores the group in
# training.
#> Pass the group on
#- replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
#-             for layer in quantizable(model).values() if isinstance(layer, Dense)}
replaced = {id(layer): FakeQuantizedLinear(layer, bits)
            for layer in quantizable(model).values() if isinstance(layer, Dense)}

# %% train-quantized mistake train-quantized-ignores-the-group-at-the-end: Ignores the group at
# the end.
#> group=2
#- return quantize_model(model, bits, group=group)
return quantize_model(model, bits)

# %% train-quantized mistake train-quantized-trains-with-8-bits: Trains with 8 bits.
#> the outputs after
#- replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
#-             for layer in quantizable(model).values() if isinstance(layer, Dense)}
replaced = {id(layer): FakeQuantizedLinear(layer, 8, group)
            for layer in quantizable(model).values() if isinstance(layer, Dense)}

# %% train-quantized mistake train-quantized-uses-only-the-first-batch: Uses only the first
# batch.
#> the outputs after
#- train_step(model, loss, optimizer, inputs, targets)
train_step(model, loss, optimizer, inputs, targets)
break

# %% train-quantized mistake train-quantized-makes-a-new-optimizer-for-each: Makes a new
# optimizer for each batch.
#> the outputs after
#- optimizer = Adam(model.parameters(), lr=lr)
#- for inputs, targets in batches:
for inputs, targets in batches:
    optimizer = Adam(model.parameters(), lr=lr)

# %% train-quantized mistake train-quantized-also-replaces-embeddings: Also replaces embeddings.
#> only Dense layers are replaced
#- replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
#-             for layer in quantizable(model).values() if isinstance(layer, Dense)}
replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
            for layer in quantizable(model).values()}

# %% train-quantized mistake train-quantized-trains-with-another-loss: Trains with another loss.
#> the mean absolute difference
#- train_step(model, loss, optimizer, inputs, targets)
train_step(model, lambda out, y: ((out - y) * (out - y)).mean(), optimizer, inputs, targets)

# %% train-quantized mistake train-quantized-quantizes-with-8-bits-at-the: Quantizes with 8 bits
# at the end.
#> the bits of the layers
#- return quantize_model(model, bits, group=group)
return quantize_model(model, 8, group=group)

# %% train-quantized right train-quantized-right-writes-the-training-step-out: writes the
# training step out
#- for inputs, targets in batches:
#-     train_step(model, loss, optimizer, inputs, targets)
for x, y in batches:
    optimizer.zero_grad()
    loss(model(x), y).backward()
    optimizer.step()

# %% train-quantized right train-quantized-right-copies-each-layer-instead-of: copies each layer
# instead of the model first
#- model = copy.deepcopy(model)
#- replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
#-             for layer in quantizable(model).values() if isinstance(layer, Dense)}
replaced = {}
for layer in quantizable(model).values():
    if isinstance(layer, Dense):
        replaced[id(layer)] = FakeQuantizedLinear(copy.deepcopy(layer), bits, group)

# %% quantize equivalent: np.clip(low, q, high) is the same: the smaller of high and the larger
# of both.
#= `np.rint(x / scale) + zero_point, low` -> `low, np.rint(x / scale) + zero_point`

# %% fake-quantize equivalent: np.clip(low, q, high) is the same: the smaller of high and the
# larger of both.
#= `np.rint(x / scale) + zero_point, low` -> `low, np.rint(x / scale) + zero_point`

# %% groups equivalent: np.maximum is symmetric.
#= `np.concatenate(scales), SMALLEST` -> `SMALLEST, np.concatenate(scales)`

# %% matrix equivalent: Without a zero point, dequantize is a product.
#= `q, per_row(self.scale.data, self.group, k)` -> `per_row(self.scale.data, self.group, k), q`

# %% gptq equivalent: Without a zero point, dequantize is a product.
#= `quantize(rest[i], scale[i], bits=bits), scale[i]` -> `scale[i], quantize(rest[i], scale[i], bits=bits)`

# %% affine equivalent: min is symmetric.
#= `float(low), 0.0` -> `0.0, float(low)`

# %% affine equivalent: max is symmetric.
#= `float(high), 0.0` -> `0.0, float(high)`

# %% observer equivalent: min is symmetric.
#= `self.low, float(low)` -> `float(low), self.low`

# %% observer equivalent: max is symmetric.
#= `self.high, float(high)` -> `float(high), self.high`

# %% int-matmul equivalent: Shorter blocks are exact, too.
#= `24` -> `23`
#= `128` -> `129`
#= `128` -> `256`

