package syntax

// ExecuteAsStmt is EXECUTE AS.
type ExecuteAsStmt struct {
	stmt
	Caller   bool
	Login    bool // LOGIN = , else USER =
	Name     Expr // string literal or variable; nil for CALLER
	NoRevert bool // WITH NO REVERT
}

// RevertStmt is REVERT.
type RevertStmt struct{ stmt }

// LoginStmt is CREATE or ALTER LOGIN.
type LoginStmt struct {
	stmt
	Verb        Verb // Create or Alter
	Name        Ident
	Password    Expr // string or binary literal; nil if none
	MustChange  bool // MUST_CHANGE
	Unlock      bool // UNLOCK
	OldPassword Expr // OLD_PASSWORD; nil if none
	Windows     bool // FROM WINDOWS
	Enable      bool // ALTER LOGIN ... ENABLE
	Disable     bool
	Options     []*Option // SID, DEFAULT_DATABASE, CHECK_POLICY, CREDENTIAL, ...
}

// UserStmt is CREATE or ALTER USER.
type UserStmt struct {
	stmt
	Verb         Verb
	Name         Ident
	Login        Ident // FOR LOGIN, FROM LOGIN, or WITH LOGIN = of ALTER; zero if none
	WithoutLogin bool
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

// CredentialStmt is CREATE or ALTER DATABASE SCOPED CREDENTIAL.
type CredentialStmt struct {
	stmt
	Verb     Verb
	Name     Ident
	Identity Expr
	Secret   Expr // nil if none
}

// PermissionStmt is GRANT, DENY or REVOKE.
type PermissionStmt struct {
	stmt
	Action          string      // "GRANT", "DENY", "REVOKE"
	Permissions     []string    // capitals, words joined by one blank: "VIEW DEFINITION"; "ALL" is one permission
	Class           string      // between ON and ::, in capitals: "OBJECT", "SCHEMA", "ROLE", ...; "" if not written
	On              *ObjectName // nil: the database or server itself
	To              []Ident     // principals
	WithGrantOption bool        // GRANT ... WITH GRANT OPTION
	GrantOptionFor  bool        // REVOKE GRANT OPTION FOR
	Cascade         bool
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
