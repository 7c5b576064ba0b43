package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/sysproc"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// Instance executes T-SQL for the sessions of a server. Its methods are safe for concurrent use.
type Instance struct {
	*session.Server
	units unit.Cache

	library sysproc.Library
}

// New opens an instance and its databases.
func New(cfg session.Config) (*Instance, error) {
	srv, err := session.NewServer(context.Background(), cfg, compile.Functions())
	if err != nil {
		return nil, err
	}
	return &Instance{Server: srv}, nil
}

// NewSession logs in. A *LoginError has number 18456 for an unknown login or a wrong password,
// 18488 for a password that must be changed, and 4060 or 4064 for a database that does not exist or
// that the login may not use. A login with an unknown name takes as long as a login with a wrong
// password.
func (i *Instance) NewSession(ctx context.Context, l session.Login) (*Session, error) {
	lower, err := i.Open(ctx, l)
	if err != nil {
		return nil, err
	}
	s := &Session{Session: lower, inst: i}
	s.Variables = s.tableVariables
	s.Conn.SetLocal(s.localFunction)
	if l.NewPassword != "" {
		if err := s.changePassword(ctx, l.NewPassword); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}
