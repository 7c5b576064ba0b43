package context

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
)

func newShowCommand(a *connect.App) *cobra.Command {
	var effective bool
	cmd := &cobra.Command{
		Use: "show [CONTEXT]", Short: "Show a context, or what chooses the control database", Args: cobra.MaximumNArgs(1),
		Long: `Show a context; without CONTEXT, the current one. With --effective, show the control database that commands use and what
chooses it. Passwords are never shown.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if effective {
				if len(args) > 0 {
					return exit.Usagef("--effective shows what commands use: remove the name, or add --context %s", args[0])
				}
				return showEffective(a)
			}
			f, err := contexts.Read()
			if err != nil {
				return err
			}
			name := f.Current
			if len(args) > 0 {
				name = args[0]
			} else if name = cmp.Or(a.ContextName, name); name == "" {
				return exit.With(exit.CodeNotFound, errors.New("there is no current context; jobagent context use chooses one"))
			}
			c, err := f.Get(name)
			if err != nil {
				return err
			}
			return a.Emit(view(c, f.Current), func(w io.Writer) error { return showContext(w, view(c, f.Current)) })
		},
	}
	cmd.Flags().BoolVar(&effective, "effective", false, "show the control database that commands use, and what chooses it")
	return cmd
}

// showContext prints a context in lines.
func showContext(w io.Writer, c output.Context) error {
	lines := [][2]string{
		{"name", c.Name}, {"server", c.Server}, {"database", c.Database}, {"auth", c.Auth}, {"user", c.User},
		{"password", c.Password}, {"encrypt", cmp.Or(c.Encrypt, "true")}, {"certificate_sha256", c.CertificateSHA256},
	}
	for _, p := range c.Parameters {
		lines = append(lines, [2]string{p.Name, p.Value})
	}
	lines = append(lines, [2]string{"config", c.Config}, [2]string{"production", mark(c.Production, "yes")}, [2]string{"color", c.Color})
	return printLines(w, lines)
}

// printLines prints names and values; lines without a value are left out.
func printLines(w io.Writer, lines [][2]string) error {
	for _, line := range lines {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-20s%s\n", line[0], output.OneLine(line[1])); err != nil {
			return err
		}
	}
	return nil
}

// showEffective shows what chooses the control database.
func showEffective(a *connect.App) error {
	e, err := effective(&a.Settings)
	if err != nil {
		return err
	}
	return a.Emit(e, func(w io.Writer) error {
		from := "no control database"
		if e.Source != "none" {
			from = "control database from " + e.Source
		}
		if e.Context != "" {
			from += ", context " + e.Context
		}
		if _, err := fmt.Fprintln(w, from); err != nil {
			return err
		}
		config := e.Config
		if e.ConfigSource != "" {
			config += " (from " + e.ConfigSource + ")"
		}
		return printLines(w, [][2]string{
			{"server", e.Server}, {"database", e.Database}, {"user", e.User}, {"production", mark(e.Production, "yes")}, {"configuration file", config},
		})
	})
}

// effective returns what chooses the control database, without a password.
func effective(s *connect.Settings) (output.EffectiveConnection, error) {
	var e output.EffectiveConnection
	c, err := s.Connection()
	if err != nil {
		return e, err
	}
	e.Source = cmp.Or(c.Source, "none")
	if e.Config, e.ConfigSource, err = s.ConfigFile(); err != nil || c.Source == "" {
		return e, err
	}
	if c.Context != nil {
		e.Context, e.Server, e.Database, e.User, e.Production = c.Context.Name, c.Context.Server, c.Context.Database, c.Context.User, c.Context.Production
		return e, nil
	}
	text, err := c.DSN()
	if err != nil {
		return e, err
	}
	parts, _, err := contexts.FromDSN(text)
	if err != nil {
		return e, err
	}
	e.Server, e.Database, e.User = parts.Server, parts.Database, parts.User
	return e, nil
}

func newTestCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "test [CONTEXT]", Short: "Connect, and show the server, the login, its roles and the latency", Args: cobra.MaximumNArgs(1),
		Long: "Connect to the control database of a context, or to the one that commands use, and show what answers.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if a.DSN != "" || a.ContextName != "" {
					return exit.Usagef("give CONTEXT, --context or --dsn, only one of them")
				}
				a.ContextName = args[0]
			}
			return test(cmd, a)
		},
	}
}

// test implements `jobagent context test`.
func test(cmd *cobra.Command, a *connect.App) error {
	ctx := cmd.Context()
	e, err := effective(&a.Settings)
	if err != nil {
		return err
	}
	began := time.Now()
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	t := output.ContextTest{Context: e.Context, Source: e.Source, Server: e.Server, Database: e.Database, ConnectMS: milliseconds(time.Since(began))}
	login, err := store.Login(ctx)
	if err != nil {
		return err
	}
	t.ServerVersion, t.Edition, t.Login, t.User, t.Roles = login.ServerVersion, login.Edition, login.Login, login.User, append([]string{}, login.Roles...)
	const trips = 5
	fastest := time.Duration(0)
	for range trips {
		began := time.Now()
		if err := store.Ping(ctx); err != nil {
			return err
		}
		if took := time.Since(began); fastest == 0 || took < fastest {
			fastest = took
		}
	}
	t.RoundTripMS = milliseconds(fastest)
	other, schemaErr := installed.On(store).CheckProtocol(ctx)
	switch {
	case schemaErr == nil && other == nil:
		t.SchemaVersion = "the one of this program"
	case schemaErr == nil:
		t.SchemaVersion = "of another version, supported"
	case errors.Is(schemaErr, dberror.ErrVersionHidden):
		t.SchemaVersion, schemaErr = "hidden from this login", nil
	default:
		t.SchemaVersion = output.OneLine(schemaErr.Error())
	}
	return errors.Join(a.Emit(t, func(w io.Writer) error {
		return printLines(w, [][2]string{
			{"context", t.Context}, {"control database", fmt.Sprintf("%s on %s (from %s)", t.Database, t.Server, t.Source)},
			{"SQL Server", t.ServerVersion + ", " + t.Edition}, {"schema", t.SchemaVersion},
			{"login", t.Login + " (user " + t.User + ")"}, {"roles", cmp.Or(strings.Join(t.Roles, ", "), "none: jobagent db grants shows how to get one")},
			{"latency", fmt.Sprintf("%.2f ms; connection and login %.0f ms", t.RoundTripMS, t.ConnectMS)},
		})
	}), schemaErr)
}

// milliseconds returns a duration with three digits after the point.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// escape matches the control sequences of colours.
var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

func newPromptCommand(a *connect.App) *cobra.Command {
	shell := ""
	cmd := &cobra.Command{
		Use: "prompt", Short: "Print the context for the prompt of a shell", Args: cobra.NoArgs,
		Long: `Print the name of the context that commands use, in its colour, for the prompt of a shell; nothing if there is none. Where
something else gives the control database, print its name, such as ` + connect.SourceEnv + `. The command connects to nothing and
never fails.`,
		Example: "  PS1='$(jobagent context prompt --shell bash) \\w \\$ '                      # bash\n" +
			"  setopt PROMPT_SUBST; PROMPT='$(jobagent context prompt --shell zsh) %~ %# '  # zsh\n" +
			"  function fish_right_prompt; jobagent context prompt; end                  # fish",
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains([]string{"", "bash", "zsh"}, shell) {
				return exit.Usagef("invalid shell %q: want bash or zsh; others need no --shell", shell)
			}
			text := promptText(a, shell)
			_, err := io.WriteString(a.Stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&shell, "shell", "", "mark colours as the shell wants it: `bash|zsh`")
	return cmd
}

func promptText(a *connect.App, shell string) string {
	c, err := a.Connection()
	switch {
	case err != nil:
		return "(no context)"
	case c.Source == "":
		return ""
	case c.Context == nil:
		return strings.TrimPrefix(c.Source, "the ")
	}
	painter := terminal.Painter{Plain: a.Color == terminal.ColorNever || a.Color != terminal.ColorAlways && terminal.NoColor()}
	text := connect.PaintContext(painter, *c.Context, c.Context.Name)
	switch shell { // the widths of a prompt would be wrong without marks
	case "bash":
		return escape.ReplaceAllString(text, "\x01$0\x02")
	case "zsh":
		return escape.ReplaceAllString(text, "%{$0%}")
	}
	return text
}
