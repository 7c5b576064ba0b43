package catalog

import (
	"slices"
	"strings"
)

// Access is the answer to a question about a permission.
type Access uint8

// Answers. Denied differs from NotGranted only in messages and in [Database.Check]'s arithmetic: both refuse.
const (
	NotGranted Access = iota
	Granted
	Denied
)

// implied lists, for a permission on an object, what on its schema and on its database includes it beside
// the permission of the same name and CONTROL ("Permissions (Database Engine)", covering permissions).
var implied = map[string]struct{ schema, database []string }{
	"ALTER":           {[]string{"ALTER"}, []string{"ALTER ANY SCHEMA", "ALTER"}},
	"VIEW DEFINITION": {nil, []string{"VIEW ANY DEFINITION"}},
}

// byFixedRole lists what the fixed roles grant ("Database-level roles"): on data, and on the database itself.
var byFixedRole = map[int]struct{ everywhere, database []string }{
	RoleDataReader:     {everywhere: []string{"SELECT"}},
	RoleDataWriter:     {everywhere: []string{"INSERT", "UPDATE", "DELETE"}},
	RoleDDLAdmin:       {everywhere: []string{"ALTER", "REFERENCES", "VIEW DEFINITION"}, database: []string{"CREATE TABLE", "CREATE VIEW", "CREATE PROCEDURE", "CREATE FUNCTION", "CREATE SCHEMA", "CREATE TYPE", "CREATE SYNONYM", "CREATE SEQUENCE", "ALTER ANY SCHEMA", "ALTER ANY DATABASE DDL TRIGGER"}},
	RoleSecurityAdmin:  {database: []string{"ALTER ANY ROLE", "CREATE ROLE", "VIEW DEFINITION", "ALTER ANY USER"}},
	RoleAccessAdmin:    {database: []string{"ALTER ANY USER", "CREATE SCHEMA", "CONNECT"}},
	RoleBackupOperator: {database: []string{"BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT"}},
}

// denying lists what the denying fixed roles take away.
var denying = map[int][]string{
	RoleDenyDataReader: {"SELECT"},
	RoleDenyDataWriter: {"INSERT", "UPDATE", "DELETE"},
}

// Roles returns the roles of a principal, direct and indirect, public last; the principal itself is first.
func (d *Database) Roles(principal int) []int {
	all := []int{principal}
	for i := 0; i < len(all); i++ {
		for _, m := range d.members {
			if m.Member == all[i] && !slices.Contains(all, m.Role) {
				all = append(all, m.Role)
			}
		}
	}
	if !slices.Contains(all, PrincipalPublic) {
		all = append(all, PrincipalPublic)
	}
	return all
}

// IsMember reports whether a principal is in a role, or is it.
func (d *Database) IsMember(principal, role int) bool {
	return slices.Contains(d.Roles(principal), role)
}

// Check answers whether a principal has a permission on a securable: as dbo or member of db_owner, as owner,
// by a fixed role, or by GRANT on it, its schema or the database. A DENY at any of these levels wins over
// every GRANT, but not over dbo, db_owner and owners. Logins in sysadmin are dbo and not asked about.
func (d *Database) Check(principal int, permission string, on Securable) Access {
	roles := d.Roles(principal)
	if slices.Contains(roles, PrincipalDBO) || slices.Contains(roles, RoleOwner) {
		return Granted
	}
	levels, owner := d.levels(on)
	if owner != 0 && slices.Contains(roles, owner) {
		return Granted
	}
	access := NotGranted
	for _, p := range d.permissions {
		if !slices.Contains(roles, p.Grantee) {
			continue
		}
		for i, level := range levels {
			if p.Securable != level || !covers(p.Name, permission, level.Class, i > 0) {
				continue
			}
			if p.State == 'D' {
				return Denied
			}
			access = Granted
		}
	}
	if a := fixedAccess(roles, permission, on.Class); a == Denied || access == NotGranted {
		return a
	}
	return access
}

// levels lists a securable and what contains it, from the inside out, and who owns it.
func (d *Database) levels(on Securable) (levels []Securable, owner int) {
	levels = []Securable{on}
	schema := 0
	switch on.Class {
	case ClassObject:
		if on.Minor != 0 {
			levels = append(levels, Securable{Class: ClassObject, Major: on.Major})
		}
		if o := d.ObjectByID(int32(on.Major)); o != nil {
			schema, owner = o.Head().SchemaID, d.Owner(o)
			if o.Head().Kind == KindTableType {
				levels = append(levels, Securable{Class: ClassType, Major: o.(*TableType).UserTypeID})
			}
		}
	case ClassSchema:
		if s := d.SchemaByID(on.Major); s != nil {
			owner = s.OwnerID
		}
	case ClassType:
		for _, tt := range pick[*TableType](d) {
			if tt.UserTypeID == on.Major {
				schema, owner = tt.SchemaID, d.Owner(tt)
			}
		}
	case ClassPrincipal:
		if p := d.principals[on.Major]; p != nil {
			owner = p.OwnerID
		}
	}
	if schema != 0 {
		levels = append(levels, Securable{Class: ClassSchema, Major: schema})
	}
	if on.Class != ClassDatabase {
		levels = append(levels, Securable{Class: ClassDatabase})
	}
	return levels, owner
}

// covers reports whether holding one permission at a level includes another at it, or (outer) at a level inside.
func covers(held, asked string, level Class, outer bool) bool {
	if held == asked || held == "CONTROL" {
		return true
	}
	if level == ClassDatabase && held == "ALTER" && (strings.HasPrefix(asked, "CREATE ") || strings.HasPrefix(asked, "ALTER ANY ")) {
		return true
	}
	if !outer {
		return false
	}
	switch level {
	case ClassSchema:
		return slices.Contains(implied[asked].schema, held)
	case ClassDatabase:
		return slices.Contains(implied[asked].database, held)
	}
	return false
}

// fixedAccess is what fixed roles say.
func fixedAccess(roles []int, permission string, class Class) Access {
	access := NotGranted
	for _, r := range roles {
		if slices.Contains(denying[r], permission) {
			return Denied
		}
		g := byFixedRole[r]
		if slices.Contains(g.everywhere, permission) || class == ClassDatabase && slices.Contains(g.database, permission) {
			access = Granted
		}
	}
	return access
}
