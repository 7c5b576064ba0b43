package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/values"
)

// eachCommand calls f for each command that does something.
func eachCommand(f func(cmd *cobra.Command)) {
	eachCommandOf(newRootCommand(connect.New(nil, nil, nil)), f)
}

// eachCommandOf calls f for a command and all commands below it.
func eachCommandOf(root *cobra.Command, f func(cmd *cobra.Command)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		f(cmd)
	}
	walk(root)
}

// flagTypes are the types of flags that check their values themselves.
var flagTypes = []string{"bool", "int", "int64", "float64", "duration", "size", "telemetry", "count"}

// Every argument and every flag whose value is a text has a kind, which says its limit, whether it
// may be empty, and what completes it.
func TestEveryValueHasAKind(t *testing.T) {
	t.Parallel()
	arguments := 0
	eachCommand(func(cmd *cobra.Command) {
		for _, word := range values.Words(cmd) {
			arguments++
			_, ok := values.KindOfArgument(cmd, word)
			require.True(t, ok, "%s: the argument %s has no kind in values/table.go", cmd.CommandPath(), word)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(flagTypes, f.Value.Type()) {
				return
			}
			k, ok := values.KindOfFlag(cmd, f)
			require.True(t, ok, "%s: the flag --%s has no kind in values/table.go", cmd.CommandPath(), f.Name)
			require.NotEmpty(t, k.Words, "%s --%s", cmd.CommandPath(), f.Name)
		})
	})
	require.Greater(t, arguments, 60)
}

// faults returns values that a kind does not accept, with a part of the error.
func faults(k values.Kind, word string) map[string]string {
	wrong := map[string]string{"a\x00b": word + " has a NUL character at byte 2", "zo\xeb": word + " is not valid UTF-8: byte 3 is 0xEB"}
	if k.Max > 0 {
		wrong[strings.Repeat("x", k.Max+1)] = fmt.Sprintf("%s is too long: it has %d characters", word, k.Max+1)
		wrong[strings.Repeat("\U0001F600", k.Max/2+1)] = fmt.Sprintf("%s is too long: it has %d characters", word, 2*(k.Max/2)+2)
	}
	if !k.Empty {
		wrong[""], wrong[" "] = word+" is empty", word+" has only blanks"
	}
	return wrong
}

// An argument that is empty, too long or no text is refused by every command, with its name.
func TestFaultyArguments(t *testing.T) {
	t.Parallel()
	tried := 0
	eachCommand(func(cmd *cobra.Command) {
		list := values.Words(cmd)
		for i, word := range list {
			args := make([]string, 0, len(list))
			for _, w := range list {
				args = append(args, fitting(w))
			}
			require.NoError(t, cmp.Or(cmd.ParseFlags(nil), ignoreFlags(cmd.ValidateArgs(args))), "%s %q", cmd.CommandPath(), args)
			k, _ := values.KindOfArgument(cmd, word)
			for value, want := range faults(k, word) {
				tried++
				args[i] = value
				err := cmd.ValidateArgs(args)
				require.ErrorContains(t, err, want, "%s %q", cmd.CommandPath(), args)
				require.Equal(t, exit.CodeUsage, exit.Code(err))
			}
		}
	})
	require.Greater(t, tried, 250)
}

// ignoreFlags leaves out the error about a required flag.
func ignoreFlags(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "missing flag") {
		return nil
	}
	return err
}

// The same for flags.
func TestFaultyFlags(t *testing.T) {
	t.Parallel()
	tried := 0
	eachCommand(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.HasPrefix(f.Value.Type(), "string") {
				return
			}
			k, _ := values.KindOfFlag(cmd, f)
			for value, want := range faults(k, "--"+f.Name) {
				tried++
				err := k.Check("--"+f.Name, value)
				require.ErrorContains(t, err, want, cmd.CommandPath())
				require.Equal(t, exit.CodeUsage, exit.Code(err))
			}
		})
	})
	require.Greater(t, tried, 400)
}

// A faulty command line exits with 2 and one line that says what was meant, before anything is
// sent: there is no server here.
func TestFaultyCommandLines(t *testing.T) {
	t.Setenv(config.EnvDSN, "sqlserver://u:p@127.0.0.1:1?database=jobs&dial+timeout=1")
	t.Setenv(config.EnvConfig, "")
	long := strings.Repeat("x", 129)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"job", "delete", long}, "JOB is too long: it has 129 characters, 1 more than the limit of 128"},
		{[]string{"job", "show", ""}, "JOB is empty: want the name of a job; jobagent job list shows all jobs"},
		{[]string{"job", "create", "a\tb"}, `JOB "a\tb" has the control character U+0009: want a name without one`},
		{[]string{"job", "start"}, "missing argument JOB: jobagent job start JOB [flags]"},
		{[]string{"job", "start", "nightly", "index"}, "too many arguments: found 2, want JOB (quote a name that has blanks): jobagent job start JOB [flags]"},
		{[]string{"job", "list", "x"}, `unexpected argument "x": jobagent job list [flags]`},
		{[]string{"execution", "list", "--job", ""}, "--job is empty: want the name of a job; jobagent job list shows all jobs"},
		{[]string{"execution", "list", "--job", "zo\xeb"}, "--job is not valid UTF-8: byte 3 is 0xEB"},
		{[]string{"execution", "list", "--lifecycle", ""}, "--lifecycle is empty: want Running, Created, "},
		{[]string{"execution", "list", "--lifecycle", "Succeedd"}, `invalid --lifecycle "Succeedd": did you mean Succeeded?`},
		{[]string{"execution", "list", "--limit", "many"}, `invalid --limit "many": want a whole number`},
		{[]string{"execution", "show", "12"}, `invalid EXECUTION_ID "12": not a GUID, nor the first 4 or more of its hexadecimal digits`},
		{[]string{"limit", "set", "Serwer", "x", "1"}, `invalid SCOPE "Serwer": did you mean Server? Want Job, Server, ElasticPool, Credential or Agent`},
		{[]string{"job", "list", "--dsn", ""}, "--dsn is empty: want a connection string"},
		{[]string{"calendar", "add", "c"}, "missing flag --file: jobagent calendar add CALENDAR --file FILE|-"},
		{[]string{"jbo", "list"}, `unknown command "jobagent jbo": did you mean "jobagent job list"? See jobagent --help`},
		{[]string{"job", "strt", "x"}, `unknown command "jobagent job strt": did you mean "jobagent job start"? See jobagent job --help`},
		{[]string{"jbo", "strt", "x", "--wait"}, `unknown command "jobagent jbo": did you mean "jobagent job start"?`},
		{[]string{"context", "us", "x"}, `did you mean "jobagent context use"?`},
		{[]string{"run", "x y"}, `did you mean jobagent job start 'x y'?`},
		{[]string{"execution", "list", "x"}, `did you mean jobagent execution list --job x?`},
		{[]string{"apply", "jobs"}, `did you mean jobagent apply --file jobs?`},
		{[]string{"start", "x"}, `unknown command "jobagent start": did you mean "jobagent job start"?`},
		{[]string{"job", "start", "x", "--wiat"}, "unknown flag --wiat: did you mean --wait? See jobagent job start --help"},
		{[]string{"job", "start", "x", "-v"}, "unknown flag -v: see jobagent job start --help"},
		{[]string{"step", "add", "x", "--group", "g"}, "unknown flag --group: did you mean --target-group?"},
		{[]string{"job", "start", "x", "--execution-id"}, "--execution-id needs a value"},
	} {
		var stdout, stderr strings.Builder
		code := Run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exit.CodeUsage, code, "%q: %s", c.args, stderr.String())
		require.Empty(t, stdout.String(), "%q", c.args)
		require.Regexp(t, `^error: [^\n]+\n$`, stderr.String(), "%q", c.args)
		require.Contains(t, stderr.String(), c.want)
	}
}

// fitting returns a value that an argument accepts.
func fitting(word string) string {
	switch word {
	case "EXECUTION_ID", "ROLLOUT_ID", "TARGET_ID":
		return "9b2f3a10-3c54-4d1e-8f0a-0123456789ab"
	case "SCOPE":
		return "Job"
	case "CONDITION":
		return "RunEnded"
	case "TYPE":
		return "Http"
	}
	return "1"
}
