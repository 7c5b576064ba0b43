package cli

import (
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
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		f(cmd)
	}
	walk(newRootCommand(&connect.App{}))
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

// faulty are values that no argument accepts, with a part of the error.
var faulty = map[string]string{
	strings.Repeat("x", 5000): "is too long", "zo\xeb": "is not valid UTF-8: byte 3 is 0xEB", "a\x00b": "has a NUL character at byte 2",
}

// An argument that is empty, too long or no text is refused before anything is sent: there is no
// server here, so whatever gets further exits with another code. The error names the argument.
func TestFaultyArguments(t *testing.T) {
	t.Setenv(config.EnvDSN, "sqlserver://u:p@127.0.0.1:1?database=jobs&dial+timeout=1")
	t.Setenv(config.EnvConfig, "")
	tried := 0
	eachCommand(func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		list := values.Words(cmd)
		for i, word := range list {
			k, _ := values.KindOfArgument(cmd, word)
			args := slices.Clone(path)
			for _, before := range list[:i] {
				args = append(args, fitting(before))
			}
			wrong := map[string]string{"a\x00b": faulty["a\x00b"], "zo\xeb": faulty["zo\xeb"]}
			if k.Max > 0 {
				wrong[strings.Repeat("x", 5000)] = "is too long"
			}
			if !k.Empty {
				wrong[""], wrong[" "] = word+" is empty", word+" has only blanks"
			}
			for value, want := range wrong {
				all := append(slices.Clone(args), value)
				for _, after := range list[i+1:] {
					all = append(all, fitting(after))
				}
				tried++
				refused(t, all, word, want)
			}
		}
	})
	require.Greater(t, tried, 250)
}

// The same for flags.
func TestFaultyFlags(t *testing.T) {
	t.Setenv(config.EnvDSN, "sqlserver://u:p@127.0.0.1:1?database=jobs&dial+timeout=1")
	t.Setenv(config.EnvConfig, "")
	tried := 0
	eachCommand(func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			return
		}
		args := strings.Fields(cmd.CommandPath())[1:]
		for _, word := range values.Words(cmd) {
			args = append(args, fitting(word))
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if typ := f.Value.Type(); !strings.HasPrefix(typ, "string") {
				return
			}
			k, _ := values.KindOfFlag(cmd, f)
			wrong := map[string]string{"a\x00b": faulty["a\x00b"], "zo\xeb": faulty["zo\xeb"]}
			if k.Max > 0 {
				wrong[strings.Repeat("x", 5000)] = "is too long"
			}
			if !k.Empty {
				wrong[""] = "--" + f.Name + " is empty"
			}
			for value, want := range wrong {
				tried++
				refused(t, append(slices.Clone(args), "--"+f.Name+"="+value), "--"+f.Name, want)
			}
		})
	})
	require.Greater(t, tried, 400)
}

// refused requires that a command line exits with 2 and one line that names the value.
func refused(t *testing.T, args []string, word, want string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code := Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exit.CodeUsage, code, "%.200q: %s", args, stderr.String())
	require.Empty(t, stdout.String(), "%.200q", args)
	require.Regexp(t, `^error: [^\n]+\n$`, stderr.String(), "%.200q", args)
	require.Contains(t, stderr.String(), want, "%.200q", args)
	require.Contains(t, stderr.String(), strings.TrimPrefix(word, "--"), "%.200q", args)
}

// fitting returns a value that an argument accepts.
func fitting(word string) string {
	switch word {
	case "EXECUTION_ID", "TARGET_ID":
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
