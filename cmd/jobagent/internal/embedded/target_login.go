package embedded

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/secretref/privatefile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// TargetLogin is the login with which the embedded server's own agent runs scripts. It is db_owner
// in every database except system and control databases, in which it has no user.
const TargetLogin = "jobagent_targets"

// Files in the data directory of `jobagent dev` with which other agents and commands use
// TargetLogin.
const (
	TargetPasswordFile = "targets-password"
	ConfigFile         = "jobagent.json"
)

// targetLoginText creates the login's user in a database, or drops the user; see the file.
//
//go:embed target_login.sql
var targetLoginText string

// prepareDatabases creates the control database, with the content of control if it is not nil, and
// the login for targets. It is called before clients can connect.
func (e *Server) prepareDatabases(ctx context.Context, dialer mssqldb.HostDialer, control tsqld.Image) error {
	connector, err := mssql.NewConnector(e.DSN("master"), dialer)
	if err != nil {
		return err
	}
	master := sql.OpenDB(connector)
	defer master.Close()
	conn, err := master.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to the embedded server: %w", err)
	}
	defer conn.Close()
	var known sql.NullInt64
	err = conn.QueryRowContext(ctx, "SELECT DB_ID(N'"+ControlDatabase+"');").Scan(&known)
	switch {
	case err != nil || known.Valid:
	case control.Image != nil:
		err = e.server.CreateFrom(ctx, ControlDatabase, control)
	default:
		_, err = conn.ExecContext(ctx, "CREATE DATABASE "+ControlDatabase+";")
	}
	if err != nil {
		return fmt.Errorf("create the control database: %w", err)
	}
	// The password has letters, digits and hyphens only.
	verb := "ALTER"
	if err := conn.QueryRowContext(ctx, "SELECT SUSER_ID(N'"+TargetLogin+"');").Scan(&known); err != nil {
		return fmt.Errorf("find the login of targets: %w", err)
	}
	if !known.Valid {
		verb = "CREATE"
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("%s LOGIN %s WITH PASSWORD = N'%s';", verb, TargetLogin,
		e.TargetPassword)); err != nil {
		return fmt.Errorf("create the login of targets: %w", err)
	}
	names, err := writableDatabases(ctx, conn)
	if err != nil {
		return fmt.Errorf("list the databases: %w", err)
	}
	for _, name := range names {
		if _, err := conn.ExecContext(ctx, "USE "+tsql.Name(name)+";\n"+targetLoginText,
			sql.Named("is_control", name == ControlDatabase)); err != nil {
			return fmt.Errorf("create the user of targets in database %q: %w", name, err)
		}
	}
	return nil
}

// writableDatabases returns the databases in which the login may have a user. The database model is
// among them, because new databases are copies of it
// (https://learn.microsoft.com/sql/relational-databases/databases/model-database).
func writableDatabases(ctx context.Context, conn *sql.Conn) (names []string, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT d.name
FROM sys.databases AS d
WHERE d.state = 0 AND d.is_read_only = 0 AND d.user_access = 0 AND d.name NOT IN (N'master', N'tempdb', N'msdb');`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// ownNames returns the names of the server in target groups on the same machine. They have the
// port, because other ports of the host may belong to other servers.
func (e *Server) ownNames() []string {
	host, port, _ := net.SplitHostPort(e.Address)
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	if !slices.Contains(hosts, host) && !net.ParseIP(host).IsUnspecified() {
		hosts = append(hosts, host)
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h + "," + port
	}
	return names
}

// OpenServers makes the connections to the server's databases as targets. The login for targets is
// the default credential, and is valid on this server only; further credentials come from the
// configuration file.
func (e *Server) OpenServers(ctx context.Context, further ...mssql.Credential) (*mssql.Servers, error) {
	own := e.ownNames()
	credentials, err := mssql.NewCredentialSet(append([]mssql.Credential{
		mssql.LoginCredential(targets.DefaultCredential, TargetLogin, e.TargetPassword, own...),
	}, further...)...)
	if err != nil {
		return nil, exit.Usage(err)
	}
	settings := e.TargetSettings
	if settings.Control, err = e.Store.Instance(ctx); err != nil {
		return nil, err
	}
	settings.Credentials, settings.Servers = credentials, append(e.ownEncryption(own), e.TargetSettings.Servers...)
	servers, err := mssql.NewServers(settings)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return servers, nil
}

// ownEncryption returns the encryption settings of the server as a target. They pin its
// certificate.
func (e *Server) ownEncryption(names []string) (list []mssql.ServerEncryption) {
	for _, name := range names {
		self := mssql.ServerEncryption{Match: name, Encrypt: e.encrypt}
		if e.encrypt != "disable" {
			self.CertificateSHA256 = []string{mssql.CertificatePin(e.Certificate)}
		}
		list = append(list, self)
	}
	return list
}

// WriteConfig writes the configuration file with which other agents and commands connect to the
// server's databases as targets. The file refers to the file of the password, and holds no secret.
func (e *Server) WriteConfig(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	type encryption struct {
		Match             string   `json:"match"`
		CertificateSHA256 []string `json:"certificate_sha256"`
	}
	var cfg struct {
		Targets struct {
			DefaultCredential string       `json:"default_credential"`
			Servers           []encryption `json:"servers"`
		} `json:"targets"`
		Credentials []config.Credential `json:"credentials"`
		// Actions may call this machine, as those of the server's own agent.
		Outbound struct {
			Allow []string `json:"allow"`
		} `json:"outbound"`
	}
	names := e.ownNames()
	for _, name := range names {
		cfg.Targets.Servers = append(cfg.Targets.Servers, encryption{name, []string{mssql.CertificatePin(e.Certificate)}})
	}
	cfg.Targets.DefaultCredential = TargetLogin
	cfg.Credentials = []config.Credential{{Name: TargetLogin, Servers: names, User: TargetLogin,
		Secret: "file:" + filepath.Join(dir, TargetPasswordFile)}}
	cfg.Outbound.Allow = outbound.LoopbackAllowed()
	text, err := json.MarshalIndent(cfg, "", "  ")
	if err != nil {
		return err
	}
	return privatefile.Replace(filepath.Join(dir, ConfigFile), append(text, '\n'))
}
