package controldb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// members are members of the stored form of a plan, or of one of its waves.
type members map[string]any

// plan gives the job j a plan, with the defaults of the members that are not given.
func (c *control) plan(t *testing.T, options members, waves ...members) {
	t.Helper()
	p := members{
		"seed": 0, "deadline_seconds": nil, "on_gate_failure": "pause", "running_targets": "finish", "strict": false,
		"new_targets": "leave_out", "undo_job": nil,
	}
	maps.Copy(p, options)
	list := make([]members, len(waves))
	for i, w := range waves {
		list[i] = members{
			"targets": nil, "names": nil, "like": nil, "tags": nil, "order": "resolution", "order_tag": nil, "parallelism": nil,
			"pace": nil, "bake_seconds": 0, "approval": "none", "max_failed": "0", "max_unknown": 0, "max_unreached": "0",
			"max_duration_percent": nil, "probe_job": nil, "probe_every_seconds": nil, "preflight": false,
		}
		maps.Copy(list[i], w)
	}
	p["waves"] = list
	text, err := json.Marshal(p)
	require.NoError(t, err)
	c.exec(t, `UPDATE v SET v.rollout_plan = @p1 FROM jobs_internal.job_versions AS v
INNER JOIN jobs_internal.jobs AS j ON j.job_id = v.job_id AND j.current_version = v.version WHERE j.name = N'j'`, string(text))
}

// rollOut plays an agent until nothing more happens: groups have the databases, and outcome decides
// about each attempt. It returns the databases in the order in which their scripts ran.
func (c *control) rollOut(
	t *testing.T, term controldb.TermID, databases []string, outcome func(database string) targets.Outcome,
) (ran []string) {
	t.Helper()
	for idle := 0; idle < 3; {
		r := c.pass(t, term)
		if idle++; len(r.Tasks) > 0 || r.More() {
			idle = 0
		}
		for _, task := range r.Tasks {
			if task.Kind == controldb.TaskResolve {
				list := make([]targets.Target, len(databases))
				for i, d := range databases {
					list[i] = targets.NewTarget("s", d, "")
				}
				require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}))
				continue
			}
			ran = append(ran, task.Target.Database)
			c.complete(t, term, outcome(task.Target.Database), "m", task)
		}
	}
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

// once gives a step one attempt.
func once(s *controldb.StepSpec) { s.RetryAttempts = ptr(0) }
