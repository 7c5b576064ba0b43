package agent

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/controldb/dberror"
)

// maxDataSeverity is the highest severity of errors that the data of a call may cause: 17 and above
// mean that the server lacks resources or is damaged
// (https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-error-severities).
const maxDataSeverity = 16

// refusesData reports whether err may be an answer of the control database to what a call would
// store, such as a violated constraint or the error of a trigger. Then the same call fails again,
// and a call without the refused part may succeed.
func refusesData(err error) bool {
	server, ok := dberror.ServerError(err)
	return ok && server.Class <= maxDataSeverity && !dberror.IsTransient(err) && !dberror.IsDenied(server.Number) &&
		!errors.Is(err, dberror.ErrTermEnded) && !errors.Is(err, dberror.ErrSchemaVersion) && !errors.Is(err, dberror.ErrNotInstalled)
}

// storeApart calls store with all items, and with halves of them if the control database refuses
// their data, so that an item that cannot be stored holds up no other. It returns the results of
// the calls that succeeded. refused is called for each item that was refused alone.
func storeApart[T, R any](
	ctx context.Context, items []T, store func(context.Context, []T) ([]R, error), refused func(T, error),
) ([]R, error) {
	results, err := store(ctx, items)
	switch {
	case err == nil || !refusesData(err):
		return results, err
	case len(items) == 1:
		refused(items[0], err)
		return nil, nil
	}
	half := len(items) / 2
	first, err := storeApart(ctx, items[:half], store, refused)
	if err != nil {
		return nil, err
	}
	second, err := storeApart(ctx, items[half:], store, refused)
	return append(first, second...), err
}
