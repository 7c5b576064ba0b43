package agent_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	actionhttp "github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/testenv"
)

// sapFixture is a control database with jobs of the SAP surface, whose actions an endpoint in
// memory receives.
type sapFixture struct {
	*actionFixture
	scope sap.Scope

	mu      sync.Mutex
	tenants map[string]targets.Tenant // of the attempts, by schedule
}

// tenantRunner records the tenants of attempts.
type tenantRunner struct {
	targets.ActionRunner
	f *sapFixture
}

// Run implements targets.ActionRunner.
func (r tenantRunner) Run(ctx context.Context, a targets.ActionAttempt) targets.Result {
	r.f.mu.Lock()
	r.f.tenants[a.ScheduleID] = a.Tenant
	r.f.mu.Unlock()
	return r.ActionRunner.Run(ctx, a)
}

// sapBubble runs a test of the SAP surface in virtual time. The handler gets the path of the
// action. Hosts that begin with no- do not exist.
func sapBubble(t *testing.T, handler func(f *sapFixture, w http.ResponseWriter, r *http.Request), fn func(t *testing.T, f *sapFixture)) {
	t.Helper()
	f := &sapFixture{scope: sap.Provider(), tenants: map[string]targets.Tenant{}}
	actionBubble(t, 0, func(w http.ResponseWriter, r *http.Request) { handler(f, w, r) }, func(t *testing.T, a *actionFixture) {
		f.actionFixture = a
		require.NoError(t, sap.On(f.Store).SetProvider(t.Context(), "p", "provider", ""))
		require.NoError(t, sap.On(f.Store).Subscribe(t.Context(), "t1", "sub-t1", "app"))
		fn(t, f)
	})
}

// noHost resolves names that begin with no- to nothing.
type noHost struct{}

// LookupNetIP implements outbound.Resolver.
func (noHost) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasPrefix(host, "no-") {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// start starts an agent for the jobs of the SAP surface.
func (f *sapFixture) start(t *testing.T) (stop func()) {
	t.Helper()
	return f.startAgent(t, agent.Config{}, func(a *agent.Actions) {
		network, err := outbound.New(outbound.Config{Dialer: f.endpoint.Dial, Resolver: noHost{}})
		require.NoError(t, err)
		runner := actionhttp.NewRunner(network, actionhttp.Config{Version: "test"})
		a.Runners[action.TypeHTTP], a.FrontURL = tenantRunner{runner, f}, "https://front.example/base/"
	})
}

var sapBy = sap.Write{By: "tester"}

// now is a schedule that runs once, at once.
func now(data string) sap.ScheduleSpec {
	return sap.ScheduleSpec{Mode: sap.Time, Spec: `{"time":"now"}`, Active: true, Data: data}
}

// job creates a job and returns its id and the ids of its schedules.
func (f *sapFixture) job(t *testing.T, scope sap.Scope, name, action, method string, schedules ...sap.ScheduleSpec) (int64, []uuid.UUID) {
	t.Helper()
	res, err := sap.On(f.Store).CreateJob(t.Context(), scope, sapBy, sap.JobSpec{
		Name: name, Action: action, Method: method, Active: true, AllowHTTP: true, Schedules: schedules,
	})
	require.NoError(t, err)
	return res.Job, res.Schedules
}

// runs returns the log of a schedule.
func (f *sapFixture) runs(t *testing.T, job int64, schedule uuid.UUID) []sap.Run {
	t.Helper()
	res, err := sap.On(f.Store).Runs(t.Context(), f.scope, job, schedule, sap.RunQuery{Events: true})
	require.NoError(t, err)
	require.Len(t, res.List, res.Total)
	return res.List
}

// reaches waits until the log has n runs and the newest one has the state, and returns it.
func (f *sapFixture) reaches(t *testing.T, job int64, schedule uuid.UUID, n int, state string) sap.Run {
	t.Helper()
	var list []sap.Run
	for range 600 {
		if list = f.runs(t, job, schedule); len(list) == n && list[0].State == state {
			return list[0]
		}
		f.pause(t, 100*time.Millisecond)
	}
	require.Fail(t, "the run did not reach the state", "want %d runs and %s, got %+v", n, state, list)
	return sap.Run{}
}

// pause lets virtual time pass.
func (f *sapFixture) pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test was canceled")
	}
}

// types returns the states that a run has passed.
func types(run sap.Run) (list []string) {
	for _, e := range run.Events {
		list = append(list, e.Type)
	}
	return list
}

// reply answers by the path.
func reply(_ *sapFixture, w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ok":
		_, _ = io.WriteString(w, "the body")
	case "/302":
		w.Header().Set("Location", "http://elsewhere.example.com/")
		w.WriteHeader(http.StatusFound)
	case "/404":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "Cannot PUT /404")
	case "/500":
		w.WriteHeader(http.StatusInternalServerError)
	case "/202":
		w.WriteHeader(http.StatusAccepted)
	case "/cut":
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = c.Close()
		}
	case "/silent":
		<-r.Context().Done()
	}
}

func TestSAPRunStates(t *testing.T) {
	testenv.Long(t)
	sapBubble(t, reply, func(t *testing.T, f *sapFixture) {
		f.start(t)
		for _, c := range []struct {
			name, url, state, text string
			status                 int
			passed                 []string
		}{
			{"58 an answer of 200", "https://h.example/ok", "SUCCESS", "the body", 200, []string{"SCHEDULED", "TRIGGERED", "SUCCESS"}},
			{"58 a redirect, which is not followed", "https://h.example/302", "SUCCESS", "", 302, []string{"SCHEDULED", "TRIGGERED", "SUCCESS"}},
			{"60 an unknown host", "https://no-host.example/", "REQUEST_ERROR", "Request Error: Code:-ENOTFOUND, Message:-", 0, []string{"SCHEDULED", "REQUEST_ERROR"}},
			{"62 a connection that is closed after the request", "https://h.example/cut", "REQUEST_ERROR", "Request Error: Code:-ECONNRESET, Message:-", 0, []string{"SCHEDULED", "TRIGGERED", "REQUEST_ERROR"}},
			{"S-32 a status of 404", "https://h.example/404", "REQUEST_ERROR", "Response: Cannot PUT /404", 404, []string{"SCHEDULED", "TRIGGERED", "REQUEST_ERROR"}},
			{"68 a status of 500", "https://h.example/500", "ERROR", "", 500, []string{"SCHEDULED", "TRIGGERED", "ERROR"}},
			{"S-32 an answer of 202", "https://h.example/202", "ACK_RECVD", "", 202, []string{"SCHEDULED", "TRIGGERED", "ACK_RECVD"}},
			{"S-34 no answer in 15 s", "https://h.example/silent", "ACK_NOT_RECVD", "Request Error: Code:-ETIMEDOUT, Message:-", 0, []string{"SCHEDULED", "TRIGGERED", "ACK_NOT_RECVD"}},
		} {
			before := len(f.endpoint.Requests())
			job, ids := f.job(t, f.scope, strings.NewReplacer("-", " ", ",", "").Replace(c.name), strings.Replace(c.url, "https", "http", 1), "PUT", now(""))
			run := f.reaches(t, job, ids[0], 1, c.state)
			require.Equal(t, c.status, run.HTTPStatus, c.name)
			require.Contains(t, run.Text, c.text, c.name)
			require.Equal(t, c.passed, types(run), c.name)
			wantRequests := 1
			if c.state == "REQUEST_ERROR" && !strings.Contains(strings.Join(c.passed, " "), "TRIGGERED") {
				wantRequests = 0
			}
			require.Len(t, f.endpoint.Requests(), before+wantRequests, c.name)
			status := map[string]string{"ACK_RECVD": "RUNNING", "ACK_NOT_RECVD": "RUNNING"}[run.State]
			if status == "" {
				status = "COMPLETED"
			}
			require.Equal(t, status, run.Status, c.name)
			require.Equal(t, status == "COMPLETED", !run.CompletedAt.IsZero(), c.name)

			// 68: the schedule is over; the job stays active.
			schedules, _, err := sap.On(f.Store).Schedules(t.Context(), f.scope, job, uuid.Nil, sap.Page{})
			require.NoError(t, err)
			require.False(t, schedules[0].Active)
			require.True(t, schedules[0].NextRunAt.IsZero())
			got, err := sap.On(f.Store).Job(t.Context(), f.scope, sap.JobRef{ID: job})
			require.NoError(t, err)
			require.True(t, got.Active)
			log, _, err := sap.On(f.Store).Actions(t.Context(), f.scope, job, ids[0])
			require.NoError(t, err)
			require.Len(t, log, 1)
			require.Equal(t, "DEACTIVATION_ON_COMPLETION", log[0].Action)
		}
	})
}

// TestSAPRequests is about cases 64 and 66, and S-50.
func TestSAPRequests(t *testing.T) {
	sapBubble(t, reply, func(t *testing.T, f *sapFixture) {
		f.start(t)
		data := `{"a":1,"b":[1,2],"c":{"d":null},"e":"x y"}`
		job, ids := f.job(t, sap.Subscriber("t1"), "get", "http://h.example/ok?k=v", "GET", now(data))
		run := f.reaches(t, job, ids[0], 1, "SUCCESS")
		r := f.endpoint.Requests()[0]
		require.Equal(t, "/ok?k=v&a=1&b=1&b=2&c=%7B%22d%22%3Anull%7D&e=x+y", r.Path, "64")
		require.Empty(t, r.Body)
		require.Equal(t, []string{fmt.Sprint(job), ids[0].String(), run.ID.String(), "https://front.example/base"},
			[]string{r.Header.Get("x-sap-job-id"), r.Header.Get("x-sap-job-schedule-id"), r.Header.Get("x-sap-job-run-id"), r.Header.Get("x-sap-scheduler-host")}, "66")
		due, err := time.Parse(time.DateTime, r.Header.Get("x-sap-run-at"))
		require.NoError(t, err)
		require.WithinDuration(t, run.ScheduledAt, due, 5*time.Second)
		require.Equal(t, []string{"application/json", "application/json", "jobagent/test"},
			[]string{r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("User-Agent")})
		require.NotEmpty(t, r.Header.Get("Traceparent"))

		job, ids = f.job(t, f.scope, "post", "http://h.example/ok", "POST", now(data))
		f.reaches(t, job, ids[0], 1, "SUCCESS")
		require.Equal(t, data, f.endpoint.Requests()[1].Body)
		job, ids = f.job(t, f.scope, "bare", "http://h.example/ok", "PUT", now(""))
		f.reaches(t, job, ids[0], 1, "SUCCESS")
		require.Equal(t, "{}", f.endpoint.Requests()[2].Body, "S-50")
	})
}

// TestSAPTenantOfRuns: a run calls its endpoint with a token for the job's tenant, also if another
// caller has changed the job (case 100).
func TestSAPTenantOfRuns(t *testing.T) {
	sapBubble(t, reply, func(t *testing.T, f *sapFixture) {
		job, ids := f.job(t, sap.Subscriber("t1"), "j", "http://h.example/ok", "POST", now(""))
		_, err := sap.On(f.Store).UpdateJob(t.Context(), f.scope, sapBy, job, sap.JobChange{Description: ptr("changed by the provider")})
		require.NoError(t, err)
		own, ownIDs := f.job(t, f.scope, "own", "http://h.example/ok", "POST", now(""))
		f.start(t)
		f.reaches(t, job, ids[0], 1, "SUCCESS")
		f.reaches(t, own, ownIDs[0], 1, "SUCCESS")
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Equal(t, map[string]targets.Tenant{
			ids[0].String(): {ID: "t1", Subdomain: "sub-t1"}, ownIDs[0].String(): {ID: "p", Subdomain: "provider"},
		}, f.tenants)
	})
}

// TestSAPReports is about reports on runs: cases 74, 76, 80, 82, 86 and 88, and S-38 to S-41.
func TestSAPReports(t *testing.T) {
	testenv.Long(t)
	type reported struct{ success bool }
	reports := map[string]reported{"/true": {true}, "/false": {false}}
	handler := func(f *sapFixture, w http.ResponseWriter, r *http.Request) {
		if want, ok := reports[r.URL.Path]; ok { // the application reports before it answers
			job := int64(0)
			_, _ = fmt.Sscan(r.Header.Get("x-sap-job-id"), &job)
			err := sap.On(f.Store).ReportRun(r.Context(), sap.Subscriber("t1"), job, uuid.MustParse(r.Header.Get("x-sap-job-schedule-id")),
				uuid.MustParse(r.Header.Get("x-sap-job-run-id")), callbacks.Report{Success: want.success, Message: "early", By: "app"})
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
			return
		}
		reply(f, w, r)
	}
	sapBubble(t, handler, func(t *testing.T, f *sapFixture) {
		stop := f.start(t)
		t1 := sap.Subscriber("t1")
		report := func(scope sap.Scope, job int64, schedule, run uuid.UUID, success bool, message string) error {
			return sap.On(f.Store).ReportRun(t.Context(), scope, job, schedule, run, callbacks.Report{Success: success, Message: message, By: "app"})
		}
		job, ids := f.job(t, t1, "case 74", "http://h.example/202", "POST", now(""))
		run := f.reaches(t, job, ids[0], 1, "ACK_RECVD")
		other, otherIDs := f.job(t, f.scope, "other", "http://h.example/202", "POST", now(""))
		otherRun := f.reaches(t, other, otherIDs[0], 1, "ACK_RECVD")
		for name, err := range map[string]error{
			"another tenant":   report(sap.Subscriber("t2"), job, ids[0], run.ID, true, "m"),
			"another job":      report(t1, other, ids[0], run.ID, true, "m"),
			"another schedule": report(f.scope, job, otherIDs[0], run.ID, true, "m"),
			"another run":      report(t1, job, ids[0], otherRun.ID, true, "m"),
			"no such run":      report(t1, job, ids[0], uuid.New(), true, "m"),
		} {
			require.ErrorIs(t, err, dberror.ErrSAPNotFound, name)
		}
		require.NoError(t, report(t1, job, ids[0], run.ID, true, "m"), "74")
		got := f.runs(t, job, ids[0])[0]
		require.Equal(t, []any{"COMPLETED", "SUCCESS", "m", 202, false}, []any{got.Status, got.State, got.Text, got.HTTPStatus, got.CompletedAt.IsZero()}, "74: before the next pass")
		rows := f.ended(t, run.ID, time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
		require.NoError(t, report(t1, job, ids[0], run.ID, true, "m"), "S-38")
		require.ErrorIs(t, report(t1, job, ids[0], run.ID, false, "m"), dberror.ErrCallbackEnded, "80")
		require.Equal(t, "SUCCESS", f.runs(t, job, ids[0])[0].State, "80")

		// 76: the report counts, whatever the answer is.
		for path, state := range map[string]string{"/true": "SUCCESS", "/false": "ERROR"} {
			job, ids := f.job(t, t1, "76 "+path[1:], "http://h.example"+path, "POST", now(""))
			run := f.reaches(t, job, ids[0], 1, state)
			require.Equal(t, "early", run.Text, path)
			require.Equal(t, 200, run.HTTPStatus, path)
		}

		// S-39: the next run has not begun.
		later := sap.ScheduleSpec{Mode: sap.Time, Spec: `{"time":"in 2 hours"}`, Active: true}
		job, ids = f.job(t, t1, "later", "http://h.example/202", "POST", later)
		next := f.reaches(t, job, ids[0], 1, "SCHEDULED")
		require.ErrorIs(t, report(t1, job, ids[0], next.ID, true, "m"), dberror.ErrSAPRunNotStarted)
		run = f.reaches(t, other, otherIDs[0], 1, "ACK_RECVD")

		// 82 and 86: the time passes while no agent runs.
		_, err := sap.On(f.Store).SetTimeout(t.Context(), f.scope, sapBy, 600)
		require.NoError(t, err)
		job, ids = f.job(t, t1, "case 82", "http://h.example/202", "POST", now(""))
		run = f.reaches(t, job, ids[0], 1, "ACK_RECVD")
		callback, err := callbacks.On(f.Store).OfRun(t.Context(), run.ID)
		require.NoError(t, err)
		require.WithinDuration(t, callback[0].OpenedAt.Add(10*time.Minute), callback[0].DeadlineAt, time.Minute, "48")
		former, err := callbacks.On(f.Store).OfRun(t.Context(), otherRun.ID)
		require.NoError(t, err)
		require.WithinDuration(t, former[0].OpenedAt.Add(7*24*time.Hour), former[0].DeadlineAt, time.Minute, "48")
		stop()
		calls := len(f.endpoint.Requests())
		f.pause(t, time.Hour)
		require.Equal(t, "ACK_RECVD", f.runs(t, job, ids[0])[0].State)
		f.start(t)
		run = f.reaches(t, job, ids[0], 1, "UNKNOWN")
		require.Len(t, f.endpoint.Requests(), calls, "86")
		require.ErrorIs(t, report(t1, job, ids[0], run.ID, true, "too late"), dberror.ErrCallbackEnded, "82")
		run = f.runs(t, job, ids[0])[0]
		require.Equal(t, "UNKNOWN", run.State)
		require.Contains(t, run.Text, "too late", "82")
		require.Equal(t, []string{"SCHEDULED", "TRIGGERED", "ACK_RECVD", "UNKNOWN", "UNKNOWN"}, types(run))

		// 88: the job of a waiting run is deleted.
		_, err = sap.On(f.Store).DeleteJob(t.Context(), f.scope, sapBy, other)
		require.NoError(t, err)
		require.ErrorIs(t, report(f.scope, other, otherIDs[0], otherRun.ID, true, "m"), dberror.ErrSAPNotFound, "88")
	})
}

// TestSAPReruns is about the id of the next run (S-31), and case 16: a one-time schedule that has
// run is run again by a change.
func TestSAPReruns(t *testing.T) {
	testenv.Long(t)
	sapBubble(t, reply, func(t *testing.T, f *sapFixture) {
		f.start(t)
		job, ids := f.job(t, f.scope, "case 16", "http://h.example/ok", "POST", now(""))
		first := f.reaches(t, job, ids[0], 1, "SUCCESS")
		res, err := sap.On(f.Store).UpdateSchedule(t.Context(), f.scope, sapBy, job, ids[0], sap.ScheduleChange{
			Mode: sap.Time, Spec: ptr(`{"time":"now"}`), Restart: true, Active: ptr(true), Data: ptr(`{"again":true}`),
		})
		require.NoError(t, err)
		require.Equal(t, ids, res.Schedules, "16")
		second := f.reaches(t, job, ids[0], 2, "SUCCESS")
		require.NotEqual(t, first.ID, second.ID)
		require.Equal(t, `{"again":true}`, f.endpoint.Requests()[1].Body)
		_, err = sap.On(f.Store).UpdateSchedule(t.Context(), f.scope, sapBy, job, ids[0], sap.ScheduleChange{Mode: sap.Cron, Spec: ptr(`{"cron":"* * * * * */10 0"}`)})
		require.ErrorIs(t, err, dberror.ErrSAPMode)
		_, err = sap.On(f.Store).UpdateSchedule(t.Context(), f.scope, sapBy, job, ids[0], sap.ScheduleChange{Description: ptr("only words")})
		require.NoError(t, err)
		f.pause(t, 2*time.Second)
		require.Len(t, f.runs(t, job, ids[0]), 2, "a description runs nothing")
		// S-47: activating it runs it again, too.
		_, err = sap.On(f.Store).ActivateSchedules(t.Context(), f.scope, sapBy, job, true)
		require.NoError(t, err)
		f.reaches(t, job, ids[0], 3, "SUCCESS")

		spec := sap.ScheduleSpec{Mode: sap.Cron, Spec: `{"cron":"* * * * * * */20"}`, Active: true}
		job, ids = f.job(t, f.scope, "S-31", "http://h.example/ok", "POST", spec)
		next := f.reaches(t, job, ids[0], 1, "SCHEDULED")
		require.False(t, next.ScheduledAt.IsZero())
		schedules, _, err := sap.On(f.Store).Schedules(t.Context(), f.scope, job, ids[0], sap.Page{})
		require.NoError(t, err)
		f.pause(t, time.Until(schedules[0].NextRunAt.Add(2*time.Second)))
		list := f.runs(t, job, ids[0])
		require.Len(t, list, 2)
		require.Equal(t, []any{"SCHEDULED", "SUCCESS", next.ID}, []any{list[0].State, list[1].State, list[1].ID}, "S-31: the run has the id that was shown before")
		require.NotEqual(t, next.ID, list[0].ID)

		// S-46: a job that is not active drops the instants.
		_, err = sap.On(f.Store).UpdateJob(t.Context(), f.scope, sapBy, job, sap.JobChange{Active: ptr(false)})
		require.NoError(t, err)
		f.pause(t, time.Minute)
		require.Len(t, f.runs(t, job, ids[0]), 1)
		_, err = sap.On(f.Store).UpdateJob(t.Context(), f.scope, sapBy, job, sap.JobChange{Active: ptr(true)})
		require.NoError(t, err)
		f.pause(t, 1500*time.Millisecond)
		list = f.runs(t, job, ids[0])
		require.Equal(t, []any{2, "SCHEDULED"}, []any{len(list), list[0].State})
		end := time.Now().Truncate(20 * time.Second).Add(45 * time.Second)
		_, err = sap.On(f.Store).UpdateJob(t.Context(), f.scope, sapBy, job, sap.JobChange{End: &end})
		require.NoError(t, err)
		f.pause(t, time.Minute)
		list = f.runs(t, job, ids[0])
		require.Len(t, list, 3, "S-46: two more runs until the end of the job")
		schedules, _, err = sap.On(f.Store).Schedules(t.Context(), f.scope, job, ids[0], sap.Page{})
		require.NoError(t, err)
		require.False(t, schedules[0].Active)
		require.True(t, schedules[0].NextRunAt.IsZero())
		log, _, err := sap.On(f.Store).Actions(t.Context(), f.scope, job, ids[0])
		require.NoError(t, err)
		require.Equal(t, "DEACTIVATION_NO_FUTURE_RUN", log[0].Action)
	})
}

// TestSAPUnreachable: the schedules of a job whose endpoint is not reached for too long are
// deactivated, with an entry in the action log (S-45); activating them ends that.
func TestSAPUnreachable(t *testing.T) {
	sapBubble(t, reply, func(t *testing.T, f *sapFixture) {
		f.exec(t, f.Control, "EXECUTE jobs.sp_set_setting @name = N'unreachable_days', @value = 0;")
		every := sap.ScheduleSpec{Mode: sap.Cron, Spec: `{"cron":"* * * * * * */20"}`, Active: true}
		job, ids := f.job(t, f.scope, "gone", "http://no-host.example/", "POST", every, every)
		f.start(t)
		active := func() []bool {
			list, _, err := sap.On(f.Store).Schedules(t.Context(), f.scope, job, uuid.Nil, sap.Page{})
			require.NoError(t, err)
			return []bool{list[0].Active, list[1].Active}
		}
		for i := 0; i < 120 && active()[0]; i++ {
			f.pause(t, time.Second)
		}
		require.Equal(t, []bool{false, false}, active())
		log, total, err := sap.On(f.Store).Actions(t.Context(), f.scope, job, uuid.Nil)
		require.NoError(t, err)
		require.Equal(t, 3, total)
		require.Equal(t, []string{"DEACTIVATION_UNREACHABLE", "DEACTIVATION_UNREACHABLE", "CREATE"}, []string{log[0].Action, log[1].Action, log[2].Action})
		require.ElementsMatch(t, ids, []uuid.UUID{log[0].Schedule, log[1].Schedule})
		_, err = sap.On(f.Store).ActivateSchedules(t.Context(), f.scope, sapBy, job, true)
		require.NoError(t, err)
		require.Equal(t, []bool{true, true}, active())
		got, err := sap.On(f.Store).Job(t.Context(), f.scope, sap.JobRef{ID: job})
		require.NoError(t, err)
		require.Equal(t, []any{true, 2, 0}, []any{got.Active, got.ActiveCount, got.InactiveCount})
	})
}
