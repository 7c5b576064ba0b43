package alerts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// errCanceled means that a delivery must not be sent: its alert was acknowledged, or another
// process holds it.
var errCanceled = errors.New("the delivery was canceled, or another process has taken it over")

// attempt carries out a delivery and records the result. asked is a time before its claim.
func (s *Service) attempt(ctx context.Context, w alerting.Work, asked time.Time) {
	log := s.log.With(zap.Int64("delivery_id", w.ID), zap.String("channel", w.Channel), zap.Int("attempt", w.Attempt))
	sending, cancel := context.WithTimeoutCause(ctx, sendLimit, errors.New("no answer in time"))
	defer cancel()
	begin := func(ctx context.Context) (time.Time, error) {
		permitted, err := alerting.On(s.cfg.Store).BeginDelivery(ctx, w.ID, s.holder)
		if err == nil && !permitted {
			err = errCanceled
		}
		return asked.Add(lease - recordLimit), err
	}
	sent := s.send(sending, w, begin)
	result := alerting.Result{ID: w.ID, Holder: s.holder, By: s.cfg.Name, Outcome: alerting.AlertDelivered}
	switch {
	case sent.err == nil:
		log.Info("an alert was delivered", zap.Int64("alert_id", w.AlertID))
	case errors.Is(sent.err, errCanceled):
		log.Info("an alert is not delivered: it was acknowledged, or is delivered by another process")
		return
	case ctx.Err() != nil && !sent.begun:
		result.Outcome = alerting.AlertReturned
	case sent.giveUp:
		result.Outcome, result.Error = alerting.AlertGivenUp, wording.Clip(clean(sent.err.Error()), maxError, wording.UTF16)
		log.Warn("the delivery of an alert is given up", zap.Error(sent.err))
	default:
		result.Outcome, result.Error, result.RetryAfter = alerting.AlertFailed, wording.Clip(clean(sent.err.Error()), maxError, wording.UTF16), sent.retryAfter
		log.Warn("an alert could not be delivered; it is tried again", zap.Error(sent.err))
	}
	// The result is recorded also when the process stops; otherwise the alert would be sent twice.
	recording, stop := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer stop()
	if err := alerting.On(s.cfg.Store).EndDelivery(recording, result); err != nil {
		log.Warn("the result of a delivery could not be recorded; it may be delivered again", zap.Error(err))
	}
}

// maxError bounds the text of an error, in units of UTF-16.
const maxError = 1900

// sending is the result of an attempt.
type sending struct {
	err        error // nil: delivered
	begun      bool  // something may have been sent
	giveUp     bool
	retryAfter time.Duration
}

// send sends a delivery to its channel.
func (s *Service) send(ctx context.Context, w alerting.Work, begin func(ctx context.Context) (time.Time, error)) (result sending) {
	defer func() { // a defect in a runner must not end the agent
		if r := recover(); r != nil {
			result = sending{err: fmt.Errorf("the attempt panicked: %v", r), begun: true}
		}
	}()
	n := s.notification(w)
	fenced := func(ctx context.Context) (time.Time, error) {
		before, err := begin(ctx)
		result.begun = err == nil
		return before, err
	}
	if w.ChannelType == typeMail {
		result.err = s.sendMail(ctx, w, n, fenced)
		return result
	}
	var refused error
	attempt, runner, err := s.prepare(ctx, w, n)
	if err != nil {
		result.err = err
		return result
	}
	attempt.Begin = func(ctx context.Context) (time.Time, error) {
		before, err := fenced(ctx)
		if err != nil && ctx.Err() == nil {
			refused = err
		}
		return before, err
	}
	r := runner.Run(ctx, attempt)
	switch r.Outcome {
	case targets.Succeeded, targets.Accepted:
		return result
	}
	text := r.Summary
	if text == "" {
		text = r.Error.String()
	}
	result.err, result.retryAfter = errors.New(text), r.RetryAfter
	if r.Err != nil && text == "" {
		result.err = r.Err
	}
	if refused != nil {
		result.err = refused
	}
	for _, m := range r.Messages { // 410: the receiver refuses further messages (Standard Webhooks)
		if m.Kind == targets.KindResponse && m.Number == http.StatusGone {
			result.giveUp = true
		}
	}
	return result
}

// prepare returns the attempt and the runner for a channel that is an action. Begin of the attempt
// is not set.
func (s *Service) prepare(ctx context.Context, w alerting.Work, n notification) (targets.ActionAttempt, targets.ActionRunner, error) {
	definition, err := decode(w.ChannelType, w.Definition)
	if err != nil {
		return targets.ActionAttempt{}, nil, err
	}
	payload, err := n.payload()
	if err != nil {
		return targets.ActionAttempt{}, nil, err
	}
	params, err := parameters.Parse(payload)
	if err != nil {
		return targets.ActionAttempt{}, nil, err
	}
	expanded, err := expand(w.ChannelType, definition, s.variables(ctx, w, params))
	if err != nil {
		return targets.ActionAttempt{}, nil, err
	}
	switch w.ChannelType {
	case typeSlack:
		expanded.HTTP.Body, err = n.slack()
	case typeTeams:
		expanded.HTTP.Body, err = n.teams()
	}
	if err != nil {
		return targets.ActionAttempt{}, nil, err
	}
	if err := outbound.CheckSecrets(expanded, w.Attempt); err != nil {
		return targets.ActionAttempt{}, nil, err
	}
	runner := s.cfg.Runners[expanded.Type]
	if runner == nil { // claims exclude such channels
		return targets.ActionAttempt{}, nil, fmt.Errorf("this process delivers to no channel of type %s", w.ChannelType)
	}
	return targets.ActionAttempt{
		Action: expanded, Key: w.NotificationID, Number: w.Attempt,
		JobName: w.JobName, JobExecutionID: w.JobExecutionID, StepName: "alert", DueAt: w.CreatedAt, Payload: payload,
	}, runner, nil
}

// variables returns the values of the templates of a channel.
func (s *Service) variables(ctx context.Context, w alerting.Work, params *parameters.Parameters) action.Variables {
	return func(name string) (action.Value, bool, error) {
		switch name {
		case action.NameIdempotencyKey:
			return action.Text(w.NotificationID.String()), true, nil
		case action.NameAttempt:
			return action.Number(w.Attempt), true, nil
		case action.NameJobName:
			return action.Text(w.JobName), true, nil
		}
		if secret, ok := strings.CutPrefix(name, action.PrefixSecret); ok {
			if s.cfg.Secret == nil {
				return action.Value{}, false, nil
			}
			value, err := s.cfg.Secret(ctx, secret)
			if err != nil {
				return action.Value{}, false, fmt.Errorf("secret %q: %w", secret, err)
			}
			return value, true, nil
		}
		value, ok := action.Parameter(params, name)
		return value, ok, nil
	}
}
