package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// changePassword gives the session's login another password, as LOGIN7 with fChangePassword asks for (MS-TDS 2.2.6.4,
// OptionFlags3). The login has just proved that it knows the old one. The password passes no statement, so that
// no cache keeps it.
func (s *Session) changePassword(ctx context.Context, password string) error {
	if s.login.contained != 0 {
		return mserr.NotSupported("changing the password of a contained user at login")
	}
	var out refusal
	err := s.serve(ctx, &out, "ALTER LOGIN", func(r *run) error {
		f := &frame{kind: batchFrame, unit: rootUnit, schema: s.defaultSchema(), owner: -1, line: 1}
		return r.within(f, func() error {
			return r.settle(nil, r.alter(s.master(), func(_ *catalog.Database, e *catalog.Edit) error {
				old := s.findLogin(s.login.name)
				if old == nil {
					return mserr.LoginFailed(s.login.name)
				}
				l := old.Clone()
				l.PasswordHash, l.MustChange = catalog.HashPassword(password), false
				return e.PutLogin(l)
			}))
		})
	})
	if out.first != nil {
		return errors.Join(out.first, err)
	}
	return err
}

// refusal is a Sink that keeps the first error and nothing else.
type refusal struct{ first *mserr.Error }

// Message implements [Sink].
func (f *refusal) Message(m *mserr.Error) error {
	if m.Class > 10 && f.first == nil {
		f.first = m
	}
	return nil
}

// Columns implements [Sink].
func (*refusal) Columns([]types.Column) error { return nil }

// Row implements [Sink].
func (*refusal) Row([]types.Value) error { return nil }

// Done implements [Sink].
func (*refusal) Done(Done) error { return nil }

// ReturnStatus implements [Sink].
func (*refusal) ReturnStatus(int32) error { return nil }

// ReturnValue implements [Sink].
func (*refusal) ReturnValue(int, string, types.Type, types.Value) error { return nil }

// EnvChange implements [Sink].
func (*refusal) EnvChange(EnvChange) error { return nil }
