package mssql

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/kerberos"
)

// pinParameter is the parameter of a connection string that pins the server's certificate.
// go-mssqldb ignores it.
const pinParameter = "certificate_sha256"

// DSN is a parsed connection string.
type DSN struct {
	// Params are the driver's settings, with the same encryption.
	Params msdsn.Config
	// Encryption is the result of encrypt, TrustServerCertificate, certificate, serverCertificate,
	// hostNameInCertificate, tlsmin and certificate_sha256.
	Encryption Encryption
	// loginTimeout is "connection timeout"; 0 means that none is given.
	loginTimeout time.Duration
}

// ParseDSN parses a connection string in any form that go-mssqldb reads (URL, ADO, ODBC), with
// other defaults: encrypt is true and the certificate is verified. It refuses encrypt=false, which
// encrypts the login only. The error is a *targets.ConfigError that names parameters but no values,
// since the string may hold a password.
func ParseDSN(text string) (DSN, error) {
	p, err := msdsn.Parse(text)
	// An error of parseEncryption has a better text than the driver's.
	encryption, ours := parseEncryption(p.Parameters)
	if ours != nil {
		return DSN{}, &targets.ConfigError{Subject: "connection string", Err: ours}
	}
	if err != nil {
		return DSN{}, &targets.ConfigError{Subject: "connection string", Err: errors.New("invalid form: " +
			"want sqlserver://user:password@host:port?database=name")}
	}
	p.Host = bareHost(p.Host)
	if word := strings.Trim(p.Parameters["authentication"], `"'`); word != "" && !strings.EqualFold(word, "Sql Password") {
		// SqlClient's keyword, as Azure's portal writes it: Authentication="Active Directory
		// Default".
		p.Parameters["fedauth"] = strings.ReplaceAll(word, " ", "")
	}
	if _, err := authenticatorOf(p, runtime.GOOS); err != nil {
		return DSN{}, &targets.ConfigError{Subject: "connection string", Err: err}
	}
	d := DSN{Params: encryption.driver(p), Encryption: encryption}
	d.ownDefaults()
	return d, nil
}

// ownDefaults replaces the driver's settings that would change answers or end statements.
func (d *DSN) ownDefaults() {
	p := &d.Params
	// As in SqlClient, "connection timeout" limits the login. The driver uses it as the deadline of
	// each read, which would end every statement that is silent for so long, and would replace the
	// deadline that cuts a wire. Azure's portal writes "Connection Timeout=30" into its connection
	// strings.
	d.loginTimeout, p.ConnTimeout = p.ConnTimeout, 0
	if _, given := p.Parameters[msdsn.DialTimeout]; !given {
		if p.DialTimeout = -1; p.FailOverPartner != "" { // the limit of the connector covers dialing
			p.DialTimeout = d.loginLimit() / 3 // leaves time for the partner if the first server does not answer
		}
	}
	// The procedures return instants in UTC and identifiers in the server's order of bytes, and no
	// encrypted columns.
	p.Encoding, p.ColumnEncryption = msdsn.EncodeParameters{Timezone: time.UTC}, false
}

// loginLimit returns the time limit of a login.
func (d DSN) loginLimit() time.Duration { return cmp.Or(d.loginTimeout, DefaultLoginTimeout) }

// bareHost removes the brackets of an IPv6 address. The driver leaves them in place when no port
// follows, and then fails to dial.
func bareHost(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok := strings.CutSuffix(inner, "]"); ok {
			return inner
		}
	}
	return host
}

// Connector returns a connector for d. A nil dialer means TCP.
func (d DSN) Connector(dialer mssqldb.HostDialer) *Connector {
	d.Params = authenticated(d.Params)
	if d.needsDriverTLS() {
		c := wrapConnector(mssqldb.NewConnectorConfig(d.Encryption.driver(d.Params)), nil, dialer)
		c.limit = d.loginLimit()
		return c
	}
	c := wrapConnector(mssqldb.NewConnectorConfig(withoutTLS(d.Params)), &d.Encryption, dialer)
	c.limit = d.loginLimit()
	if d.Params.Parameters[authenticatorParameter] == kerberos.Authenticator {
		c.explain = func(err error) error { return kerberos.Explain(d.Params, err) }
	}
	return c
}

// EntraConnector returns a connector for d that logs in with login. User and password of d are not
// sent.
func (d DSN) EntraConnector(login EntraLogin, entra func(EntraLogin) (*mssqldb.Connector, error)) (*Connector, error) {
	login.Params = withoutTLS(d.Params)
	login.Params.User, login.Params.Password = "", ""
	inner, err := entra(login)
	if err != nil {
		return nil, err
	}
	c := wrapConnector(inner, &d.Encryption, nil)
	c.limit = d.loginLimit()
	return c, nil
}

// driver returns the driver's settings p with the encryption of e.
func (e Encryption) driver(p msdsn.Config) msdsn.Config {
	switch e.mode {
	case encryptDisable:
		return withoutTLS(p)
	case encryptStrict:
		p.Encryption = msdsn.EncryptionStrict
	default:
		p.Encryption = msdsn.EncryptionRequired
	}
	p.TLSConfig, p.TrustServerCertificate = e.tlsConfig(p.Host), e.Unverified()
	p.HostInCertificateProvided = e.hostName != "" // without this, a redirect would change the name
	return p
}

// needsDriverTLS reports whether the driver itself must do TLS: integrated authentication with
// channel binding ("epa enabled") binds the login to the driver's own TLS connection.
func (d DSN) needsDriverTLS() bool {
	name, err := authenticatorOf(d.Params, runtime.GOOS)
	binds := err == nil && (name == sspiAuthenticator || name == ntlmAuthenticator) // Kerberos has no channel binding
	return d.Params.EpaEnabled && binds && d.Encryption.mode != encryptDisable
}

// withoutTLS returns the driver's settings without encryption, for a connection over a channel.
func withoutTLS(p msdsn.Config) msdsn.Config {
	p.Encryption, p.TLSConfig, p.TrustServerCertificate, p.EpaEnabled = msdsn.EncryptionDisabled, nil, false, false
	return p
}

// parseEncryption parses the encryption parameters, whose names are in lower case. The error
// repeats no value.
func parseEncryption(params map[string]string) (e Encryption, err error) {
	if word, given := params[msdsn.Encrypt]; given {
		if word == "" {
			word = "nothing"
		}
		if e.mode, err = parseEncrypt(word); err != nil {
			return e, fmt.Errorf("encrypt: %w", err)
		}
	}
	if word, given := params[msdsn.TrustServerCertificate]; given {
		if e.trust, err = parseYesNo(word); err != nil {
			return e, fmt.Errorf("TrustServerCertificate: %w", err)
		}
	}
	if text, given := params[pinParameter]; given {
		parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		if e.pins, err = parsePins(parts...); err == nil && len(parts) == 0 {
			_, err = parsePins("")
		}
		if err != nil {
			return e, fmt.Errorf("%s: %w", pinParameter, err)
		}
	}
	if path := params[msdsn.ServerCertificate]; path != "" {
		exact, err := readCertificates(path)
		if err != nil {
			return e, fmt.Errorf("serverCertificate cannot be read: %w", withoutPath(err))
		}
		pins, err := parsePins(CertificatePin(exact[0]))
		if err != nil {
			return e, err
		}
		e.pins = append(e.pins, pins...)
	}
	if path := params[msdsn.Certificate]; path != "" {
		if len(e.pins) > 0 {
			return e, fmt.Errorf("certificate names an authority, which a pinned certificate does not need: "+
				"remove certificate, or remove %s and serverCertificate", pinParameter)
		}
		list, err := readCertificates(path)
		if err != nil {
			return e, fmt.Errorf("certificate cannot be read: %w", withoutPath(err))
		}
		e.authorities = x509.NewCertPool()
		for _, c := range list {
			e.authorities.AddCert(c)
		}
	}
	e.hostName = params[msdsn.HostNameInCertificate]
	switch params[msdsn.TLSMin] {
	case "", "1.2":
	case "1.3":
		e.minVersion = tls.VersionTLS13
	default:
		return e, errors.New("tlsmin: want 1.2 or 1.3")
	}
	return e, e.validate()
}

// parseYesNo parses a boolean as go-mssqldb does. The error does not repeat the word.
func parseYesNo(word string) (bool, error) {
	switch strings.ToLower(word) {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	v, err := strconv.ParseBool(word)
	if err != nil {
		return false, errors.New("want true or false")
	}
	return v, nil
}

// withoutPath removes the path, a value of the connection string, from a file system error.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
