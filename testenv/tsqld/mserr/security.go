package mserr

// Errors of logins, databases, permissions, and messages about the session.
var (
	ObjectPermission          = of[func(permission, object, database, schema string) *Error](229)
	AlterDatabasePermission   = of[func(database string) *Error](5011)
	DatabasePermission        = of[func(permission, database string) *Error](262)
	NoDatabase                = of[func(name string) *Error](911)
	DatabaseAccess            = of[func(principal, database string) *Error](916)
	DatabaseOffline           = of[func(name string) *Error](942)
	CannotOpenDatabase        = of[func(name string) *Error](4060)
	CannotOpenDefaultDatabase = of[func() *Error](4064)
	PasswordMustChange        = of[func(user string) *Error](18488)
	// LoginFailed: the state is always 1, so that a client cannot tell why.
	LoginFailed = of[func(user string) *Error](18456)
	// DatabaseContext: an informational message.
	DatabaseContext = of[func(name string) *Error](5701)
	NoLanguage      = of[func(name string) *Error](2740)
	// LoginLanguageReplaced: its severity in the list of messages is 16; it is a warning for
	// clients that do not require their language.
	LoginLanguageReplaced = of[func(name, used string) *Error](4016)
	// LoginLanguageRefused: the login fails.
	LoginLanguageRefused = of[func(name string) *Error](4019)
	// LanguageSetting: an informational message.
	LanguageSetting     = of[func(name string) *Error](5703)
	NoServer            = of[func(name string) *Error](7202)
	InvalidLogin        = of[func(name string) *Error](15007)
	PrincipalExists     = of[func(name string) *Error](15023)
	LoginExists         = of[func(name string) *Error](15025)
	LoginHasUser        = of[func() *Error](15063)
	PrincipalOwnsSchema = of[func() *Error](15138)
	RoleHasMembers      = of[func() *Error](15144)
	// CannotFind: verb is find, alter, drop, kind user, role, login, schema...
	CannotFind         = of[func(verb, kind, name string) *Error](15151)
	ActionPermission   = of[func() *Error](15247)
	ImpersonateLogin   = of[func(name string) *Error](15406)
	LoginInUse         = of[func(name string) *Error](15434)
	ImpersonateUser    = of[func(name string) *Error](15517)
	EncryptionRequired = of[func() *Error](17835)
	InvalidLoginPacket = of[func() *Error](17832)
	// UntrustedDomain: a login with integrated authentication.
	UntrustedDomain    = of[func() *Error](18452)
	AccountLocked      = of[func(user string) *Error](18486)
	TooManyConnections = of[func(limit int) *Error](17809)
	// ResetWhileImpersonating: the connection is reset under EXECUTE AS.
	ResetWhileImpersonating = of[func() *Error](18059)
)
