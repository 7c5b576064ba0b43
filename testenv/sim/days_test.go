package sim

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

var (
	daysSeed = flag.Uint64("sim.seed", 0, "seed of the simulation; 0: a new one")
	daysLong = flag.Float64("sim.days", 0.12, "days to simulate")
)

// daysConfig makes idle agents poll rarely, because the polls are not under test.
var daysConfig = agent.Config{
	MaxConcurrentTargets: 6, Lease: 90 * time.Second, PollIdle: 20 * time.Second, PollActive: 10 * time.Second, Grace: 30 * time.Second,
}

// atMostOnce is the name of the job whose steps have at_most_once.
const atMostOnce = "at most once"

// scheduled lists the jobs of the simulation.
var scheduled = []struct {
	name    string
	minutes int // of the interval; 60 is an interval of one hour
	retries int
	scripts []string
}{
	{name: "short", minutes: 7, retries: 3, scripts: []string{WriteLedger}},
	{name: "two steps", minutes: 20, retries: 5, scripts: []string{WriteLedger, WriteLedger}},
	{name: "slow", minutes: 30, retries: 2, scripts: []string{"WAITFOR DELAY '00:04:00'; " + WriteLedger}},
	{name: "flaky", minutes: 45, retries: 2, scripts: []string{WriteLedger + " IF @@SPID % 3 = 0 THROW 50001, N'no luck', 1;"}},
	{name: "overlapping", minutes: 10, retries: 1, scripts: []string{WriteLedger + " WAITFOR DELAY '00:12:00';"}},
	{name: atMostOnce, minutes: 9, retries: 4, scripts: []string{WriteLedger, WriteLedger}},
	{name: "hourly", minutes: 60, retries: 10, scripts: []string{WriteLedger, "WAITFOR DELAY '00:00:30'; " + WriteLedger}},
}

// simulation is one run of TestDays.
type simulation struct {
	*World
	t *testing.T

	mu  sync.Mutex // guards rng, since agents call plan from several goroutines
	rng *rand.Rand

	agents []*Agent
	counts map[string]int // of events
}

// chance returns true with probability p.
func (s *simulation) chance(p float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.Float64() < p
}

// pick returns a number in [0, n).
func (s *simulation) pick(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

// between returns a duration in [low, high).
func (s *simulation) between(low, high time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return low + time.Duration(s.rng.Int64N(int64(high-low)))
}

// plan makes one call in two hundred fail, in a random way.
func (s *simulation) plan(fault.Call) fault.Kind {
	if !s.chance(0.005) {
		return fault.None
	}
	return fault.Kinds[s.pick(len(fault.Kinds))]
}

// startAgent starts a new agent at index i.
func (s *simulation) startAgent(i int) { s.agents[i] = s.StartAgent(s.t, daysConfig, s.plan) }

// The calendars of windows of databases.
const halfHours, quarters = "half hours", "quarters"

// windowsOf is a calendar with a window every few minutes from a time of the first day on, which is
// so many minutes long.
func windowsOf(start string, every, minutes int) string {
	day := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	return fmt.Sprintf(`{"startTime": "%sT%s", "rrule": "FREQ=MINUTELY;INTERVAL=%d", "duration": "PT%dM"}`, day, start, every, minutes)
}

// event injects one random fault or command, and ends the fault. It may take minutes.
func (s *simulation) event() {
	i := s.pick(len(s.agents))
	a := s.agents[i]
	heal := func() {
		for _, a := range s.agents {
			a.Control.Heal()
			a.Targets.Heal()
		}
	}
	var name string
	switch s.pick(14) {
	case 0:
		name = "kill"
		a.Kill()
		<-time.After(s.between(time.Second, 5*time.Minute))
		s.startAgent(i)
	case 1:
		name = "stop"
		_ = a.Stop() // the agent may have ended already
		<-time.After(s.between(0, time.Minute))
		s.startAgent(i)
	case 2:
		name = "cut control"
		a.Control.Cut()
		<-time.After(s.between(time.Second, 5*time.Minute))
		heal()
	case 3:
		name = "silence control"
		a.Control.Silence()
		<-time.After(s.between(time.Second, 5*time.Minute))
		heal()
	case 4:
		name = "cut targets"
		a.Targets.Cut()
		<-time.After(s.between(time.Second, 30*time.Second))
		heal()
	case 5:
		name = "control database unreachable"
		for _, a := range s.agents {
			a.Control.Cut()
		}
		<-time.After(s.between(5*time.Second, 20*time.Minute))
		heal()
	case 6:
		name = "start"
		_, err := executions.On(s.Store).StartJob(s.t.Context(), scheduled[s.pick(len(scheduled))].name, uuid.Nil)
		require.NoError(s.t, err)
	case 7:
		name = "stop run"
		runs, err := executions.On(s.Store).List(s.t.Context(), executions.Query{System: true, Filter: executions.Filter{Active: new(true)}}, controldb.Page[executions.Key]{})
		require.NoError(s.t, err)
		if len(runs) > 0 {
			require.NoError(s.t, executions.On(s.Store).Stop(s.t.Context(), runs[s.pick(len(runs))].ID))
		}
	case 8:
		name = "pause database"
		p := holds.Pause{Server: s.Env.ServerName, Database: s.Targets[s.pick(len(s.Targets))], Until: time.Now().Add(s.between(time.Minute, 40*time.Minute))}
		require.NoError(s.t, holds.On(s.Store).SetPause(s.t.Context(), p))
	case 9:
		name = "resume database"
		if list, err := holds.On(s.Store).Pauses(s.t.Context(), controldb.Page[uuid.UUID]{}); err == nil && len(list) > 0 {
			p := list[s.pick(len(list))]
			require.NoError(s.t, holds.On(s.Store).Resume(s.t.Context(), p.Server, p.Database, p.Target))
		}
	case 10:
		name = "tag database"
		tags := targetgroups.TargetTags{Server: s.Env.ServerName, Database: s.Targets[s.pick(len(s.Targets))], Tags: map[string]*string{"tier": nil, "zone": nil}}
		if s.chance(0.6) {
			tags.Tags["tier"], tags.Tags["zone"] = new("gold"), new([]string{"UTC", "Asia/Kathmandu", "Australia/Lord_Howe"}[s.pick(3)])
		}
		_, err := targetgroups.On(s.Store).SetTags(s.t.Context(), []targetgroups.TargetTags{tags}, false)
		require.NoError(s.t, err)
	case 11:
		name = "change window"
		w := holds.Window{Name: "gold", TagFilter: "tier = 'gold'", Calendar: halfHours, Blackouts: []string{"", quarters}[s.pick(2)], ZoneTag: "zone"}
		if s.chance(0.3) { // all databases have one more, or none
			w = holds.Window{Name: "all", TagFilter: "none IS NULL", Blackouts: quarters}
		}
		if list, err := holds.On(s.Store).Windows(s.t.Context(), controldb.Page[string]{}); w.Name == "all" && err == nil && list[0].Name == w.Name {
			require.NoError(s.t, holds.On(s.Store).DeleteWindow(s.t.Context(), w.Name))
		} else {
			require.NoError(s.t, holds.On(s.Store).SetWindow(s.t.Context(), w))
		}
	case 12:
		name = "change calendar"
		require.NoError(s.t, timetable.On(s.Store).UpdateCalendar(s.t.Context(), halfHours, windowsOf("00:03:00", 30, 10+s.pick(19))))
	case 13:
		name = "start without regard to windows"
		_, err := executions.On(s.Store).Start(s.t.Context(), executions.StartRequest{Job: scheduled[s.pick(len(scheduled))].name, IgnoreWindows: true})
		require.NoError(s.t, err)
	}
	s.counts[name]++
	for _, a := range s.agents {
		require.False(s.t, a.Ended(), "an agent has ended")
	}
}

// TestDays runs schedules with three agents for days of virtual time. Meanwhile agents are killed,
// stopped and cut off, and the control database becomes unreachable. At the end all faults are
// healed, all runs must end, and the audit must find no lost and no repeated work, and no lost and
// no repeated run of a trigger.
func TestDays(t *testing.T) {
	testenv.Long(t)
	seed := *daysSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with -sim.seed=%d -sim.days=%g", seed, *daysLong)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{
			World: NewWorld(t, 3), t: t, rng: rand.New(rand.NewPCG(seed, 0)), agents: make([]*Agent, 3), counts: map[string]int{},
		}
		for _, j := range scheduled {
			s.AddJob(t, j.name, j.scripts, Retries(j.retries, 20))
			enabled, kind, count := true, "Minutes", j.minutes
			if j.minutes == 60 {
				kind, count = "Hours", 1
			}
			require.NoError(t, catalog.On(s.Store).UpdateJob(t.Context(), jobmodel.JobSpec{
				Name: j.name, Enabled: &enabled, IntervalType: &kind, IntervalCount: &count,
			}))
		}
		s.addTriggered()
		for step := range 2 {
			yes, id := true, step+1
			_, err := catalog.On(s.Store).UpdateJobStep(t.Context(), jobmodel.StepSpec{
				JobName: atMostOnce, StepID: &id, AtMostOnce: &yes,
			})
			require.NoError(t, err)
		}
		// Limits that are reached now and then. The invariant checks find limits that are exceeded.
		for _, l := range []jobmodel.Limit{
			{Scope: jobmodel.LimitServer, Name: "*", Max: 7}, {Scope: jobmodel.LimitJob, Name: "slow", Max: 2},
			{Scope: jobmodel.LimitCredential, Name: "(default)", Max: 8},
		} {
			require.NoError(t, settings.On(s.Store).SetLimit(t.Context(), l))
		}
		// One database has a window of 25 minutes twice an hour, another one blackouts. The
		// invariant checks find attempts outside.
		require.NoError(t, timetable.On(s.Store).AddCalendar(t.Context(), halfHours, windowsOf("00:03:00", 30, 25)))
		require.NoError(t, timetable.On(s.Store).AddCalendar(t.Context(), quarters, windowsOf("00:10:00", 15, 4)))
		_, err := targetgroups.On(s.Store).SetTags(t.Context(), []targetgroups.TargetTags{{Server: s.Env.ServerName, Database: s.Targets[0], Tags: map[string]*string{"tier": new("gold")}}}, false)
		require.NoError(t, err)
		require.NoError(t, holds.On(s.Store).SetWindow(t.Context(), holds.Window{Name: "gold", TagFilter: "tier = 'gold'", Calendar: halfHours}))
		require.NoError(t, holds.On(s.Store).SetWindow(t.Context(), holds.Window{Name: "one", Server: s.Env.ServerName, Database: s.Targets[1], Blackouts: quarters, Zone: "Australia/Lord_Howe"}))
		for i := range s.agents {
			s.startAgent(i)
		}
		length := time.Duration(*daysLong * 24 * float64(time.Hour))
		n := 0
		for end := time.Now().Add(length); time.Now().Before(end); n++ {
			<-time.After(s.between(time.Second, 25*time.Minute))
			s.event()
			if n%8 == 0 { // the checks read the whole history
				s.CheckInvariants(t, s.Control, false)
			}
			if t.Failed() {
				t.Fatalf("after %s", fmt.Sprint(s.counts))
			}
		}
		for i, a := range s.agents { // the last hour has no faults
			_ = a.Stop()
			s.agents[i] = s.StartAgent(t, daysConfig, nil)
		}
		<-time.After(time.Hour)
		s.Check(t, false) // before disabling, which deletes the stored instants of the schedules
		disabled := time.Now()
		for _, j := range scheduled {
			enabled := false
			require.NoError(t, catalog.On(s.Store).UpdateJob(t.Context(), jobmodel.JobSpec{Name: j.name, Enabled: &enabled}))
		}
		for limit := time.Now().Add(6 * time.Hour); ; <-time.After(time.Minute) {
			runs, err := executions.On(s.Store).List(t.Context(), executions.Query{System: true, Filter: executions.Filter{Active: new(true)}}, controldb.Page[executions.Key]{})
			require.NoError(t, err)
			if len(runs) == 0 && s.ready() == 0 {
				break
			}
			require.True(t, time.Now().Before(limit), "%d runs are still active", len(runs))
		}
		s.Check(t, true)
		var audit Audit
		control, ledgers := s.DB(t, s.Control), map[string]*sql.DB{}
		for _, name := range s.Targets {
			ledgers[name] = s.DB(t, name)
		}
		AuditLedgers(t, &audit, control, ledgers)
		for _, j := range scheduled {
			AuditSchedule(t, &audit, control, j.name, time.Duration(j.minutes)*time.Minute, disabled)
		}
		t.Logf("triggers started %d runs", auditTriggers(t, control))
		t.Logf("events: %v", s.counts)
		t.Logf("audit: %s", audit)
	})
	if t.Failed() {
		t.Logf("replay with -sim.seed=%d -sim.days=%g", seed, *daysLong)
	}
}
