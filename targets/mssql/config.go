package mssql

import (
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets"
)

// Config is the configuration of Servers. The zero value of each field means its default.
type Config struct {
	// Credentials are the agent's credentials; nil means that there are none, and that no server
	// can be reached.
	Credentials *CredentialSet
	// Encrypt is true, strict (TDS 8.0) or disable. Default: true.
	Encrypt string
	// TrustServerCertificate accepts any certificate. It has no effect on strict, which always
	// verifies. Default: false.
	TrustServerCertificate bool
	// CertificateSHA256 pins the servers' certificate. Each pin is the SHA-256 of a certificate or
	// of its SubjectPublicKeyInfo, in hexadecimal digits with or without colons. One of the pins
	// must match; neither the authority nor the name is verified then. Default: the certificate is
	// verified.
	CertificateSHA256 []string
	// Servers are encryption settings for some servers; the first entry that matches is used.
	Servers []ServerEncryption
	// AnonymousSessions leaves the description of the attempt ([targets.Attempt].Session) out of
	// program_name and CONTEXT_INFO.
	AnonymousSessions bool
	// AppName is the program_name of sessions. The session of a script appends a blank and a token
	// of 16 hexadecimal digits. Default: jobagent.
	AppName string
	// LoginTimeout bounds connecting and logging in. Default: DefaultLoginTimeout.
	LoginTimeout time.Duration
	// Dialer replaces TCP. Default: TCP.
	Dialer mssqldb.HostDialer
	// Limits bound what a target may send. The zero value of each field means its default.
	Limits AnswerLimits
	// Control is the agent's control database, on which no script may have rights. The zero value
	// means that there is none.
	Control Instance
	// AllowControlDatabase allows scripts on control databases, and with logins that can enter
	// them. Default: false.
	AllowControlDatabase bool
	// Entra returns the driver's connector for a credential of Microsoft Entra ID; see
	// Logins.Connector in package azure. nil refuses such credentials.
	Entra func(EntraLogin) (*mssqldb.Connector, error)
	// OnLogin is called after each login or failed login, with the elapsed time and the class of
	// the error; the class is empty for a successful login. OnLogin must not block.
	OnLogin func(elapsed time.Duration, class targets.Class)
}

// ServerEncryption is the encryption of connections to some servers.
type ServerEncryption struct {
	// Match is a pattern of servers, as in Credential.Servers.
	Match string
	// Encrypt is as in Config. Default: the value in Config.
	Encrypt string
	// TrustServerCertificate and CertificateSHA256 replace those of Config for these servers.
	TrustServerCertificate bool
	CertificateSHA256      []string
}

// EntraLogin is a login with a credential of Microsoft Entra ID.
type EntraLogin struct {
	// Params are the connection's settings without user and password. The driver's encryption is
	// disabled in them, because Servers encrypts.
	Params msdsn.Config
	// Kind is any kind but KindSQLLogin.
	Kind CredentialKind
	// User is as in Credential.
	User string
	// Secret is the client secret itself; empty for kinds that have none. It is read anew for each
	// login.
	Secret string
}
