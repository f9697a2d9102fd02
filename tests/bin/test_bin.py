"""bin/: what a fresh clone does by itself. The network is replaced: `uv` here is a script of
ours."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # most of them take a second or more

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = [
    "sh",
    "dirname",
    "cat",
    "cmp",
    "readlink",
    "env",
]  # the programs that bin/tito needs besides Python

# Installs a `tito` that tells where it is. Called as: uv pip install --python PYTHON ... -e PROJECT
FAKE_UV = """#!{python}
import os, sys, time
from pathlib import Path
with open(os.environ["CALLS"], "a", encoding="utf-8") as calls:
    print(*sys.argv[1:], file=calls)
if "FAIL" in os.environ:
    sys.exit(os.environ["FAIL"])
time.sleep(float(os.environ.get("SLOW", 0)))
bin = Path(sys.argv[sys.argv.index("--python") + 1]).parent
(bin / "tito").write_text("import sys; print('tito', sys.prefix, sys.argv[1:])", encoding="utf-8")
(bin / "tito").chmod(0o755)
"""


class Project:
    """A copy of what bin/tito needs, and a machine to run it on."""

    def __init__(self, tmp_path, name="project"):
        self.root = tmp_path / name
        shutil.copytree(REPOSITORY / "bin", self.root / "bin")
        for file in ("pyproject.toml", "hatch_build.py", "tito.toml"):
            shutil.copy(REPOSITORY / file, self.root)
        (self.root / "tito").mkdir()
        shutil.copy(REPOSITORY / "tito" / "import_hook.py", self.root / "tito")
        self.calls = tmp_path / "calls"
        self.path = tmp_path / "path"
        self.path.mkdir()
        for tool in TOOLS:
            (self.path / tool).symlink_to(shutil.which(tool))
        (self.path / "python3").symlink_to(os.path.realpath(sys._base_executable))
        write_script(self.path / "uv", FAKE_UV.format(python=sys.executable))

    def environment(self, **variables):
        return {
            "PATH": str(self.path),
            "CALLS": str(self.calls),
            "HOME": str(self.root),
            **variables,
        }

    def run(self, *words, cwd=None, **variables):
        return subprocess.run(
            words or [self.root / "bin" / "tito"],
            cwd=cwd or self.root,
            capture_output=True,
            env=self.environment(**variables),
            text=True,
            encoding="utf-8",
        )

    def installs(self):
        return (
            len(self.calls.read_text(encoding="utf-8").splitlines()) if self.calls.exists() else 0
        )

    def answer(self, *words):
        return f"tito {self.root / '.venv'} {list(words)}\n"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def write_script(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def assert_two_lines(run, *said):
    assert run.returncode == 3, run.stderr
    lines = run.stderr.splitlines()[-2:]
    assert lines[0].startswith("tito: ") and lines[1].startswith("      "), run.stderr
    assert "Traceback" not in run.stderr
    for words in said:
        assert words in "\n".join(lines)


# --- from a fresh clone


def test_the_first_run_installs_and_goes_on_and_the_second_goes_on_at_once(project):
    first = project.run(project.root / "bin" / "tito", "test", "two words")
    assert first.stdout == project.answer("test", "two words"), first.stderr
    assert "making the environment" in first.stderr and "compiling" in first.stderr
    second = project.run()
    assert (second.stdout, second.stderr) == (project.answer(), "")
    assert project.installs() == 1


def test_pip_is_used_where_there_is_no_uv(project):
    (project.path / "uv").unlink()
    # A project without dependencies and with its own build backend, so pip needs no network.
    (project.root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        encoding="utf-8",
    )
    (project.root / "backend.py").write_text(
        "import zipfile\n"
        "def build_editable(folder, config_settings=None, metadata_directory=None):\n"
        "    name, info = 'tinytorch-0-py3-none-any.whl', 'tinytorch-0.dist-info/'\n"
        "    with zipfile.ZipFile(f'{folder}/{name}', 'w') as wheel:\n"
        "        wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: "
        "tinytorch\\nVersion: 0\\n')\n"
        "        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: "
        "true\\nTag: py3-none-any\\n')\n"
        "        wheel.writestr(info + 'entry_points.txt', '[console_scripts]\\ntito = "
        "tito.cli.run:run\\n')\n"
        "        wheel.writestr('tito/__init__.py', '')\n"
        "        wheel.writestr('tito/cli/__init__.py', '')\n"
        "        wheel.writestr('tito/cli/run.py', 'def run(): print(\"tito from pip\")\\n')\n"
        "        wheel.writestr(info + 'RECORD', '')\n"
        "    return name\n",
        encoding="utf-8",
    )
    run = project.run(PYTHONDONTWRITEBYTECODE="1", PIP_NO_INDEX="1", PIP_USER="1")
    assert run.stdout == "tito from pip\n", run.stderr
    assert list(
        project.root.glob(".venv/lib/python*/site-packages/tito/cli/__pycache__/run.*.pyc")
    ), "not compiled"


def test_an_activated_environment_and_python_variables_do_not_confuse_it(project, tmp_path):
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "os.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    run = project.run(
        PYTHONHOME="/nowhere", PYTHONPATH=str(tmp_path / "shadow"), VIRTUAL_ENV="/nowhere"
    )
    assert run.stdout == project.answer(), run.stderr


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_it_works_from_anywhere_through_a_link_in_a_path_with_spaces_and_accents(tmp_path, locale):
    project = Project(tmp_path, "Zoë's käse 课程")
    (tmp_path / "link").symlink_to(os.path.join(project.root.name, "bin", "tito"))
    (tmp_path / "link to link").symlink_to(tmp_path / "link")
    for _ in range(2):
        run = project.run(
            tmp_path / "link to link", cwd="/", LC_ALL=locale, PYTHONIOENCODING="utf-8"
        )
        assert run.stdout == project.answer(), run.stderr
    assert project.installs() == 1


# The environment starts each Python with a line from tito/import_hook.py, which names modules.
@pytest.mark.parametrize("name", ["pyproject.toml", "hatch_build.py", "tito/import_hook.py"])
def test_a_change_of_what_is_installed_is_installed_whatever_the_file_times(project, name):
    project.run()
    file = project.root / name
    os.utime(file)
    project.run()
    assert project.installs() == 1, "only the time changed"
    file.write_text(file.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    os.utime(file, (0, 0))
    assert project.run().stdout == project.answer()
    assert project.installs() == 2


def test_a_moved_or_copied_checkout_is_set_up_again(project, tmp_path):
    project.run()
    shutil.copytree(project.root, tmp_path / "copy", symlinks=True)
    project.root.rename(tmp_path / "moved")
    for name in ("copy", "moved"):
        project.root = tmp_path / name
        assert project.run().stdout == project.answer()
    assert project.installs() == 3


def test_an_extra_is_kept_when_pyproject_changes(project):
    assert project.run(project.root / "bin" / "setup", "notebook").returncode == 0
    (project.root / "hatch_build.py").write_text("# changed\n", encoding="utf-8")
    project.run()
    assert all(
        "[notebook]" in call for call in project.calls.read_text(encoding="utf-8").splitlines()
    )
    assert project.installs() == 2


def test_an_extra_is_kept_when_a_later_setup_fails(project):
    project.run(project.root / "bin" / "setup", "notebook")
    failed = project.run(project.root / "bin" / "setup", "instructor", FAIL="error: no network")
    assert failed.returncode == 3
    assert project.run().returncode == 0
    last = project.calls.read_text(encoding="utf-8").splitlines()[-1]
    assert last.endswith("[notebook]")  # not the one that failed: it may never be had here


def test_setup_explains_itself_and_refuses_what_it_does_not_know_before_it_touches_anything(
    project,
):
    project.run()
    before = {path: path.stat().st_mtime_ns for path in (project.root / ".venv").iterdir()}
    setup = project.root / "bin" / "setup"
    told = project.run(setup, "--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("bin/setup [EXTRA ...]\n")
    assert "notebook book print instructor dev" in told.stdout
    for word in ("notebok", "--quiet"):
        refused = project.run(setup, word)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"no extra {word}.\n" in refused.stderr and "instructor" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in (project.root / ".venv").iterdir()} == before
    assert project.run().stderr == ""  # still ready


def test_a_release_knows_the_extras_of_its_wheel(project):
    with zipfile.ZipFile(project.root / "bin" / "tinytorch-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinytorch-1.dist-info/METADATA", "Name: tinytorch\nProvides-Extra: solo\n")
    told = project.run(project.root / "bin" / "setup", "--help")
    assert told.stdout.endswith("Extras: solo\n"), told.stderr


def test_bin_test_installs_the_dev_extra_and_hands_over_to_pytest(project, tmp_path):
    project.run()
    packages = next(project.root.glob(".venv/lib/python*/site-packages"))
    (packages / "pytest.py").write_text(
        "import os, sys; print(os.getcwd(), sys.argv[1:]); sys.exit(5)", encoding="utf-8"
    )
    run = project.run(project.root / "bin" / "test", "-k", "tensor", cwd=tmp_path)
    assert (run.stdout, run.returncode) == (
        f"{project.root} ['-n', '{os.cpu_count() + 2}', '--dist', 'loadfile', "
        "'--no-loadscope-reorder', '-k', 'tensor']\n",
        5,
    ), run.stderr
    assert project.calls.read_text(encoding="utf-8").splitlines()[-1].endswith("[dev]")


# --- what goes wrong


@pytest.mark.parametrize(
    "python, says", [(None, "none"), ("#!/bin/sh\necho Python 3.10.1; exit 1\n", "Python 3.10.1")]
)
def test_a_machine_without_a_new_enough_python_is_reported(project, python, says):
    (project.path / "python3").unlink()
    if python:
        write_script(project.path / "python3", python)
    assert_two_lines(project.run(), "3.11", f"this machine has {says}.")


def test_a_python_without_ensurepip_learns_which_package_to_install(project):
    (project.path / "uv").unlink()
    # Debian's Python is one without the module; here an import that fails stands for it.
    code = (
        f"import sys; sys.path.insert(0, {str(project.root / 'bin')!r}); "
        f"sys.modules['ensurepip'] = None; "
        "import setup; sys.exit(setup.main([]))"
    )
    run = project.run(project.path / "python3", "-c", code)
    assert_two_lines(run, "ensurepip", f"apt install python3.{sys.version_info[1]}-venv")
    assert not (project.root / ".venv").exists()


@pytest.mark.parametrize(
    "output, what, todo",
    [
        (
            "error: Request failed\n  Caused by: dns error: failed to lookup",
            "No network",
            "Connect",
        ),
        (
            "error: failed to write: No space left on device (os error 28)",
            "No space left",
            "Free some space",
        ),
        ("error: something new", "error: something new", "setup.log"),
    ],
)
def test_a_failed_installation_is_explained_and_the_next_run_starts_over(
    project, output, what, todo
):
    assert_two_lines(project.run(FAIL=output), what, todo)
    run = project.run()
    assert run.stdout == project.answer(), run.stderr


def test_an_existing_environment_is_used_if_it_works_and_never_deleted(project):
    venv = project.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (venv / "theirs").write_text("", encoding="utf-8")
    assert project.run().stdout == project.answer()
    assert (venv / "theirs").exists()
    shutil.rmtree(venv)
    venv.mkdir()
    (venv / "theirs").write_text("", encoding="utf-8")
    assert_two_lines(project.run(), "was not made by this program", "Move or remove it")
    assert (venv / "theirs").exists()


def test_an_environment_whose_python_is_gone_is_made_again(project):
    project.run()
    for python in (project.root / ".venv" / "bin").glob("python*"):
        python.unlink()
    assert project.run().stdout == project.answer()


def test_killed_at_any_moment_the_next_run_completes(project):
    chance = random.Random(0)
    for _ in range(8):
        victim = subprocess.Popen(
            [project.root / "bin" / "tito"],
            env=project.environment(SLOW="0.1"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(chance.uniform(0.02, 0.5))
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()
    run = project.run()
    assert run.stdout == project.answer(), run.stderr
    assert not (project.root / ".venv" / "tito-unfinished").exists()


def test_two_at_once_install_once(project):
    runs = [
        subprocess.Popen(
            [project.root / "bin" / "tito"],
            env=project.environment(SLOW="0.3"),
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    results = [run.communicate() for run in runs]
    assert [out for out, _ in results] == [project.answer()] * 3, results
    assert project.installs() == 1


def test_a_killed_setup_whose_installer_lives_on_is_waited_for(project):
    victim = subprocess.Popen(
        [project.root / "bin" / "setup"],
        env=project.environment(SLOW="3"),
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not project.installs():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    victim.kill()
    victim.wait()
    run = project.run()
    assert "another setup is at work" in run.stderr
    assert run.stdout == project.answer(), run.stderr


# --- in a workspace


@pytest.fixture
def workspace(project, tmp_path):
    """A folder as `tito init` makes it, of a course that is set up."""
    assert project.run().returncode == 0
    folder = tmp_path / "my work"
    (folder / ".tito").mkdir(parents=True)
    (folder / "bin").mkdir()
    for name in ("tito", "activate-tinytorch.sh"):
        shutil.copy(REPOSITORY / "bin" / name, folder / "bin")
    (folder / "tito.toml").write_text("[workspace]\n", encoding="utf-8")
    (folder / ".tito" / "environment").write_text(f"{project.root / '.venv'}\n", encoding="utf-8")
    return folder


def test_a_workspace_uses_the_tito_of_its_course(project, workspace):
    assert project.run(
        workspace / "bin" / "tito", "status", cwd=workspace
    ).stdout == project.answer("status")


def test_a_workspace_whose_course_is_gone_takes_tito_from_path_or_says_what_to_do(
    project, workspace
):
    (workspace / ".tito" / "environment").write_text("/nowhere\n", encoding="utf-8")
    path = f"{workspace / 'bin'}:{project.path}"  # its own bin first: it must not call itself
    assert_two_lines(
        project.run(workspace / "bin" / "tito", PATH=path),
        "/nowhere",
        f'bin/tito init "{workspace}"',
    )
    write_script(project.path / "tito", "#!/bin/sh\necho tito on PATH $1\n")
    assert (
        project.run(workspace / "bin" / "tito", "status", PATH=path).stdout
        == "tito on PATH status\n"
    )


# --- bin/activate-tinytorch.sh


@pytest.fixture(params=["bash", "zsh", "dash"])
def shell(request):
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"{request.param} is not installed here")
    return found


SHOW = (
    'echo "$(command -v tito)|${TINYTORCH_ROOT-unset}|${PYTHONPATH-unset}|${VIRTUAL_ENV-unset}|'
    '${OPENBLAS_NUM_THREADS-unset}${OMP_NUM_THREADS-unset}${MKL_NUM_THREADS-unset}"'
)


def activated(project, root):
    venv = project.root / ".venv"
    return f"{venv / 'bin' / 'tito'}|{root}|unset|{venv}|111"


def test_activating_puts_the_root_first_and_deactivating_restores(
    project, workspace, shell, tmp_path
):
    (project.path / "grep").symlink_to(shutil.which("grep"))
    script = tmp_path / "script"  # not `-c`, which would itself be listed by `set`
    script.write_text(
        f'set -eu; . "$1"; . "$1"; {SHOW}; deactivate_tinytorch; {SHOW}; set | grep -i '
        f"tinytorch_ || :",
        encoding="utf-8",
    )
    for root in (project.root, workspace):
        file = root / "bin" / "activate-tinytorch.sh"
        run = project.run(shell, script, file, cwd=root)
        assert run.stdout.splitlines() == [
            activated(project, root),
            "|unset|unset|unset|unsetunsetunset",
        ], run.stdout + run.stderr
        run = project.run(
            shell,
            "-c",
            f'. "$1"; echo $OMP_NUM_THREADS; deactivate_tinytorch; {SHOW}',
            "sh",
            file,
            cwd=root,
            PYTHONPATH="/a b",
            VIRTUAL_ENV="",
            OMP_NUM_THREADS="4",
        )
        assert run.stdout == "4\n|unset|/a b||unset4unset\n", run.stderr


def test_the_current_folder_decides_and_outside_any_root_the_file(
    project, workspace, shell, tmp_path
):
    source = f'. "{workspace}/bin/activate-tinytorch.sh"; {SHOW}'
    assert project.run(shell, "-c", source, cwd=project.root / "bin").stdout.strip() == activated(
        project, project.root
    )
    run = project.run(shell, "-c", source, cwd=tmp_path)
    if shell.endswith("dash"):  # it cannot know which file it reads
        assert "there is no tito.toml" in run.stderr
    else:
        assert run.stdout.strip() == activated(project, workspace), run.stderr


def test_without_an_environment_activating_says_what_to_do_and_the_shell_lives(
    project, workspace, shell
):
    shutil.rmtree(project.root / ".venv")
    strict = (
        "set -u" if shell.endswith("dash") else "set -eu"
    )  # dash's -e ends it at any `. file || ...`
    for root, todo in ((project.root, "Run bin/tito"), (workspace, "bin/tito init")):
        run = project.run(
            shell,
            "-c",
            f'{strict}; . "$1" || echo "still here, $?"',
            "sh",
            root / "bin" / "activate-tinytorch.sh",
            cwd=root,
        )
        assert run.stdout == "still here, 1\n", run.stderr
        assert todo in run.stderr and len(run.stderr.splitlines()) == 2


# --- on Windows: these files are read here, and have not run there


@pytest.mark.parametrize("name", ["tito.cmd", "test.cmd", "activate-tinytorch.ps1"])
def test_the_files_for_windows_are_ascii_with_its_line_ends_and_say_that_they_have_not_run(name):
    data = (REPOSITORY / "bin" / name).read_bytes()
    assert data.isascii() and data.count(b"\n") == data.count(b"\r\n") > 10
    assert b"has not run on Windows yet" in data
    attributes = subprocess.run(
        ["git", "check-attr", "eol", f"bin/{name}"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert attributes.returncode or attributes.stdout.endswith("eol: crlf\n")


def test_tito_cmd_asks_each_python_and_every_label_is_there():
    text = (REPOSITORY / "bin" / "tito.cmd").read_text(encoding="utf-8")
    assert re.findall(r"call :try (.*)", text) == ["py -3", "python", "python3"]
    labels = set(re.findall(r"^:(\w+)", text, re.M))
    assert set(re.findall(r"(?:goto|call :?) ?:?(\w+)", text)) == labels
    assert text.count(" >&2\n") == 4  # two messages of two lines
    for needed in ("chcp 65001", r"Scripts\tito.exe", "setup.py", r".tito\environment", "%*"):
        assert needed in text
    unquoted = re.sub('"[^"]*"', "", text)  # paths have spaces and parentheses
    assert not re.search("%(root|environment|other)%", unquoted)


def test_activate_ps1_sets_and_restores_what_the_shell_script_does():
    text, shell = (
        (REPOSITORY / "bin" / f"activate-tinytorch.{end}").read_text(encoding="utf-8")
        for end in ("ps1", "sh")
    )
    (saved,) = re.findall(r"foreach \(\$name in (.*)\) \{", text)[:1]
    for name in re.findall(r"'(\w+)'", saved):
        assert f"_TINYTORCH_OLD_{name}" in shell
    assert len(re.findall(r"'(\w+)'", saved)) == 4
    (threads,) = re.findall(r"^\$threads = (.*)$", text, re.M)
    names = re.findall(r"'(\w+)'", threads)
    assert saved.endswith("+ $threads") and f"for _tt_name in {' '.join(names)}; do" in shell
    assert text.count("{") == text.count("}") and "global:deactivate_tinytorch" in text


# --- what is installed


def install(wheel, folder):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            wheel,
        ],
        check=True,
        capture_output=True,
    )
    return python


def test_a_wheel_holds_tito_and_the_course_as_data_and_no_importable_tinytorch(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tito", "tinytorch-root.pth"}
    assert "tito/course/tito.toml" in names
    for pattern in (
        "modules/source/*/*_dev.py",
        "tinytorch/*.py",
        "tinytorch/data/*",
        "tinytorch/gpu/*.py",
        "tinytorch/nn/*.py",
        "tinytorch/pictures/*.py",
        "tinytorch/support/*.py",
        "bin/activate-tinytorch.sh",
        "tests/test_lessons.py",
    ):
        for path in filter(Path.is_file, REPOSITORY.glob(pattern)):
            assert f"tito/course/{path.relative_to(REPOSITORY).as_posix()}" in names
    assert not [name for name in names if name.endswith((".pyc", ".ipynb"))]

    python = install(wheel, tmp_path / "environment")
    assert_imports_only_the_root(python, tmp_path)
    where = subprocess.run(
        [python, "-c", "import tito; print(tito.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (Path(where.stdout).parent / "course" / "tito.toml").exists()


def test_an_editable_installation_copies_nothing_and_opens_nothing_else(tmp_path):
    build = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, tmp_path], cwd=REPOSITORY, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")]

    python = install(wheel, tmp_path / "environment")
    assert_imports_only_the_root(python, tmp_path)
    show = [
        python,
        "-c",
        "import sys, tito.import_hook; print(tito.import_hook.__file__, *sys.path, sep='\\n')",
    ]
    tito, *path = subprocess.run(
        show, cwd=tmp_path, capture_output=True, text=True
    ).stdout.splitlines()
    assert Path(tito) == REPOSITORY / "tito" / "import_hook.py"
    assert str(REPOSITORY) not in path


def assert_imports_only_the_root(python, tmp_path):
    empty, root = tmp_path / "empty", tmp_path / "root"
    empty.mkdir()
    (root / "tinytorch").mkdir(parents=True)
    (root / "tito.toml").write_text("[workspace]\n", encoding="utf-8")
    (root / "tinytorch" / "__init__.py").write_text("print('of this root')\n", encoding="utf-8")
    for name in ("tinytorch", "tests", "modules"):
        run = subprocess.run(
            [python, "-c", f"import {name}"], cwd=empty, capture_output=True, text=True
        )
        assert f"No module named '{name}'" in run.stderr
    run = subprocess.run(
        [python, "-c", "import tinytorch"], cwd=root, capture_output=True, text=True
    )
    assert run.stdout == "of this root\n", run.stderr


def test_a_broken_tito_does_not_greet_at_each_start_of_python(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    start = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).read("tinytorch-root.pth")
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "tinytorch-root.pth").write_bytes(start)
    for finder in (None, "this is not Python", "def install(): 1 / 0"):
        if finder:
            (packages / "tito").mkdir(exist_ok=True)
            (packages / "tito" / "import_hook.py").write_text(finder, encoding="utf-8")
        run = subprocess.run(
            [folder / "bin" / "python", "-c", "print('fine')"], capture_output=True, text=True
        )
        assert (run.stdout, run.stderr) == ("fine\n", "")
