package sysviews

import (
	"context"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// securitySets returns the system tables about principals and permissions.
func securitySets() []declaration {
	return []declaration{
		{name: "sys.database_principals", rows: adding(databasePrincipalsRows)},
		{name: "sys.database_role_members", rows: databaseRoleMembersRows},
		{name: "sys.database_permissions", rows: adding(databasePermissionsRows)},
		{name: "sys.database_scoped_credentials", rows: adding(databaseScopedCredentialsRows)},
		{name: "sys.server_principals", rows: adding(serverPrincipalsRows)},
		{name: "sys.sql_logins", rows: adding(sqlLoginsRows)},
		{name: "sys.server_role_members", rows: adding(serverRoleMembersRows)},
		{name: "sys.server_permissions", rows: adding(serverPermissionsRows)},
	}
}

// databasePrincipalsRows are the rows of sys.database_principals.
func databasePrincipalsRows(env *Env, add func(row)) {
	for _, p := range env.Database.Principals.All() {
		if !env.seesPrincipal(p.ID) {
			continue
		}
		r := row{
			"name": p.Name, "principal_id": int64(p.ID), "type": p.Type, "type_desc": principalTypes[p.Type],
			"default_schema_name": orNull(p.DefaultSchema),
			"create_date":         p.Created, "modify_date": p.Modified,
			"owning_principal_id": orNull(p.OwnerID),
			"is_fixed_role":       bit(p.Fixed), "authentication_type_desc": "NONE",
		}
		if p.SID != nil {
			r["sid"] = p.SID
		}
		switch {
		case p.Type == "E" || p.Type == "X":
			r["authentication_type"], r["authentication_type_desc"] = int64(4), "EXTERNAL"
		case p.PasswordHash != nil:
			r["authentication_type"], r["authentication_type_desc"] = int64(2), "DATABASE"
		case p.Type == "S" && p.SID != nil:
			r["authentication_type"], r["authentication_type_desc"] = int64(1), "INSTANCE"
		}
		add(r)
	}
}

// seesPrincipal reports whether the session may see a principal of the database.
func (env *Env) seesPrincipal(id int) bool {
	return env.SeeAll || env.Database.SeesPrincipal(env.Principal, env.Database.Principals.ByID(id))
}

// databaseRoleMembersRows are the rows of sys.database_role_members. A session without VIEW
// DEFINITION of the database sees the roles of its own user.
func databaseRoleMembersRows(_ context.Context, env *Env) ([]row, error) {
	out := []row{}
	all := env.onDatabase("VIEW DEFINITION")
	for _, m := range env.Database.Principals.Memberships {
		if !all && m.Member != env.Principal {
			continue
		}
		out = append(out, row{"role_principal_id": int64(m.Role), "member_principal_id": int64(m.Member)})
	}
	return out, nil
}

// onDatabase reports whether the session has a permission on the database.
func (env *Env) onDatabase(permission string) bool {
	return env.SeeAll || env.Database.Check(env.Principal, permission, catalog.Securable{Class: catalog.ClassDatabase}) == catalog.Granted
}

// databasePermissionsRows are the rows of sys.database_permissions: those of the principals that
// the session sees.
func databasePermissionsRows(env *Env, add func(row)) {
	for _, p := range env.Database.Permissions {
		if !env.seesPrincipal(p.Grantee) {
			continue
		}
		add(row{
			"class": int64(p.Class), "class_desc": classNames[p.Class], "major_id": int64(p.Major),
			"minor_id": int64(p.Minor), "grantee_principal_id": int64(p.Grantee),
			"grantor_principal_id": int64(p.Grantor), "type": catalog.PermissionCode(p.Name), "permission_name": p.Name,
			"state": string(rune(p.State)), "state_desc": stateNames[p.State],
		})
	}
}

// databaseScopedCredentialsRows are the rows of sys.database_scoped_credentials. They need CONTROL
// of the database.
func databaseScopedCredentialsRows(env *Env, add func(row)) {
	if !env.onDatabase("CONTROL") {
		return
	}
	for _, c := range env.Database.Credentials() {
		add(row{
			"name": c.Name, "principal_id": int64(catalog.PrincipalDBO), "credential_id": int64(c.ID),
			"credential_identity": c.Identity, "create_date": c.Created, "modify_date": c.Modified,
		})
	}
}

// serverPrincipalsRows are the rows of sys.server_principals.
func serverPrincipalsRows(env *Env, add func(row)) {
	for _, l := range env.logins() {
		add(loginRow(l))
	}
	for i, name := range append([]string{"public"}, catalog.ServerRoles...) {
		r := row{
			"name": name, "principal_id": int64(i + 2), "sid": []byte{byte(i + 2)}, "type": "R",
			"type_desc": "SERVER_ROLE", "create_date": int64(catalog.Epoch),
			"modify_date": int64(catalog.Epoch), "is_fixed_role": bit(i > 0), "owning_principal_id": int64(1)}
		add(r)
	}
}

// sqlLoginsRows are the rows of sys.sql_logins.
func sqlLoginsRows(env *Env, add func(row)) {
	for _, l := range env.logins() {
		if l.Windows {
			continue
		}
		r := loginRow(l) // password_hash stays NULL
		r["is_policy_checked"], r["is_expiration_checked"] = bit(!l.NoPolicy), bit(l.Expiration)
		add(r)
	}
}

// serverRoleMembersRows are the rows of sys.server_role_members.
func serverRoleMembersRows(env *Env, add func(row)) {
	for _, l := range env.logins() {
		for i, name := range catalog.ServerRoles {
			for _, have := range l.Roles {
				if strings.EqualFold(have, name) {
					add(row{"role_principal_id": int64(i + 3), "member_principal_id": int64(l.ID)})
				}
			}
		}
	}
}

// serverPermissionTypes maps the permissions on the server that a login may have to their types
// ("Permissions (Database Engine)"). The page has no type of VIEW SERVER PERFORMANCE STATE: VSP is
// formed like VDP of VIEW DATABASE PERFORMANCE STATE.
var serverPermissionTypes = map[string]string{
	"CONNECT SQL": "COSQ", "VIEW ANY DATABASE": "VWDB", "VIEW SERVER STATE": "VWSS", "VIEW SERVER PERFORMANCE STATE": "VSP",
	"ALTER ANY CONNECTION": "ALCO",
}

// serverPermissionsRows are the rows of sys.server_permissions: what every server has, and what
// GRANT has given. The view shows no permissions of roles other than public.
func serverPermissionsRows(env *Env, add func(row)) {
	grant := func(principal int64, name string) {
		add(row{"grantee_principal_id": principal, "type": types.Pad(serverPermissionTypes[name], 4), "permission_name": name})
	}
	for _, l := range env.logins() {
		grant(int64(l.ID), "CONNECT SQL")
		for _, name := range l.Permissions {
			grant(int64(l.ID), name)
		}
	}
	grant(2, "VIEW ANY DATABASE")
}

// principalTypes maps type to type_desc of sys.database_principals.
var principalTypes = map[string]string{
	"S": "SQL_USER", "R": "DATABASE_ROLE", "E": "EXTERNAL_USER", "X": "EXTERNAL_GROUP",
}

// classNames maps a class to class_desc of sys.database_permissions.
var classNames = map[catalog.Class]string{
	catalog.ClassDatabase: "DATABASE", catalog.ClassObject: "OBJECT_OR_COLUMN", catalog.ClassSchema: "SCHEMA",
	catalog.ClassPrincipal: "DATABASE_PRINCIPAL", catalog.ClassType: "TYPE",
	catalog.ClassCredential: "DATABASE_SCOPED_CREDENTIAL",
}

// stateNames maps a state to state_desc of sys.database_permissions.
var stateNames = map[byte]string{'G': "GRANT", 'W': "GRANT_WITH_GRANT_OPTION", 'D': "DENY"}

// logins returns the logins that the session may see: all for a sysadmin, otherwise sa and its own.
func (env *Env) logins() []*catalog.Login {
	var out []*catalog.Login
	for _, l := range env.Snapshot.Logins() {
		if env.SeeLogins || l.ID == 1 || env.Login != nil && l.ID == env.Login.ID {
			out = append(out, l)
		}
	}
	return out
}

// loginRow returns the row of sys.server_principals for a login.
func loginRow(l *catalog.Login) row {
	kind, description := "S", "SQL_LOGIN"
	if l.Windows {
		kind, description = "U", "WINDOWS_LOGIN"
	}
	return row{
		"name": l.Name, "principal_id": int64(l.ID), "sid": l.SID, "type": kind, "type_desc": description,
		"is_disabled": bit(l.Disabled), "create_date": l.Created,
		"modify_date": l.Modified, "default_database_name": l.DefaultDatabase, "default_language_name": "us_english",
	}
}
