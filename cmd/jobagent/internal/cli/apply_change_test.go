package cli_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
)

var changes = flag.Bool("apply.changes", false, "TestApply/change makes a hundred random changes instead of a few")

const groups = "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\n---\napiVersion: jobagent/v1\nkind: TargetGroup\nname: h\n"

// drawJob returns a job with random steps and schedules: T-SQL and actions, in any order, each
// after any others that make no circle.
func drawJob(t *rapid.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: jobagent/v1\nkind: Job\nname: changing\ndescription: %d\n", rapid.IntRange(0, 2).Draw(t, "description"))
	if rapid.Bool().Draw(t, "own") {
		fmt.Fprintf(&b, "schedule: {enabled: %v, interval: Days, count: %d, start: 2990-01-01, parameters: {a: %d}}\n", rapid.Bool().Draw(t, "enabled"),
			rapid.IntRange(1, 2).Draw(t, "count"), rapid.IntRange(0, 1).Draw(t, "a"))
	}
	b.WriteString("schedules:\n")
	for _, name := range []string{"s1", "s2", "s3"} {
		if rapid.Bool().Draw(t, name) {
			fmt.Fprintf(&b, "  - {name: %s, %s, overlap: %s, pause_on_failure: %v, enabled: %v%s}\n", name,
				rapid.SampledFrom([]string{`cron5: "0 2 1 1 *"`, `cron5: "0 3 1 1 *"`, `rrule: FREQ=YEARLY;COUNT=2`, `azure_scheduler: {startTime: "2990-01-01T00:00:00Z"}`}).Draw(t, "kind"),
				rapid.SampledFrom([]string{"Skip", "BufferOne", "AllowAll"}).Draw(t, "overlap"), rapid.Bool().Draw(t, "pause"), rapid.Bool().Draw(t, "on"),
				rapid.SampledFrom([]string{"", ", zone: Europe/Berlin", ", catch_up: none", ", parameters: {x: 1}"}).Draw(t, "more"))
		}
	}
	b.WriteString(rapid.SampledFrom([]string{"", "rollout: {waves: [{name: all, targets: rest}]}\n",
		"rollout: {strict: true, waves: [{name: a, targets: 1 %, approval: true}, {name: b, names: [s/d], max_failed: 2}]}\n"}).Draw(t, "rollout"))
	names := rapid.Permutation([]string{"a", "b", "c", "d", "e"}).Draw(t, "names")[:rapid.IntRange(0, 5).Draw(t, "steps")]
	rank := rapid.Permutation([]int{0, 1, 2, 3, 4}[:len(names)]).Draw(t, "rank") // a step comes after those of a lower rank
	b.WriteString("steps:\n")
	for i, name := range names {
		fmt.Fprintf(&b, "  - name: %s\n    retry_attempts: %d\n", name, rapid.IntRange(0, 1).Draw(t, "retries"))
		if rapid.Bool().Draw(t, "all errors") {
			b.WriteString("    retry_errors: All\n")
		}
		isAction := rapid.IntRange(0, 3).Draw(t, "type") == 0
		if isAction && rapid.Bool().Draw(t, "drift") {
			fmt.Fprintf(&b, "    target_group: g\n    drift: {against: %s, ignore: [trust]}\n", rapid.SampledFrom([]string{"none", "majority", "s/d"}).Draw(t, "against"))
		} else if isAction {
			fmt.Fprintf(&b, "    http: {url: \"https://example.com/%d\"}\n", rapid.IntRange(0, 1).Draw(t, "url"))
		} else {
			fmt.Fprintf(&b, "    target_group: %s\n    command: PRINT %d\n", rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group"), rapid.IntRange(0, 2).Draw(t, "command"))
			if rapid.Bool().Draw(t, "output") {
				fmt.Fprintf(&b, "    output: {server: s, database: d, table: t%s}\n", rapid.SampledFrom([]string{"", ", schema: x", ", credential: c"}).Draw(t, "into"))
			}
		}
		choices := []string{"Retry", "Fail"}
		if isAction {
			choices = append(choices, "Await")
		}
		fmt.Fprintf(&b, "    on_unknown_outcome: %s\n    at_most_once: %v\n", rapid.SampledFrom(choices).Draw(t, "unknown"), rapid.Bool().Draw(t, "once"))
		if rapid.Bool().Draw(t, "limited") {
			fmt.Fprintf(&b, "    max_parallelism: %d\n", rapid.IntRange(1, 2).Draw(t, "parallel"))
		}
		var after []string
		for k, other := range names {
			if rank[k] < rank[i] && rapid.Bool().Draw(t, "after") {
				after = append(after, other)
			}
		}
		// The default is the step above, which must have a lower rank then.
		if i == 0 || rank[i-1] > rank[i] || rapid.Bool().Draw(t, "explicit") {
			fmt.Fprintf(&b, "    after: [%s]\n", strings.Join(after, ", "))
			if len(after) > 0 {
				fmt.Fprintf(&b, "    %s\n", rapid.SampledFrom([]string{"run_when: Succeeded", "run_when: Finished", "run_when: Failed\n    on_targets: Failed"}).Draw(t, "when"))
			}
		}
	}
	return strings.NewReplacer("steps:\n---", "steps: []\n---").Replace(b.String())
}

// Whatever a job was, after apply it is as the files say: its export is that of the same files in
// an empty database, and a second apply changes nothing.
func testAnyChange(t *testing.T, f *fixture) {
	f.install(t, "fresh")
	for _, database := range []string{main, "fresh"} {
		f.ok(t, database, groups, "apply", "-f", "-")
	}
	must := func(rt *rapid.T, database, stdin string, args ...string) string {
		code, stdout, stderr := runContext(t.Context(), f.server.DSN(database), stdin, args...)
		if code != 0 {
			rt.Fatalf("%v: %d\n%s\n%s\n%s", args, code, stdout, stderr, stdin)
		}
		return stdout
	}
	check := func(rt *rapid.T) {
		want := drawJob(rt)
		must(rt, main, want, "apply", "-f", "-")
		if again := must(rt, main, want, "apply", "-f", "-"); again != "0 created, 0 changed, 1 unchanged\n" {
			rt.Fatalf("a second apply: %s\n%s", again, want)
		}
		must(rt, "fresh", want, "apply", "-f", "-")
		got, fresh := must(rt, main, "", "export", "--job", "changing"), must(rt, "fresh", "", "export", "--job", "changing")
		if got != fresh {
			rt.Fatalf("got\n%s\nwant\n%s", got, fresh)
		}
		must(rt, "fresh", "", "job", "delete", "changing")
	}
	if *changes {
		rapid.Check(t, check)
		return
	}
	for seed := range 6 {
		rapid.Custom(func(rt *rapid.T) int { check(rt); return 0 }).Example(seed)
	}
}

// A plan that is no longer true is refused, and of several applies at the same time each job is as
// one of them says.
func testConcurrentApplies(t *testing.T, f *fixture) {
	f.ok(t, main, groups, "apply", "-f", "-")
	var wait sync.WaitGroup
	codes := make([]int, 4)
	for i := range codes {
		wait.Add(1)
		go func() {
			defer wait.Done()
			text := fmt.Sprintf("apiVersion: jobagent/v1\nkind: Job\nname: j\nsteps:\n  - {name: a, target_group: g, command: PRINT %[1]d}\n  - {name: b, target_group: g, command: PRINT %[1]d}\n", i)
			codes[i], _, _ = runContext(t.Context(), f.server.DSN(main), text, "apply", "-f", "-")
		}()
	}
	wait.Wait()
	require.Contains(t, codes, 0)
	for _, code := range codes {
		require.Contains(t, []int{0, 6}, code, "done, or refused because of another change")
	}
	steps, err := catalog.On(f.server.Store).JobSteps(t.Context(), "j", nil)
	require.NoError(t, err)
	require.Len(t, steps, 2)
	require.Equal(t, steps[0].Command, steps[1].Command, "never a mixture")
}

// Nothing is changed if files mention what is nowhere. With --keep-going all others are applied; a
// job that fails is rolled back wholly. The audit log joins the entries.
func testFailure(t *testing.T, f *fixture) {
	f.install(t, "failing")
	store := f.open(t, "failing")
	job := func(name, group string) string {
		return "apiVersion: jobagent/v1\nkind: Job\nname: " + name + "\nsteps: [{name: a, target_group: " + group + ", command: a}]\n---\n"
	}
	text := groups + "---\n" + job("one", "g") + job("two", "missing") + job("zzz", "h")
	for _, command := range [][]string{{"apply"}, {"apply", "--dry-run"}, {"apply", "--dry-run", "--keep-going"}, {"diff"}} {
		code, stdout, stderr := f.run(t, "failing", text, append(command, "-f", "-")...)
		require.Equal(t, 2, code, command)
		require.Empty(t, stdout, command)
		require.Contains(t, stderr, "error: standard input:17:33: steps[0].target_group: TargetGroup \"missing\" is neither in the files nor in the database\n")
	}
	code, stdout, stderr := f.run(t, "failing", text, "apply", "-f", "-", "--keep-going")
	require.Equal(t, 3, code)
	require.Equal(t, "created TargetGroup g\ncreated TargetGroup h\ncreated Job one\ncreated Job zzz\n4 created, 0 changed, 0 unchanged, 1 failed\n", stdout)
	require.Contains(t, stderr, "error: Job \"two\": ")
	jobs, err := catalog.On(store).Jobs(t.Context(), "two")
	require.NoError(t, err)
	require.Empty(t, jobs, "nothing of a job that failed stays")
	code, stdout, _ = f.run(t, "failing", text, "apply", "-f", "-", "--keep-going", "-o", "json")
	require.Equal(t, 3, code)
	var result output.AppliedFiles
	require.NoError(t, json.Unmarshal([]byte(stdout), &result))
	require.Equal(t, 1, result.Failed)
	require.Contains(t, result.Changes[3].Error, "jobagent target-group list")
	require.NotContains(t, result.Changes[3].Error, "jobs.", "the words are those of the command line")

	entries, err := auditlog.On(store).Read(t.Context(), auditlog.Filter{Limit: 100})
	require.NoError(t, err)
	first := map[string]bool{}
	for _, e := range entries {
		require.Equal(t, caller.DoorCLI, e.Door)
		if e.JobName != "zzz" {
			first[e.CorrelationID.String()] = true
		}
	}
	require.Len(t, first, 1, "the entries of one apply are joined")

	// What only the database knows ends the apply: the group of the files is in another one, which
	// they do not have.
	group := func(name, member string) string {
		return "apiVersion: jobagent/v1\nkind: TargetGroup\nname: " + name + "\nmembers: [{target_group: " + member + "}]\n---\n"
	}
	f.ok(t, "failing", group("outer", "g"), "apply", "-f", "-")
	code, stdout, stderr = f.run(t, "failing", group("g", "outer")+job("last", "h"), "apply", "-f", "-")
	require.Equal(t, 2, code, stderr)
	require.Equal(t, "0 created, 0 changed, 0 unchanged, 1 failed\n", stdout)
	require.Contains(t, stderr, "stopped before 1 further object: see --keep-going\nerror: TargetGroup \"g\": ")
}

// --prune deletes what the files do not have, of the kinds that they have, and asks first.
func testPrune(t *testing.T, f *fixture) {
	f.install(t, "pruned")
	store := f.open(t, "pruned")
	f.ok(t, "pruned", "", "apply", "-f", world)
	for _, trigger := range []string{"always", "when everything fails: 'mend'"} {
		f.ok(t, "pruned", "", "job", "trigger", "delete", "declared", trigger, "--yes")
	}
	f.ok(t, "pruned", "", "job", "delete", "declared", "--yes")
	some := f.ok(t, "pruned", "", "export", "--job", "EVERYTHING", "--target-group", "empty group")
	require.Equal(t, 5, strings.Count(some, "apiVersion:"), "a job with what it uses, and a group:\n%s", some)
	for _, flag := range []string{"--job", "--target-group"} {
		code, stdout, stderr := f.run(t, "pruned", "", "export", flag, "nowhere")
		require.Equal(t, 3, code, stderr)
		require.Empty(t, stdout)
	}
	job := "apiVersion: jobagent/v1\nkind: Job\nname: other\n"
	require.Contains(t, f.ok(t, "pruned", job, "apply", "-f", "-", "--prune", "--dry-run"), "would delete Job everything\n")
	require.Contains(t, f.ok(t, "pruned", job, "apply", "-f", "-"), "1 created, 0 changed, 0 unchanged\n")
	code, stdout, stderr := f.run(t, "pruned", job, "apply", "-f", "-", "--prune")
	require.Equal(t, 2, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "--prune deletes 1 object that the files do not have, jobs with their history:\n  Job everything\n")
	require.Contains(t, stderr, "give --yes")
	code, stdout, _ = f.run(t, "pruned", job, "diff", "-f", "-", "--prune")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "-name: everything")
	stderrOfDiff := new(strings.Builder)
	code = cli.Run(t.Context(), []string{"--dsn", f.server.DSN("pruned"), "diff", "-f", "-"}, strings.NewReader(job), fullDisk{}, stderrOfDiff)
	require.Equal(t, 2, code, "1 says that something differs")
	require.Contains(t, stderrOfDiff.String(), "\nerror: the disk is full\n")

	_, err := executions.On(store).StartJob(t.Context(), "everything", uuid.Nil)
	require.NoError(t, err)
	code, _, stderr = f.run(t, "pruned", job, "apply", "-f", "-", "--prune", "--yes")
	require.Equal(t, 6, code)
	require.Contains(t, stderr, "has an active run, and is not deleted")
	require.Contains(t, f.ok(t, "pruned", "", "job", "list"), "everything")
	f.ok(t, "pruned", "", "job", "delete", "everything", "--force", "--yes")
	f.ok(t, "pruned", "", "job", "create", "third")
	require.Equal(t, "deleted Job third\n0 created, 0 changed, 1 unchanged, 1 deleted\n", f.ok(t, "pruned", job, "apply", "-f", "-", "--prune", "--yes"))
	require.Contains(t, f.ok(t, "pruned", "", "target-group", "list"), "tenants", "kinds that the files do not have stay")
}

// An apply does not start the only run of a job's own schedule again.
func testPastRun(t *testing.T, f *fixture) {
	const file = "apiVersion: jobagent/v1\nkind: Job\nname: just once\nschedule: {enabled: true}\n"
	f.ok(t, "second", file, "apply", "-f", "-")
	db, err := f.server.Open("second")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `UPDATE s SET s.enabled = 0, s.state = N'Disabled', s.last_due_at = SYSUTCDATETIME(), s.next_due_at = NULL, s.next_fire_at = NULL
FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name = N'just once';`)
	require.NoError(t, err)
	require.Equal(t, "0 created, 0 changed, 1 unchanged\n", f.ok(t, "second", file, "apply", "-f", "-"))
	f.ok(t, "second", file+"description: new\n", "apply", "-f", "-")
	var enabled bool
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT enabled FROM jobs.jobs WHERE job_name = N'just once';`).Scan(&enabled))
	require.False(t, enabled)
	f.ok(t, "second", strings.Replace(file, "true", "true, start: 2990-01-01T00:00:00Z", 1), "apply", "-f", "-")
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT enabled FROM jobs.jobs WHERE job_name = N'just once';`).Scan(&enabled))
	require.True(t, enabled, "another start time is another run")
}

// fullDisk accepts nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// Faults are printed with their places, and nothing is done.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "j.yaml"), []byte("apiVersion: jobagent/v1\nkind: Job\nname: j\nstep: []\ndescriptin: a\n"), 0o600))
	for _, command := range []string{"validate", "apply", "diff"} {
		code, stdout, stderr := runContext(t.Context(), "sqlserver://nowhere.invalid?database=x", "", command, "-f", dir)
		require.Equal(t, 2, code, command)
		require.Empty(t, stdout)
		require.Equal(t, dir+"/j.yaml:4:1: unknown field \"step\"; did you mean \"steps\"?\n"+dir+"/j.yaml:5:1: unknown field \"descriptin\"; did you mean \"description\"?\n"+
			"error: 2 faults in the files: nothing was changed\n", stderr)
	}
	code, stdout, _ := runContext(t.Context(), "", "", "validate", "-f", dir, "-o", "json")
	require.Equal(t, 2, code)
	var result output.ValidatedFiles
	require.NoError(t, json.Unmarshal([]byte(stdout), &result))
	require.False(t, result.Valid)
	require.Equal(t, output.FileFault{File: dir + "/j.yaml", Line: 4, Column: 1, Message: `unknown field "step"; did you mean "steps"?`}, result.Faults[0])

	code, stdout, _ = runContext(t.Context(), "", "", "validate", "-f", world)
	require.Zero(t, code)
	require.Contains(t, stdout, "valid: 3 target groups, 1 calendar, 2 windows of databases, 2 alert channels, 2 jobs, 3 limits, 6 alerts\n")
	for _, args := range [][]string{{"validate"}, {"apply"}, {"apply", "-f", "nothing-here"}, {"apply", "-f", t.TempDir()}, {"validate", "--schema", "-f", dir}, {"export", "x"}} {
		code, stdout, stderr := runContext(t.Context(), "sqlserver://nowhere.invalid?database=x", "", args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, stdout, args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "%v: %s", args, stderr)
	}
}
