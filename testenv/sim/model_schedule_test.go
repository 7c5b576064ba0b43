package sim

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// scheduleBase is the first instant of the model's schedules, which are due every minute. It is in
// the past, so that backfills may include every instant.
var scheduleBase = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// scheduleRun is a run of the model.
type scheduleRun struct {
	active, stopping, ended bool // ended: a pass has not accounted for the end yet
	lifecycle               string
}

// scheduleModel is the expected state of one schedule: a plain program that handles one instant
// after the other.
type scheduleModel struct {
	id                                  controldb.ScheduleID
	name, overlap                       string
	revision                            int
	enabled, paused, pauses, validated  bool
	next                                int // the next due instant, in minutes after scheduleBase
	runs                                map[int]*scheduleRun
	waiting                             map[int]bool // by instant; true: of a backfill
	skipped                             map[int]string
	executions, skips, overlaps, caught int64
	faults, counted                     int64
	limit                               int64 // 0: none
	completed                           bool
}

func (s *scheduleModel) active() bool {
	for _, r := range s.runs {
		if r.active {
			return true
		}
	}
	return false
}

// skip records an instant as skipped, unless it has a run or a record already.
func (s *scheduleModel) skip(at int, cause string) {
	if s.skipped[at] != "" || s.runs[at] != nil {
		return
	}
	s.skipped[at] = cause
	s.skips++
	switch cause {
	case "Overlap":
		s.overlaps++
	case "CatchUp":
		s.caught++
	}
}

// start creates a run. The count limit includes only runs that the schedule itself starts (D-P3).
func (s *scheduleModel) start(at int, backfill bool) {
	s.runs[at] = &scheduleRun{active: true}
	s.executions++
	if !backfill {
		s.counted++
	}
}

// fire handles instants in order, and returns the result of each.
func (s *scheduleModel) fire(instants []int, overlap string, backfill bool) (results []string) {
	var fresh []int
	for _, at := range instants {
		if _, waits := s.waiting[at]; s.runs[at] == nil && !waits {
			fresh = append(fresh, at)
		}
	}
	own := 0
	for _, b := range s.waiting {
		if !b {
			own++
		}
	}
	room := int64(len(instants)) + 1
	if s.limit > 0 && !backfill {
		room = s.limit - s.counted - int64(own)
	}
	for _, at := range instants {
		if room <= 0 {
			break
		}
		result := "Skipped"
		_, waits := s.waiting[at]
		busy := s.active() || len(s.waiting) > 0
		switch last := len(fresh) > 0 && at == fresh[len(fresh)-1]; {
		case s.runs[at] != nil || waits: // the instant has a run or waits already
		case overlap == "AllowAll" || overlap == "Elastic":
			result = controldb.FiredStarted
		case overlap == "CancelOther" || overlap == "TerminateOther":
			if !last {
				s.skip(at, "Overlap")
				break
			}
			for was := range s.waiting {
				delete(s.waiting, was)
				s.skip(was, "Overlap")
			}
			result = controldb.FiredStarted
			if overlap == "CancelOther" && s.active() {
				result = controldb.FiredBuffered
			}
			for _, r := range s.runs {
				r.stopping = r.stopping || r.active
			}
		case !busy:
			result = controldb.FiredStarted
		case overlap == "BufferAll" || overlap == "BufferOne" && len(s.waiting) == 0:
			result = controldb.FiredBuffered
		default:
			s.skip(at, "Overlap")
		}
		switch result {
		case controldb.FiredStarted:
			s.start(at, backfill)
			room--
		case controldb.FiredBuffered:
			s.waiting[at] = backfill
			room--
		}
		results = append(results, result)
	}
	if room <= 0 && !backfill {
		s.completed, s.validated = true, false // no due instant is left
	}
	return results
}

// dropWaiting skips the waiting instants, except those of backfills.
func (s *scheduleModel) dropWaiting(cause string) {
	for at, backfill := range s.waiting {
		if !backfill {
			delete(s.waiting, at)
			s.skip(at, cause)
		}
	}
}

// redefine applies a change of the schedule.
func (s *scheduleModel) redefine(cause string) {
	s.revision++
	s.validated, s.completed = false, false
	s.dropWaiting(cause)
}

// account applies a pass: it accounts for runs that have ended, then starts the runs that waited
// for them.
func (s *scheduleModel) account() {
	for _, r := range s.runs {
		if r.ended {
			r.ended = false
			if r.lifecycle == "Failed" || r.lifecycle == "TimedOut" {
				s.faults++
				if s.pauses && !s.paused {
					s.paused, s.validated = true, false
					s.dropWaiting("Paused")
				}
			}
		}
	}
	if len(s.waiting) > 0 && !s.active() {
		at := slices.Min(slices.Collect(maps.Keys(s.waiting)))
		backfill := s.waiting[at]
		delete(s.waiting, at)
		s.start(at, backfill)
	}
}

// text formats the model in the same way as the rows of the database.
func (s *scheduleModel) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "enabled %t paused %t executions %d skips %d/%d/%d faults %d;", s.enabled, s.paused, s.executions, s.skips, s.overlaps, s.caught, s.faults)
	for _, at := range slices.Sorted(maps.Keys(s.runs)) {
		r := s.runs[at]
		fmt.Fprintf(&b, " run %d %t", at, r.active)
		if r.active {
			fmt.Fprintf(&b, " %t", r.stopping)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(s.waiting)) {
		fmt.Fprintf(&b, " waits %d", at)
	}
	for _, at := range slices.Sorted(maps.Keys(s.skipped)) {
		fmt.Fprintf(&b, " skipped %d %s", at, s.skipped[at])
	}
	return b.String()
}

// schedulesModel drives several schedules of one job.
type schedulesModel struct {
	store *controldb.Store
	db    *sql.DB
	job   string
	term  controldb.TermID
	list  []*scheduleModel
}

var overlapPolicies = []string{"Skip", "BufferOne", "BufferAll", "CancelOther", "TerminateOther", "AllowAll", "Elastic"}

func instantOf(minute int) time.Time { return scheduleBase.Add(time.Duration(minute) * time.Minute) }

func (m *schedulesModel) any(t *rapid.T) *scheduleModel {
	return m.list[rapid.IntRange(0, len(m.list)-1).Draw(t, "schedule")]
}

// validate validates all schedules that wait for it.
func (m *schedulesModel) validate(t *rapid.T) {
	due, err := m.store.DueSchedules(t.Context(), 1000)
	require.NoError(t, err)
	var validations []controldb.Validation
	for _, d := range due.Unvalidated {
		for _, s := range m.list {
			if s.id == d.ID {
				require.Equal(t, s.revision, d.Revision)
				validations = append(validations, controldb.Validation{
					Schedule: d.ID, Revision: d.Revision, SeenDueAt: d.DueAt, Zone: "UTC", Engine: "1", NextDueAt: instantOf(s.next),
				})
				s.validated = s.enabled && !s.paused
			}
		}
	}
	_, err = m.store.RecordValidations(t.Context(), m.term, validations)
	require.NoError(t, err)
}

// fire starts runs for some of the next instants of a schedule, and skips some missed instants
// before them.
func (m *schedulesModel) fire(t *rapid.T) {
	s := m.any(t)
	missed, n := rapid.IntRange(0, 2).Draw(t, "missed"), rapid.IntRange(0, 4).Draw(t, "instants")
	if missed+n == 0 {
		n = 1
	}
	firing := controldb.Firing{Schedule: s.id, Revision: s.revision, DueAt: instantOf(s.next), Limit: s.limit, NextDueAt: instantOf(s.next + missed + n)}
	if missed > 0 {
		firing.Skips = []controldb.Skip{{DueAt: instantOf(s.next), Count: 1, Cause: controldb.SkipCatchUp, Reason: "missed"}}
		if missed == 2 {
			firing.Skips = append(firing.Skips, controldb.Skip{
				DueAt: instantOf(s.next + 1), Count: 1, Cause: controldb.SkipCatchUp, Reason: "missed",
			})
		}
	}
	var instants []int
	for i := range n {
		instants = append(instants, s.next+missed+i)
		firing.Runs = append(firing.Runs, instantOf(s.next+missed+i))
	}
	twice := rapid.Bool().Draw(t, "twice")
	fired, err := m.store.FireSchedules(t.Context(), m.term, []controldb.Firing{firing})
	require.NoError(t, err)
	if !s.validated {
		require.Len(t, fired, 1)
		require.Equal(t, controldb.FiredStale, fired[0].Result)
		return
	}
	var got []string
	for _, f := range fired {
		got = append(got, f.Result)
	}
	want := s.fire(instants, s.overlap, false)
	for i := range missed {
		s.skip(s.next+i, "CatchUp")
	}
	if n == 0 || s.completed && len(want) == 0 {
		if missed > 0 {
			want = []string{controldb.FiredSkipped} // one row for the firing
		}
	}
	require.Equal(t, want, got, "%s of %s: %v", s.name, s.overlap, instants)
	s.next += missed + n
	if twice {
		fired, err = m.store.FireSchedules(t.Context(), m.term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Len(t, fired, 1)
		require.Equal(t, controldb.FiredStale, fired[0].Result)
	}
}

// backfill backfills some instants of the past.
func (m *schedulesModel) backfill(t *rapid.T) {
	s := m.any(t)
	if s.next == 0 {
		return
	}
	overlap := rapid.SampledFrom(overlapPolicies).Draw(t, "overlap of the backfill")
	instants := rapid.SliceOfNDistinct(rapid.IntRange(0, s.next-1), 1, min(4, s.next), rapid.ID[int]).Draw(t, "instants")
	slices.Sort(instants)
	id, err := timetable.On(m.store).Backfill(t.Context(), timetable.BackfillRequest{
		JobName: m.job, Name: s.name, From: scheduleBase, To: instantOf(s.next), Overlap: overlap,
	})
	require.NoError(t, err)
	firing := controldb.Firing{Schedule: s.id, Backfill: id}
	for _, at := range instants {
		firing.Runs = append(firing.Runs, instantOf(at))
	}
	fired, err := m.store.FireSchedules(t.Context(), m.term, []controldb.Firing{firing})
	require.NoError(t, err)
	var got []string
	for _, f := range fired {
		got = append(got, f.Result)
	}
	require.Equal(t, s.fire(instants, overlap, true), got, "backfill of %s by %s: %v", s.name, overlap, instants)
}

// end ends an active run as a pass would.
func (m *schedulesModel) end(t *rapid.T) {
	s := m.any(t)
	var open []int
	for _, at := range slices.Sorted(maps.Keys(s.runs)) {
		if s.runs[at].active {
			open = append(open, at)
		}
	}
	if len(open) == 0 {
		return
	}
	r := s.runs[rapid.SampledFrom(open).Draw(t, "run")]
	at := open[slices.IndexFunc(open, func(at int) bool { return s.runs[at] == r })]
	r.active, r.ended = false, true
	r.lifecycle = rapid.SampledFrom([]string{"Canceled", "Canceled", "Failed", "TimedOut"}).Draw(t, "lifecycle")
	_, err := m.db.ExecContext(t.Context(), `UPDATE jobs_internal.job_executions SET lifecycle = @p1, is_active = 0, start_time = create_time, end_time = create_time
WHERE schedule_id = @p2 AND due_at = @p3;`, r.lifecycle, int64(s.id), instantOf(at).Format("2006-01-02T15:04:05"))
	require.NoError(t, err)
}

// pass accounts for runs that have ended, and starts the runs that waited for them.
func (m *schedulesModel) pass(t *rapid.T) {
	_, err := m.db.ExecContext(t.Context(), `EXEC jobs_internal.end_scheduled_runs; EXEC jobs_internal.start_buffered_runs;`)
	require.NoError(t, err)
	for _, s := range m.list {
		s.account()
	}
}

// change enables, disables, pauses, resumes or redefines a schedule.
func (m *schedulesModel) change(t *rapid.T) {
	s := m.any(t)
	ctx := t.Context()
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		on := rapid.Bool().Draw(t, "on")
		require.NoError(t, timetable.On(m.store).Enable(ctx, m.job, s.name, on))
		if on != s.enabled || on && s.completed {
			s.enabled = on
			s.redefine("Disabled")
		}
	case 1:
		paused := rapid.Bool().Draw(t, "paused")
		require.NoError(t, timetable.On(m.store).Pause(ctx, m.job, s.name, paused, ""))
		if paused != s.paused {
			s.paused = paused
			s.redefine("Paused")
		}
	case 2:
		s.overlap = rapid.SampledFrom(overlapPolicies).Draw(t, "overlap")
		require.NoError(t, timetable.On(m.store).Update(ctx, timetable.Spec{
			JobName: m.job, Name: s.name, Overlap: &s.overlap,
		}))
	case 3:
		zone := []string{"", "UTC"}[s.revision%2]
		was, err := timetable.On(m.store).List(ctx, timetable.Filter{JobName: m.job, Name: &s.name})
		require.NoError(t, err)
		require.Len(t, was, 1)
		other := "Asia/Tokyo"
		require.NoError(t, timetable.On(m.store).Update(ctx, timetable.Spec{
			JobName: m.job, Name: s.name, TimeZone: &other,
		}))
		require.NoError(t, timetable.On(m.store).Update(ctx, timetable.Spec{
			JobName: m.job, Name: s.name, TimeZone: &zone,
		}))
		s.redefine("Changed")
		s.redefine("Changed")
	}
}

// check compares the model with the database.
func (m *schedulesModel) check(t *rapid.T) {
	got, buffered := map[controldb.ScheduleID]*scheduleModel{}, map[controldb.ScheduleID]int64{}
	list, err := timetable.On(m.store).List(t.Context(), timetable.Filter{JobName: m.job, NamedOnly: true})
	require.NoError(t, err)
	for _, s := range list {
		buffered[s.ID] = s.Buffered
		got[s.ID] = &scheduleModel{
			enabled: s.Enabled, paused: s.Paused, executions: s.Executions, overlaps: s.SkippedByOverlap, caught: s.SkippedByCatchUp, faults: s.Faults,
			skips: s.SkippedByOverlap + s.SkippedByCatchUp + s.SkippedOtherwise,
			runs:  map[int]*scheduleRun{}, waiting: map[int]bool{}, skipped: map[int]string{},
		}
	}
	rows, err := m.db.QueryContext(t.Context(), `SELECT x.schedule_id, x.kind, DATEDIFF(MINUTE, '2020-01-01', x.due_at), x.flag, x.cause FROM (
SELECT e.schedule_id, 1 AS kind, e.due_at, e.is_active + CASE WHEN e.stop_requested_at IS NULL THEN 0 ELSE 2 END AS flag, N'' AS cause FROM jobs_internal.job_executions AS e WHERE e.schedule_id IS NOT NULL
UNION ALL SELECT b.schedule_id, 2, b.due_at, 0, N'' FROM jobs_internal.schedule_buffer AS b
UNION ALL SELECT k.schedule_id, 3, k.due_at, k.skipped, k.cause FROM jobs_internal.schedule_skips AS k) AS x;`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var (
			id             controldb.ScheduleID
			kind, at, flag int
			cause          string
		)
		require.NoError(t, rows.Scan(&id, &kind, &at, &flag, &cause))
		s := got[id]
		if s == nil {
			continue // a run of another job
		}
		switch kind {
		case 1:
			s.runs[at] = &scheduleRun{active: flag&1 != 0, stopping: flag&2 != 0}
		case 2:
			s.waiting[at] = false
		default:
			require.Equal(t, 1, flag)
			s.skipped[at] = cause
		}
	}
	require.NoError(t, rows.Err())
	for _, s := range m.list {
		require.Equal(t, s.text(), got[s.id].text(), "%s", s.name)
		require.EqualValues(t, len(s.waiting), buffered[s.id], "%s", s.name)
	}
}

// TestScheduleModel makes random calls on schedules with every overlap policy, and compares the
// control database with the model after each call.
func TestScheduleModel(t *testing.T) {
	const password = "Only-4-tests"
	server, err := tsqld.New(tsqld.Config{SAPassword: password})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.WithoutCancel(t.Context()))) })
	connector := func(database string) *mssql.Connector {
		c, err := mssql.NewConnector("sqlserver://sa:"+password+"@tsqld?encrypt=disable&database="+database, server.Dialer())
		require.NoError(t, err)
		return c
	}
	require.NoError(t, server.CreateFrom(t.Context(), "control", testenv.Installed(t)))
	store, err := controldb.New(controldb.Config{Connector: connector("control"), ServerName: "tsqld"})
	require.NoError(t, err)
	defer store.Close()
	db := sql.OpenDB(connector("control"))
	defer db.Close()
	_, err = targetgroups.On(store).Add(t.Context(), "g")
	require.NoError(t, err)
	term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 1}, 24*time.Hour)
	require.NoError(t, err)
	number := 0
	rapid.Check(t, func(rt *rapid.T) {
		number++
		m := &schedulesModel{store: store, db: db, job: fmt.Sprint("job ", number), term: term.ID}
		_, err := catalog.On(store).AddJob(rt.Context(), jobmodel.JobSpec{Name: m.job})
		require.NoError(rt, err)
		_, err = catalog.On(store).AddJobStep(rt.Context(), jobmodel.StepSpec{JobName: m.job, Command: new("SELECT 1;"), TargetGroup: new("g")})
		require.NoError(rt, err)
		for i := range 2 {
			s := &scheduleModel{
				name: fmt.Sprint("schedule ", i), overlap: rapid.SampledFrom(overlapPolicies).Draw(rt, "overlap"), revision: 2, enabled: true,
				pauses: rapid.Bool().Draw(rt, "pause on failure"), limit: rapid.SampledFrom([]int64{0, 0, 8}).Draw(rt, "count"),
				runs: map[int]*scheduleRun{}, waiting: map[int]bool{}, skipped: map[int]string{},
			}
			s.id, err = timetable.On(store).Add(rt.Context(), timetable.Spec{
				JobName: m.job, Name: s.name, Kind: new("cron5"), Spec: new("* * * * *"), Overlap: &s.overlap, PauseOnFailure: &s.pauses,
			})
			require.NoError(rt, err)
			m.list = append(m.list, s)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"validate": m.validate, "validate again": m.validate, "fire": m.fire, "fire again": m.fire, "fire once more": m.fire, "backfill": m.backfill,
			"end": m.end, "end again": m.end, "end once more": m.end, "pass": m.pass, "pass again": m.pass, "change": m.change,
			"": m.check,
		})
		found, err := invariant.Find(rt.Context(), db, false)
		require.NoError(rt, err)
		found = slices.DeleteFunc(found, func(v invariant.Violation) bool {
			return v.Check == "I06_parents_follow_children" // the runs of this test have no steps
		})
		require.Empty(rt, found)
	})
}
