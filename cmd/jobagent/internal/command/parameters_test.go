package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read parses flags and reads the parameters.
func read(stdin string, args ...string) (string, error) {
	var f ParameterFlags
	cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }}
	f.Add(cmd, "the run")
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		return "", err
	}
	return f.Read(strings.NewReader(stdin))
}

func TestParameterFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	require.NoError(t, os.WriteFile(file, []byte("\uFEFF{\"z\": 1.50, \"tenant\": \"x\", \"a\": {\"b\": [1]}}\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"--param", "tenant=it's <a> \"b\""}, `{"tenant": "it's <a> \"b\""}`},
		{[]string{"--param", "b=", "--param", "a=x=y,z"}, `{"b": "", "a": "x=y,z"}`},
		{[]string{"--param", "n=1", "--param-json", "m=1.50", "--param-json", `o={"a": [1, 2]}`}, `{"n": "1", "m": 1.50, "o": {"a": [1, 2]}}`},
		{[]string{"--params-file", file}, `{"z": 1.50, "tenant": "x", "a": {"b": [1]}}`},
		{[]string{"--params-file", file, "--param", "new=1", "--param", "tenant=y"}, `{"z": 1.50, "tenant": "y", "a": {"b": [1]}, "new": "1"}`},
		{[]string{"--params-file", "-"}, `{"in": 1}`},
		{[]string{"--params-file", "-", "--param-json", "in=null"}, `{"in": null}`},
	} {
		got, err := read(`{"in": 1}`, c.args...)
		require.NoError(t, err, c.args)
		require.Equal(t, c.want, got, c.args)
	}
	for want, args := range map[string][]string{
		`invalid --param "tenant": want NAME=VALUE`:                  {"--param", "tenant"},
		`invalid --param "=x": want NAME=VALUE`:                      {"--param", "=x"},
		`invalid --param-json "a=x"`:                                 {"--param-json", "a=x"},
		`invalid --param-json "a=1": the parameter a is given twice`: {"--param", "a=2", "--param-json", "a=1"},
		`invalid --params-file -: want a JSON object`:                {"--params-file", "-", "--param", "a=2"},
		`open /nonexistent`:                                          {"--params-file", "/nonexistent"},
	} {
		_, err := read(`[1]`, args...)
		require.ErrorContains(t, err, want, args)
	}
}
