package tsqld

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// Wait describes a statement that waits for another session.
type Wait = session.Wait

// instance is the engine of a real server.
type instance struct{ *exec.Instance }

// open implements engine.
func (i instance) open(ctx context.Context, l login) (interpreter, error) {
	s, err := i.NewSession(ctx, session.Login{
		User:           l.User,
		Password:       l.Password,
		Windows:        l.Windows,
		Realm:          l.Realm,
		Foreign:        l.Foreign,
		Database:       l.Database,
		Language:       l.Language,
		App:            l.App,
		Host:           l.Host,
		Library:        l.Library,
		PID:            l.PID,
		Version:        l.Version,
		PacketSize:     l.PacketSize,
		ReadOnlyIntent: l.ReadOnlyIntent,
		Encrypted:      l.Encrypted,
		Multiple:       l.Multiple,
		Recovery:       l.Recovery,
		NewPassword:    l.NewPassword,
		Local:          l.Local,
		Remote:         l.Remote,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// close implements engine.
func (i instance) close() error { return i.Close() }
