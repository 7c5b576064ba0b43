package catalog

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// DefaultCollation is the default collation of CREATE DATABASE.
const DefaultCollation = "SQL_Latin1_General_CP1_CI_AS"

// The first IDs of user-defined objects.
const (
	firstObject    = 1_000_001
	firstSchema    = 5
	firstPrincipal = 5
	firstUserType  = 257 // 256 is sysname
	firstDatabase  = 5
	firstLogin     = 257
)

// fixedRoles are the fixed database roles by ID.
var fixedRoles = []struct {
	id   int
	name string
}{
	{RoleOwner, "db_owner"}, {RoleAccessAdmin, "db_accessadmin"}, {RoleSecurityAdmin, "db_securityadmin"},
	{RoleDDLAdmin, "db_ddladmin"}, {RoleBackupOperator, "db_backupoperator"}, {RoleDataReader, "db_datareader"},
	{RoleDataWriter, "db_datawriter"}, {RoleDenyDataReader, "db_denydatareader"},
	{RoleDenyDataWriter, "db_denydatawriter"},
}

// Epoch is the creation date of system databases and principals: 2003-04-08 09:13:36.390.
const Epoch = 631853972163900000

// SAID is the security ID of the login sa.
var SAID = []byte{1}

// emptyDatabase returns a database with the schemas, principals and roles that every database has.
func emptyDatabase(id int, name string, now int64) *Database {
	d := &Database{
		ID: id, Name: name, Created: now, OwnerID: SAID,
		Options: Options{
			Collation: DefaultCollation, CompatibilityLevel: 160, ReadCommittedSnapshot: true,
			AllowSnapshotIsolation: true,
		},
		schemas: map[string]*Schema{}, objects: map[int32]Object{}, byName: map[objectKey]Object{},
		constraints: map[int32]Constraint{}, conByName: map[objectKey]Constraint{}, aliases: map[objectKey]*AliasType{},
		Principals: Principals{byID: map[int]*Principal{}}, credentials: map[string]*Credential{}, logins: map[string]*Login{},
		next: counters{
			Object: firstObject, Schema: firstSchema, Principal: firstPrincipal, UserType: firstUserType,
			Login: firstLogin,
		},
	}
	for _, s := range []*Schema{
		{SchemaDBO, "dbo", PrincipalDBO}, {SchemaGuest, "guest", PrincipalGuest},
		{SchemaInformationSchema, "INFORMATION_SCHEMA", PrincipalInformationSchema}, {SchemaSys, "sys", PrincipalSys},
	} {
		d.schemas[Fold(s.Name)] = s
	}
	for _, p := range []*Principal{
		{ID: PrincipalPublic, Name: "public", Type: "R", OwnerID: PrincipalDBO},
		{ID: PrincipalDBO, Name: "dbo", Type: "S", SID: SAID, DefaultSchema: "dbo"},
		{ID: PrincipalGuest, Name: "guest", Type: "S", DefaultSchema: "guest"},
		{ID: PrincipalInformationSchema, Name: "INFORMATION_SCHEMA", Type: "S"},
		{ID: PrincipalSys, Name: "sys", Type: "S"},
	} {
		p.Created, p.Modified = Epoch, Epoch
		d.Principals.byID[p.ID] = p
	}
	for _, r := range fixedRoles {
		d.Principals.byID[r.id] = &Principal{
			ID: r.id, Name: r.name, Type: "R", OwnerID: PrincipalDBO, Fixed: true, Created: Epoch, Modified: Epoch,
		}
		d.schemas[r.name] = &Schema{ID: r.id, Name: r.name, OwnerID: r.id}
	}
	return d
}

// integerKey reports whether a column of this type can be SQLite's rowid.
func integerKey(t types.Type) bool {
	return t.IsInteger() && t.ID != types.Bit
}
