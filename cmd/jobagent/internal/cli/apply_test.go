package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
)

// fixture is a server with control databases.
type fixture struct {
	server *embedded.Server
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Setenv(config.EnvConfig, "")
	server := clitest.Server(t)
	return &fixture{server}
}

// install makes another control database.
func (f *fixture) install(t *testing.T, name string) {
	t.Helper()
	master, err := f.server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE "+name+";")
	require.NoError(t, err)
	require.NoError(t, deploy.On(f.open(t, name)).Install(t.Context()))
}

// open opens a control database.
func (f *fixture) open(t *testing.T, name string) *controldb.Store {
	t.Helper()
	store, err := controldb.Open(t.Context(), controldb.Config{DSN: f.server.DSN(name)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// The tests share a server; each has databases of its own, but for the first, which expects an
// empty one.
func TestApply(t *testing.T) {
	f := newFixture(t)
	t.Run("round trip", func(t *testing.T) { testRoundTrip(t, f) })
	t.Run("change", func(t *testing.T) { testAnyChange(t, f) })
	t.Run("concurrent", func(t *testing.T) { testConcurrentApplies(t, f) })
	t.Run("failure", func(t *testing.T) { testFailure(t, f) })
	t.Run("page", func(t *testing.T) { testPage(t, f) })
	t.Run("retry errors", func(t *testing.T) { testRetryErrors(t, f) })
	t.Run("prune", func(t *testing.T) { testPrune(t, f) })
	t.Run("rollout plan", func(t *testing.T) { testRolloutPlan(t, f) })
	t.Run("plans that name each other", func(t *testing.T) { testPlansThatNameEachOther(t, f) })
	t.Run("triggers", func(t *testing.T) { testTriggers(t, f) })
	t.Run("past run", func(t *testing.T) { testPastRun(t, f) })
}

// run runs a command line on a control database.
func (f *fixture) run(t *testing.T, database, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runContext(t.Context(), f.server.DSN(database), stdin, args...)
}

func runContext(ctx context.Context, dsn, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	if dsn != "" {
		args = append([]string{"--dsn", dsn}, args...)
	}
	code = cli.Run(ctx, args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// ok is run for a command that succeeds.
func (f *fixture) ok(t *testing.T, database, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := f.run(t, database, stdin, args...)
	require.Zero(t, code, "%s\n%s", stdout, stderr)
	return stdout
}

const (
	main  = embedded.ControlDatabase
	world = "testdata/world"
)

// Files with every feature are applied; a second time, nothing changes. What is exported is applied
// without a change, and to an empty database so that it is exported again byte by byte.
func testRoundTrip(t *testing.T, f *fixture) {
	f.install(t, "second")
	f.install(t, "third")
	require.Contains(t, f.ok(t, main, "", "apply", "-f", world, "--dry-run"), "would create Job everything\n")
	require.Empty(t, f.ok(t, main, "", "export"))
	require.Contains(t, f.ok(t, main, "", "apply", "-f", world), "19 created, 0 changed, 0 unchanged\n")
	version := jobVersions(t, f, main)
	audited := f.ok(t, main, "", "audit", "list", "-o", "json")

	require.Equal(t, "0 created, 0 changed, 19 unchanged\n", f.ok(t, main, "", "apply", "-f", world))
	require.Equal(t, "no differences\n", f.ok(t, main, "", "diff", "-f", world))
	exported := f.ok(t, main, "", "export")
	require.Equal(t, "0 created, 0 changed, 19 unchanged\n", f.ok(t, main, exported, "apply", "-f", "-"))
	require.Equal(t, version, jobVersions(t, f, main), "nothing changed, so there is no new version")
	require.Equal(t, audited, f.ok(t, main, "", "audit", "list", "-o", "json"), "nothing is written")

	f.ok(t, "second", exported, "apply", "-f", "-")
	require.Equal(t, exported, f.ok(t, "second", "", "export"))
	require.Equal(t, readCovered(t, f, main), readCovered(t, f, "second"), "all columns of definitions are the same")
	asJSON := f.ok(t, "second", "", "export", "-o", "json")
	require.Equal(t, "0 created, 0 changed, 19 unchanged\n", f.ok(t, main, asJSON, "apply", "-f", "-"))

	dir := filepath.Join(t.TempDir(), "tree")
	require.Contains(t, f.ok(t, "second", "", "export", "--dir", dir), "wrote 19 objects as 23 files into ")
	f.ok(t, "third", "", "apply", "-f", dir)
	require.Equal(t, exported, f.ok(t, "third", "", "export"))
	script, err := os.ReadFile(filepath.Join(dir, "jobs", "everything", "01-load.sql"))
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join(world, "jobs", "scripts", "load.sql"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(script), "a script is the same, byte by byte")

	// Into a directory that was used, export lists what it replaces and what is stale.
	require.Contains(t, f.ok(t, "second", "", "export", "--dir", dir), "wrote 19 objects as 23 files into "+dir+"; 23 unchanged\n")
	edited, stale := filepath.Join(dir, "jobs", "everything.yaml"), filepath.Join(dir, "jobs", "gone.yaml")
	old, err := os.ReadFile(edited)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(edited, append([]byte("# a remark\n"), old...), 0o600))
	require.NoError(t, os.WriteFile(stale, []byte("apiVersion: jobagent/v1\nkind: Job\nname: gone\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.yaml"), []byte("mine"), 0o600))
	require.Equal(t, "replaced jobs/everything.yaml\nstale jobs/gone.yaml\nwrote 19 objects as 23 files into "+dir+"; 22 unchanged\n"+
		"1 file not of this export: jobagent apply would create what it defines; --prune removes it\n", f.ok(t, "second", "", "export", "--dir", dir))
	require.NotContains(t, f.ok(t, "second", "", "export", "--dir", dir, "--job", "everything"), "stale", "other objects are not exported")
	require.Contains(t, f.ok(t, "second", "", "export", "--dir", dir, "--prune"), "removed jobs/gone.yaml\n")
	require.NoFileExists(t, stale)
	require.FileExists(t, filepath.Join(dir, "README.yaml"), "it is in no folder of a kind")
}

// A step of T-SQL is retried after all errors, and its file says so; a file that does not say it
// means transient errors, and diff shows the change.
func testRetryErrors(t *testing.T, f *fixture) {
	f.install(t, "retries")
	store := f.open(t, "retries")
	_, err := targetgroups.On(store).Add(t.Context(), "g")
	require.NoError(t, err)
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{JobName: "j", Command: new("PRINT 1;"), TargetGroup: new("g")})
	require.NoError(t, err)
	const line = "    retry_errors: All\n"
	exported := f.ok(t, "retries", "", "export")
	require.Contains(t, exported, line)
	require.Equal(t, "no differences\n", f.ok(t, "retries", exported, "diff", "-f", "-"))
	without := strings.Replace(exported, line, "", 1)
	code, stdout, _ := f.run(t, "retries", without, "diff", "-f", "-")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "retry_errors")
	f.ok(t, "retries", without, "apply", "-f", "-")
	require.Equal(t, without, f.ok(t, "retries", "", "export"))
	options, err := catalog.On(store).JobSteps(t.Context(), "j", nil)
	require.NoError(t, err)
	require.Equal(t, "Transient", options[0].RetryErrors)
}

// Jobs that start after others are applied after these, also when who starts whom turns round, and
// are deleted before them.
func testTriggers(t *testing.T, f *fixture) {
	f.install(t, "triggers")
	job := func(name string, triggers ...string) string {
		return "---\napiVersion: jobagent/v1\nkind: Job\nname: " + name + "\ntriggers: [" + strings.Join(triggers, ", ") + "]\n"
	}
	chain := job("a", "{name: t, after: [b, c]}") + job("b", "{name: t, after: [c]}", "{name: u, after: [c], run_when: Failed, targets: Succeeded}") + job("c")
	require.Contains(t, f.ok(t, "triggers", chain, "apply", "-f", "-"), "3 created")
	require.Equal(t, "no differences\n", f.ok(t, "triggers", chain, "diff", "-f", "-"))
	require.Equal(t, "no differences\n", f.ok(t, "triggers", f.ok(t, "triggers", "", "export"), "diff", "-f", "-"))

	round := job("c", "{name: t, after: [a, b]}") + job("b", "{name: t, after: [a], targets: Succeeded, enabled: false}") + job("a")
	require.Equal(t, "changed Job a: triggers\nchanged Job b: triggers[t].after[0], triggers[t].targets, triggers[t].enabled, triggers[u]\nchanged Job c: triggers\n0 created, 3 changed, 0 unchanged\n",
		f.ok(t, "triggers", round, "apply", "-f", "-"))
	require.Equal(t, "no differences\n", f.ok(t, "triggers", round, "diff", "-f", "-"))

	code, _, stderr := f.run(t, "triggers", job("a", "{name: t, after: [c]}"), "apply", "-f", "-")
	require.NotZero(t, code)
	require.Contains(t, stderr, "The job 'a' would start itself: 'a' -> 'c' -> 'a'.")
	code, _, stderr = f.run(t, "triggers", round+job("d", "{name: t, after: [e]}")+job("e", "{name: T, after: [D]}", "{name: t, after: []}"), "validate", "-f", "-")
	require.NotZero(t, code)
	require.Contains(t, stderr, `triggers[0].after: the job would start itself: "d" -> "e" -> "d"`)
	require.Contains(t, stderr, `triggers[1]: the trigger "t" is there twice`)
	require.Contains(t, stderr, `triggers[1].after: want the names of 1 to 50 jobs, not of 0`)

	// Somebody else changes a job of those that --prune deletes: it stays, with its triggers.
	rest := job("a")
	state, err := definition.Read(t.Context(), f.open(t, "triggers"), nil)
	require.NoError(t, err)
	f.ok(t, "triggers", "", "job", "update", "c", "--description", "mine")
	for _, name := range []string{"c", "b"} {
		err := definition.Remove(t.Context(), f.open(t, "triggers"), state.Get(manifest.Key{Kind: manifest.KindJob, Name: name}))
		require.Error(t, err, name)
	}
	require.Contains(t, f.ok(t, "triggers", "", "job", "trigger", "list", "-o", "csv", "--columns", "job_name,starts"), "c,after a and b succeeded\r\n")
	require.Equal(t, "deleted Job c\ndeleted Job b\n0 created, 0 changed, 1 unchanged, 2 deleted\n", f.ok(t, "triggers", rest, "apply", "-f", "-", "--prune", "--yes"))
}

func jobVersions(t *testing.T, f *fixture, database string) string {
	var jobs []output.Job
	require.NoError(t, json.Unmarshal([]byte(f.ok(t, database, "", "job", "list", "-o", "json")), &jobs))
	var b strings.Builder
	for _, j := range jobs {
		fmt.Fprintln(&b, j.Name, j.Version)
	}
	return b.String()
}

// covered are the columns of the views of definitions that files have, and others those that they
// do not have, with the reason. A new column must be put into one of them.
var views = map[string]struct{ covered, others string }{
	"jobs.job_details": {
		covered: "job_name description enabled schedule_interval_type schedule_interval_count schedule_start_time schedule_end_time parameters rollout_plan",
		others:  "job_id job_version is_system created_time revision origin", // of the database
	},
	"jobs.jobsteps": {
		covered: `job_name step_id step_name command_type command credential_name target_group_name initial_retry_interval_seconds
maximum_retry_interval_seconds retry_interval_backoff_multiplier retry_attempts step_timeout_seconds output_type
output_credential_name output_subscription_id output_resource_group_name output_server_name output_database_name
output_schema_name output_table_name max_parallelism`,
		others: "job_id job_version target_group_id command_source", // of the database; always Inline
	},
	"jobs.jobstep_options": {
		covered: "job_name is_current step_id step_name " + stepOptionNames(),
		others:  "job_id job_version revision",
	},
	"jobs.schedules": {
		covered: `job_name schedule_name kind spec enabled catch_up overlap pause_on_failure parameters interval_type interval_count
start_time end_time given_time_zone`,
		others: `schedule_id job_id time_zone state reason next_due_time last_due_time upcoming executions failures faults
skipped_by_overlap skipped_by_catch_up skipped_otherwise buffered last_job_execution_id last_lifecycle validated_time engine
validation_errors warnings description created_time updated_time defined_time anchor_time
paused paused_by paused_at pause_note parameters_fault`, // state; a pause is an act of operators, and not of files
	},
	"jobs.target_group_member_details": {
		covered: `target_group_name membership_type target_type refresh_credential_name server_name database_name elastic_pool_name shard_map_name tag_filter query member_group_name`,
		others:  "target_group_id target_id member_id subscription_id resource_group_name", // of the database; no procedure sets the last two
	},
	"jobs.target_group_revisions": {covered: "target_group_name", others: "target_group_id revision"},
	"jobs.job_triggers":           {covered: "job_name trigger_name enabled run_when targets upstream_jobs", others: "job_id trigger_id waiting created_time updated_time"},
	"jobs.calendars":              {covered: "calendar_name spec", others: "created_time updated_time"},
	"jobs.target_windows": {
		covered: "window_name server_name database_name tag_filter calendar_name blackouts time_zone time_zone_tag",
		others:  "target_id created_time updated_time", // that of the names
	},
	"jobs.alert_channels": {covered: "channel_name channel_type definition enabled", others: "needs_secrets created_time updated_time"},
	"jobs.limits":         {covered: "scope name server_name max_concurrent_targets", others: "running waiting updated_at"},
	"jobs.alert_rules": {
		covered: `alert_name description condition job_name job_pattern lifecycles percent_failed factor runs seconds severity throttle_seconds
repeat_seconds notify_resolved enabled channels percent_changed target_group_pattern`,
		others: "job_id muted_until muted_by mute_note open_alerts created_time updated_time", // a mute is an act of operators
	},
}

// stepOptionNames returns the names of the options of steps, separated by blanks.
func stepOptionNames() string {
	var names []string
	for i := range model.StepFields {
		if model.StepFields[i].Extension {
			names = append(names, model.StepFields[i].Name)
		}
	}
	return strings.Join(names, " ")
}

// readCovered reads the columns of definitions, and requires that each column is known.
func readCovered(t *testing.T, f *fixture, database string) string {
	t.Helper()
	db, err := f.server.Open(database)
	require.NoError(t, err)
	defer db.Close()
	var all strings.Builder
	for view, columns := range views {
		rows, err := db.QueryContext(t.Context(), "SELECT TOP (0) * FROM "+view+";")
		require.NoError(t, err)
		found, err := rows.Columns()
		require.NoError(t, err)
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		covered := strings.Fields(columns.covered)
		require.ElementsMatch(t, append(strings.Fields(columns.others), covered...), found,
			"columns of %s: a new one belongs into files, or is no definition", view)
		var list []string
		rows, err = db.QueryContext(t.Context(), "SELECT "+strings.Join(covered, ", ")+" FROM "+view+";")
		require.NoError(t, err)
		for rows.Next() {
			values := make([]any, len(covered))
			for i := range values {
				values[i] = new(any)
			}
			require.NoError(t, rows.Scan(values...))
			var b strings.Builder
			for _, v := range values {
				fmt.Fprintf(&b, "%q|", fmt.Sprint(*v.(*any)))
			}
			list = append(list, b.String())
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		slices.Sort(list)
		all.WriteString(view + "\n" + strings.Join(list, "\n") + "\n")
	}
	lines := strings.Split(all.String(), "\n")
	slices.Sort(lines)
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return strings.Contains(s, "jobagent$") }), "\n")
}
