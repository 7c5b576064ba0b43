package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// changePassword sets a new password for the session's login, as requested by LOGIN7 with
// fChangePassword (MS-TDS 2.2.6.4, OptionFlags3). The client has authenticated with the old
// password. The password is not part of a statement, so that no cache stores it.
func (s *Session) changePassword(ctx context.Context, password string) error {
	login, ok := s.AsLogin()
	if !ok {
		return mserr.NotSupported("changing the password of a contained user at login")
	}
	var out answer.FirstError
	err := s.serve(ctx, &out, "ALTER LOGIN", func(r *run) error {
		f := &frame{kind: batchFrame, unit: rootUnit, schema: s.DefaultSchema(), owner: -1, line: 1}
		return calls{r}.inFrame(f, func() error {
			return r.settle(nil, r.s.Alter(r.ctx, s.Master(), func(_ *catalog.Database, e *catalog.Edit) error {
				old := s.OwnLogin()
				if old == nil {
					return mserr.LoginFailed(login.Name)
				}
				l := catalog.Clone(old)
				l.PasswordHash, l.MustChange = catalog.HashPassword(password), false
				return e.PutLogin(l)
			}))
		})
	})
	if out.Err != nil {
		return errors.Join(out.Err, err)
	}
	return err
}
