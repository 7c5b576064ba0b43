// Package context has the commands that keep connections to control databases by name.
package context

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// NewCommand returns `jobagent context`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("context", "Keep connections to control databases by name",
		a.Prints(output.ContextName{}, newAddCommand(a)),
		a.Prints(output.ContextName{}, newUpdateCommand(a)),
		a.Prints(output.ContextName{}, newUseCommand(a)),
		a.Prints(output.ContextName{}, newCurrentCommand(a)),
		newListCommand(&a.Printer),
		a.PrintsWith("--effective", output.EffectiveConnection{}, a.Prints(output.Context{}, newShowCommand(a))),
		a.Prints(output.ContextTest{}, newTestCommand(a)),
		a.Prints(output.ContextName{}, newRenameCommand(&a.Printer)),
		a.Prints(output.ContextName{}, newRemoveCommand(a)),
		newPromptCommand(a),
	)
	cmd.Long = `Keep connections to control databases by name.

A command uses the first control database that it finds: --dsn, --context, ` + connect.SourceEnv + `, ` + contexts.EnvContext + `, dsn in
the configuration file, the current context. "jobagent context show --effective" says which one that is.

The contexts are in a file that only its owner can read or write: contexts.yaml in the directory jobagent of the
user's configuration directory, or what ` + contexts.EnvFile + ` names. It has no passwords. A password is in the keyring of the
operating system, or the context has a reference to it, or a person is asked.

In a context for production, commands that change something say so on standard error. Those that ask
before they do, such as job delete, want --yes where nobody can be asked.`
	return cmd
}

// view converts a context for -o json.
func view(c contexts.Context, current string) output.Context {
	var parameters []output.ContextParameter
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		parameters = append(parameters, output.ContextParameter{Name: name, Value: c.Parameters[name]})
	}
	return output.Context{
		Name: c.Name, Current: strings.EqualFold(c.Name, current), Server: c.Server, Database: c.Database, Auth: c.Auth, User: c.User,
		Password: c.PasswordKind(), Encrypt: c.Encrypt, CertificateSHA256: c.CertificateSHA256, Parameters: parameters,
		Config: c.Config, Production: c.Production, Color: c.Shade(),
	}
}

func newUseCommand(a *connect.App) *cobra.Command {
	var none bool
	cmd := &cobra.Command{
		Use: "use [CONTEXT]", Short: "Make a context the current one", Args: cobra.MaximumNArgs(1),
		Example: "  jobagent context use staging\n  jobagent context use --none",
		RunE: func(_ *cobra.Command, args []string) error {
			if none == (len(args) == 1) {
				return exit.Usagef("give the name of a context, or --none")
			}
			name := ""
			err := contexts.Update(func(f *contexts.File) error {
				if !none {
					c, err := f.Get(args[0])
					if err != nil {
						return err
					}
					name = c.Name
				}
				f.Current = name
				return nil
			})
			if err != nil {
				return err
			}
			if err := warnOverridden(a); err != nil {
				return err
			}
			if none {
				return a.Done(output.ContextName{}, "there is no current context")
			}
			return a.Done(output.ContextName{Name: name}, "%s is the current context", name)
		},
	}
	cmd.Flags().BoolVar(&none, "none", false, "have no current context")
	return cmd
}

// warnOverridden warns if something precedes the current context.
func warnOverridden(a *connect.App) error {
	c, err := a.Connection()
	if err != nil || c.Source == "" || c.Source == connect.SourceCurrentContext {
		return nil //nolint:nilerr // the change was made
	}
	return a.Warn([]string{c.Source + " precedes the current context"})
}

func newCurrentCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "current", Short: "Print the name of the current context", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f, err := contexts.Read()
			if err != nil {
				return err
			}
			if f.Current == "" {
				return exit.With(exit.CodeNotFound, fmt.Errorf("there is no current context; jobagent context use chooses one"))
			}
			if err := warnOverridden(a); err != nil {
				return err
			}
			return a.Done(output.ContextName{Name: f.Current}, "%s", f.Current)
		},
	}
}

func newListCommand(p *output.Printer) *cobra.Command {
	return command.List(p, listing, &cobra.Command{
		Use: "list", Short: "List the contexts", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f, err := contexts.Read()
			if err != nil {
				return err
			}
			slices.SortFunc(f.Contexts, func(x, y contexts.Context) int { return strings.Compare(x.Name, y.Name) })
			return output.List(p, output.Each(f.Contexts, func(c contexts.Context) output.Context { return view(c, f.Current) }), listing)
		},
	})
}

// listing has the columns of the list.
var listing = output.Columns([]output.Column[output.Context]{
	{Name: "current", Text: func(c output.Context) string { return mark(c.Current, "*") }},
	{Name: "name", ID: true, Keep: true},
	{Name: "server", Min: 16},
	{Name: "database", Min: 8},
	{Name: "user", Min: 8},
	{Name: "password", Min: 8},
	{Name: "production", Text: func(c output.Context) string { return mark(c.Production, "yes") }},
	{Name: "config", Wide: true, Min: 12},
})

// mark returns a sign for true.
func mark(is bool, sign string) string {
	if is {
		return sign
	}
	return ""
}

func newRenameCommand(p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use: "rename CONTEXT NEW_NAME", Short: "Rename a context", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := contexts.Update(func(f *contexts.File) error { return f.Rename(args[0], args[1]) }); err != nil {
				return err
			}
			return p.Done(output.ContextName{Name: args[1]}, "renamed context %s to %s", args[0], args[1])
		},
	}
}

func newRemoveCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "rm CONTEXT", Aliases: []string{"remove", "delete"}, Short: "Remove a context, and its password from the keyring", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var removed contexts.Context
			current := false
			err := contexts.Update(func(f *contexts.File) (err error) {
				was := f.Current
				removed, err = f.Remove(args[0])
				current = was != f.Current
				return err
			})
			if err != nil {
				return err
			}
			if err := a.Secrets().Forget(cmd.Context(), removed); err != nil {
				if err := a.Warn([]string{"the password may still be in the keyring: " + err.Error()}); err != nil {
					return err
				}
			}
			note := ""
			if current {
				note = "; there is no current context now"
			}
			return a.Done(output.ContextName{Name: removed.Name}, "removed context %s%s", removed.Name, note)
		},
	}
}
