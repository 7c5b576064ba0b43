package mssql

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/microsoft/go-mssqldb/msdsn"
)

// Encryption is the encryption of a connection and the verification of its server. The zero value
// encrypts everything, and verifies the server's certificate against the machine's authorities and
// the host's name. See [ParseDSN] and [Config].
type Encryption struct {
	mode        encryptMode
	trust       bool           // accept any certificate
	pins        []pin          // one of them must match; replaces verification
	hostName    string         // required in the certificate; empty: the dialed host
	authorities *x509.CertPool // nil: those of the machine
	minVersion  uint16         // of TLS; 0: 1.2
}

// encryptMode says when TLS begins.
type encryptMode string

const (
	// encryptTrue is TLS in PRELOGIN packets, for the login and all that follows.
	encryptTrue encryptMode = ""
	// encryptStrict is TLS from the first byte (TDS 8.0).
	encryptStrict encryptMode = "strict"
	// encryptDisable is no TLS at all.
	encryptDisable encryptMode = "disable"
)

// errLoginOnly refuses go-mssqldb's encrypt=false and its synonyms. It does not repeat the value.
var errLoginOnly = errors.New("false (optional, no) encrypts the login only, and sends everything after it in clear: " +
	"write true (or leave it out), strict, or disable for no encryption at all")

// parseEncrypt parses a mode in go-mssqldb's spellings. Empty means true. The error does not repeat
// the word.
func parseEncrypt(word string) (encryptMode, error) {
	switch strings.ToLower(word) {
	case "", "true", "mandatory", "yes", "1", "t":
		return encryptTrue, nil
	case "strict":
		return encryptStrict, nil
	case "disable":
		return encryptDisable, nil
	case "false", "optional", "no", "0", "f":
		return "", errLoginOnly
	}
	return "", errors.New("want true, strict or disable")
}

// Plain reports whether nothing is encrypted (encrypt=disable).
func (e Encryption) Plain() bool { return e.mode == encryptDisable }

// Unverified reports whether connections are encrypted but any certificate is accepted. strict
// always verifies.
func (e Encryption) Unverified() bool { return e.mode == encryptTrue && e.trust && len(e.pins) == 0 }

// Weakness is an encryption setting that exposes a connection to an attacker on the network.
type Weakness struct {
	// Servers is the name or pattern of the servers that the setting is for.
	Servers string
	// Setting is the setting in the form of the configuration.
	Setting string
	// Text names the danger and the remedy in a few words.
	Text string
}

// Weaknesses returns the weakness of the encryption, if any. An unencrypted connection to the
// machine itself is not a weakness.
func (d DSN) Weaknesses() []Weakness {
	if d.Encryption.Plain() && isLoopback(d.Params.Host) {
		return nil
	}
	return d.Encryption.weaknesses(dsnHost(d.Params))
}

// isLoopback reports whether a host is localhost or a loopback address.
func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

func (e Encryption) weaknesses(servers string) []Weakness {
	switch {
	case e.Plain():
		return []Weakness{{
			Servers: servers, Setting: "encrypt=disable",
			Text: "nothing is encrypted: an attacker on the network can read the password and all data",
		}}
	case e.Unverified():
		return []Weakness{{
			Servers: servers, Setting: "TrustServerCertificate=true",
			Text: "any certificate is accepted: an attacker on the network can read the password and all data; " +
				"pin the certificate with " + pinParameter + " instead",
		}}
	}
	return nil
}

// dsnHost returns the server of a connection string for messages.
func dsnHost(p msdsn.Config) string {
	switch {
	case p.Instance != "":
		return p.Host + `\` + p.Instance
	case p.Port != 0:
		return net.JoinHostPort(p.Host, strconv.FormatUint(p.Port, 10))
	}
	return p.Host
}

// Pins returns the pinned SHA-256 hashes in hexadecimal digits.
func (e Encryption) Pins() []string {
	var list []string
	for _, p := range e.pins {
		list = append(list, p.String())
	}
	return list
}

// validate reports settings that contradict each other.
func (e Encryption) validate() error {
	switch {
	case e.mode == encryptDisable && len(e.pins) > 0:
		return errors.New("a pinned certificate contradicts encrypt=disable: remove one of them")
	case e.trust && len(e.pins) > 0:
		return errors.New("a pinned certificate contradicts trust in any certificate: remove one of them")
	}
	return nil
}

// pin is the SHA-256 of a certificate in DER form, or of its SubjectPublicKeyInfo, which stays the
// same when the certificate is renewed with the same key.
type pin [sha256.Size]byte

// String returns the pin in hexadecimal digits. A pin is not a secret.
func (p pin) String() string { return hex.EncodeToString(p[:]) }

// parsePins parses pins: 64 hexadecimal digits each, with or without colons. The error repeats no
// value.
func parsePins(texts ...string) ([]pin, error) {
	var pins []pin
	for _, text := range texts {
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(text), ":", ""))
		if err != nil || len(b) != sha256.Size {
			return nil, errors.New("invalid pin: want the SHA-256 of a certificate or of its public key, " +
				"64 hexadecimal digits with or without colons")
		}
		pins = append(pins, pin(b))
	}
	return pins, nil
}

// CertificatePin returns the SHA-256 of a certificate in the form of certificate_sha256.
func CertificatePin(c *x509.Certificate) string { return pin(sha256.Sum256(c.Raw)).String() }

// KeyPin returns the SHA-256 of a certificate's SubjectPublicKeyInfo in the form of
// certificate_sha256.
func KeyPin(c *x509.Certificate) string {
	return pin(sha256.Sum256(c.RawSubjectPublicKeyInfo)).String()
}

// pinError means that the server's certificate matches none of the pins.
type pinError struct{ seen *x509.Certificate }

// Error implements error.
func (e *pinError) Error() string {
	return fmt.Sprintf("its certificate has the SHA-256 %s, and the public key in it %s",
		CertificatePin(e.seen), KeyPin(e.seen))
}

// tlsConfig returns the TLS configuration for a connection to host.
func (e Encryption) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{
		ServerName: host,
		RootCAs:    e.authorities,
		MinVersion: max(e.minVersion, tls.VersionTLS12),
		// SQL Server expects a TDS packet in one record
		// (https://github.com/microsoft/go-mssqldb/issues/166).
		DynamicRecordSizingDisabled: true,
	}
	if e.hostName != "" {
		cfg.ServerName = e.hostName
	}
	if e.mode == encryptStrict {
		cfg.NextProtos = []string{"tds/8.0"} // MS-TDS 2.1
	}
	switch {
	case len(e.pins) > 0:
		cfg.InsecureSkipVerify = true // the pin replaces verification
		cfg.VerifyConnection = func(s tls.ConnectionState) error {
			leaf := s.PeerCertificates[0]
			if slices.Contains(e.pins, sha256.Sum256(leaf.Raw)) ||
				slices.Contains(e.pins, sha256.Sum256(leaf.RawSubjectPublicKeyInfo)) {
				return nil
			}
			return &pinError{leaf}
		}
	case e.Unverified():
		cfg.InsecureSkipVerify = true
	}
	return cfg
}

// EncryptionError means that a connection was refused because it would not be encrypted as
// required, or because the server's identity could not be verified. No login was sent. The text is
// one line with the remedy and holds no secret.
type EncryptionError struct {
	// Server is the dialed host and port.
	Server string
	// Err is the reason: an error of crypto/x509 or crypto/tls where there is one.
	Err  error
	text string
}

// Error implements error.
func (e *EncryptionError) Error() string { return e.text }

// Unwrap returns the reason.
func (e *EncryptionError) Unwrap() error { return e.Err }

// The reasons of an [EncryptionError] that are not errors of crypto/x509 or crypto/tls.
var (
	errNoEncryption     = errors.New("the server does not encrypt")
	errMustEncrypt      = errors.New("the server requires encryption")
	errPreloginAnswer   = errors.New("the server's answer to PRELOGIN is malformed")
	errDriverOutOfOrder = errors.New("the driver did not begin with PRELOGIN")
)

// refusal returns the error of a refused connection to server (host:port).
func (e Encryption) refusal(server string, err error) *EncryptionError {
	host, _, splitErr := net.SplitHostPort(server)
	if splitErr != nil {
		host = server
	}
	if e.hostName != "" {
		host = e.hostName
	}
	var (
		seen      string
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		pinned    *pinError
		noTLS     tls.RecordHeaderError
	)
	if errors.As(err, &verify) && len(verify.UnverifiedCertificates) > 0 {
		seen = CertificatePin(verify.UnverifiedCertificates[0])
	}
	const orPin = "or, after you have compared the hash with the server's, pin the certificate with certificate_sha256"
	var text string
	switch {
	case errors.Is(err, errNoEncryption):
		text = fmt.Sprintf("%s does not encrypt, or an attacker on the network answers for it; nothing was sent: "+
			"install a certificate on the server "+
			"(encrypt=disable would send everything in clear text, including the password)", server)
	case errors.Is(err, errMustEncrypt):
		text = fmt.Sprintf("%s requires encryption: remove encrypt=disable", server)
	case errors.As(err, &pinned):
		text = fmt.Sprintf("the server at %s is not the one whose certificate is pinned: %v; "+
			"neither is in certificate_sha256. Either its certificate was renewed (ask its administrator), or it is another server", server, pinned)
	case errors.As(err, &authority):
		text = fmt.Sprintf("the certificate of %s (SHA-256 %s) is signed by an authority that this machine does not trust: "+
			"install the authority's certificate on this machine, "+orPin, server, seen)
	case errors.As(err, &name):
		text = fmt.Sprintf("the certificate of %s (SHA-256 %s) is not for the name %s but for %s: "+
			"use such a name (in a connection string also as hostNameInCertificate), "+orPin,
			server, seen, host, certificateNames(name.Certificate))
	case errors.As(err, &invalid):
		text = fmt.Sprintf("the certificate of %s (SHA-256 %s) is not valid: %v: have it renewed on the server, "+orPin,
			server, seen, invalid)
	case strings.Contains(err.Error(), "negative serial number"): // Go cannot parse a certificate with a negative serial number
		text = fmt.Sprintf("the certificate of %s cannot be read, because its serial number is negative, as in certificates "+
			"that SQL Server 2017 and 2019 create for themselves: give the server another, "+
			"or start the agent with GODEBUG=x509negativeserial=1 in its environment", server)
	case errors.As(err, &noTLS):
		text = fmt.Sprintf("%s does not answer with TLS (encrypt=strict requires SQL Server 2022 or later, or Azure)", server)
	default:
		text = fmt.Sprintf("the TLS handshake with %s failed: %v", server, err)
	}
	return &EncryptionError{Server: server, Err: err, text: text}
}

// certificateNames lists the names of a certificate, at most five.
func certificateNames(c *x509.Certificate) string {
	var names []string
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	names = append(slices.Clone(c.DNSNames), names...)
	switch {
	case len(names) == 0:
		return "none (it has no subject alternative name)"
	case len(names) > 5:
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// readCertificates reads the certificates of a file as go-mssqldb does: all certificates of a .pem
// file, and the one of a .der file.
func readCertificates(path string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []*x509.Certificate
	switch strings.ToLower(filepath.Ext(path)) {
	case ".der":
		one, err := x509.ParseCertificate(text)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	case ".pem":
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "CERTIFICATE" {
				continue
			}
			one, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	default:
		return nil, errors.New("its name must end in .pem or .der")
	}
	if len(list) == 0 {
		return nil, errors.New("it holds no certificate")
	}
	return list, nil
}
