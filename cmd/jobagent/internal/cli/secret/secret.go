// Package secret has the commands for sealed secrets.
package secret

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets/secretref"
)

// NewCommand returns `jobagent secret`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("secret", "Manage the secrets that actions name as $(secret.NAME)",
		newSetCommand(a), newListCommand(a), newDeleteCommand(a))
	cmd.Long = `Manage the secrets that actions name as $(secret.NAME).

A secret is sealed on this machine for the keys of agents (jobagent key); the control database never sees its value,
and cannot give it back. A secret of the same name in an agent's configuration takes precedence.`
	return cmd
}

func newSetCommand(a *connect.App) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "set NAME", Args: cobra.ExactArgs(1),
		Short: "Set a secret to a value from standard input or --from",
		Long: `Set a secret. The value is standard input without one line end, or what --from names. It cannot be an argument,
because other users of the machine can read the arguments of processes.`,
		Example: "  jobagent secret set api < token.txt\n  jobagent secret set api --from env:API_TOKEN",
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := readValue(a.Stdin, from)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				// Another session may add a key or set the secret meanwhile; then the value is
				// sealed again.
				for tries := 1; ; tries++ {
					stored, err := set(cmd, store, args[0], value)
					again := errors.Is(err, controldb.ErrSecretKeysChanged) ||
						errors.Is(err, controldb.ErrSecretChanged)
					switch {
					case err == nil:
						return a.Done(stored, "secret %s has version %d, sealed for %d keys",
							stored.Name, stored.Version, stored.Keys)
					case !again || tries == 3:
						return err
					}
				}
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`env:NAME|file:PATH` of the value (default: standard input)")
	return cmd
}

// readValue reads the value of a secret.
func readValue(stdin io.Reader, from string) (string, error) {
	if from != "" {
		if !secretref.IsReference(from) {
			return "", exit.Usagef("invalid --from: %w", secretref.ErrInvalid)
		}
		value, err := secretref.Read(from)
		if err != nil {
			return "", exit.Usagef("read the value: %w", err)
		}
		return value, nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, secret.MaxLength+3))
	if err != nil {
		return "", exit.Usagef("read the value: %w", err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", exit.Usagef("the value is missing: give it on standard input, or with --from")
	}
	if len(value) > secret.MaxLength {
		return "", exit.Usagef("the value is too long: want at most %d bytes", secret.MaxLength)
	}
	return value, nil
}

// errNoKey means that the control database has no active key.
var errNoKey = errors.New("there is no key to seal the secret for; make one with jobagent key generate")

// set seals a value for all active keys and stores it as the next version.
func set(cmd *cobra.Command, store *controldb.Store, name, value string) (output.StoredSecret, error) {
	ctx := cmd.Context()
	stored := output.StoredSecret{Name: name, Version: 1}
	keys, err := store.SecretKeys(ctx)
	if err != nil {
		return stored, err
	}
	var recipients []secret.PublicKey
	for _, k := range keys {
		if !k.Active {
			continue
		}
		public, err := secret.NewPublicKey(k.PublicKey)
		if err != nil {
			return stored, fmt.Errorf("key %s: %w", k.ID, err)
		}
		recipients = append(recipients, public)
	}
	if len(recipients) == 0 {
		return stored, exit.With(exit.CodeConflict, errNoKey)
	}
	list, err := store.Secrets(ctx, name)
	if err != nil {
		return stored, err
	}
	if len(list) > 0 {
		stored.Name, stored.Version = list[0].Name, list[0].Version+1
	}
	database, err := store.DatabaseID(ctx)
	if err != nil {
		return stored, err
	}
	place := secret.Place{Database: database.String(), Name: stored.Name, Version: stored.Version}
	sealed, err := secret.Seal(rand.Reader, place, value, recipients)
	if err != nil {
		return stored, err
	}
	stored.Keys = len(recipients)
	return stored, store.SetSecret(ctx, stored.Name, sealed, stored.Version)
}

func newListCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the secrets, without their values", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Secrets(cmd.Context(), "")
				if err != nil {
					return err
				}
				views := make([]output.Secret, 0, len(list))
				for _, s := range list {
					views = append(views, output.Secret{
						Name: s.Name, Version: s.Version, Keys: s.Keys, MissingKeys: s.MissingKeys,
						CreatedTime: output.Optional(s.CreatedTime), UpdatedTime: output.Optional(s.UpdatedTime),
						UpdatedBy: s.UpdatedBy,
					})
				}
				return a.Emit(views, func(w io.Writer) error {
					t := output.NewTable("NAME", "VERSION", "KEYS", "MISSING KEYS", "UPDATED BY")
					for _, s := range views {
						t.Add(s.Name, s.Version, s.Keys, s.MissingKeys, s.UpdatedBy)
					}
					return t.Write(w)
				})
			})
		},
	}
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Args: cobra.ExactArgs(1),
		Short: "Delete a secret; attempts of actions that name it fail from then on",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := store.DeleteSecret(cmd.Context(), args[0]); err != nil {
					return err
				}
				return a.Done(output.SecretName{Name: args[0]}, "deleted secret %s", args[0])
			})
		},
	}
}
