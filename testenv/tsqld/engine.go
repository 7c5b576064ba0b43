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
func (i instance) open(ctx context.Context, l session.Login) (interpreter, error) {
	s, err := i.NewSession(ctx, l)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// close implements engine.
func (i instance) close() error { return i.Close() }
