# For PowerShell, in a course or a workspace:    bin\activate-tinytorch.ps1
#
# Puts tito's environment first on PATH, this root in TINYTORCH_ROOT, and 1 in OPENBLAS_NUM_THREADS and the like unless
# they are set: for small arrays several threads mostly wait for each other. `deactivate_tinytorch` undoes it.
# The root is the one around the current folder, or else around this file. If Windows allows no scripts:
# Set-ExecutionPolicy -Scope Process Bypass. Tests read this file. It has not run on Windows yet.

function Find-TinyTorchRoot([string] $folder) {
    while ($folder -and -not [IO.File]::Exists([IO.Path]::Combine($folder, 'tito.toml'))) {
        $folder = [IO.Path]::GetDirectoryName($folder)
    }
    return $folder
}

$root = Find-TinyTorchRoot (Get-Location -PSProvider FileSystem).ProviderPath
if (-not $root) { $root = Find-TinyTorchRoot $PSScriptRoot }
if (-not $root) {
    Write-Host 'tinytorch: there is no tito.toml in this folder or above it.'
    Write-Host '           Go to the folder of the course or of your workspace, then run this again.'
    return
}
$environment = "$root\.venv"
$recorded = "$root\.tito\environment"
if (-not [IO.File]::Exists("$environment\Scripts\tito.exe") -and [IO.File]::Exists($recorded)) {
    $environment = [IO.File]::ReadAllText($recorded).Trim()  # in UTF-8
}
if (-not [IO.File]::Exists("$environment\Scripts\tito.exe")) {
    if ([IO.File]::Exists("$root\bin\setup.py")) {
        Write-Host "tinytorch: $root has no environment yet."
        Write-Host '           Run bin\tito there once, it makes one; then run this again.'
    } else {
        Write-Host "tinytorch: this workspace's environment ($environment) is not there."
        Write-Host "           In the course's folder run: bin\tito init ""$root"""
    }
    return
}

if (Test-Path function:deactivate_tinytorch) { deactivate_tinytorch }
$global:TinyTorchBefore = @{}  # what is not set is $null here, and assigning $null removes it again
$threads = 'OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'
foreach ($name in @('PATH', 'PYTHONPATH', 'PYTHONHOME', 'VIRTUAL_ENV') + $threads) {
    $global:TinyTorchBefore[$name] = [Environment]::GetEnvironmentVariable($name)
}
function global:deactivate_tinytorch {
    foreach ($name in $global:TinyTorchBefore.Keys) {
        [Environment]::SetEnvironmentVariable($name, $global:TinyTorchBefore[$name])
    }
    $env:TINYTORCH_ROOT = $null
    Remove-Variable -Scope Global TinyTorchBefore
    Remove-Item function:deactivate_tinytorch
}
# An environment of conda, or Python itself, has python.exe in its first folder.
$env:PATH = "$environment\Scripts;$environment;$env:PATH"
$env:TINYTORCH_ROOT = $root  # for `import tinytorch` in a script outside any root
$env:PYTHONPATH = $null  # it may hold anything, as may PYTHONHOME
$env:VIRTUAL_ENV = $environment
$env:PYTHONHOME = $null
foreach ($name in $threads) {
    if ($null -eq [Environment]::GetEnvironmentVariable($name)) { [Environment]::SetEnvironmentVariable($name, '1') }
}
Write-Host "TinyTorch in ${root}: tito status"
