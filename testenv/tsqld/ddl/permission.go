package ddl

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// allOn are the permissions of GRANT ALL for each kind of object (documentation: GRANT, "ALL").
var allOn = map[catalog.Kind][]string{
	catalog.KindTable:          {"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"},
	catalog.KindView:           {"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"},
	catalog.KindProcedure:      {"EXECUTE"},
	catalog.KindScalarFunction: {"EXECUTE", "REFERENCES"},
	catalog.KindInlineFunction: {"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"},
	catalog.KindTableFunction:  {"SELECT", "REFERENCES"},
}

// allOnDatabase are the permissions of GRANT ALL on a database.
var allOnDatabase = []string{
	"BACKUP DATABASE", "BACKUP LOG", "CREATE DATABASE", "CREATE DEFAULT", "CREATE FUNCTION", "CREATE PROCEDURE",
	"CREATE RULE", "CREATE TABLE", "CREATE VIEW",
}

// The supported permissions on each class of securable.
var (
	objectPermissions = []string{
		"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "EXECUTE", "ALTER", "CONTROL", "TAKE OWNERSHIP",
		"VIEW DEFINITION", "VIEW CHANGE TRACKING", "UNMASK",
	}
	schemaPermissions    = append([]string{"CREATE SEQUENCE"}, objectPermissions...)
	typePermissions      = []string{"CONTROL", "EXECUTE", "REFERENCES", "TAKE OWNERSHIP", "VIEW DEFINITION"}
	principalPermissions = []string{"IMPERSONATE", "ALTER", "CONTROL", "VIEW DEFINITION", "TAKE OWNERSHIP"}
)

// permission executes GRANT, DENY and REVOKE.
func (r security) permission(st *syntax.PermissionStmt) error {
	s := r.s
	if st.On == nil && slices.ContainsFunc(st.Permissions, func(name string) bool {
		return slices.Contains(serverPermissions, name) || slices.Contains(otherServerPermissions, name)
	}) {
		return r.serverPermission(st)
	}
	d := s.DatabaseByID(s.DatabaseID)
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		on, kind, err := r.securable(d, st)
		if err != nil {
			return err
		}
		if !r.mayGrant(d, on) {
			return mserr.CannotFind("find", "object", securableName(st))
		}
		names, err := permissionNames(st, on, kind)
		if err != nil {
			return err
		}
		principals := map[string]*catalog.Principal{}
		for _, p := range d.Principals.All() {
			principals[d.Names().Fold(p.Name)] = p
		}
		if err := s.Meter().Work(lookupWork * (len(principals) + len(d.Permissions))); err != nil {
			return err
		}
		var list []catalog.Permission
		given := map[int]bool{}
		for _, to := range st.To {
			if err := s.Meter().Work(module.NodeWork); err != nil {
				return err
			}
			p := principals[d.Names().Fold(to.Name)]
			if p == nil {
				return mserr.CannotFind("find", "user", to.Name)
			}
			if p.ID == catalog.PrincipalDBO || p.Fixed || p.ID == catalog.PrincipalSys ||
				p.ID == catalog.PrincipalInformationSchema {
				return mserr.Of(4617)
			}
			if given[p.ID] {
				continue
			}
			given[p.ID] = true
			if err := s.Meter().Work(module.NodeWork * len(names)); err != nil {
				return err
			}
			for _, name := range names {
				list = append(list, catalog.Permission{
					Securable: on, Grantee: p.ID, Grantor: catalog.PrincipalDBO, Name: name, State: permissionState(st),
				})
			}
		}
		if st.Action == "REVOKE" && !st.GrantOptionFor {
			e.Revoke(list...)
		} else {
			e.SetPermission(list...)
		}
		return nil
	})
}

// permissionState is the state of a permission after the statement.
func permissionState(st *syntax.PermissionStmt) byte {
	switch {
	case st.Action == "DENY":
		return 'D'
	case st.Action == "GRANT" && st.WithGrantOption:
		return 'W'
	}
	return 'G'
}

// maxPermissions is how many different permissions a statement may have. There are about 100 on a
// database, the class with the most
// (https://learn.microsoft.com/sql/t-sql/statements/grant-database-permissions-transact-sql). Their
// product with the principals is stored, and grows with the length of the statement because of the
// limit.
const maxPermissions = 256

// serverPermissions are the supported permissions on the server that can be granted to logins.
var serverPermissions = []string{
	"VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE", "VIEW ANY DATABASE", "ALTER ANY CONNECTION",
}

// otherServerPermissions are permissions on the server that cannot be granted here. They are not
// permissions on databases either.
// https://learn.microsoft.com/sql/t-sql/statements/grant-server-permissions-transact-sql
var otherServerPermissions = []string{
	"ADMINISTER BULK OPERATIONS", "ALTER ANY AVAILABILITY GROUP", "ALTER ANY CREDENTIAL", "ALTER ANY DATABASE",
	"ALTER ANY ENDPOINT", "ALTER ANY EVENT NOTIFICATION", "ALTER ANY LINKED SERVER", "ALTER ANY LOGIN",
	"ALTER ANY SERVER AUDIT", "ALTER ANY SERVER ROLE", "ALTER RESOURCES", "ALTER SERVER STATE", "ALTER SETTINGS",
	"ALTER TRACE", "AUTHENTICATE SERVER", "CONNECT ANY DATABASE", "CONNECT SQL", "CONTROL SERVER",
	"CREATE ANY DATABASE", "CREATE AVAILABILITY GROUP", "CREATE DDL EVENT NOTIFICATION", "CREATE ENDPOINT",
	"CREATE LOGIN", "CREATE SERVER ROLE", "EXTERNAL ACCESS ASSEMBLY", "IMPERSONATE ANY LOGIN",
	"SELECT ALL USER SECURABLES", "SHUTDOWN", "UNSAFE ASSEMBLY", "VIEW ANY ERROR LOG",
	"VIEW ANY SECURITY DEFINITION", "VIEW SERVER SECURITY STATE",
}

// serverPermission executes GRANT and REVOKE of permissions on the server.
// https://learn.microsoft.com/sql/t-sql/statements/grant-server-permissions-transact-sql
func (r security) serverPermission(st *syntax.PermissionStmt) error {
	s := r.s
	if s.DatabaseID != catalog.DatabaseMaster {
		return mserr.Of(4621)
	}
	names := st.Permissions
	for _, name := range names {
		if slices.Contains(otherServerPermissions, name) {
			return mserr.NotSupported("%s of %s", st.Action, name)
		}
		if !slices.Contains(serverPermissions, name) {
			return mserr.Syntax(name)
		}
	}
	if st.Action == "DENY" {
		return mserr.NotSupported("DENY of permissions on the server")
	}
	return r.s.Alter(r.ctx, s.Master(), func(_ *catalog.Database, e *catalog.Edit) error {
		for _, to := range st.To {
			l := r.findLogin(to.Name)
			if l == nil || !s.Sysadmin() {
				return mserr.CannotFind("find", "login", to.Name)
			}
			c := catalog.Clone(l)
			c.Permissions = slices.DeleteFunc(c.Permissions, func(o string) bool { return slices.Contains(names, o) })
			if st.Action == "GRANT" {
				c.Permissions = append(c.Permissions, names...)
			}
			if err := e.PutLogin(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// securableName returns the name after ON for messages.
func securableName(st *syntax.PermissionStmt) string {
	if st.On == nil {
		return "database"
	}
	return st.On.Last()
}

// securable resolves the securable after ON and the kind of an object.
func (r security) securable(d *catalog.Database, st *syntax.PermissionStmt) (catalog.Securable, catalog.Kind, error) {
	if st.On == nil {
		return catalog.Securable{Class: catalog.ClassDatabase}, "", nil
	}
	name := st.On.Last()
	switch st.Class {
	case "DATABASE":
		if !catalog.EqualNames(name, d.Name) {
			return catalog.Securable{}, "", mserr.CannotFind("find", "database", name)
		}
		return catalog.Securable{Class: catalog.ClassDatabase}, "", nil
	case "SCHEMA":
		if sc := d.Schema(name); sc != nil {
			return catalog.Securable{Class: catalog.ClassSchema, Major: sc.ID}, "", nil
		}
		return catalog.Securable{}, "", mserr.CannotFind("find", "schema", name)
	case "USER", "ROLE":
		if p := d.Principals.Find(name); p != nil {
			return catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}, "", nil
		}
		return catalog.Securable{}, "", mserr.CannotFind("find", strings.ToLower(st.Class), name)
	case "TYPE":
		for _, schema := range r.schemas(d, st.On.Schema()) {
			if tt := d.TableType(schema, name); tt != nil {
				return catalog.Securable{Class: catalog.ClassType, Major: tt.UserTypeID}, "", nil
			}
			if a := d.AliasType(schema, name); a != nil {
				return catalog.Securable{Class: catalog.ClassType, Major: a.UserTypeID}, "", nil
			}
		}
		return catalog.Securable{}, "", mserr.CannotFind("find", "type", name)
	case "DATABASE SCOPED CREDENTIAL":
		if c := d.Credential(name); c != nil {
			return catalog.Securable{Class: catalog.ClassCredential, Major: c.ID}, "", nil
		}
		return catalog.Securable{}, "", mserr.CannotFind("find", "credential", name)
	case "", "OBJECT":
		for _, schema := range r.schemas(d, st.On.Schema()) {
			if o := d.Object(schema, name); o != nil {
				return catalog.Securable{Class: catalog.ClassObject, Major: int(o.Head().ObjectID)}, o.Head().Kind, nil
			}
		}
		return catalog.Securable{}, "", mserr.CannotFind("find", "object", name)
	}
	return catalog.Securable{}, "", mserr.NotSupported("%s ON %s", st.Action, st.Class)
}

// mayGrant reports whether the session may grant permissions on a securable.
func (r security) mayGrant(d *catalog.Database, on catalog.Securable) bool {
	return r.s.May(d, "CONTROL", on) || r.s.May(d, "CONTROL", catalog.Securable{Class: catalog.ClassDatabase})
}

// permissionNames returns the names of the permissions of a statement, each once.
func permissionNames(st *syntax.PermissionStmt, on catalog.Securable, kind catalog.Kind) ([]string, error) {
	var list []string
	known := map[string]bool{}
	for _, perm := range st.Permissions {
		names := []string{perm}
		if perm == "ALL" {
			if names = allOn[kind]; on.Class == catalog.ClassDatabase {
				names = allOnDatabase
			}
		}
		for _, name := range names {
			if !permissionExists(name, on.Class) {
				return nil, mserr.Syntax(perm)
			}
			if known[name] {
				continue
			}
			if len(list) == maxPermissions {
				return nil, mserr.NotSupported("%s of more than %d permissions", st.Action, maxPermissions)
			}
			known[name] = true
			list = append(list, name)
		}
	}
	return list, nil
}

// permissionExists reports whether a permission can be granted on a class of securable.
func permissionExists(name string, class catalog.Class) bool {
	switch class {
	case catalog.ClassObject:
		return slices.Contains(objectPermissions, name)
	case catalog.ClassSchema:
		return slices.Contains(schemaPermissions, name)
	case catalog.ClassType:
		return slices.Contains(typePermissions, name)
	case catalog.ClassPrincipal:
		return slices.Contains(principalPermissions, name)
	}
	return true
}
