package alerts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/jobs/action"
)

// Lease is that of claims.
const Lease = lease

// Holder returns the mark of the process.
func (s *Service) Holder() uuid.UUID { return s.holder }

// Types returns the types of channels, separated by commas.
func (s *Service) Types() string { return s.types }

// SetSecret sets the function that reads secrets.
func (s *Service) SetSecret(secret func(ctx context.Context, name string) (action.Value, error)) {
	s.cfg.Secret = secret
}

// Attempt carries out a delivery and records the result.
func (s *Service) Attempt(ctx context.Context, w alerting.Work, asked time.Time) {
	s.attempt(ctx, w, asked)
}

// Send carries out a delivery without recording the result.
func (s *Service) Send(
	ctx context.Context, w alerting.Work, begin func(ctx context.Context) (time.Time, error),
) (begun bool, err error) {
	sent := s.send(ctx, w, begin)
	return sent.begun, sent.err
}

// Forms are the forms of a notification.
type Forms struct{ Payload, Subject, Text, HTML, Slack, Teams string }

// FormsOf returns the forms of a delivery's notification.
func (s *Service) FormsOf(w alerting.Work) (f Forms, err error) {
	n := s.notification(w)
	f.Subject, f.Text = n.subject(), n.text()
	if f.Payload, err = n.payload(); err != nil {
		return f, err
	}
	if f.HTML, err = n.html(); err != nil {
		return f, err
	}
	slack, err := n.slack()
	if err != nil {
		return f, err
	}
	teams, err := n.teams()
	f.Slack, f.Teams = string(slack), string(teams)
	return f, err
}
