"""A folder with the files of a small GPT-2 of random weights."""

import json

import numpy as np

from tinytorch.data.gpt2_files import byte_characters

SIZES = {"vocab_size": 261, "n_positions": 64, "n_embd": 24, "n_layer": 2, "n_head": 3}
PAIRS = ("Ġ t", "h e", "Ġt he", "i s")


def shapes(config):
    """{published name: shape}, as the paper's code names them."""
    d = config["n_embd"]
    found = {"wte.weight": (config["vocab_size"], d), "wpe.weight": (config["n_positions"], d)}
    for layer in [f"h.{n}." for n in range(config["n_layer"])] + [""]:
        for norm in ("ln_1", "ln_2") if layer else ("ln_f",):
            found |= {f"{layer}{norm}.weight": (d,), f"{layer}{norm}.bias": (d,)}
        for name, rows, columns in [
            ("attn.c_attn", d, 3 * d),
            ("attn.c_proj", d, d),
            ("mlp.c_fc", d, 4 * d),
            ("mlp.c_proj", 4 * d, d),
        ] * bool(layer):
            found |= {f"{layer}{name}.weight": (rows, columns), f"{layer}{name}.bias": (columns,)}
    return found


def write_tensors(path, tensors, **changes):
    """A file in the format safetensors; `changes` replace entries of its header."""
    header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, array in tensors.items():
        parts.append(array.tobytes())
        offsets = [at, at := at + len(parts[-1])]
        kind = {"float32": "F32", "float16": "F16", "float64": "F64"}[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
    text = json.dumps(header | changes).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def write_gpt2(folder, **changes):
    """A folder with a GPT-2 of random weights; returns its {published name: array}."""
    config = {"model_type": "gpt2"} | SIZES | changes
    rng = np.random.default_rng(0)
    tensors = {
        name: (0.2 * rng.standard_normal(shape)).astype("f")
        for name, shape in shapes(config).items()
    }
    characters = list(byte_characters())
    tokens = [*characters, *(pair.replace(" ", "") for pair in PAIRS), "<|endoftext|>"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "vocab.json").write_text(json.dumps({t: n for n, t in enumerate(tokens)}))
    text = "#version: 0.2\n" + "\n".join(PAIRS) + "\n"
    (folder / "merges.txt").write_text(text, encoding="utf-8")
    write_tensors(folder / "model.safetensors", tensors)
    return tensors
