package sysfunc

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Security has the functions over principals and permissions.
type Security struct{ Objects }

// UserByName implements [builtin.Security].
func (e Security) UserByName(name string) (int32, bool) {
	d := e.db(0)
	if d == nil {
		return 0, false
	}
	if name == "" {
		return int32(e.s.Principal(d)), true
	}
	if p := d.Principals.Find(name); p != nil {
		return int32(p.ID), true
	}
	return 0, false
}

// UserByID implements [builtin.Security].
func (e Security) UserByID(id int32) (string, bool) {
	d := e.db(0)
	if d == nil {
		return "", false
	}
	if id == 0 {
		id = int32(e.s.Principal(d))
	}
	if p := d.Principals.ByID(int(id)); p != nil {
		return p.Name, true
	}
	return "", false
}

// LoginByName implements [builtin.Security].
func (e Security) LoginByName(name string) (int32, []byte, bool) {
	shown, sid := e.s.Login.Label()
	if name == "" {
		if l := e.s.Server.Catalog.Snapshot().LoginBySID(sid); l != nil {
			return int32(l.ID), l.SID, true
		}
		return 0, sid, true
	}
	if l := e.s.Server.Catalog.Snapshot().Login(name); l != nil {
		return int32(l.ID), l.SID, true
	}
	if catalog.EqualNames(name, shown) {
		return 0, sid, true
	}
	return 0, nil, false
}

// LoginByID implements [builtin.Security].
func (e Security) LoginByID(id int32) (string, bool) {
	if id == 0 {
		return e.s.LoginName(), true
	}
	for _, l := range e.s.Server.Catalog.Snapshot().Logins() {
		if l.ID == int(id) {
			return l.Name, true
		}
	}
	return "", false
}

// LoginBySID implements [builtin.Security].
func (e Security) LoginBySID(sid []byte) (string, bool) {
	if l := e.s.Server.Catalog.Snapshot().LoginBySID(sid); l != nil {
		return l.Name, true
	}
	return "", false
}

// IsRoleMember implements [builtin.Security].
func (e Security) IsRoleMember(role, principal string) (is, known bool) {
	d := e.db(0)
	if d == nil {
		return false, false
	}
	target := d.Principals.Find(role)
	if target == nil || !target.IsRole() {
		return false, false
	}
	id := e.s.Principal(d)
	if principal != "" {
		p := d.Principals.Find(principal)
		if p == nil {
			return false, false
		}
		id = p.ID
	}
	if id == catalog.PrincipalDBO {
		return !strings.HasPrefix(catalog.Fold(role), "db_deny"), true
	}
	return d.Principals.IsMember(id, target.ID), true
}

// IsServerRoleMember implements [builtin.Security].
func (e Security) IsServerRoleMember(role, login string) (is, known bool) {
	role = catalog.Fold(role)
	if !slices.Contains(session.ServerRoles, role) {
		return false, false
	}
	snap := e.s.Server.Catalog.Snapshot()
	name := login
	if name == "" {
		own, ok := e.s.AsLogin()
		if !ok {
			return role == "public", true
		}
		name = own.Name
	}
	l := snap.Login(name)
	if l == nil {
		return false, false
	}
	return role == "public" || l.SysAdmin() || slices.Contains(l.Roles, role), true
}

// LoginProperty implements [builtin.Security]. There is no password policy, so that logins are
// never locked or expired.
func (e Security) LoginProperty(login, property string) (types.Value, types.Type, bool) {
	l := e.s.Server.Catalog.Snapshot().Login(login)
	if l == nil || !e.s.Sysadmin() && !e.s.IsOwnLogin(login) {
		return nil, types.NullType, false
	}
	switch strings.ToLower(property) {
	case "badpasswordcount", "historylength", "isexpired", "islocked", "ismustchange":
		return int64(0), types.IntType, true
	case "badpasswordtime", "lockouttime": // never
		return int64(types.Days(1900, 1, 1)) * types.TicksPerDay, types.DateTimeType, true
	case "daysuntilexpiration":
		return nil, types.IntType, true
	case "defaultdatabase":
		return l.DefaultDatabase, types.SysNameType, true
	case "defaultlanguage":
		return "us_english", types.SysNameType, true
	case "passwordlastsettime":
		return l.Modified, types.DateTimeType, true
	case "passwordhash": // never shown
		return nil, types.VarBinaryOf(256), true
	case "passwordhashalgorithm": // 2 is SHA-2
		return int64(2), types.IntType, true
	}
	return nil, types.NullType, false
}

// HasPermission implements [builtin.Security].
func (e Security) HasPermission(securable, class, permission, column string) (has, known bool) {
	s := e.s
	d := e.db(0)
	if d == nil {
		return false, false
	}
	if permission == "ANY" {
		permission = "CONNECT"
		if class == "OBJECT" || class == "SCHEMA" || class == "TYPE" {
			permission = "VIEW DEFINITION"
		}
	}
	name := session.SplitName(securable)
	switch class {
	case "SERVER":
		return s.MayServer(permission), true
	case "", "DATABASE":
		if class == "" && securable == "" {
			return s.MayServer(permission), true
		}
		if securable != "" {
			if len(name.Parts) > 1 {
				return false, false
			}
			if d = s.DatabaseByName(name.Last()); d == nil {
				return false, false
			}
		}
		return s.May(d, permission,
			catalog.Securable{Class: catalog.ClassDatabase}), catalog.PermissionCode(permission) != ""
	case "LOGIN":
		if s.Server.Catalog.Snapshot().Login(name.Last()) == nil {
			return false, false
		}
		return s.Sysadmin(), true
	case "OBJECT":
		o, od, err := e.s.Object(name, e.at.DefaultSchema())
		if err != nil {
			return false, false
		}
		if o == nil { // every session may read system views
			seen, ok := e.ObjectByName(name.Database(), name.Schema(), name.Last())
			return permission == "SELECT" || permission == "VIEW DEFINITION", ok && seen.ID < 0
		}
		on := catalog.Securable{Class: catalog.ClassObject, Major: int(o.Head().ObjectID)}
		if column != "" {
			c, ok := e.column(o, session.SplitName(column).Last())
			if !ok {
				return false, false
			}
			on.Minor = int(c.ID)
		}
		return s.May(od, permission, on), catalog.PermissionCode(permission) != ""
	case "SCHEMA":
		sc := d.Schema(name.Last())
		if sc == nil {
			return false, false
		}
		return s.May(d, permission,
			catalog.Securable{Class: catalog.ClassSchema, Major: sc.ID}), catalog.PermissionCode(permission) != ""
	case "TYPE":
		id, _, ok := e.TypeByName(name.Schema(), name.Last())
		if !ok {
			return false, false
		}
		return s.May(d, permission,
			catalog.Securable{Class: catalog.ClassType, Major: int(id)}), catalog.PermissionCode(permission) != ""
	case "USER", "ROLE":
		p := d.Principals.Find(name.Last())
		if p == nil {
			return false, false
		}
		return s.May(d, permission,
			catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}), catalog.PermissionCode(permission) != ""
	}
	return false, false
}

// column returns the column of an object of the current database.
func (e Security) column(o catalog.Object, name string) (builtin.Column, bool) {
	for _, c := range e.Columns(0, o.Head().ObjectID) {
		if catalog.EqualNames(c.Name, name) {
			return c, true
		}
	}
	return builtin.Column{}, false
}

// HasDatabaseAccess implements [builtin.Security].
func (e Security) HasDatabaseAccess(database string) (has, known bool) {
	d := e.s.DatabaseByName(database)
	if d == nil {
		return false, false
	}
	_, ok := e.s.Login.UserIn(d)
	return ok && !d.Options.Offline, true
}
