"""Worker processes: other Python processes that call one function again and again, and memory that
they share.

Each worker is a new Python process (not a fork, which copies locks that threads of BLAS hold), on
every system. It inherits no variables: it imports the function that it calls. Unlike a process of
`multiprocessing`, it does not import the script that started it. Nothing is left when the main
process ends, however it ends: the memory has no name, and workers end when their input does.
"""

import io
import mmap
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid

import numpy as np

WORKER = "TINYTORCH_WORKER"  # set in the environment of workers
# A worker finds the package of this process: `tito` looks for it from the path of the script.
# Ctrl-C also reaches it: it is for the main process, which ends the workers.
START = f"""
import pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.argv[0], sys.path[:] = pickle.load(sys.stdin.buffer)
from {__name__} import work
work()
"""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 2  # seconds that a worker has to end before it is killed


class SharedMemory:
    """A block of memory that workers also map. It has no name, so none can be left behind.

    .buffer  the memory, a writable buffer of `size` bytes, at first zeros
    """

    def __init__(self, size):
        self.size = max(1, size)
        if os.name == "nt":
            self.key = f"tinytorch-{uuid.uuid4()}"  # Windows frees it with the last process
            self.buffer = mmap.mmap(-1, self.size, tagname=self.key)
            return
        if hasattr(os, "memfd_create"):
            self.key = os.memfd_create("tinytorch")
        else:
            with tempfile.TemporaryFile() as file:  # a file without a name
                self.key = os.dup(file.fileno())
        try:
            os.ftruncate(self.key, self.size)
            self.buffer = mmap.mmap(self.key, self.size)
        except BaseException:
            os.close(self.key)
            raise

    def close(self):
        """Give up the handle. The memory is freed when no array uses it any more."""
        if os.name != "nt" and self.key is not None:
            os.close(self.key)
        self.key = self.buffer = None


def attached(key, size):
    """The buffer of a SharedMemory, in a worker."""
    if os.name == "nt":
        return mmap.mmap(-1, size, tagname=key)
    return mmap.mmap(key, size)


class Worker:
    """Another Python process. It calls make(*arguments, buffer) once, and then the result of that
    call, a function, for each `send`.

    make       a function that can be imported
    arguments  of `make`: values that pickle can write, functions only if they can be imported
    memory     a SharedMemory, whose buffer `make` gets; without it, None
    variables  dict: environment variables of the process

    .seconds   processor seconds of all calls, as the worker measured them
    """

    def __init__(self, make, *arguments, memory=None, variables=None):
        refuse_in_workers()
        first = importable_pickle((make, arguments))
        shared, files = None, ()
        if memory is not None:
            shared, files = (memory.key, memory.size), () if os.name == "nt" else (memory.key,)
        self.seconds = 0.0
        self.process = subprocess.Popen(
            [sys.executable, "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=files,
            env=ONE_THREAD | os.environ | {WORKER: "1"} | (variables or {}),
        )
        try:
            package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            paths = [os.path.dirname(package), *[path or os.getcwd() for path in sys.path]]
            self.write((os.path.join(package, "__init__.py"), paths))
            self.write((pickle.dumps(shared), first))
            self.receive()
        except BaseException:
            self.close()
            raise

    def write(self, value):
        try:
            pickle.dump(value, self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            raise self.ended() from None

    def send(self, *arguments):
        """Start a call. The worker computes while this process goes on."""
        if self.process is None:
            raise RuntimeError("the worker process has ended: call it inside the `with` block")
        self.write(arguments)

    def receive(self):
        """Wait for the call that was sent first, and return its result. If it raised an error,
        RuntimeError with the worker's traceback."""
        try:
            kind, result, seconds = pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise self.ended() from None
        self.seconds += seconds
        if kind == "error":
            raise RuntimeError(f"a worker process raised an error:\n{result}")
        return result

    def ended(self):
        """The error for a worker that is gone."""
        process = self.process
        self.close()
        return RuntimeError(f"a worker process has ended, with exit code {process.returncode}")

    def close(self):
        """End the process."""
        if self.process is None:
            return
        process, self.process = self.process, None
        try:
            process.stdin.close()  # the worker ends when its input does
        except OSError:
            pass
        try:
            process.wait(PATIENCE)
        except BaseException:  # it takes long, or Ctrl-C was pressed again
            process.kill()
            process.wait()
        finally:
            process.stdout.close()


def refuse_in_workers():
    """RuntimeError in a worker: a file that it imports starts workers."""
    if WORKER in os.environ:
        raise RuntimeError(
            "a worker process imports a file that starts worker processes\nin that file, write "
            'the lines that start them below: if __name__ == "__main__":'
        )


class ImportablePickler(pickle.Pickler):
    """Refuses functions and classes that another process cannot import."""

    def reducer_override(self, thing):
        name = getattr(thing, "__qualname__", type(thing).__qualname__)
        if "<" in name:
            raise ValueError(
                f"a new process cannot import {name}: it is a lambda, or inside a function\n"
                "write it with def at the top level of a file, such as models.py, and import it"
            )
        if getattr(thing, "__module__", None) == "__main__":
            raise ValueError(
                f"{name} is defined in this notebook or script, and a new process cannot import it"
                f"\nwrite it into another file, such as models.py: from models import {name}"
            )
        return NotImplemented


def importable_pickle(value):
    """`value` for another process, as bytes. ValueError that names a function in it that cannot be
    imported."""
    data = io.BytesIO()
    ImportablePickler(data).dump(value)
    return data.getvalue()


# In the worker


def work():
    """The worker's main function: answer calls from the standard input until it ends."""
    out, calls = os.fdopen(os.dup(1), "wb"), queue.SimpleQueue()
    os.dup2(2, 1)  # what functions print goes to the error output
    threading.Thread(target=read_calls, args=(sys.stdin.buffer, calls), daemon=True).start()
    function = None
    while True:
        arguments = calls.get()
        kind, result, start = "result", None, time.process_time()
        try:
            if function is None:
                shared, (make, first) = map(pickle.loads, arguments)
                function = make(*first, attached(*shared) if shared else None)
            else:
                result = function(*arguments)
        except Exception:
            kind, result = "error", traceback.format_exc()
        pickle.dump((kind, result, time.process_time() - start), out)
        out.flush()


def read_calls(file, calls):
    """Put each call into the queue `calls`, and end the process with the input, even while a call
    is being computed."""
    try:
        while True:
            calls.put(pickle.load(file))
    finally:
        os._exit(0)


def array_at(buffer, offset, shape, dtype):
    """The array of this shape and dtype that begins at byte `offset` of a buffer; not a copy."""
    return np.ndarray(shape, dtype, buffer, offset)


def make_backward(build, loss, weights, gradients, buffer):
    """The function that a worker of DataParallel calls for its rows of each batch.

    build      function that returns a Module
    loss       function loss(model, x, y) that returns a Tensor of shape ()
    weights    for each parameter, where its array is in the buffer: (offset, shape, dtype)
    gradients  the same for the gradient, which the function writes
    returns    function(x, y) that returns the loss, a float
    """
    model = build()
    parameters = list(model.parameters())
    for p, place in zip(parameters, weights, strict=True):
        p.data = array_at(buffer, *place)
    arrays = [array_at(buffer, *place) for place in gradients]

    def backward(x, y):
        model.zero_grad()
        out = loss(model, x, y)
        out.backward()
        for p, array in zip(parameters, arrays):
            array[...] = 0 if p.grad is None else p.grad
        return float(out.data)

    return backward
