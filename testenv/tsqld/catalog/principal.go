package catalog

import (
	"cmp"
	"maps"
	"slices"
)

// Principal ids that are the same in every database (sys.database_principals).
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
	SID           []byte // of its login; nil for roles and for users without login
	DefaultSchema string // of a user; "dbo" unless given
	OwnerID       int    // of a role
	Fixed         bool   // fixed database role
	PasswordHash  []byte // of a contained user, else nil; see [HashPassword]
	Created       int64
	Modified      int64
}

// IsRole tells roles from users.
func (p *Principal) IsRole() bool { return p.Type == "R" }

// Membership says that a member belongs to a role.
type Membership struct{ Role, Member int }

// Principal finds a user or role by name; nil if there is none.
func (d *Database) Principal(name string) *Principal {
	key := Fold(name)
	for _, p := range d.principals {
		if Fold(p.Name) == key {
			return p
		}
	}
	return nil
}

// PrincipalByID finds a user or role by id; nil if there is none.
func (d *Database) PrincipalByID(id int) *Principal { return d.principals[id] }

// UserOf finds the user that belongs to a login; nil if the login has none here. The owner of a
// database is dbo, which is the caller's business.
func (d *Database) UserOf(sid []byte) *Principal {
	if len(sid) == 0 {
		return nil
	}
	for _, p := range d.principals {
		if !p.IsRole() && slices.Equal(p.SID, sid) {
			return p
		}
	}
	return nil
}

// Principals returns all users and roles by id.
func (d *Database) Principals() []*Principal {
	return slices.SortedFunc(maps.Values(d.principals), func(a, b *Principal) int { return cmp.Compare(a.ID, b.ID) })
}

// Memberships returns who belongs to what, in order of creation. Membership in public is not among it.
func (d *Database) Memberships() []Membership { return d.members }

// Permissions returns all granted and denied permissions, in order of creation.
func (d *Database) Permissions() []Permission { return d.permissions }

// Class is the class of a securable (sys.database_permissions.class).
type Class uint8

// The classes on which permissions can be granted here, or which have extended properties.
const (
	ClassDatabase   Class = 0
	ClassObject     Class = 1
	ClassParameter  Class = 2 // of extended properties only
	ClassSchema     Class = 3
	ClassPrincipal  Class = 4
	ClassType       Class = 6
	ClassIndex      Class = 7  // of extended properties only
	ClassTypeColumn Class = 8  // of extended properties only
	ClassDataSpace  Class = 20 // of extended properties only
	ClassCredential Class = 29 // SYMMETRIC_KEYS is 24, ASYMMETRIC_KEY 26; database-scoped credentials are 29
)

// Securable is a thing on which a permission is asked or granted.
type Securable struct {
	Class Class
	Major int // object, schema or principal id; 0 for the database
	Minor int // column id; 0 for the whole object
}

// Permission is a row of sys.database_permissions.
type Permission struct {
	Securable
	Grantee int
	Grantor int
	Name    string // in capitals: SELECT, EXECUTE, VIEW DEFINITION...
	State   byte   // 'G' grant, 'W' grant with grant option, 'D' deny
}

// Login is a server principal.
type Login struct {
	ID              int
	Name            string
	SID             []byte
	PasswordHash    []byte // see [HashPassword]
	MustChange      bool   // the password, at the next login
	NoPolicy        bool   // CHECK_POLICY = OFF
	Expiration      bool   // CHECK_EXPIRATION = ON
	Disabled        bool
	DefaultDatabase string
	Roles           []string // fixed server roles: sysadmin, dbcreator, securityadmin...
	Permissions     []string // of the server, that were granted: VIEW SERVER STATE...
	Created         int64
	Modified        int64
}

// SysAdmin reports membership in sysadmin, which checks no permission.
func (l *Login) SysAdmin() bool { return slices.Contains(l.Roles, "sysadmin") }
