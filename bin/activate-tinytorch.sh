# For bash, zsh or sh, in a course or a workspace:    . bin/activate-tinytorch.sh
#
# Puts tito's environment first on PATH, this root in TINYTORCH_ROOT, and 1 in OPENBLAS_NUM_THREADS and the like unless
# they are set: for small arrays several threads mostly wait for each other. `deactivate_tinytorch` undoes it.
# The root is the one around the current folder, or else around this file (plain sh does not know where that is).

_tinytorch_root() {  # the nearest folder with a tito.toml, from $1 upward
    _tt_folder=$1
    while [ ! -f "$_tt_folder/tito.toml" ]; do
        case $_tt_folder in
            */*) _tt_folder=${_tt_folder%/*} ;;
            *) return 1 ;;
        esac
    done
    printf '%s\n' "$_tt_folder"
}

_tinytorch_activate() {
    if ! _tt_root=$(_tinytorch_root "$(pwd -P)"); then
        _tt_file=${BASH_SOURCE-}
        if [ -n "${ZSH_VERSION-}" ]; then _tt_file=$_tt_zsh_file; fi
        case $_tt_file in */*) ;; *) _tt_file=./$_tt_file ;; esac
        if ! _tt_root=$(_tinytorch_root "$(CDPATH= cd -- "${_tt_file%/*}" && pwd -P)"); then
            echo "tinytorch: there is no tito.toml in $(pwd) or above it." >&2
            echo "           Go to the folder of the course or of your workspace, then source this again." >&2
            return 1
        fi
    fi

    _tt_environment=$_tt_root/.venv
    if [ ! -x "$_tt_environment/bin/python" ]; then
        _tt_environment=
        # Without a newline at the end, `read` fills the name and still fails.
        if [ -f "$_tt_root/.tito/environment" ]; then
            IFS= read -r _tt_environment <"$_tt_root/.tito/environment" || :
        fi
        if [ ! -x "$_tt_environment/bin/python" ]; then
            if [ -f "$_tt_root/bin/setup" ]; then
                echo "tinytorch: $_tt_root has no environment yet." >&2
                echo "           Run bin/tito there once, it makes one; then source this again." >&2
            else
                echo "tinytorch: this workspace's environment (${_tt_environment:-none recorded}) is not there." >&2
                echo "           In the course's folder run: bin/tito init \"$_tt_root\"" >&2
            fi
            return 1
        fi
    fi

    if [ -n "${_TINYTORCH_OLD_PATH+set}" ]; then deactivate_tinytorch; fi
    # An unset variable must come back unset: each value is kept with an x in front, or empty.
    _TINYTORCH_OLD_PATH=$PATH
    _TINYTORCH_OLD_PYTHONPATH=${PYTHONPATH+x$PYTHONPATH}
    _TINYTORCH_OLD_PYTHONHOME=${PYTHONHOME+x$PYTHONHOME}
    _TINYTORCH_OLD_VIRTUAL_ENV=${VIRTUAL_ENV+x$VIRTUAL_ENV}
    export PATH="$_tt_environment/bin:$PATH"
    export TINYTORCH_ROOT="$_tt_root" # for `import tinytorch` in a script outside any root
    export VIRTUAL_ENV="$_tt_environment" # uv and editors look here
    _TINYTORCH_THREADS=
    for _tt_name in OPENBLAS_NUM_THREADS OMP_NUM_THREADS MKL_NUM_THREADS; do
        if eval "[ -z \"\${$_tt_name+set}\" ]"; then
            export "$_tt_name=1"
            _TINYTORCH_THREADS="$_TINYTORCH_THREADS $_tt_name"
        fi
    done
    unset PYTHONHOME PYTHONPATH # whatever they hold, it is not for this environment
    hash -r 2>/dev/null || :

    deactivate_tinytorch() {
        export PATH="$_TINYTORCH_OLD_PATH"
        unset TINYTORCH_ROOT PYTHONPATH PYTHONHOME VIRTUAL_ENV
        if [ -n "$_TINYTORCH_OLD_PYTHONPATH" ]; then export PYTHONPATH="${_TINYTORCH_OLD_PYTHONPATH#x}"; fi
        if [ -n "$_TINYTORCH_OLD_PYTHONHOME" ]; then export PYTHONHOME="${_TINYTORCH_OLD_PYTHONHOME#x}"; fi
        if [ -n "$_TINYTORCH_OLD_VIRTUAL_ENV" ]; then export VIRTUAL_ENV="${_TINYTORCH_OLD_VIRTUAL_ENV#x}"; fi
        eval "unset _TINYTORCH_THREADS $_TINYTORCH_THREADS"
        unset _TINYTORCH_OLD_PATH _TINYTORCH_OLD_PYTHONPATH _TINYTORCH_OLD_PYTHONHOME _TINYTORCH_OLD_VIRTUAL_ENV
        unset -f deactivate_tinytorch
        hash -r 2>/dev/null || :
    }
}

# zsh's way to name this file; the other shells could not read it. Outside the function, where it means the file.
if [ -n "${ZSH_VERSION-}" ]; then eval '_tt_zsh_file=${(%):-%x}'; fi
if _tinytorch_activate; then _tt_status=0; else _tt_status=1; fi
unset -f _tinytorch_activate _tinytorch_root
unset _tt_folder _tt_root _tt_file _tt_zsh_file _tt_environment _tt_name
if [ "$_tt_status" != 0 ]; then
    unset _tt_status
    return 1
fi
unset _tt_status
case $- in *i*) echo "TinyTorch in $TINYTORCH_ROOT: tito status" ;; esac # to a person; a script hears nothing
