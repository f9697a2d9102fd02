"""The jailed process: it loads a learner's code and executes the judge's requests on it.

It contains no checks and no expected values.

    python -I -S jailed_server.py < control socket

Each worker starts two servers, see `jailed_check.CheckRunner`. A server loads NumPy and the modules
of the course's package that are not lessons, sets its limits, and then only forks: one fork for
each check, with its own socket to the judge, further limits, and no other open files. The fork ends
with its check, and so does everything that the learner's code did to it. The judge does not trust
any answer; it compares.
"""

import builtins
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import marshal
import operator
import os
import signal
import socket
import struct
import sys
from _thread import RLock
from collections.abc import Callable
from functools import partial
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_FRAMES, LONGEST = 5, 4000
REHEARSALS = 10  # from the eighth call on, Python fits the instructions of a function
LAST_IN_LINE = 19  # nice: however many threads a fork starts, the judges do not wait for them
MOST_NAMES, MOST_NAME = 20, 60  # parameters of a function that are looked at, characters of each
# Process numbers and exit codes between server and judge. Not as JSON: the kernel has to copy each
# page of memory that the server writes to after a fork, even if only reference counts change.
NUMBER, CODE = struct.Struct("i"), struct.Struct("ii")
READY = b"ready"
NEEDS_PICTURES = 83  # exit code of a fork that needs a server which has loaded matplotlib
MARK = "_raised_by_the_judge"
BUILTINS = """iter next len str repr format float int complex abs round divmod isinstance issubclass
dir""".split()
OPERATORS = """add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift iadd isub imul
itruediv ifloordiv imod ipow imatmul neg pos invert eq ne lt le gt ge index getitem setitem
delitem""".split()
BuiltinsFor = Callable[[str], dict[str, Any]]  # of conditions.py, for a package


def load_file(name: str, path: str = "") -> Any:
    """The module in a file, or next to this one; its package cannot be read in the jail."""
    path = path or os.path.join(HERE, f"{name}.py")
    spec: Any = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Installed:
    """Finds the allowed packages by their paths, because the jail has no site-packages.

    draws    whether matplotlib is loaded; a fork without it ends when it asks for it, and the
             judge uses another jail
    serving  whether this is such a fork
    """

    def __init__(self, paths: dict[str, str], draws: bool) -> None:
        self.paths, self.draws, self.serving = paths, draws, False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if path is not None or name not in self.paths:
            return None
        if name == "matplotlib" and not self.draws:
            if self.serving:
                os._exit(NEEDS_PICTURES)
            return None
        place = self.paths[name]
        if not os.path.isdir(place):
            return importlib.util.spec_from_file_location(name, place)
        front = os.path.join(place, "__init__.py")
        if os.path.isfile(front):
            return importlib.util.spec_from_file_location(
                name, front, submodule_search_locations=[place]
            )
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [place]  # a package in several parts, as mpl_toolkits
        return spec


class Lessons:
    """Finds modules of the package among those that the judge sent: {name: code, None for an empty
    module, or the reason why it is missing}. The code of a lesson is a list of its statements.

    builtins  of these modules, None for Python's
    steps     the name of a module whose statements are run one by one, by `Agent.step`
    """

    def __init__(
        self, modules: dict[str, Any], builtins: dict[str, Any] | None = None, steps: str = ""
    ) -> None:
        self.modules, self.builtins, self.steps = modules, builtins, steps

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in self.modules:
            within = any(other.startswith(f"{name}.") for other in self.modules)
            is_package = within or self.modules[name] is None
            loader: Any = self
            return importlib.machinery.ModuleSpec(name, loader, is_package=is_package)
        if name.split(".")[0] in {known.split(".")[0] for known in self.modules}:
            raise ModuleNotFoundError(f"there is no {name}", name=name)
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        code = self.modules[module.__name__]
        if type(code) is str:
            raise ImportError(code)
        if code is not None:
            if self.builtins:
                vars(module)["__builtins__"] = self.builtins
            loaded = marshal.loads(code)
            if type(loaded) is not list:
                exec(loaded, vars(module))
            elif module.__name__ != self.steps:
                for code, *_ in loaded:
                    exec(code, vars(module))


class Agent:
    """A fork's side of the connection: answers the judge's requests, and calls its functions."""

    def __init__(
        self, sock: socket.socket, wire: Any, modules: dict[str, Any], builtins_for: BuiltinsFor
    ) -> None:
        self.sock, self.wire, self.modules, self.builtins_for = sock, wire, modules, builtins_for
        # Objects to which the judge has handles, kept alive so that their numbers stay unique.
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        # The judge's functions by number, and their numbers by id.
        self.functions: dict[int, Callable[..., Any]] = {}
        self.of_judge: dict[int, int] = {}
        self.files: set[str] = set()
        self.names: dict[str, Any] = {}
        self.steps: list[Any] = []
        self.asking = RLock()
        self.watch: Any = None
        self.do = self.operations()

    def operations(self) -> dict[str, Callable[..., Any]]:
        """{name: function} of the judge's possible requests."""
        do: dict[str, Callable[..., Any]] = {
            "call": lambda f, /, *a, **k: f(*a, **k),
            "get": getattr,
            "set": setattr,
            "del": delattr,
            "array": self.array,
            "import": importlib.import_module,
            "load": self.load,
            "begin": self.begin,
            "step": self.step,
            "readable": readable,
            "laws": self.laws,
            "enter": lambda x: type(x).__enter__(x),
            "exit": self.exit,
        }
        do |= {name: getattr(builtins, name) for name in BUILTINS}
        do |= {name: getattr(operator, name) for name in OPERATORS}
        return do

    def make_ready(self) -> None:
        """Import the modules that all forks need, so that no fork has to."""
        finder = Lessons(self.modules)
        sys.meta_path.insert(0, finder)
        for name in self.modules:
            before = set(sys.modules)
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001  it needs a lesson, which only forks have
                for loaded in sys.modules.keys() & self.modules.keys() - before:
                    del sys.modules[loaded]
        sys.meta_path.remove(finder)

    # Requests of the judge, in addition to Python's own operations.

    def load(
        self,
        modules: dict[str, Any],
        name: str,
        exported: list[str],
        wanted: list[str],
        random_start: bytes,
        learner_side: list[bytes],
        laws: Any = ((), ()),
    ) -> dict[str, Any]:
        """{name: object} of the wanted names that the lesson's module `name` defines, or its
        learner-side cells, if these are to run.

        modules   code of the package's modules, see Lessons, besides those that all forks have
        exported  the names that learner-side cells see
        random_start  code of the module of this name, in tito.lesson
        laws      names that the check only calls, and laws that it is without
        """
        start: dict[str, Any] = {}
        exec(marshal.loads(random_start), start)
        start["restart"]()
        module = self.import_lesson(modules, name)
        start["restart"](start["namespaces"](name.partition(".")[0]))
        space = {
            name: getattr(module, name)
            for name in (exported if learner_side else wanted)
            if hasattr(module, name)
        }
        space["__name__"] = sys.modules["tito.lesson.pictures"].BESIDE
        for code in learner_side:
            exec(marshal.loads(code), space)
        own = {name: getattr(module, name) for name in exported if hasattr(module, name)}
        own["__name__"] = module.__name__
        self.watch = sys.modules["laws"].Watch(own, name.partition(".")[0])
        for word, function in self.watch.functions.items():
            if word in laws[0] and space.get(word) is own[word]:
                space[word] = function
        self.watch.begin(laws[1])
        return {name: space[name] for name in wanted if name in space}

    def laws(self, has_passed: bool) -> list[str]:
        """End the watch over a check. Returns a sentence for each law that was broken."""
        if has_passed:
            self.watch.replay()
        return self.watch.end()

    def import_lesson(self, modules: dict[str, Any], name: str, steps: str = "") -> Any:
        modules = self.modules | modules
        self.files = set(modules)
        own = self.builtins_for(name.partition(".")[0])
        sys.meta_path.insert(0, Lessons(modules, own, steps))
        return importlib.import_module(name)

    def begin(self, modules: dict[str, Any], name: str) -> None:
        """Begin to import the lesson's module `name`, one statement after the other."""
        self.names = vars(self.import_lesson(modules, name, steps=name))
        self.steps = marshal.loads(modules[name])

    def step(self, number: int) -> None:
        """Run one statement of it."""
        exec(self.steps[number][0], self.names)

    def array(self, x: Any) -> Any:
        import numpy as np

        array = np.asarray(x)
        if array.dtype.str not in self.wire.ARRAYS:
            raise TypeError(f"these are no numbers, but {array.dtype}")
        return np.array(array, copy=True, subok=False)

    def exit(self, x: Any, name: str | None, text: str | None) -> Any:
        """Leave a `with` block, with the judge's exception (its name) or without."""
        error = None if name is None else self.exception(name, text, None)
        return type(x).__exit__(x, error and type(error), error, None)

    # Messages.

    def foreign(self, x: Any) -> list[Any]:
        """A value that is not plain: a function of the judge's, or a handle."""
        if (number := self.of_judge.get(id(x))) is not None:
            return ["f", number]
        number = self.numbers.get(id(x))
        if number is None:
            number = self.numbers[id(x)] = len(self.objects)
            self.objects.append(x)
        return ["h", number, isinstance(x, type), callable(x)]

    def foreign_of(self, parts: list[Any]) -> Any:
        kind, number, *more = parts
        if kind == "h":
            return self.objects[number]
        if kind == "f":
            if number not in self.functions:
                self.functions[number] = self.function(number, *more)
            return self.functions[number]
        raise ValueError(kind)

    def function(self, number: int, name: str) -> Callable[..., Any]:
        def of_judge(*arguments: Any, **options: Any) -> Any:
            return self.ask(number, arguments, options)

        of_judge.__name__ = of_judge.__qualname__ = name
        self.of_judge[id(of_judge)] = number
        return of_judge

    def send(self, kind: str, *values: Any) -> None:
        writer = self.wire.Writer(self.foreign)
        self.wire.send(self.sock, writer.message([kind, *[writer.value(x) for x in values]]))

    def receive(self) -> Any:
        """A Reader of the next message. The process ends with the connection."""
        try:
            return self.wire.Reader(*self.wire.receive(self.sock), self.foreign_of)
        except self.wire.Closed:
            os._exit(0)

    def ask(self, number: int, arguments: Any, options: Any) -> Any:
        """Call a function of the judge, and answer its requests meanwhile."""
        with self.asking:
            self.send("ask", number, arguments, options)
            while True:
                reader = self.receive()
                kind, *parts = reader.body
                if kind == "do":
                    self.answer(reader)
                elif kind == "ok":
                    return reader.value(parts[0])
                else:
                    raise self.exception(*parts)

    def exception(self, name: str, text: str | None, number: int | None) -> Exception:
        """The exception that the judge's function raised, with a mark to know it again."""
        kind = getattr(builtins, name, RuntimeError)
        error = (
            kind(text)
            if isinstance(kind, type) and issubclass(kind, Exception)
            else RuntimeError(text)
        )
        error.__dict__[MARK] = number
        return error

    def answer(self, reader: Any) -> None:
        """Execute one request and send its result."""
        _, name, arguments, options = reader.body
        try:
            arguments, options = reader.value(arguments), reader.value(options)
            before = [x.copy() for x in reader.mutable]
            value = self.do[name](*arguments, **options)
            changed = [
                (n, now)
                for n, (then, now) in enumerate(zip(before, reader.mutable))
                if not same(then, now)
            ]
            self.send("ok", value, changed)
        except BaseException as error:  # noqa: BLE001  also sys.exit() is reported
            if name == "next" and isinstance(error, StopIteration):
                self.send("stop")
            else:
                self.tell(error)
            error.__traceback__ = None  # or it would keep every frame, and with them their objects

    def tell(self, error: BaseException) -> None:
        """Tell the judge of an exception."""
        kinds = [
            kind.__name__
            for kind in type(error).__mro__
            if kind.__module__ in ("builtins", "numpy.exceptions", "numpy.linalg")
        ]
        try:
            text = str(error)[:LONGEST]
        except BaseException:  # noqa: BLE001
            text = ""
        frames, trace = [], error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self.files:
                frame, code = trace.tb_frame, trace.tb_frame.f_code
                values, names = (
                    frame.f_locals,
                    code.co_varnames[: code.co_argcount + code.co_kwonlyargcount],
                )
                nones = [
                    name[:MOST_NAME]
                    for name in names[:MOST_NAMES]
                    if values.get(name, code) is None
                ]
                frames.append((code.co_filename, trace.tb_lineno or 0, nones))
            trace = trace.tb_next
        mark = getattr(error, "__dict__", {}).get(MARK)
        try:
            self.send("raise", type(error).__name__[:100], kinds, text, frames[-MOST_FRAMES:], mark)
        except MemoryError:
            self.send("raise", "MemoryError", ["MemoryError"], "", [], None)


def same(then: Any, now: Any) -> bool:
    """Whether the learner's code changed none of its arguments; as `tito test` compares them."""
    if isinstance(now, dict):
        return list(then) == list(now) and all(map(unchanged, then.values(), now.values()))
    if isinstance(now, list):
        return len(then) == len(now) and all(map(unchanged, then, now))
    return then.shape == now.shape and then.tobytes() == now.tobytes()


def unchanged(old: Any, new: Any) -> bool:
    return old is new or type(old) in (bool, int, float, str) and old == new


def rehearse(wire: Any, builtins_for: BuiltinsFor) -> None:
    """Execute typical requests before the first fork, so that Python's caches of methods and
    specialized instructions are filled. Otherwise each fork would fill them, and the kernel would
    copy each page of memory that it writes to.
    """
    ours, theirs = socket.socketpair()
    text = "import numpy as np\n\ndef double(x):\n    return 2 * np.asarray(x)\n"
    code = marshal.dumps(compile(text, "rehearsal", "exec"))
    text = "def restart(spaces=()): pass\ndef namespaces(package): pass"
    start = marshal.dumps(compile(text, "rehearsal", "exec"))
    function = object()
    for _ in range(REHEARSALS):
        agent = Agent(theirs, wire, {}, builtins_for)
        for request in (
            [
                "load",
                {"rehearsal": code},
                "rehearsal",
                ["double"],
                ["double"],
                start,
                [],
                (["double"], []),
            ],
            ["call", function, [1.0, 2.0]],
        ):
            writer = wire.Writer(lambda x: ["h", 0])  # the function is what the agent handed out
            operation, *arguments = request
            wire.send(
                ours, writer.message(["do", operation, writer.value(arguments), writer.value({})])
            )
            agent.answer(agent.receive())
            wire.receive(ours)
        del sys.modules["rehearsal"]
        sys.meta_path.pop(0)
    ours.close()
    theirs.close()


def serve(control: socket.socket, agent: Agent, seconds: float, program: bytes) -> None:
    """Fork for each check, until the judge closes its socket.

    A request is the numbers of forks that were killed or have ended, behind a 0, and brings the
    fork's end of a socket pair. The answer is the number of the new fork, then of each of those its
    number and its exit code, and brings a handle to the new one.
    """
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not message:
            return
        codes = b"".join(
            [CODE.pack(pid, ended(pid)) for (pid,) in NUMBER.iter_unpack(message[NUMBER.size :])]
        )
        (theirs,) = descriptors
        if (pid := os.fork()) == 0:
            try:
                fork(theirs, agent, seconds, program)
            finally:
                os._exit(70)
        os.close(theirs)
        handles = [os.pidfd_open(pid)] if hasattr(os, "pidfd_open") else []
        socket.send_fds(control, [NUMBER.pack(pid) + codes], handles)
        for handle in handles:
            os.close(handle)


def ended(pid: int) -> int:
    """Wait for a fork that was killed or has ended. Returns its exit code."""
    try:
        os.killpg(pid, signal.SIGKILL)  # if the level allows it to have children
    except (ProcessLookupError, PermissionError):
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fork(theirs: int, agent: Agent, seconds: float, program: bytes) -> None:
    """Run one fork: close everything except its socket and /dev/null, set its limits, and answer
    the judge's requests.
    """
    os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, LAST_IN_LINE)
    os.dup2(theirs, agent.sock.fileno())
    os.closerange(agent.sock.fileno() + 1, 4096)
    if confine := sys.modules.get("confine"):
        sys.modules["conditions"].die_with_parent(required=True)
        confine.fork_limits(seconds)
        if program:
            confine.seccomp(confine.filter_of_fork(program, os.getpid()))
    while True:
        agent.answer(agent.receive())


def main() -> None:
    """Prepare, report the limits that work, then fork on demand."""
    first = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # before all others, see `fork`
    control = socket.socket(fileno=os.dup(0))
    message, (pipe,), _, _ = socket.recv_fds(control, 1 << 16, 1)
    start = json.loads(message)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    installed = Installed(start["packages"], start["draws"])
    sys.meta_path.append(installed)
    import_libraries(start["preload"], start["draws"])
    with open(pipe, "rb") as file:
        modules = marshal.load(file)
    names = "tito.lesson.pictures", "laws", "conditions"
    _, _, conditions = map(load_file, names, start["files"])
    builtins_for = partial(conditions.builtins_for, installed=lambda: installed.paths)
    agent, program = Agent(first, sys.modules["wire"], modules, builtins_for), b""
    agent.make_ready()
    rehearse(agent.wire, builtins_for)
    installed.serving = True
    if sys.platform == "linux":
        confine = load_file("confine")
        if start["confine"]:
            program = confine.assemble(confine.fork_filter(confine.SOME))
    gc.collect()
    gc.freeze()  # or each fork's own collections would copy all of this
    if sys.platform == "linux":
        conditions.die_with_parent(required=True)
        confine.limits(start["memory"])
        if start["confine"]:
            confine.drop_privileges()
            confine.landlock(start["readable"])
            confine.seccomp(confine.assemble(confine.server_filter()))
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)  # up to here, a failure can be reported
    control.send(READY)
    seconds = start["seconds"]
    del start, message  # learners' code could find anything that stays here
    serve(control, agent, seconds, program)


def import_libraries(names: list[str], draws: bool) -> None:
    """Import what lessons import, so that no fork has to.

    threading, logging and random register functions that renew locks and seeds in every fork, a
    fifth of the time that a fork takes. They are not needed here, with one thread and no secret
    seed.
    """
    register, os.register_at_fork = os.register_at_fork, lambda **hooks: None
    load_file("wire")
    for name in names:
        importlib.import_module(name)
    if draws:
        import tempfile  # here, because it needs `random`

        with tempfile.TemporaryDirectory() as cache:  # matplotlib wants to write there, but once
            os.environ |= {"MPLBACKEND": "Agg", "MPLCONFIGDIR": cache}
            importlib.import_module("matplotlib.pyplot")
            importlib.import_module("matplotlib.backends.backend_agg")
    os.register_at_fork = register


def readable(path: str) -> bool:
    """Whether this path can be read in the jail."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return True
    except OSError:
        return False


if __name__ == "__main__":
    main()
