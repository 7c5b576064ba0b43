# Runs on Windows what nothing else can run: the blocks of cmd/jobagent/deploy/WINDOWS.md, in the PowerShell that runs this script,
# and the program as a service. It needs Go and the rights of an administrator, and leaves nothing behind.
# Usage: powershell -File .ci/windows.ps1; pwsh -File .ci/windows.ps1
$ErrorActionPreference = 'Stop'
$repository = Split-Path -Parent $PSScriptRoot
$work = Join-Path ([IO.Path]::GetTempPath()) ('jobagent-' + [Guid]::NewGuid())
New-Item -ItemType Directory $work | Out-Null
$env:PATH = "$work;$env:PATH"
$env:JOBAGENT_CONTEXTS = Join-Path $work 'contexts.yaml'

# Invoke-Block pastes the lines of a block, and fails if a program fails.
function Invoke-Block($text) {
	foreach ($line in $text.Trim() -split "`r?`n") {
		Write-Host "PS> $line"
		$global:LASTEXITCODE = 0
		Invoke-Expression $line | Out-Host
		if ($LASTEXITCODE -ne 0) { throw "exit code $LASTEXITCODE of: $line" }
	}
}

$document = [IO.File]::ReadAllText((Join-Path $repository 'cmd/jobagent/deploy/WINDOWS.md'))
$blocks = [regex]::Matches($document, '(?s)```powershell\r?\n(.*?)```') | ForEach-Object { $_.Groups[1].Value }
$dev = $null
try {
	Push-Location $repository
	go build -o (Join-Path $work 'jobagent.exe') ./cmd/jobagent
	if ($LASTEXITCODE -ne 0) { throw 'go build failed' }
	Pop-Location
	Push-Location $work
	foreach ($block in $blocks) {
		switch -Regex ($block) {
			'git clone' { break } # this repository is the clone
			'jobagent dev' {
				Invoke-Expression ($block -split "`r?`n")[0]
				$dev = Start-Process jobagent 'dev --data devdata -o json' -PassThru -NoNewWindow -RedirectStandardOutput ready.json
				for ($i = 0; -not (Get-Content ready.json); $i++) {
					if ($dev.HasExited -or $i -ge 120) { throw 'jobagent dev does not become ready' }
					Start-Sleep -Milliseconds 500
				}
				break
			}
			'jobagent job create visit' { # the README makes the databases and the group in T-SQL
				Invoke-Block "jobagent target-group create tenants`njobagent target-group add tenants --server '127.0.0.1,1433' --database jobagent"
				Invoke-Block ($block -replace 'INSERT INTO dbo.Visits .*;', 'SELECT 1;')
				break
			}
			'sql1\.example\.com|CONTOSO|Get-WinEvent|Stop-Service' { break } # other servers, and the service, which follows
			default { Invoke-Block $block }
		}
	}

	# The service: it starts, writes events, and ends with its exit code.
	New-EventLog -LogName Application -Source jobagent -MessageResourceFile "$env:SystemRoot\System32\EventCreate.exe"
	Set-Content dsn ($env:JOBAGENT_DSN -replace 'devdata/', ((Join-Path $work 'devdata/') -replace '\\', '/'))
	New-Service -Name jobagent -BinaryPathName ('"{0}" run --dsn "file:{1}" --config "{2}"' -f (Join-Path $work 'jobagent.exe'), (Join-Path $work 'dsn'), (Join-Path $work 'devdata/jobagent.json')) | Out-Null
	Start-Service jobagent
	for ($i = 0; -not (Get-WinEvent -FilterHashtable @{ LogName = 'Application'; ProviderName = 'jobagent' } -ErrorAction SilentlyContinue | Where-Object Message -Like '*agent started*'); $i++) {
		if ($i -ge 60) { throw 'the service writes no event' }
		Start-Sleep -Milliseconds 500
	}
	Stop-Service jobagent
	$code = (Get-CimInstance Win32_Service -Filter "Name = 'jobagent'").ExitCode
	if ($code -ne 0) { throw "the service ended with $code" }
} finally {
	if ($dev -and -not $dev.HasExited) { Stop-Process $dev; $dev.WaitForExit() }
	if (Get-Service jobagent -ErrorAction SilentlyContinue) { Stop-Service jobagent; sc.exe delete jobagent }
	if ([Diagnostics.EventLog]::SourceExists('jobagent')) { Remove-EventLog -Source jobagent }
	Pop-Location
	Remove-Item -Recurse -Force $work -ErrorAction SilentlyContinue
}
