package exec

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// UserByName implements [builtin.Security].
func (e env) UserByName(name string) (int32, bool) {
	d := e.db(0)
	if d == nil {
		return 0, false
	}
	if name == "" {
		return int32(e.r.s.principal(d)), true
	}
	if p := d.Principal(name); p != nil {
		return int32(p.ID), true
	}
	return 0, false
}

// UserByID implements [builtin.Security].
func (e env) UserByID(id int32) (string, bool) {
	d := e.db(0)
	if d == nil {
		return "", false
	}
	if id == 0 {
		id = int32(e.r.s.principal(d))
	}
	if p := d.PrincipalByID(int(id)); p != nil {
		return p.Name, true
	}
	return "", false
}

// LoginByName implements [builtin.Security].
func (e env) LoginByName(name string) (int32, []byte, bool) {
	if name == "" {
		name = e.r.s.login.name
	}
	if l := e.r.s.inst.catalog.Snapshot().Login(name); l != nil {
		return int32(l.ID), l.SID, true
	}
	if equalNames(name, e.r.s.login.name) {
		return 0, e.r.s.login.sid, true
	}
	return 0, nil, false
}

// LoginByID implements [builtin.Security].
func (e env) LoginByID(id int32) (string, bool) {
	if id == 0 {
		return e.r.s.login.name, true
	}
	for _, l := range e.r.s.inst.catalog.Snapshot().Logins() {
		if l.ID == int(id) {
			return l.Name, true
		}
	}
	return "", false
}

// LoginBySID implements [builtin.Security].
func (e env) LoginBySID(sid []byte) (string, bool) {
	if l := e.r.s.inst.catalog.Snapshot().LoginBySID(sid); l != nil {
		return l.Name, true
	}
	return "", false
}

// IsRoleMember implements [builtin.Security].
func (e env) IsRoleMember(role, principal string) (is, known bool) {
	d := e.db(0)
	if d == nil {
		return false, false
	}
	target := d.Principal(role)
	if target == nil || !target.IsRole() {
		return false, false
	}
	who := e.r.s.principal(d)
	if principal != "" {
		p := d.Principal(principal)
		if p == nil {
			return false, false
		}
		who = p.ID
	}
	if who == catalog.PrincipalDBO {
		return !strings.HasPrefix(catalog.Fold(role), "db_deny"), true
	}
	return d.IsMember(who, target.ID), true
}

// serverRoles are the fixed server roles.
var serverRoles = []string{"sysadmin", "securityadmin", "serveradmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin", "public"}

// IsServerRoleMember implements [builtin.Security].
func (e env) IsServerRoleMember(role, login string) (is, known bool) {
	role = catalog.Fold(role)
	if !slices.Contains(serverRoles, role) {
		return false, false
	}
	snap := e.r.s.inst.catalog.Snapshot()
	name := login
	if name == "" {
		name = e.r.s.login.name
		if e.r.s.login.contained != 0 {
			return role == "public", true
		}
	}
	l := snap.Login(name)
	if l == nil {
		return false, false
	}
	return role == "public" || l.SysAdmin() || slices.Contains(l.Roles, role), true
}

// HasPermission implements [builtin.Security].
func (e env) HasPermission(securable, class, permission string) (has, known bool) {
	s := e.r.s
	d := e.db(0)
	if d == nil {
		return false, false
	}
	permission = strings.ToUpper(permission)
	if permission == "ANY" {
		permission = "CONNECT"
	}
	switch class = strings.ToUpper(class); class {
	case "SERVER":
		return s.sysadmin(), true
	case "", "DATABASE":
		if class == "" && securable == "" {
			return s.sysadmin(), true
		}
		if securable != "" {
			if d = s.database(securable); d == nil {
				return false, false
			}
		}
		return s.may(d, permission, catalog.Securable{Class: catalog.ClassDatabase}), true
	case "OBJECT":
		o, od, err := e.r.object(splitName(securable))
		if err != nil || o == nil {
			return false, false
		}
		return s.may(od, permission, catalog.Securable{Class: catalog.ClassObject, Major: int(o.Head().ObjectID)}), true
	case "SCHEMA":
		sc := d.Schema(securable)
		if sc == nil {
			return false, false
		}
		return s.may(d, permission, catalog.Securable{Class: catalog.ClassSchema, Major: sc.ID}), true
	case "USER", "ROLE":
		p := d.Principal(securable)
		if p == nil {
			return false, false
		}
		return s.may(d, permission, catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}), true
	}
	return false, false
}

// HasDatabaseAccess implements [builtin.Security].
func (e env) HasDatabaseAccess(database string) (has, known bool) {
	d := e.r.s.database(database)
	if d == nil {
		return false, false
	}
	_, ok := e.r.s.login.userIn(d)
	return ok && !d.Options.Offline, true
}
