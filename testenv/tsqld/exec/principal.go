package exec

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// identity is as whom a session works: a login, or a user of one database.
type identity struct {
	name     string // of the login, or of the user
	sid      []byte // of the login; nil for a user without one
	sysadmin bool
	// contained is the database to which the identity is limited, 0 for a login: that of a contained user, of EXECUTE AS
	// USER and of a module that runs as its owner. user is the principal there.
	contained int
	user      int
}

// impersonation is an EXECUTE AS that is in effect.
type impersonation struct {
	before   identity
	frame    *frame // the activation that it ends with; nil for the session
	noRevert bool
	module   bool // of a module's EXECUTE AS clause: REVERT does not end it
}

// userIn is the database principal of an identity; ok is false without access.
func (id identity) userIn(d *catalog.Database) (principal int, ok bool) {
	if id.contained != 0 {
		if d.ID == id.contained {
			return id.user, true
		}
		return catalog.PrincipalGuest, d.ID == catalog.DatabaseMaster || d.ID == catalog.DatabaseTemp
	}
	if id.sysadmin || slices.Equal(d.OwnerID, id.sid) {
		return catalog.PrincipalDBO, true
	}
	if p := d.UserOf(id.sid); p != nil {
		return p.ID, true
	}
	switch d.ID {
	case catalog.DatabaseMaster, catalog.DatabaseTemp, catalog.DatabaseMSDB:
		return catalog.PrincipalGuest, true
	}
	return 0, false
}

// sysadmin reports whether the session checks no permission at all.
func (s *Session) sysadmin() bool { return s.login.sysadmin && s.login.contained == 0 }

// principal is the session's user in a database; guest where it has none.
func (s *Session) principal(d *catalog.Database) int {
	if p, ok := s.login.userIn(d); ok {
		return p
	}
	return catalog.PrincipalGuest
}

// defaultSchema is that of the session's user in its current database.
func (s *Session) defaultSchema() string {
	d := s.databaseByID(s.dbID)
	if d == nil {
		return "dbo"
	}
	if p := d.PrincipalByID(s.principal(d)); p != nil && p.DefaultSchema != "" {
		return p.DefaultSchema
	}
	return "dbo"
}

// may reports whether the session has a permission on a securable.
func (s *Session) may(d *catalog.Database, permission string, on catalog.Securable) bool {
	if s.sysadmin() {
		return true
	}
	p := s.principal(d)
	if p == catalog.PrincipalDBO {
		return true
	}
	return d.Check(p, permission, on) == catalog.Granted
}

// mayDatabase reports whether the session has a permission on the current database.
func (s *Session) mayDatabase(permission string) bool {
	d := s.databaseByID(s.dbID)
	return d != nil && s.may(d, permission, catalog.Securable{Class: catalog.ClassDatabase})
}

// permit checks the permissions that a statement needs. Objects of the owner of the running module are not asked
// about (ownership chaining).
func (r *run) permit(uses []compile.Use) error {
	s := r.s
	if len(uses) == 0 || s.sysadmin() {
		return nil
	}
	for _, u := range uses {
		if u.Object == nil || u.Object.Head().ObjectID < 0 {
			continue // system views show what their reader may see
		}
		if r.f.owner >= 0 && u.Database.ID == s.dbID && u.Database.Owner(u.Object) == r.f.owner {
			continue
		}
		h := u.Object.Head()
		if !s.may(u.Database, u.Permission, catalog.Securable{Class: catalog.ClassObject, Major: int(h.ObjectID)}) {
			return permissionDenied(u.Database, u.Object, u.Permission)
		}
	}
	return nil
}

// permissionDenied is error 229.
func permissionDenied(d *catalog.Database, o catalog.Object, permission string) error {
	h := o.Head()
	schema := "dbo"
	if sc := d.SchemaByID(h.SchemaID); sc != nil {
		schema = sc.Name
	}
	return mserr.ObjectPermission(permission, h.Name, d.Name, schema)
}

// executeAs is EXECUTE AS as a statement. It ends with REVERT, or with the activation that it is in.
func (r *run) executeAs(st *syntax.ExecuteAsStmt) error {
	s := r.s
	if st.Cookie != "" {
		return mserr.NotSupported("EXECUTE AS WITH COOKIE")
	}
	frame := r.f
	if frame.kind == batchFrame {
		frame = nil
	}
	if st.Caller {
		s.impersonate(impersonation{before: s.login, frame: frame, noRevert: st.NoRevert}, s.login)
		return nil
	}
	v, err := r.value(st.Name, types.NVarCharOf(128))
	if err != nil {
		return err
	}
	name, _ := v.(string)
	id, err := s.identityOf(name, st.Login)
	if err != nil {
		return err
	}
	s.impersonate(impersonation{before: s.login, frame: frame, noRevert: st.NoRevert}, id)
	return nil
}

// identityOf finds whom to impersonate, and checks the permission to.
func (s *Session) identityOf(name string, login bool) (identity, error) {
	if login {
		l := s.inst.catalog.Snapshot().Login(name)
		if l == nil || !s.sysadmin() && !equalNames(name, s.login.name) {
			return identity{}, mserr.ImpersonateLogin(name)
		}
		return identity{name: l.Name, sid: l.SID, sysadmin: l.SysAdmin()}, nil
	}
	d := s.databaseByID(s.dbID)
	p := d.Principal(name)
	if p == nil || p.IsRole() {
		return identity{}, mserr.ImpersonateUser(name)
	}
	if p.ID != s.principal(d) && !s.may(d, "IMPERSONATE", catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}) {
		return identity{}, mserr.ImpersonateUser(name)
	}
	return s.userIdentity(d, p), nil
}

// userIdentity is the identity of a user of a database.
func (s *Session) userIdentity(d *catalog.Database, p *catalog.Principal) identity {
	id := identity{name: p.Name, sid: p.SID, contained: d.ID, user: p.ID}
	if l := s.inst.catalog.Snapshot().LoginBySID(p.SID); l != nil {
		id.name = l.Name
	}
	return id
}

// impersonate puts an identity on top.
func (s *Session) impersonate(i impersonation, id identity) {
	s.impersonations = append(s.impersonations, i)
	s.login = id
}

// popImpersonation takes the topmost identity off.
func (s *Session) popImpersonation() {
	last := len(s.impersonations) - 1
	s.login = s.impersonations[last].before
	s.impersonations = s.impersonations[:last]
}

// revert is REVERT; without an EXECUTE AS in the same activation it does nothing, as in SQL Server.
func (r *run) revert(st *syntax.RevertStmt) error {
	s := r.s
	if st.Cookie != nil {
		return mserr.NotSupported("REVERT WITH COOKIE")
	}
	n := len(s.impersonations)
	if n == 0 {
		return nil
	}
	top := s.impersonations[n-1]
	frame := r.f
	if frame.kind == batchFrame {
		frame = nil
	}
	if top.module || top.noRevert || top.frame != frame {
		return nil
	}
	s.popImpersonation()
	return nil
}

// endImpersonations ends those of an activation.
func (s *Session) endImpersonations(f *frame) {
	for n := len(s.impersonations); n > 0 && s.impersonations[n-1].frame == f; n-- {
		s.popImpersonation()
	}
}

// moduleIdentity applies a module's EXECUTE AS clause to an activation.
func (s *Session) moduleIdentity(d *catalog.Database, m *catalog.Module, owner int, f *frame) error {
	var p *catalog.Principal
	switch m.ExecuteAs {
	case "":
		return nil
	case "OWNER":
		p = d.PrincipalByID(owner)
	case "SELF":
		p = d.PrincipalByID(m.ExecuteAsID)
	default:
		p = d.Principal(m.ExecuteAs)
	}
	if p == nil {
		return mserr.ImpersonateUser(m.ExecuteAs)
	}
	if p.IsRole() {
		return mserr.NotSupported("EXECUTE AS OWNER of a module that belongs to a role")
	}
	s.impersonate(impersonation{before: s.login, frame: f, module: true}, s.userIdentity(d, p))
	return nil
}
