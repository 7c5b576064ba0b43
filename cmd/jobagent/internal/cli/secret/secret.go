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
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/secretref"
)

// NewCommand returns `jobagent secret`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("secret", "Manage the secrets that actions name as $(secret.NAME)",
		command.StandsFor("jobs.sp_set_secret", a.Prints(output.StoredSecret{}, newSetCommand(a))),
		command.StandsFor("jobs.secrets", newListCommand(a)),
		command.StandsFor("jobs.sp_delete_secret", a.Prints(output.SecretName{}, newDeleteCommand(a))),
	)
	cmd.Long = `Manage the secrets that actions name as $(secret.NAME).

A secret is sealed on this machine for the keys of agents (jobagent key); the control database never sees its value,
and cannot give it back. A secret of the same name in an agent's configuration takes precedence.`
	return cmd
}

func newSetCommand(a *connect.App) *cobra.Command {
	var (
		from    string
		hosts   []string
		anyHost bool
	)
	cmd := &cobra.Command{
		Use: "set SECRET", Args: cobra.ExactArgs(1),
		Short: "Set a secret to a value from standard input or --from",
		Long: `Set a secret. The value is standard input without one line end, or what --from names. It cannot be an argument,
because other users of the machine can read the arguments of processes.

Agents send the secret to the hosts of --host only: host or host:port, in which * stands for any run of characters, or
process:ENTRY for a process of the agent's configuration. The hosts are part of what is sealed: give them again with each
new value.`,
		Example: "  jobagent secret set api --host api.example.com < token.txt\n" +
			"  jobagent secret set api --host '*.example.com' --host process:export --from env:API_TOKEN",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkHosts(hosts, anyHost); err != nil {
				return err
			}
			value, err := readValue(a.Stdin, from)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				// Another session may add a key or set the secret meanwhile; then the value is
				// sealed again.
				for tries := 1; ; tries++ {
					stored, err := set(cmd, store, args[0], value, hosts)
					again := errors.Is(err, dberror.ErrSecretKeysChanged) ||
						errors.Is(err, dberror.ErrSecretChanged)
					switch {
					case err == nil:
						return a.Done(stored, "secret %s has version %d, sealed for %s",
							stored.Name, stored.Version, wording.Count(stored.Keys, "key"))
					case !again || tries == 3:
						return err
					}
				}
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`env:NAME|file:PATH` of the value (default: standard input)")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "`PATTERN` of a host that may receive the secret; may be repeated")
	cmd.Flags().BoolVar(&anyHost, "any-host", false, "let every author of jobs send the secret to any host")
	return cmd
}

// checkHosts checks the flags --host and --any-host.
func checkHosts(hosts []string, anyHost bool) error {
	switch {
	case anyHost && len(hosts) > 0:
		return exit.Usagef("--host and --any-host exclude each other")
	case anyHost:
		return nil
	case len(hosts) == 0:
		return exit.Usagef("the hosts of the secret are missing: give --host PATTERN for each host that may receive it, or --any-host. " +
			"Without hosts, every author of jobs can have an agent send the secret to a server of their own")
	}
	if err := outbound.CheckSecretHosts(hosts); err != nil {
		return exit.Usagef("invalid --host: %w", err)
	}
	return nil
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
	text, err := io.ReadAll(io.LimitReader(stdin, 2*secret.MaxLength+8))
	if err != nil {
		return "", exit.Usagef("read the value: %w", err)
	}
	if text, err = command.Decode("standard input", text); err != nil {
		return "", err
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
var errNoKey = errors.New("the control database has no active key for secrets; make one with jobagent key generate")

// set seals a value for all active keys and stores it as the next version.
func set(cmd *cobra.Command, store *controldb.Store, name, value string, hosts []string) (output.StoredSecret, error) {
	ctx := cmd.Context()
	stored := output.StoredSecret{Name: name, Version: 1, Hosts: hosts}
	keys, err := secrets.On(store).Keys(ctx)
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
	list, err := secrets.On(store).Secrets(ctx, name)
	if err != nil {
		return stored, err
	}
	if len(list) > 0 {
		stored.Name, stored.Version = list[0].Name, list[0].Version+1
	}
	database, err := secrets.On(store).DatabaseID(ctx)
	if err != nil {
		return stored, err
	}
	place := secret.Place{Database: database.String(), Name: stored.Name, Version: stored.Version, Hosts: hosts}
	sealed, err := secret.Seal(rand.Reader, place, value, recipients)
	if err != nil {
		return stored, err
	}
	stored.Keys = len(recipients)
	return stored, secrets.On(store).Set(ctx, stored.Name, sealed, stored.Version, hosts...)
}

// columns are those of secret list.
var columns = output.Columns([]output.Column[secrets.Secret]{
	{Name: "secret_name", Header: "NAME", ID: true, Min: 12, Keep: true},
	{Name: "version"},
	{Name: "keys"},
	{Name: "missing_keys"},
	{Name: "updated_by", Min: 8},
	{Name: "updated_time", Header: "UPDATED", Wide: true},
	{Name: "hosts", Min: 10, Rest: true, Drop: 1, Text: func(s secrets.Secret) string {
		if s.Hosts == nil {
			return "any host"
		}
		return strings.Join(s.Hosts, ", ")
	}},
})

func newListCommand(a *connect.App) *cobra.Command {
	return connect.List(a, columns, &cobra.Command{
		Use: "list", Short: "List the secrets, without their values", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]secrets.Secret, error) {
		return secrets.On(store).Secrets(cmd.Context(), "")
	})
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	return a.Deletes(&cobra.Command{
		Use: "delete SECRET", Args: cobra.ExactArgs(1),
		Short: "Delete a secret; attempts of actions that name it fail from then on",
	}, "This deletes the secret %s; actions that name it fail from then on", "deleted secret %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.SecretName{Name: args[0]}, secrets.On(store).Delete(cmd.Context(), args[0])
	})
}
