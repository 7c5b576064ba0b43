package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// objects make one object of each kind that is completed.
const objects = `
target-group create tenants
target-group add tenants --server sql1.example.com --database shop
job create nightly --description cleans~up
job create nightly~index
step add nightly --target-group tenants --command PRINT~1; --name clean
step add nightly~index --target-group tenants --command PRINT~1;
schedule add nightly weekdays --cron5 0~2~*~*~1-5
calendar add holidays --spec CALENDAR
limit set Server sql1.example.com 5
alert channel add hook http {"url":"https://example.com/"}
alert rule add failed RunEnded --job nightly --channel hook
account create sales --no-wait
job start nightly --execution-id abcd0000-0000-4000-8000-000000000001
job start nightly --execution-id abcd0000-0000-4000-8000-000000000002
job start nightly~index --execution-id ef001234-0000-4000-8000-000000000003
job parameter set nightly mode --choice fast --choice full --default fast --description how~much
job parameter set nightly days --type integer --default 7
`

// Each kind of argument and flag is completed with what exists; execution IDs may be short; a name
// that does not exist gives the one that was meant.
func TestNamesOfObjects(t *testing.T) {
	server := clitest.Server(t)
	dir := t.TempDir()
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	settings, spec := filepath.Join(dir, "jobagent.json"), filepath.Join(dir, "calendar.json")
	require.NoError(t, os.WriteFile(settings, []byte(`{"credentials": [{"name": "deploy", "kind": "sql", "user": "u", "secret": "env:NOWHERE", "servers": ["*"]}]}`), 0o600))
	require.NoError(t, os.WriteFile(spec, []byte(`{"dates": ["2030-12-24"]}`), 0o600))
	t.Setenv(config.EnvConfig, "")
	t.Setenv("JOBAGENT_CONTEXTS", filepath.Join(dir, "contexts.yaml"))
	run := func(line string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		var args []string
		for word := range strings.FieldsSeq(line) {
			args = append(args, strings.NewReplacer("~", " ", "CALENDAR", spec, "''", "").Replace(word))
		}
		code = cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	for line := range strings.Lines(strings.TrimSpace(objects)) {
		code, _, stderr := run(line)
		require.Zero(t, code, "%s: %s", line, stderr)
	}
	require.NoError(t, contexts.Update(func(f *contexts.File) error {
		return f.Put(contexts.Context{Name: "production", Server: "sql1", Database: "jobs"}, false)
	}))

	t.Setenv(config.EnvConfig, settings)
	for line, want := range map[string]string{
		"job start ''":                            "nightly\tcleans up\nnightly index\n",
		"jobs get nightly~":                       "nightly index\n",
		"job create ''":                           "",
		"job start nightly --param ''":            "mode=\ttext how much\ndays=\tinteger\n",
		"job start nightly --param mode=":         "mode=fast\nmode=full\n",
		"job start nightly --param mode=fu":       "mode=full\n",
		"job start nightly --param d":             "days=\tinteger\n",
		"job parameter delete nightly ''":         "mode\t",
		"job stop ''":                             "nightly\tcleans up\nnightly index\nef001234-0000-4000-8000-000000000003\tnightly index, Created, ",
		"target-group show t":                     "tenants\n",
		"target-group remove tenants ''":          "Include SqlDatabase sql1.example.com shop\n",
		"step update nightly --step-name ''":      "clean\tstep 1, TSql\n",
		"step add nightly --target-group ''":      "tenants\n",
		"step add nightly --credential d":         "deploy\n",
		"schedule show nightly ''":                "weekdays\tcron5, Enabled\n",
		"schedule show nightly~index ''":          "",
		"calendar show ''":                        "holidays\t",
		"limit remove Server ''":                  "*\nsql1.example.com\tServer, at most 5\n",
		"limit set ''":                            "Job\nServer\nElasticPool\nCredential\nAgent\n",
		"limit set Job ''":                        "*\nnightly\t",
		"alert mute ''":                           "failed\tRunEnded\n",
		"alert test ''":                           "hook\tHttp\n",
		"account show ''":                         "sales\t",
		"execution show ''":                       "ef001234-0000-4000-8000-000000000003\tnightly index, Created, ",
		"execution show abcd":                     "abcd0000-0000-4000-8000-000000000002\tnightly, Created, ",
		"execution list --job nightly~":           "nightly index\n",
		"execution list --lifecycle Failed,Su":    "Failed,Succeeded\nFailed,SucceededWithSkipped\n",
		"schedule add nightly x --overlap b":      "BufferOne\nBufferAll\n",
		"schedule add nightly x --catch-up ''":    "last\nnone\n",
		"schedule add nightly x --zone europe/be": "Europe/Belfast\tUTC+",
		"schedule add nightly x --zone nepal":     "Nepal Standard Time\tUTC+05:45, Asia/Katmandu\n",
		"schedule zones tokyo":                    "Tokyo Standard Time\tUTC+09:00, Asia/Tokyo\n",
		"schedule preview --kind c":               "cron5\ncron6\n",
		"job list --context ''":                   "production\tdatabase jobs on sql1\n",
		"context use ''":                          "production\t",
		"job list --color ''":                     "auto\n",
		"job list --progress l":                   "live\n",
		"job list --output y":                     "yaml\n",
		"job list --columns job_name,en":          "job_name,enabled\n",
		"job list --sort=-job_n":                  "-job_name\n",
		"job list --log-level d":                  "debug\n",
		"step add nightly --http P":               "POST\nPUT\nPATCH\n",
		"alert rule add x ''":                     "RunEnded\n",
		"alert channel add x s":                   "StorageQueue\nServiceBusQueue\nServiceBusTopic\nSlack\n",
		"job update nightly --interval-type h":    "Hours\n",
		"run --target-credential ''":              "deploy\n",
		"db grants --role jobs_a":                 "jobs_agent\njobs_admin\njobs_author\n",
		"db grants --platform a":                  "azure-sql-database\n",
	} {
		code, stdout, stderr := run("__complete " + line)
		require.Zero(t, code, line)
		require.Contains(t, stdout, want, line)
		if want == "" {
			require.Equal(t, ":4\n", stdout, line) // and no files
		}
		require.NotContains(t, stdout, "\n:0\n", "files are completed where none is wanted: %s", line)
		require.NotContains(t, stderr, "warn", line)
	}
	for line, directive := range map[string]string{"step add nightly --file ''": ":0\n", "dev --data ''": ":16\n", "apply -f ''": ":0\n"} {
		_, stdout, _ := run("__complete " + line)
		require.Equal(t, directive, stdout, line)
	}

	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"execution show ef00", exit.CodeOK, "ef001234-0000-4000-8000-000000000003"},
		{"execution show EF001234-00", exit.CodeOK, "ef001234-0000-4000-8000-000000000003"},
		{"execution show abcd", exit.CodeUsage, "the execution ID abcd is ambiguous: abcd0000-0000-4000-8000-000000000002 (nightly, Created, "},
		{"execution show abcd0001", exit.CodeNotFound, "no run whose ID begins with abcd0001 is among the latest 10,000; jobagent execution list"},
		{"job stop ef00", exit.CodeOK, "asked 1 run to stop"},
		{"job show nihgtly", exit.CodeNotFound, `job "nihgtly" does not exist; did you mean "nightly"? jobagent job list shows all jobs`},
		{"job show other", exit.CodeNotFound, `job "other" does not exist; jobagent job list shows all jobs`},
		{"job start nihgtly", exit.CodeNotFound, `The job 'nihgtly' does not exist; did you mean "nightly"? jobagent job list shows all jobs`},
		{"export --job nihgtly", exit.CodeNotFound, `did you mean "nightly"?`},
		{"schedule pause nightly weekday", exit.CodeNotFound, `no schedule named 'weekday'; did you mean "weekdays"?`},
		{"limit set Job nihgtly 4", exit.CodeNotFound, `did you mean "nightly"?`},
		{"target-group show tennants", exit.CodeNotFound, `did you mean "tenants"?`},
		{"schedule show nightly weekday", exit.CodeNotFound, `job "nightly" has no schedule "weekday"; did you mean "weekdays"?`},
		{"calendar show holiday", exit.CodeNotFound, `did you mean "holidays"?`},
	} {
		code, stdout, stderr := run(c.line)
		require.Equal(t, c.code, code, "%s: %s", c.line, stderr)
		require.Contains(t, stdout+stderr, c.want, c.line)
	}

	// Without a connection, nothing is completed and nothing is said.
	t.Setenv(config.EnvDSN, "sqlserver://u:p@127.0.0.1:1?database=jobs")
	code, stdout, _ := run("__complete job start ''")
	require.Zero(t, code)
	require.Equal(t, ":4\n", stdout)
}

// The scripts for shells are accepted by those that are installed.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string][]string{
		"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"},
		"powershell": {"pwsh", "-NoProfile", "-Command", "$null = [scriptblock]::Create((Get-Content -Raw $args[0]))", "-args"},
	} {
		var stdout, stderr strings.Builder
		require.Zero(t, cli.Run(t.Context(), []string{"completion", shell}, strings.NewReader(""), &stdout, &stderr), stderr.String())
		require.Contains(t, stdout.String(), "__complete", shell)
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not installed: its script is not parsed", check[0])
			continue
		}
		file := filepath.Join(t.TempDir(), "completion."+shell)
		require.NoError(t, os.WriteFile(file, []byte(stdout.String()), 0o600))
		out, err := exec.CommandContext(t.Context(), check[0], append(check[1:], file)...).CombinedOutput()
		require.NoError(t, err, fmt.Sprintf("%s: %s", shell, out))
	}
}
