package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// fakeAgent replaces an agent: it claims tasks for its workers and completes each task after a
// while. Several of them run one after the other in one goroutine, so that virtual time determines
// exactly which tasks run concurrently.
type fakeAgent struct {
	w       *World
	term    controldb.TermID
	workers int
	busy    []held
	// resolve returns the targets of a job. lasts returns the duration of an attempt and its
	// outcome.
	resolve func(job string) []targets.Target
	lasts   func(controldb.Task) (time.Duration, targets.Outcome)
}

type held struct {
	task    controldb.Task
	ends    time.Time
	outcome targets.Outcome
}

func newFakeAgent(
	t *testing.T, w *World, workers int,
	resolve func(string) []targets.Target, lasts func(controldb.Task) (time.Duration, targets.Outcome),
) *fakeAgent {
	t.Helper()
	term, err := w.Store.StartTerm(t.Context(), controldb.Agent{
		ID: uuid.New(), Host: "fake", Version: "test", MaxConcurrentTargets: workers,
	}, 1000*time.Hour)
	require.NoError(t, err)
	return &fakeAgent{w: w, term: term.ID, workers: workers, resolve: resolve, lasts: lasts}
}

// complete delivers the outcomes of tasks that have ended, and returns their number.
func (h *fakeAgent) complete(t *testing.T) int {
	t.Helper()
	now := time.Now()
	var outcomes []controldb.Outcome
	h.busy = slices.DeleteFunc(h.busy, func(b held) bool {
		if b.ends.After(now) {
			return false
		}
		outcomes = append(outcomes, controldb.Outcome{Task: b.task.ID, Attempt: b.task.Attempt, Outcome: b.outcome})
		return true
	})
	if len(outcomes) > 0 {
		refused, err := h.w.Store.CompleteTasks(t.Context(), h.term, outcomes)
		require.NoError(t, err)
		require.Empty(t, refused)
	}
	return len(outcomes)
}

// pass claims tasks for the idle workers. It answers resolutions at once, and returns all claimed
// tasks.
func (h *fakeAgent) pass(t *testing.T) (claimed []controldb.Task, wake time.Time) {
	t.Helper()
	res, err := h.w.Store.Pass(t.Context(), controldb.PassRequest{
		Term: h.term, MaxTasks: h.workers - len(h.busy), MaxConcurrentTargets: h.workers,
	})
	require.NoError(t, err)
	for _, task := range res.Tasks {
		if task.Kind == controldb.TaskResolve {
			require.NoError(t, h.w.Store.CompleteResolution(t.Context(), h.term, task.ID, controldb.Resolution{
				Attempt: task.Attempt, Targets: h.resolve(task.JobName),
			}))
			continue
		}
		d, outcome := h.lasts(task)
		h.busy = append(h.busy, held{task, time.Now().Add(d), outcome})
	}
	return res.Tasks, res.NextWake
}

// next returns when the first task ends; zero means that no task runs.
func (h *fakeAgent) next() (at time.Time) {
	for _, b := range h.busy {
		if at.IsZero() || b.ends.Before(at) {
			at = b.ends
		}
	}
	return at
}

func target(server, pool string, i int) targets.Target {
	return targets.Target{ID: uuid.New(), Server: server, Database: fmt.Sprintf("d%d", i), ElasticPool: pool}
}

// limitsOf returns the keys of the limits that apply to a target in TestLimitsHoldAndAreUsedUp. It
// is a second implementation of the rules.
func limitsOf(job, server, pool, credential string) map[string]int {
	m := map[string]int{"job " + job: 14, "server " + server: 5}
	if job == "wide" {
		m["job "+job] = 20
	}
	if server == "s0" {
		m["server s0"] = 2
	}
	switch {
	case pool == "p" && server == "s3":
		m["pool p s3"] = 3
	case pool == "p":
		m["pool p "+server] = 2
	case pool != "" && server == "s1":
		m["pool "+pool+" s1"] = 1
	}
	switch credential {
	case "c":
		m["credential c"] = 12
	case "":
		m["credential default"] = 18
	default:
		m["credential "+credential] = 9
	}
	if job == "stepwise" {
		m["step "+server+" "+pool] = 1
	}
	return m
}

// Limits of all scopes apply at once to four jobs over ten servers with pools and retries, and two
// agents. No limit is exceeded at any instant. After each pass of an agent that has idle workers
// left, no target remains that all its limits would allow.
func TestLimitsHoldAndAreUsedUp(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 0)
		rnd := rand.New(rand.NewPCG(1, 2))
		credentials := map[string]string{"wide": "c", "other": "", "stepwise": "", "third": "d"}
		for job, credential := range credentials {
			w.AddJob(t, job, []string{"SELECT 1;"}, Retries(2, 7), func(s *jobmodel.StepSpec) {
				if credential != "" {
					s.Credential = &credential
				}
				if one := 1; job == "stepwise" {
					s.MaxParallelism = &one
				}
			})
		}
		for _, l := range []jobmodel.Limit{
			{Scope: jobmodel.LimitJob, Name: "*", Max: 14}, {Scope: jobmodel.LimitJob, Name: "wide", Max: 20},
			{Scope: jobmodel.LimitServer, Name: "*", Max: 5}, {Scope: jobmodel.LimitServer, Name: "s0", Max: 2},
			{Scope: jobmodel.LimitElasticPool, Name: "p", Max: 2}, {Scope: jobmodel.LimitElasticPool, Name: "p", Server: "s3", Max: 3},
			{Scope: jobmodel.LimitElasticPool, Name: "*", Server: "s1", Max: 1},
			{Scope: jobmodel.LimitCredential, Name: "c", Max: 12}, {Scope: jobmodel.LimitCredential, Name: "(default)", Max: 18},
			{Scope: jobmodel.LimitCredential, Name: "*", Max: 9},
		} {
			require.NoError(t, settings.On(w.Store).SetLimit(t.Context(), l))
		}
		lists := map[string][]targets.Target{}
		for job, n := range map[string]int{"wide": 120, "other": 60, "stepwise": 40, "third": 30} {
			for i := range n {
				lists[job] = append(lists[job], target(fmt.Sprintf("s%d", rnd.IntN(10)), []string{"", "", "p", "q"}[rnd.IntN(4)], i))
			}
			// The targets of one server are adjacent, as in a resolution.
			slices.SortFunc(lists[job], func(a, b targets.Target) int { return cmp.Compare(a.Server, b.Server) })
		}
		resolve := func(job string) []targets.Target { return lists[job] }
		lasts := func(controldb.Task) (time.Duration, targets.Outcome) {
			outcome := targets.Succeeded
			if rnd.IntN(10) == 0 {
				outcome = targets.Failed
			}
			return time.Second + time.Duration(rnd.IntN(20_000))*time.Millisecond, outcome
		}
		agents := []*fakeAgent{newFakeAgent(t, w, 24, resolve, lasts), newFakeAgent(t, w, 40, resolve, lasts)}
		var runs []uuid.UUID
		for job := range credentials {
			runs = append(runs, w.Start(t, job))
		}

		db := w.DB(t, w.Control)
		idle := 0 // passes that claimed fewer tasks than there were idle workers
		for active := true; active; {
			var wake time.Time
			rnd.Shuffle(len(agents), func(i, j int) { agents[i], agents[j] = agents[j], agents[i] })
			for _, h := range agents {
				h.complete(t)
			}
			for _, h := range agents {
				resolved := false
				for {
					claimed, next := h.pass(t)
					wake = next
					resolved = slices.ContainsFunc(claimed, func(task controldb.Task) bool { return task.Kind == controldb.TaskResolve })
					if !resolved {
						break
					}
				}
				if len(h.busy) == h.workers {
					continue
				}
				idle++
				rows, err := db.QueryContext(t.Context(), `
SELECT j.name, t.server_name, COALESCE(t.elastic_pool_name, N''), CASE WHEN t.lifecycle = N'InProgress' THEN 1 ELSE 0 END
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.jobs AS j ON j.job_id = t.job_id
WHERE t.is_active = 1 AND (t.next_attempt_at IS NULL OR t.next_attempt_at <= SYSUTCDATETIME());`)
				require.NoError(t, err)
				running := map[string]int{}
				var waiting []map[string]int
				for rows.Next() {
					var job, server, pool string
					var runs bool
					require.NoError(t, rows.Scan(&job, &server, &pool, &runs))
					limits := limitsOf(job, server, pool, credentials[job])
					if !runs {
						waiting = append(waiting, limits)
						continue
					}
					for key := range limits {
						running[key]++
					}
				}
				require.NoError(t, rows.Err())
				for _, limits := range waiting {
					full := false
					for key, limit := range limits {
						require.LessOrEqual(t, running[key], limit, key)
						full = full || running[key] == limit
					}
					require.True(t, full, "all of %v allow another target: %v", limits, running)
				}
			}
			for _, h := range agents {
				if at := h.next(); !at.IsZero() && (wake.IsZero() || at.Before(wake)) {
					wake = at
				}
			}
			active = slices.ContainsFunc(runs, func(id uuid.UUID) bool { return w.Root(t, id).Active })
			if active {
				<-time.After(max(time.Until(wake), time.Millisecond))
			}
		}
		require.Greater(t, idle, 100)
		w.CheckInvariants(t, w.Control, true)

		// The same check from the history of all attempts: the tasks that were claimed and had not
		// ended at each claim.
		type attempt struct {
			claimed, ended time.Time
			limits         map[string]int
		}
		rows, err := db.QueryContext(t.Context(), `
SELECT j.name, t.server_name, COALESCE(t.elastic_pool_name, N''), k.claimed_at, k.ended_at
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = t.job_id
ORDER BY k.claimed_at;`)
		require.NoError(t, err)
		var history []attempt
		for rows.Next() {
			var job, server, pool string
			var a attempt
			require.NoError(t, rows.Scan(&job, &server, &pool, &a.claimed, &a.ended))
			a.limits = limitsOf(job, server, pool, credentials[job])
			history = append(history, a)
		}
		require.NoError(t, rows.Err())
		require.Greater(t, len(history), 260, "there were retries")
		reached := map[string]bool{}
		for i, a := range history {
			if i+1 < len(history) && history[i+1].claimed.Equal(a.claimed) {
				continue // the last attempt of this instant counts all of them
			}
			running := map[string]int{}
			for _, b := range history[:i+1] {
				if b.ended.After(a.claimed) {
					for key, limit := range b.limits {
						running[key]++
						require.LessOrEqual(t, running[key], limit, key)
						reached[key] = reached[key] || running[key] == limit
					}
				}
			}
		}
		for _, key := range []string{"server s0", "pool q s1", "credential c", "credential d", "credential default"} {
			require.True(t, reached[key], "limit %s was never reached", key)
		}
	})
}

// The first pass that claims any task claims a job of one target, however many targets of another
// job wait. This holds without limits, and on a server whose limit the large job has reached.
func TestFanOutDoesNotStarveASmallJob(t *testing.T) {
	testenv.Long(t)
	for _, tc := range []struct {
		name    string
		limit   jobmodel.Limit
		targets int
	}{
		{"no limit", jobmodel.Limit{}, 10_000},
		{"server", jobmodel.Limit{Scope: jobmodel.LimitServer, Name: "s", Max: 8}, 10_000},
		{"job", jobmodel.Limit{Scope: jobmodel.LimitJob, Name: "wide", Max: 40}, 2000},
		{"credential", jobmodel.Limit{Scope: jobmodel.LimitCredential, Name: "*", Max: 50}, 2000},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 0)
				rnd := rand.New(rand.NewPCG(3, 4))
				w.AddJob(t, "wide", []string{"SELECT 1;"})
				w.AddJob(t, "small", []string{"SELECT 1;"})
				if tc.limit.Max > 0 {
					require.NoError(t, settings.On(w.Store).SetLimit(t.Context(), tc.limit))
				}
				resolve := func(job string) []targets.Target {
					if job == "small" {
						return []targets.Target{target("s", "", 0)}
					}
					var list []targets.Target
					for i := range tc.targets {
						list = append(list, target("s", "", i))
					}
					return list
				}
				lasts := func(controldb.Task) (time.Duration, targets.Outcome) {
					return time.Second + time.Duration(rnd.IntN(5000))*time.Millisecond, targets.Succeeded
				}
				agents := []*fakeAgent{newFakeAgent(t, w, 32, resolve, lasts), newFakeAgent(t, w, 32, resolve, lasts)}
				round := func() (claimed []controldb.Task) {
					var next time.Time
					for _, h := range agents {
						h.complete(t)
						list, _ := h.pass(t)
						claimed = append(claimed, list...)
						if at := h.next(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
							next = at
						}
					}
					if !next.IsZero() {
						<-time.After(max(0, time.Until(next)))
					}
					return claimed
				}
				w.Start(t, "wide")
				for range 20 {
					round()
				}
				running, most := 0, 64
				if tc.limit.Max > 0 {
					most = tc.limit.Max
				}
				for _, h := range agents {
					running += len(h.busy)
				}
				require.Equal(t, most, running, "the large job uses the whole limit")

				for range 3 {
					id := w.Start(t, "small")
					var kinds []controldb.TaskKind
					for w.Root(t, id).Active {
						claimed, before := round(), len(kinds)
						for _, task := range claimed {
							if task.JobName == "small" {
								kinds = append(kinds, task.Kind)
							}
						}
						if before < 2 && len(kinds) == before {
							require.Empty(t, claimed, "the large job started first")
						}
					}
					require.Equal(t, []controldb.TaskKind{controldb.TaskResolve, controldb.TaskRun}, kinds)
				}
			})
		})
	}
}

// Targets that a limit holds back do not make agents call more often than when idle: neither the
// agent that runs the other targets, nor an agent without tasks. When the limit allows another
// target, it starts within a second.
func TestFullLimitCostsNoPasses(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 4)
		require.NoError(t, settings.On(w.Store).SetLimit(t.Context(), jobmodel.Limit{Scope: jobmodel.LimitServer, Name: "*", Max: 1}))
		w.AddJob(t, "long", []string{"WAITFOR DELAY '00:03:00';"})
		agents := []*Agent{w.StartAgent(t, agent.Config{MaxConcurrentTargets: 10}, nil), w.StartAgent(t, agent.Config{MaxConcurrentTargets: 10}, nil)}
		long := w.Start(t, "long")
		w.awaitRequests(t, 1)
		<-time.After(10 * time.Second)

		const quiet = 2 * time.Minute
		var before []int
		for _, a := range agents {
			before = append(before, a.Control.Calls())
		}
		<-time.After(quiet)
		for i, a := range agents {
			require.LessOrEqual(t, a.Control.Calls()-before[i], quietCalls(quiet))
		}
		require.Equal(t, 1, w.requests(t))

		<-time.After(9 * time.Minute)
		root, ended := w.Ended(t, long, 5*time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
		require.Less(t, root.EndTime.Sub(root.StartTime), 12*time.Minute+5*time.Second)
		w.Check(t, true)
	})
}
