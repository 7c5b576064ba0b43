package connect

import (
	"context"
	"io"

	"github.com/jobagent/jobagent/controldb"
)

// Complete runs fn with the control database while a person types a command: it prints nothing, and
// asks nobody for a password. The caller bounds its time.
func (a *App) Complete(ctx context.Context, fn func(context.Context, *controldb.Store) error) error {
	a.Stderr = io.Discard
	dsn, err := a.ControlDSN()
	if err != nil {
		return err
	}
	store, err := controldb.New(controldb.Config{DSN: dsn, MaxConns: 1})
	if err != nil {
		return err
	}
	defer store.Close()
	return fn(ctx, store)
}
