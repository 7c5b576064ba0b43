package agent

import (
	"context"
	"errors"
	"io"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

func TestUnreachedAction(t *testing.T) {
	t.Parallel()
	result := func(class targets.Class, err error) targets.Result {
		return targets.Result{Err: err, Error: targets.ErrorDetail{Class: class}}
	}
	errNetwork := errors.New("no such host")
	setting := &targets.ConfigError{Subject: "host \"h\"", Err: errNetwork}
	require.True(t, unreachedAction(result(targets.ClassConfig, errNetwork)), "an unknown name, or a certificate")
	require.True(t, unreachedAction(result(targets.ClassTimeout, errNetwork)))
	require.True(t, unreachedAction(result(targets.ClassAuth, errNetwork)), "no token")
	require.False(t, unreachedAction(result(targets.ClassConfig, setting)), "a refused address")
	require.False(t, unreachedAction(result(targets.ClassPermanent, errNetwork)), "a fault of the definition")
}

// A target with which a session was made is reached, whatever happened then.
func TestUnreachedTarget(t *testing.T) {
	t.Parallel()
	result := func(loggedIn bool, err error) targets.Result {
		return targets.Result{
			Err: err, Error: targets.ErrorDetail{Class: mssql.Classify(err).Class},
			Phases: []targets.Phase{{Name: targets.PhaseConnect, Failed: !loggedIn}},
		}
	}
	refused := &targets.ConfigError{Subject: "target s/d", Err: errors.New("it is the control database")}
	require.True(t, unreachedTarget(result(false, io.EOF)))
	require.True(t, unreachedTarget(targets.Result{Err: refused, Error: targets.ErrorDetail{Class: targets.ClassConfig}}), "nothing was dialed")
	require.True(t, unreachedTarget(result(true, refused)), "the agent refuses the target")
	require.True(t, unreachedTarget(targets.Result{Err: io.EOF, Phases: []targets.Phase{{Name: targets.PhaseRequest}}}), "another phase is no session")
	require.False(t, unreachedTarget(result(true, io.EOF)), "the session was lost before the script was sent")
	require.False(t, unreachedTarget(result(true, mssqldb.Error{Number: 262})), "a missing right in the database")
	require.False(t, unreachedTarget(result(false, &mssql.OutputError{Table: "t", Err: io.EOF})), "another server")
}

// The cause for which the context of a task ended decides the outcome of an attempt that sent
// nothing: only a stop request and the step's time limit are final.
func TestUnsentAttempt(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]targets.Outcome{
		targets.ErrStopRequested: targets.Canceled,
		targets.ErrTimeout:       targets.TimedOut,
		ErrTermLost:              targets.NotSent,
		ErrStopping:              targets.NotSent,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		r := (&taskHost{}).unsent(ctx, controldb.Task{ID: 7, Attempt: 3})
		require.Equal(t, want, r.outcome.Outcome, cause)
		require.True(t, r.outcome.Unsent, cause)
		require.NotEmpty(t, r.outcome.Message, cause)
		require.Equal(t, controldb.TaskID(7), r.outcome.Task)
		require.Equal(t, 3, r.outcome.Attempt)
	}
}
