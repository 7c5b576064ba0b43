// Package doctor has the command that examines the control database, credentials and targets.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/targets/mssql"
)

// NewCommand returns `jobagent doctor`.
func NewCommand(a *connect.App) *cobra.Command {
	var group, credential string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the control database and suggest remedies; changes nothing",
		Long: `Check the control database and suggest remedies. Nothing is changed.

The checks cover server, database, schema, clocks, space, history and agents. Each right that an
agent needs is tried with the login of the connection string, so use the agent's configuration. Each
credential of targets is tried on the control database, which must refuse it. The settings of
actions in the configuration file are checked without connecting. With --targets, the databases of a
target group are tried from this machine, with the credentials of the configuration.

Run the suggested T-SQL in a session with QUOTED_IDENTIFIER ON, which SSMS has and sqlcmd needs -I for:
SQL Server changes tables with filtered indexes in no other session.

The exit code is 0 if all checks pass, and 7 if there is a warning or an error.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			store, err := a.OpenStore(ctx)
			if err != nil {
				return err
			}
			defer store.Close()
			found, err := doctor.On(store).Examine(ctx)
			if err != nil {
				return err
			}
			encryption, err := examineEncryption(ctx, &a.Settings)
			if err != nil {
				return err
			}
			found = append(found, encryption...)
			actions, err := examineActions(&a.Settings)
			if err != nil {
				return err
			}
			found = append(found, actions...)
			more, err := examineCredentials(ctx, a, store)
			if err != nil {
				return err
			}
			found = append(found, more...)
			if group != "" {
				more, err := examineTargets(ctx, &a.Connections, store, group, credential)
				if err != nil {
					return err
				}
				found = append(found, more...)
			}
			if err := emitFindings(&a.Printer, found); err != nil {
				return err
			}
			if doctor.Worst(found) != doctor.SeverityOK {
				return exit.With(exit.CodeRunFailed, nil)
			}
			return nil
		},
	}
	a.Target.Add(cmd)
	cmd.Flags().StringVar(&group, "targets", "", "target `group` whose databases are tried too")
	cmd.Flags().StringVar(&credential, "credential", "",
		"with --targets: credential of the steps (default: the default credential)")
	return command.List(&a.Printer, columns, cmd)
}

// emitFindings prints all findings as a table, and then the remedy of each warning and error.
func emitFindings(p *output.Printer, found []doctor.Finding) error {
	if err := output.List(p, found, columns); err != nil || !p.Text() {
		return err
	}
	for _, f := range found {
		if f.Severity == doctor.SeverityOK {
			continue
		}
		fix := strings.ReplaceAll(f.Fix(), "\n", "\n    ")
		if _, err := fmt.Fprintf(p.Stdout, "\n%s: %s: %s\n    %s\n", f.Severity, f.Found, f.Why, fix); err != nil {
			return err
		}
	}
	return nil
}

// columns are those of doctor.
var columns = output.Columns([]output.Column[doctor.Finding]{
	{Name: "severity", State: true, Keep: true},
	{Name: "code", Header: "CHECK", ID: true, Keep: true},
	{Name: "found", Header: "RESULT", Min: 20, Rest: true, Wrap: true, Keep: true},
})

// CodeEncryption is the code of findings about encryption.
const CodeEncryption = "encryption"

// examineEncryption looks for encryption settings that allow a third party to read or change a
// connection's data: those of the control database and those of targets in the configuration file.
func examineEncryption(ctx context.Context, s *connect.Settings) ([]doctor.Finding, error) {
	dsn, err := s.ParsedControlDSN(ctx)
	if err != nil {
		return nil, err
	}
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	servers, err := mssql.NewServers(cfg.Encryption())
	if err != nil {
		return nil, exit.Usage(err)
	}
	defer servers.Close()
	var found []doctor.Finding
	for what, list := range map[string][]mssql.Weakness{"the control database's server": dsn.Weaknesses(),
		"targets": servers.Weaknesses()} {
		for _, w := range list {
			found = append(found, doctor.Finding{
				Code: CodeEncryption, Severity: doctor.SeverityWarning,
				Found: fmt.Sprintf("%s for %s (%s)", w.Setting, what, w.Servers), Why: w.Text, Command: fixEncryption(w),
			})
		}
	}
	slices.SortFunc(found, func(x, y doctor.Finding) int { return strings.Compare(x.Found, y.Found) })
	if len(found) > 0 {
		return found, nil
	}
	text := "connections are encrypted, and servers are verified"
	if dsn.Encryption.Plain() {
		text = "connections to the control database are not encrypted, but do not leave this machine; connections to targets are encrypted, and servers are verified"
	}
	return []doctor.Finding{{Code: CodeEncryption, Severity: doctor.SeverityOK, Found: text}}, nil
}

// fixEncryption returns the remedy for a weak setting.
func fixEncryption(w mssql.Weakness) string {
	if w.Setting == "encrypt=disable" {
		return "install a certificate on the server, and remove " + w.Setting
	}
	return "pin the server's certificate (README, Encryption) or trust its authority on this machine, and remove " +
		w.Setting
}
