package sap

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Run is an entry of the log of a schedule: a run, or the next run, which is not made yet.
type Run struct {
	ID uuid.UUID `db:"run_id"`
	// Task says that the run is a process.
	Task bool `db:"is_task"`
	// Status is SCHEDULED, RUNNING or COMPLETED, and State is SAP's state of the run.
	Status string `db:"run_status"`
	State  string `db:"run_state"`
	// HTTPStatus is 0 for null.
	HTTPStatus int `db:"http_status"`
	// ScheduledAt is when the run was computed; ExecutedAt and CompletedAt are zero for null.
	ScheduledAt time.Time `db:"scheduled_at"`
	ExecutedAt  time.Time `db:"executed_at"`
	CompletedAt time.Time `db:"completed_at"`
	// Text is the latest text.
	Text string `db:"run_text"`
	// Events are the states that the run has passed, oldest first; only if they were asked for.
	Events []RunEvent `db:"-"`
}

// RunEvent is a state that a run has passed.
type RunEvent struct {
	Run  uuid.UUID `db:"run_id"`
	At   time.Time `db:"at"`
	Type string    `db:"type"` // a run state
	Text string    `db:"text"`
	Code int       `db:"code"` // HTTP status; 0 for null
}

// RunQuery selects runs of a schedule, newest first.
type RunQuery struct {
	Page Page
	// After continues after this run (older runs), and Before before it (newer runs); at most one
	// of them is given, and then the offset does not count.
	After, Before uuid.UUID
	// Events reads the events of the runs.
	Events bool
}

// Runs is a part of a log.
type Runs struct {
	List []Run
	// Total counts the runs that the log shows (S-30, S-31).
	Total int
	// More says that there are older runs after the last one of the list, and Newer that there are
	// newer ones before the first.
	More, Newer bool
}

// Runs lists the log of a schedule (E10, E15): the next run and the runs of the last days
// (setting sap_run_log_days).
func (s Store) Runs(ctx context.Context, scope Scope, job int64, schedule uuid.UUID, q RunQuery) (Runs, error) {
	c := scope.in(call.New("jobs_rest.list_runs")).In("job", job).In("schedule", schedule).In("with_events", q.Events)
	if q.After != uuid.Nil {
		c.In("after", q.After)
	}
	if q.Before != uuid.Nil {
		c.In("before", q.Before)
	}
	return s.runs(ctx, "list runs", q.Page.in(c))
}

// Run reads one entry of a log (E16). It returns [dberror.ErrSAPNotFound] when the run is not
// one of the schedule, or is too old for the log.
func (s Store) Run(ctx context.Context, scope Scope, job int64, schedule, run uuid.UUID) (Run, error) {
	c := scope.in(call.New("jobs_rest.list_runs")).In("job", job).In("schedule", schedule).In("run", run).In("with_events", true)
	res, err := s.runs(ctx, "read run", c)
	if err != nil {
		return Run{}, err
	}
	return res.List[0], nil
}

func (s Store) runs(ctx context.Context, op string, c *call.Call) (Runs, error) {
	res := Runs{List: []Run{}}
	var events []RunEvent
	if err := s.conn.Query(ctx, op, c, call.ScanOne(&res.Total, &res.More, &res.Newer), call.Into(&res.List), call.Into(&events)); err != nil {
		return Runs{}, err
	}
	byID := make(map[uuid.UUID]*Run, len(res.List))
	for i := range res.List {
		byID[res.List[i].ID] = &res.List[i]
	}
	for _, e := range events {
		if run := byID[e.Run]; run != nil {
			run.Events = append(run.Events, e)
		}
	}
	return res, nil
}

// ReportRun reports how a run ended (E17, S-37 to S-41). It returns [dberror.ErrSAPNotFound]
// when job, schedule and run do not belong together, [dberror.ErrSAPRunNotStarted] before the
// request was sent, [dberror.ErrSAPTaskRun] when a process decides, and [dberror.ErrCallbackEnded]
// when the run has ended with another report, or without one; the report is kept then.
func (s Store) ReportRun(ctx context.Context, scope Scope, job int64, schedule, run uuid.UUID, r callbacks.Report) error {
	c := scope.in(call.New("jobs_rest.report_run")).In("job", job).In("schedule", schedule).In("run", run).
		In("success", r.Success).In("message", r.Message).OptText("by", r.By)
	return s.conn.Exec(ctx, "report on a run", c)
}

// FinishRequest stores the answer of a request whose changes were committed, and whether it was
// delivered to the client. An answer that was delivered is not replayed (S-4).
//
// The front stores delivered = true right before it writes the answer, and false if the write
// fails. So an equal request that the client sends after it has read the answer is a new one.
func (s Store) FinishRequest(ctx context.Context, scope Scope, key RequestKey, answer string, delivered bool) error {
	return s.conn.Exec(ctx, "finish request",
		scope.in(call.New("jobs_rest.finish_request")).In("request", key[:]).In("answer", answer).In("delivered", delivered))
}

// Settings are the settings of an instance.
type Settings struct {
	// AsyncExecTimeout is how long a run waits for a report (S-44), MinInterval is the shortest
	// interval of schedules (S-19), and RunLogDays is how long logs are shown (S-30).
	AsyncExecTimeout time.Duration
	MinInterval      time.Duration
	RunLogDays       int
}

// Settings reads the settings of the instance.
func (s Store) Settings(ctx context.Context, scope Scope) (Settings, error) {
	var res Settings
	var timeout, interval int64
	err := s.conn.Query(ctx, "read settings", scope.in(call.New("jobs_rest.get_settings")), call.ScanOne(&timeout, &interval, &res.RunLogDays))
	res.AsyncExecTimeout, res.MinInterval = time.Duration(timeout)*time.Second, time.Duration(interval)*time.Second
	return res, err
}

// SetTimeout sets ASYNC_EXEC_TIMEOUT (E19): 1 to 604800 seconds. It holds for waits that begin
// afterwards.
func (s Store) SetTimeout(ctx context.Context, scope Scope, w Write, seconds int) (Result, error) {
	return s.write(ctx, "set time-out", w, scope.in(call.New("jobs_rest.set_timeout")).In("seconds", int64(seconds)))
}

// Tenant is a tenant of the instance.
type Tenant struct {
	ID        string `db:"tenant_id"`
	SubDomain string `db:"subdomain"`
	// Provider marks the provider's own tenant.
	Provider bool `db:"is_provider"`
	// Subscribed is false after the last subscription was removed: its tokens are refused (S-58).
	Subscribed bool      `db:"is_subscribed"`
	CreatedAt  time.Time `db:"created_at"`
	// Apps are the subscribed applications.
	Apps []string `db:"apps"`
}

// SetProvider stores the tenant of the provider, and the name of the alert channel to which
// events of runs are sent; without it, none are. It is called once when a front starts; repeats
// change nothing.
func (s Store) SetProvider(ctx context.Context, tenant, subDomain, eventsChannel string) error {
	return s.conn.Exec(ctx, "set provider",
		call.New("jobs_rest.set_provider").In("tenant", tenant).In("subdomain", subDomain).OptText("events_channel", eventsChannel))
}

// Tenants lists the tenants by id, or one tenant if id is not empty. An unknown id gives an
// empty list.
func (s Store) Tenants(ctx context.Context, id string) ([]Tenant, error) {
	list := []Tenant{}
	c := call.New("jobs_rest.list_tenants")
	if id != "" {
		c.In("tenant", id)
	}
	err := s.conn.Query(ctx, "list tenants", c, call.Into(&list))
	return list, err
}

// Subscribe adds a subscription of a tenant to an application; repeats change nothing. An
// empty subDomain keeps the one that the tenant has.
func (s Store) Subscribe(ctx context.Context, tenant, subDomain, app string) error {
	c := call.New("jobs_rest.subscribe").In("tenant", tenant).In("app", app)
	if subDomain == "" {
		c.In("subdomain", nil)
	} else {
		c.In("subdomain", subDomain)
	}
	return s.conn.Exec(ctx, "subscribe", c)
}

// Unsubscribe removes a subscription. With the last one, the jobs of the tenant are
// deleted, its runs are canceled, and its tokens are refused (S-59). It returns
// [dberror.ErrSAPNotFound] when there is no such subscription.
func (s Store) Unsubscribe(ctx context.Context, tenant, app string) error {
	return s.conn.Exec(ctx, "unsubscribe", call.New("jobs_rest.unsubscribe").In("tenant", tenant).In("app", app))
}
