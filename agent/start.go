package agent

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Await calls try until it succeeds. It retries after an error that may go away without
// intervention, such as a control database that does not answer, and logs it; the delay grows up to
// 15 s. So an agent that starts together with the machine of its control database needs no help.
// It calls alive after each such error, unless alive is nil. Await returns any other error at once,
// unchanged. When ctx is done, it returns the cause of ctx.
func Await(ctx context.Context, alive func(), log *zap.Logger, try func(context.Context) error) error {
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 15 * time.Second}
	for {
		err := try(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !transient(err):
			return err
		}
		if alive != nil {
			alive()
		}
		delay := retry.Next()
		log.Warn("the control database cannot be used yet", zap.Error(err), zap.Duration(keyRetryIn, delay))
		if !sleep(ctx, delay, nil) {
			return context.Cause(ctx)
		}
	}
}

// transient reports whether an error of the control database may go away without intervention. A
// refused login does not count as transient, nor does a database that the login cannot open (error
// 4060): at the start of an agent a wrong name is much more likely than a failover.
func transient(err error) bool {
	switch {
	case errors.Is(err, dberror.ErrLoginFailed), errors.Is(err, dberror.ErrNotInstalled),
		errors.Is(err, dberror.ErrSchemaVersion), errors.Is(err, doctor.ErrUnfit):
		return false
	case errors.Is(err, dberror.ErrUnreachable):
		return true
	}
	return mssql.Classify(err).Class.Retryable()
}
