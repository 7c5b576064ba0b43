package context

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// settings are the flags of add and update.
type settings struct {
	server, database, user, passwordRef, auth, encrypt, pin, color string
	production, use, replace                                       bool
}

// refKeyring is the value of --password-ref that stores a password in the keyring.
const refKeyring = "keyring"

// declare declares the flags.
func (s *settings) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.server, "server", "", `server: host, host,port or host\instance`)
	flags.StringVar(&s.database, "database", "", "control database")
	flags.StringVar(&s.user, "user", "", "login; the client id of an identity with --auth")
	flags.StringVar(&s.passwordRef, "password-ref", "",
		"where the password is: `env:NAME|file:PATH|keyring|prompt`; keyring asks for it, or reads it from standard input, and stores it; prompt asks at each command")
	flags.StringVar(&s.auth, "auth", "", "log in with a Windows account or Microsoft Entra ID: `"+strings.Join(contexts.AuthNames, "|")+"` (default: a login of the server)")
	flags.StringVar(&s.encrypt, "encrypt", "", "encryption: true, strict or disable (default true)")
	flags.StringVar(&s.pin, "certificate-sha256", "", "accept the server's certificate with this `hash` only")
	flags.BoolVar(&s.production, "production", false, "commands that change something say where they do, and those that ask want --yes where nobody can be asked")
	flags.StringVar(&s.color, "prompt-color", "", "colour of the context: `"+strings.Join(contexts.Colors, "|")+"` (default: red for production)")
	flags.BoolVar(&s.use, "use", false, "make it the current context")
}

const addLong = `A connection string (--dsn, or a reference such as env:NAME) is taken apart; flags precede its parts. A password in it
goes to the keyring of the operating system unless --password-ref says where the password is. --config names the
configuration file of the context.`

func newAddCommand(a *connect.App) *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "add CONTEXT", Short: "Add a context", Args: cobra.ExactArgs(1),
		Long: "Add a context.\n\n" + addLong,
		Example: "  jobagent context add dev --dsn env:JOBAGENT_DSN --use\n" +
			"  jobagent context add prod --server sql1.example.com --database jobs --user deploy --password-ref keyring --production\n" +
			"  jobagent context add ci --server sql1,1433 --database jobs --user ci --password-ref env:SQL_PASSWORD\n" +
			"  jobagent context add azure --server x.database.windows.net --database jobs --auth entra",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := contexts.CheckName(args[0]); err != nil {
				return err
			}
			return save(cmd, a, s, args[0], false)
		},
	}
	s.declare(cmd)
	cmd.Flags().BoolVar(&s.replace, "replace", false, "replace a context of the same name")
	return cmd
}

func newUpdateCommand(a *connect.App) *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "update CONTEXT", Short: "Change what flags name of a context", Args: cobra.ExactArgs(1),
		Long:    "Change what flags name of a context; the rest stays.\n\n" + addLong,
		Example: "  jobagent context update prod --password-ref keyring\n  jobagent context update staging --production=false --prompt-color yellow",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.LocalNonPersistentFlags().Changed("use") || anyChanged(cmd) || a.DSN != "" || a.ConfigPath != "" {
				return save(cmd, a, s, args[0], true)
			}
			return exit.Usagef("nothing to change: give a flag, such as --database; see %s --help", cmd.CommandPath())
		},
	}
	s.declare(cmd)
	return cmd
}

// anyChanged reports whether a flag of a context was given.
func anyChanged(cmd *cobra.Command) bool {
	for _, name := range []string{"server", "database", "user", "password-ref", "auth", "encrypt", "certificate-sha256", "production", "prompt-color"} {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// save adds or changes a context. The keyring is asked before the file is locked, because it may
// take long; if the file cannot be written, what was stored is removed again.
func save(cmd *cobra.Command, a *connect.App, s settings, name string, update bool) error {
	f, err := contexts.Read()
	if err != nil {
		return err
	}
	before, err := f.Get(name)
	if update && err != nil {
		return err
	}
	if !update && !s.replace && err == nil {
		return f.Put(before, false) // the error
	}
	var base contexts.Context
	if update {
		base = before
	}
	base.Name = name
	c, password, err := s.merge(cmd, &a.Settings, base)
	if err != nil {
		return err
	}
	c, err = keep(cmd.Context(), a, c, password, s.passwordRef)
	if err != nil {
		return err
	}
	stored := strings.HasPrefix(c.Password, refKeyring+":") && c.Password != before.Password
	var old contexts.Context
	err = contexts.Update(func(f *contexts.File) error {
		old, _ = f.Get(name)
		if !reflect.DeepEqual(old, before) { // its password in the keyring may be gone
			return exit.With(exit.CodeConflict, fmt.Errorf("context %s was changed meanwhile: repeat the command", name))
		}
		if err := f.Put(c, update || s.replace); err != nil {
			return err
		}
		if s.use {
			f.Current = c.Name
		}
		return nil
	})
	if err != nil {
		if stored {
			err = errors.Join(err, a.Secrets().Forget(context.WithoutCancel(cmd.Context()), c))
		}
		return err
	}
	if old.Password != c.Password {
		if err := a.Secrets().Forget(cmd.Context(), old); err != nil {
			if err := a.Warn([]string{"the earlier password may still be in the keyring: " + err.Error()}); err != nil {
				return err
			}
		}
	}
	a.WarnPassword()
	what := "added"
	if old.Name != "" {
		what = "changed"
	}
	next := "; jobagent context use " + c.Name + " makes it the current one"
	if s.use {
		next = "; it is the current one"
	} else if strings.EqualFold(f.Current, c.Name) {
		next = ""
	}
	return a.Done(output.ContextName{Name: c.Name}, "%s context %s: %s%s", what, c.Name, c.Place(), next)
}

// merge returns a context with the connection string and the flags of the command line, and the
// password of the connection string.
func (s settings) merge(cmd *cobra.Command, a *connect.Settings, c contexts.Context) (contexts.Context, string, error) {
	password := ""
	if a.DSN != "" {
		text, err := config.Resolve(a.DSN)
		if err != nil {
			return c, "", err
		}
		parts, secret, err := contexts.FromDSN(text)
		if err != nil {
			return c, "", err
		}
		parts.Name, parts.Password, parts.Config, parts.Production, parts.Color = c.Name, c.Password, c.Config, c.Production, c.Color
		if parts.User != c.User {
			parts.Password = ""
		}
		c, password = parts, secret
	}
	for _, text := range []struct {
		flag  string
		value string
		field *string
	}{
		{"server", s.server, &c.Server}, {"database", s.database, &c.Database}, {"user", s.user, &c.User}, {"auth", s.auth, &c.Auth},
		{"encrypt", s.encrypt, &c.Encrypt}, {"certificate-sha256", s.pin, &c.CertificateSHA256}, {"prompt-color", s.color, &c.Color},
	} {
		if cmd.Flags().Changed(text.flag) {
			*text.field = text.value
		}
	}
	if cmd.Flags().Changed("production") {
		c.Production = s.production
	}
	if a.ConfigPath != "" {
		if _, err := config.Read(a.ConfigPath); err != nil {
			return c, "", err
		}
		c.Config = a.ConfigPath
	}
	if s.passwordRef != "" && s.passwordRef != refKeyring {
		c.Password, password = s.passwordRef, ""
	}
	c, err := c.Normalize()
	return c, password, err
}

// keep stores a new password in the keyring, and returns the context with the reference to it.
func keep(ctx context.Context, a *connect.App, c contexts.Context, password, ref string) (contexts.Context, error) {
	if password == "" && ref != refKeyring {
		return c, nil
	}
	if c.User == "" {
		return c, exit.Usagef("a password needs a user: give --user")
	}
	draft := c
	draft.Password = contexts.RefPrompt
	if err := new(contexts.File).Put(draft, false); err != nil { // before a person types a password
		return c, err
	}
	if password == "" {
		var err error
		if password, err = readPassword(ctx, a, c); err != nil {
			return c, err
		}
	}
	stored, err := a.Secrets().Store(ctx, c.Name, password)
	if errors.Is(err, contexts.ErrNoKeyring) {
		return c, exit.Usagef("the password cannot be stored: %w; give --password-ref file:PATH or env:NAME, which say where the password is, or prompt", err)
	}
	c.Password = stored
	return c, err
}

// readPassword asks at a terminal, or reads the first line of standard input.
func readPassword(ctx context.Context, a *connect.App, c contexts.Context) (string, error) {
	password := ""
	if terminal.IsInput(a.Stdin) {
		text, err := terminal.ReadPassword(ctx, a.Stdin, a.Stderr, fmt.Sprintf("password of %s on %s: ", c.User, c.Server))
		if err != nil {
			return "", err
		}
		password = text
	} else {
		const longest = 4096
		line, err := bufio.NewReader(io.LimitReader(a.Stdin, longest)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", exit.Usagef("read the password from standard input: %w", err)
		}
		password = strings.TrimRight(line, "\r\n")
	}
	if password == "" {
		return "", exit.Usagef("the password is empty")
	}
	return password, nil
}
