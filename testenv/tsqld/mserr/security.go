package mserr

// Errors of logins, databases, permissions, and messages about the session.

// ObjectPermission is error 229.
func ObjectPermission(permission, object, database, schema string) *Error {
	return Of(229, permission, object, database, schema)
}

// AlterDatabasePermission is error 5011.
func AlterDatabasePermission(database string) *Error { return Of(5011, database) }

// DatabasePermission is error 262.
func DatabasePermission(permission, database string) *Error {
	return Of(262, permission, database)
}

// NoDatabase is error 911.
func NoDatabase(name string) *Error { return Of(911, name) }

// DatabaseAccess is error 916.
func DatabaseAccess(principal, database string) *Error { return Of(916, principal, database) }

// DatabaseOffline is error 942.
func DatabaseOffline(name string) *Error { return Of(942, name) }

// CannotOpenDatabase is error 4060.
func CannotOpenDatabase(name string) *Error { return Of(4060, name) }

// CannotOpenDefaultDatabase is error 4064.
func CannotOpenDefaultDatabase() *Error { return Of(4064) }

// PasswordMustChange is error 18488.
func PasswordMustChange(user string) *Error { return Of(18488, user) }

// LoginFailed is error 18456; the state is always 1, so that a client cannot tell why.
func LoginFailed(user string) *Error { return Of(18456, user) }

// DatabaseContext is error 5701, an informational message.
func DatabaseContext(name string) *Error { return Of(5701, name) }

// NoLanguage is error 2740.
func NoLanguage(name string) *Error { return Of(2740, name) }

// LoginLanguageReplaced is message 4016. Its severity in the list of messages is 16; it is a
// warning for clients that do not require their language.
func LoginLanguageReplaced(name, used string) *Error { return Of(4016, name, used) }

// LoginLanguageRefused is error 4019. The login fails.
func LoginLanguageRefused(name string) *Error { return Of(4019, name) }

// LanguageSetting is error 5703, an informational message.
func LanguageSetting(name string) *Error { return Of(5703, name) }

// NoServer is error 7202.
func NoServer(name string) *Error { return Of(7202, name) }

// InvalidLogin is error 15007.
func InvalidLogin(name string) *Error { return Of(15007, name) }

// PrincipalExists is error 15023.
func PrincipalExists(name string) *Error { return Of(15023, name) }

// LoginExists is error 15025.
func LoginExists(name string) *Error { return Of(15025, name) }

// LoginHasUser is error 15063.
func LoginHasUser() *Error { return Of(15063) }

// PrincipalOwnsSchema is error 15138.
func PrincipalOwnsSchema() *Error { return Of(15138) }

// RoleHasMembers is error 15144.
func RoleHasMembers() *Error { return Of(15144) }

// CannotFind is error 15151; verb is find, alter, drop, kind user, role, login, schema...
func CannotFind(verb, kind, name string) *Error { return Of(15151, verb, kind, name) }

// ActionPermission is error 15247.
func ActionPermission() *Error { return Of(15247) }

// ImpersonateLogin is error 15406.
func ImpersonateLogin(name string) *Error { return Of(15406, name) }

// LoginInUse is error 15434.
func LoginInUse(name string) *Error { return Of(15434, name) }

// ImpersonateUser is error 15517.
func ImpersonateUser(name string) *Error { return Of(15517, name) }

// EncryptionRequired is error 17835.
func EncryptionRequired() *Error { return Of(17835) }

// InvalidLoginPacket is error 17832.
func InvalidLoginPacket() *Error { return Of(17832) }

// UntrustedDomain is error 18452: a login with integrated authentication.
func UntrustedDomain() *Error { return Of(18452) }

// AccountLocked is error 18486.
func AccountLocked(user string) *Error { return Of(18486, user) }

// TooManyConnections is error 17809.
func TooManyConnections(limit int) *Error { return Of(17809, limit) }

// ResetWhileImpersonating returns error 18059: the connection is reset under EXECUTE AS.
func ResetWhileImpersonating() *Error { return Of(18059) }
