package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What job rollout-plan show prints is a file for job rollout-plan set. All faults of a file are
// told, and nothing is changed then.
func testRolloutPlan(t *testing.T, f *fixture) {
	const database = "plans"
	f.install(t, database)
	f.ok(t, database, "", "job", "create", "it's j")
	require.Equal(t, "# it's j (version 0) has no plan: its runs reach all targets at once\n", f.ok(t, database, "", "job", "rollout-plan", "show", "it's j"))

	const plan = "waves:\n  - name: canary\n    targets: 3\n    bake_seconds: 5400\n  - {name: rest, targets: rest, max_failed: 1%, approval: true}\n"
	require.Equal(t, "set the plan of job it's j (version 1): Runs on 3 targets ('canary') with a bake of 90 minutes, then the rest ('rest'). "+
		"It pauses if more targets fail than the wave permits ('canary' 0, 'rest' 1 %), if the outcome of a target is unknown, or if a target is skipped or canceled; "+
		"targets that run then go on to their end. It needs an approval before 'rest'.\n", f.ok(t, database, plan, "job", "rollout-plan", "set", "it's j", "-f", "-"))
	shown := f.ok(t, database, "", "job", "rollout-plan", "show", "it's j")
	require.Contains(t, shown, "# it's j (version 1)\n# Runs on 3 targets ('canary') with a bake of 90 minutes, then the rest ('rest').")
	require.Contains(t, shown, "\nwaves:\n  - name: canary\n    targets: \"3\"\n    bake_seconds: 5400\n  - name: rest\n    targets: rest\n    approval: any\n    max_failed: \"1%\"\n")
	require.Contains(t, f.ok(t, database, "", "job", "show", "it's j"), "\nroll-out: Runs on 3 targets ('canary')")
	require.Contains(t, f.ok(t, database, shown, "job", "rollout-plan", "set", "it's j", "-f", "-"), "(version 1)", "the same plan")

	code, stdout, stderr := f.run(t, database, "waves:\n  - {name: a, targets: 0}\n  - {name: A, target: 5}\n", "job", "rollout-plan", "set", "it's j", "-f", "-")
	require.Equal(t, 2, code)
	require.Empty(t, stdout)
	require.Equal(t, `standard input:2:24: waves[0].targets: want a number of targets from 1 to 1000000, a percentage from "1%" to "100%" without decimals, or "rest", not 0
standard input:3:5: waves[1]: want one of targets, names, like and tags, not none
standard input:3:12: waves[1].name: another wave has this name already: names must differ in more than case
standard input:3:23: waves[1].target: unknown member; did you mean "targets"?
error: 4 faults in the files: nothing was changed
`, stderr)

	// What only the database knows.
	code, _, stderr = f.run(t, database, "{\"undo_job\": \"none\", \"waves\": [{\"name\": \"a\", \"targets\": 1}]}", "job", "rollout-plan", "set", "it's j", "-f", "-")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "undo_job: the job 'none' does not exist, or is a system job")
	require.Equal(t, shown, f.ok(t, database, "", "job", "rollout-plan", "show", "it's j"))

	require.Equal(t, "removed the plan of job it's j\n", f.ok(t, database, "", "job", "rollout-plan", "delete", "it's j", "--yes"))
	code, _, stderr = f.run(t, database, "", "job", "rollout-plan", "delete", "it's j", "--yes")
	require.Equal(t, 3, code)
	require.Contains(t, stderr, "the job it's j has no plan")
}

// Two jobs that undo each other are created from one file, and change together afterwards.
func testPlansThatNameEachOther(t *testing.T, f *fixture) {
	const database = "mutual"
	f.install(t, database)
	file := func(bake string) string {
		const head = "apiVersion: jobagent/v1\nkind: "
		text := head + "TargetGroup\nname: g\nmembers: [{server: s, database: d}]\n"
		for name, undo := range map[string]string{"Add note": "drop NOTE", "Drop note": "add note"} {
			text += "---\n" + head + "Job\nname: " + name + "\nrollout: {undo_job: " + undo + ", waves: [{name: all, targets: rest, bake_seconds: " + bake +
				"}]}\nsteps: [{name: one, target_group: g, command: SELECT 1}]\n"
		}
		return text
	}
	out := f.ok(t, database, file("1"), "apply", "-f", "-")
	require.Contains(t, out, "created Job Add note")
	require.Contains(t, out, "created Job Drop note")
	require.Contains(t, f.ok(t, database, file("1"), "apply", "-f", "-"), " 3 unchanged")
	require.Contains(t, f.ok(t, database, file("2"), "apply", "-f", "-"), "changed Job Drop note: rollout")
	require.Contains(t, f.ok(t, database, "", "job", "rollout-plan", "show", "add note"), "undo_job: drop NOTE")
}
