package catalog

import (
	"cmp"
	"maps"
	"slices"
)

// Principal IDs that are the same in every database (sys.database_principals).
const (
	PrincipalPublic            = 0
	PrincipalDBO               = 1
	PrincipalGuest             = 2
	PrincipalInformationSchema = 3
	PrincipalSys               = 4
	RoleOwner                  = 16384
	RoleAccessAdmin            = 16385
	RoleSecurityAdmin          = 16386
	RoleDDLAdmin               = 16387
	RoleBackupOperator         = 16389
	RoleDataReader             = 16390
	RoleDataWriter             = 16391
	RoleDenyDataReader         = 16392
	RoleDenyDataWriter         = 16393
)

// Principal is a user or role of a database.
type Principal struct {
	ID            int
	Name          string
	Type          string // sys.database_principals.type: S user, R role, E external user, X external group
	SID           []byte // of the login; nil for roles and users without login
	DefaultSchema string // of a user; "dbo" by default
	OwnerID       int    // of a role
	Fixed         bool   // fixed database role
	PasswordHash  []byte // of a contained user, otherwise nil; see [HashPassword]
	Created       int64
	Modified      int64
}

// IsRole reports whether the principal is a role.
func (p *Principal) IsRole() bool { return p.Type == "R" }

// Membership is the membership of a principal in a role.
type Membership struct{ Role, Member int }

// Principals is the users and roles of a database, with the members of the roles.
type Principals struct {
	names Names // of the database
	byID  map[int]*Principal
	// Memberships are in order of creation, without those in public. The caller must not change
	// them.
	Memberships []Membership
}

// Find finds a user or role by name; nil if there is none.
func (ps *Principals) Find(name string) *Principal {
	for _, p := range ps.byID {
		if ps.names.Equal(p.Name, name) {
			return p
		}
	}
	return nil
}

// ByID finds a user or role by id; nil if there is none.
func (ps *Principals) ByID(id int) *Principal { return ps.byID[id] }

// OfLogin returns the user of a login, or nil. It does not consider that the owner of a database is
// dbo.
func (ps *Principals) OfLogin(sid []byte) *Principal {
	if len(sid) == 0 {
		return nil
	}
	for _, p := range ps.byID {
		if !p.IsRole() && slices.Equal(p.SID, sid) {
			return p
		}
	}
	return nil
}

// All returns all users and roles by id.
func (ps *Principals) All() []*Principal {
	return slices.SortedFunc(maps.Values(ps.byID), func(a, b *Principal) int { return cmp.Compare(a.ID, b.ID) })
}

// Permissions returns all granted and denied permissions, in order of creation.
func (d *Database) Permissions() []Permission { return d.permissions }

// Class is the class of a securable (sys.database_permissions.class).
type Class uint8

// The classes of securables and of owners of extended properties.
const (
	ClassDatabase   Class = 0
	ClassObject     Class = 1
	ClassParameter  Class = 2 // extended properties only
	ClassSchema     Class = 3
	ClassPrincipal  Class = 4
	ClassType       Class = 6
	ClassIndex      Class = 7  // extended properties only
	ClassTypeColumn Class = 8  // extended properties only
	ClassDataSpace  Class = 20 // extended properties only
	ClassCredential Class = 29 // SYMMETRIC_KEYS is 24, ASYMMETRIC_KEY 26; database-scoped credentials are 29
)

// Securable is the target of a permission.
type Securable struct {
	Class Class
	Major int // object, schema or principal ID; 0 for the database
	Minor int // column ID; 0 for the whole object
}

// Permission is a row of sys.database_permissions.
type Permission struct {
	Securable
	Grantee int
	Grantor int
	Name    string // in upper case: SELECT, EXECUTE, VIEW DEFINITION...
	State   byte   // 'G' grant, 'W' grant with grant option, 'D' deny
}

// Login is a server principal.
type Login struct {
	ID              int
	Name            string
	SID             []byte
	PasswordHash    []byte // see [HashPassword]
	Windows         bool   // FROM WINDOWS: it has no password
	MustChange      bool   // the password must be changed at the next login
	NoPolicy        bool   // CHECK_POLICY = OFF
	Expiration      bool   // CHECK_EXPIRATION = ON
	Disabled        bool
	DefaultDatabase string
	Roles           []string // fixed server roles: sysadmin, dbcreator, securityadmin...
	Permissions     []string // granted permissions on the server: VIEW SERVER STATE...
	Created         int64
	Modified        int64
}

// SysAdmin reports whether the login is a member of sysadmin, which has all permissions.
func (l *Login) SysAdmin() bool { return slices.Contains(l.Roles, "sysadmin") }

// ServerRoles are the fixed server roles except public, by principal ID from 3.
var ServerRoles = []string{
	"sysadmin", "securityadmin", "serveradmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin",
}
