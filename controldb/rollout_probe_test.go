package controldb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// probing is a roll-out of the job j whose probes return what a test says.
type probing struct {
	*control
	term controldb.TermID
	run  uuid.UUID
	// returns says what the script of the job p returns on a database.
	returns func(database string, before bool) *targets.Probed
	ran     []string
}

// probed starts a roll-out of a wave of three databases with a probe, and of the rest.
func (c *control) probed(t *testing.T, limits members, returns func(database string, before bool) *targets.Probed) *probing {
	t.Helper()
	p := &probing{control: c, term: c.term(t), returns: returns}
	c.job(t, "j", once)
	c.job(t, "p", once, once)
	wave := members{"name": "canary", "targets": 3, "probe_job": "p"}
	for name, value := range limits {
		wave[name] = value
	}
	c.plan(t, nil, wave, members{"name": "rest", "targets": "rest"})
	p.run = c.start(t, "j")
	p.play(t)
	return p
}

// play plays an agent until nothing more happens.
func (p *probing) play(t *testing.T) {
	t.Helper()
	for idle := 0; idle < 3; {
		r := p.pass(t, p.term)
		if idle++; len(r.Tasks) > 0 || r.More() {
			idle = 0
		}
		for _, task := range r.Tasks {
			if task.Kind == controldb.TaskResolve {
				var list []targets.Target
				for _, d := range numbered(5) {
					list = append(list, targets.NewTarget("s", d, ""))
				}
				require.NoError(t, p.CompleteResolution(t.Context(), p.term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}))
				continue
			}
			o := controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded}
			if task.JobName == "p" {
				require.Equal(t, task.StepID == 2, task.Probes, "the last step is asked")
			}
			if task.Probes {
				o.Probed = p.returns(task.Target.Database, !slices.Contains(p.ran, task.Target.Database))
			} else if task.JobName == "j" {
				require.False(t, task.Probes)
				p.ran = append(p.ran, task.Target.Database)
			}
			refused, err := p.CompleteTasks(t.Context(), p.term, []controldb.Outcome{o})
			require.NoError(t, err)
			require.Empty(t, refused)
		}
	}
}

func (p *probing) reason(t *testing.T) string {
	t.Helper()
	return strings.Join(p.rows(t, `SELECT reason FROM jobs.rollouts`), "")
}

// values returns what the probes returned on each target: rows, the number, and the number before
// the wave.
func (p *probing) values(t *testing.T) (list []string) {
	t.Helper()
	rows, err := rollouts.On(p.control.Store).Targets(t.Context(), p.run, rollouts.TargetFilter{}, controldb.Page[rollouts.TargetKey]{})
	require.NoError(t, err)
	text := func(f *float64) string {
		if f == nil {
			return "nil"
		}
		return fmt.Sprint(*f)
	}
	for _, r := range rows {
		count := "nil"
		if r.ProbeRows != nil {
			count = fmt.Sprint(*r.ProbeRows)
		}
		list = append(list, count+" "+text(r.ProbeValue)+" "+text(r.ProbeBefore))
	}
	return list
}

func (p *probing) gate(t *testing.T) string {
	t.Helper()
	return p.rows(t, `SELECT gate FROM jobs.rollout_waves ORDER BY wave`)[0]
}

func one(value string) *targets.Probed { return &targets.Probed{Rows: 1, Value: value} }

// What an agent reports about a probe is compared on each target, and whatever is not known has
// failed. The script rollout_probes.txt has each limit.
func TestProbesAreCompared(t *testing.T) {
	testenv.Long(t)
	all := func(p *targets.Probed) func(string, bool) *targets.Probed {
		return func(string, bool) *targets.Probed { return p }
	}
	but := func(bad *targets.Probed) func(string, bool) *targets.Probed {
		return func(database string, _ bool) *targets.Probed {
			if database == "d01" {
				return bad
			}
			return one("5")
		}
	}
	later := func(before, after map[string]string) func(string, bool) *targets.Probed {
		return func(database string, isBefore bool) *targets.Probed {
			if isBefore {
				return one(before[database])
			}
			return one(after[database])
		}
	}
	same := map[string]string{"d00": "10", "d01": "20", "d02": "0"}
	const canary = "Wave 'canary': its probe"
	for name, c := range map[string]struct {
		limits  members
		returns func(string, bool) *targets.Probed
		reason  string // empty: the roll-out succeeds
		gate    string
	}{
		"OldAgent": {members{"probe_max_rows": 0}, all(nil), canary + ": 3 of 3 targets broke the limits (no row); the worst is 's/d00': nothing is known of what it returned.", ""},
		"NoNumber": {members{"probe_max_value": 5}, but(one("")), canary + ": 1 of 3 targets broke the limits (a number of at most 5); 's/d01': NULL, no number, or no row.", ""},
		"TooLong":  {members{"probe_max_value": 5}, but(one("-99999999999999999999999999")), canary + ": 1 of 3 targets broke the limits (a number of at most 5); 's/d01': NULL, no number, or no row.", ""},
		"AboveLimit": {members{"probe_max_percent": 120}, later(same, map[string]string{"d00": "13", "d01": "25", "d02": "0.5"}), canary +
			": 3 of 3 targets broke the limits (at most 120 % of the number before the wave); the worst is 's/d02': 0.5 after 0.", ""},
		"NoBefore": {members{"probe_max_percent": 120}, later(map[string]string{"d00": "1"}, same), canary +
			" before it: 2 of 3 targets broke the limits (a number of at least 0); the worst is 's/d01': NULL, no number, or no row.", ""},
		"Greatest": {members{"probe_max_percent": 10000, "probe_min_percent": 1}, all(one("9999999999999999999999.999999")), "",
			"The probe returned 9999999999999999999999.999999 on 3 targets."},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, x *control) {
				p := x.probed(t, c.limits, c.returns)
				if c.reason == "" {
					require.Equal(t, "Succeeded: Passed Passed", p.rollout(t, p.run))
					require.Equal(t, "3 of 3 targets succeeded. "+c.gate, p.gate(t))
					return
				}
				require.Equal(t, "Stopped: Stopped Pending", p.rollout(t, p.run))
				require.Equal(t, c.reason, p.reason(t))
				if strings.Contains(c.reason, "before it") {
					require.Empty(t, p.ran, "no script ran")
				} else {
					require.Equal(t, numbered(3), p.ran)
				}
				require.Contains(t, p.gate(t), strings.TrimPrefix(c.reason, "Wave 'canary': its "))
			})
		})
	}
}

// The probe before a wave runs after its approval, and again if the wave is retried before it has
// run; after that, its values stay. A target that is moved into the wave meanwhile is probed, too.
func TestProbeBeforeAWave(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		value := ""
		p := c.probed(t, members{"probe_max_percent": 100, "approval": "any"}, func(string, bool) *targets.Probed { return one(value) })
		probes := func() string {
			return c.rows(t, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE rollout_probe = 1`)[0]
		}
		require.Equal(t, "0", probes(), "it waits for the approval")
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, p.run.String())
		p.play(t)
		require.Equal(t, "Stopped: Stopped Pending", p.rollout(t, p.run))
		value = "7"
		c.exec(t, `EXECUTE jobs.sp_pause_rollout @p1`, p.run.String())
		c.exec(t, `EXECUTE jobs.sp_retry_rollout_wave @p1`, p.run.String())
		p.play(t)
		require.Equal(t, "1", probes(), "it is paused")
		c.exec(t, `EXECUTE jobs.sp_resume_rollout @p1`, p.run.String())
		r := c.pass(t, p.term)
		require.Empty(t, r.Tasks)
		require.Equal(t, []string{"Probing|The probe before the wave 'canary' ends."}, c.rows(t, `SELECT state, next_event FROM jobs.rollouts`))
		c.exec(t, `EXECUTE jobs.sp_pause_rollout @p1`, p.run.String())
		p.play(t)
		require.Equal(t, "Starting: Pending Pending", p.rollout(t, p.run))
		require.Equal(t, []string{"1"}, c.rows(t, `SELECT COUNT(*) FROM jobs.rollout_waves WHERE before_run_id = probe_run_id`))
		require.Equal(t, []string{"nil nil 7", "nil nil 7", "nil nil 7", "nil nil nil", "nil nil nil"}, p.values(t), "what the probe before the wave returned")
		c.exec(t, `DECLARE @target UNIQUEIDENTIFIER = (SELECT target_id FROM jobs.rollout_targets WHERE database_name = N'd04');
EXECUTE jobs.sp_move_rollout_target @p1, @target, N'canary'`, p.run.String())
		c.exec(t, `EXECUTE jobs.sp_resume_rollout @p1`, p.run.String())
		p.returns = func(database string, before bool) *targets.Probed {
			if !before && database == "d04" {
				return one("8")
			}
			return one("7")
		}
		p.play(t)
		require.Equal(t, "Wave 'canary': its probe: 1 of 4 targets broke the limits (at most 100 % of the number before the wave); 's/d04': 8 after 7.", p.reason(t))
		require.Equal(t, []string{"1 7 7", "1 7 7", "1 7 7", "1 8 7", "nil nil nil"}, p.values(t))
		require.Equal(t, "4", probes(), "two before that ended well, one of which knew not all targets")
		p.returns = func(string, bool) *targets.Probed { return one("7") }
		c.exec(t, `EXECUTE jobs.sp_retry_rollout_wave @p1`, p.run.String())
		p.play(t)
		require.Equal(t, "5", probes(), "only after the wave")
		require.Equal(t, "Succeeded: Passed Passed", p.rollout(t, p.run))
		values := `SELECT COUNT(*) FROM jobs_internal.rollout_probe_values`
		require.Equal(t, []string{"18"}, c.rows(t, values))
		for range 3 {
			c.passMax(t, p.term, 0) // the roll-out's own run ends
		}
		require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "p", true))
		c.cleanUp(t)
		require.Equal(t, []string{"0"}, c.rows(t, values), "they are purged with their runs")
	})
}

// A wave does not start without its probe job, and a wave that is skipped while it is probed is not
// judged.
func TestProbeBeforeAWaveIsMissing(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		p := c.probed(t, members{"probe_max_percent": 100, "approval": "any"}, func(string, bool) *targets.Probed { return one("1") })
		require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "p", true))
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, p.run.String())
		p.play(t)
		require.Equal(t, "Starting: Pending Pending", p.rollout(t, p.run))
		c.exec(t, `UPDATE w SET w.probe_at = DATEADD(MINUTE, -1, w.probe_at) FROM jobs_internal.rollout_waves AS w WHERE w.probe_at IS NOT NULL;
UPDATE r SET r.next_check_at = SYSUTCDATETIME() FROM jobs_internal.rollouts AS r;`)
		p.play(t)
		require.Equal(t, "Stopped: Stopped Pending", p.rollout(t, p.run))
		require.Equal(t, "Wave 'canary': its probe job does not exist, or another session has held it for a minute.", p.reason(t))
		require.Empty(t, p.ran)
		c.exec(t, `EXECUTE jobs.sp_abort_rollout @p1`, p.run.String())
		p.play(t)
		require.Equal(t, "Aborted: Stopped Pending", p.rollout(t, p.run))
	})
	each(t, func(t *testing.T, c *control) {
		p := c.probed(t, members{"probe_max_percent": 100, "approval": "any"}, func(string, bool) *targets.Probed { return nil })
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, p.run.String())
		c.pass(t, p.term)
		require.Equal(t, "Probing: Pending Pending", p.rollout(t, p.run))
		require.ErrorContains(t, rollouts.On(c.Store).ExtendBake(t.Context(), p.run, time.Minute), "it does not bake")
		c.exec(t, `EXECUTE jobs.sp_skip_rollout_wave @p1, N'canary'`, p.run.String())
		p.play(t)
		require.Equal(t, "Succeeded: Skipped Passed", p.rollout(t, p.run))
		require.Equal(t, []string{"d03", "d04"}, p.ran)
	})
}

// A bake that is extended while its last probe runs goes on, and ends with another probe.
func TestBakeIsExtendedDuringItsLastProbe(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		extended := false
		var p *probing
		p = c.probed(t, members{"approval": "any"}, func(string, bool) *targets.Probed {
			if !extended {
				extended = true
				require.NoError(t, rollouts.On(c.Store).ExtendBake(t.Context(), p.run, time.Hour))
			}
			return one("1")
		})
		c.exec(t, `EXECUTE jobs.sp_approve_rollout @p1`, p.run.String())
		p.play(t)
		probes := func() string {
			return c.rows(t, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE rollout_probe = 1`)[0]
		}
		require.Equal(t, "Baking: Baking Pending", p.rollout(t, p.run))
		require.Equal(t, "1", probes())
		c.exec(t, `UPDATE w SET w.bake_until = SYSUTCDATETIME() FROM jobs_internal.rollout_waves AS w WHERE w.wave = 1;
UPDATE r SET r.next_check_at = SYSUTCDATETIME() FROM jobs_internal.rollouts AS r;`)
		p.play(t)
		require.Equal(t, "Succeeded: Passed Passed", p.rollout(t, p.run))
		require.Equal(t, "2", probes())
	})
}

// A probe that is due while another one runs is tried for a minute after the end of that one.
func TestProbeOfALockedJob(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		p := c.probed(t, members{"bake_seconds": 3600, "probe_every_seconds": 600}, func(string, bool) *targets.Probed { return one("1") })
		due := func(column string) {
			c.exec(t, `UPDATE w SET w.`+column+` = DATEADD(MINUTE, -10, SYSUTCDATETIME()) FROM jobs_internal.rollout_waves AS w WHERE w.wave = 1;
UPDATE r SET r.next_check_at = SYSUTCDATETIME() FROM jobs_internal.rollouts AS r;`)
		}
		due("probe_at")
		p.play(t)
		due("bake_until")
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.jobs SET description = N'open' WHERE name = N'p'`)
		require.NoError(t, err)
		c.exec(t, `BEGIN TRANSACTION; EXECUTE jobs_internal.advance; COMMIT TRANSACTION;`)
		require.Equal(t, "Baking: Baking Pending", p.rollout(t, p.run))
		require.NoError(t, tx.Rollback())
		c.exec(t, `UPDATE r SET r.next_check_at = SYSUTCDATETIME() FROM jobs_internal.rollouts AS r;`)
		p.play(t)
		require.Equal(t, "Succeeded: Passed Passed", p.rollout(t, p.run))
	})
}

// TestProbeAfterAnOutage: a probe that was due long ago, because no agent lived, is tried for a
// minute, too.
func TestProbeAfterAnOutage(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		p := c.probed(t, members{"bake_seconds": 3600}, func(string, bool) *targets.Probed { return one("1") })
		p.play(t)
		require.Equal(t, "Baking: Baking Pending", p.rollout(t, p.run))
		c.exec(t, `UPDATE w SET w.bake_until = DATEADD(MINUTE, -10, SYSUTCDATETIME()) FROM jobs_internal.rollout_waves AS w WHERE w.wave = 1;
UPDATE r SET r.next_check_at = DATEADD(MINUTE, -10, SYSUTCDATETIME()) FROM jobs_internal.rollouts AS r;`)
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.jobs SET description = N'open' WHERE name = N'p'`)
		require.NoError(t, err)
		advance := func(seconds int) {
			c.exec(t, `DECLARE @now DATETIME2(7) = DATEADD(SECOND, @p1, SYSUTCDATETIME());
BEGIN TRANSACTION; EXECUTE jobs_internal.advance @now = @now; COMMIT TRANSACTION;`, seconds)
		}
		advance(0)
		advance(30)
		advance(59)
		require.Equal(t, "Baking: Baking Pending", p.rollout(t, p.run))
		advance(62)
		require.Equal(t, "Stopped: Stopped Pending", p.rollout(t, p.run))
		require.Equal(t, "Wave 'canary': its probe job does not exist, or another session has held it for a minute.", get[string](t, c, `SELECT reason FROM jobs.rollouts`))
		require.NoError(t, tx.Rollback())
	})
}
