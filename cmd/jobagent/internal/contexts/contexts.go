// Package contexts keeps connections to control databases by name, as kubectl and sqlcmd do. A file
// has the server, the database and the login of each; it never has a password, but says where the
// password is: in the keyring of the operating system, in an environment variable or in a file; or
// that the command asks for it. DESIGN.md has the reasons.
package contexts

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Context is a connection to a control database.
type Context struct {
	Name     string `yaml:"name"`
	Server   string `yaml:"server"` // host, host,port or host\instance
	Database string `yaml:"database"`
	// Auth is one of [AuthNames]; empty: a login of the server.
	Auth string `yaml:"auth,omitempty"`
	User string `yaml:"user,omitempty"`
	// Password says where the password is: env:NAME, file:PATH, keyring:ENTRY or prompt. Empty
	// means that there is none.
	Password string `yaml:"password,omitempty"`
	// Encrypt is true (the default), strict or disable.
	Encrypt string `yaml:"encrypt,omitempty"`
	// CertificateSHA256 pins the server's certificate: hashes, separated by commas.
	CertificateSHA256 string `yaml:"certificate_sha256,omitempty"`
	// Parameters are further parameters of the connection string.
	Parameters map[string]string `yaml:"parameters,omitempty"`
	// Config is the path of the configuration file that belongs to the context.
	Config string `yaml:"config,omitempty"`
	// Production makes commands that change something say where they do.
	Production bool `yaml:"production,omitempty"`
	// Color is one of [Colors]; empty means red for production, and none otherwise.
	Color string `yaml:"color,omitempty"`
}

// References to a password that are not of package secretref.
const (
	RefPrompt  = "prompt"
	refKeyring = "keyring:"
)

// Colors are the names of colours.
var Colors = []string{"red", "green", "yellow", "blue", "magenta", "cyan", "none"}

// EntraNames are the ways to log in with Microsoft Entra ID, in the words of the command line.
var EntraNames = []string{"entra", "entra-managed-identity", "entra-service-principal"}

// authWindows is the login with a Windows account: by Kerberos, or on Windows by SSPI.
const authWindows = "windows"

// AuthNames are the ways to log in other than a login of the server.
var AuthNames = append([]string{authWindows}, EntraNames...)

// entraKinds maps EntraNames to the values of fedauth in connection strings.
var entraKinds = map[string]string{
	"entra": "ActiveDirectoryDefault", "entra-managed-identity": "ActiveDirectoryManagedIdentity",
	"entra-service-principal": "ActiveDirectoryServicePrincipal",
}

// Lengths of texts.
const (
	maxName   = 64
	maxServer = 256 // as in target groups
	maxObject = 128 // of names in SQL Server
)

// namePattern lets a name stand in a shell's prompt, in a command line and in a file's name without
// quotes.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]*$`)

// CheckName checks the name of a context.
func CheckName(name string) error {
	switch {
	case name == "":
		return exit.Usagef("the name of the context is empty")
	case len(name) > maxName:
		return exit.Usagef("the name of the context has %d characters: want at most %d", utf8.RuneCountInString(name), maxName)
	case !namePattern.MatchString(name):
		return exit.Usagef("invalid name of a context %q: want letters of the English alphabet, digits, and . _ @ - after the first one", name)
	}
	return nil
}

// Check checks a context. The error repeats no value that may hold a secret.
func (c Context) Check() error {
	if err := CheckName(c.Name); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return exit.Usagef("context %s: %w", c.Name, err)
	}
	return nil
}

// check checks all but the name.
func (c Context) check() error {
	if _, err := splitServer(c.Server); err != nil {
		return err
	}
	for _, text := range []struct {
		what, value string
		limit       int
	}{
		{"database", c.Database, maxObject}, {"user", c.User, maxObject}, {"server", c.Server, maxServer}, {"config", c.Config, 4096},
	} {
		if err := checkText(text.value, text.limit); err != nil {
			return fmt.Errorf("%s: %w", text.what, err)
		}
	}
	switch {
	case c.Database == "":
		return fmt.Errorf("the database is missing")
	case c.Auth != "" && !slices.Contains(AuthNames, c.Auth):
		return fmt.Errorf("invalid auth: want one of %s", strings.Join(AuthNames, ", "))
	case c.Color != "" && !slices.Contains(Colors, c.Color):
		return fmt.Errorf("invalid colour: want one of %s", strings.Join(Colors, ", "))
	case c.User == "" && c.Password != "":
		return fmt.Errorf("a password needs a user")
	case c.User != "" && c.Password == "" && c.Auth == "" && c.Parameters[authenticator] == "":
		return fmt.Errorf("the user %q needs a password: want --password-ref", c.User)
	case c.Auth == "entra-service-principal" && c.User == "":
		return fmt.Errorf("a service principal needs a user, CLIENT@TENANT, and its secret as the password")
	case c.Config != "" && !filepath.IsAbs(c.Config):
		return fmt.Errorf("the path of the configuration file is not absolute")
	}
	if err := checkReference(c.Password); err != nil {
		return err
	}
	for name, value := range c.Parameters {
		if err := checkParameter(name, value); err != nil {
			return err
		}
	}
	return nil
}

// checkText refuses texts that are too long, and control characters.
func checkText(text string, limit int) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("the text is not valid UTF-8")
	case utf8.RuneCountInString(text) > limit:
		return fmt.Errorf("the text has more than %d characters", limit)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the text has control characters")
	}
	return nil
}

// checkReference checks where a password is.
func checkReference(ref string) error {
	if ref == "" || ref == RefPrompt || secretref.IsReference(ref) {
		return nil
	}
	if entry, ok := strings.CutPrefix(ref, refKeyring); ok && namePattern.MatchString(entry) {
		return nil
	}
	return fmt.Errorf("invalid reference to the password: want env:NAME, file:PATH, keyring or prompt") // it may be the password itself
}

// secretParameter matches parameters whose values are secrets.
var secretParameter = regexp.MustCompile(`(?i)password|pwd|secret|assertion|token`)

// checkParameter checks a further parameter of the connection string.
func checkParameter(name, value string) error {
	if secretParameter.MatchString(name) {
		return fmt.Errorf("the parameter %q of the connection string would be a secret in the file: leave it out", name)
	}
	if err := checkText(name, maxObject); err != nil {
		return fmt.Errorf("parameter of the connection string: %w", err)
	}
	if err := checkText(value, 4096); err != nil {
		return fmt.Errorf("parameter %q of the connection string: %w", name, err)
	}
	return nil
}

// Place returns the database and the server for messages.
func (c Context) Place() string { return fmt.Sprintf("database %s on %s", c.Database, c.Server) }

// Shade returns the colour of the context; empty means none.
func (c Context) Shade() string {
	switch {
	case c.Color == "none":
		return ""
	case c.Color == "" && c.Production:
		return "red"
	}
	return c.Color
}

// URL returns the connection string. password is empty where the context has none, or where the
// string is shown.
func (c Context) URL(password string) string {
	q := url.Values{}
	for name, value := range c.Parameters {
		q.Set(name, value)
	}
	q.Set("database", c.Database)
	for name, value := range map[string]string{
		"encrypt": c.Encrypt, "certificate_sha256": c.CertificateSHA256, fedauth: entraKinds[c.Auth],
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if c.Auth == authWindows {
		q.Set(authenticator, authWindows)
	}
	u := url.URL{Scheme: "sqlserver", RawQuery: q.Encode()}
	if s, err := splitServer(c.Server); err == nil {
		u.Host = s.urlHost()
		if s.instance != "" {
			u.Path = "/" + s.instance
		}
	}
	switch {
	case c.User != "" && password != "":
		u.User = url.UserPassword(c.User, password)
	case c.User != "":
		u.User = url.User(c.User)
	}
	return u.String()
}

// fedauth is the parameter of connection strings that asks for Microsoft Entra ID.
const fedauth = "fedauth"

// authenticator is the parameter of connection strings that asks for a Windows account.
const authenticator = "authenticator"

// own are the parameters of a connection string that have fields in a context.
var own = []string{
	"server", "port", "database", "user id", "password", "encrypt", "certificate_sha256", fedauth, "protocol",
}

// paths are the parameters that name files.
var paths = []string{"certificate", "servercertificate", "krb5-configfile", "krb5-keytabfile", "krb5-credcachefile"}

// FromDSN takes a connection string apart. The password is returned beside the context.
func FromDSN(text string) (c Context, password string, err error) {
	dsn, err := mssql.ParseDSN(text)
	if err != nil {
		return c, "", exit.Usage(err)
	}
	p := dsn.Params
	if scheme, _, ok := strings.Cut(text, "://"); ok && !strings.EqualFold(scheme, "sqlserver") && !strings.ContainsAny(scheme, ";=") || p.Database == "" {
		return c, "", exit.Usagef("the connection string lacks the control database: want sqlserver://USER:PASSWORD@HOST?database=NAME")
	}
	s := server{host: p.Host, instance: p.Instance}
	if p.Port != 0 {
		s.port, s.instance = strconv.FormatUint(p.Port, 10), ""
	}
	c = Context{
		Server: s.String(), Database: p.Database, User: p.User,
		Encrypt: p.Parameters["encrypt"], CertificateSHA256: p.Parameters["certificate_sha256"],
	}
	if word := p.Parameters[fedauth]; word != "" {
		for name, kind := range entraKinds {
			if strings.EqualFold(kind, word) {
				c.Auth = name
			}
		}
		if c.Auth == "" {
			return c, "", exit.Usagef("connection string: unknown fedauth: want one of %s",
				strings.Join(slices.Sorted(maps.Values(entraKinds)), ", "))
		}
	}
	if p.Parameters[authenticator] == authWindows {
		c.Auth = authWindows
	}
	for name, value := range p.Parameters {
		if slices.Contains(own, name) || value == "" || name == authenticator && value == authWindows {
			continue
		}
		if slices.Contains(paths, name) {
			if value, err = filepath.Abs(value); err != nil {
				return c, "", exit.Usage(err)
			}
		}
		if c.Parameters == nil {
			c.Parameters = map[string]string{}
		}
		c.Parameters[name] = value
	}
	return c, p.Password, nil
}

// server is the name of a server in its parts.
type server struct{ host, instance, port string }

func splitServer(name string) (s server, err error) {
	invalid := fmt.Errorf(`invalid server name: want host, host,port or host\instance`)
	if name == "" {
		return s, fmt.Errorf("the server is missing")
	}
	rest := strings.TrimPrefix(name, "tcp:")
	rest, s.port, _ = strings.Cut(rest, ",")
	if rest, s.instance, _ = strings.Cut(rest, `\`); s.instance != "" && s.port != "" {
		return s, fmt.Errorf("a server has an instance or a port: remove one of them")
	}
	if host, port, splitErr := net.SplitHostPort(rest); splitErr == nil && s.port == "" && s.instance == "" {
		rest, s.port = host, port
	}
	s.host = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(rest, "["), "]"))
	s.port = strings.TrimSpace(s.port)
	if s.port != "" {
		if n, err := strconv.ParseUint(s.port, 10, 16); err != nil || n == 0 {
			return s, fmt.Errorf("invalid port: want 1 to 65535")
		}
	}
	if strings.Contains(name, ",") && s.port == "" || strings.Contains(name, `\`) && s.instance == "" || s.host == "" ||
		strings.Contains(s.host, ":") && net.ParseIP(s.host) == nil ||
		strings.ContainsFunc(name, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(";='\"{}?#&@/%*", r)
		}) {
		return s, invalid
	}
	return s, nil
}

// String returns the name in the form of target groups.
func (s server) String() string {
	switch {
	case s.instance != "":
		return s.host + `\` + s.instance
	case s.port != "":
		return s.host + "," + s.port
	}
	return s.host
}

// urlHost returns the part of a URL.
func (s server) urlHost() string {
	host := s.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.port != "" {
		host += ":" + s.port
	}
	return host
}

// Normalize returns the context with its server in the form of target groups, and absolute paths.
func (c Context) Normalize() (Context, error) {
	s, err := splitServer(c.Server)
	if err != nil {
		return c, exit.Usagef("--server: %w", err)
	}
	c.Server = s.String()
	if c.Config != "" {
		if c.Config, err = filepath.Abs(c.Config); err != nil {
			return c, exit.Usage(err)
		}
	}
	if path, ok := secretref.File(c.Password); ok {
		if path, err = filepath.Abs(path); err != nil {
			return c, exit.Usage(err)
		}
		c.Password = "file:" + path
	}
	return c, nil
}

// PasswordKind says where the password is, without the name of an entry of the keyring.
func (c Context) PasswordKind() string {
	if strings.HasPrefix(c.Password, refKeyring) {
		return "keyring"
	}
	return cmp.Or(c.Password, "none")
}
