"""What an exercise's code does while its checks run: found out in the process that runs them
(`runner.py`), for `tito compare`.

The exercise's functions are put behind a hook, and each check runs several times: for the time,
then for the operations of the engine and the results, then for the memory. Only what the outermost
call of such a function does is counted, not what the check does around it.
"""

import functools
import gc
import inspect
import sys
import time
import tracemalloc
import types

import numpy as np

ENTRY = "apply"  # the function through which every operation of the engine goes
LONGEST = 1.0  # a check that takes more seconds is measured for the time only
ENOUGH = 0.05  # seconds of repetitions of a check
LEAST, MOST = 3, 10  # repetitions of a check
GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Meter:
    """What the outermost calls of the hooked functions did since `begin`.

    observe     how a call is observed: `time`, `count` or `trace`
    calls       how many there were
    seconds     on the processor they took: a busy machine tells nothing about the code
    operations  of the engine that they used
    views       how many of them returned memory that they were given
    memory      bytes that one of them held at the most, or None
    entries     the code of the engine's entry point, whose calls are its operations
    """

    def __init__(self):
        self.inside = False
        self.entries = set()
        self.begin(self.time)

    def begin(self, observe):
        self.observe = observe
        self.calls = self.operations = self.views = 0
        self.seconds, self.memory = 0.0, 0

    def __call__(self, function, /, *arguments, **options):
        if self.inside:
            return function(*arguments, **options)
        self.inside = True
        self.calls += 1
        try:
            return self.observe(function, arguments, options)
        finally:
            self.inside = False

    def time(self, function, arguments, options):
        began = time.thread_time()
        try:
            return function(*arguments, **options)
        finally:
            self.seconds += time.thread_time() - began

    def count(self, function, arguments, options):
        def called(frame, event, argument):
            self.operations += event == "call" and frame.f_code in self.entries

        before = sys.getprofile()
        sys.setprofile(called)
        try:
            result = function(*arguments, **options)
        finally:
            sys.setprofile(before)
        given = [array for one in (*arguments, *options.values()) for array in _arrays(one)]
        self.views += any(_share(a, b) for a in _arrays(result) for b in given)
        return result

    def trace(self, function, arguments, options):
        if tracemalloc.is_tracing():  # the check measures memory itself
            self.memory = None
        if self.memory is None:
            return function(*arguments, **options)
        tracemalloc.start()
        try:
            return function(*arguments, **options)
        finally:
            self.memory = max(self.memory, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()


def _arrays(value):
    """The arrays that a value is, holds as `data`, or lists."""
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in _arrays(part)]
    value = value if isinstance(value, np.ndarray) else getattr(value, "data", None)
    return [value] if isinstance(value, np.ndarray) else []


def _share(first, second):
    try:
        return np.shares_memory(first, second, max_work=1000)
    except RuntimeError:  # too hard to tell
        return False


def hook(module, names, meter):
    """Put the functions of these names, and the methods of these classes, behind `meter`."""
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, types.FunctionType):
            _redirect(inspect.unwrap(value), meter)
        elif isinstance(value, type):
            for key, member in list(vars(value).items()):
                kind = type(member) if isinstance(member, (staticmethod, classmethod)) else None
                function = member.__func__ if kind else member
                if isinstance(function, types.FunctionType) and _is_plain(function):
                    hooked = functools.wraps(function)(_behind(meter, function))
                    setattr(value, key, kind(hooked) if kind else hooked)


def _behind(meter, function):
    return lambda *arguments, **options: meter(function, *arguments, **options)


def _is_plain(function):
    """Whether a call does its work at once, as a generator's does not."""
    return not function.__code__.co_flags & GENERATORS


def _redirect(function, meter):
    """Let `function` go through `meter`, also where it was handed on already: a table of
    derivatives holds the function itself, so its code is replaced and not its name.
    """
    if function.__closure__ or not _is_plain(function):
        return
    code, space = function.__code__, function.__globals__
    inner = types.FunctionType(code, space, function.__name__, function.__defaults__)
    inner.__kwdefaults__ = function.__kwdefaults__
    name = f"_metered_{function.__name__}"
    space[name] = functools.partial(meter, inner)
    made = {}
    exec(f"def made(*arguments, **options): return {name}(*arguments, **options)", made)
    function.__signature__ = inspect.signature(function)
    function.__code__ = made["made"].__code__
    function.__defaults__ = function.__kwdefaults__ = None


def measure(check, run, meter, time_only=False):
    """What the hooked functions did in one check, as the meter's numbers.

    run        a function of a check that runs it; what it raises passes through, as where a check
               looks at the function itself
    time_only  leave out what is the same each time
    """
    gc.collect()
    gc.disable()  # as timeit does: what is collected may be what was left before
    began, spent, times = time.thread_time(), 0.0, []
    try:
        while len(times) < LEAST or len(times) < MOST and spent < ENOUGH:
            meter.begin(meter.time)
            run(check)
            times.append(meter.seconds)
            if (spent := time.thread_time() - began) > LONGEST:
                break
    finally:
        gc.enable()
    facts = {"calls": meter.calls, "seconds": min(times)}
    if time_only or not meter.calls or spent > LONGEST:
        return facts
    meter.begin(meter.count)
    run(check)
    facts["views"] = meter.views
    if meter.entries:
        facts["operations"] = meter.operations
    meter.begin(meter.trace)
    run(check)
    if meter.memory is not None:
        facts["memory"] = meter.memory
    return facts


def entries(package):
    """The code of the engine's entry point, in whatever module of the package it stands."""
    return {
        getattr(module, ENTRY).__code__
        for name, module in list(sys.modules.items())
        if name.startswith(f"{package}.core.")
        and isinstance(getattr(module, ENTRY, None), types.FunctionType)
    }
