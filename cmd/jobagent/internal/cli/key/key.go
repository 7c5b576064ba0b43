// Package key has the commands for the keys of sealed secrets.
package key

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/secretref"
)

// NewCommand returns `jobagent key`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("key", "Manage the keys for which secrets are sealed",
		command.StandsFor("jobs.sp_add_secret_key", a.Prints(output.GeneratedKey{}, newGenerateCommand(a))),
		command.StandsFor("jobs.secret_keys", newListCommand(a)),
		command.StandsFor("jobs.sp_retire_secret_key", a.Prints(output.RotatedKeys{}, newRotateCommand(a))),
	)
	cmd.Long = `Manage the keys for which secrets are sealed (jobagent secret set).

The control database has the public halves. The private halves are files on the machines of agents, named in
"secret_keys" of their configuration; nobody else can open a secret.

To replace a key: generate another one, add it to the configuration of all agents beside the old one, run
jobagent key rotate --retire OLD, and remove the old one from the configuration.`
	return cmd
}

func newGenerateCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "generate FILE", Args: cobra.ExactArgs(1),
		Short: "Make a key: the private half into a new file, the public half into the control database",
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			k, err := secret.GenerateKey(rand.Reader)
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			text, err := k.Text()
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			if err := writeNew(args[0], text+"\n"); errors.Is(err, fs.ErrExist) {
				return exit.With(exit.CodeConflict, fmt.Errorf("the file %s exists already: want the name of a new one", args[0]))
			} else if err != nil {
				return exit.Usagef("write the private key: %w", err)
			}
			file, err := filepath.Abs(args[0])
			if err != nil {
				file = args[0]
			}
			if err := secrets.On(store).AddKey(cmd.Context(), k.Public()); err != nil {
				if _, answered := dberror.ServerError(err); answered && !errors.Is(err, dberror.ErrUnreachable) {
					return errors.Join(err, os.Remove(args[0]))
				}
				// Without its private half, a stored key could never open a secret.
				return fmt.Errorf("%w; the key %s may have been stored, so its private half stays in %s: delete the file if jobagent key list does not show the key",
					err, k.Public().ID(), file)
			}
			return a.Done(output.GeneratedKey{ID: k.Public().ID(), PublicKey: k.Public().String(), File: file},
				"key %s; its private half is in %s\n"+
					"add \"file:%s\" to secret_keys in the configuration of the agents that may open secrets",
				k.Public().ID(), file, file)
		}),
	}
}

// writeNew writes a file that does not exist yet, readable by its owner only.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func newListCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, columns, &cobra.Command{
		Use: "list", Short: "List the keys with the number of secrets that they can open", Args: cobra.NoArgs,
		RunE: a.Reads(func(cmd *cobra.Command, _ []string, store *controldb.Store) error {
			list, err := secrets.On(store).Keys(cmd.Context())
			if err != nil {
				return err
			}
			views := make([]output.SecretKey, 0, len(list))
			for _, k := range list {
				v := output.SecretKey{
					ID: k.ID, Active: k.Active, Secrets: k.Secrets, SecretsOnly: k.SecretsOnly,
					CreatedTime: output.Optional(k.CreatedTime), CreatedBy: k.CreatedBy,
					RetiredTime: output.Optional(k.RetiredTime), RetiredBy: k.RetiredBy,
				}
				if public, err := secret.NewPublicKey(k.PublicKey); err == nil {
					v.PublicKey = public.String()
				}
				views = append(views, v)
			}
			return output.List(&a.Printer, views, columns)
		}),
	})
}

// columns are those of key list.
var columns = output.Columns([]output.Column[output.SecretKey]{
	{Name: "key_id", Header: "KEY", ID: true, Keep: true},
	{Name: "is_active", Header: "ACTIVE"},
	{Name: "secrets"},
	{Name: "secrets_only", Header: "ONLY HERE"},
	{Name: "created_by", Min: 8, Rest: true},
	{Name: "created_time", Header: "CREATED", Wide: true},
	{Name: "public_key", Wide: true},
})

func newRotateCommand(a *connect.App) *cobra.Command {
	var references []string
	var retire string
	cmd := &cobra.Command{
		Use: "rotate", Args: cobra.NoArgs,
		Short: "Seal all secrets for the keys whose private halves are at hand",
		Long: `Seal all secrets for the keys whose private halves are at hand: those of "secret_keys" in the configuration and of
--key. A secret needs one of them that can open it already. Secrets are never sealed for other keys.

The login must be a member of jobs_agent, and with --retire also of jobs_admin. Agents that have the private halves
of both keys do the same whenever they use a secret.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			for _, ref := range references {
				if !secretref.IsReference(ref) {
					return exit.Usagef("invalid --key: %w", secretref.ErrInvalid)
				}
			}
			keys, err := agent.ReadSecretKeys(append(references, cfg.SecretKeys...))
			if err != nil {
				return exit.Usagef("read the private keys: %w", err)
			}
			if len(keys) == 0 {
				return exit.Usagef("no private key: give --key, or a configuration with secret_keys")
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if retire != "" {
					err := command.Confirm(cmd, command.Fixed("This retires the key %s: no secret is sealed for it any more", retire))
					if err != nil {
						return err
					}
				}
				list, err := secrets.On(store).All(cmd.Context())
				if err != nil {
					return err
				}
				result := output.RotatedKeys{Lacking: []string{}, Retired: retire}
				var failed error
				for _, s := range list {
					if s.MissingKeys == 0 {
						continue
					}
					stored, err := secrets.On(store).Sealed(cmd.Context(), s.Owner, s.Name)
					if errors.Is(err, dberror.ErrSecretNotFound) {
						continue // deleted meanwhile
					}
					if err != nil {
						return err
					}
					n, err := agent.Reseal(cmd.Context(), store, stored, keys)
					if err != nil {
						failed = errors.Join(failed, fmt.Errorf("secret %s: %w", s.Name, err))
					}
					if n > 0 {
						result.Sealed++
					}
					if n < len(stored.Missing) {
						result.Lacking = append(result.Lacking, s.Name)
					}
				}
				if failed != nil {
					return failed
				}
				if retire != "" {
					if err := secrets.On(store).RetireKey(cmd.Context(), retire); err != nil {
						return err
					}
				}
				return a.Emit(result, func(w io.Writer) error {
					fmt.Fprintf(w, "sealed %s for further keys\n", wording.Count(result.Sealed, "secret"))
					if len(result.Lacking) > 0 {
						fmt.Fprintf(w, "%s cannot be opened by every active key still\n", wording.Count(len(result.Lacking), "secret"))
					}
					if retire != "" {
						fmt.Fprintf(w, "retired key %s\n", retire)
					}
					return nil
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&references, "key", nil, "`env:NAME|file:PATH` of a private key; may be repeated")
	cmd.Flags().StringVar(&retire, "retire", "", "then retire the key with this `ID`")
	command.AddYes(cmd)
	return cmd
}
