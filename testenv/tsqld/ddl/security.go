package ddl

import (
	"bytes"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// security executes statements over logins, users, roles, credentials and permissions.
type security struct{ *Executor }

// findLogin returns the login with a name, or nil.
func (r security) findLogin(name string) *catalog.Login {
	return r.s.Server.Catalog.Snapshot().Login(name)
}

// findOption returns the option with a name, or nil.
func findOption(opts []*syntax.Option, name string) *syntax.Option {
	for _, o := range opts {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// optionName returns the value of an option that is an identifier, or "".
func optionName(opts []*syntax.Option, name string) string {
	o := findOption(opts, name)
	if o == nil || o.Value == nil {
		return ""
	}
	if ref, ok := o.Value.(*syntax.ColumnRef); ok {
		return ref.Column()
	}
	return wordOf(o.Value)
}

// secret evaluates the password of a login or user.
func (r security) secret(e syntax.Expr) (string, error) {
	v, err := r.host.Value(e, types.NVarCharMax)
	if err != nil {
		return "", err
	}
	s, _ := v.(string)
	if types.Units(s) > session.MaxPassword {
		return "", mserr.NotSupported("a password of more than %d characters", session.MaxPassword)
	}
	return s, nil
}

// login executes CREATE and ALTER LOGIN.
func (r security) login(st *syntax.LoginStmt) error {
	s := r.s
	own := st.Verb == syntax.Alter && s.IsOwnLogin(st.Name.Name) && st.OldPassword != nil
	if !own && !s.ServerRole("securityadmin") {
		if st.Verb == syntax.Alter {
			return mserr.CannotFind("alter", "login", st.Name.Name)
		}
		return mserr.ActionPermission()
	}
	return r.s.Alter(r.ctx, s.Master(), func(_ *catalog.Database, e *catalog.Edit) error {
		old := r.findLogin(st.Name.Name)
		var l *catalog.Login
		switch {
		case st.Verb == syntax.Create && old != nil:
			return mserr.LoginExists(st.Name.Name)
		case st.Verb == syntax.Create:
			var err error
			if l, err = r.newLogin(st); err != nil {
				return err
			}
		case old == nil:
			return mserr.CannotFind("alter", "login", st.Name.Name)
		default:
			l = catalog.Clone(old)
		}
		if st.OldPassword != nil {
			was, err := r.secret(st.OldPassword)
			if err != nil {
				return err
			}
			if !catalog.CheckPassword(l.PasswordHash, was) {
				return mserr.CannotFind("alter", "login", st.Name.Name)
			}
		}
		if st.Password != nil && l.Windows {
			return mserr.CannotFind("alter", "login", st.Name.Name)
		}
		if st.Password != nil {
			p, err := r.secret(st.Password)
			if err != nil {
				return err
			}
			l.PasswordHash, l.MustChange = catalog.HashPassword(p), st.MustChange
		}
		if err := r.setLoginOptions(l, st); err != nil {
			return err
		}
		return e.PutLogin(l)
	})
}

// newLogin returns the login of a CREATE LOGIN without its password and options.
func (r security) newLogin(st *syntax.LoginStmt) (*catalog.Login, error) {
	if st.Windows {
		return newWindowsLogin(st)
	}
	if st.Password == nil {
		return nil, mserr.SyntaxKeyword("LOGIN")
	}
	l := &catalog.Login{Name: st.Name.Name, DefaultDatabase: "master"}
	o := findOption(st.Options, "SID")
	if o == nil {
		return l, nil
	}
	v, err := r.host.Value(o.Value, types.VarBinaryOf(85))
	if err != nil {
		return nil, err
	}
	l.SID, _ = v.([]byte)
	if r.s.Server.Catalog.Snapshot().LoginBySID(l.SID) != nil {
		return nil, mserr.Of(15433)
	}
	return l, nil
}

// setLoginOptions sets the options of a CREATE or ALTER LOGIN.
func (r security) setLoginOptions(l *catalog.Login, st *syntax.LoginStmt) error {
	if n := optionName(st.Options, "CHECK_POLICY"); n != "" {
		l.NoPolicy = n == "OFF"
	}
	if n := optionName(st.Options, "CHECK_EXPIRATION"); n != "" {
		l.Expiration = n == "ON"
	}
	switch {
	case l.MustChange && (l.NoPolicy || !l.Expiration):
		return mserr.Of(15128)
	case l.NoPolicy && l.Expiration:
		return mserr.Of(15122)
	}
	if n := optionName(st.Options, "DEFAULT_DATABASE"); n != "" {
		if r.s.DatabaseByName(n) == nil {
			return mserr.NoDatabase(n)
		}
		l.DefaultDatabase = n
	}
	if n := optionName(st.Options, "NAME"); n != "" {
		if r.findLogin(n) != nil {
			return mserr.LoginExists(n)
		}
		l.Name = n
	}
	switch {
	case st.Enable:
		l.Disabled = false
	case st.Disable:
		l.Disabled = true
	}
	return nil
}

// dropLogin executes DROP LOGIN.
func (r security) dropLogin(st *syntax.DropStmt, name string) error {
	s := r.s
	l := r.findLogin(name)
	if l == nil || !s.ServerRole("securityadmin") {
		return absent(l == nil && st.IfExists, mserr.CannotFind("drop", "login", name))
	}
	if bytes.Equal(l.SID, catalog.SAID) {
		return mserr.CannotFind("drop", "login", name)
	}
	for _, o := range s.Server.AllSessions() {
		if _, sid := o.Original.Label(); bytes.Equal(sid, l.SID) {
			return mserr.LoginInUse(name)
		}
	}
	for _, d := range s.Server.Catalog.Snapshot().Databases() {
		if bytes.Equal(d.OwnerID, l.SID) {
			return mserr.Of(15174, name)
		}
	}
	return r.s.Alter(r.ctx, s.Master(), func(_ *catalog.Database, e *catalog.Edit) error {
		e.DropLogin(l)
		return nil
	})
}

// user executes CREATE and ALTER USER.
func (r security) user(st *syntax.UserStmt) error {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	if !s.MayDatabase("ALTER ANY USER") {
		if st.Verb == syntax.Alter {
			return mserr.CannotFind("alter", "user", st.Name.Name)
		}
		return mserr.ActionPermission()
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		old := d.Principals.Find(st.Name.Name)
		var p *catalog.Principal
		if st.Verb == syntax.Create {
			if old != nil {
				return mserr.PrincipalExists(st.Name.Name)
			}
			p = &catalog.Principal{Name: st.Name.Name, Type: "S", DefaultSchema: "dbo"}
			if st.Password == nil && !st.WithoutLogin {
				login := st.Login.Name
				if login == "" {
					login = st.Name.Name
				}
				if err := r.linkLogin(d, p, login); err != nil {
					return err
				}
			}
		} else {
			if old == nil || old.IsRole() {
				return mserr.CannotFind("alter", "user", st.Name.Name)
			}
			p = catalog.Clone(old)
			if st.Login.Name != "" {
				if err := r.linkLogin(d, p, st.Login.Name); err != nil {
					return err
				}
			}
		}
		if st.Password != nil {
			text, err := r.secret(st.Password)
			if err != nil {
				return err
			}
			p.PasswordHash = catalog.HashPassword(text)
		}
		if n := optionName(st.Options, "DEFAULT_SCHEMA"); n != "" {
			p.DefaultSchema = n
		}
		if n := optionName(st.Options, "NAME"); n != "" {
			if d.Principals.Find(n) != nil {
				return mserr.PrincipalExists(n)
			}
			p.Name = n
		}
		e.PutPrincipal(p)
		if st.Verb == syntax.Create {
			e.SetPermission(catalog.Permission{
				Grantee: p.ID, Grantor: catalog.PrincipalDBO, Name: "CONNECT", State: 'G',
			})
		}
		return nil
	})
}

// linkLogin sets the security ID of a user to that of a login.
func (r security) linkLogin(d *catalog.Database, p *catalog.Principal, name string) error {
	l := r.findLogin(name)
	if l == nil {
		return mserr.InvalidLogin(name)
	}
	if o := d.Principals.OfLogin(l.SID); o != nil && o.ID != p.ID {
		return mserr.LoginHasUser()
	}
	p.SID = l.SID
	return nil
}

// dropPrincipal executes DROP USER and DROP ROLE.
func (r security) dropPrincipal(st *syntax.DropStmt, name string) error {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	kind := strings.ToLower(st.Kind)
	permission := "ALTER ANY USER"
	if kind == "role" {
		permission = "ALTER ANY ROLE"
	}
	p := d.Principals.Find(name)
	if p == nil || p.IsRole() != (kind == "role") || !s.MayDatabase(permission) {
		return absent(p == nil && st.IfExists, mserr.CannotFind("drop", kind, name))
	}
	if p.Fixed || p.ID <= catalog.PrincipalSys {
		return mserr.Of(15150, kind, name)
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		for _, sc := range d.Schemas() {
			if sc.OwnerID == p.ID {
				return mserr.PrincipalOwnsSchema()
			}
		}
		for _, m := range d.Principals.Memberships {
			if m.Role == p.ID {
				return mserr.RoleHasMembers()
			}
		}
		e.DropPrincipal(p)
		return nil
	})
}

// role executes CREATE and ALTER ROLE.
func (r security) role(st *syntax.RoleStmt) error {
	s := r.s
	if st.Server {
		return r.serverRole(st)
	}
	d := s.DatabaseByID(s.DatabaseID)
	if st.Verb == syntax.Create {
		if !s.MayDatabase("CREATE ROLE") {
			return mserr.ActionPermission()
		}
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			if d.Principals.Find(st.Name.Name) != nil {
				return mserr.PrincipalExists(st.Name.Name)
			}
			owner := s.Principal(d)
			if st.Authorization.Name != "" {
				o := d.Principals.Find(st.Authorization.Name)
				if o == nil {
					return mserr.CannotFind("find", "principal", st.Authorization.Name)
				}
				owner = o.ID
			}
			e.PutPrincipal(&catalog.Principal{Name: st.Name.Name, Type: "R", OwnerID: owner})
			return nil
		})
	}
	role := d.Principals.Find(st.Name.Name)
	if role == nil || !role.IsRole() ||
		!s.MayDatabase("ALTER ANY ROLE") && !s.May(d, "ALTER",
			catalog.Securable{Class: catalog.ClassPrincipal, Major: role.ID}) {
		return mserr.CannotFind("alter", "role", st.Name.Name)
	}
	switch {
	case st.AddMember.Name != "":
		return r.member(d, role, st.AddMember.Name, true)
	case st.DropMember.Name != "":
		return r.member(d, role, st.DropMember.Name, false)
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		if d.Principals.Find(st.NewName.Name) != nil {
			return mserr.PrincipalExists(st.NewName.Name)
		}
		c := catalog.Clone(role)
		c.Name = st.NewName.Name
		e.PutPrincipal(c)
		return nil
	})
}

// member adds a principal to a role or removes it.
func (r security) member(d *catalog.Database, role *catalog.Principal, name string, add bool) error {
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		p := d.Principals.Find(name)
		verb := "add"
		if !add {
			verb = "drop"
		}
		if p == nil {
			return mserr.CannotFind(verb, "principal", name)
		}
		if p.ID == catalog.PrincipalDBO || role.ID == catalog.PrincipalPublic {
			return mserr.Of(15405, p.Name)
		}
		if !add {
			e.DropMember(role.ID, p.ID)
			return nil
		}
		if p.ID == role.ID || d.Principals.IsMember(role.ID, p.ID) {
			return mserr.Of(15413)
		}
		e.AddMember(role.ID, p.ID)
		return nil
	})
}

// serverRole executes ALTER SERVER ROLE.
func (r security) serverRole(st *syntax.RoleStmt) error {
	s := r.s
	name := catalog.Fold(st.Name.Name)
	if !slices.Contains(session.ServerRoles, name) || !s.Sysadmin() {
		return mserr.CannotFind("alter", "server role", st.Name.Name)
	}
	member := st.AddMember.Name + st.DropMember.Name
	l := r.findLogin(member)
	if l == nil {
		return mserr.CannotFind("add", "principal", member)
	}
	return r.s.Alter(r.ctx, s.Master(), func(_ *catalog.Database, e *catalog.Edit) error {
		c := catalog.Clone(l)
		c.Roles = slices.DeleteFunc(c.Roles, func(o string) bool { return o == name })
		if st.AddMember.Name != "" {
			c.Roles = append(c.Roles, name)
		}
		return e.PutLogin(c)
	})
}

// AddRoleMember executes sp_addrolemember.
func (r *Executor) AddRoleMember(role, member string) (int32, error) {
	return security{r}.memberProc(role, member, true)
}

// DropRoleMember executes sp_droprolemember.
func (r *Executor) DropRoleMember(role, member string) (int32, error) {
	return security{r}.memberProc(role, member, false)
}

// memberProc executes sp_addrolemember and sp_droprolemember.
func (r security) memberProc(name, member string, add bool) (int32, error) {
	d := r.s.DatabaseByID(r.s.DatabaseID)
	role := d.Principals.Find(name)
	if role == nil || !role.IsRole() || !r.s.MayDatabase("ALTER ANY ROLE") {
		return 1, mserr.CannotFind("alter", "role", name)
	}
	return 0, r.member(d, role, member, add)
}

// credential executes CREATE and ALTER DATABASE SCOPED CREDENTIAL. The secret is not stored.
func (r security) credential(st *syntax.CredentialStmt) error {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	if !s.MayDatabase("CONTROL") {
		return mserr.ActionPermission()
	}
	v, err := r.host.Value(st.Identity, types.NVarCharOf(4000))
	if err != nil {
		return err
	}
	identity, _ := v.(string)
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		old := d.Credential(st.Name.Name)
		switch {
		case st.Verb == syntax.Create && old != nil:
			return mserr.Of(15530, st.Name.Name)
		case st.Verb == syntax.Alter && old == nil:
			return mserr.CannotFind("alter", "credential", st.Name.Name)
		}
		c := &catalog.Credential{Name: st.Name.Name, Identity: identity}
		if old != nil {
			c.ID, c.Created = old.ID, old.Created
		}
		e.PutCredential(c)
		return nil
	})
}

// dropCredential executes DROP DATABASE SCOPED CREDENTIAL.
func (r security) dropCredential(st *syntax.DropStmt, name string) error {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	c := d.Credential(name)
	if c == nil || !s.MayDatabase("CONTROL") {
		return absent(c == nil && st.IfExists, mserr.CannotFind("drop", "credential", name))
	}
	return r.s.Alter(r.ctx, d, func(_ *catalog.Database, e *catalog.Edit) error {
		e.DropCredential(c)
		return nil
	})
}

// alterAuthorization executes ALTER AUTHORIZATION.
func (r security) alterAuthorization(st *syntax.AlterAuthorizationStmt) error {
	s := r.s
	name := st.Name.Last()
	if st.Class == "DATABASE" {
		d := s.DatabaseByName(name)
		l := r.findLogin(st.Principal.Name)
		switch {
		case d == nil || !s.OwnsDatabase(d):
			return mserr.CannotFind("find", "database", name)
		case l == nil || !s.Sysadmin() && !s.IsOwnLogin(l.Name): // IMPERSONATE on the new owner is needed
			return mserr.CannotFind("find", "principal", st.Principal.Name)
		}
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			e.SetOwner(l.SID)
			dbo := catalog.Clone(d.Principals.ByID(catalog.PrincipalDBO))
			dbo.SID = l.SID
			e.PutPrincipal(dbo)
			return nil
		})
	}
	d := s.DatabaseByID(s.DatabaseID)
	owner := 0
	if !st.SchemaOwner {
		p := d.Principals.Find(st.Principal.Name)
		if p == nil {
			return mserr.CannotFind("find", "principal", st.Principal.Name)
		}
		owner = p.ID
	}
	if !s.MayDatabase("CONTROL") {
		return mserr.ActionPermission()
	}
	switch st.Class {
	case "SCHEMA":
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			sc := d.Schema(name)
			if sc == nil {
				return mserr.CannotFind("find", "schema", name)
			}
			e.SetSchemaOwner(sc, owner)
			return nil
		})
	case "ROLE":
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			p := d.Principals.Find(name)
			if p == nil || !p.IsRole() {
				return mserr.CannotFind("find", "role", name)
			}
			c := catalog.Clone(p)
			c.OwnerID = owner
			e.PutPrincipal(c)
			return nil
		})
	}
	o, d, err := r.object(st.Name)
	if err != nil {
		return err
	}
	if o == nil {
		return mserr.CannotFind("find", "object", name)
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		return r.moveObject(e, d.ObjectByID(o.Head().ObjectID), func(h *catalog.Header) { h.OwnerID = owner })
	})
}

// newWindowsLogin returns the login of a CREATE LOGIN ... FROM WINDOWS without its options.
func newWindowsLogin(st *syntax.LoginStmt) (*catalog.Login, error) {
	name := st.Name.Name
	if !strings.ContainsAny(name, `\@`) {
		return nil, mserr.Of(15407, name)
	}
	return &catalog.Login{Name: name, DefaultDatabase: "master", Windows: true}, nil
}
