package exec

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// identities checks permissions of plans, and executes EXECUTE AS and REVERT.
type identities struct{ *run }

// impersonationLevel returns the level of EXECUTE AS in the current activation.
func (r identities) impersonationLevel() int {
	if r.f.kind == batchFrame {
		return session.SessionLevel
	}
	return r.f.level
}

// permit checks the permissions that a statement needs. Objects of the owner of the current module
// need none (ownership chaining).
func (r identities) permit(uses []plan.Use) error {
	s := r.s
	if len(uses) == 0 || s.Sysadmin() {
		return nil
	}
	for _, u := range uses {
		if u.Object == nil || u.Object.Head().ObjectID < 0 {
			continue // system views filter their rows by permission
		}
		d := s.DatabaseByID(u.DatabaseID)
		if d == nil {
			return mserr.NoDatabase(strconv.Itoa(u.DatabaseID))
		}
		if r.f.owner >= 0 && d.ID == s.DatabaseID && d.Owner(u.Object) == r.f.owner {
			continue
		}
		h := u.Object.Head()
		if !s.May(d, u.Permission, catalog.Securable{Class: catalog.ClassObject, Major: int(h.ObjectID)}) {
			return session.PermissionDenied(d, u.Object, u.Permission)
		}
	}
	return nil
}

// executeAs executes the statement EXECUTE AS. REVERT or the end of the activation reverts it.
func (r identities) executeAs(st *syntax.ExecuteAsStmt) error {
	s := r.s
	level := r.impersonationLevel()
	if st.Caller {
		s.Impersonate(s.Login, level, st.NoRevert)
		return nil
	}
	v, err := r.value(st.Name, types.NVarCharOf(128))
	if err != nil {
		return err
	}
	name, _ := v.(string)
	id, err := s.IdentityOf(name, st.Login)
	if err != nil {
		return err
	}
	s.Impersonate(id, level, st.NoRevert)
	return nil
}

// revert executes REVERT. Like in SQL Server it has no effect without an EXECUTE AS in the same
// activation.
func (r identities) revert(st *syntax.RevertStmt) error {
	r.s.Revert(r.impersonationLevel())
	return nil
}
