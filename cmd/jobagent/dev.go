package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/targets/mssql"
)

// envSAPassword is the environment variable that holds sa's password for `jobagent dev`.
const envSAPassword = "JOBAGENT_SA_PASSWORD"

// Files in the data directory of `jobagent dev`, beside the databases.
const (
	passwordFile    = "sa-password" // only when the password was made up
	agentIDFile     = "agent-id"
	certificateFile = "server-certificate.pem"
	keyFile         = "server-key.pem" // of the certificate
)

// newDevCommand makes `jobagent dev`.
func newDevCommand(a *app) *cobra.Command {
	var listen, data, password string
	var door devDoor
	var memory memorySize
	cmd := &cobra.Command{
		Use: "dev", Short: "Run an embedded server with a control database and an agent, to develop against",
		Long: `Run an embedded server with a control database named ` + controlDatabase + ` and an agent, until a signal ends it. Any client that speaks
TDS can connect as sa and call jobs.sp_*.

The password of sa is that of ` + envSAPassword + `, or of the file ` + passwordFile + ` in the data directory, which is made when there is none.
--sa-password gives it, too, but every user of the machine can read it in the list of processes. Without --data nothing is kept.

The server's certificate is made once, and is in ` + certificateFile + ` of the data directory: a client that is given it, as by the parameter
serverCertificate of the connection string that is printed, talks to this server and no other.

Jobs run under the login ` + targetLogin + `, which is db_owner in all databases but the control database and those of the system, and
has another password at each start. Its credential for commands and agents beside this one is in the file ` + configFile + ` of the data
directory: --config DIR/` + configFile + `.

Refused logins are logged, and their answers are delayed. A login with five failures from an address is locked out from that
address, for one second first and for up to five minutes in the end; from other addresses it is not. All loopback addresses count as
one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if door.maxConnections < 1 || door.maxConnections > mostConnections {
				return usagef("--max-connections %d: must be 1 to %d", door.maxConnections, mostConnections)
			}
			if err := memory.check(); err != nil {
				return err
			}
			door.tlsGiven = cmd.Flags().Changed(flagRequireTLS)
			return a.dev(cmd.Context(), listen, data, password, door, memory)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:1433", "address to listen on; loopback unless told otherwise")
	cmd.Flags().StringVar(&data, "data", "", "`directory` of the databases; made when it is missing (default: a temporary one)")
	cmd.Flags().StringVar(&password, "sa-password", "", "password of the login sa, for all users of the machine to read; "+envSAPassword+" keeps it from them")
	cmd.Flags().IntVar(&door.maxConnections, "max-connections", 1000, "how many clients may be logged in at once")
	addMaxMemory(cmd, &memory)
	cmd.Flags().BoolVar(&door.requireTLS, flagRequireTLS, false, "refuse clients that do not use TLS (default: true if --listen is not a loopback address)")
	return cmd
}

// flagRequireTLS is the flag of that name.
const flagRequireTLS = "require-tls"

// mostConnections is SQL Server's limit of user connections.
const mostConnections = 32767

// devDoor says whom `jobagent dev` lets in.
type devDoor struct {
	maxConnections int
	requireTLS     bool
	tlsGiven       bool // requireTLS was written out
}

// option makes it an option of the server.
func (d devDoor) option(cfg *embeddedConfig) {
	cfg.inProcess = true
	cfg.MaxConnections = d.maxConnections
	if d.tlsGiven {
		cfg.RequireTLS = d.requireTLS
	}
}

// dev is `jobagent dev`.
func (a *app) dev(ctx context.Context, listen, data, password string, door devDoor, memory memorySize) (err error) {
	log, err := a.logger()
	if err != nil {
		return err
	}
	if data == "" {
		if data, err = os.MkdirTemp("", "jobagent-dev-"); err != nil {
			return fmt.Errorf("make a directory for the data: %w", err)
		}
		defer os.RemoveAll(data)
	} else if err := os.MkdirAll(data, 0o700); err != nil {
		return usagef("data directory: %w", err)
	}
	if password == "" {
		password = os.Getenv(envSAPassword)
	}
	if password == "" {
		if password, err = keptText(data, passwordFile, randomPassword); err != nil {
			return fmt.Errorf("keep the password of sa: %w", err)
		}
		log.Info("password of sa is in a file", zap.String("file", filepath.Join(data, passwordFile)))
	}
	idText, err := keptText(data, agentIDFile, uuid.NewString)
	if err != nil {
		return fmt.Errorf("keep the agent's id: %w", err)
	}
	agentID, err := uuid.Parse(idText)
	if err != nil {
		return usagef("%s holds no GUID; delete it", filepath.Join(data, agentIDFile))
	}

	targetPassword := randomPassword()
	if err := replaceFile(filepath.Join(data, targetPasswordFile), []byte(targetPassword+"\n")); err != nil {
		return fmt.Errorf("keep the password of %s: %w", targetLogin, err)
	}
	certificate, err := keptCertificate(data, listen)
	if err != nil {
		return fmt.Errorf("keep the server's certificate: %w", err)
	}
	shown, err := filepath.Abs(filepath.Join(data, certificateFile))
	if err != nil {
		return err
	}
	server, err := startEmbedded(ctx, filepath.Join(data, "databases"), listen, password, "true", log, door.option, memory.option, func(cfg *embeddedConfig) {
		cfg.Certificate, cfg.certificateFile, cfg.targetPassword = certificate, shown, targetPassword
	})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.close(); err == nil {
			err = closeErr
		}
	}()
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	server.reach = cfg.encryption()
	server.reach.AllowControlDatabase = cfg.Targets.AllowControlDatabase
	further, err := configuredCredentials(cfg)
	if err != nil {
		return err
	}
	if err := server.writeConfig(data); err != nil {
		return fmt.Errorf("write %s: %w", configFile, err)
	}
	servers, err := server.openServers(ctx, further...)
	if err != nil {
		return err
	}
	defer servers.Close()
	if err := a.warnWeak(servers.Weaknesses()); err != nil {
		return err
	}
	tools, err := newTools(ctx, server.store, servers)
	if err != nil {
		return err
	}
	stopAgent, agentFailed := background(ctx, agent.Config{AgentID: agentID, Version: version()}, server.store, tools, log)
	defer func() {
		if stopErr := stopAgent(); err == nil {
			err = stopErr
		}
	}()
	if err := a.printReady(server); err != nil {
		return err
	}
	return server.wait(ctx, agentFailed)
}

// printReady prints the line that says where the server is.
func (a *app) printReady(server *embedded) error {
	if a.output == formatJSON {
		return json.NewEncoder(a.stdout).Encode(struct {
			Address           string `json:"address"`
			ControlDatabase   string `json:"control_database"`
			Certificate       string `json:"certificate"` // its file
			CertificateSHA256 string `json:"certificate_sha256"`
		}{server.address, controlDatabase, server.certificateFile, mssql.CertificatePin(server.certificate)})
	}
	_, err := fmt.Fprintf(a.stdout, "ready %s\n", server.url(controlDatabase))
	return err
}

// configuredCredentials are the credentials of the configuration file.
func configuredCredentials(cfg fileConfig) ([]mssql.Credential, error) {
	var list []mssql.Credential
	for _, c := range cfg.Credentials {
		credential, err := c.credential()
		if err != nil {
			return nil, err
		}
		list = append(list, credential)
	}
	return list, nil
}
