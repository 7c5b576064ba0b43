package exec

import (
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// identity is the identity of a session: a [loginIdentity] or a [userIdentity]. Only
// [Session.asLogin] leads to a login, so that code at server scope cannot take the name of a
// confined user for a login.
type identity interface {
	// userIn returns the database principal of the identity. ok is false without access to the
	// database.
	userIn(d *catalog.Database) (principal int, ok bool)
	// label returns the name and the SID that functions and views show. They grant nothing.
	label() (name string, sid []byte)
}

// loginIdentity is the identity of a login. It may have permissions on the server.
type loginIdentity struct {
	name     string
	sid      []byte
	sysadmin bool
}

// userIdentity is an identity that is confined to a database. Contained users, EXECUTE AS USER and
// modules with EXECUTE AS have such identities. It has no login and no permission on the server.
type userIdentity struct {
	shown    string // name of the user's login, or of the user if it has none; see label
	shownSID []byte
	database int
	user     int // principal in that database
}

// label implements [identity].
func (id loginIdentity) label() (name string, sid []byte) { return id.name, id.sid }

// label implements [identity].
func (id userIdentity) label() (name string, sid []byte) { return id.shown, id.shownSID }

// asLogin returns the login of the session. ok is false if the session is confined to a database.
func (s *core) asLogin() (l loginIdentity, ok bool) {
	l, ok = s.login.(loginIdentity)
	return l, ok
}

// ownLogin returns the login of the session from the catalog, or nil if the session is confined to
// a database or its login has been dropped.
func (s *core) ownLogin() *catalog.Login {
	l, ok := s.asLogin()
	if !ok {
		return nil
	}
	return s.inst.catalog.Snapshot().LoginBySID(l.sid)
}

// isOwnLogin reports whether a name is that of the session's login.
func (s *core) isOwnLogin(name string) bool {
	l := s.ownLogin()
	return l != nil && equalNames(name, l.Name)
}

// loginName returns the name that SUSER_SNAME() and messages show.
func (s *core) loginName() string {
	name, _ := s.login.label()
	return name
}

// impersonation is an EXECUTE AS in effect.
type impersonation struct {
	before   identity
	level    int // of the activation whose end reverts the impersonation; sessionLevel for the session
	noRevert bool
	module   bool // from the EXECUTE AS clause of a module: REVERT does not end it
}

// sessionLevel is the level of an impersonation that lasts longer than an activation.
const sessionLevel = -1

// impersonationLevel returns the level of EXECUTE AS in the current activation.
func (r *run) impersonationLevel() int {
	if r.f.kind == batchFrame {
		return sessionLevel
	}
	return r.f.level
}

// userIn implements [identity].
func (id userIdentity) userIn(d *catalog.Database) (principal int, ok bool) {
	if d.ID == id.database {
		return id.user, true
	}
	return catalog.PrincipalGuest, d.ID == catalog.DatabaseMaster || d.ID == catalog.DatabaseTemp
}

// userIn implements [identity].
func (id loginIdentity) userIn(d *catalog.Database) (principal int, ok bool) {
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

// sysadmin reports whether the session has all permissions.
func (s *core) sysadmin() bool {
	l, ok := s.asLogin()
	return ok && l.sysadmin
}

// principal returns the session's user in a database, or guest.
func (s *core) principal(d *catalog.Database) int {
	if p, ok := s.login.userIn(d); ok {
		return p
	}
	return catalog.PrincipalGuest
}

// defaultSchema returns the default schema of the session's user in the current database.
func (s *core) defaultSchema() string {
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
func (s *core) may(d *catalog.Database, permission string, on catalog.Securable) bool {
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
func (s *core) mayDatabase(permission string) bool {
	d := s.databaseByID(s.dbID)
	return d != nil && s.may(d, permission, catalog.Securable{Class: catalog.ClassDatabase})
}

// permit checks the permissions that a statement needs. Objects of the owner of the current module
// need none (ownership chaining).
func (r *run) permit(uses []compile.Use) error {
	s := r.s
	if len(uses) == 0 || s.sysadmin() {
		return nil
	}
	for _, u := range uses {
		if u.Object == nil || u.Object.Head().ObjectID < 0 {
			continue // system views filter their rows by permission
		}
		d := s.databaseByID(u.DatabaseID)
		if d == nil {
			return mserr.NoDatabase(strconv.Itoa(u.DatabaseID))
		}
		if r.f.owner >= 0 && d.ID == s.dbID && d.Owner(u.Object) == r.f.owner {
			continue
		}
		h := u.Object.Head()
		if !s.may(d, u.Permission, catalog.Securable{Class: catalog.ClassObject, Major: int(h.ObjectID)}) {
			return permissionDenied(d, u.Object, u.Permission)
		}
	}
	return nil
}

// permissionDenied returns error 229.
func permissionDenied(d *catalog.Database, o catalog.Object, permission string) error {
	h := o.Head()
	schema := "dbo"
	if sc := d.SchemaByID(h.SchemaID); sc != nil {
		schema = sc.Name
	}
	return mserr.ObjectPermission(permission, h.Name, d.Name, schema)
}

// executeAs executes the statement EXECUTE AS. REVERT or the end of the activation reverts it.
func (r *run) executeAs(st *syntax.ExecuteAsStmt) error {
	s := r.s
	if st.Cookie != "" {
		return mserr.NotSupported("EXECUTE AS WITH COOKIE")
	}
	level := r.impersonationLevel()
	if st.Caller {
		s.impersonate(impersonation{before: s.login, level: level, noRevert: st.NoRevert}, s.login)
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
	s.impersonate(impersonation{before: s.login, level: level, noRevert: st.NoRevert}, id)
	return nil
}

// identityOf returns the identity of a login or user, and checks the permission to impersonate it.
func (s *core) identityOf(name string, login bool) (identity, error) {
	if login {
		l := s.inst.catalog.Snapshot().Login(name)
		if l == nil || !s.sysadmin() && !s.isOwnLogin(name) {
			return nil, mserr.ImpersonateLogin(name)
		}
		return loginIdentity{name: l.Name, sid: l.SID, sysadmin: l.SysAdmin()}, nil
	}
	d := s.databaseByID(s.dbID)
	p := d.Principal(name)
	if p == nil || p.IsRole() {
		return nil, mserr.ImpersonateUser(name)
	}
	if p.ID != s.principal(d) &&
		!s.may(d, "IMPERSONATE", catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}) {
		return nil, mserr.ImpersonateUser(name)
	}
	return s.confined(d, p), nil
}

// confined returns the identity of a user of a database.
func (s *core) confined(d *catalog.Database, p *catalog.Principal) userIdentity {
	id := userIdentity{shown: p.Name, shownSID: p.SID, database: d.ID, user: p.ID}
	if l := s.inst.catalog.Snapshot().LoginBySID(p.SID); l != nil {
		id.shown = l.Name
	}
	return id
}

// impersonate pushes an identity.
func (s *core) impersonate(i impersonation, id identity) {
	s.impersonations = append(s.impersonations, i)
	s.login = id
}

// popImpersonation restores the identity before the last impersonation.
func (s *core) popImpersonation() {
	last := len(s.impersonations) - 1
	s.login = s.impersonations[last].before
	s.impersonations = s.impersonations[:last]
}

// revert executes REVERT. Like in SQL Server it has no effect without an EXECUTE AS in the same
// activation.
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
	level := r.impersonationLevel()
	if top.module || top.noRevert || top.level != level {
		return nil
	}
	s.popImpersonation()
	return nil
}

// endImpersonations reverts the impersonations of the activation at a level.
func (s *core) endImpersonations(level int) {
	for n := len(s.impersonations); n > 0 && s.impersonations[n-1].level == level; n-- {
		s.popImpersonation()
	}
}

// moduleIdentity applies the EXECUTE AS clause of a module to its activation at
// a level.
func (s *core) moduleIdentity(d *catalog.Database, m *catalog.Module, owner, level int) error {
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
	s.impersonate(impersonation{before: s.login, level: level, module: true}, s.confined(d, p))
	return nil
}
