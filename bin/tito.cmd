@echo off
rem tito on Windows, in a course, a release or a workspace; bin/tito does the same on other systems.
rem Tests read this file. It has not run on Windows yet.
setlocal
if defined PYTHONPATH set "TITO_PYTHONPATH=%PYTHONPATH%"
set "PYTHONHOME="
set "PYTHONPATH="
for %%F in ("%~dp0..") do set "root=%%~fF"
if not exist "%root%\bin\setup.py" goto workspace

set "python="
call :try py -3
if not defined python call :try python
if not defined python call :try python3
if not defined python goto nopython
%python% -I "%root%\bin\setup.py"
if errorlevel 1 exit /b 3
set "environment=%root%\.venv"
goto run

:try
rem Asking is the only way: it may be too old, or a placeholder of the Microsoft Store.
%* -c "import sys; sys.exit(sys.version_info[:2] not in [(3, n) for n in range(11, 99)])" >nul 2>nul
if not errorlevel 1 set "python=%*"
exit /b 0

:nopython
echo tito: TinyTorch needs Python 3.11 or newer, and this machine has none on its PATH. >&2
echo       Install it from python.org and run the same again. >&2
exit /b 3

:workspace
rem The file is in UTF-8, which cmd reads in code page 65001.
set "environment="
for /f "tokens=2 delims=:." %%C in ('chcp') do set "page=%%C"
chcp 65001 >nul
if exist "%root%\.tito\environment" for /f "usebackq delims=" %%L in ("%root%\.tito\environment") do set "environment=%%L"
chcp %page% >nul
if exist "%environment%\Scripts\tito.exe" goto run
for %%X in (tito.exe) do set "other=%%~$PATH:X"
if defined other goto other
if not defined environment set "environment=%root%\.tito\environment"
echo tito: cannot find tito: "%environment%" is not there. >&2
echo       In the course's folder (clone the course again if it is gone) run: bin\tito init "%root%" >&2
exit /b 3

:other
"%other%" %*
exit /b %errorlevel%

:run
"%environment%\Scripts\tito.exe" %*
exit /b %errorlevel%
