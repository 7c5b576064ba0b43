package controldb_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// members are members of a plan, or of one of its waves.
type members map[string]any

// plan gives the job j a plan.
func (c *control) plan(t *testing.T, options members, waves ...members) {
	t.Helper()
	p := members{"waves": waves}
	maps.Copy(p, options)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	c.exec(t, `EXECUTE jobs.sp_set_job_rollout N'j', @p1`, string(text))
}

// rollOut plays an agent until nothing more happens: groups have the databases, and outcome decides
// about each attempt. It returns the databases in the order in which their scripts ran.
func (c *control) rollOut(
	t *testing.T, term controldb.TermID, databases []string, outcome func(database string) targets.Outcome,
) (ran []string) {
	t.Helper()
	_, ran = c.preflights(t, term, databases, func(task controldb.Task) targets.Outcome { return outcome(task.Target.Database) })
	return ran
}

func succeed(string) targets.Outcome { return targets.Succeeded }

// numbered are n databases.
func numbered(n int) []string {
	databases := make([]string, n)
	for i := range databases {
		databases[i] = fmt.Sprintf("d%02d", i)
	}
	return databases
}

// rollout returns the state of a roll-out and those of its waves.
func (c *control) rollout(t *testing.T, run uuid.UUID) string {
	t.Helper()
	states := c.rows(t, `SELECT r.state FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id WHERE e.job_execution_id = @p1`, run.String())
	waves := c.rows(t, `SELECT w.state FROM jobs_internal.rollout_waves AS w
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id WHERE e.job_execution_id = @p1 ORDER BY w.wave`, run.String())
	return strings.Join(states, "") + ": " + strings.Join(waves, " ")
}

// TestRollOut: waves follow each other, each target is in one of them, and the roll-out's own run
// ends with the last one.
func TestRollOut(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.plan(t, nil, members{"name": "canary", "targets": "2"}, members{"name": "tenth", "targets": "10%"}, members{"name": "rest", "targets": "rest"})
		run := c.start(t, "j")
		databases := numbered(25)
		require.Equal(t, databases, c.rollOut(t, term, databases, succeed))
		require.Equal(t, "Succeeded: Passed Passed Passed", c.rollout(t, run))
		require.Equal(t, "Succeeded", c.lifecycle(t, run))
		require.Equal(t, []string{"1|2", "2|3", "3|20"}, c.rows(t, `SELECT wave, COUNT(*) FROM jobs_internal.rollout_targets
WHERE state = N'Succeeded' GROUP BY wave ORDER BY wave`))
		require.Equal(t, []string{"1|Succeeded", "2|Succeeded", "3|Succeeded"}, c.rows(t, `SELECT rollout_wave, lifecycle
FROM jobs_internal.job_executions WHERE rollout_of IS NOT NULL ORDER BY execution_id`))
	})
}

// TestGateStopsARollOut: the wave of a target that failed starts no other target, and no wave
// follows.
func TestGateStopsARollOut(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.plan(t, nil, members{"name": "canary", "targets": "2"}, members{"name": "next", "targets": "10", "parallelism": 2}, members{"name": "rest", "targets": "rest"})
		run := c.start(t, "j")
		fails := func(database string) targets.Outcome {
			if database == "d03" {
				return targets.Failed
			}
			return targets.Succeeded
		}
		ran := c.rollOut(t, term, numbered(25), fails)
		require.Equal(t, numbered(4), ran)
		require.Equal(t, "Stopped: Passed Stopped Pending", c.rollout(t, run))
		require.Equal(t, "WaitingForChildJobExecutions", c.lifecycle(t, run))
		require.Equal(t, []string{"Failed|1", "Pending|13", "Succeeded|3", "Unreached|8"}, c.rows(t, `SELECT state, COUNT(*)
FROM jobs_internal.rollout_targets GROUP BY state ORDER BY state`))
	})
}

// TestMovesFromASkippedWave: what a skipped wave did not reach can be moved to a later one. Where
// it ran, it would run twice.
func TestMovesFromASkippedWave(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.plan(t, nil, members{"name": "canary", "targets": "3", "parallelism": 1}, members{"name": "rest", "targets": "rest", "approval": "any"})
		run := c.start(t, "j")
		fail := func(string) targets.Outcome { return targets.Failed }
		require.Equal(t, numbered(1), c.rollOut(t, term, numbered(4), fail))
		c.exec(t, `EXECUTE jobs.sp_skip_rollout_wave @p1`, run.String())
		require.Empty(t, c.rollOut(t, term, numbered(4), succeed))
		move := func(database string) error {
			_, err := c.db.ExecContext(t.Context(), `DECLARE @target UNIQUEIDENTIFIER = (
    SELECT t.target_id FROM jobs.rollout_targets AS t WHERE t.job_execution_id = @p1 AND t.database_name = @p2);
EXECUTE jobs.sp_move_rollout_target @p1, @target, @wave = N'rest';`, run.String(), database)
			return err
		}
		require.ErrorContains(t, move("d00"), "its script has begun on the target already")
		require.NoError(t, move("d01"))
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, run.String())
		require.Equal(t, []string{"d03", "d01"}, c.rollOut(t, term, numbered(4), succeed))
		require.Equal(t, []string{"d00|Failed", "d01|Succeeded", "d02|Unreached", "d03|Succeeded"},
			c.rows(t, `SELECT database_name, state FROM jobs.rollout_targets ORDER BY database_name`))
		require.Equal(t, "Succeeded: Skipped Passed", c.rollout(t, run))
	})
}

// TestUndoOfPurgedHistory: the targets that an undo reads stay until it has ended.
func TestUndoOfPurgedHistory(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.job(t, "u", once)
		c.plan(t, members{"undo_job": "u"}, members{"name": "canary", "targets": "2"}, members{"name": "rest", "targets": "rest"})
		run := c.start(t, "j")
		require.Equal(t, numbered(4), c.rollOut(t, term, numbered(4), succeed))
		undo, err := rollouts.On(c.Store).Undo(t.Context(), rollouts.UndoRequest{Rollout: run})
		require.NoError(t, err)
		c.exec(t, `EXECUTE jobs.sp_purge_jobhistory N'j'`)
		c.cleanUp(t)
		require.Equal(t, []string{"d03", "d02", "d01", "d00"}, c.rollOut(t, term, numbered(4), succeed))
		require.Equal(t, "Succeeded: Passed Passed", c.rollout(t, undo))
		c.cleanUp(t)
		require.Equal(t, []string{"u"}, c.rows(t, `SELECT DISTINCT j.name FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id`))
	})
}

// TestPlanWithALockedJob: a roll-out waits for a job of its plan that an open transaction holds,
// also if its targets were resolved long after it was started, or if no agent lived for a minute.
func TestPlanWithALockedJob(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.job(t, "u", once)
		c.plan(t, members{"undo_job": "u"}, members{"name": "all", "targets": "rest", "approval": "any"})
		c.start(t, "j")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		c.exec(t, `UPDATE jobs_internal.job_executions SET create_time = DATEADD(HOUR, -1, create_time)`)
		require.NoError(t, c.CompleteResolution(t.Context(), term, tasks[0].ID, resolution(tasks[0], numbered(1))))
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.jobs SET description = N'open' WHERE name = N'u'`)
		require.NoError(t, err)
		c.exec(t, `BEGIN TRANSACTION; EXECUTE jobs_internal.advance; COMMIT TRANSACTION;`)
		state := `SELECT state, undo_job_name FROM jobs.rollouts`
		require.Equal(t, []string{"Planning|NULL"}, c.rows(t, state))
		c.exec(t, `UPDATE jobs_internal.step_executions SET end_time = DATEADD(MINUTE, -10, end_time);
UPDATE jobs_internal.rollouts SET next_check_at = DATEADD(MINUTE, -10, next_check_at)`)
		c.exec(t, `BEGIN TRANSACTION; EXECUTE jobs_internal.advance; COMMIT TRANSACTION;`)
		require.Equal(t, []string{"Planning|NULL"}, c.rows(t, state))
		require.NoError(t, tx.Commit())
		c.exec(t, `UPDATE jobs_internal.rollouts SET next_check_at = DATEADD(SECOND, -55, next_check_at)`)
		require.Empty(t, c.rollOut(t, term, numbered(1), succeed))
		require.Equal(t, []string{"WaitingForApproval|u"}, c.rows(t, state))
	})
}

// TestMovesChangeGates: the percentages of a wave are those of the targets that it has when it
// starts.
func TestMovesChangeGates(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.plan(t, nil, members{"name": "canary", "targets": "4", "max_failed": "25%", "max_unreached": "50%", "approval": "any"},
			members{"name": "rest", "targets": "rest", "max_failed": "50%"})
		run := c.start(t, "j")
		require.Empty(t, c.rollOut(t, term, numbered(5), succeed))
		gates := `SELECT targets, max_failed, max_unreached FROM jobs.rollout_waves ORDER BY wave`
		require.Equal(t, []string{"4|1|2", "1|0|0"}, c.rows(t, gates))
		for _, database := range numbered(3) {
			c.exec(t, `DECLARE @target UNIQUEIDENTIFIER = (SELECT target_id FROM jobs.rollout_targets WHERE database_name = @p2);
EXECUTE jobs.sp_move_rollout_target @p1, @target, N'rest'`, run.String(), database)
		}
		require.Equal(t, []string{"1|0|0", "4|2|0"}, c.rows(t, gates))
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, run.String())
		require.Equal(t, []string{"d03"}, c.rollOut(t, term, numbered(5), func(string) targets.Outcome { return targets.Failed }))
		require.Equal(t, "Stopped: Stopped Pending", c.rollout(t, run))
	})
}

// once gives a step one attempt.
func once(s *model.StepSpec) { s.RetryAttempts = ptr(0) }

// drawPlan returns a random plan for the job j, with the names of its waves.
func (c *control) drawPlan(t *testing.T, rt *rapid.T) {
	t.Helper()
	options := members{
		"undo_job":        "u",
		"on_gate_failure": rapid.SampledFrom([]string{"pause", "pause", "abort"}).Draw(rt, "on gate failure"),
		"running_targets": rapid.SampledFrom([]string{"finish", "cancel"}).Draw(rt, "running targets"),
		"strict":          rapid.Bool().Draw(rt, "strict"),
		"seed":            rapid.IntRange(0, 9).Draw(rt, "seed"),
		"preflight":       rapid.SampledFrom([]string{"none", "none", "refuse", "warn", "leave_out"}).Draw(rt, "preflight"),
	}
	n := rapid.IntRange(1, 4).Draw(rt, "waves")
	waves := make([]members, n)
	for i := range waves {
		w := members{
			"name":          fmt.Sprint("wave ", i+1),
			"order":         rapid.SampledFrom([]string{"resolution", "name", "random"}).Draw(rt, "order"),
			"approval":      rapid.SampledFrom([]string{"none", "none", "any"}).Draw(rt, "approval"),
			"bake_seconds":  rapid.SampledFrom([]int{0, 0, 600}).Draw(rt, "bake"),
			"max_failed":    rapid.SampledFrom([]string{"0", "1", "50%"}).Draw(rt, "max failed"),
			"max_unknown":   rapid.IntRange(0, 1).Draw(rt, "max unknown"),
			"max_unreached": rapid.SampledFrom([]string{"0", "0", "100%"}).Draw(rt, "max unreached"),
		}
		if rapid.Bool().Draw(rt, "limited") {
			w["parallelism"] = rapid.IntRange(1, 3).Draw(rt, "parallelism")
		}
		if rapid.IntRange(0, 3).Draw(rt, "windowed") == 0 {
			w["window"] = "always"
		}
		if rapid.IntRange(0, 4).Draw(rt, "paced") == 0 {
			w["pace"] = 10_000
		}
		if rapid.IntRange(0, 4).Draw(rt, "probed") == 0 {
			w["probe_job"] = "p"
			for _, limit := range []string{"probe_max_rows", "probe_min_value", "probe_max_value", "probe_min_percent", "probe_max_percent"} {
				if rapid.IntRange(0, 2).Draw(rt, limit) == 0 {
					w[limit] = map[string]int{"probe_max_rows": 2, "probe_min_value": 1, "probe_max_value": 9, "probe_min_percent": 50, "probe_max_percent": 200}[limit]
				}
			}
		}
		switch kind := rapid.IntRange(0, 4).Draw(rt, "selects"); {
		case kind == 0:
			w["targets"] = fmt.Sprint(rapid.IntRange(1, 4).Draw(rt, "count"))
		case kind == 1:
			w["targets"] = "30%"
		case kind == 2:
			w["names"] = []string{"s/d01", "s/d03", "s/none"}
		case kind == 3 || i < n-1:
			w["like"] = []string{"d0[02]", "d_5"}
		default:
			w["targets"] = "rest"
		}
		if w["targets"] == nil {
			w["allow_empty"] = rapid.Bool().Draw(rt, "allow empty")
		}
		waves[i] = w
	}
	c.plan(t, options, waves...)
}

// decide makes a random decision of a person, which the state of the roll-out may refuse.
func (c *control) decide(t *testing.T, rt *rapid.T, run uuid.UUID, of ...string) {
	t.Helper()
	what := rapid.SampledFrom(of).Draw(rt, "decision")
	var err error
	switch what {
	case "sp_move_rollout_target":
		_, err = c.db.ExecContext(t.Context(), `DECLARE @target UNIQUEIDENTIFIER = (SELECT TOP (1) t.target_id FROM jobs.rollout_targets AS t
WHERE t.job_execution_id = @p1 ORDER BY t.wave DESC, t.place);
IF @target IS NOT NULL EXECUTE jobs.sp_move_rollout_target @p1, @target;`, run.String())
	case "sp_extend_rollout_bake":
		_, err = c.db.ExecContext(t.Context(), `EXECUTE jobs.sp_extend_rollout_bake @p1, 600`, run.String())
	case "sp_extend_rollout_deadline":
		_, err = c.db.ExecContext(t.Context(), `EXECUTE jobs.sp_extend_rollout_deadline @p1, 600`, run.String())
	case "bake": // ends
		c.exec(t, `UPDATE w SET w.bake_until = SYSUTCDATETIME() FROM jobs_internal.rollout_waves AS w WHERE w.state = N'Baking';
UPDATE r SET r.next_check_at = SYSUTCDATETIME() FROM jobs_internal.rollouts AS r WHERE r.state = N'Baking';`)
	default:
		_, err = c.db.ExecContext(t.Context(), `EXECUTE jobs.`+what+` @p1`, run.String())
	}
	var e mssqldb.Error
	if errors.As(err, &e) && (e.Number == 50188 || e.Number == 50410 && c.lifecycle(t, run) == "Canceled") {
		return // a run that is stopped before a pass has seen it has no roll-out
	}
	require.NoError(t, err, what)
}

// answerWindows plays the evaluation of the windows of roll-outs.
func (c *control) answerWindows(t *testing.T, term controldb.TermID, answer string) {
	t.Helper()
	due, err := c.DueSchedules(t.Context(), 10)
	require.NoError(t, err)
	states := make([]controldb.WindowState, len(due.Windows))
	for i, w := range due.Windows {
		states[i] = controldb.WindowState{Window: w, At: due.Now, Open: answer == "open", Changes: due.Now.Add(time.Hour)}
		if answer == "fault" {
			states[i].Fault, states[i].Changes = "f", time.Time{}
		}
	}
	_, err = c.RecordWindows(t.Context(), term, states)
	require.NoError(t, err)
}

// cleanUp deletes the rows of deleted jobs.
func (c *control) cleanUp(t *testing.T) {
	t.Helper()
	for remaining := true; remaining; {
		var err error
		_, remaining, err = c.DeleteLeftovers(t.Context())
		require.NoError(t, err)
	}
}

// unbroken fails if a check of roll-outs finds something.
func (c *control) unbroken(t *testing.T, rt require.TestingT) {
	t.Helper()
	found, err := invariant.Find(t.Context(), c.db, false)
	require.NoError(t, err)
	require.Empty(rt, found)
}

// undo undoes a roll-out that has ended. The compensating job runs once on each target that the
// roll-out has changed, if it ended in the states that are undone, and nowhere else.
func (c *control) undo(t *testing.T, rt *rapid.T, term controldb.TermID, run uuid.UUID, databases []string) {
	t.Helper()
	only := rapid.SampledFrom([]string{"Succeeded,Unknown", "Succeeded,Unknown,Failed,Unreached", "Unreached"}).Draw(rt, "undone")
	want := c.rows(t, `SELECT t.database_name FROM jobs.rollout_targets AS t
WHERE t.ran = 1 AND t.state IN (SELECT p.value FROM STRING_SPLIT(@p1, N',') AS p) ORDER BY t.database_name`, only)
	undo, err := rollouts.On(c.Store).Undo(t.Context(), rollouts.UndoRequest{Rollout: run, ID: uuid.New(), Only: only})
	if len(want) == 0 {
		require.Contains(t, []int32{50194, 50195}, dberror.NumberOf(err), err) // 50194: it has not read its plan
		return
	}
	require.NoError(t, err)
	var ran []string
	for rounds := 0; !slices.Contains([]string{"Succeeded", "SucceededWithSkipped"}, c.lifecycle(t, undo)); rounds++ {
		require.Less(rt, rounds, 400, "the undo never ends: %v", c.rows(t, `SELECT state, next_event, reason FROM jobs.rollouts`))
		r := c.passMax(t, term, 100)
		for _, task := range r.Tasks {
			if task.Kind == controldb.TaskResolve {
				require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, resolution(task, databases)))
				continue
			}
			if task.JobName == "u" && task.Mode == "" {
				ran = append(ran, task.Target.Database)
			}
			o := controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded}
			if task.Probes {
				o.Probed = &targets.Probed{Rows: 1, Value: "5"}
			}
			refused, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{o})
			require.NoError(t, err)
			require.Empty(rt, refused)
		}
		if len(r.Tasks) == 0 && !r.More() {
			c.answerWindows(t, term, "open")
			c.decide(t, rt, undo, "sp_approve_rollout")
			c.decide(t, rt, undo, "bake")
		}
	}
	slices.Sort(ran)
	require.Equal(rt, want, ran)
	c.unbroken(t, rt)
}

// resolution lists databases as the targets of a task.
func resolution(task controldb.Task, databases []string) controldb.Resolution {
	list := make([]targets.Target, len(databases))
	for i, d := range databases {
		list[i] = targets.NewTarget("s", d, "")
	}
	return controldb.Resolution{Attempt: task.Attempt, Targets: list}
}

// TestRandomRollOuts plays random plans with random outcomes, decisions of people and losses of
// agents. What the control database records about each target is what happened to it.
func TestRandomRollOuts(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 3)
		agent := controldb.Agent{ID: uuid.New(), Host: "host", Version: "test", MaxConcurrentTargets: 100, Modes: []controldb.RunMode{controldb.ModePreflight}}
		number := 0
		rapid.Check(t, func(rt *rapid.T) {
			number++
			databases := numbered(rapid.IntRange(0, 9).Draw(rt, "databases"))
			steps := rapid.IntRange(1, 2).Draw(rt, "steps")
			if number == 1 {
				c.job(t, "p", once)
				require.NoError(t, timetable.On(c.Store).AddCalendar(t.Context(), "always", `{"startTime": "2020-01-01T00:00:00", "rrule": "FREQ=DAILY", "duration": "PT24H"}`))
			}
			start, err := c.StartTerm(t.Context(), agent, time.Hour)
			require.NoError(t, err)
			term := start.ID
			// What the plan before has left, if it has failed.
			for _, job := range []string{"j", "u"} {
				if catalog.On(c.Store).DeleteJob(t.Context(), job, true) == nil {
					for c.passMax(t, term, 0).More() {
					}
					c.cleanUp(t)
				}
			}
			c.job(t, "u", once)
			tolerated := rapid.SampledFrom([]string{"0", "100%"}).Draw(rt, "tolerated")
			c.job(t, "j", slices.Repeat([]func(*model.StepSpec){func(s *model.StepSpec) { once(s); s.ToleratedFailures = &tolerated }}, steps)...)
			c.drawPlan(t, rt)
			run := c.start(t, "j")

			var held []controldb.Task
			succeeded := map[string]int{} // by step and database; preflights left out
			passes := 0
			broken := rapid.IntRange(0, 3).Draw(rt, "trouble") == 0
			pass := func(most int) bool {
				r := c.passMax(t, term, most)
				held = append(held, r.Tasks...)
				moved := len(r.Tasks) > 0 || r.More()
				if slices.ContainsFunc(r.Tasks, func(k controldb.Task) bool { return k.JobName == "j" && k.Kind == controldb.TaskRun && k.Mode == "" }) {
					require.Empty(rt, c.rows(t, `SELECT w.name FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id AND w.wave = r.wave
WHERE r.ended_at IS NULL AND w.window_name IS NOT NULL AND COALESCE(r.window_open_until, '2000-01-01') < DATEADD(SECOND, -30, SYSUTCDATETIME())`),
						"a target started although nobody had seen its window open")
				}
				if passes++; passes%4 == 0 || !moved {
					c.unbroken(t, rt)
				}
				return moved
			}
			end := func(i int, well bool) {
				task := held[i]
				held = slices.Delete(held, i, i+1)
				if task.Kind == controldb.TaskResolve {
					require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, resolution(task, databases)))
					return
				}
				outcome := targets.Succeeded
				if !well && rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
					outcome = rapid.SampledFrom([]targets.Outcome{targets.Failed, targets.Unknown}).Draw(rt, "outcome")
				}
				var probed *targets.Probed
				if task.Probes && outcome == targets.Succeeded {
					probed = &targets.Probed{Rows: 1, Value: "5"}
					if !well {
						probed = rapid.SampledFrom([]*targets.Probed{nil, {}, {Rows: 3, Value: "4"}, {Rows: 1, Value: "x"}, {Rows: 1, Value: "0"}, {Rows: 1, Value: "-1"},
							{Rows: 1, Value: "2.5"}, {Rows: 2, Value: "9.000001"}, probed, probed, probed, probed}).Draw(rt, "probed")
					}
				}
				refused, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{{Task: task.ID, Attempt: task.Attempt, Outcome: outcome, Probed: probed}})
				require.NoError(t, err)
				require.Empty(rt, refused)
				if outcome == targets.Succeeded && task.Mode == "" {
					succeeded[fmt.Sprint(task.JobName, task.StepID, task.Target.Database)]++
				}
			}
			if broken {
				for range rapid.IntRange(0, 60).Draw(rt, "events") {
					switch what := rapid.IntRange(0, 10).Draw(rt, "event"); {
					case what < 4:
						pass(rapid.IntRange(0, 4).Draw(rt, "tasks"))
					case what < 7 && len(held) > 0:
						end(rapid.IntRange(0, len(held)-1).Draw(rt, "task"), false)
					case what == 7:
						start, err := c.StartTerm(t.Context(), agent, time.Hour) // the agent is restarted
						require.NoError(t, err)
						term, held = start.ID, nil
					case what == 10:
						c.answerWindows(t, term, rapid.SampledFrom([]string{"open", "closed", "fault"}).Draw(rt, "window"))
					case what > 7:
						c.decide(t, rt, run, "sp_approve_rollout", "sp_reject_rollout", "sp_pause_rollout", "sp_resume_rollout", "sp_retry_rollout_wave",
							"sp_skip_rollout_wave", "sp_move_rollout_target", "sp_extend_rollout_bake", "sp_extend_rollout_deadline", "bake", "sp_abort_rollout")
					}
				}
			}
			for rounds := 0; c.lifecycle(t, run) == "Created" || c.lifecycle(t, run) == "WaitingForChildJobExecutions"; rounds++ {
				require.Less(rt, rounds, 400, "the roll-out never ends: %v", c.rows(t, `SELECT state, next_event FROM jobs.rollouts`))
				for len(held) > 0 {
					end(0, rounds > 20)
				}
				if !pass(100) {
					c.answerWindows(t, term, "open")
					c.decide(t, rt, run, "sp_approve_rollout")
					c.decide(t, rt, run, "sp_resume_rollout")
					if rounds > 50 { // a probe may have returned 0 before the wave, of which 5 is too much for ever
						c.decide(t, rt, run, "sp_skip_rollout_wave")
					}
					c.decide(t, rt, run, "sp_retry_rollout_wave")
					c.decide(t, rt, run, "bake")
				}
			}
			for pass(0) {
			}

			state := strings.Join(c.rows(t, `SELECT state FROM jobs.rollouts`), "")
			want := map[string]string{"": "Canceled", "Aborted": "Canceled", "Failed": "Failed"}[state]
			for _, row := range c.rows(t, `SELECT database_name, wave, state, ran FROM jobs.rollout_targets`) {
				cells := strings.Split(row, "|")
				done := 0
				for step := range steps {
					n := succeeded[fmt.Sprint("j", step+1, cells[0])]
					require.LessOrEqual(rt, n, 1, "it ran twice: %s", row)
					done += n
				}
				if cells[2] == "Succeeded" {
					require.Equal(rt, steps, done, row)
				} else if state == "Succeeded" {
					want = "SucceededWithSkipped"
				}
				if cells[1] == "0" {
					require.Zero(rt, done, row)
				}
				if done > 0 { // an undo has to find it
					require.NotEqual(rt, "Pending", cells[2], row)
					require.Equal(rt, "true", cells[3], row)
				}
			}
			require.Equal(rt, cmp.Or(want, "Succeeded"), c.lifecycle(t, run))

			if state != "" {
				c.undo(t, rt, term, run, databases)
			}

			// So that the next plan finds none of it.
			require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "j", true))
			require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "u", true))
			c.cleanUp(t)
			require.Equal(t, []string{"0|0"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs_internal.rollouts), (SELECT COUNT(*) FROM jobs_internal.rollout_targets)`))
		})
	})
}

// TestRollOutIsExplained: the explanation of a roll-out says what it waits for, and that of a wave
// why its targets do not start.
func TestRollOutIsExplained(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.plan(t, nil, members{"name": "canary", "targets": "4", "parallelism": 1, "approval": "any"})
		run := c.start(t, "j")
		require.Empty(t, c.rollOut(t, term, numbered(4), succeed))
		x, err := executions.On(c.Store).Explain(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, "The wave 'canary' starts when somebody approves it.", x.Text)
		require.Equal(t, "Wave", x.Waits[0].For)
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, run.String())
		for range 4 {
			c.passMax(t, term, 1)
		}
		wave := uuid.MustParse(c.rows(t, `SELECT CAST(run_id AS NVARCHAR(36)) FROM jobs.rollout_waves`)[0])
		waits := func() string {
			x, err := executions.On(c.Store).Explain(t.Context(), wave)
			require.NoError(t, err)
			return x.Waits[len(x.Waits)-1].Text
		}
		require.Equal(t, "the parallelism of the wave 'canary' is used up: 1 of 1 run", waits())
		c.exec(t, `EXECUTE jobs.sp_pause_rollout @p1`, run.String())
		require.Regexp(t, `^the roll-out is paused by \S+ since \S+Z$`, waits())
	})
}

// TestWavesBySize: numbers among the values of a tag come first, and in their order as numbers.
func TestWavesBySize(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		values := []string{"1000", "90.5", "90", "1e3", "-7", "1,5", "١", "", "٣٠", "007.25", "1.2.3", "-", strings.Repeat("9", 40), "$3"}
		for i, value := range values {
			tags, err := json.Marshal(map[string]string{"size_mb": value})
			require.NoError(t, err)
			c.exec(t, `EXECUTE jobs.sp_set_target_tags @server_name = N's', @database_name = @p1, @tags = @p2`, fmt.Sprintf("d%02d", i), string(tags))
		}
		c.plan(t, nil, members{"name": "small", "targets": 5, "order": "tag", "order_tag": "size_mb", "parallelism": 1}, members{"name": "rest", "targets": "rest", "order": "tag", "order_tag": "size_mb", "parallelism": 1})
		run := c.start(t, "j")
		order := c.rollOut(t, term, numbered(len(values)+1), succeed)
		require.Equal(t, []string{"d04", "d09", "d02", "d01", "d00"}, order[:5])
		require.Len(t, order, len(values)+1)
		require.Equal(t, "d14", order[len(values)], "it has no such tag")
		require.Equal(t, "Succeeded: Passed Passed", c.rollout(t, run))
	})
}

// TestWavesByTags: a filter selects the targets of a wave, and the value of a tag orders them, also
// if the targets are compared in slices.
func TestWavesByTags(t *testing.T) {
	for _, slice := range []int{2, 5000} {
		each(t, func(t *testing.T, c *control) { wavesByTags(t, c, slice) })
	}
}

func wavesByTags(t *testing.T, c *control, slice int) {
	testenv.SetSlices(t, c.db, slice)
	term := c.term(t)
	c.job(t, "j", once)
	tag := func(database, tags string) {
		c.exec(t, `EXECUTE jobs.sp_set_target_tags @server_name = N's', @database_name = @p1, @tags = @p2`, database, tags)
	}
	tag("d01", `{"tier": "gold", "region": "us"}`)
	tag("d02", `{"tier": "free"}`)
	tag("d03", `{"tier": "gold", "region": "eu"}`)
	tag("d04", `{"tier": "gold"}`)
	c.plan(
		t, nil,
		members{"name": "gold", "tags": "tier = 'gold'", "order": "tag", "order_tag": "region", "parallelism": 1},
		members{"name": "eu", "tags": "region = 'eu' OR tier = 'free'"},
		members{"name": "rest", "targets": "rest"},
	)
	run := c.start(t, "j")
	require.Equal(t, []string{"d03", "d01", "d04", "d02", "d00", "d05"}, c.rollOut(t, term, numbered(6), succeed))
	require.Equal(t, "Succeeded: Passed Passed Passed", c.rollout(t, run))
}

// TestFilterOfAWaveIsUnknown: a wave whose filter cannot be evaluated has no targets, so the
// roll-out fails before any script runs. Otherwise the waves after it would run on its targets.
func TestFilterOfAWaveIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", once)
		c.plan(t, nil, members{"name": "gold", "tags": "tier = 'gold'"}, members{"name": "rest", "targets": "rest"})
		c.exec(t, `UPDATE jobs_internal.job_versions SET rollout_plan = REPLACE(rollout_plan, N'tier =', N'tier LIKES')`)
		run := c.start(t, "j")
		require.Empty(t, c.rollOut(t, term, numbered(3), succeed))
		require.Equal(t, "Failed: Pending Pending", c.rollout(t, run))
		require.Equal(t, "Failed", c.lifecycle(t, run))
		require.Contains(t, get[string](t, c, `SELECT reason FROM jobs.rollouts`), "The tags of the wave 'gold' cannot be evaluated: at character 6: ")
	})
}

// TestGateLetsCallbacksFinish: after a failure, a plan that lets running targets finish waits for
// the reports about them. What fails meanwhile has failed, so an undo finds it. A deletion of the
// job waits for nothing.
func TestGateLetsCallbacksFinish(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXECUTE jobs.sp_add_target_group N'g'`)
		c.httpJob(t, "j", func(spec *model.StepSpec) { spec.TargetGroup, spec.RetryAttempts = ptr("g"), ptr(0) })
		c.plan(t, nil, members{"name": "all", "targets": "rest"})
		term := c.actionTerm(t)
		run := c.start(t, "j")
		var tasks []controldb.Task
		for len(tasks) < 4 {
			for _, task := range c.pass(t, term).Tasks {
				if task.Kind == controldb.TaskRun {
					tasks = append(tasks, task)
					continue
				}
				require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, resolution(task, numbered(4))))
			}
		}
		first, second := callbacks.HashToken("first"), callbacks.HashToken("second")
		c.begin(t, term, tasks[0], &first)
		c.begin(t, term, tasks[1], &second)
		c.complete(t, term, targets.Accepted, "202", tasks[:2]...)
		c.complete(t, term, targets.Failed, "no", tasks[2])
		states := func() []string {
			for range 3 {
				c.pass(t, term)
			}
			return c.rows(t, `SELECT t.lifecycle FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id WHERE e.rollout_of IS NOT NULL ORDER BY t.target_execution_id`)
		}
		require.Equal(t, []string{"WaitingForCallback", "WaitingForCallback", "Failed", "InProgress"}, states())
		c.complete(t, term, targets.Failed, "no", tasks[3])
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), first, callbacks.Report{Success: true}))
		require.Equal(t, []string{"Succeeded", "WaitingForCallback", "Failed", "Failed"}, states())
		c.exec(t, `EXECUTE jobs.sp_delete_job N'j', @force = 1`)
		require.Equal(t, []string{"Succeeded", "Canceled", "Failed", "Failed"}, states())
		require.NotEqual(t, "WaitingForChildJobExecutions", c.lifecycle(t, run))
	})
}
