package kit

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jobsOf returns the jobs of a definition as a reader applies them, with their scripts.
func jobsOf(t *testing.T, d Definition) (jobs []*manifest.Job) {
	t.Helper()
	set, err := manifest.Load(inputs(d.FillIn(Places{Databases: "d", Servers: "s", ResultsServer: "sql1", ResultsDatabase: "dba"}))...)
	require.NoError(t, err, d.Name)
	for _, o := range set.Objects {
		if job, ok := o.Value.(*manifest.Job); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// inputs puts the scripts of files into the YAML file, which is the first one.
func inputs(files []manifest.File) []manifest.Input {
	text := files[0].Text
	for _, f := range files[1:] {
		text = strings.ReplaceAll(text, "{file: "+f.Path+"}", fmt.Sprintf("%q", f.Text))
	}
	return []manifest.Input{{Text: []byte(text), Display: files[0].Path}}
}

func TestDefinitions(t *testing.T) {
	all, err := Definitions()
	require.NoError(t, err)
	require.Len(t, all, 15)
	written, tables := 0, map[string]bool{}
	page, err := os.ReadFile("KIT.md")
	require.NoError(t, err)
	for _, d := range all {
		require.NotEmpty(t, d.Summary, d.Name)
		require.Contains(t, []RunsOn{Databases, Servers, Results}, d.RunsOn, d.Name)
		for _, text := range []string{d.Results, d.Rights, d.Versions} {
			require.NotEmpty(t, text, d.Name)
		}
		require.Contains(t, string(page), "| `"+d.Name+"` |", "KIT.md lists it")
		written += len(d.Files)
		group := map[RunsOn]string{Databases: "d", Servers: "s", Results: "kit results"}[d.RunsOn]
		for i, job := range jobsOf(t, d) {
			require.Equal(t, d.Jobs[i], job.Name)
			require.True(t, strings.HasPrefix(job.Name, "kit "), "it must not meet a job of the reader's")
			require.NotEmpty(t, job.Description, job.Name)
			for _, s := range job.Schedules {
				require.False(t, s.Enabled, "%s: the reader enables it", job.Name)
			}
			for _, s := range job.Steps {
				require.Equal(t, group, s.TargetGroup, job.Name)
				require.Equal(t, "Transient", s.RetryErrors)
				require.Less(t, s.Timeout, 12*3600, "%s: a limit of its own", job.Name)
				if s.Output != nil {
					require.Equal(t, "sql1/dba", s.Output.Server+"/"+s.Output.Database)
					require.Contains(t, d.Results, "dbo."+s.Output.Table)
					tables[s.Output.Table] = true
				}
			}
		}
	}
	files, err := embedded.ReadDir("definitions")
	require.NoError(t, err)
	require.Len(t, files, written, "each file belongs to a definition")

	// Old rows of all tables are deleted, but not those of sp_Blitz, which have no time.
	delete(tables, "kit_blitz")
	retention, err := embedded.ReadFile("definitions/results-retention.sql")
	require.NoError(t, err)
	listed := regexp.MustCompile(`\(N'(kit_\w+)'\)`).FindAllStringSubmatch(string(retention), -1)
	require.Len(t, listed, len(tables))
	for _, m := range listed {
		require.True(t, tables[m[1]], m[1])
	}
}

// Names of places are quoted, whatever is in them.
func TestFillIn(t *testing.T) {
	all, err := Definitions()
	require.NoError(t, err)
	odd := Places{Databases: `a "b": {c}\`, Servers: "#s", ResultsServer: `sql1\x`, ResultsDatabase: "it's: d"}
	for _, d := range all {
		set, err := manifest.Load(inputs(d.FillIn(odd))...)
		require.NoError(t, err)
		for _, o := range set.Objects {
			if job, ok := o.Value.(*manifest.Job); ok {
				require.Equal(t, map[RunsOn]string{Databases: odd.Databases, Servers: odd.Servers, Results: "kit results"}[d.RunsOn], job.Steps[0].TargetGroup)
				if out := job.Steps[0].Output; out != nil {
					require.Equal(t, []string{odd.ResultsServer, odd.ResultsDatabase}, []string{out.Server, out.Database})
				}
			}
		}
	}
}

var parameter = regexp.MustCompile(`\$\(param\.(\w+)\)`)

// expanded returns a script with the values that parameters have by default.
func expanded(job *manifest.Job, script string) string {
	for _, p := range job.Parameters {
		value := "NULL"
		switch text := string(p.Default); {
		case p.Type == "text":
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`, "'", "''").Replace(strings.Trim(text, `"`))
		case p.Type == "boolean":
			value = map[bool]string{true: "1", false: "0"}[text == "true"]
		case text != "":
			value = text
		}
		script = strings.ReplaceAll(script, "$(param."+p.Name+")", value)
	}
	return strings.ReplaceAll(script, "$(job_execution_create_time)", "'2026-01-31T22:00:00'")
}

// Scripts are T-SQL, use the parameters that their jobs declare and no others, and nothing that is
// not documented. With JOBAGENT_RECORDED_SQL, they are written for .ci/bind.
func TestScripts(t *testing.T) {
	all, err := Definitions()
	require.NoError(t, err)
	dynamic := regexp.MustCompile(`(?s)N'((?:SELECT|BACKUP|RESTORE|ALTER) [^']*(?:''[^']*)*;)'`)
	undocumented := regexp.MustCompile(`(?i)\b(EXEC(?:UTE)?\s+[\w.]*xp_\w+|sp_MS\w+|fn_dblog|DBCC (?:IND|PAGE|LOG)|sys\.sysprocesses)\b`)
	record := os.Getenv("JOBAGENT_RECORDED_SQL")
	if record != "" {
		require.NoError(t, os.MkdirAll(filepath.Join(record, "kit"), 0o755))
	}
	var list strings.Builder
	statements := 0
	for _, d := range all {
		for n, job := range jobsOf(t, d) {
			used := map[string]bool{}
			for i, s := range job.Steps {
				if len(s.Drift) > 0 { // the agent reads the schemas
					continue
				}
				text := s.Command.Text
				for _, m := range parameter.FindAllStringSubmatch(text, -1) {
					used[m[1]] = true
				}
				text = expanded(job, text)
				require.NotContains(t, text, "$(", "%s: a parameter that the job does not declare", job.Name)
				require.NotRegexp(t, undocumented, text, job.Name)
				if d.Needs == "" {
					require.Contains(t, text, "\nSET NOCOUNT ON;\n", job.Name)
				}
				if d.Needs == "" && d.RunsOn != Results {
					require.Contains(t, text, "-- https://learn.microsoft.com/sql/", job.Name)
				}
				for number, batch := range regexp.MustCompile(`(?m)^GO$`).Split(text, -1) {
					parse(t, job.Name, batch)
					statements++
					if record != "" {
						file := fmt.Sprintf("kit/%s-%d-%d-%d.sql", d.Name, n, i, number)
						require.NoError(t, os.WriteFile(filepath.Join(record, file), []byte(batch), 0o600))
						list.WriteString(file + "\n")
					}
				}
				for _, m := range dynamic.FindAllStringSubmatch(text, -1) {
					parse(t, job.Name, strings.ReplaceAll(m[1], "''", "'"))
					statements++
				}
			}
			for _, p := range job.Parameters {
				require.True(t, used[p.Name], "%s: no step uses the parameter %s", job.Name, p.Name)
			}
		}
		for _, f := range d.Files[1:] {
			for i, line := range strings.Split(f.Text, "\n") {
				require.LessOrEqual(t, len(line), 140, "%s:%d", f.Path, i+1)
				require.NotContains(t, line, "\t", "%s:%d", f.Path, i+1)
			}
		}
	}
	require.Greater(t, statements, 25)
	if record != "" {
		require.NoError(t, os.WriteFile(filepath.Join(record, "kit", "list.txt"), []byte(list.String()), 0o600))
	}
}

func parse(t *testing.T, name, text string) {
	t.Helper()
	_, err := parser.Parse(text, parser.Options{QuotedIdentifier: true})
	require.NoError(t, err, "%s: %s", name, text)
}
