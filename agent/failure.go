package agent

import (
	"context"
	"strings"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/action"
)

// errorPrefix is the beginning of the names of variables about the failure before a step.
const errorPrefix = "error."

// failureBefore is the failure before a step. It is read once, when an action names a part of it.
type failureBefore struct {
	read    bool
	failure controldb.Failure
}

// value returns the value of a variable error.*; null if nothing failed, and for a status code
// without a response. ok is false for any other name.
func (f *failureBefore) value(ctx context.Context, store *controldb.Store, task controldb.TaskID, name string) (value action.Value, ok bool, err error) {
	if !strings.HasPrefix(name, errorPrefix) {
		return action.Value{}, false, nil
	}
	if !f.read {
		if f.failure, err = store.Failure(ctx, task); err != nil {
			return action.Value{}, false, err
		}
		f.read = true
	}
	null := action.JSON([]byte("null"))
	if f.failure == (controldb.Failure{}) {
		return null, true, nil
	}
	switch name {
	case action.NameErrorOutcome:
		return action.Text(string(f.failure.Lifecycle)), true, nil
	case action.NameErrorMessage:
		return action.Text(f.failure.Message), true, nil
	case action.NameErrorAttempts:
		return action.Number(f.failure.Attempts), true, nil
	case action.NameErrorTarget:
		return action.Text(f.failure.Target()), true, nil
	case action.NameErrorHTTPStatus:
		if f.failure.StatusCode == 0 {
			return null, true, nil
		}
		return action.Number(f.failure.StatusCode), true, nil
	}
	return action.Value{}, false, nil
}
