package mssql

import (
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

// Config is how the servers of targets are reached. The zero value of each field means its default.
type Config struct {
	// Credentials are the agent's credentials; nil: none, so that nothing can be reached.
	Credentials *CredentialSet
	// Encrypt is true, strict (TDS 8.0) or disable. Default: true.
	Encrypt string
	// TrustServerCertificate accepts any certificate; strict accepts none that is not verified. Default: false.
	TrustServerCertificate bool
	// CertificateSHA256 pins the servers' certificate: one of these must be the SHA-256 of the certificate, or of the SubjectPublicKeyInfo in it, in
	// hexadecimal digits, with colons or without. Then neither an authority nor a name is asked for. Default: the certificate is verified.
	CertificateSHA256 []string
	// Servers are other settings of encryption for some servers: the first that matches counts.
	Servers []ServerEncryption
	// AppName is what the server shows as program_name; that of a session that runs a script is followed by a blank and
	// 16 hexadecimal digits, which tell it from all others. Default: jobagent.
	AppName string
	// LoginTimeout bounds connecting and logging in. Default: DefaultLoginTimeout.
	LoginTimeout time.Duration
	// Dialer reaches servers in another way than TCP. Default: TCP.
	Dialer mssqldb.HostDialer
	// Limits bound what a target may send. Default: DefaultLimits.
	Limits AnswerLimits
	// Control is the agent's control database, which no script may have rights on; its zero value: there is none.
	Control Instance
	// AllowControlDatabase lets scripts run on control databases, and with logins that can enter them. Default: false.
	AllowControlDatabase bool
	// Entra makes the connectors of credentials of Microsoft Entra ID: azure.Connector of package
	// targets/azure. nil: such credentials are refused.
	Entra func(EntraLogin) (*mssqldb.Connector, error)
}

// ServerEncryption is how connections to some servers are encrypted.
type ServerEncryption struct {
	// Match is a pattern of servers, as in Credential.Servers.
	Match string
	// Encrypt is as in Config. Default: that of the Config.
	Encrypt string
	// TrustServerCertificate and CertificateSHA256 are as in Config, whose own do not count for these servers.
	TrustServerCertificate bool
	CertificateSHA256      []string
}

// EntraLogin is a login with a credential of Microsoft Entra ID.
type EntraLogin struct {
	// Params are the connection's settings, without user and password, and with the driver's encryption disabled: Servers encrypts.
	Params msdsn.Config
	// Kind is not KindSQLLogin.
	Kind CredentialKind
	// User is the credential's.
	User string
	// Secret is the client secret itself; empty for kinds that have none. It is read anew for each login.
	Secret string
}
