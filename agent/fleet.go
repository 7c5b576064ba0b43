package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
)

// Member is one of several control databases that a process serves.
type Member struct {
	// Name is the name of the database in the log.
	Name string
	// Store need not be connected yet. The caller closes it after Run.
	Store *controldb.Store
	// OpenTools returns the tools for the targets of this control database, and a function that
	// closes them. It is called when the database can be reached, and again after a failure.
	OpenTools func(ctx context.Context) (Tools, func(), error)
	// AccountRequired and Metrics are those of [Config].
	AccountRequired bool
	Metrics         *metrics.Agent
}

// Fleet runs an agent for each of several control databases. The agents share workers; no failure
// of one database or its agent ends another agent.
type Fleet struct {
	cfg     Config
	members []Member
	// receiver receives the callbacks of all members, or is nil.
	receiver  Receiver
	skipGrace <-chan struct{}
	log       *zap.Logger
}

// NewFleet returns a fleet. cfg applies to each agent; its MaxConcurrentTargets workers are shared.
// The fleet serves receiver. See [New] for skipGrace.
func NewFleet(
	cfg Config, members []Member, receiver Receiver, skipGrace <-chan struct{}, log *zap.Logger,
) (*Fleet, error) {
	full, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("agent configuration: %w", err)
	}
	if cfg.Budget == nil {
		if cfg.Budget, err = NewBudget(full.MaxConcurrentTargets); err != nil {
			return nil, err
		}
	}
	cfg.Host = full.Host // each agent keeps its own ID, unless the ID is configured
	return &Fleet{cfg: cfg, members: members, receiver: receiver, skipGrace: skipGrace, log: log}, nil
}

// Run runs all agents until ctx is done, and returns nil after a clean stop. Before that, only a
// failure of the receiver of callbacks ends it.
func (f *Fleet) Run(ctx context.Context) error {
	run := func(ctx context.Context) {
		var agents sync.WaitGroup
		for _, m := range f.members {
			agents.Go(func() { f.serve(ctx, m) })
		}
		agents.Wait()
	}
	if f.receiver == nil {
		run(ctx)
		return nil
	}
	return receiveWhile(ctx, f.receiver, run)
}

// serve runs the agent of a member until ctx is done. After a failure it starts the agent again,
// with a growing delay.
func (f *Fleet) serve(ctx context.Context, m Member) {
	log := f.log.With(zap.String(keyDatabase, m.Name))
	retry := backoff.Exponential{Min: time.Second, Max: time.Minute}
	for {
		started := time.Now()
		err := f.serveOnce(ctx, m, log)
		if ctx.Err() != nil {
			if err != nil {
				log.Warn("the agent stopped with an error", zap.Error(err))
			}
			return
		}
		if time.Since(started) > time.Minute {
			retry.Reset()
		}
		delay := retry.Next()
		switch {
		case errors.Is(err, dberror.ErrNotInstalled):
			// The schema is installed when an account is created.
			delay = min(delay, 5*time.Second)
			log.Debug("the control database has no schema yet", zap.Duration(keyRetryIn, delay))
		default:
			log.Error("the agent of this control database failed; other databases are not affected",
				zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
		if !sleep(ctx, delay, nil) {
			return
		}
	}
}

// serveOnce runs the agent of a member until ctx is done or it fails.
func (f *Fleet) serveOnce(ctx context.Context, m Member, log *zap.Logger) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var tools Tools
	closeTools := func() {}
	err = Await(ctx, f.cfg.Alive, log, func(ctx context.Context) (err error) {
		if _, err := installed.On(m.Store).CheckAgent(ctx); err != nil {
			if errors.Is(err, dberror.ErrSchemaVersion) {
				m.Metrics.CoreFailed(metrics.CauseSchema)
			}
			return err
		}
		tools, closeTools, err = m.OpenTools(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before the start
		}
		return err
	}
	defer closeTools()
	cfg := f.cfg
	cfg.AccountRequired, cfg.Metrics = m.AccountRequired, m.Metrics
	tools.Actions.Receiver = nil // the fleet serves it
	hosting, err := New(cfg, m.Store, tools, f.skipGrace, log)
	if err != nil {
		return err
	}
	return hosting.Run(ctx)
}
