package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Tools are what the agent reaches targets with. They are safe for concurrent use, and outlive the agent.
type Tools struct {
	Runner   *mssql.Runner
	Resolver *mssql.Resolver
}

// Hosting builds, watches, starts, stops and restarts the parts of an agent (JobHosting in the design).
type Hosting struct {
	cfg   Config
	store *controldb.Store
	tools Tools
	log   *zap.Logger
	// hurry, once closed, cuts the grace of a stopping agent short.
	hurry <-chan struct{}
}

// callLimit is how long a call to the control database may take. No procedure comes near it; it is for connections that have fallen
// silent, which the operating system notices after many minutes, if at all.
const callLimit = time.Minute

// New makes an agent over an open control database and tools for the targets; both stay the caller's
// to close. hurry, once closed, makes a stopping agent cancel what runs without waiting for [Config].Grace;
// nil: never. It returns an error if cfg is out of range.
func New(cfg Config, store *controldb.Store, tools Tools, hurry <-chan struct{}, log *zap.Logger) (*Hosting, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("agent configuration: %w", err)
	}
	return &Hosting{
		cfg: cfg, store: store.WithCallLimit(callLimit), tools: tools, hurry: hurry,
		log: log.With(zap.Stringer(keyAgentID, cfg.AgentID)),
	}, nil
}

// Run works until ctx is done, and returns nil after a clean stop. It returns an error at once if the control
// database cannot be used as it is: it refuses the login, the schema is not installed or of a version that does not understand
// the agent. A control database that is away is waited for (see [Await]). Once the agent has started, all such conditions, lost terms and
// drift are waited out: the core starts afresh under a new term.
//
// Run must be called once.
func (h *Hosting) Run(ctx context.Context) error {
	var other *controldb.SchemaVersionError
	err := Await(ctx, h.log, func(ctx context.Context) (err error) {
		other, err = h.store.CheckAgent(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before it had begun
		}
		return err
	}
	if other != nil {
		h.log.Warn("the control schema is of another release, which understands this agent", zap.Error(other))
	}
	h.log.Info("agent started", zap.String(keyVersion, h.cfg.Version))
	defer h.log.Info("agent stopped")

	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 15 * time.Second}
	for {
		started := time.Now()
		err := h.runCore(ctx)
		if ctx.Err() != nil {
			return nil // what went wrong while stopping has been logged where it happened
		}
		if time.Since(started) > time.Minute {
			retry.Reset()
		}
		delay := retry.Next()
		h.log.Warn("core ended and starts afresh", zap.Error(err), zap.Duration(keyRetryIn, delay))
		if !sleep(ctx, delay, nil) {
			return nil
		}
	}
}

// runCore takes a term and runs all parts under it until ctx is done or one of them cannot go on.
func (h *Hosting) runCore(ctx context.Context) error {
	asked := time.Now()
	term, err := h.startTerm(ctx)
	if err != nil {
		return err
	}
	log := h.log.With(zap.Int64(keyTermID, int64(term.ID)))
	log.Info("term started")

	termCtx, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(ErrStopping)
	comm := newCommunicator(h.store, term.ID, termCtx, h.cfg, log)
	clean := newCleaner(h.store, log)
	err = supervise(ctx,
		newLease(h.store, term, asked, lose, log),
		comm,
		newTaskHost(h.store, h.tools, comm, h.cfg, h.hurry, log),
		newMaintainer(h.store, log),
		clean,
		newScheduler(h.store, term, comm, h.cfg, log),
		newController(h.store, term, comm, clean.wake, h.cfg, log),
	)
	if cause := context.Cause(termCtx); errors.Is(cause, ErrTermLost) && !errors.Is(err, ErrTermLost) {
		err = errors.Join(err, cause)
	}
	return err
}

// startTerm asks for a term, for at most the length of one: an answer that comes later is worth nothing.
func (h *Hosting) startTerm(ctx context.Context) (controldb.Term, error) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Lease)
	defer cancel()
	return h.store.StartTerm(ctx, controldb.Agent{
		ID: h.cfg.AgentID, Host: h.cfg.Host, Version: h.cfg.Version, MaxConcurrentTargets: h.cfg.MaxConcurrentTargets,
	}, h.cfg.Lease)
}
