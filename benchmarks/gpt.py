"""A GPT in NumPy by hand and in PyTorch: what ours is compared with in engine.py and training.py.

Pre-LN blocks, GELU in its tanh form, learned positions, a head that shares the weights of the
embedding, no dropout. All begin with the same weights, and do the same: a training step with AdamW
that decays matrices only, or greedy decoding, with or without a key-value cache.
"""

import math

import numpy as np

GELU = math.sqrt(2 / math.pi), 0.044715


def first_weights(vocabulary, context, width, layers, seed=0):
    """{name in our state dict: float32 array}. Matrices of dense layers are (in, out)."""
    rng = np.random.default_rng(seed)

    def normal(*shape, std=0.02):
        return (std * rng.standard_normal(shape)).astype("f")

    found = {"embedding.weight": normal(vocabulary, width, std=0.05)}
    found["positions.weight"] = normal(context, width, std=0.1)
    branch = 0.2 / math.sqrt(2 * layers)
    for n in range(layers):
        for name, shape, std in (
            ("norm1", None, 0),
            ("attention.qkv", (width, 3 * width), 0.1),
            ("attention.out", (width, width), branch),
            ("norm2", None, 0),
            ("mlp.0", (width, 4 * width), 0.1),
            ("mlp.2", (4 * width, width), branch),
        ):
            if shape is None:
                found[f"blocks.{n}.{name}.weight"] = 1 + normal(width)
                found[f"blocks.{n}.{name}.bias"] = normal(width)
            else:
                found[f"blocks.{n}.{name}.weights"] = normal(*shape, std=std)
                found[f"blocks.{n}.{name}.bias"] = normal(shape[1])
    return found | {"norm.weight": 1 + normal(width), "norm.bias": normal(width)}


def decays(name, array):
    """Whether AdamW decays a weight: the matrices of dense layers, no table, gain or bias."""
    return array.ndim == 2 and name.startswith("blocks.")


# Ours.


def tinytorch_model(weights, heads):
    """Our GPT with these weights."""
    from tinytorch.core.attention import fuse_attention
    from tinytorch.nn import GPT

    vocabulary, width = weights["embedding.weight"].shape
    context, layers = len(weights["positions.weight"]), depth(weights)
    model = fuse_attention(GPT(vocabulary, context, width, layers, heads))
    model.load_state_dict(weights)
    return model


def depth(weights):
    """The number of blocks."""
    return len({name.split(".")[1] for name in weights if name.startswith("blocks.")})


# PyTorch.


def torch_model(weights, heads):
    """PyTorch's GPT with these weights, as a user writes it."""
    import torch
    from torch import nn
    from torch.nn import functional

    vocabulary, width = weights["embedding.weight"].shape
    context = len(weights["positions.weight"])

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x, past=None):
            """past  a list of the earlier keys and values, which grows; None for no cache"""
            batch, tokens, _ = x.shape
            q, k, v = (
                part.view(batch, tokens, heads, -1).transpose(1, 2)
                for part in self.qkv(x).split(width, 2)
            )
            if past:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            causal = not past  # one new token may look at all before it
            if past is not None:
                past[:] = k, v
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.out(y.transpose(1, 2).reshape(batch, tokens, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(width), Attention()
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width),
                nn.GELU(approximate="tanh"),
                nn.Linear(4 * width, width),
            )

        def forward(self, x, past=None):
            x = x + self.attention(self.norm1(x), past)
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(context, width)
            self.blocks = nn.ModuleList(Block() for _ in range(depth(weights)))
            self.norm = nn.LayerNorm(width)

        def forward(self, ids, pasts=None, start=0):
            places = torch.arange(start, start + ids.shape[1])
            x = self.embedding(ids) + self.positions(places)
            for n, block in enumerate(self.blocks):
                x = block(x, pasts[n] if pasts else None)
            return functional.linear(self.norm(x), self.embedding.weight)

    model = GPT()
    with torch.no_grad():
        for name, p in torch_parameters(model, weights):
            dense = name.endswith(".weights")
            p.copy_(torch.from_numpy(weights[name].T.copy() if dense else weights[name]))
    return model


def torch_parameters(model, weights):
    """[(our name, PyTorch's Parameter)], in the order of our state dict."""
    theirs = dict(model.named_parameters())
    return [(name, theirs[name.replace(".weights", ".weight")]) for name in weights]


def torch_groups(model, weights, weight_decay):
    """The parameter groups for PyTorch's optimizer."""
    named = torch_parameters(model, weights)
    return [
        {
            "params": [p for name, p in named if decays(name, weights[name]) == decayed],
            "weight_decay": weight_decay * decayed,
        }
        for decayed in (True, False)
    ]


def torch_generate(model, ids, count, cache):
    """Greedy decoding: a list of `count` ids that follow `ids`."""
    import torch

    ids = torch.tensor([ids])
    pasts, new = [[] for _ in model.blocks] if cache else None, ids
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(count):
            place = ids.shape[1] - new.shape[1]
            logits = model(new, pasts, place) if cache else model(ids)
            new = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, new], 1)
    return ids[0, start:].tolist()


# NumPy by hand.


def numpy_step(weights, heads, x, y, rate, betas, weight_decay):
    """Forward, backward and AdamW without an engine, every large buffer made once: two functions,
    compute() -> [loss, *gradients], those of decayed weights first, and improve(found), for ids x
    and targets y (batch, tokens).
    """
    names = sorted(weights, key=lambda name: not decays(name, weights[name]))
    sizes = np.cumsum([0, *(weights[name].size for name in names)])
    decayed = sum(weights[name].size for name in names if decays(name, weights[name]))
    flat = np.concatenate([weights[name].ravel() for name in names])
    gradients, m, v = np.zeros_like(flat), np.zeros_like(flat), np.zeros_like(flat)
    w, to = (
        {name: row[a:b].reshape(weights[name].shape) for name, a, b in zip(names, sizes, sizes[1:])}
        for row in (flat, gradients)
    )
    (batch, tokens), (vocabulary, width) = x.shape, weights["embedding.weight"].shape
    size, rows, layers = width // heads, batch * tokens, depth(weights)
    kept, temporary, steps = {}, {}, 0
    hidden = np.triu(np.full((tokens, tokens), -np.inf, "f"), 1)
    places, targets = np.arange(rows), y.ravel()
    np.empty(31 << 20, np.uint8)  # from then on glibc keeps what is freed: no page comes twice

    def buffer(store, key, *shape):
        if key not in store:
            store[key] = np.empty(shape, "f")
        return store[key]

    def normalized(x, name):
        hat = buffer(kept, f"{name} hat", rows, width)
        np.subtract(x, x.mean(1, keepdims=True), out=hat)
        inverse = np.einsum("ij,ij->i", hat, hat)[:, None] / width
        inverse += 1e-5
        np.sqrt(inverse, out=inverse)
        np.divide(1, inverse, out=inverse)
        hat *= inverse
        kept[f"{name} inverse"] = inverse
        out = np.multiply(hat, w[f"{name}.weight"], out=buffer(kept, name, rows, width))
        out += w[f"{name}.bias"]
        return out

    def through_norm(g, name):
        """Back through `normalized`, into the gradient array g itself."""
        hat = kept[f"{name} hat"]
        product = np.multiply(g, hat, out=buffer(temporary, "product", rows, width))
        np.add.reduce(product, axis=0, out=to[f"{name}.weight"])
        np.add.reduce(g, axis=0, out=to[f"{name}.bias"])
        g *= w[f"{name}.weight"]
        along = np.einsum("ij,ij->i", g, hat)[:, None] / width
        g -= g.mean(1, keepdims=True)
        g -= np.multiply(hat, along, out=product)
        g *= kept[f"{name} inverse"]
        return g

    def dense(x, name, out):
        np.matmul(x, w[f"{name}.weights"], out=out)
        out += w[f"{name}.bias"]
        return out

    def through_dense(g, x, name, out):
        np.matmul(x.T, g, out=to[f"{name}.weights"])
        np.add.reduce(g, axis=0, out=to[f"{name}.bias"])
        return np.matmul(g, w[f"{name}.weights"].T, out=out)

    def parts(qkv):
        """q, k and v of shape (batch, heads, tokens, size), as views."""
        return qkv.reshape(batch, tokens, 3, heads, size).transpose(2, 0, 3, 1, 4)

    def heads_of(x):
        return x.reshape(batch, tokens, heads, size).transpose(0, 2, 1, 3)

    def forward():
        h = buffer(kept, "stream", rows, width)
        np.take(w["embedding.weight"], x.ravel(), axis=0, out=h)
        h.reshape(batch, tokens, width)[...] += w["positions.weight"][:tokens]
        for n in range(layers):
            name = f"blocks.{n}"
            qkv = buffer(kept, f"{n} qkv", rows, 3 * width)
            dense(normalized(h, f"{name}.norm1"), f"{name}.attention.qkv", qkv)
            q, k, values = parts(qkv)
            p = buffer(kept, f"{n} p", batch, heads, tokens, tokens)
            np.matmul(q, k.swapaxes(-1, -2), out=p)
            p *= size**-0.5
            p += hidden
            p -= p.max(-1, keepdims=True)
            np.exp(p, out=p)
            p /= p.sum(-1, keepdims=True)
            mixed = buffer(kept, f"{n} mixed", rows, width)
            np.matmul(p, values, out=heads_of(mixed))
            branch = buffer(temporary, "branch", rows, width)
            h += dense(mixed, f"{name}.attention.out", branch)
            u = buffer(kept, f"{n} u", rows, 4 * width)
            dense(normalized(h, f"{name}.norm2"), f"{name}.mlp.0", u)
            t = np.multiply(u, u, out=buffer(kept, f"{n} t", rows, 4 * width))
            t *= GELU[0] * GELU[1]
            t += GELU[0]
            t *= u
            np.tanh(t, out=t)
            bent = np.add(t, 1, out=buffer(kept, f"{n} bent", rows, 4 * width))
            bent *= u
            bent *= 0.5
            h += dense(bent, f"{name}.mlp.2", branch)
        return normalized(h, "norm")

    def compute():
        h = forward()
        scores = buffer(temporary, "scores", rows, vocabulary)
        np.matmul(h, w["embedding.weight"].T, out=scores)
        scores -= scores.max(1, keepdims=True)
        wanted = scores[places, targets]
        np.exp(scores, out=scores)
        total = scores.sum(1, keepdims=True)
        loss = (np.log(total[:, 0]) - wanted).mean()
        g = scores
        g /= total
        g[places, targets] -= 1
        g /= rows
        np.matmul(g.T, h, out=to["embedding.weight"])
        stream = np.matmul(g, w["embedding.weight"], out=buffer(temporary, "g", rows, width))
        through_norm(stream, "norm")
        small, large = (buffer(temporary, n, rows, n * width) for n in (1, 4))
        for n in reversed(range(layers)):
            name = f"blocks.{n}"
            u, t = kept[f"{n} u"], kept[f"{n} t"]
            through_dense(stream, kept[f"{n} bent"], f"{name}.mlp.2", large)
            slope = np.multiply(u, u, out=buffer(temporary, "slope", rows, 4 * width))
            slope *= 1.5 * GELU[0] * GELU[1]
            slope += 0.5 * GELU[0]
            slope *= u  # u / 2 times the derivative of what is inside tanh
            square = np.multiply(t, t, out=kept[f"{n} bent"])
            np.subtract(1, square, out=square)
            slope *= square
            t *= 0.5
            t += 0.5
            slope += t
            large *= slope
            through_dense(large, kept[f"{name}.norm2"], f"{name}.mlp.0", small)
            stream += through_norm(small, f"{name}.norm2")
            through_dense(stream, kept[f"{n} mixed"], f"{name}.attention.out", small)
            q, k, values = parts(kept[f"{n} qkv"])
            to_qkv = buffer(temporary, "to qkv", rows, 3 * width)
            to_q, to_k, to_values = parts(to_qkv)
            p, g = kept[f"{n} p"], heads_of(small)
            np.matmul(p.swapaxes(-1, -2), g, out=to_values)
            s = buffer(temporary, "s", batch, heads, tokens, tokens)
            np.matmul(g, values.swapaxes(-1, -2), out=s)
            s -= np.einsum("bhij,bhij->bhi", s, p)[..., None]
            s *= p
            s *= size**-0.5
            np.matmul(s, k, out=to_q)
            np.matmul(s.swapaxes(-1, -2), q, out=to_k)
            through_dense(to_qkv, kept[f"{name}.norm1"], f"{name}.attention.qkv", small)
            stream += through_norm(small, f"{name}.norm1")
        np.add.reduce(stream.reshape(batch, tokens, width), axis=0, out=to["positions.weight"])
        chosen = np.zeros((vocabulary, rows), "f")
        chosen[x.ravel(), places] = 1
        to["embedding.weight"] += chosen @ stream
        return [loss, *(to[name] for name in names)]

    def improve(found):
        nonlocal steps
        steps += 1
        flat[:decayed] *= 1 - rate * weight_decay
        m[...] += (1 - betas[0]) * (gradients - m)
        v[...] += (1 - betas[1]) * (gradients * gradients - v)
        size = np.sqrt(v / (1 - betas[1] ** steps))
        size += 1e-8
        flat[...] -= rate / (1 - betas[0] ** steps) * m / size

    return compute, improve


def numpy_generate(w, heads, ids, count, cache):
    """Greedy decoding: a list of `count` ids that follow `ids`."""
    ids = list(ids)
    start, width, layers = len(ids), w["norm.weight"].size, depth(w)
    size, longest = width // heads, len(w["positions.weight"])
    past = np.empty((layers, 2, heads, longest, size), "f")
    hidden = np.triu(np.full((longest, longest), -np.inf, "f"), 1)

    def norm(x, name):
        x = x - x.mean(1, keepdims=True)
        x /= np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x, name):
        x = x @ w[f"{name}.weights"]
        x += w[f"{name}.bias"]
        return x

    def scores(new, length):
        """The scores of the token that follows; `new` ids come after `length` that are known."""
        x = w["embedding.weight"][new] + w["positions.weight"][length : length + len(new)]
        end = length + len(new)
        for n in range(layers):
            name = f"blocks.{n}"
            qkv = dense(norm(x, f"{name}.norm1"), f"{name}.attention.qkv")
            q, k, v = qkv.reshape(-1, 3, heads, size).transpose(1, 2, 0, 3)
            past[n, 0, :, length:end], past[n, 1, :, length:end] = k, v
            k, v = past[n, :, :, :end]
            p = q @ k.swapaxes(-1, -2)
            p *= size**-0.5
            if len(new) > 1:
                p += hidden[length:end, :end]
            p -= p.max(-1, keepdims=True)
            np.exp(p, out=p)
            p /= p.sum(-1, keepdims=True)
            x += dense((p @ v).swapaxes(0, 1).reshape(-1, width), f"{name}.attention.out")
            u = dense(norm(x, f"{name}.norm2"), f"{name}.mlp.0")
            u *= 0.5 * (1 + np.tanh(GELU[0] * (u + GELU[1] * u * u * u)))
            x += dense(u, f"{name}.mlp.2")
        return norm(x[-1:], "norm") @ w["embedding.weight"].T

    new, length = ids, 0
    for _ in range(count):
        ids.append(int(scores(new, length).argmax()))
        new, length = (ids[-1:], len(ids) - 1) if cache else (ids, 0)
    return ids[start:]
