// Package token has the commands for the static tokens of the REST server.
package token

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/wording"
)

// maxName bounds the names of tokens, in characters.
const maxName = model.MaxName

// NewCommand returns `jobagent token`.
func NewCommand(a *connect.App) *cobra.Command {
	file := ""
	cmd := command.NewGroup("token", "Manage the static tokens of the REST server",
		a.Prints(output.CreatedToken{}, newCreateCommand(a, &file)), newListCommand(a, &file), a.Prints(output.RevokedTokens{}, newRevokeCommand(a, &file)), a.Prints(output.HashedSecret{}, newHashCommand(a)))
	cmd.Long = `Manage the static tokens of the REST server (jobagent serve).

A client sends a token as Authorization: Bearer TOKEN. A file keeps the hashes of the tokens; running fronts read it
again within a second when it changes. Name it as rest.token_file in the configuration.`
	cmd.PersistentFlags().StringVar(&file, "file", "", "`FILE` of the tokens (default: rest.token_file of the configuration)")
	return cmd
}

// path returns the path of the token file.
func path(s *connect.Settings, flag string) (string, error) {
	cfg, err := s.Config()
	if err != nil {
		return "", err
	}
	file := cmp.Or(flag, cfg.REST.TokenFile)
	if file == "" {
		return "", exit.Usagef("no token file: give --file, or a configuration with rest.token_file")
	}
	return file, nil
}

func newCreateCommand(a *connect.App, file *string) *cobra.Command {
	var role, scope, expires string
	cmd := &cobra.Command{
		Use: "create TOKEN", Args: cobra.ExactArgs(1), Short: "Make a token, and print it once",
		Long: `Make a token, and print it once. Only its hash is stored.

--role and --scope give the token a role at a scope: / for everything, or the ID of a subscription, a resource group, a
server, a job agent or a job collection, or /instances/NAME for an instance of the SAP surface. Without them, grants of
the configuration name the token as token:ID.`,
		Example: "  jobagent token create pipeline --role operator --scope / --expires 90d\n" +
			"  jobagent token create ci --role author --scope \\\n" +
			"    /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg1/providers/Microsoft.Sql/servers/server1/jobAgents/agent1",
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if n := utf8.RuneCountInString(name); n == 0 || n > maxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return exit.Usagef("invalid name %q: want 1 to %d characters", name, maxName)
			}
			if err := checkGrant(role, scope); err != nil {
				return err
			}
			now := time.Now().UTC().Truncate(time.Second)
			end, err := parseExpiry(expires, now)
			if err != nil {
				return err
			}
			target, err := path(&a.Settings, *file)
			if err != nil {
				return err
			}
			t, text := tokenfile.New()
			t.Name, t.Role, t.Scope, t.Created, t.Expires = name, role, scope, now, end
			err = tokenfile.Update(target, func(tokens []tokenfile.Token) ([]tokenfile.Token, error) {
				if slices.ContainsFunc(tokens, func(one tokenfile.Token) bool { return one.Name == name }) {
					return nil, exit.With(exit.CodeConflict, fmt.Errorf("a token has the name %q already: revoke it, or choose another name", name))
				}
				return append(tokens, t), nil
			})
			if err != nil {
				return fileError(err)
			}
			if absolute, err := filepath.Abs(target); err == nil {
				target = absolute
			}
			created := output.CreatedToken{ID: t.ID, Name: name, Token: text, Role: role, Scope: scope, Expires: output.Optional(end), File: target}
			return a.Emit(created, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, text)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "reader, operator, author or admin")
	cmd.Flags().StringVar(&scope, "scope", "", "`SCOPE` of the role: / for everything, or the ID of a resource")
	cmd.Flags().StringVar(&expires, "expires", "", "`WHEN` the token expires: a duration such as 90d, or an instant in RFC 3339 (default: never)")
	return cmd
}

// checkGrant checks the flags --role and --scope.
func checkGrant(role, scope string) error {
	if role == "" && scope == "" {
		return nil
	}
	if role == "" || scope == "" {
		return exit.Usagef("--role and --scope belong together: give both, or neither")
	}
	_, err := auth.ParseRole(role)
	_, err2 := auth.ParseScope(scope)
	if err := errors.Join(err, err2); err != nil {
		return exit.Usage(err)
	}
	return nil
}

// parseExpiry parses the flag --expires. Zero means never.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := command.ParsePeriod(text)
		if err != nil {
			return time.Time{}, exit.Usagef("invalid --expires %q: want a duration such as 90d, or an instant such as 2030-01-31T00:00:00Z", text)
		}
		end = now.Add(d)
	}
	if end = end.UTC().Truncate(time.Second); !end.After(now) {
		return time.Time{}, exit.Usagef("invalid --expires %q: it is not in the future", text)
	}
	return end, nil
}

// fileError marks the errors of a token file as errors of the input. Errors with an exit code keep
// it.
func fileError(err error) error {
	var coded *exit.Error
	if errors.As(err, &coded) {
		return err
	}
	return exit.Usage(err)
}

func newListCommand(a *connect.App, file *string) *cobra.Command {
	return command.List(&a.Printer, columns, &cobra.Command{
		Use: "list", Args: cobra.NoArgs, Short: "List the tokens, without their secrets",
		RunE: func(*cobra.Command, []string) error {
			source, err := path(&a.Settings, *file)
			if err != nil {
				return err
			}
			tokens, err := tokenfile.Read(source)
			if err != nil {
				return fileError(err)
			}
			now := time.Now()
			views := make([]output.Token, 0, len(tokens))
			for _, t := range tokens {
				views = append(views, output.Token{
					ID: t.ID, Name: t.Name, Role: t.Role, Scope: t.Scope, Created: output.Optional(t.Created),
					Expires: output.Optional(t.Expires), Expired: t.Expired(now),
				})
			}
			return output.List(&a.Printer, views, columns)
		},
	})
}

// columns are those of token list.
var columns = output.Columns([]output.Column[output.Token]{
	{Name: "token_id", Header: "ID", ID: true, Keep: true},
	{Name: "token_name", Header: "NAME", Min: 12, Keep: true},
	{Name: "role"},
	{Name: "expires_time", Header: "EXPIRES", Text: expiry},
	{Name: "created_time", Header: "CREATED", Wide: true},
	{Name: "scope", Min: 8, Rest: true},
})

// expiry describes when a token expires.
func expiry(t output.Token) string {
	switch {
	case t.Expires == nil:
		return "never"
	case t.Expired:
		return "expired"
	default:
		return t.Expires.Format(time.RFC3339)
	}
}

func newRevokeCommand(a *connect.App, file *string) *cobra.Command {
	expired := false
	cmd := &cobra.Command{
		Use: "revoke [TOKEN|TOKEN_ID]...", Short: "Revoke tokens; servers refuse them within a second",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !expired {
				return exit.Usagef("name the tokens by ID or name, or give --expired")
			}
			target, err := path(&a.Settings, *file)
			if err != nil {
				return err
			}
			revoked := output.RevokedTokens{IDs: []string{}}
			now := time.Now()
			revoke := func(tokens []tokenfile.Token) ([]tokenfile.Token, error) {
				revoked.IDs = []string{}
				for _, name := range args {
					if !slices.ContainsFunc(tokens, func(t tokenfile.Token) bool { return t.ID == name || t.Name == name }) {
						return nil, exit.With(exit.CodeNotFound, fmt.Errorf("no token has the ID or the name %q; jobagent token list shows all tokens", name))
					}
				}
				return slices.DeleteFunc(tokens, func(t tokenfile.Token) bool {
					goes := slices.Contains(args, t.ID) || slices.Contains(args, t.Name) || expired && t.Expired(now)
					if goes {
						revoked.IDs = append(revoked.IDs, t.ID)
					}
					return goes
				}), nil
			}
			err = command.Confirm(cmd, func() (string, int, error) {
				tokens, err := tokenfile.Read(target)
				if err == nil {
					_, err = revoke(tokens)
				}
				if err != nil {
					return "", 0, fileError(err)
				}
				n := len(revoked.IDs)
				return fmt.Sprintf("This revokes %s; servers refuse them within a second", wording.Count(n, "token")), max(0, n-len(args)), nil
			})
			if err != nil {
				return err
			}
			if err := tokenfile.Update(target, revoke); err != nil {
				return fileError(err)
			}
			return a.Done(revoked, "revoked %s", wording.Count(len(revoked.IDs), "token"))
		},
	}
	cmd.Flags().BoolVar(&expired, "expired", false, "revoke all tokens that have expired")
	command.AddYes(cmd)
	return cmd
}

func newHashCommand(a *connect.App) *cobra.Command {
	generate := false
	cmd := &cobra.Command{
		Use: "hash", Args: cobra.NoArgs, Short: "Hash a password or a client secret for the configuration of the SAP surface",
		Long: `Hash a password or a client secret for password_hash and secret_hashes in the configuration of the SAP surface.

The password is standard input without one line end. With --generate, a random secret is made and printed once; its hash
is faster to verify.`,
		RunE: func(*cobra.Command, []string) error {
			if generate {
				secret := rand.Text() + rand.Text() // 2 × 128 bits
				hash, err := auth.HashRandom(secret)
				if err != nil {
					return err
				}
				return a.Emit(output.HashedSecret{Hash: hash, Secret: secret}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "secret  %s\nhash    %s\n", secret, hash)
					return err
				})
			}
			text, err := io.ReadAll(io.LimitReader(a.Stdin, 2*auth.MaxPassword+8))
			if err != nil {
				return exit.Usagef("read the password: %w", err)
			}
			if text, err = command.Decode("standard input", text); err != nil {
				return err
			}
			hash, err := auth.HashPassword(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"))
			if err != nil {
				return exit.Usage(err)
			}
			return a.Done(output.HashedSecret{Hash: hash}, "%s", hash)
		},
	}
	cmd.Flags().BoolVar(&generate, "generate", false, "make a random secret")
	return cmd
}
