# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% linear mistake data-computed: Computes with arrays and wraps the result, so that nothing is
# recorded.
#> compute with tensors, not .data
y = x.data @ weights.data
if bias is not None:
    y = y + bias.data
return Tensor(y)

# %% linear mistake bias-tested-for-its-value: Tests the value of the bias: a bias of zero
# counts as none and is never trained.
#> test `bias is None`
out = x @ weights
return out + bias if bias is not None and bias.data.any() else out

# %% linear mistake truth-of-the-bias-tensor: Tests the truth value of the bias tensor.
#> test `bias is None`
out = x @ weights
return out + bias if bias else out

# %% linear mistake bias-forgotten: Leaves the bias out.
#> the result should be
out = x @ weights
return out

# %% linear mistake weights-of-shape-out-in: Transposes the weights, as libraries do that store
# them as (out, in).
#> cannot multiply
out = x @ weights.T
return out if bias is None else out + bias

# %% linear mistake inner-dimensions-broadcast: Multiplies by broadcasting, so that inputs of
# one number are accepted where three are needed.
#> must be equal, not broadcast
out = (x.unsqueeze(-1) * weights).sum(-2)
return out if bias is None else out + bias

# %% linear mistake computed-with-arrays: Computes with .data, so that no gradient can be
# propagated through the layer.
#> compute with tensors, not .data
out = Tensor(x.data @ weights.data)
return out if bias is None else out + bias

# %% linear mistake linear-returns-an-array: Returns an array.
#> linear should return a Tensor
x, weights, bias = np.asarray(x), np.asarray(weights), None if bias is None else np.asarray(bias)
out = x @ weights
return out if bias is None else out + bias

# %% linear mistake operands-exchanged: Writes the product as in the formula W x, with the
# weights first.
#> cannot multiply
out = weights @ x
return out if bias is None else out + bias

# %% linear right linear-early-return: Returns early when there is no bias.
if bias is None:
    return x @ weights
return x @ weights + bias

# %% linear right linear-adds-zero: Replaces a missing bias by the number 0.
if bias is None:
    bias = 0
return (x @ weights) + bias

# %% linear right linear-with-a-sum: Multiplies by broadcasting and sums, after comparing the
# shapes.
if x.shape[-1] != weights.shape[0]:
    raise ValueError(f"shapes {x.shape} and {weights.shape} do not fit")
out = (x.unsqueeze(-1) * weights).sum(-2)
if bias is not None:
    out = bias + out
return out

# %% xavier mistake xavier-root-forgotten: Uses the variance as the limit: forgets the square
# root.
#> take its square root
#- a = math.sqrt(6 / (fan_in + fan_out))
a = 6 / (fan_in + fan_out)

# %% xavier mistake xavier-limit-of-the-normal: Uses the standard deviation sqrt(2 / (in + out))
# as the limit of the uniform distribution.
#> Your a is the standard deviation
#- a = math.sqrt(6 / (fan_in + fan_out))
a = math.sqrt(2 / (fan_in + fan_out))

# %% xavier mistake xavier-from-fan-in-alone: Leaves fan_out out.
#> Use fan_out too
#- a = math.sqrt(6 / (fan_in + fan_out))
a = math.sqrt(3 / fan_in)

# %% xavier mistake xavier-only-positive: Draws from 0 to a.
#> Draw between -a and a, not between 0 and a
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return generator(rng).uniform(0, a, shape).astype(np.float32)

# %% xavier mistake xavier-normal: Draws from the normal distribution.
#> your largest weight is
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return generator(rng).normal(0, a / math.sqrt(3), shape).astype(np.float32)

# %% xavier mistake xavier-global-generator: Draws from NumPy's global generator, which no seed
# of ours restarts.
#> draw from generator(rng)
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return np.random.uniform(-a, a, shape).astype(np.float32)

# %% xavier mistake xavier-without-manual-seed: Makes a new generator when rng is None, so that
# manual_seed has no effect.
#> draw from generator(rng), which returns the shared generator for None
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return np.random.default_rng(rng).uniform(-a, a, shape).astype(np.float32)

# %% xavier mistake xavier-seed-zero-ignored: Treats the seed 0 as no seed: `rng or None`.
#> two calls with rng=0 should draw the same weights
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return generator(rng or None).uniform(-a, a, shape).astype(np.float32)

# %% xavier mistake xavier-zero-for-one-input: Returns zeros for a layer with one input.
#> fan_in 1, fan_out 40000
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return (generator(rng).uniform(-a, a, shape) * min(fan_in - 1, 1)).astype(np.float32)

# %% xavier mistake xavier-float64: Keeps the float64 that NumPy draws, twice the memory.
#> the weights should be float32
#- return generator(rng).uniform(-a, a, shape).astype(np.float32)
return generator(rng).uniform(-a, a, shape)

# %% xavier mistake xavier-shape-ignored: Ignores the argument shape.
#> was asked for, yours has shape
#- shape = (fan_in, fan_out) if shape is None else shape
shape = (fan_in, fan_out)

# %% xavier right xavier-scaled-random: Scales numbers between 0 and 1.
if shape is None:
    shape = (fan_in, fan_out)
a = (6 / (fan_in + fan_out)) ** 0.5
return np.float32(generator(rng).random(shape) * 2 * a - a)

# %% xavier right xavier-from-the-standard-deviation: Computes the limit from the standard
# deviation.
std = np.sqrt(2.0 / (fan_in + fan_out))
limit = np.sqrt(3.0) * std
return np.array(generator(rng).uniform(low=-limit, high=limit, size=shape or (fan_in, fan_out)), dtype="float32")

# %% he mistake he-with-fan-out: Divides by fan_out instead of fan_in.
#> Divide by fan_in, not by fan_out
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).normal(0, math.sqrt(2 / fan_out), shape).astype(np.float32)

# %% he mistake he-root-forgotten: Passes the variance to NumPy as the standard deviation.
#> takes the standard deviation
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).normal(0, 2 / fan_in, shape).astype(np.float32)

# %% he mistake he-without-the-two: Forgets the factor 2 for what relu sets to 0.
#> The factor 2 is missing
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).normal(0, math.sqrt(1 / fan_in), shape).astype(np.float32)

# %% he mistake he-uniform: Draws from the uniform distribution.
#> draw from the normal distribution
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).uniform(-math.sqrt(6 / fan_in), math.sqrt(6 / fan_in), shape).astype(np.float32)

# %% he mistake he-seeded-inside: Seeds in each call, so that all layers start with the same
# weights.
#> two layers in a row got the same weights
shape = (fan_in, fan_out) if shape is None else shape
return np.random.default_rng(0 if rng is None else rng).normal(0, math.sqrt(2 / fan_in), shape).astype(np.float32)

# %% he mistake he-without-manual-seed: Makes a new generator when rng is None, so that
# manual_seed has no effect.
#> the weights drawn after manual_seed(3) should be the same each time
shape = (fan_in, fan_out) if shape is None else shape
return np.random.default_rng(rng).normal(0, math.sqrt(2 / fan_in), shape).astype(np.float32)

# %% he mistake he-zero-for-one-input: Returns zeros for a layer with one input.
#> fan_in 1, fan_out 40000
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).normal(0, math.sqrt(2 / fan_in) * (fan_in > 1), shape).astype(np.float32)

# %% he mistake he-with-xavier-variance: Uses Xavier's variance.
#> That is Xavier's variance
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).normal(0, math.sqrt(2 / (fan_in + fan_out)), shape).astype(np.float32)

# %% he mistake he-uniform-up-to-the-standard-deviation: Draws from the uniform distribution
# between minus and plus the standard deviation.
#> Draw from the normal distribution
shape = (fan_in, fan_out) if shape is None else shape
return generator(rng).uniform(-math.sqrt(2 / fan_in), math.sqrt(2 / fan_in), shape).astype(np.float32)

# %% he right he-standard-normal: Scales standard normal numbers.
if shape is None:
    shape = (fan_in, fan_out)
return (generator(rng).standard_normal(shape) * (2 / fan_in) ** 0.5).astype("float32")

# %% he right he-drawn-in-float32: Draws in float32 and divides.
draws = generator(rng).standard_normal(shape or (fan_in, fan_out), dtype=np.float32)
return draws / np.float32(np.sqrt(fan_in / 2))

# %% dense right: the bias is assigned before the weights
self.bias = Tensor(np.zeros(out_features, dtype=np.float32), requires_grad=True) if bias else None
self.weights = Tensor(init(in_features, out_features, rng), requires_grad=True)

# %% dense mistake bias-reshaped-after-wrapping: Wraps first and reshapes afterwards: the bias
# is a result, not a parameter.
#> bias is the result of an operation
self.weights = Variable(init(in_features, out_features, rng))
self.bias = Variable(np.zeros((out_features, 1), np.float32)).reshape(out_features) if bias else None

# %% dense mistake bias-as-a-row: Makes the bias a matrix of one row.
#> the bias of Dense(3, 5) should have shape (5,), not (1, 5)
self.weights = Variable(init(in_features, out_features, rng))
self.bias = Variable(np.zeros((1, out_features), np.float32)) if bias else None

# %% dense mistake bias-as-a-column: Makes the bias a column, one number per example.
#> the bias of Dense(3, 5) should have shape (5,), not (5, 1)
self.weights = Variable(init(in_features, out_features, rng))
self.bias = Variable(np.zeros((out_features, 1), np.float32)) if bias else None

# %% dense mistake weights-out-in: Stores the weights as (out, in).
#> the weights of Dense(3, 5) should have shape (3, 5), not (5, 3)
self.weights = Variable(init(out_features, in_features, rng))
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake bias-never-trained: Makes the bias a plain Tensor.
#> bias does not require a gradient
self.weights = Variable(init(in_features, out_features, rng))
self.bias = Tensor(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake weights-never-trained: Makes the weights a plain Tensor.
#> weights does not require a gradient
self.weights = Tensor(init(in_features, out_features, rng))
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake bias-always-there: Ignores bias=False.
#> with bias=False, bias should be None
self.weights = Variable(init(in_features, out_features, rng))
self.bias = Variable(np.zeros(out_features, np.float32))

# %% dense mistake init-ignored: Calls xavier_uniform whatever initialization was given.
#> should call f(4, 3, 9) once
self.weights = Variable(xavier_uniform(in_features, out_features, rng))
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake rng-not-passed: Does not pass the generator to init.
#> should call f(4, 3, 9) once
self.weights = Variable(init(in_features, out_features, None))
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake dense-without-manual-seed: Passes a new generator when rng is None, so that
# manual_seed has no effect.
#> after manual_seed(4) should be the same each time
self.weights = Variable(init(in_features, out_features, rng if rng is not None else np.random.default_rng()))
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake bias-in-float64: Leaves NumPy's float64 in the bias, which makes every result
# float64.
#> a Tensor keeps the dtype of an array
self.weights = Variable(init(in_features, out_features, rng))
self.bias = Variable(np.zeros(out_features)) if bias else None

# %% dense mistake dense-zero-for-one-input: Starts a layer with one input at zero.
#> the weights of Dense(1, 3
self.weights = Variable(init(in_features, out_features, rng) * (in_features > 1))
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense mistake weights-as-an-array: Stores the array that init returns.
#> of Dense(3, 5) should be a Variable
self.weights = init(in_features, out_features, rng)
self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

# %% dense right dense-if-statement: Sets the bias in an if statement, before the weights.
self.bias = None
if bias:
    self.bias = Tensor(np.array([0.0] * out_features, dtype="float32"), requires_grad=True)
self.weights = Tensor(init(in_features, out_features, rng), requires_grad=True)

# %% dense right dense-list-of-zeros: Makes the bias from a list of zeros.
w = init(in_features, out_features, rng)
self.weights = Variable(w)
self.bias = Variable([0.0] * self.out_features) if bias else None

# %% sequential mistake layers-by-sorted-names: Sorts the names, so that '10' comes before '2'.
#> '10' comes after '9'
for name in sorted(n for n in vars(self) if n.isdigit()):
    x = getattr(self, name)(x)
return x

# %% sequential mistake every-layer-takes-the-input: Passes the network's input to every layer
# and returns the last result.
#> Each layer takes the output of the layer before it
for layer in self.layers:
    out = layer(x)
return out

# %% sequential mistake returns-after-the-first-layer: Returns inside the loop.
#> Each layer takes the output of the layer before it
#- x = layer(x)
return layer(x)

# %% sequential mistake forward-called-on-functions: Calls layer.forward(x), which functions do
# not have.
#> call the layer itself
#- x = layer(x)
x = layer.forward(x) if isinstance(layer, Module) or layer is Tensor.relu else layer(x)

# %% sequential mistake layers-in-reverse: Calls the last layer first, as in the formula
# f(g(x)).
#> in order
for layer in reversed(self.layers):
    x = layer(x)
return x

# %% sequential mistake sequential-without-return: Returns nothing.
#> is `return` missing?
#- return x

# %% sequential mistake arrays-between-layers: Passes arrays from layer to layer, so that no
# gradient passes.
#> pass tensors from layer to layer, not .data
#- x = layer(x)
x = Tensor(layer(x).data)

# %% sequential mistake sequential-in-float64: Converts the input to float64.
#> forward should change nothing between the layers
for layer in self.layers:
    x = layer(x) * np.ones((), "float64").reshape(1)
return x.reshape(*x.shape)

# %% sequential right sequential-reduce: Folds the layers with functools.reduce.
import functools

return functools.reduce(lambda value, layer: layer(value), self.layers, x)

# %% sequential right sequential-recursive: Calls the first layer, then a Sequential of the
# rest.
if len(self) == 0:
    return x
return self[1:](self[0](x))

# %% sequential right sequential-by-index: Indexes the layers.
out = x
for i in range(len(self)):
    out = self[i](out)
return out

# %% children mistake lists-of-layers-missed: Looks only at attributes and misses the layers in
# a list.
#> in a list would be missed
#- if isinstance(thing, (list, tuple)):
#-     thing = dict(enumerate(thing))
if False:
    thing = dict(enumerate(thing))

# %% children mistake tuples-missed: Handles lists and forgets tuples.
#> in a tuple would be missed
#- if isinstance(thing, (list, tuple)):
#-     thing = dict(enumerate(thing))
if isinstance(thing, list):
    thing = dict(enumerate(thing))

# %% children mistake dicts-missed: Forgets dicts.
#> in a dict would be missed
if isinstance(thing, Module):
    return list(vars(thing).items())
return ([(str(i), part) for i, part in enumerate(thing)]
        if isinstance(thing, (list, tuple)) else [])

# %% children mistake indices-stay-numbers: Leaves the indices of a list as numbers, which
# cannot be joined to a path.
#> Every name is a str
#- return [(str(name), child) for name, child in thing.items()]
return [(name, child) for name, child in thing.items()]

# %% children mistake iterates-over-the-keys: Iterates over a dict without .items().
#> named_children
#- return [(str(name), child) for name, child in thing.items()]
return [(str(name), child) for name, child in thing]

# %% children mistake every-object-has-attributes: Calls vars on everything, also on numbers.
#> should be an empty list, yours raises
#- if isinstance(thing, Module):
#-     thing = vars(thing)
if not isinstance(thing, (list, tuple, dict)):
    thing = vars(thing)

# %% children mistake children-of-any-object: Lists the attributes of every object that has
# some, not only of Modules.
#> only Modules, lists, tuples and dicts have children
#- if isinstance(thing, Module):
#-     thing = vars(thing)
if hasattr(thing, "__dict__"):
    thing = vars(thing)

# %% children mistake attributes-chosen: Leaves out attributes that are neither modules nor
# tensors.
#> list every attribute, whatever it holds
#- return [(str(name), child) for name, child in thing.items()]
return [(str(name), child) for name, child in thing.items()
        if isinstance(child, (Module, Tensor, list, tuple, dict))]

# %% children right children-three-branches: Has one branch per kind.
pairs = []
if isinstance(thing, Module):
    pairs = thing.__dict__.items()
elif isinstance(thing, dict):
    pairs = thing.items()
elif isinstance(thing, (tuple, list)):
    pairs = enumerate(thing)
return [(f"{name}", child) for name, child in pairs]

# %% children right children-loop: Appends in loops.
result = []
if isinstance(thing, list) or isinstance(thing, tuple):
    for i in range(len(thing)):
        result.append((str(i), thing[i]))
elif isinstance(thing, (Module, dict)):
    members = thing if isinstance(thing, dict) else vars(thing)
    for key in members:
        result.append((str(key), members[key]))
return result

# %% children mistake children-as-a-dict: Returns a dict instead of pairs.
#> should return a list of pairs
#- return [(str(name), child) for name, child in thing.items()]
return {str(name): child for name, child in thing.items()}

# %% traverse mistake nothing-remembered: Remembers nothing: a shared tensor is found twice, and
# a cycle never ends.
#> your recursion never ends
#- seen.add(id(thing))
pass

# %% traverse mistake shared-listed-under-each-path: Remembers modules, but not tensors, which
# can also be shared.
#> traverse should not list 'again'
#- if id(thing) in seen:
#-     return []
if id(thing) in seen and not isinstance(thing, Tensor):
    return []

# %% traverse mistake one-set-for-all-calls: Creates the set in the signature, where Python
# creates it only once for all calls.
#> a default such as seen=set() is created only once
#- def traverse(thing, path="", seen=None):
#-     """Every Module and every Tensor in `thing`, itself included, at any depth.
#-
#-     thing    a Module, or a list, tuple or dict
#-     path     the path of `thing`: names joined by dots, "" at the top
#-     seen     a set with the id of every object found so far; None at the top
#-     returns  list of (path, Module or Tensor). A module comes before its children, and they are
#-              in the order of `named_children`. Each object is listed once, with the first path
#-              that leads to it
#-
#-     >>> traverse({"a": [Tensor(1), Tensor(2)]})
#-     [('a.0', Tensor(1.)), ('a.1', Tensor(2.))]
#-
#-     Source: depth-first search, Cormen et al., Introduction to Algorithms (4th edition), section
#-     20.3.
#-     """
def traverse(thing, path="", seen=set()):
    """Every Module and every Tensor in `thing`, itself included, at any depth.

    thing    a Module, or a list, tuple or dict
    path     the path of `thing`: names joined by dots, "" at the top
    seen     a set with the id of every object found so far; None at the top
    returns  list of (path, Module or Tensor). A module comes before its children, and they are
             in the order of `named_children`. Each object is listed once, with the first path
             that leads to it

    >>> traverse({"a": [Tensor(1), Tensor(2)]})
    [('a.0', Tensor(1.)), ('a.1', Tensor(2.))]

    Source: depth-first search, Cormen et al., Introduction to Algorithms (4th edition), section
    20.3.
    """

# %% traverse mistake set-not-passed: Begins with a new set in each inner call.
#> pass the same set to the inner calls
#- found += traverse(child, f"{path}.{name}" if path else name, seen)
found += traverse(child, f"{path}.{name}" if path else name)

# %% traverse mistake dot-in-front: Joins the empty path with a dot.
#> traverse should find 'scale'
#- found += traverse(child, f"{path}.{name}" if path else name, seen)
found += traverse(child, f"{path}.{name}", seen)

# %% traverse mistake path-not-joined: Passes only the last name, without the path.
#> traverse should find 'blocks.0'
#- found += traverse(child, f"{path}.{name}" if path else name, seen)
found += traverse(child, name, seen)

# %% traverse mistake one-level-only: Looks one level deep.
#> traverse should find 'blocks.0'
#- found += traverse(child, f"{path}.{name}" if path else name, seen)
found += [(name, child)] if isinstance(child, (Module, Tensor)) else []

# %% traverse mistake module-after-its-children: Lists a module after what it holds.
#> a module comes before what it holds
#- found = [(path, thing)] if isinstance(thing, (Module, Tensor)) else []
found = []
#- return found
return found + ([(path, thing)] if isinstance(thing, (Module, Tensor)) else [])

# %% traverse right traverse-with-a-stack: Uses a stack instead of recursion.
seen = seen or set()
found, stack = [], [(path, thing)]
while stack:
    path, thing = stack.pop()
    if id(thing) in seen:
        continue
    seen.add(id(thing))
    if isinstance(thing, (Module, Tensor)):
        found.append((path, thing))
    for name, child in reversed(named_children(thing)):
        stack.append((".".join([path, name]) if path else name, child))
return found

# %% traverse right traverse-with-a-generator: Collects from an inner generator function.
seen = set() if seen is None else seen

def visit(path, thing):
    if id(thing) not in seen:
        seen.add(id(thing))
        if isinstance(thing, Module) or isinstance(thing, Tensor):
            yield path, thing
        for name, child in named_children(thing):
            yield from visit((path + "." + name).lstrip("."), child)

return list(visit(path, thing))

# %% parameters mistake buffers-trained: Collects every tensor, including buffers.
#> it is a buffer, not a parameter
return [(path, part) for path, part in traverse(module)
        if isinstance(part, Tensor) and part.creator is None]

# %% parameters mistake results-trained: Lists every tensor that requires a gradient, including
# results of operations.
#> 'result' is the result of an operation
return [(path, part) for path, part in traverse(module)
        if isinstance(part, Tensor) and part.requires_grad]

# %% parameters mistake copies-listed: Lists copies: an optimizer would update numbers that no
# layer uses.
#> list the tensor itself, not a copy
return [(path, Variable(part)) for path, part in traverse(module)
        if isinstance(part, Tensor) and part.requires_grad and part.creator is None]

# %% parameters mistake attributes-only: Looks only at the attributes of the module.
#> the parameters should be
return [(path, part) for path, part in named_children(module)
        if isinstance(part, Tensor) and part.requires_grad and part.creator is None]

# %% parameters right parameters-loop: Appends in a loop.
found = []
for name, thing in traverse(module):
    if not isinstance(thing, Tensor):
        continue
    if thing.requires_grad and thing.creator is None:
        found.append((name, thing))
return found

# %% parameters right parameters-excluding-modules: Excludes modules and filters.
def trained(pair):
    return not isinstance(pair[1], Module) and pair[1].creator is None and pair[1].requires_grad

return list(filter(trained, traverse(module)))

# %% state mistake state-shares-the-arrays: Returns the live arrays: the saved state changes
# with the network.
#> Copy the arrays
return {path: part.data for path, part in traverse(module)
        if isinstance(part, Tensor) and part.creator is None}

# %% state mistake state-of-parameters-only: Saves parameters and forgets buffers.
#> mean is missing in your state
return {path: part.numpy() for path, part in traverse(module)
        if isinstance(part, Tensor) and part.requires_grad and part.creator is None}

# %% state mistake results-saved: Also saves results of operations.
#> it can be computed again
return {path: part.numpy() for path, part in traverse(module)
        if isinstance(part, Tensor)}

# %% state mistake state-of-tensors: Saves tensors instead of arrays.
#> should be an ndarray
return {path: Tensor(part.data) for path, part in traverse(module)
        if isinstance(part, Tensor) and part.creator is None}

# %% state right state-loop: Fills a dict in a loop and copies with np.array.
state = {}
for name, thing in traverse(module):
    if not isinstance(thing, Module) and thing.creator is None:
        state[name] = np.array(thing.data)
return state

# %% state right state-dict-of-pairs: Makes a dict of pairs with data.copy().
tensors = [pair for pair in traverse(module) if isinstance(pair[1], Tensor)]
return dict((name, t.data.copy()) for name, t in tensors if not t.creator)

# %% keys mistake keys-popped: Takes the keys out of the state, which belongs to the caller.
#> change nothing, use a copy
texts = []
for name, array in state_dict(module).items():
    if name not in state:
        texts.append(f"missing key {name}, shape {array.shape}")
        continue
    shape = np.shape(state.pop(name))
    if shape != array.shape:
        texts.append(f"{name} has shape {shape}, the module needs {array.shape}")
return texts + [f"unexpected key {name}, shape {np.shape(state[name])}" for name in state]

# %% keys mistake unexpected-keys-accepted: Ignores keys that the module does not have, such as
# misspelt ones.
#> hidden.bias is unexpected
#- unexpected = [f"unexpected key {name}, shape {np.shape(state[name])}"
#-               for name in state if name not in own]
unexpected = [f"unexpected key {name}, shape {np.shape(state[name])}"
              for name in state if False]

# %% keys mistake missing-keys-accepted: Ignores keys that the state lacks: half of the network
# stays random.
#> dense.weights is missing in the state
#- missing = [f"missing key {name}, shape {own[name].shape}"
#-            for name in own if name not in state]
missing = [f"missing key {name}, shape {own[name].shape}"
           for name in own if False]

# %% keys mistake sizes-compared: Compares the numbers of elements, not the shapes.
#> neither does one with the same number of elements
#- different = [f"{name} has shape {np.shape(state[name])}, the module needs {own[name].shape}"
#-              for name in own if name in state and np.shape(state[name]) != own[name].shape]
different = [f"{name} has shape {np.shape(state[name])}, the module needs {own[name].shape}"
             for name in own if name in state and np.size(np.asarray(state[name])) != own[name].size]

# %% keys mistake shapes-not-compared: Compares the keys and forgets the shapes.
#> is one problem
#- return missing + unexpected + different
return missing + unexpected

# %% keys mistake first-kind-of-problem-only: Returns the first kind of problem.
#> hidden.bias is unexpected
#- return missing + unexpected + different
return missing or unexpected or different

# %% keys mistake asks-a-list-for-its-shape: Asks lists for an attribute shape, which only
# arrays have.
#> has no attribute 'shape'
#- different = [f"{name} has shape {np.shape(state[name])}, the module needs {own[name].shape}"
#-              for name in own if name in state and np.shape(state[name]) != own[name].shape]
different = [f"{name} has shape {np.shape(state[name])}, the module needs {own[name].shape}"
             for name in own if name in state and state[name].shape != own[name].shape]

# %% keys right keys-loop: Appends in one loop over the union of the keys.
own, problems = state_dict(module), []
for name in list(own) + [n for n in state if n not in own]:
    if name not in state:
        problems.append(f"{name}: no value of shape {own[name].shape} is given")
        continue
    shape = np.asarray(state[name]).shape
    if name not in own:
        problems.append(f"{name} with shape {shape} does not belong to this module")
    elif shape != own[name].shape:
        problems.append(f"{name}: {shape} instead of {own[name].shape}")
return problems

# %% keys right keys-sets: Compares sets of keys and dicts of shapes.
own = {name: array.shape for name, array in state_dict(module).items()}
given = {name: np.shape(state[name]) for name in state}
texts = [f"{n} {own[n]} missing" for n in sorted(own.keys() - given.keys())]
texts += [f"{n} {given[n]} unexpected" for n in sorted(given.keys() - own.keys())]
for n in own.keys() & given.keys():
    if own[n] != given[n]:
        texts += [f"{n} {given[n]} != {own[n]}"]
return texts

# %% load mistake tensors-replaced: Puts new tensors in place of the old ones, which an
# optimizer continues to update.
#> write into the tensor, do not replace it
#- part.data[...] = new[path]
*above, last = path.split(".")
holder = module
for name in above:
    holder = dict(named_children(holder))[name]
if isinstance(holder, Module):
    setattr(holder, last, Tensor(new[path], part.requires_grad))

# %% load mistake arrays-replaced: Gives the tensors new arrays instead of writing into theirs.
#> got a new array
#- part.data[...] = new[path]
part.data = new[path]

# %% load mistake arrays-of-the-state-kept: Uses the arrays of the state in the module, which
# then changes with them.
#> Copy the numbers
#- new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
#-        for path, part in own}
#- for path, part in own:
#-     part.data[...] = new[path]
for path, part in own:
    part.data = np.asarray(state[path]).astype(part.dtype, casting="same_kind", copy=False)

# %% load mistake one-pass: Converts and writes in one pass, so that an error half way leaves a
# mixture.
#> before you write into the first one
#- new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
#-        for path, part in own}
#- for path, part in own:
#-     part.data[...] = new[path]
for path, part in own:
    part.data[...] = np.array(state[path]).astype(part.dtype, casting="same_kind")

# %% load mistake live-arrays-not-copied: Does not copy: two tensors that are exchanged get the
# same numbers.
#> before you write into the first one
#- new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
#-        for path, part in own}
new = {path: (state[path].data if isinstance(state[path], Tensor) else np.array(state[path])).astype(part.dtype, casting="same_kind", copy=False)
       for path, part in own}

# %% load mistake decimals-cut-off: Lets NumPy cut the decimals off.
#> It should raise TypeError
#- new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
#-        for path, part in own}
new = {path: np.array(state[path])
       for path, part in own}

# %% load mistake buffers-not-loaded: Loads parameters and forgets buffers.
#> mean should be
#- own = [(path, part) for path, part in traverse(module)
#-        if isinstance(part, Tensor) and part.creator is None]
own = [(path, part) for path, part in traverse(module)
       if isinstance(part, Tensor) and part.requires_grad and part.creator is None]

# %% load right load-copyto: Collects pairs of tensor and new array, and writes with np.copyto.
pairs = []
for name, thing in traverse(module):
    if isinstance(thing, Tensor) and thing.creator is None:
        array = np.array(state[name])
        if not np.can_cast(array.dtype, thing.dtype, casting="same_kind"):
            raise TypeError(f"{name}: {array.dtype} cannot become {thing.dtype}")
        pairs.append((thing, array))
for thing, array in pairs:
    np.copyto(thing.data, array, casting="same_kind")

# %% load right load-zip: Makes a list of new arrays and writes with zip and a slice.
own = {n: t for n, t in traverse(module) if not isinstance(t, Module) and not t.creator}
arrays = [np.array(state[n], copy=True).astype(t.data.dtype, casting="same_kind")
          for n, t in own.items()]
for tensor, array in zip(own.values(), arrays):
    tensor.detach()[...] = array

# %% training mistake only-the-outermost-module: Sets the mode only of the outermost module, so
# that dropout inside it stays in training mode.
#> in all submodules, at any depth
module.training = mode

# %% training mistake one-level-set: Sets the mode of the modules directly inside, and not of
# those in lists or deeper.
#> in all submodules, at any depth
for part in [module, *[part for _, part in named_children(module)]]:
    if isinstance(part, Module):
        part.training = mode

# %% training mistake always-training: Ignores the mode.
#> leaves net.training at True
#- part.training = mode
part.training = True

# %% training mistake training-of-the-class: Sets the attribute of the class, and so of every
# network.
#> set the attribute of the objects, not of the class
#- part.training = mode
Module.training = mode

# %% training right training-modules: Uses the method modules.
for part in module.modules():
    part.training = mode

# %% training right training-setattr: Filters first and sets the attribute by name.
for part in [p for _, p in traverse(module) if not isinstance(p, Tensor)]:
    setattr(part, "training", bool(mode))

# %% dropout mistake kept-elements-not-scaled: Does not scale the kept elements.
#> kept elements should be divided by 1 - p
#- return x * keep / (1 - self.p)
return x * keep

# %% dropout mistake divided-by-p: Divides by p; right only for p = 0.5.
#> kept elements should be divided by 1 - p
#- return x * keep / (1 - self.p)
return x * keep / self.p

# %% dropout mistake p-as-the-probability-of-keeping: Keeps with probability p instead of
# dropping; right only for p = 0.5.
#> probability of dropping, not of keeping
#- keep = self.rng.random(x.shape) >= self.p
keep = self.rng.random(x.shape) < self.p

# %% dropout mistake dropout-in-evaluation-mode: Also drops in evaluation mode.
#> after eval() the layer should return its input
if False:
    return x
keep = self.rng.random(x.shape) >= self.p
return x * keep / (1 - self.p)

# %% dropout mistake scaled-in-evaluation-mode: Also scales in evaluation mode, as if training
# had not scaled the kept elements.
#> after eval() the layer should return its input
#- return x
return x * (1 - self.p)

# %% dropout mistake reseeded-in-each-call: Seeds in forward, so that every call drops the same
# elements.
#> draw in forward, without a seed
#- keep = self.rng.random(x.shape) >= self.p
keep = np.random.default_rng(0).random(x.shape) >= self.p

# %% dropout mistake one-mask-for-all-rows: Draws one mask for all the examples of a batch.
#> Draw one number per element
#- keep = self.rng.random(x.shape) >= self.p
keep = self.rng.random(x.shape[1:]) >= self.p

# %% dropout mistake whole-examples-dropped: Draws one number per example and drops whole rows.
#> Draw one number per element
#- keep = self.rng.random(x.shape) >= self.p
keep = self.rng.random(x.shape[:-1] + (1,) * (x.ndim > 0)) >= self.p

# %% dropout mistake dropout-cuts-the-graph: Multiplies arrays, so that no gradient passes
# through the layer.
#> multiply tensors, do not use x.data
#- return x * keep / (1 - self.p)
return Tensor(np.asarray(x.data * keep / (1 - self.p), x.dtype))

# %% dropout mistake dropout-returns-an-array: Returns an array.
#> the result should be a Tensor
#- return x * keep / (1 - self.p)
return np.asarray(x.data * keep / (1 - self.p), x.dtype)

# %% dropout mistake dropped-in-place: Writes the zeros into the input, which is still needed.
#> return a new tensor
#- return x * keep / (1 - self.p)
x.data[...] = x.data * keep
return x / (1 - self.p)

# %% dropout mistake mask-in-float64: Makes a mask of float64, which makes every result float64.
#> should have the same dtype and shape
#- return x * keep / (1 - self.p)
return x * (keep.astype("float64") / (1 - self.p) if x.ndim else keep / (1 - self.p))

# %% dropout mistake masks-from-the-shared-generator: Draws from the shared generator, so that
# masks depend on other random draws.
#> from self.rng, not from generator()
#- keep = self.rng.random(x.shape) >= self.p
keep = generator().random(x.shape) >= self.p

# %% dropout right dropout-where: Chooses between x / (1 - p) and 0 with where.
if self.training:
    dropped = self.rng.random(x.shape) < self.p
    return (x / (1 - self.p)).where(~dropped, 0)
return x

# %% dropout right dropout-binomial: Draws the mask as 0 and 1 in the dtype of x, scaled before
# the product.
if not self.training:
    return x
mask = np.asarray(self.rng.binomial(1, 1 - self.p, size=x.shape) / (1 - self.p), dtype=x.dtype)
return mask * x

# %% dropout equivalent: The draws are multiples of 2**-53: whether one that equals p exactly is
# dropped has no part in what dropout promises.
#= `>=` -> `>`
