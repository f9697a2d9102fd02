"""What to write here for PyTorch's and NumPy's names: those of functions, methods, modules and
arguments, and what PyTorch's arguments by position mean. All tables are here; those of the names of
one public module are in that module.
"""

import functools
import inspect
from types import FunctionType

__all__ = [
    "MODULE",
    "POSITIONS",
    "RENAMED",
    "TENSOR",
    "NumPyNames",
    "advised",
    "missing_name",
    "numpy_names",
    "only_values",
    "texts_by_name",
]

TENSOR = {  # what to write here, with {name} for the name without a last _: methods of torch.Tensor
    "write x + y": "add",
    "write x - y": "sub subtract",
    "write x * y": "mul multiply",
    "write x / y": "div divide true_divide",
    "write x @ y": "matmul mm bmm mv dot",
    "write -x": "neg negative",
    "write x.abs()": "absolute",
    "write x == y": "eq equal",
    "write x != y": "ne not_equal",
    "write x < y": "lt less",
    "write x <= y": "le less_equal",
    "write x > y": "gt greater",
    "write x >= y": "ge greater_equal",
    "write x ** y": "power float_power",
    "write x ** 2": "square",
    "write x ** -0.5": "rsqrt",
    "write 1 / x": "reciprocal",
    "write (1 + x).log()": "log1p",
    "write x.exp() - 1": "expm1",
    "write (x * x).sum().maximum(1e-24).sqrt(), whose gradient at 0 is 0": "norm",
    "write x.clip(low, high)": "clamp",
    "write x.max(axis=...)": "amax",
    "write m + (x - m).exp().sum(axis=-1, keepdims=True).log(), with m = x.max(axis=-1, "
    "keepdims=True)": "logsumexp",
    "write x.min(axis=...)": "amin",
    "write x.data.{name}()": "any all",
    "write np.sort(x.data), or x[x.argsort()] with a gradient": "sort",
    "write x[x.argsort(descending=True)[:k]]; top_k in tinytorch.generate is for logits": "topk",
    "write np.argwhere(x.data)": "nonzero argwhere",
    "write np.{name}(x.data)": "isnan isinf isfinite unique round sign floor ceil",
    "write np.{name}(x.data); causal_mask in tinytorch.core.attention masks scores": "tril triu",
    "write where(mask, value, x)": "masked_fill",
    "write x[mask]": "masked_select",
    "write x[indices]": "index_select",
    "write x[np.arange(len(x)), labels]": "gather",
    "write slices, x[a:b]": "split chunk narrow",
    "write x[::-1]": "flip",
    "write x.expand(...), or np.tile(x.data, ...)": "repeat tile",
    "write x.flatten()": "ravel",
    "write x.view(y.shape)": "view_as reshape_as",
    "write x.expand(y.shape)": "expand_as",
    "write {name}(x, axis=...), from tinytorch.nn": "softmax log_softmax",
    "write sample(logits), or sample(p.log()) of rows p, from tinytorch.generate": "multinomial",
    "write x.creator": "grad_fn",
    "write x.creator is None": "is_leaf",
    "only leaves keep a gradient: write vjp of tinytorch.func": "retain_grad",
    "read x.grad after backward(): hook of tinytorch.interpret is for modules": "register_hook",
    "this library has no such function": "erf erfc erfinv lgamma digamma cosh sinh cross svd qr "
    "inverse det cholesky einsum",
    "write x.numel()": "nelement",
    "write x.to(dtype), with a NumPy dtype": "type astype half",
    "there is one device, the CPU: write x alone": "cuda device is_cuda pin_memory",
    "NumPy copies where it must: write x alone": "contiguous is_contiguous",
    "write x.data += y, or -=, *=, /=": "add_ sub_ mul_ div_",
    "write x.data[...] = 0, or another value": "zero_ fill_ copy_",
    "write x.data[...] = np.clip(x.data, low, high)": "clamp_ clip_",
    "write x.data[...] = rng.normal(0, std, x.shape)": "normal_",
    "write x.data[...] = rng.uniform(low, high, x.shape)": "uniform_",
    "write x = x.{name}(...)": "relu_ sigmoid_ tanh_ exp_ sqrt_ squeeze_ unsqueeze_ detach_",
}
MODULE = {  # the same for methods of torch.nn.Module, and of GradScaler
    "write `with hook(module, f):`, of tinytorch.interpret; record and changed take paths": ""
    "register_forward_hook register_forward_pre_hook register_full_backward_hook",
    "write self.name = module, or setattr(self, name, module)": "add_module register_module",
    "write self.name = Parameter(tensor)": "register_parameter",
    "write dict(net.named_parameters())[name]": "get_parameter",
    "write dict(net.named_modules())[name]": "get_submodule",
    "write dict(net.named_buffers())[name]": "get_buffer",
    "networks are float32 or float64: leave {name}() out": "half bfloat16",
    "write tinytorch.compile(f, net), for a function f that returns the loss": "compile",
    "write Sequential(*net, layer), or a ModuleList": "append extend insert",
    "to clip, multiply max_norm by scaler.get_scale(): step() divides the gradients": "unscale_",
}
RENAMED = {  # arguments of PyTorch and their names here
    "dim": "axis",
    "keepdim": "keepdims",
    "dim0": "axis1",
    "dim1": "axis2",
    "start_dim": "start_axis",
    "end_dim": "end_axis",
    "unbiased": "correction",
    "min": "low",
    "max": "high",
}
ARGUMENTS = {  # what to write for arguments of PyTorch that no function has here
    "nothing is computed in place: leave it out": "inplace",
    "there is one device, the CPU: leave it out": "device map_location pin_memory non_blocking "
    "pin_memory_device",
    "gelu is PyTorch's approximate='tanh': leave it out": "approximate",
    "select the rows first, logits[keep] and labels[keep], with keep = labels != ignored": ""
    "ignore_index",
    "weight the losses of reduction='none': (w * loss).mean(), and for classes "
    "(w[y] * loss).sum() / w[y].sum()": "weight",
    "weight the losses of reduction='none': ((1 + (pos_weight - 1) * y) * loss).mean()": ""
    "pos_weight",
    "write reduction='mean', 'sum' or 'none'": "size_average reduce",
    "write prefetch=2: one thread prepares batches": "num_workers prefetch_factor "
    "persistent_workers",
    "all keys must fit: write load_state_dict(net.state_dict() | part), where part has keys of the "
    "network": "strict",
    "write rng=..., a seed or a NumPy Generator": "generator",
    "write .to(dtype) afterwards": "dtype",
    "compute the loss and call backward() before step()": "closure",
    "minimize -loss": "maximize",
    "it changes the speed only: leave it out": "foreach fused capturable differentiable",
    "write the lengths without a name: (2, 3)": "size",
    "write x.flatten(start_axis, end_axis) in forward": "end_dim",
    "loading runs no code: leave it out": "weights_only pickle_module mmap",
    "batches are the first axis always: leave it out": "batch_first",
    "a schedule goes on with load_state_dict: leave it out": "last_epoch verbose",
    "a schedule counts its steps itself: leave it out": "epoch",
}
POSITIONS = {  # PyTorch's arguments by position after those that both libraries have there
    "Linear LayerNorm RMSNorm BatchNorm1d BatchNorm2d": "device dtype",
    "Conv2d": "dilation groups bias padding_mode device dtype",
    "conv2d": "dilation groups",
    "MaxPool2d": "dilation return_indices ceil_mode",
    "max_pool2d": "dilation ceil_mode return_indices",
    "AvgPool2d avg_pool2d": "ceil_mode count_include_pad divisor_override",
    "Embedding embedding": "padding_idx max_norm norm_type scale_grad_by_freq sparse",
    "MultiHeadAttention": "add_bias_kv add_zero_attn kdim vdim batch_first device dtype",
    "Dropout dropout ReLU relu": "inplace",
    "GELU gelu": "approximate",
    "Flatten": "end_dim",
    "MSELoss L1Loss": "size_average reduce reduction",
    "mse_loss l1_loss": "size_average reduce reduction weight",
    "BCEWithLogitsLoss binary_cross_entropy_with_logits": "weight size_average reduce reduction "
    "pos_weight",
    "CrossEntropyLoss cross_entropy": "weight size_average ignore_index reduce reduction "
    "label_smoothing",
    "SGD": "dampening weight_decay nesterov",
    "Adam AdamW": "amsgrad",
    "StepLR CosineAnnealingLR LinearLR LambdaLR SequentialLR": "last_epoch",
    "Optimizer.step FlatStep.step": "closure",
    "LRScheduler.step": "epoch",
    "clip_grad_norm_": "norm_type error_if_nonfinite foreach",
    "Module.load_state_dict": "strict assign",
    "DataLoader": "batch_sampler num_workers collate_fn pin_memory drop_last timeout "
    "worker_init_fn multiprocessing_context generator",
    "load": "map_location pickle_module",
    "save": "pickle_module pickle_protocol",
    "std var": "unbiased keepdim",
    "TensorMethods.to ModuleMethods.to": "",
    "tensor zeros ones full rand randn arange linspace eye": "",
}


def texts_by_name(table):
    """name -> what to write instead, from a table like TENSOR.

    >>> texts_by_name({"write abs(x)": "abs", "write np.{name}(x.data)": "sign round"})["sign"]
    'write np.sign(x.data)'
    """
    return {
        name: text.replace("{name}", name.rstrip("_"))
        for text, names in table.items()
        for name in names.split()
    }


TEXTS, REST, ADVISED = texts_by_name(ARGUMENTS), {}, {}
for names, rest in POSITIONS.items():
    REST.update(dict.fromkeys(names.split(), rest.split()))


def missing_name(owner, name, text=""):
    """The AttributeError for a name that `owner` does not have, with a text that says what to do.

    >>> missing_name("module 'm'", "abs", "write abs(x)")
    AttributeError("module 'm' has no attribute 'abs': write abs(x)")
    """
    message = f"{owner} has no attribute {name!r}" + (f": {text}" if text else "")
    return AttributeError(message, name=None, obj=None)  # so that Python adds no guess


def numpy_names(function, owner=None):
    """Decorate a function: its TypeErrors say what arguments of PyTorch are called here, or what to
    write without them.

    owner  the name of the class if `function` is its `__init__`

    >>> @numpy_names
    ... def softmax(x, axis=-1): ...
    >>> softmax("x", dim=1)
    Traceback (most recent call last):
    TypeError: softmax has no dim=: write axis=1
    """
    name = owner or function.__name__
    if name == "__init__":
        name = function.__qualname__.split(".")[-2]

    @functools.wraps(function)
    def checked(*args, **options):
        try:
            return function(*args, **options)
        except TypeError:
            if error := wrong_argument(function, name, args, options):
                raise error from None
            raise

    return checked


def wrong_argument(function, name, args, options):
    """The TypeError for arguments of PyTorch or NumPy that a function does not have; else None.

    function  the function that was called
    name      what the user calls it
    args      its arguments by position, with `self`
    options   its keyword arguments: {name: value}
    """
    own = arguments_of(function)
    wrong = [key for key in options if key not in own and RENAMED.get(key) in own]
    if wrong:
        right = ", ".join(f"{RENAMED[key]}={options[key]!r}" for key in wrong)
        pair = f"; x.arg{name}(axis=...) gives the positions" * ("dim" in wrong)
        return TypeError(
            f"{name} has no {', '.join(f'{key}=' for key in wrong)}: write {right}"
            + pair * (name in ("max", "min"))
        )
    if "out" in options and own[:1] == ("self",):  # np.sum(x) calls x.sum(axis=None, out=None)
        return TypeError(f"np.{name} takes arrays, and x is a Tensor: write x.{name}(...)")
    theirs = REST.get(function.__qualname__) or REST.get(name, ())
    for key in options:
        if key not in own and (key in TEXTS or key in theirs):
            return TypeError(f"{name} has no {key}=: {TEXTS.get(key, 'this library has none')}")
    return too_many(function, name, len(args), theirs)


def too_many(function, name, count, theirs):
    """The TypeError for more arguments by position than there are here, with both meanings.

    count   how many the function was called with
    theirs  PyTorch's arguments after those that both libraries have at the same position
    """
    code, own = function.__code__, arguments_of(function)
    places = own[own[:1] == ("self",) : code.co_argcount]
    if count <= code.co_argcount or code.co_flags & inspect.CO_VARARGS:
        return None
    text = f"{name} takes {', '.join(places) or 'nothing'} by position"
    for key in theirs[:1]:
        here = RENAMED.get(key, key)
        advice = f"write {here}=..." if here in own else TEXTS.get(key, "this library has none")
        text += f"; argument {len(places) + 1} of PyTorch is {key}: {advice}"
    named = ", ".join(f"{part}=" for part in own[code.co_argcount :])
    return TypeError(text + f"\nhere the next ones are given by name: {named}" * bool(named))


def arguments_of(function):
    """The names of all arguments of a function, without * and **."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def only_values(name, position, axis, keepdims):
    """The axis of x.max(...) or x.min(...); TypeError for x.max(1), which in PyTorch gives the
    values and their positions.

    name      "max" or "min"
    position  a tuple of the arguments by position
    """
    if not position or len(position) == 1 and keepdims is not None:
        return position[0] if position else axis
    axis = f"axis={position[0] if isinstance(position[0], (int, tuple)) else '...'}"
    raise TypeError(
        f"x.{name}({', '.join(map(str, position))}) is a pair in PyTorch: write x.{name}({axis}) "
        f"for the values, and x.arg{name}({axis}) for their positions\n"
        f"the {'larger' if name == 'max' else 'smaller'} of each element and y is x.{name}imum(y)"
    )


def advised(thing):
    """A name of a public module, so that its TypeErrors explain arguments of PyTorch, if it is one
    of POSITIONS: a decorated function, or a class whose methods are decorated in place."""
    if isinstance(thing, FunctionType) and thing.__name__ in REST:
        if not hasattr(thing, "__wrapped__") and thing not in ADVISED:
            ADVISED[thing] = numpy_names(thing)
        return ADVISED.get(thing, thing)
    for base in thing.__mro__ if isinstance(thing, type) else ():
        for name, method in list(vars(base).items()):
            if f"{base.__name__}.{name}" in REST and not hasattr(method, "__wrapped__"):
                setattr(base, name, numpy_names(method))
    if isinstance(thing, type) and thing.__name__ in REST:
        own, plain = vars(thing).get("__init__"), inspect.unwrap(thing.__init__)
        if own is None or own is plain:
            plain = no_arguments if plain is object.__init__ else plain
            thing.__init__ = numpy_names(plain, thing.__name__)
    return thing


def no_arguments(self):
    """The `__init__` of a class without one."""


class NumPyNames:
    """A base class of modules and tensors. It decorates those methods of its subclasses that have
    an axis with `numpy_names`, and its objects say what to write for names of PyTorch.

    ._instead  {name: what to write}

    >>> class Softmax(NumPyNames):
    ...     def __init__(self, axis): ...
    >>> Softmax(dim=1)
    Traceback (most recent call last):
    TypeError: Softmax has no dim=: write axis=1
    """

    __slots__ = ()
    _instead = texts_by_name(MODULE)

    def __getattr__(self, name):
        """Python calls this for a name that it does not find."""
        if name in type(self)._instead:
            raise missing_name(f"{type(self).__name__!r} object", name, type(self)._instead[name])
        return object.__getattribute__(self, name)  # raises Python's own error

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        members = {}
        for base in reversed(cls.__mro__):
            members.update(vars(base))
        for name, method in members.items():
            if isinstance(method, FunctionType) and not hasattr(method, "__wrapped__"):
                if method.__code__.co_flags & inspect.CO_VARKEYWORDS:
                    continue  # with **others, it calls `wrong_argument` itself
                if not set(RENAMED.values()).isdisjoint(arguments_of(method)):
                    setattr(cls, name, numpy_names(method))
