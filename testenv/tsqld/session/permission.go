package session

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// May reports whether the session has a permission on a securable.
func (s *Security) May(d *catalog.Database, permission string, on catalog.Securable) bool {
	if s.Sysadmin() {
		return true
	}
	p := s.Principal(d)
	if p == catalog.PrincipalDBO {
		return true
	}
	return d.Check(p, permission, on) == catalog.Granted
}

// MayDatabase reports whether the session has a permission on the current database.
func (s *Security) MayDatabase(permission string) bool {
	d := s.DatabaseByID(s.DatabaseID)
	return d != nil && s.May(d, permission, catalog.Securable{Class: catalog.ClassDatabase})
}

// MayServer reports whether the session has a permission on the server. VIEW SERVER STATE implies
// VIEW SERVER PERFORMANCE STATE
// (https://learn.microsoft.com/sql/relational-databases/security/permissions-database-engine).
func (s *Security) MayServer(permission string) bool {
	if s.Sysadmin() {
		return true
	}
	l := s.OwnLogin()
	if l == nil {
		return false
	}
	for role, permissions := range rolePermissions {
		if slices.Contains(permissions, permission) && (role == "public" || s.ServerRole(role)) {
			return true
		}
	}
	return slices.Contains(l.Permissions, permission) ||
		permission == "VIEW SERVER PERFORMANCE STATE" && slices.Contains(l.Permissions, "VIEW SERVER STATE")
}

// rolePermissions are the supported permissions on the server of the fixed server roles and of
// public
// (https://learn.microsoft.com/sql/relational-databases/security/authentication-access/server-level-roles).
var rolePermissions = map[string][]string{
	"public":        {"CONNECT SQL", "VIEW ANY DATABASE"},
	"dbcreator":     {"ALTER ANY DATABASE", "CREATE ANY DATABASE"},
	"securityadmin": {"ALTER ANY LOGIN"},
}

// ServerRole reports whether the session is a member of sysadmin or of another fixed server role.
func (s *Security) ServerRole(name string) bool {
	l := s.OwnLogin()
	return l != nil && (l.SysAdmin() || slices.Contains(l.Roles, catalog.Fold(name)))
}

// OwnsDatabase reports whether the session may change or drop a database.
func (s *Security) OwnsDatabase(d *catalog.Database) bool {
	return s.Sysadmin() || s.May(d, "CONTROL", catalog.Securable{Class: catalog.ClassDatabase})
}

// MayCreate checks the permission to create an object in a schema.
func (s *Security) MayCreate(d *catalog.Database, permission, schema string) error {
	if !s.May(d, permission, catalog.Securable{Class: catalog.ClassDatabase}) {
		return mserr.DatabasePermission(permission, d.Name)
	}
	sc := d.Schema(schema)
	if sc != nil && !s.May(d, "ALTER", catalog.Securable{Class: catalog.ClassSchema, Major: sc.ID}) {
		return mserr.NoSuchSchema(schema)
	}
	return nil
}

// MayAlter reports whether the session may change or drop an object.
func (s *Security) MayAlter(d *catalog.Database, o catalog.Object) bool {
	h := o.Head()
	return catalog.IsGlobalTemp(h.Name) || s.May(d, "ALTER", catalog.Securable{Class: catalog.ClassObject, Major: int(h.ObjectID)}) ||
		s.May(d, "ALTER", catalog.Securable{Class: catalog.ClassSchema, Major: h.SchemaID})
}

// MayCreateTable checks the permission to create a table. All sessions may create global temporary
// tables.
func (s *Security) MayCreateTable(d *catalog.Database, schema, name string) error {
	if catalog.IsGlobalTemp(name) {
		return nil
	}
	return s.MayCreate(d, "CREATE TABLE", schema)
}

// PermissionDenied returns error 229.
func PermissionDenied(d *catalog.Database, o catalog.Object, permission string) error {
	h := o.Head()
	schema := "dbo"
	if sc := d.SchemaByID(h.SchemaID); sc != nil {
		schema = sc.Name
	}
	return mserr.ObjectPermission(permission, h.Name, d.Name, schema)
}

// ServerRoles are the fixed server roles.
var ServerRoles = []string{
	"sysadmin", "securityadmin", "serveradmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin",
	"public",
}
