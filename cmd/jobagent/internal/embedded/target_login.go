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
)

// TargetLogin is the login under which the embedded server's own agent runs scripts: db_owner in every database but those of the system and
// control databases, in which it has no user.
const TargetLogin = "jobagent_targets"

// Files of the login in the data directory of `jobagent dev`, for agents and commands beside it.
const (
	TargetPasswordFile = "targets-password"
	ConfigFile         = "jobagent.json"
)

// targetLoginText makes a database's user of the login, or takes it away; see the file.
//
//go:embed target_login.sql
var targetLoginText string

// prepareDatabases makes the control database and the login for targets, before clients are let in: nobody sees a control database with that
// login in it.
func (e *Server) prepareDatabases(ctx context.Context, dialer mssqldb.HostDialer) error {
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
	if _, err := conn.ExecContext(ctx, "IF DB_ID(N'"+ControlDatabase+"') IS NULL CREATE DATABASE "+ControlDatabase+";"); err != nil {
		return fmt.Errorf("create the control database: %w", err)
	}
	// The password has letters, digits and hyphens only.
	verb := "ALTER"
	var known sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT SUSER_ID(N'"+TargetLogin+"');").Scan(&known); err != nil {
		return fmt.Errorf("find the login of targets: %w", err)
	}
	if !known.Valid {
		verb = "CREATE"
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("%s LOGIN %s WITH PASSWORD = N'%s';", verb, TargetLogin, e.TargetPassword)); err != nil {
		return fmt.Errorf("create the login of targets: %w", err)
	}
	names, err := writableDatabases(ctx, conn)
	if err != nil {
		return fmt.Errorf("list the databases: %w", err)
	}
	for _, name := range names {
		if _, err := conn.ExecContext(ctx, "USE "+tsql.Name(name)+";\n"+targetLoginText, sql.Named("is_control", name == ControlDatabase)); err != nil {
			return fmt.Errorf("create the user of targets in database %q: %w", name, err)
		}
	}
	return nil
}

// writableDatabases lists the databases in which the login may have a user. model is one of them: new databases are made from it
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

// ownNames are the names under which a target group on the same machine names the server: its port only, for the others of the host
// belong to others.
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

// OpenServers makes what reaches the server's databases as targets: the login for targets is the default credential, on this server only;
// further ones come from the configuration file.
func (e *Server) OpenServers(ctx context.Context, further ...mssql.Credential) (*mssql.Servers, error) {
	own := e.ownNames()
	credentials, err := mssql.NewCredentialSet(append([]mssql.Credential{
		mssql.LoginCredential(targets.DefaultCredential, TargetLogin, e.TargetPassword, own...),
	}, further...)...)
	if err != nil {
		return nil, exit.Usage(err)
	}
	settings := e.Reach
	if settings.Control, err = e.Store.Instance(ctx); err != nil {
		return nil, err
	}
	settings.Credentials, settings.Servers = credentials, append(e.ownEncryption(own), e.Reach.Servers...)
	servers, err := mssql.NewServers(settings)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return servers, nil
}

// ownEncryption is how the server is reached as a target: by its certificate.
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

// WriteConfig writes the configuration with which agents and commands beside the server settings its databases as targets. It holds no secret:
// the password is in the file of its own.
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
	}
	names := e.ownNames()
	for _, name := range names {
		cfg.Targets.Servers = append(cfg.Targets.Servers, encryption{name, []string{mssql.CertificatePin(e.Certificate)}})
	}
	cfg.Targets.DefaultCredential = TargetLogin
	cfg.Credentials = []config.Credential{{Name: TargetLogin, Servers: names, User: TargetLogin, Secret: "file:" + filepath.Join(dir, TargetPasswordFile)}}
	text, err := json.MarshalIndent(cfg, "", "  ")
	if err != nil {
		return err
	}
	return ReplaceFile(filepath.Join(dir, ConfigFile), append(text, '\n'))
}

// ReplaceFile writes a file of mode 0600 in one go: who reads it sees the old text or the new one.
func ReplaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
