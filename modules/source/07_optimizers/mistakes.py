# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% sgd mistake new-array-of-weights: Makes a new array: the layer keeps the old weights.
#> makes a new array that the network never sees
w = w - lr * g

# %% sgd mistake gradient-ascent: Adds the gradient: gradient ascent.
#> is the gradient added instead of subtracted?
w += lr * g

# %% sgd mistake gradient-scaled-in-place: Scales the gradient in place.
#> do not write into g
g *= lr
w -= g

# %% sgd mistake learning-rate-left-out: Forgets the learning rate.
#> w - lr * g is
w -= g

# %% sgd mistake weights-returned: Returns the new weights as well.
#> returns None, yours returned
w -= lr * g
return w

# %% sgd right sgd-numpy-subtract: np.subtract with out
np.subtract(w, lr * g, out=w)

# %% sgd right sgd-slice-assignment: writes into the array with [...]
w[...] = w - np.multiply(g, lr)

# %% momentum mistake average-instead-of-sum: Averages the gradients where momentum adds them:
# the first step is ten times too short.
#> Yours is an average: add the whole gradient
#- velocity += g
velocity += (1 - momentum) * g

# %% momentum mistake velocity-not-kept: Makes a new velocity, which is lost when the function
# returns.
#> the array you were given holds
velocity = momentum * velocity + g
return g + momentum * velocity if nesterov else velocity

# %% momentum mistake momentum-on-the-sum: Adds the gradient first and multiplies by momentum
# afterwards.
#> times the old one plus the whole gradient
velocity += g
velocity *= momentum
return g + momentum * velocity if nesterov else velocity

# %% momentum mistake nesterov-with-the-old-velocity: Uses the velocity from before this step
# for Nesterov.
#> times the NEW velocity
old = velocity.copy()
velocity *= momentum
velocity += g
return g + momentum * old if nesterov else velocity

# %% momentum mistake nesterov-ignored: Ignores nesterov.
#> times the NEW velocity
#- return g + momentum * velocity if nesterov else velocity
return velocity

# %% momentum mistake nesterov-written-into-the-gradient: Adds the Nesterov term to the gradient
# in place.
#> do not write into g
#- return g + momentum * velocity if nesterov else velocity
if nesterov:
    g += momentum * velocity
    return g
return velocity

# %% momentum right momentum-slice-assignment: computes the velocity first and copies it into
# the array
new = momentum * velocity + g
velocity[...] = new
if nesterov:
    return g + momentum * new
return new

# %% momentum right momentum-numpy-functions: NumPy functions with out
np.multiply(velocity, momentum, out=velocity)
np.add(velocity, g, out=velocity)
return np.add(g, momentum * velocity) if nesterov else velocity.copy()

# %% param-groups mistake generator-kept: Keeps the generator of a group: from the second step
# on nothing is updated.
#> a generator is empty after one pass
#- return [{**defaults, **group, "params": list(group["params"])} for group in groups]
return [{**defaults, **group, "params": group["params"]} for group in groups]

# %% param-groups mistake defaults-override: Lets the defaults override the options of a group.
#> an option of the group overrides the default
#- return [{**defaults, **group, "params": list(group["params"])} for group in groups]
return [{**group, **defaults, "params": list(group["params"])} for group in groups]

# %% param-groups mistake groups-changed-in-place: Fills the defaults into the caller's own
# dicts.
#> should not be changed
#- return [{**defaults, **group, "params": list(group["params"])} for group in groups]
for group in groups:
    for name, value in defaults.items():
        group.setdefault(name, value)
    group["params"] = list(group["params"])
return groups

# %% param-groups mistake one-group-per-tensor: Makes a group of each tensor.
#> plain tensors are one group
#- groups = params if isinstance(params[0], dict) else [{"params": params}]
groups = params if isinstance(params[0], dict) else [{"params": [p]} for p in params]

# %% param-groups mistake params-as-a-tuple: Keeps the parameters of a group as a tuple.
#> the params of a group should be a list
#- return [{**defaults, **group, "params": list(group["params"])} for group in groups]
return [{**defaults, **group, "params": tuple(group["params"])} for group in groups]

# %% param-groups right param-groups-loop: a loop that fills new dicts
entries = params
if not isinstance(entries[0], dict):
    entries = [dict(params=entries)]
groups = []
for entry in entries:
    group = dict(defaults)
    group.update(entry)
    group["params"] = [p for p in entry["params"]]
    groups.append(group)
return groups

# %% param-groups right param-groups-union: dict union, and one case after the other
if not any(isinstance(p, dict) for p in params):
    return [defaults | {"params": [*params]}]
return [defaults | group | {"params": [*group["params"]]} for group in params]

# %% step mistake none-not-skipped: Does not ask whether there is a gradient.
#> has the gradient None and is skipped
#- if p.grad is not None:
#-     state = self.state_of(p, group)
if True:
    state = self.state_of(p, group)

# %% step mistake zeros-taken-for-none: Skips a gradient of zeros as if it were None.
#> Ask whether the gradient is None, not whether it is zero
#- if p.grad is not None:
#-     state = self.state_of(p, group)
if np.any(p.grad):
    state = self.state_of(p, group)

# %% step mistake counted-after-the-update: Counts after the update: Adam would divide by 1 -
# beta**0.
#> Count before the update
#- state["step"] += 1
#- self.update(p.data, p.grad, state, group)
self.update(p.data, p.grad, state, group)
state["step"] += 1

# %% step mistake not-counted: Does not count the steps.
#> add 1 in each step
#- state["step"] += 1
pass

# %% step mistake one-count-for-all: Counts the steps of the optimizer instead of each
# parameter's own.
#> Each parameter counts its own steps
#- ### BEGIN SOLUTION
### BEGIN SOLUTION
self.count = getattr(self, "count", 0) + 1
#- state["step"] += 1
state["step"] = self.count

# %% step mistake state-of-a-skipped-parameter: Makes a state for parameters that never had a
# gradient.
#> should have no entry in optimizer.state
#- for p in group["params"]:
for p in group["params"]:
    state = self.state.setdefault(p, {"step": 0})

# %% step mistake learning-rate-0-skipped: Skips a group whose learning rate is 0, as at the
# start of a warm-up: its state falls behind.
#> A step with lr = 0 still updates the state
#- if p.grad is not None:
#-     state = self.state_of(p, group)
if p.grad is not None and group["lr"]:
    state = self.state_of(p, group)

# %% step mistake copy-updated: Updates a copy of the weights.
#> give p.data itself to update, not a copy of it
#- self.update(p.data, p.grad, state, group)
self.update(p.numpy(), p.grad, state, group)

# %% step mistake new-array-in-the-tensor: Gives the tensor a new array.
#> give p.data and p.grad themselves to update
#- self.update(p.data, p.grad, state, group)
p.data = p.data.copy()
self.update(p.data, p.grad, state, group)

# %% step mistake first-group-only: Updates the first group only.
#> update should be called 2 + 3 times
for group in self.param_groups[:1]:
    for p in group["params"]:
        if p.grad is not None:
            state = self.state_of(p, group)
            state["step"] += 1
            self.update(p.data, p.grad, state, group)

# %% step mistake options-of-the-first-group: Uses the options of the first group for all.
#> Every group is updated, with its own options
#- self.update(p.data, p.grad, state, group)
self.update(p.data, p.grad, state, self.param_groups[0])

# %% step mistake return-for-continue: Returns at the first parameter without a gradient: those
# after it are not updated.
#> Skip only the parameter without a gradient, not those that come after it
for group in self.param_groups:
    for p in group["params"]:
        if p.grad is None:
            return
        state = self.state_of(p, group)
        state["step"] += 1
        self.update(p.data, p.grad, state, group)

# %% step mistake break-for-continue: Leaves the group at the first parameter without a
# gradient.
#> Skip only the parameter without a gradient, not those that come after it
for group in self.param_groups:
    for p in group["params"]:
        if p.grad is None:
            break
        state = self.state_of(p, group)
        state["step"] += 1
        self.update(p.data, p.grad, state, group)

# %% step right step-continue: continue instead of a nested if
for group in self.param_groups:
    for p in group["params"]:
        if p.grad is None:
            continue
        entry = self.state_of(p, group)
        entry["step"] = entry["step"] + 1
        self.update(w=p.data, g=p.grad, state=entry, group=group)

# %% step right step-list-first: first a list of pairs, then one loop
ready = [(p, group) for group in self.param_groups for p in group["params"]
         if p.grad is not None]
states = [self.state_of(p, group) for p, group in ready]
for state in states:
    state["step"] += 1
for (p, group), state in zip(ready, states):
    self.update(p.data, p.grad, state, group)

# %% moments mistake gradient-not-squared: Averages the gradient where its square is asked.
#> v takes the square of g
#- v += (1 - beta2) * g * g
v += (1 - beta2) * g

# %% moments mistake betas-swapped: Swaps the betas.
#> m should be
m *= beta2
m += (1 - beta2) * g
v *= beta2
v += (1 - beta2) * g * g

# %% moments mistake moments-summed: Adds the whole gradient, as momentum does.
#> m should be
#- m += (1 - beta1) * g
m += g

# %% moments mistake moments-not-kept: Makes new averages, which are lost when the function
# returns.
#> the array you were given holds
m *= beta1
m += (1 - beta1) * g
v = beta2 * v + (1 - beta2) * g * g

# %% moments mistake gradient-squared-in-place: Squares the gradient in place.
#> do not write into g
#- v += (1 - beta2) * g * g
g *= g
v += (1 - beta2) * g

# %% moments right moments-difference: moves each average towards the new value
m += (1 - beta1) * (g - m)
v += (1 - beta2) * (np.square(g) - v)

# %% moments right moments-slice-assignment: one line for each, written into the array
m[...] = beta1 * m + (1 - beta1) * g
v[...] = beta2 * v + (1 - beta2) * g**2

# %% direction mistake corrected-moments-kept: Writes the corrected moments back, so that the
# correction compounds.
#> Keep the moments and their corrected copies apart
beta1, beta2 = betas
m /= 1 - beta1 ** step
v /= 1 - beta2 ** step
corrected_m, corrected_v = m, v
return corrected_m / (np.sqrt(corrected_v) + eps)

# %% direction mistake correction-without-the-power: Corrects every step as if it were the
# first.
#> You correct by 1 - beta, not by 1 - beta ** step
beta1, beta2 = betas
corrected_m = m / (1 - beta1)
corrected_v = v / (1 - beta2)
return corrected_m / (np.sqrt(corrected_v) + eps)

# %% direction mistake no-correction: Leaves the bias correction out.
#> corrected they are g and g²
beta1, beta2 = betas
corrected_m, corrected_v = m, v
return corrected_m / (np.sqrt(corrected_v) + eps)

# %% direction mistake eps-before-the-correction: Folds the corrections into one factor, so that
# eps is added to the uncorrected root.
#> You add eps to the root of v before v is corrected
#- return corrected_m / (np.sqrt(corrected_v) + eps)
return corrected_m / ((np.sqrt(v) + eps) / math.sqrt(1 - beta2 ** step))

# %% direction mistake eps-inside-the-root: Adds eps inside the root.
#> You add eps to v, under the root
#- return corrected_m / (np.sqrt(corrected_v) + eps)
return corrected_m / (np.sqrt(corrected_v + eps))

# %% direction mistake no-root: Divides by the second moment without its root.
#> so the direction is 1, -1, 1
#- return corrected_m / (np.sqrt(corrected_v) + eps)
return corrected_m / (corrected_v + eps)

# %% direction mistake step-off-by-one: Takes the number of the next step.
#> divided by 1 - 0.9**
#- corrected_m = m / (1 - beta1 ** step)
corrected_m = m / (1 - beta1 ** (step + 1))

# %% direction right direction-one-formula: one formula with np.power, the factors as Python
# numbers
share_m, share_v = (1 - math.pow(beta, step) for beta in betas)
return (m / share_m) / ((v / share_v) ** 0.5 + eps)

# %% direction right direction-eps-scaled: the corrections as one factor, with eps scaled to
# match
root = math.sqrt(1 - betas[1] ** step)
return (root / (1 - betas[0] ** step)) * m / (np.sqrt(v) + eps * root)

# %% adam mistake adam-weight-decay-left-out: Leaves the weight decay out.
#> the regularized gradient is 1 + 0.25 * 2
#- g = regularized_gradient(g, w, group["weight_decay"])
pass

# %% adam mistake adam-gradient-regularized-in-place: Adds the weight decay to the gradient in
# place.
#> do not write into g
#- g = regularized_gradient(g, w, group["weight_decay"])
g += group["weight_decay"] * w

# %% adam mistake adam-direction-before-moments: Computes the direction before the moments have
# seen this gradient.
#> call update_moments before adam_direction
g = regularized_gradient(g, w, group["weight_decay"])
with np.errstate(all="ignore"):
    direction = adam_direction(m, v, state["step"], group["betas"], group["eps"])
update_moments(m, v, g, *group["betas"])
sgd_update(w, direction, group["lr"])

# %% adam mistake adam-always-step-1: Corrects every step as the first.
#> (the steps before were right; step 2 has lr 0
#- direction = adam_direction(m, v, state["step"], group["betas"], group["eps"])
direction = adam_direction(m, v, 1, group["betas"], group["eps"])

# %% adam mistake adam-learning-rate-0-skipped: Skips the moments when the learning rate is 0.
#> step 2 has lr 0 and updates only the moments
#- update_moments(m, v, g, *group["betas"])
if group["lr"] == 0:
    return
update_moments(m, v, g, *group["betas"])

# %% adam mistake adam-learning-rate-twice: Multiplies by the learning rate twice.
#> Is the learning rate in it twice?
#- sgd_update(w, direction, group["lr"])
sgd_update(w, group["lr"] * direction, group["lr"])

# %% adam right adam-written-out: all formulas written out
beta1, beta2 = group["betas"]
full = g + group["weight_decay"] * w
m[...] = beta1 * m + (1 - beta1) * full
v[...] = beta2 * v + (1 - beta2) * full * full
t = state["step"]
w -= group["lr"] * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + group["eps"])

# %% adam right adam-new-weights-copied: computes the new weights and copies them into the array
if group["weight_decay"]:
    g = g + group["weight_decay"] * w
update_moments(m, v, g, beta1=group["betas"][0], beta2=group["betas"][1])
step = adam_direction(m, v, state["step"], eps=group["eps"], betas=group["betas"])
w[...] = w - group["lr"] * step

# %% adamw mistake decay-after-the-step: Shrinks the weight after the step.
#> the weight shrank after the step
update_moments(m, v, g, *group["betas"])
sgd_update(w, adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)
w *= 1 - lr * group["weight_decay"]

# %% adamw mistake decay-in-the-gradient: Adds the weight decay to the gradient, as Adam does.
#> multiply it, and leave the gradient as it is
#- w *= 1 - lr * group["weight_decay"]
g = regularized_gradient(g, w, group["weight_decay"])

# %% adamw mistake decay-twice: Shrinks the weight and calls Adam's update with its L2
# regularization as well.
#> they must not contain the weight decay
w *= 1 - lr * group["weight_decay"]
super().update(w, g, state, group)

# %% adamw mistake decay-without-the-learning-rate: Forgets the learning rate in the weight
# decay.
#> the weight shrank by the weight decay without the learning rate
#- w *= 1 - lr * group["weight_decay"]
w *= 1 - group["weight_decay"]

# %% adamw mistake decayed-copy: Shrinks a new array instead of the weights.
#> writes into w
#- w *= 1 - lr * group["weight_decay"]
w = w * (1 - lr * group["weight_decay"])

# %% adamw mistake adamw-learning-rate-twice: Multiplies by the learning rate twice.
#> is the learning rate in the step twice?
#- sgd_update(w, adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)
sgd_update(w, lr * adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)

# %% adamw mistake moments-after-the-step: Updates the moments after the step: the direction
# lacks this gradient.
#> call update_moments before adam_direction
w *= 1 - lr * group["weight_decay"]
with np.errstate(all="ignore"):
    sgd_update(w, adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)
update_moments(m, v, g, *group["betas"])

# %% adamw mistake one-scalar-for-the-array: Takes one average of the whole array for all of its
# elements.
#> If the checks above pass: each weight has its own m and v
#- sgd_update(w, adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)
sgd_update(w, adam_direction(m, 0 * v + v.mean(), state["step"], group["betas"], group["eps"]), lr)

# %% adamw right adamw-through-adam: Adam's update without weight decay
w *= 1 - lr * group["weight_decay"]
super().update(w, g, state, {**group, "weight_decay": 0.0})

# %% adamw right adamw-written-out: all formulas written out, the decay subtracted
(beta1, beta2), t = group["betas"], state["step"]
w -= lr * group["weight_decay"] * w
m += (1 - beta1) * (g - m)
v += (1 - beta2) * (g**2 - v)
w -= lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + group["eps"])

# %% clip mistake each-clipped-alone: Clips each gradient by its own norm.
#> Do not clip each gradient by its own norm
gradients = [p.grad for p in parameters if p.grad is not None]
norm = math.hypot(*[float(np.linalg.norm(g.astype("float64"))) for g in gradients])
for g in gradients:
    g *= min(1, max_norm / (float(np.linalg.norm(g)) + 1e-6))
return norm

# %% clip mistake short-gradients-stretched: Scales short gradients up to max_norm.
#> should not change; yours became
#- if factor < 1:
#-     for g in gradients:
#-         g *= factor
if True:
    for g in gradients:
        g *= factor

# %% clip mistake new-gradients: Gives the tensors new arrays.
#> should be changed in place
#- for g in gradients:
#-     g *= factor
for p in [p for p in parameters if p.grad is not None]:
    p.grad = p.grad * factor

# %% clip mistake scaled-copies: Scales a copy of each gradient, which no tensor holds.
#> makes a new array that no tensor holds
#- g *= factor
g = g * factor

# %% clip mistake norms-added: Adds the norms instead of their squares.
#> is 125 ** 0.5
#- norm = math.hypot(*[float(np.linalg.norm(g.astype("float64"))) for g in gradients])
norm = sum([float(np.linalg.norm(g.astype("float64"))) for g in gradients])

# %% clip mistake norm-after-clipping: Returns the norm after clipping.
#> is 125 ** 0.5
#- return norm
return min(norm, max_norm)

# %% clip mistake none-clipped: Does not leave out tensors without a gradient.
#> parameters without a gradient are left out
#- gradients = [p.grad for p in parameters if p.grad is not None]
gradients = [p.grad for p in parameters if p.grad.size >= 0]

# %% clip mistake norm-in-float32: Computes the norm in float32, where the square of 1e20 is
# infinite.
#> compute the norm in float64
#- norm = math.hypot(*[float(np.linalg.norm(g.astype("float64"))) for g in gradients])
norm = math.hypot(*[float(np.linalg.norm(g)) for g in gradients])

# %% clip mistake squares-in-float32: Squares in float32 and adds up in float64: the squares
# have overflowed already.
#> compute the norm in float64
#- norm = math.hypot(*[float(np.linalg.norm(g.astype("float64"))) for g in gradients])
norm = sum(float(np.sum(g * g, dtype="float64")) for g in gradients) ** 0.5

# %% clip mistake generator-used-up: Iterates over the parameters twice.
#> A generator can be iterated only once
norm = math.hypot(*[float(np.linalg.norm(p.grad.astype("float64"))) for p in parameters
                    if p.grad is not None])
factor = max_norm / (norm + 1e-6)
if factor < 1:
    for p in parameters:
        if p.grad is not None:
            p.grad *= factor
return norm

# %% clip mistake norm-of-nothing-is-an-int: Returns the int 0 when there are no gradients.
#> without gradients the norm is 0.0, a float
#- return norm
return norm if gradients else 0

# %% clip right clip-sum-of-squares: a sum of squares in float64, over a list of parameters
params = [p for p in parameters if p.grad is not None]
total = 0.0
for p in params:
    total += float((p.grad.astype(np.float64) ** 2).sum())
norm = math.sqrt(total)
if norm > max_norm:
    for p in params:
        p.grad *= max_norm / norm
return norm

# %% clip right clip-concatenated: all gradients as one long vector
gradients = [p.grad for p in parameters if p.grad is not None]
if not gradients:
    return 0.0
norm = float(np.linalg.norm(np.concatenate([g.ravel().astype(float) for g in gradients])))
for g in gradients:
    g *= min(1.0, max_norm / (norm + 1e-6))
return norm

# %% cosine mistake whole-wave: Takes a whole wave where half of one is meant.
#> it is half a wave in T_max epochs
share = (1 + math.cos(2 * math.pi * self.last_epoch / self.T_max)) / 2
return [self.eta_min + (base_lr - self.eta_min) * share for base_lr in self.base_lrs]

# %% cosine mistake eta-min-ignored: Ends at 0 whatever eta_min is.
#> the lowest learning rate is eta_min, not 0
share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
return [base_lr * share for base_lr in self.base_lrs]

# %% cosine mistake eta-min-added: Adds eta_min to the base learning rate.
#> multiply the share by base_lr - eta_min
share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
return [self.eta_min + base_lr * share for base_lr in self.base_lrs]

# %% cosine mistake cosine-not-shifted: Takes the bare cosine: the learning rate becomes
# negative.
#> a share from 1 to 0
share = math.cos(math.pi * self.last_epoch / self.T_max)
return [self.eta_min + (base_lr - self.eta_min) * share for base_lr in self.base_lrs]

# %% cosine mistake first-group-for-all: Gives all groups the learning rate of the first.
#> Each group starts from its own base learning rate
share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
return [self.eta_min + (base_lr - self.eta_min) * share for base_lr in self.base_lrs[:1] for _ in self.base_lrs]

# %% cosine mistake from-the-current-learning-rate: Multiplies the current learning rate, so
# that the factors compound.
#> start from self.base_lrs, not from the current learning rates
share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
return [self.eta_min + (base_lr - self.eta_min) * share for base_lr in [group["lr"] for group in self.optimizer.param_groups]]

# %% cosine right cosine-half-angle: the square of the cosine of half the angle
share = math.cos(math.pi * self.last_epoch / self.T_max / 2) ** 2
return [base_lr * share + self.eta_min * (1 - share) for base_lr in self.base_lrs]

# %% cosine right cosine-loop: a loop with NumPy's cosine
lrs = []
for base_lr in self.base_lrs:
    wave = np.cos(self.last_epoch * np.pi / self.T_max)
    lrs.append(self.eta_min + 0.5 * (base_lr - self.eta_min) * (1 + wave))
return lrs

# %% warmup mistake cosine-counts-during-the-warmup: The cosine counts from step 0, so the
# learning rate drops when the warm-up ends.
#> The cosine counts from the end of the warm-up
#- progress = min(1.0, (step - warmup) / (total - warmup))
progress = min(1.0, step / total)

# %% warmup mistake rises-again: Does not stop at the end: the learning rate rises again.
#> The learning rate must not rise again
#- progress = min(1.0, (step - warmup) / (total - warmup))
progress = (step - warmup) / (total - warmup)

# %% warmup mistake warmup-from-zero: Begins with a factor of 0: the first step does nothing.
#> steps has the factors
#- return (step + 1) / (warmup + 1)
return step / warmup

# %% warmup mistake lowest-ignored: Ends at 0 whatever `lowest` is.
#> lowest is not used
#- return lowest + (1 - lowest) * (1 + math.cos(math.pi * progress)) / 2
return (1 + math.cos(math.pi * progress)) / 2

# %% warmup mistake cut-off-at-lowest: Lets the cosine go to 0 and cuts it off at `lowest`.
#> is cut off at lowest
#- return lowest + (1 - lowest) * (1 + math.cos(math.pi * progress)) / 2
return max(lowest, (1 + math.cos(math.pi * progress)) / 2)

# %% warmup right warmup-three-cases: three cases
if step >= total:
    return lowest
if step >= warmup:
    wave = math.cos(math.pi * (step - warmup) / (total - warmup))
    return (1 + lowest) / 2 + (1 - lowest) / 2 * wave
return (step + 1) / (warmup + 1)

# %% warmup right warmup-numpy: NumPy's clip and interp
progress = np.clip((step - warmup) / (total - warmup), 0, 1)
cosine = lowest + (1 - lowest) * np.cos(np.pi * progress / 2) ** 2
return float(min((step + 1) / (warmup + 1), 1) * 1.0 if step < warmup else cosine)

# %% state-dict mistake state-not-copied: Returns the live arrays.
#> copy the arrays
#- state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
state = {number[p]: dict(entry) for p, entry in optimizer.state.items()}

# %% state-dict mistake steps-forgotten: Forgets how many steps were taken: the bias correction
# starts anew.
#> the state says
#- state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
state = {number[p]: {**copy.deepcopy(entry), "step": 0} for p, entry in optimizer.state.items()}

# %% state-dict mistake moments-forgotten: Saves the step count and the options, but not the
# moments.
#> was not saved
#- state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
state = {number[p]: {name: x * 0 if name != "step" else x for name, x in entry.items()} for p, entry in optimizer.state.items()}

# %% state-dict mistake numbered-within-groups: Numbers the parameters of each group from 0.
#> numbered [0] and [1, 2], through all groups
#- groups = [{**group, "params": [number[p] for p in group["params"]]}
#-           for group in optimizer.param_groups]
groups = [{**group, "params": [*range(len(group["params"]))]}
          for group in optimizer.param_groups]

# %% state-dict mistake tensors-in-the-state: Keeps the tensors themselves in the groups.
#> numbered [0] and [1, 2], through all groups
#- groups = [{**group, "params": [number[p] for p in group["params"]]}
#-           for group in optimizer.param_groups]
groups = [{**group}
          for group in optimizer.param_groups]

# %% state-dict mistake state-for-all-parameters: Makes an entry for parameters that never
# stepped.
#> Read optimizer.state, which holds only what stepped
#- state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
state = {n: copy.deepcopy(optimizer.state.get(p, {"step": 0})) for p, n in number.items()}

# %% state-dict mistake state-made-while-saving: Calls state_of, which makes a state for
# parameters that never stepped.
#> and do not call state_of
#- state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
state = {number[p]: copy.deepcopy(optimizer.state_of(p, group))
         for group in optimizer.param_groups for p in group["params"]}

# %% state-dict mistake state-looked-up-for-all: Looks up the state of every parameter, though
# some have none.
#> Read optimizer.state, which holds only what stepped
#- state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
state = {n: copy.deepcopy(optimizer.state[p]) for p, n in number.items()}

# %% state-dict right state-dict-loop: one loop over groups and parameters
state, groups, n = {}, [], 0
for group in optimizer.param_groups:
    numbers = []
    for p in group["params"]:
        if p in optimizer.state:
            state[n] = {name: np.array(x) if isinstance(x, np.ndarray) else x
                        for name, x in optimizer.state[p].items()}
        numbers.append(n)
        n += 1
    groups.append(dict(group, params=numbers))
return dict(state=state, param_groups=groups)

# %% state-dict right state-dict-by-identity: numbers by the identity of the parameters
number = {}
for group in optimizer.param_groups:
    for p in group["params"]:
        number[id(p)] = len(number)
return {
    "param_groups": [{name: [number[id(p)] for p in value] if name == "params" else value
                      for name, value in group.items()} for group in optimizer.param_groups],
    "state": {number[id(p)]: {name: copy.copy(x) for name, x in entry.items()}
              for p, entry in optimizer.state.items()},
}

# %% param-groups equivalent: Tensors and dicts are not mixed: the last entry tells as much as
# the first.
#= `0` -> `(-1)`

# %% clip equivalent: A factor of 1 changes nothing.
#= `<` -> `<=`

# %% warmup equivalent: In step `warmup` the warm-up formula gives 1, too.
#= `<` -> `<=`

# %% warmup equivalent: The order of the arguments of min.
#= `1.0, (step - warmup) / (total - warmup)` -> `(step - warmup) / (total - warmup), 1.0`
