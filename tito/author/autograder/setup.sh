#!/bin/sh
# Gradescope runs this once, as root, to build the image: Python 3.11 or newer, bubblewrap, and tito in an environment of its own.
set -eu

autograder=${AUTOGRADER:-/autograder}
export DEBIAN_FRONTEND=noninteractive

apt-get update
apt-get install -y --no-install-recommends bubblewrap

python=
for version in 3.14 3.13 3.12 3.11; do
    if command -v "python$version" >/dev/null || apt-get install -y --no-install-recommends "python$version" "python$version-venv"; then
        python=python$version
        break
    fi
done
if [ -z "$python" ]; then
    echo "setup.sh: this image has no Python 3.11 or newer. Choose a newer base image in Gradescope." >&2
    exit 1
fi

"$python" -m venv "$autograder/tito"
set -- "$autograder"/source/tinytorch-*.whl
"$autograder/tito/bin/python" -m pip install --no-cache-dir --no-input "$1[instructor]"
apt-get clean
