package sim

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

var yearPart = flag.Float64("sim.year", 0, "part of a year to simulate, with 1000 schedules; 0: a day and a half with 50 schedules")

// yearConfig makes agents poll rarely, as in TestDays: they act when the next instant is due.
var yearConfig = agent.Config{
	MaxConcurrentTargets: 200, Lease: time.Hour, PollIdle: 20 * time.Minute, PollActive: 5 * time.Minute, Grace: time.Minute,
}

// year is one run of TestYear.
type year struct {
	*World
	t         *testing.T
	rng       *rand.Rand
	made      time.Time
	schedules []yearSchedule
	agents    []*Agent
	control   *sql.DB
	events    map[string]int

	answers map[int64][]answer
	known   map[answerKey]bool
	walks   map[string][]walked // by the name of a zone
	// pause and outage are the longest times between two events and without agents.
	pause, outage time.Duration
}

// answer is how one due instant, or several successive skipped ones, were handled.
type answer struct {
	due time.Time
	// at is when the run was created, or when the instant was recorded as skipped.
	at    time.Time
	count int
	// cause is why the instant was skipped; empty: it has a run.
	cause string
}

type answerKey struct {
	schedule int64
	due      time.Time
	run      bool
}

// TestYear runs schedules of all kinds in ten zones with two agents, or with three in the short
// form. Agents are killed and stopped at random, sometimes all of them for hours. At the end each
// due instant of the second computation has exactly one run or one record that it was skipped, and
// no other instant has one.
func TestYear(t *testing.T) {
	testenv.Long(t)
	seed := *daysSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with -sim.seed=%d -sim.year=%g", seed, *yearPart)
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		y := &year{
			t: t, rng: rand.New(rand.NewPCG(seed, 1)), agents: make([]*Agent, 2), events: map[string]int{},
			answers: map[int64][]answer{}, known: map[answerKey]bool{}, walks: map[string][]walked{}, pause: 36 * time.Hour, outage: 40 * time.Hour,
		}
		number, length := 1000, time.Duration(*yearPart*366*24*float64(time.Hour)).Truncate(time.Hour)
		if *yearPart == 0 {
			// The short form includes the clock change in Berlin on 26 March.
			y.agents = make([]*Agent, 3)
			number, length, y.pause, y.outage = 50, 36*time.Hour, 3*time.Hour, 7*time.Hour
			<-time.After(time.Until(time.Date(2000, 3, 25, 11, 0, 0, 0, time.UTC)))
		}
		y.made = time.Now().UTC()
		y.World = NewWorld(t, 1)
		y.control = y.DB(t, y.Control)
		y.addSchedules(number, length)
		for i := range y.agents {
			y.agents[i] = y.StartAgent(t, yearConfig, nil)
		}
		end := y.made.Add(length)
		for collected := time.Now(); time.Now().Before(end); {
			<-time.After(y.between(10*time.Minute, y.pause))
			y.event()
			if time.Since(collected) > 20*24*time.Hour { // before the retention job deletes the history
				y.collect()
				collected = time.Now()
				t.Logf("%s: %d answers", collected.UTC().Format(time.DateOnly), len(y.known))
			}
		}
		stopped := y.settle()
		y.collect()
		instants, runs := 0, 0
		for _, s := range y.schedules {
			due, run := y.audit(s, stopped)
			instants, runs = instants+due, runs+run
		}
		y.CheckInvariants(t, y.Control, false)
		t.Logf("%d schedules, %d due instants until %s: %d run, %d recorded as skipped; events %v", number, instants, stopped.Format(time.DateTime), runs, instants-runs, y.events)
		if instants < 2*number || *yearPart > 0 && instants == runs { // in a day, the agents may be there for each instant
			t.Errorf("too few instants for a meaningful test: %d, of which %d have a run", instants, runs)
		}
	})
	t.Logf("took %s", time.Since(began).Round(time.Second))
	if t.Failed() {
		t.Logf("replay with -sim.seed=%d -sim.year=%g", seed, *yearPart)
	}
}

// between returns a duration in [low, high).
func (y *year) between(low, high time.Duration) time.Duration {
	return low + time.Duration(y.rng.Int64N(int64(high-low))).Truncate(time.Second)
}

// addSchedules creates the jobs, each with one schedule.
func (y *year) addSchedules(number int, length time.Duration) {
	t := y.t
	for i := range number {
		zone, err := time.LoadLocation(yearZones[i%len(yearZones)])
		require.NoError(t, err)
		s := drawing{y.rng, zone, y.made, y.made.Add(length), *yearPart == 0}.draw(i)
		y.AddJob(t, s.job, []string{s.script}, Retries(1, 20))
		name := "its own"
		if s.kind == "" {
			name = ""
			enabled := true
			require.NoError(t, catalog.On(y.Store).UpdateJob(t.Context(), jobmodel.JobSpec{
				Name: s.job, Enabled: &enabled, IntervalType: &s.interval, IntervalCount: &s.intervalCount,
			}))
		} else {
			_, err := y.control.ExecContext(t.Context(), `EXECUTE jobs.sp_add_schedule @job_name = @p1, @schedule_name = @p2, @kind = @p3, @spec = @p4,
    @time_zone = @p5, @catch_up = @p6, @overlap = @p7;`, s.job, name, s.kind, s.spec, s.zone, s.catchUp, s.overlap)
			require.NoError(t, err, "%s %s", s.kind, s.spec)
		}
		require.NoError(t, y.control.QueryRowContext(t.Context(), `SELECT s.schedule_id
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
WHERE j.name = @p1 AND s.name = @p2;`, s.job, name).Scan(&s.id))
		y.schedules = append(y.schedules, s)
	}
	require.Equal(t, y.made, time.Now().UTC(), "virtual time must not pass while schedules are created")
}

// event injects one random fault, and ends it.
func (y *year) event() {
	i := y.rng.IntN(len(y.agents))
	var name string
	switch n := y.rng.IntN(10); {
	case n < 5:
		name = "kill"
		y.agents[i].Kill()
		<-time.After(y.between(time.Second, 3*time.Hour))
		y.restart(i)
	case n < 7:
		name = "stop"
		_ = y.agents[i].Stop()
		<-time.After(y.between(0, time.Hour))
		y.restart(i)
	case n < 9:
		name = "kill all, shortly"
		y.restartAll(y.between(time.Second, 40*time.Minute))
	default:
		name = "kill all, for long"
		y.restartAll(y.between(time.Hour, y.outage))
	}
	y.events[name]++
}

// restartAll kills all agents, and starts others later.
func (y *year) restartAll(later time.Duration) {
	for _, a := range y.agents {
		a.Kill()
	}
	<-time.After(later)
	for i := range y.agents {
		y.restart(i)
	}
}

// restart starts a new agent at index i.
func (y *year) restart(i int) {
	_ = y.agents[i].Stop()
	y.agents[i] = y.StartAgent(y.t, yearConfig, nil)
}

// settle lets the agents work without faults until every due instant was handled. Then it disables
// all schedules between two due instants, and returns the time of that.
func (y *year) settle() time.Time {
	t := y.t
	<-time.After(6 * time.Hour)
	<-time.After(time.Until(time.Now().Truncate(yearStep).Add(yearStep + 12*time.Minute))) // longer than the jitter
	stopped := time.Now().UTC()
	for _, s := range y.schedules {
		if s.kind == "" {
			enabled := false
			require.NoError(t, catalog.On(y.Store).UpdateJob(t.Context(), jobmodel.JobSpec{Name: s.job, Enabled: &enabled}))
			continue
		}
		_, err := y.control.ExecContext(t.Context(), "EXECUTE jobs.sp_enable_schedule @job_name = @p1, @schedule_name = N'its own', @enabled = 0;", s.job)
		if err != nil && !y.removed(s) {
			require.NoError(t, err)
		}
	}
	require.Equal(t, stopped, time.Now().UTC(), "virtual time must not pass while schedules are disabled")
	return stopped
}

// removed reports whether a schedule was deleted, as happens some time after its completion.
func (y *year) removed(s yearSchedule) bool {
	var n int
	require.NoError(y.t, y.control.QueryRowContext(y.t.Context(), "SELECT COUNT(*) FROM jobs_internal.schedules WHERE schedule_id = @p1;", s.id).Scan(&n))
	return n == 0
}

// collect saves how due instants were handled, before the history is deleted.
func (y *year) collect() {
	t := y.t
	rows, err := y.control.QueryContext(t.Context(), `SELECT e.schedule_id, e.due_at, e.create_time, 1, N''
FROM jobs_internal.job_executions AS e
WHERE e.schedule_id IS NOT NULL
UNION ALL
SELECT k.schedule_id, k.due_at, k.recorded_at, k.skipped, k.cause
FROM jobs_internal.schedule_skips AS k;`)
	require.NoError(t, err)
	for rows.Next() {
		var id int64
		var a answer
		require.NoError(t, rows.Scan(&id, &a.due, &a.at, &a.count, &a.cause))
		a.due, a.at = a.due.UTC(), a.at.UTC()
		if key := (answerKey{id, a.due, a.cause == ""}); !y.known[key] {
			y.known[key] = true
			y.answers[id] = append(y.answers[id], a)
		}
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
}

// audit compares the answers of a schedule with the second computation. It returns how many
// instants were due, and how many have a run.
func (y *year) audit(s yearSchedule, stopped time.Time) (due, run int) {
	answers := y.answers[s.id]
	slices.SortFunc(answers, func(x, y answer) int { return x.due.Compare(y.due) })
	for _, a := range answers {
		if a.cause == "" {
			run++
		}
	}
	var want []time.Time
	if s.moving > 0 {
		want = y.moved(s, answers, stopped)
	} else {
		zone, err := time.LoadLocation(s.zone)
		require.NoError(y.t, err)
		want = s.oracle.due(y.steps(zone, stopped), y.made, stopped)
	}
	if s.count > 0 && run == s.count { // the schedule is completed by its last run
		last := slices.IndexFunc(want, func(at time.Time) bool { return !at.Before(lastRun(answers)) })
		want = want[:last+1]
	}
	answered := map[time.Time]int{}
	for _, a := range answers {
		i, found := slices.BinarySearchFunc(want, a.due, time.Time.Compare)
		if !found || i+a.count > len(want) {
			y.t.Errorf("%s: %s is not a due instant, or fewer than %d of them are left: %+v", s, a.due, a.count, a)
			continue
		}
		for _, at := range want[i : i+a.count] {
			answered[at]++
		}
	}
	for _, at := range want {
		if n := answered[at]; n != 1 {
			y.t.Errorf("%s: the instant %s was handled %d times", s, at.Format(time.RFC3339), n)
		}
	}
	if s.count > 0 && run > s.count {
		y.t.Errorf("%s: %d runs, but its count is %d", s, run, s.count)
	}
	return len(want), run
}

// String formats a schedule for failure messages.
func (s yearSchedule) String() string {
	return fmt.Sprintf("schedule %d of %q (%s %s, catch up %q, overlap %q, %s)", s.id, s.job, s.kind, s.spec, s.catchUp, s.overlap, s.zone)
}

func lastRun(answers []answer) (last time.Time) {
	for _, a := range answers {
		if a.cause == "" {
			last = a.due
		}
	}
	return last
}

// moved lists the instants of SAP's repeatInterval. Each is one interval after the start of the
// previous run, or, if that instant was skipped, one interval after the instant.
func (y *year) moved(s yearSchedule, answers []answer, stopped time.Time) []time.Time {
	var want []time.Time
	for at := y.made; at.Before(stopped); {
		want = append(want, at)
		i, found := slices.BinarySearchFunc(answers, at, func(a answer, at time.Time) int { return a.due.Compare(at) })
		switch {
		case !found:
			return want // the comparison reports the missing instant
		case answers[i].cause == "CatchUp":
			for range answers[i].count - 1 {
				at = at.Add(s.moving)
				want = append(want, at)
			}
			at = at.Add(s.moving)
		default:
			at = answers[i].at.Truncate(time.Second).Add(s.moving)
		}
	}
	return want
}

// steps walks through a zone, once per zone.
func (y *year) steps(zone *time.Location, until time.Time) []walked {
	if y.walks[zone.String()] == nil {
		y.walks[zone.String()] = walk(zone, y.made.AddDate(0, 0, -5), until.AddDate(0, 0, 5))
	}
	return y.walks[zone.String()]
}
