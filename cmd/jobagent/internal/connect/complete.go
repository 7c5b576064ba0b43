package connect

import (
	"context"
	"errors"
	"io"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/controldb"
)

// errAsks means that the login needs a person, or a keyring that may ask one.
var errAsks = errors.New("the password of the context is not at hand")

// Complete runs fn with the control database for the completion of a command line: it prints
// nothing, and reads no password from a terminal or a keyring. The caller bounds its time.
func (c *Connections) Complete(ctx context.Context, fn func(context.Context, *controldb.Store) error) error {
	c.settings.printer.Stderr = io.Discard
	from, err := c.settings.Connection()
	if err != nil {
		return err
	}
	if from.Context != nil {
		if kind := from.Context.PasswordKind(); kind == "keyring" || kind == contexts.RefPrompt {
			return errAsks
		}
	}
	dsn, err := c.settings.ControlDSN(ctx)
	if err != nil {
		return err
	}
	cfg, err := ControlConfig(dsn)
	if err != nil {
		return err
	}
	cfg.MaxConns = 1
	store, err := controldb.New(cfg)
	if err != nil {
		return err
	}
	defer store.Close()
	return fn(ctx, store)
}

// ContextNames returns the names of the contexts, with their places.
func ContextNames() (names, places []string) {
	f, err := contexts.Read()
	if err != nil {
		return nil, nil
	}
	for _, name := range f.Names() {
		if c, err := f.Get(name); err == nil {
			names, places = append(names, name), append(places, c.Place())
		}
	}
	return names, places
}
