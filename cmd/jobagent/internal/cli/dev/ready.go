package dev

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/targets/mssql"
)

// printReady tells how to reach the server: a program, which waits for the first line, without the
// password; a person at a terminal in lines that can be pasted, with the password.
func printReady(p *output.Printer, server *embedded.Server, f *front.Front, data string, kept bool) error {
	tokenFile, err := filepath.Abs(filepath.Join(data, RESTTokenFile))
	if err != nil {
		return err
	}
	if p.Structured() {
		ready := output.Ready{
			Address: server.Address, ControlDatabase: embedded.ControlDatabase,
			Certificate: server.CertificateFile, CertificateSHA256: mssql.CertificatePin(server.Certificate),
		}
		if f != nil {
			ready.REST, ready.RESTTokenFile, ready.Dashboard = f.PublicURL(), tokenFile, f.Dashboard()
		}
		if p.Format == output.FormatJSON && p.Query.String() == "" { // one line, for which programs wait
			return json.NewEncoder(p.Stdout).Encode(ready)
		}
		return p.Emit(ready, nil)
	}
	person := terminal.Is(p.Stderr)
	if !person || !terminal.Is(p.Stdout) {
		if _, err := fmt.Fprintf(p.Stdout, "ready %s\n", server.URL(embedded.ControlDatabase)); err != nil {
			return err
		}
		if f != nil {
			if _, err := fmt.Fprintf(p.Stdout, "rest %s (certificate %s, token of an administrator in %s)\ndashboard %s (sign in with this token)\n",
				f.PublicURL(), server.CertificateFile, tokenFile, f.Dashboard()); err != nil {
				return err
			}
		}
	}
	if !person {
		return nil
	}
	page := welcome{server: server.Address, name: server.ServerName(), dsn: pasteable(server), password: server.Password}
	if f != nil {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return fmt.Errorf("read the token of the REST server: %w", err)
		}
		page.dashboard, page.tokenFile = f.Dashboard(), tokenFile
		page.link = f.SignInLink(strings.TrimSpace(string(token)), linkLasts)
	}
	if kept {
		if page.data, err = filepath.Abs(data); err != nil {
			return err
		}
	}
	return page.print(p.Stderr)
}

// pasteable returns the connection string with the password.
func pasteable(server *embedded.Server) string {
	u := server.URL(embedded.ControlDatabase)
	u.User = url.UserPassword("sa", server.Password)
	u.RawQuery = strings.ReplaceAll(u.RawQuery, "%2F", "/") // easier to read, and the same
	return u.String()
}

// welcome is what a person reads when the server is ready.
type welcome struct {
	server, name, dsn, password string
	dashboard, link, tokenFile  string // empty: no front
	data                        string // empty: nothing is kept
}

// print prints plain lines of which each command can be pasted.
func (p welcome) print(w io.Writer) error {
	var b strings.Builder
	line := strings.Repeat("─", 78)
	fmt.Fprintf(&b, "\n%s\n", line)
	fmt.Fprintf(&b, "jobagent dev is ready on %s", p.name)
	if p.data != "" {
		fmt.Fprintf(&b, "; its data stay in %s", p.data)
	} else {
		b.WriteString("; its data end with it (--data DIR keeps them)")
	}
	b.WriteString(". Ctrl-C ends it.\n")
	if p.dashboard != "" {
		fmt.Fprintf(&b, "\nDashboard:  %s\n  sign in once, within %.0f minutes:  %s\n  sign in later with the token in  %s\n",
			p.dashboard, linkLasts.Minutes(), p.link, p.tokenFile)
	}
	fmt.Fprintf(&b, "\nIn another terminal:\n  %s\n", embedded.Export(config.EnvDSN, p.dsn))
	if p.data != "" {
		fmt.Fprintf(&b, "  %s\n", embedded.Export(config.EnvConfig, filepath.Join(p.data, embedded.ConfigFile)))
	}
	b.WriteString("  jobagent job list\n")
	if p.data != "" {
		fmt.Fprintf(&b, "\nTo keep this connection for other terminals, once:\n  jobagent context add dev --dsn env:%s --password-ref %s --config %s --use\n",
			config.EnvDSN, embedded.Quote("file:"+filepath.Join(p.data, passwordFile)), embedded.Quote(filepath.Join(p.data, embedded.ConfigFile)))
	}
	fmt.Fprintf(&b, "\nWith sqlcmd:\n  %s\n", embedded.Sqlcmd(p.name, embedded.ControlDatabase, p.password))
	fmt.Fprintf(&b, "%s\n\n", line)
	_, err := io.WriteString(w, b.String())
	return err
}
