package tsqld

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
)

// New opens the databases of cfg.Dir, creating the system databases where they are missing, and
// returns a server that is ready for connections. The caller closes it.
func New(cfg Config) (*Server, error) {
	engineConfig := exec.Config{Dir: cfg.Dir, SAPassword: cfg.SAPassword, Now: cfg.Now, OnWait: cfg.OnWait, OnError: cfg.OnError, MaxMemory: cfg.MaxMemory}
	if cfg.Fault != nil {
		engineConfig.CommitFault = func() error { return cfg.Fault(Point{Kind: BeforeCommit, Context: context.Background()}) }
	}
	in, err := exec.New(engineConfig)
	if err != nil {
		return nil, fmt.Errorf("open databases: %w", err)
	}
	return newServer(cfg, instance{in}), nil
}

// Wait is a statement that waits for another session.
type Wait = exec.Wait

// instance is the interpreter as the engine of a server.
type instance struct{ *exec.Instance }

// open implements engine.
func (i instance) open(ctx context.Context, l login) (session, error) {
	s, err := i.NewSession(ctx, exec.Login{User: l.User, Password: l.Password, Database: l.Database, App: l.App, Host: l.Host,
		Library: l.Library, PID: l.PID, Version: l.Version,
		PacketSize: l.PacketSize, ReadOnlyIntent: l.ReadOnlyIntent, Encrypted: l.Encrypted, NewPassword: l.NewPassword})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// close implements engine.
func (i instance) close() error { return i.Close() }
