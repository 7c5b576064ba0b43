package agent

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Await calls try until it succeeds. An error that passes by itself, such as a control database that does not answer, is logged and
// waited out, with growing waits of up to 15 s: an agent that is started together with its database's machine must come up without anybody's
// help. Every other error is returned at once, as it is. When ctx ends, Await returns its cause.
func Await(ctx context.Context, log *zap.Logger, try func(context.Context) error) error {
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 15 * time.Second}
	for {
		err := try(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passes(err):
			return err
		}
		delay := retry.Next()
		log.Warn("the control database cannot be used yet", zap.Error(err), zap.Duration(keyRetryIn, delay))
		if !sleep(ctx, delay, nil) {
			return context.Cause(ctx)
		}
	}
}

// passes says whether an error of the control database may go away without anybody doing anything. A refused login counts as one that does
// not, and so does a database that the login cannot open (4060): at the start of an agent that is a wrong name much more often than a failover.
func passes(err error) bool {
	switch {
	case errors.Is(err, controldb.ErrLoginFailed), errors.Is(err, controldb.ErrNotInstalled), errors.Is(err, controldb.ErrSchemaVersion):
		return false
	case errors.Is(err, controldb.ErrUnreachable):
		return true
	}
	return mssql.Classify(err).Class.Retryable()
}
