package exec

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// materialize fills the temporary table of a system row set.
func (r queries) materialize(ref *plan.SystemRef) error {
	s := r.s
	t := ref.Table
	d := s.DatabaseByID(ref.DatabaseID)
	if d == nil {
		return mserr.NoDatabase(strconv.Itoa(ref.DatabaseID))
	}
	if err := s.beginRead(r.ctx, &plan.Needs{Databases: []int{d.ID}}, r.f.unit, false, false); err != nil {
		return err
	}
	e := &sysviews.Env{
		Snapshot: s.inst.Catalog.Snapshot(), Database: d, Principal: s.Principal(d),
		SeeAll:      s.Sysadmin() || s.Principal(d) == catalog.PrincipalDBO,
		SeeLogins:   s.Sysadmin(),
		SeeSessions: s.MayServer("VIEW SERVER PERFORMANCE STATE"),
		Conn:        s.Conn, Login: s.OwnLogin(),
		Server: s.inst.Config.ServerName, Started: types.RoundDateTime(types.TicksOf(s.inst.Started)),
		Path:     s.inst.Store.Path,
		Sessions: func() []sysviews.SessionRow { return describeSessions(s) },
		Locks:    s.inst.DescribeLocks,
		Shape:    func(v *sysviews.SystemView) ([]types.Column, error) { return r.compiler().SystemColumns(d, v) },
	}
	if d.ID == catalog.DatabaseTemp {
		e.Temporary = s.Temporary()
		e.Database = d.WithTemporary(e.Temporary)
	}
	e.Settings = s.inst.SettingsNow()
	e.Messages = s.inst.Messages.All()
	return t.Materialize(r.ctx, e, ref.Temp)
}

// describeSessions describes the sessions of the instance, s first.
func describeSessions(s *Session) []sysviews.SessionRow {
	s.PublishState() // a session sees its own current state
	out := []sysviews.SessionRow{s.Describe()}
	if s.inst.Config.OwnSessionsOnly {
		return out
	}
	for _, o := range s.inst.AllSessions() {
		if o != s.Session {
			out = append(out, o.Describe())
		}
	}
	return out
}
