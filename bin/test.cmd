@echo off
rem The test suite on Windows; bin/test does the same on other systems. It has not run on Windows yet.
setlocal
set "PYTHONHOME="
set "PYTHONPATH="
set "TINYTORCH_ROOT="
set "PYTHONDONTWRITEBYTECODE="
cd /d "%~dp0.." || exit /b 3
rem `tito --version` makes the environment, whose Python then adds the packages for tests.
call bin\tito.cmd --version >nul || exit /b 3
.venv\Scripts\python.exe -I bin\setup.py dev || exit /b 3
set /a workers=NUMBER_OF_PROCESSORS + 2
.venv\Scripts\python.exe -m pytest -n %workers% --dist loadfile --no-loadscope-reorder %*
exit /b %errorlevel%
