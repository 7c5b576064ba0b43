package mserr

// Errors of logins, databases, permissions, and messages about the session.

// ObjectPermission is error 229.
func ObjectPermission(permission, object, database, schema string) *Error {
	return New(229, 14, "The %s permission was denied on the object '%s', database '%s', schema '%s'.", permission, object, database, schema).WithState(5)
}

// AlterDatabasePermission is error 5011.
func AlterDatabasePermission(database string) *Error {
	return New(5011, 14,
		"User does not have permission to alter database '%s', the database does not exist, or the database is not in a state that allows access checks.",
		database).WithState(5)
}

// DatabasePermission is error 262.
func DatabasePermission(permission, database string) *Error {
	return New(262, 14, "%s permission denied in database '%s'.", permission, database)
}

// NoDatabase is error 911.
func NoDatabase(name string) *Error {
	return New(911, 16, "Database '%s' does not exist. Make sure that the name is entered correctly.", name)
}

// DatabaseAccess is error 916.
func DatabaseAccess(principal, database string) *Error {
	return New(916, 14, "The server principal \"%s\" is not able to access the database \"%s\" under "+
		"the current security context.", principal, database)
}

// DatabaseOffline is error 942.
func DatabaseOffline(name string) *Error {
	return New(942, 14, "Database '%s' cannot be opened because it is offline.", name).WithState(4)
}

// CannotOpenDatabase is error 4060.
func CannotOpenDatabase(name string) *Error {
	return New(4060, 11, "Cannot open database \"%s\" requested by the login. The login failed.", name)
}

// CannotOpenDefaultDatabase is error 4064.
func CannotOpenDefaultDatabase() *Error {
	return New(4064, 11, "Cannot open user default database. Login failed.")
}

// PasswordMustChange is error 18488.
func PasswordMustChange(user string) *Error {
	return New(18488, 14, "Login failed for user '%s'.  Reason: The password of the account must be changed.", user)
}

// LoginFailed is error 18456; the state is always 1, so that a client cannot tell why.
func LoginFailed(user string) *Error {
	return New(18456, 14, "Login failed for user '%s'.", user)
}

// DatabaseContext is error 5701, an informational message.
func DatabaseContext(name string) *Error {
	return New(5701, 10, "Changed database context to '%s'.", name).WithState(2)
}

// NoLanguage is error 2740.
func NoLanguage(name string) *Error {
	return New(2740, 16, "SET LANGUAGE failed because '%s' is not an official language name or a "+
		"language alias on this SQL Server.", name)
}

// LoginLanguageReplaced is message 4016. Its severity in the list of messages is 16; it is a
// warning for clients that do not require their language.
func LoginLanguageReplaced(name, used string) *Error {
	return New(4016, 10, "Language requested in 'login %s' is not an official name on this SQL Server. "+
		"Using user default %s instead.", name, used)
}

// LoginLanguageRefused is error 4019. The login fails.
func LoginLanguageRefused(name string) *Error {
	return New(4019, 16, "Language requested in login '%s' is not an official language name on this SQL Server. "+
		"Login fails.", name)
}

// LanguageSetting is error 5703, an informational message.
func LanguageSetting(name string) *Error {
	return New(5703, 10, "Changed language setting to %s.", name)
}

// NoServer is error 7202.
func NoServer(name string) *Error {
	return New(7202, 11, "Could not find server '%s' in sys.servers. Verify that the correct server "+
		"name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add "+
		"the server to sys.servers.", name).WithState(2)
}

// InvalidLogin is error 15007.
func InvalidLogin(name string) *Error {
	return New(15007, 16, "'%s' is not a valid login or you do not have permission.", name)
}

// PrincipalExists is error 15023.
func PrincipalExists(name string) *Error {
	return New(15023, 16, "User, group, or role '%s' already exists in the current database.", name)
}

// LoginExists is error 15025.
func LoginExists(name string) *Error {
	return New(15025, 16, "The server principal '%s' already exists.", name)
}

// LoginHasUser is error 15063.
func LoginHasUser() *Error {
	return New(15063, 16, "The login already has an account under a different user name.")
}

// PrincipalOwnsSchema is error 15138.
func PrincipalOwnsSchema() *Error {
	return New(15138, 16, "The database principal owns a schema in the database, and cannot be dropped.")
}

// RoleHasMembers is error 15144.
func RoleHasMembers() *Error {
	return New(15144, 16, "The role has members. It must be empty before it can be dropped.")
}

// CannotFind is error 15151; verb is find, alter, drop, kind user, role, login, schema...
func CannotFind(verb, kind, name string) *Error {
	return New(15151, 16, "Cannot %s the %s '%s', because it does not exist or you do not have "+
		"permission.", verb, kind, name)
}

// ActionPermission is error 15247.
func ActionPermission() *Error {
	return New(15247, 16, "User does not have permission to perform this action.")
}

// ImpersonateLogin is error 15406.
func ImpersonateLogin(name string) *Error {
	return New(15406, 16, "Cannot execute as the server principal because the principal \"%s\" does "+
		"not exist, this type of principal cannot be impersonated, or you do not have permission.", name)
}

// LoginInUse is error 15434.
func LoginInUse(name string) *Error {
	return New(15434, 16, "Could not drop login '%s' as the user is currently logged in.", name)
}

// ImpersonateUser is error 15517.
func ImpersonateUser(name string) *Error {
	return New(15517, 16, "Cannot execute as the database principal because the principal \"%s\" "+
		"does not exist, this type of principal cannot be impersonated, or you do not have "+
		"permission.", name)
}

// EncryptionRequired is error 17835.
func EncryptionRequired() *Error {
	return New(17835, 20, "Encryption is required to connect to this server but the client library does not "+
		"support encryption; the connection has been closed. Please upgrade your client library.")
}

// InvalidLoginPacket is error 17832.
func InvalidLoginPacket() *Error {
	return New(17832, 20, "The login packet used to open the connection is structurally invalid; the connection "+
		"has been closed. Please contact the vendor of the client library.")
}

// UntrustedDomain is error 18452: a login with integrated authentication.
func UntrustedDomain() *Error {
	return New(18452, 14, "Login failed. The login is from an untrusted domain and cannot be used with Integrated "+
		"authentication.")
}

// AccountLocked is error 18486.
func AccountLocked(user string) *Error {
	return New(18486, 14, "Login failed for user '%s' because the account is currently locked out. The system "+
		"administrator can unlock it.", user)
}

// TooManyConnections is error 17809.
func TooManyConnections(limit int) *Error {
	return New(17809, 20, "Could not connect because the maximum number of '%d' user connections has already been "+
		"reached. The system administrator can use sp_configure to increase the maximum value. The connection "+
		"has been closed.", limit)
}

// ResetWhileImpersonating returns error 18059: the connection is reset under EXECUTE AS.
func ResetWhileImpersonating() *Error {
	return New(18059, 20, "The connection has been dropped because the principal that opened it subsequently assumed a new security "+
		"context, and then tried to reset the connection under its impersonated security context. This scenario is not supported. See "+
		"\"Impersonation Overview\" in Books Online.")
}
