package session

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Identity is the identity of a session: a [LoginIdentity] or a [userIdentity]. Only
// [Security.AsLogin] leads to a login, so that code at server scope cannot take the name of a
// confined user for a login.
type Identity interface {
	// UserIn returns the database principal of the identity. ok is false without access to the
	// database.
	UserIn(d *catalog.Database) (principal int, ok bool)
	// Label returns the name and the SID that functions and views show. They grant nothing.
	Label() (name string, sid []byte)
}

// LoginIdentity is the identity of a login. It may have permissions on the server.
type LoginIdentity struct {
	Name     string
	SID      []byte
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

// Label implements [identity].
func (id LoginIdentity) Label() (name string, sid []byte) { return id.Name, id.SID }

// Label implements [identity].
func (id userIdentity) Label() (name string, sid []byte) { return id.shown, id.shownSID }

// AsLogin returns the login of the session. ok is false if the session is confined to a database.
func (s *Security) AsLogin() (l LoginIdentity, ok bool) {
	l, ok = s.Login.(LoginIdentity)
	return l, ok
}

// OwnLogin returns the login of the session from the catalog, or nil if the session is confined to
// a database or its login has been dropped.
func (s *Security) OwnLogin() *catalog.Login {
	l, ok := s.AsLogin()
	if !ok {
		return nil
	}
	return s.Server.Catalog.Snapshot().LoginBySID(l.SID)
}

// IsOwnLogin reports whether a name is that of the session's login.
func (s *Security) IsOwnLogin(name string) bool {
	l := s.OwnLogin()
	return l != nil && catalog.EqualNames(name, l.Name)
}

// LoginName returns the name that SUSER_SNAME() and messages show.
func (s *Security) LoginName() string {
	name, _ := s.Login.Label()
	return name
}

// UserIn implements [identity].
func (id userIdentity) UserIn(d *catalog.Database) (principal int, ok bool) {
	if d.ID == id.database {
		return id.user, true
	}
	return catalog.PrincipalGuest, d.ID == catalog.DatabaseMaster || d.ID == catalog.DatabaseTemp
}

// UserIn implements [identity].
func (id LoginIdentity) UserIn(d *catalog.Database) (principal int, ok bool) {
	if id.sysadmin || slices.Equal(d.OwnerID, id.SID) {
		return catalog.PrincipalDBO, true
	}
	if p := d.Principals.OfLogin(id.SID); p != nil {
		return p.ID, true
	}
	switch d.ID {
	case catalog.DatabaseMaster, catalog.DatabaseTemp, catalog.DatabaseMSDB:
		return catalog.PrincipalGuest, true
	}
	return 0, false
}

// Sysadmin reports whether the session has all permissions.
func (s *Security) Sysadmin() bool {
	l, ok := s.AsLogin()
	return ok && l.sysadmin
}

// Principal returns the session's user in a database, or guest.
func (s *Security) Principal(d *catalog.Database) int {
	if p, ok := s.Login.UserIn(d); ok {
		return p
	}
	return catalog.PrincipalGuest
}

// DefaultSchema returns the default schema of the session's user in the current database.
func (s *Security) DefaultSchema() string {
	d := s.DatabaseByID(s.DatabaseID)
	if d == nil {
		return "dbo"
	}
	if p := d.Principals.ByID(s.Principal(d)); p != nil && p.DefaultSchema != "" {
		return p.DefaultSchema
	}
	return "dbo"
}

// Security is the identity of a session and its permissions.
type Security struct {
	View
	Login          Identity // effective identity
	Original       Identity // identity at login
	impersonations []impersonation
}

// impersonation is an EXECUTE AS in effect.
type impersonation struct {
	before   Identity
	level    int // of the activation whose end reverts the impersonation; SessionLevel for the session
	noRevert bool
	module   bool // from the EXECUTE AS clause of a module: REVERT does not end it
}

// SessionLevel is the level of an impersonation that lasts longer than an activation.
const SessionLevel = -1

// IdentityOf returns the identity of a login or user, and checks the permission to impersonate it.
func (s *Security) IdentityOf(name string, login bool) (Identity, error) {
	if login {
		l := s.Server.Catalog.Snapshot().Login(name)
		if l == nil || !s.Sysadmin() && !s.IsOwnLogin(name) {
			return nil, mserr.ImpersonateLogin(name)
		}
		return LoginIdentity{Name: l.Name, SID: l.SID, sysadmin: l.SysAdmin()}, nil
	}
	d := s.DatabaseByID(s.DatabaseID)
	p := d.Principals.Find(name)
	if p == nil || p.IsRole() {
		return nil, mserr.ImpersonateUser(name)
	}
	if p.ID != s.Principal(d) &&
		!s.May(d, "IMPERSONATE", catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}) {
		return nil, mserr.ImpersonateUser(name)
	}
	return s.confined(d, p), nil
}

// confined returns the identity of a user of a database.
func (s *Security) confined(d *catalog.Database, p *catalog.Principal) userIdentity {
	id := userIdentity{shown: p.Name, shownSID: p.SID, database: d.ID, user: p.ID}
	if l := s.Server.Catalog.Snapshot().LoginBySID(p.SID); l != nil {
		id.shown = l.Name
	}
	return id
}

// Impersonate makes an identity that of the session: EXECUTE AS in an activation at a level.
func (s *Security) Impersonate(id Identity, level int, noRevert bool) {
	s.impersonations = append(s.impersonations, impersonation{before: s.Login, level: level, noRevert: noRevert})
	s.Login = id
}

// ImpersonateModule makes an identity that of the activation of a module at a level.
func (s *Security) ImpersonateModule(id Identity, level int) {
	s.impersonations = append(s.impersonations, impersonation{before: s.Login, level: level, module: true})
	s.Login = id
}

// Impersonating reports whether an EXECUTE AS is in effect.
func (s *Security) Impersonating() bool { return len(s.impersonations) > 0 }

// Revert executes REVERT in an activation at a level. Like in SQL Server it has no effect without
// an EXECUTE AS in the same activation.
func (s *Security) Revert(level int) {
	n := len(s.impersonations)
	if n == 0 {
		return
	}
	top := s.impersonations[n-1]
	if top.module || top.noRevert || top.level != level {
		return
	}
	s.PopImpersonation()
}

// PopImpersonation restores the identity before the last impersonation.
func (s *Security) PopImpersonation() {
	last := len(s.impersonations) - 1
	s.Login = s.impersonations[last].before
	s.impersonations = s.impersonations[:last]
}

// EndImpersonations reverts the impersonations of the activation at a level.
func (s *Security) EndImpersonations(level int) {
	for n := len(s.impersonations); n > 0 && s.impersonations[n-1].level == level; n-- {
		s.PopImpersonation()
	}
}

// ModuleIdentity applies the EXECUTE AS clause of a module to its activation at
// a level.
func (s *Security) ModuleIdentity(d *catalog.Database, m *catalog.Module, owner, level int) error {
	var p *catalog.Principal
	switch m.ExecuteAs {
	case "":
		return nil
	case "OWNER":
		p = d.Principals.ByID(owner)
	case "SELF":
		p = d.Principals.ByID(m.ExecuteAsID)
	default:
		p = d.Principals.Find(m.ExecuteAs)
	}
	if p == nil {
		return mserr.ImpersonateUser(m.ExecuteAs)
	}
	if p.IsRole() {
		return mserr.NotSupported("EXECUTE AS OWNER of a module that belongs to a role")
	}
	s.ImpersonateModule(s.confined(d, p), level)
	return nil
}
