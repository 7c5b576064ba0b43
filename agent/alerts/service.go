package alerts

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mail"
)

const (
	// leastApart is the shortest time between two evaluations by all processes.
	leastApart = 4 * time.Second
	// longestWait is the longest time between calls of a control database that fails.
	longestWait = 30 * time.Second
	// callLimit bounds a call, so that a silent connection does not stop the evaluation of alerts.
	callLimit = 15 * time.Second
	// lease is how long a delivery is held. Another process takes it over after this time.
	lease = 60 * time.Second
	// sendLimit bounds one attempt, and leaves time within the lease to record its result.
	sendLimit = 30 * time.Second
	// senders is the largest number of attempts at the same time.
	senders = 8
	// recordLimit bounds the recording of a result after a stop.
	recordLimit = 5 * time.Second
)

// Config configures a Service.
type Config struct {
	Store *controldb.Store
	// Runners carry out channels that are actions; Slack and Teams are HTTP, too. Other processes
	// deliver to types without a runner.
	Runners map[action.Type]targets.ActionRunner
	// Mail sends e-mail; nil means that other processes send it.
	Mail *mail.Sender
	// Secret returns the value of $(secret.NAME); nil means that other processes deliver to
	// channels with secrets.
	Secret func(ctx context.Context, name string) (action.Value, error)
	// Pages is the address of the dashboard's pages of this control database, without a slash at
	// the end; empty means that notifications have no links.
	Pages string
	// Name is the name of the process, for display.
	Name string
	// Agents returns how many agents share the control database, or 0 if that is not known; nil
	// means that it is never known. With many agents, each makes its calls less often.
	Agents func() int
	Log    *zap.Logger
}

// Service evaluates and delivers the alerts of one control database.
type Service struct {
	cfg    Config
	holder uuid.UUID
	types  string
	log    *zap.Logger
	// wake is signaled when there may be something to deliver.
	wake chan struct{}
}

// New returns a service.
func New(cfg Config) *Service {
	cfg.Store = cfg.Store.WithCallLimit(callLimit)
	if cfg.Agents == nil {
		cfg.Agents = func() int { return 0 }
	}
	s := &Service{
		cfg: cfg, holder: uuid.New(), log: cfg.Log.With(zap.String("service", "alerts")), wake: make(chan struct{}, 1),
	}
	var types []string
	for _, i := range action.Actions() {
		if i.Notifies && cfg.Runners[i.Type] != nil {
			types = append(types, string(i.Type))
		}
	}
	if cfg.Runners[action.TypeHTTP] != nil {
		types = append(types, typeSlack, typeTeams)
	}
	if cfg.Mail != nil {
		types = append(types, typeMail)
	}
	s.types = strings.Join(types, ",")
	return s
}

// Run evaluates and delivers until ctx is done. A failing control database is called less often.
// Evaluations do not wait for deliveries, so that an endpoint that hangs does not delay an
// evaluation.
func (s *Service) Run(ctx context.Context) {
	ctx = caller.With(ctx, caller.Caller{}) // calls are made as the login
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.repeat(ctx, "evaluate alerts", pacing.Evaluation, nil, s.evaluate) })
	if s.types == "" {
		return
	}
	free := make(chan struct{}, senders)
	s.repeat(ctx, "claim deliveries of alerts", pacing.AlertClaim, s.wake, func(ctx context.Context) error {
		return s.deliver(ctx, free, &wg)
	})
}

// repeat calls work at an interval with jitter, and when wake is signaled. interval returns the
// interval for a number of agents.
func (s *Service) repeat(
	ctx context.Context, what string, interval func(agents int) time.Duration, wake <-chan struct{}, work func(ctx context.Context) error,
) {
	failures := 0
	for {
		every := interval(s.cfg.Agents())
		pause := every - every/10 + rand.N(every/5)
		if err := work(ctx); err != nil && ctx.Err() == nil {
			if failures++; failures == 1 {
				s.log.Warn("could not "+what, zap.Error(err))
			}
			pause = min(every<<min(failures, 10), longestWait)
		} else {
			failures = 0
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-wake:
			timer.Stop()
		}
	}
}

// evaluate makes evaluations until all ended runs are evaluated, and at least one.
func (s *Service) evaluate(ctx context.Context) error {
	for interval := leastApart; ; interval = 0 {
		more, err := alerting.On(s.cfg.Store).Evaluate(ctx, interval)
		if err != nil {
			return err
		}
		select {
		case s.wake <- struct{}{}:
		default: // signaled already
		}
		if !more {
			return nil
		}
	}
}

// deliver claims deliveries that are due, and carries them out in the background. free holds the
// attempts under way.
func (s *Service) deliver(ctx context.Context, free chan struct{}, wg *sync.WaitGroup) error {
	for {
		room := cap(free) - len(free)
		if room == 0 {
			return nil // the end of an attempt wakes
		}
		asked := time.Now()
		work, err := alerting.On(s.cfg.Store).ClaimDeliveries(ctx, alerting.Claim{
			Holder: s.holder, Types: s.types, Secrets: s.cfg.Secret != nil, Max: room, Lease: lease,
		})
		if err != nil {
			return err
		}
		for _, w := range work {
			free <- struct{}{}
			wg.Go(func() {
				s.attempt(ctx, w, asked)
				<-free
				select {
				case s.wake <- struct{}{}:
				default:
				}
			})
		}
		if len(work) < room {
			return nil
		}
	}
}
