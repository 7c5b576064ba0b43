package syntax

// ExecuteAsStmt is EXECUTE AS.
type ExecuteAsStmt struct {
	stmt
	Caller   bool
	Login    bool   // LOGIN = , else USER =
	Name     Expr   // string literal or variable; nil for CALLER
	NoRevert bool   // WITH NO REVERT
	Cookie   string // WITH COOKIE INTO @v; "" if none
}

// RevertStmt is REVERT.
type RevertStmt struct {
	stmt
	Cookie Expr // WITH COOKIE = @v; nil if none
}

// LoginStmt is CREATE or ALTER LOGIN.
type LoginStmt struct {
	stmt
	Verb           Verb // Create or Alter
	Name           Ident
	Password       Expr   // string or binary literal; nil if none
	Hashed         bool   // PASSWORD = 0x... HASHED
	MustChange     bool   // MUST_CHANGE
	Unlock         bool   // UNLOCK
	OldPassword    Expr   // OLD_PASSWORD; nil if none
	From           string // "WINDOWS", "EXTERNAL PROVIDER", "CERTIFICATE", "ASYMMETRIC KEY"; "" for a SQL login
	FromName       Ident  // of the certificate or key
	Enable         bool   // ALTER LOGIN ... ENABLE
	Disable        bool
	AddCredential  Ident // ALTER LOGIN ... ADD CREDENTIAL
	DropCredential Ident
	Options        []*Option // SID, DEFAULT_DATABASE, CHECK_POLICY, CREDENTIAL, ...
}

// UserStmt is CREATE or ALTER USER.
type UserStmt struct {
	stmt
	Verb         Verb
	Name         Ident
	Login        Ident // FOR LOGIN, FROM LOGIN, or WITH LOGIN = of ALTER; zero if none
	WithoutLogin bool
	From         string // "EXTERNAL PROVIDER", "CERTIFICATE", "ASYMMETRIC KEY"; "" otherwise
	FromName     Ident
	Password     Expr      // contained database user; nil if none
	OldPassword  Expr      // nil if none
	Options      []*Option // DEFAULT_SCHEMA, NAME, SID, DEFAULT_LANGUAGE, ...; names are ColumnRefs of one part
}

// RoleStmt is CREATE or ALTER ROLE, of the database or the server.
type RoleStmt struct {
	stmt
	Verb          Verb
	Server        bool // SERVER ROLE
	Name          Ident
	Authorization Ident // CREATE; zero if none
	AddMember     Ident // ALTER; zero if not of this form
	DropMember    Ident
	NewName       Ident // ALTER ... WITH NAME =
}

// CredentialStmt is CREATE or ALTER CREDENTIAL, server-wide or DATABASE SCOPED.
type CredentialStmt struct {
	stmt
	Verb     Verb
	Scoped   bool // DATABASE SCOPED
	Name     Ident
	Identity Expr
	Secret   Expr // nil if none
	Provider Ident
}

// MasterKeyStmt is CREATE MASTER KEY, ALTER MASTER KEY, OPEN MASTER KEY and CLOSE MASTER KEY.
type MasterKeyStmt struct {
	stmt
	Action   string // CREATE, ALTER, OPEN or CLOSE
	Password Expr   // nil if none
	Detail   string // ALTER: "REGENERATE", "FORCE REGENERATE", "ADD ENCRYPTION BY PASSWORD", ...
}

// PermissionStmt is GRANT, DENY or REVOKE.
type PermissionStmt struct {
	stmt
	Action          string        // "GRANT", "DENY", "REVOKE"
	Permissions     []*Permission // "ALL" is one permission
	Class           string        // between ON and ::, in capitals: "OBJECT", "SCHEMA", "ROLE", ...; "" if not written
	On              *ObjectName   // nil: the database or server itself
	Columns         []Ident       // columns after the object; nil if none
	To              []Ident       // principals
	WithGrantOption bool          // GRANT ... WITH GRANT OPTION
	GrantOptionFor  bool          // REVOKE GRANT OPTION FOR
	Cascade         bool
	As              Ident // zero if none
}

// Permission is the name of a permission with the columns to which it is limited.
type Permission struct {
	At
	Name    string // capitals, words joined by one blank: "VIEW DEFINITION"
	Columns []Ident
}

// AlterAuthorizationStmt is ALTER AUTHORIZATION ON [Class::]Name TO Principal.
type AlterAuthorizationStmt struct {
	stmt
	Class       string // "" if not written: an object
	Name        *ObjectName
	Principal   Ident
	SchemaOwner bool // TO SCHEMA OWNER
}

// DBCCStmt is DBCC.
type DBCCStmt struct {
	stmt
	Command string // capitals: "CHECKDB"
	Args    []Expr
	Options []*Option // WITH ...
}

// CheckpointStmt is CHECKPOINT.
type CheckpointStmt struct {
	stmt
	Duration Expr // nil if none
}

// ReconfigureStmt is RECONFIGURE.
type ReconfigureStmt struct {
	stmt
	Override bool
}

// KillStmt is KILL.
type KillStmt struct {
	stmt
	Session    Expr // number or string
	StatusOnly bool
}
