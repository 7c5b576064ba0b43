package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Tools connect to targets. They are safe for concurrent use, and must stay open until the agent
// has stopped.
type Tools struct {
	Runner   *mssql.Runner
	Resolver *mssql.Resolver
	// Actions carries out commands other than T-SQL.
	Actions Actions
	// Traces exports traces; nil means none. The caller closes it after the agent has stopped.
	Traces *tracing.Recorder
	// OnClaim functions are called when tasks were claimed, before any of them is carried out.
	// Caches of credentials and secrets expire then, so that a run uses the values that were stored
	// before its start.
	OnClaim []func()
}

// Hosting builds, starts, watches, restarts and stops the parts of an agent.
type Hosting struct {
	cfg   Config
	store *controldb.Store
	tools Tools
	log   *zap.Logger
	// others holds the number of agents while there is a term.
	others *crowd
	// skipGrace, once closed, ends the grace period of a stopping agent.
	skipGrace <-chan struct{}
}

// modes are the modes of runs that this agent supports.
var modes = []controldb.RunMode{controldb.ModeTrial, controldb.ModePreflight}

// callLimit bounds a call to the control database. No procedure takes nearly as long; the limit
// ends calls on silent connections, which the operating system detects after many minutes, if at
// all.
const callLimit = time.Minute

// New returns an agent over an open control database and tools for the targets. The caller closes
// both after the agent has stopped. Once skipGrace is closed, a stopping agent cancels running
// scripts without waiting for [Config].Grace; nil means that it always waits. New returns an error
// if cfg is out of range.
func New(
	cfg Config, store *controldb.Store, tools Tools, skipGrace <-chan struct{}, log *zap.Logger,
) (*Hosting, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("agent configuration: %w", err)
	}
	return &Hosting{
		cfg: cfg, store: store.WithCallLimit(callLimit), tools: tools, others: &crowd{}, skipGrace: skipGrace,
		log: log.With(zap.Stringer(keyAgentID, cfg.AgentID)),
	}, nil
}

// Run runs the agent until ctx is done, and returns nil after a clean stop.
//
// Run waits for a control database that cannot be reached yet (see [Await]). It returns an error at
// once if the control database refuses the login, has no control schema, has a schema that does not
// support this agent or is of an earlier release, or has READ_COMMITTED_SNAPSHOT off. After the
// start, Run returns an error only if the receiver of callbacks fails; after any other failure, the
// core is restarted under a new term, with a growing delay.
//
// Run must be called once.
func (h *Hosting) Run(ctx context.Context) error {
	var other *dberror.SchemaVersionError
	err := Await(ctx, h.cfg.Alive, h.log, func(ctx context.Context) (err error) {
		if other, err = installed.On(h.store).CheckAgent(ctx); err != nil {
			return err
		}
		return doctor.On(h.store).CheckRowVersions(ctx)
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before the start
		}
		return err
	}
	if other != nil {
		h.log.Warn("the control schema is of another release, which supports this agent", zap.Error(other))
	}
	h.log.Info("agent started", zap.String(keyVersion, h.cfg.Version))
	defer h.log.Info("agent stopped")

	if receiver := h.tools.Actions.Receiver; receiver != nil {
		return receiveWhile(ctx, receiver, h.runAll)
	}
	h.runAll(ctx)
	return nil
}

// runAll runs cores, and evaluates and delivers alerts at the same time, also while there is no
// term.
func (h *Hosting) runAll(ctx context.Context) {
	a := h.tools.Actions
	service := alerts.New(alerts.Config{
		Store: h.store, Runners: a.Runners, Mail: a.Mail, Secret: a.Secret, Pages: a.Pages, Name: "agent on " + h.cfg.Host,
		Agents: h.others.size, Log: h.log,
	})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { service.Run(ctx) })
	h.runAccount(ctx)
}

// receiveWhile receives callbacks while run runs. If the receiver fails, run is stopped, and
// receiveWhile returns the error.
func receiveWhile(ctx context.Context, receiver Receiver, run func(ctx context.Context)) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	receiving, stopReceiver := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReceiver()
	ended := make(chan error, 1)
	go func() { // ends with receiving
		err := receiver.Serve(receiving)
		stop()
		ended <- err
	}()
	run(running)
	stopReceiver()
	return <-ended
}

// runCores runs one core after the other until ctx is done, or until the control database starts no
// term because of the state of its job agent.
func (h *Hosting) runCores(ctx context.Context) {
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 15 * time.Second}
	for {
		started := time.Now()
		err := h.runCore(ctx)
		if ctx.Err() != nil {
			return // errors of the stop have been logged
		}
		if errors.Is(err, dberror.ErrAgentUnavailable) {
			h.log.Info("no term: the job agent is not Ready", zap.Error(err))
			return
		}
		h.cfg.Alive()
		if time.Since(started) > time.Minute {
			retry.Reset()
		}
		delay := retry.Next()
		message := "core failed, restarting"
		if errors.Is(err, dberror.ErrSchemaVersion) {
			message = "no term: the agent waits for a control schema that supports it"
		}
		fields := []zap.Field{zap.Error(err), zap.Duration(keyRetryIn, delay)}
		if errors.Is(err, ErrTermLost) {
			fields = append(fields, zap.String(keyReason, "the lease expired, or another process has started a term with the same agent ID"))
		}
		h.log.Warn(message, fields...)
		if !sleep(ctx, delay, nil) {
			return
		}
	}
}

// runCore starts a term and runs all parts under it until ctx is done or one of them fails.
func (h *Hosting) runCore(ctx context.Context) error {
	term, asked, err := h.startTerm(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, dberror.ErrAgentUnavailable) {
			h.cfg.Metrics.CoreFailed(noTermCause(err))
		}
		return err
	}
	h.cfg.Metrics.TermStarted()
	log := h.log.With(zap.Int64(keyTermID, term.ID.Number))
	log.Info("term started")

	termCtx, cancelTerm := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelTerm(ErrStopping)
	trust := newTrust(asked, term.TTL)
	defer h.others.count(0)
	gate := newSendGate(trust, func(ctx context.Context, sends []callbacks.Send) ([]controldb.Refusal, error) {
		return callbacks.On(h.store).BeginSend(ctx, term.ID, sends)
	})
	share := h.cfg.Budget.join()
	defer share.leave()
	comm := newCommunicator(h.store, term.ID, termCtx, share, h.others, h.cfg, log)
	cleaner := newCleaner(h.store, log)
	host := newTaskHost(h.store, term.ID, comm, gate, h.tools, h.cfg, h.skipGrace, log)
	asker := newQuestions(h.store, term.ID, termCtx, h.tools, log)
	host.stopping = func() bool { return ctx.Err() != nil }
	defer h.cfg.Metrics.Watch(func() metrics.State { return stateOf(h.cfg, comm, host, share, trust) })()
	services := []service{
		newLease(h.store, term, trust, h.others, cancelTerm, h.cfg.Metrics, log),
		comm,
		gate,
		host,
		newMaintainer(h.store, log),
		newRegistrar(h.store, log),
		cleaner,
		asker,
		newScheduler(h.store, term, h.others, comm.queue.wake, h.cfg, log),
		newController(h.store, term, h.others, comm, cleaner.wake, asker.wake, h.tools.OnClaim, h.cfg, log),
	}
	if h.tools.Traces != nil { // stops after the communicator, whose last outcomes end the last runs
		services = slices.Insert(services, 1, service(newTraceFeed(h.store, term.ID, h.tools.Traces, log)))
	}
	for i, s := range services {
		services[i] = underTerm{s, cancelTerm}
	}
	err = supervise(ctx, services...)
	if cause := context.Cause(termCtx); errors.Is(cause, ErrTermLost) && !errors.Is(err, ErrTermLost) {
		err = errors.Join(err, cause)
	}
	if ctx.Err() == nil {
		h.cfg.Metrics.CoreFailed(failureCause(err))
	}
	return err
}

// underTerm is a service that cancels the context of its term if the control database has told the
// service that the term has ended. Then another agent may run the scripts of the term, so that
// they must end at once, and not after the grace period or at the next renewal.
type underTerm struct {
	service
	cancelTerm context.CancelCauseFunc
}

// run runs the service.
func (s underTerm) run(ctx context.Context, ready func()) error {
	err := s.service.run(ctx, ready)
	if errors.Is(err, ErrTermLost) {
		s.cancelTerm(ErrTermLost)
	}
	return err
}

// startTerm starts a term, and returns the time of the request for it. Before, it checks the
// schema, which may be older than at the start of the agent if a backup was restored. The call may
// take at most the length of a lease, because a later answer would be for a term that has expired.
func (h *Hosting) startTerm(ctx context.Context) (term controldb.Term, asked time.Time, err error) {
	if _, err := installed.On(h.store).CheckAgent(ctx); err != nil {
		return term, asked, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Lease)
	defer cancel()
	asked = time.Now()
	self := controldb.Agent{
		ID: h.cfg.AgentID, Host: h.cfg.Host, Version: h.cfg.Version, MaxConcurrentTargets: h.cfg.MaxConcurrentTargets,
		CommandTypes: h.tools.Actions.commandTypes(), Modes: modes, Engine: schedule.Engine(), ZoneData: schedule.ZoneData(),
	}
	term, err = h.store.StartTerm(ctx, self, h.cfg.Lease)
	if refusesData(err) {
		h.log.Warn("the control database refuses the start of a term that hands tasks over", zap.Error(err))
		self.LeavesTasks = true
		asked = time.Now()
		term, err = h.store.StartTerm(ctx, self, h.cfg.Lease)
	}
	return term, asked, err
}
