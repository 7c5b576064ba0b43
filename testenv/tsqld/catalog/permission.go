package catalog

import (
	"slices"
	"strings"
)

// Access is the result of a permission check.
type Access uint8

// The results of a permission check. Both NotGranted and Denied forbid the access; they differ only
// in messages and inside [Database.Check].
const (
	NotGranted Access = iota
	Granted
	Denied
)

// implied lists, for a permission on an object, the other permissions on its schema and database
// that include it. CONTROL and the permission with the same name always include it ("Permissions
// (Database Engine)", covering permissions).
var implied = map[string]struct{ schema, database []string }{
	"ALTER":           {[]string{"ALTER"}, []string{"ALTER ANY SCHEMA", "ALTER"}},
	"VIEW DEFINITION": {nil, []string{"VIEW ANY DEFINITION"}},
}

// grantedByRole lists the permissions of the fixed roles on all objects and on the database itself
// ("Database-level roles").
var grantedByRole = map[int]struct{ everywhere, database []string }{
	RoleDataReader: {everywhere: []string{"SELECT"}},
	RoleDataWriter: {everywhere: []string{"INSERT", "UPDATE", "DELETE"}},
	RoleDDLAdmin: {
		everywhere: []string{"ALTER", "REFERENCES", "VIEW DEFINITION"},
		database: []string{
			"CREATE TABLE", "CREATE VIEW", "CREATE PROCEDURE", "CREATE FUNCTION", "CREATE SCHEMA", "CREATE TYPE",
			"CREATE SYNONYM", "CREATE SEQUENCE", "ALTER ANY SCHEMA", "ALTER ANY DATABASE DDL TRIGGER",
		},
	},
	RoleSecurityAdmin:  {database: []string{"ALTER ANY ROLE", "CREATE ROLE", "VIEW DEFINITION", "ALTER ANY USER"}},
	RoleAccessAdmin:    {database: []string{"ALTER ANY USER", "CREATE SCHEMA", "CONNECT"}},
	RoleBackupOperator: {database: []string{"BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT"}},
}

// deniedByRole lists the permissions that fixed roles deny.
var deniedByRole = map[int][]string{
	RoleDenyDataReader: {"SELECT"},
	RoleDenyDataWriter: {"INSERT", "UPDATE", "DELETE"},
}

// RolesOf returns the principal itself, its direct and indirect roles, and public at the end.
func (ps *Principals) RolesOf(principal int) []int {
	all := []int{principal}
	for i := 0; i < len(all); i++ {
		for _, m := range ps.Memberships {
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

// IsMember reports whether a principal is a member of a role, or the role itself.
func (ps *Principals) IsMember(principal, role int) bool {
	return slices.Contains(ps.RolesOf(principal), role)
}

// Check reports whether a principal has a permission on a securable: as dbo, member of db_owner or
// owner, by a fixed role, or by GRANT on the securable, its schema or the database. DENY on any of
// these overrides GRANT, but not the access of dbo, db_owner and owners. Logins in sysadmin are
// dbo; the caller handles them.
func (d *Database) Check(principal int, permission string, on Securable) Access {
	roles := d.Principals.RolesOf(principal)
	if slices.Contains(roles, PrincipalDBO) || slices.Contains(roles, RoleOwner) {
		return Granted
	}
	levels, owner := levels(d, on)
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

// SeesPrincipal reports whether a principal may see another one in catalog views
// (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-principals-transact-sql,
// "Permissions"): itself, its roles, the system users and the fixed roles, and all on which it has
// a permission.
func (d *Database) SeesPrincipal(principal int, other *Principal) bool {
	if other.Fixed || other.ID <= PrincipalSys || slices.Contains(d.Principals.RolesOf(principal), other.ID) {
		return true
	}
	anyOf := "ALTER ANY USER"
	if other.IsRole() {
		anyOf = "ALTER ANY ROLE"
	}
	if d.Check(principal, anyOf, Securable{Class: ClassDatabase}) == Granted {
		return true
	}
	on := Securable{Class: ClassPrincipal, Major: other.ID}
	return slices.ContainsFunc([]string{"VIEW DEFINITION", "IMPERSONATE", "ALTER"}, func(permission string) bool {
		return d.Check(principal, permission, on) == Granted
	})
}

// levels returns a securable followed by the securables that contain it, from the inside out, and
// the owner.
func levels(d *Database, on Securable) (levels []Securable, owner int) {
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
		for _, tt := range Pick[*TableType](d) {
			if tt.UserTypeID == on.Major {
				schema, owner = tt.SchemaID, d.Owner(tt)
			}
		}
	case ClassPrincipal:
		if p := d.Principals.byID[on.Major]; p != nil {
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

// covers reports whether the permission held on a level includes the permission asked on the same
// level, or, with outer, on a level inside.
func covers(held, asked string, level Class, outer bool) bool {
	if held == asked || held == "CONTROL" {
		return true
	}
	if level == ClassDatabase && held == "ALTER" &&
		(strings.HasPrefix(asked, "CREATE ") || strings.HasPrefix(asked, "ALTER ANY ")) {
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

// fixedAccess returns the access that fixed roles give.
func fixedAccess(roles []int, permission string, class Class) Access {
	access := NotGranted
	for _, r := range roles {
		if slices.Contains(deniedByRole[r], permission) {
			return Denied
		}
		g := grantedByRole[r]
		if slices.Contains(g.everywhere, permission) ||
			class == ClassDatabase && slices.Contains(g.database, permission) {
			access = Granted
		}
	}
	return access
}

// permissionCodes maps permissions to the four-letter codes of sys.database_permissions.type.
var permissionCodes = map[string]string{
	"ALTER": "AL", "ALTER ANY ROLE": "ALRL", "ALTER ANY SCHEMA": "ALSM", "ALTER ANY USER": "ALUS",
	"BACKUP DATABASE": "BADB", "BACKUP LOG": "BALO", "CHECKPOINT": "CP",
	"CONNECT": "CO", "CONTROL": "CL", "CREATE FUNCTION": "CRFN", "CREATE PROCEDURE": "CRPR", "CREATE ROLE": "CRRL",
	"CREATE SCHEMA": "CRSM", "CREATE SEQUENCE": "CRSO",
	"CREATE SYNONYM": "CRSN", "CREATE TABLE": "CRTB", "CREATE TYPE": "CRTY", "CREATE VIEW": "CRVW", "DELETE": "DL",
	"EXECUTE": "EX", "IMPERSONATE": "IM", "INSERT": "IN",
	"KILL DATABASE CONNECTION": "KIDC", "REFERENCES": "RF", "SELECT": "SL", "SHOWPLAN": "SPLN", "TAKE OWNERSHIP": "TO",
	"UNMASK": "UMSK", "UPDATE": "UP",
	"VIEW ANY DEFINITION": "VWAD", "VIEW CHANGE TRACKING": "VWCT", "VIEW DATABASE STATE": "VWDS",
	"VIEW DEFINITION": "VW",
}

// PermissionCode returns the code of a permission, or "" for an unknown one, which GRANT rejects.
func PermissionCode(name string) string { return permissionCodes[name] }
